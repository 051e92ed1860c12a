"""Identity: which row is this person's? Prosecutor, journalist and marketer risk, uniques, uniques of the population.

Source    El Emam, Guide to the De-Identification of Personal Health Information, 2013, chapter 16 (the definitions ARX
          uses); population uniques have a source of their own, below.
Claim     The attacker knows the quasi-identifiers of a person who is in the table and points at one of the rows whose
          labels hold them, at random: of w rows the right one with chance 1 / w, of somebody with r rows there with
          r / w. Where rows with several labels hold a person, it is one of the w rows of the labels in which theirs is
          likeliest (`candidates.py`: narrow labels before wide ones, suppressed rows last), right with chance s / w
          where a share s of those who are like them has a row there. A guess about somebody who is not in the table is
          wrong. The baseline is a row at random, which is that of one of n people: right for 1 / n.
          Prosecutor: 1 / f of the class of f people (rows, where none are declared; those of the table with rows there,
          where it has a key and the release does not say), highest, mean and share above a threshold. Journalist:
          1 / F, F the people of the population there (rows, where it has no key). Marketer: the mean of f / F over
          classes, weighted by f.
          Where rows are drawn (synthetic) or stand for counts with noise (cells), none of them is anybody's: the
          attacker takes one that fits for the person's, and a match counts 1 / max(w, n), n the people of the table
          there with the person. Controls are matched in the same way, as if they were in the table. The risks of
          classes are not shown.
Because   all rows of a class are alike in what is known; classes are the distinct combinations of labels, and the
          suppressed rows are none. A drawn row fits somebody by the model alone as often as somebody else like them;
          only a model that took its rows from the people in the table fits those more often.
Checked   tests/claims/test_identity_attack.py::test_two_hundred_rows_worked_out_by_hand
          tests/claims/test_identity_attack.py::test_planted_tables
          tests/claims/test_identity_attack.py::test_suppressed_rows_hide_nobody_in_a_class
          tests/claims/test_identity_attack.py::test_overlapping_boxes_worked_out_by_hand
          tests/claims/test_identity_attack.py::test_drawn_rows_fit_others_as_well
          tests/claims/test_identity_attack.py::test_copied_rows_fit_the_people_they_were_copied_from
          tests/claims/test_identity_attack.py::test_wrong_mutants_are_caught
          tests/claims/test_attacks_count_people.py::test_a_guess_without_the_release_is_one_of_the_people
          tests/claims/test_attacks_count_people.py::test_classes_of_a_foreign_file_hold_people
          tests/claims/test_attacks_count_people.py::test_a_class_of_one_persons_rows_hides_nobody
          tests/claims/test_attacks_count_people.py::test_groups_that_agree_in_labels_do_not_count_a_row_twice
          tests/claims/test_attacks_count_people.py::test_the_risk_of_the_journalist_is_by_people
Silent on what else is published beside the labels: sensitive values may identify (see `singling-out`).
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.attacks.base import FITS, PEOPLE, ROWS, Fit, Gain, Harm, Knowledge, Whom, joined_words
from sfumato.attacks.candidates import likeliest, shares_in_boxes
from sfumato.attacks.case import (
    MOST,
    Case,
    Victims,
    how_many,
    one_row_each,
    run,
    share_of,
    victims,
    whom,
)
from sfumato.counts import Table
from sfumato.counts.people import Members
from sfumato.counts.recoding import row_ids
from sfumato.declare import MaybeRational, Whole, declare, parameter
from sfumato.errors import ParameterError
from sfumato.estimate import View, align_boxes, distinct_boxes, holding_boxes
from sfumato.measures.base import json_number
from sfumato.measures.proportions import Share
from sfumato.randomness import Entropy
from sfumato.release import Form, Release
from sfumato.release.manifest import COUNTED_FORMS

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

AT_RISK = 0.2  # a record in a class of fewer than five
_STOPS = "larger classes (k-anonymity with a larger k), coarser or fewer quasi-identifiers"
_STOPS_DRAWN = "fewer or coarser quasi-identifiers, or a smaller epsilon"
_NOBODYS: dict[Form, str] = {
    "cells": "Rows of this release stand for counts with noise, not for records",
    "synthetic": "Rows of this release are drawn, and none comes from a row of the table",
}
_MATCH = (
    "a match counts as one in n where n rows of either fit alike. Only the gain over others comes from being in the "
    "table."
)


def class_sizes(release: Release) -> np.ndarray:
    """Return the people of each class where the release says how many it holds, else its rows.

    A class is a distinct combination of labels, suppressed rows aside; the people of groups that agree in all labels
    may be the same, so that the largest counts.
    """
    kept = release.boxes.weight > 0
    if release.suppressed_group is not None:
        kept = kept & (release.boxes.group != release.suppressed_group)
    which = row_ids(release.boxes.labels[kept].astype(np.int64))
    if release.people is not None and release.form == "generalized":
        people = np.zeros(int(which.max(initial=-1)) + 1, np.int64)
        np.maximum.at(people, which, release.people.classes[release.boxes.group[kept]])
        return people
    return np.bincount(which, weights=release.boxes.weight[kept]).astype(np.int64)


def prosecutor_risk(sizes: np.ndarray, threshold: float = AT_RISK) -> dict[str, float]:
    """Return highest and mean risk of a row, the share of rows above a threshold and of rows that are alone.

    Sizes are rows, or people where a class says how many it holds; a person in two classes counts in both.

    >>> prosecutor_risk(np.array([1, 2, 5]))["mean"]
    0.375
    """
    rows = int(sizes.sum())
    if not rows:
        return {"highest": 0.0, "mean": 0.0, "rows at risk": 0.0, "sample uniques": 0.0}
    return {
        "highest": 1 / int(sizes.min()),
        "mean": len(sizes) / rows,
        "rows at risk": float(sizes[1 / sizes > threshold].sum() / rows),
        "sample uniques": float((sizes == 1).sum() / rows),
    }


def journalist_risk(sizes: np.ndarray, population: np.ndarray, threshold: float = AT_RISK) -> dict[str, float]:
    """Return the risks against a population file: `population[i]` people are in the class of `sizes[i]` rows."""
    rows, many = int(sizes.sum()), np.maximum(population, sizes)
    marketer = float((sizes / many).sum() / max(1, rows))
    return {
        "highest": 1 / int(many.min()) if len(many) else 0.0,
        "mean": max(len(sizes) / max(1, int(many.sum())), marketer),
        "rows at risk": float(sizes[1 / many > threshold].sum() / max(1, rows)),
        "marketer": marketer,
    }


@declare
class Identity:
    """Point at the row of a person; `fraction` is the share of the population that the table holds, where known.

    >>> import sfumato as sf
    >>> table = sf.datasets.adult().with_roles(quasi=["age", "sex"], sensitive="occupation")
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(100)))
    >>> gain = sf.attacks.Identity().run([release], sf.attacks.Knowledge(), table)
    >>> gain.most_exposed <= 1 / 100
    True
    """

    name: ClassVar[str] = "identity"
    axis: ClassVar[Harm] = "identity"
    compared: ClassVar[bool] = True

    _: KW_ONLY
    fraction: MaybeRational = parameter(
        "Share of the population that the table holds, to estimate population uniques.", default=None, above=0, most=1
    )
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=2)

    run = run

    def fits(self, release: Release) -> Fit:
        """Anything with a quasi-identifier."""
        return FITS if release.quasi else Fit("it publishes no quasi-identifier")

    def attempt(self, case: Case) -> Gain:
        """Point at a row for each target; with `knowledge.population` the journalist's risks are shown, too."""
        release, known, targets, controls = case.release, case.known, case.targets, case.controls
        entropy = case.entropy(self.name)
        view = align_boxes(release, targets.schema.with_roles(quasi=known))
        drawn = release.form in COUNTED_FORMS
        kinds = distinct_boxes(view)
        there = _rows_there(kinds, targets, known) if drawn else None
        people, rows = _attacked(targets, known, entropy.child("targets"), self.most)
        if there is None:
            chance = _pointed_at(kinds, people, targets, rows)
        else:
            chance = _matched(kinds, people, _own_matches(kinds, people, targets, rows), there)
        found = None
        if controls is not None:
            case.same_codes(known)
            found = Share(0, trials=min(controls.rows if controls.people is None else controls.people, self.most))
        if controls is not None and there is not None:
            others, rows = _attacked(controls, known, entropy.child("controls"), self.most)
            theirs = _own_matches(kinds, others, controls, rows)
            found = share_of(_matched(kinds, others, theirs, there, beside=theirs), others.weight)
        holds, hit, miss = _words(known, people.whom, several=targets.schema.several, form=release.form)
        return Gain(
            self.name,
            axis="identity",
            targets=share_of(chance, people.weight),
            controls=found,
            baseline=Share(people.people / max(1, how_many(targets, people.whom)), trials=people.people),
            records=people.exposure(chance, chance),
            holds=holds,
            hit=hit,
            miss=miss,
            whom=people.whom,
            stops=_STOPS_DRAWN if drawn else _STOPS,
            notes=(f"{_NOBODYS[release.form]}: {_MATCH}",) if drawn else (),
            details={} if drawn else self._risks(release, view, targets, case.knowledge),
        )

    def _risks(self, release: Release, view: View, targets: Table, knowledge: Knowledge) -> dict[str, Any]:
        names = tuple(attribute.name for attribute in view.quasi)
        told = release.people is not None and release.form == "generalized"
        here = None
        if targets.schema.several and targets.schema.unit == "person" and not told:
            if whom(targets) is not PEOPLE:  # whose rows they are is not known
                return {}
            here = _by_class(release, view, targets, names)[1]
        sizes = class_sizes(release) if here is None else here[here > 0]
        found: dict[str, Any] = {"prosecutor": prosecutor_risk(sizes)}
        if knowledge.population is not None:
            counted, there = _by_class(release, view, knowledge.population, names)
            if here is not None:
                counted, there = here[here > 0], there[here > 0]
            found["journalist"] = journalist_risk(counted, there)
        if self.fraction is not None and release.form in ("generalized", "buckets"):
            share = float(self.fraction)
            people = max(1, round(int(sizes.sum()) / share))
            models = {"zayatz": zayatz, "pitman": pitman, "snb": snb}
            uniques = {name: model(sizes, share) for name, model in models.items()}
            chosen, model_name = dankar(sizes, share)
            as_shares = {name: json_number(many / people) for name, many in uniques.items()}
            found["population uniques"] = {**as_shares, "dankar": json_number(chosen / people), "chosen": model_name}
        return found


def _words(known: tuple[str, ...], whom: Whom, *, several: bool, form: Form) -> tuple[str, str, str]:
    """What the attacker has and does, of people or of rows."""
    if form in COUNTED_FORMS:
        row = "row of a count with noise" if form == "cells" else "drawn row"
        mine = "it" if whom is ROWS else "theirs"
        return (
            f"knows {joined_words(known)} of a {whom.one} and takes a {row} that fits for {mine}",
            f"has a match for {{}} of the {whom.many} in the table",
            f"for {{}} of {whom.others}",
        )
    if whom is ROWS:
        return (
            f"knows {joined_words(known)} of a row and that it is there",
            "points at it for {} of the rows in the table",
            "for {} of other rows, which are not there",
        )
    return (
        f"knows {joined_words(known)} and that the person is there",
        f"points at {'a' if several else 'the'} right row of {{}} of the people in the table",
        "of {} of others, who have none",
    )


def _attacked(targets: Table, known: tuple[str, ...], entropy: Entropy, most: int) -> tuple[Victims, np.ndarray | None]:
    """People, and the row each is attacked by where they may have several."""
    if not targets.schema.several or whom(targets) is not PEOPLE or targets.persons() is None:
        return victims(targets, known, entropy=entropy, most=most), None
    codes = targets.codes(known).astype(np.int64)
    rows = one_row_each(targets, entropy, most)
    rows = np.arange(len(codes)) if rows is None else rows
    ones = np.ones(len(rows), np.int64)
    return Victims(known, codes=codes[rows], weight=ones, known=len(known), whom=PEOPLE), rows


def _pointed_at(view: View, people: Victims, targets: Table, rows: np.ndarray | None) -> np.ndarray:
    """How likely the attacker points at a row of each person; `rows` are those they are attacked by."""
    points, many = people.codes, people.weight
    held = holding_boxes(view, points)[0]
    if rows is not None or len(np.unique(held)) < len(held):  # who else may have a row in these boxes counts
        counts = targets.counts(people.names)
        points, many = counts.codes.astype(np.int64), counts.weights
    share = shares_in_boxes(view, points, many)
    place = _places_among(points, people.codes)
    box = likeliest(share, view.weight)[place]
    if rows is None:
        own = np.asarray(share[place, box]).reshape(-1)
    else:
        person, by_box = _rows_of_each(targets, people.names, points, share)
        own = np.asarray(by_box[person[rows], box]).reshape(-1)
    found = np.minimum(1.0, np.divide(own, view.weight[box], where=box >= 0, out=np.zeros(len(own))))
    return np.asarray(found)


def _matched(
    view: View,
    people: Victims,
    own: np.ndarray,
    there: np.ndarray,
    *,
    beside: np.ndarray | float = 0.0,
) -> np.ndarray:
    """How likely a drawn row that fits is taken for each person's rightly; `there` are the table's rows in each box.

    `beside` are rows of people who are not in the table, counted as if they were.
    """
    rows = _matching(view, people.codes, view.weight)
    rows = np.where(rows > 0, np.maximum(rows, _matching(view, people.codes, there) + beside), 0)
    return np.asarray(np.minimum(1.0, np.divide(own, rows, where=rows > 0, out=np.zeros(len(rows)))))


def _matching(view: View, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Rows of all boxes that hold each person."""
    person, box = holding_boxes(view, codes)
    return np.bincount(person, weights=weight[box], minlength=len(codes))


def _own_matches(view: View, people: Victims, targets: Table, rows: np.ndarray | None) -> np.ndarray:
    """How many rows of each person lie in the boxes that hold the row they are attacked by."""
    if rows is None:
        return np.ones(len(people.codes))
    from scipy.sparse import csr_matrix

    points = targets.counts(people.names).codes.astype(np.int64)
    point, box = holding_boxes(view, points)
    held = csr_matrix((np.ones(len(point)), (point, box)), shape=(len(points), len(view.weight)))
    person, by_box = _rows_of_each(targets, people.names, points, held)
    mine = by_box[person[rows]].multiply(held[_places_among(points, people.codes)])
    return np.asarray(np.maximum(np.asarray(mine.sum(axis=1)).reshape(-1), 1.0))


def _rows_of_each(
    targets: Table, known: tuple[str, ...], points: np.ndarray, boxes: csr_matrix
) -> tuple[np.ndarray, csr_matrix]:
    """Return the person of each row, and people x boxes: the rows of each there, by the boxes of each point."""
    from scipy.sparse import csr_matrix

    person = np.unique(np.asarray(targets.persons()), return_inverse=True)[1].reshape(-1)
    place = _places_among(points, targets.codes(known).astype(np.int64))
    shape = (int(person.max(initial=-1)) + 1, len(points))
    found: csr_matrix = csr_matrix((np.ones(len(person)), (person, place)), shape=shape) @ boxes
    return person, found


def _places_among(points: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The place of each row of codes among distinct points."""
    together = row_ids(np.concatenate([points, codes]))
    place = np.zeros(int(together.max(initial=-1)) + 1, np.int64)
    place[together[: len(points)]] = np.arange(len(points))
    found: np.ndarray = place[together[len(points) :]]
    return found


def _rows_there(view: View, targets: Table, known: tuple[str, ...]) -> np.ndarray:
    """How many rows of the table each box holds."""
    counts = targets.counts(known)
    person, box = holding_boxes(view, counts.codes.astype(np.int64))
    return np.bincount(box, weights=counts.weights[person], minlength=len(view.weight))


def _by_class(release: Release, view: View, population: Table, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Size of each class, in people where the release says how many, and the people of the population there.

    Of a population with several rows a person, distinct people count; without a key of theirs, rows.
    """
    kept = view.weight > 0
    if release.suppressed_group is not None:
        kept = kept & (view.group != release.suppressed_group)
    which = row_ids(view.labels.astype(np.int64))
    counts, members = population.counts(names), population.members(names)
    point, box = holding_boxes(view, counts.codes.astype(np.int64))
    first = np.unique(which, return_index=True)[1]  # equal labels hold the same people: each counts once
    once = np.isin(box, first)
    place, line = which[box[once]], point[once]
    if members is None:
        people = np.bincount(place, weights=counts.weights[line], minlength=len(first))
    else:
        people = _distinct_people(members, place, line, lines=len(counts), classes=len(first))
    if release.people is not None and release.form == "generalized":
        sizes = np.zeros(len(first), np.int64)
        np.maximum.at(sizes, which[kept], release.people.classes[view.group[kept]])
    else:
        sizes = np.bincount(which, weights=np.where(kept, view.weight, 0), minlength=len(first))
        if members is not None:  # rows of a class, of unknown people: no more of these than the population has there
            sizes = np.where(sizes > 0, np.minimum(sizes, np.maximum(people, 1)), 0)
    some = sizes > 0
    return sizes[some].astype(np.int64), people[some].astype(np.int64)


def _distinct_people(members: Members, place: np.ndarray, line: np.ndarray, *, lines: int, classes: int) -> np.ndarray:
    """How many people have a row in each class; `line` is one of the counts, `place` a class that holds it."""
    from scipy.sparse import csr_matrix

    held = csr_matrix((np.ones(len(place)), (line, place)), shape=(lines, classes))
    shape = (int(members.person.max(initial=-1)) + 1, lines)
    who = csr_matrix((np.ones(len(members.person)), (members.person, members.line)), shape=shape)
    return np.asarray((who @ held > 0).sum(axis=0)).reshape(-1)


# How many people are alone in the population with what a sample shows of them: super-population estimators.
#
# Source    Zayatz, "Estimation of the number of unique population elements using a sample", 1991; Hoshino, "Applying
#           Pitman's sampling formula to microdata disclosure risk assessment", J. Official Statistics 17, 2001; Chen &
#           Keller-McNulty, J. Official Statistics 14, 1998 (slide negative binomial), with the number of classes by
#           Haas & Stokes, JASA 93, 1998 (their third Shlosser estimator); Dankar et al., BMC Med. Inform. 12, 2012
#           (the rule that chooses among them). ARX has the same four.
# Claim     From the sizes of the classes of a sample and the sampling fraction f each returns the expected number of
#           population uniques: Zayatz f1 P(1 | 1) / f; Pitman Gamma(t + 1) / Gamma(t + a) N^a at the maximum of the
#           likelihood; slide negative binomial K b^a where the expected numbers of classes of one and two are those
#           seen. Dankar: Pitman up to f = 0.1, else the smaller of the other two; 0 without a sample unique.
# Because   the formulas are solved as printed. In ARX's code two of the slide negative binomial's differ from print (a
#           factor multiplied instead of divided by, a 1 subtracted outside the sum); these here are the printed ones.
# Checked   tests/claims/test_identity_attack.py::test_zayatz_by_hand
#           tests/claims/test_identity_attack.py::test_pitman_is_the_maximum_of_its_likelihood
#           tests/claims/test_identity_attack.py::test_snb_solves_its_equations
#           tests/claims/test_identity_attack.py::test_estimators_on_samples_of_a_known_population
# Silent on samples that are not simple random ones. An estimate that has no solution is NaN.


def _read(sizes: np.ndarray, fraction: float) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Return distinct class sizes, how many classes have each, and the sizes of sample and population."""
    if not 0 < fraction <= 1:
        raise ParameterError("fraction", fraction, "must be above 0 and at most 1", hint="0.1 is one person of ten")
    size, times = np.unique(np.asarray(sizes)[np.asarray(sizes) > 0], return_counts=True)
    sample = int((size * times).sum())
    return size.astype(np.int64), times.astype(np.int64), sample, round(sample / fraction)


def _number(size: np.ndarray, times: np.ndarray, of: int) -> int:
    return int(times[size == of].sum())


def zayatz(sizes: np.ndarray, fraction: float) -> float:
    """Return population uniques by Zayatz: how likely a sample unique comes from a population unique."""
    from scipy.stats import hypergeom

    size, times, sample, population = _read(sizes, fraction)
    alone = _number(size, times, 1)
    if not alone:
        return 0.0
    seen_once = hypergeom.pmf(1, population, size, sample)  # of a class of this size in the population
    share = times / times.sum()
    certain = share[size == 1][0] * hypergeom.pmf(1, population, 1, sample) / float((share * seen_once).sum())
    return float(alone * certain / fraction)


def pitman(sizes: np.ndarray, fraction: float) -> float:
    """Return population uniques by Pitman's sampling formula, fitted by maximum likelihood."""
    from scipy.optimize import minimize
    from scipy.special import gammaln

    size, times, sample, population = _read(sizes, fraction)
    if not _number(size, times, 1):
        return 0.0
    classes = int(times.sum())

    def loss(at: np.ndarray) -> float:
        alpha, theta = _pitman_parameters(at)
        steps = (classes - 1) * math.log(alpha) + gammaln(theta / alpha + classes) - gammaln(theta / alpha + 1)
        rising = gammaln(theta + sample) - gammaln(theta + 1)
        inside = float(np.dot(times, gammaln(size - alpha))) - classes * gammaln(1 - alpha)
        return float(rising - steps - inside)

    starts = [np.array([a, t]) for a in (-1.0, 1.0) for t in (1.0, 6.0)]
    best = min((minimize(loss, start, method="Nelder-Mead", options=_EXACT) for start in starts), key=lambda r: r.fun)
    alpha, theta = _pitman_parameters(best.x)
    found = math.exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * math.log(population))
    return float(found) if 0 <= found <= population else math.nan


_EXACT = {"xatol": 1e-7, "fatol": 1e-8, "maxiter": 2000, "maxfev": 4000}


def _pitman_parameters(at: np.ndarray) -> tuple[float, float]:
    """Return alpha in (0, 1) and theta > -alpha of two free numbers."""
    alpha = float(np.clip(1 / (1 + math.exp(-max(-500.0, min(500.0, at[0])))), 1e-9, 1 - 1e-9))
    return alpha, math.exp(min(float(at[1]), 60.0)) - alpha


def snb(sizes: np.ndarray, fraction: float) -> float:
    """Return population uniques by the slide negative binomial model."""
    from scipy.optimize import least_squares

    size, times, _, population = _read(sizes, fraction)
    one, two = _number(size, times, 1), _number(size, times, 2)
    if not one:
        return 0.0
    classes = _shlosser(size, times, fraction)

    def wrong(at: np.ndarray) -> np.ndarray:
        alpha, beta = math.exp(at[0]), 1 / (1 + math.exp(-at[1]))
        return np.asarray((np.array(_snb_expected(classes, fraction, alpha, beta)) - np.array([one, two])) / one)

    starts = [np.array([a, b]) for a in (-2.0, 0.0, 2.0) for b in (-4.0, -1.0, 2.0)]
    found = min((least_squares(wrong, start, bounds=(-30, 30)) for start in starts), key=lambda r: r.cost)
    if found.cost > 1e-8:
        return math.nan
    alpha, beta = math.exp(found.x[0]), 1 / (1 + math.exp(-found.x[1]))
    uniques = classes * beta**alpha
    return uniques if uniques <= population else math.nan


def _snb_expected(classes: float, f: float, alpha: float, beta: float) -> tuple[float, float]:
    """Return the expected numbers of sample classes of one and of two."""
    rest = (1 - f) * (1 - beta)
    one = classes * f * (beta / (1 - rest)) ** alpha * (alpha * rest / (1 - rest) + 1)
    scale = classes * alpha * beta**alpha * f * f * (1 - beta) / (2 * (1 - rest) ** (alpha + 2))
    return one, scale * (2 - (1 - alpha) * rest)


def _shlosser(size: np.ndarray, times: np.ndarray, f: float) -> float:
    """Return the number of classes in the population (Haas & Stokes, Sh3)."""
    if f == 1:
        return float(times.sum())
    one = _number(size, times, 1)
    below = (1 - f) ** size * times
    ratio = (size * f**2 * (1 - f**2) ** (size - 1) * times).sum() / (below * ((1 + f) ** size - 1.0)).sum()
    return float(times.sum() + one * ratio * (below.sum() / (size * f * (1 - f) ** (size - 1) * times).sum()) ** 2)


def dankar(sizes: np.ndarray, fraction: float) -> tuple[float, str]:
    """Return population uniques by the rule of Dankar et al., and the model it chose."""
    if not np.any(np.asarray(sizes) == 1):
        return 0.0, "none"
    if fraction <= 0.1:
        found = pitman(sizes, fraction)
        return (found, "pitman") if found > 0 else (zayatz(sizes, fraction), "zayatz")
    other, plain = snb(sizes, fraction), zayatz(sizes, fraction)
    return (other, "snb") if 0 < other <= plain else (plain, "zayatz")
