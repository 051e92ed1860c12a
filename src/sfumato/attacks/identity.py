"""Identity: which row is this person's? Prosecutor, journalist and marketer risk, uniques, uniques of the population.

Source    El Emam, Guide to the De-Identification of Personal Health Information, 2013, chapter 16 (the definitions ARX
          uses); `uniqueness.py` for population uniques.
Claim     The attacker knows the quasi-identifiers of a person who is in the table and points at one of the rows whose
          labels hold them, at random: of w rows the right one with chance 1 / w, of somebody with r rows there with
          r / w. A guess about somebody who is not in the table is wrong.
          Prosecutor: 1 / f of the class of f rows, highest, mean and share above a threshold. Journalist: 1 / F, F
          the people of the population there. Marketer: the mean of f / F over classes, weighted by rows.
          Where rows are drawn (cells, synthetic), none of them is anybody's: the attacker takes one that fits for the
          person's, and a match counts 1 / max(w, n), n the people of the table there with the person. Controls are
          matched in the same way, as if they were in the table. The risks of classes are not shown.
Because   all rows of a class are alike in what is known; classes are the distinct combinations of labels, and the
          suppressed rows are none. A drawn row fits somebody by the model alone as often as somebody else like them;
          only a model that took its rows from the people in the table fits those more often.
Checked   tests/claims/test_identity_attack.py::test_two_hundred_rows_worked_out_by_hand
          tests/claims/test_identity_attack.py::test_planted_tables
          tests/claims/test_identity_attack.py::test_drawn_rows_fit_others_as_well
          tests/claims/test_identity_attack.py::test_copied_rows_fit_the_people_they_were_copied_from
          tests/claims/test_identity_attack.py::test_wrong_mutants_are_caught
          tests/claims/test_attacks_count_people.py::test_a_class_of_one_persons_rows_hides_nobody
Silent on what else is published beside the labels: sensitive values may identify (see `singling-out`).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from sfumato.attacks.base import FITS, PEOPLE, ROWS, Fit, Gain, Harm, Knowledge, Whom, joined_words
from sfumato.attacks.case import Case, run
from sfumato.attacks.uniqueness import dankar, pitman, snb, zayatz
from sfumato.attacks.victims import (
    MOST,
    Victims,
    one_row_each,
    share_of,
    victims,
    whom,
)
from sfumato.counts import Table
from sfumato.counts.recoding import row_ids
from sfumato.declare import MaybeRational, Whole, declare, parameter
from sfumato.estimate import View, align_boxes, holding_boxes
from sfumato.measures.base import json_number
from sfumato.measures.proportions import Share
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.release.manifest import COUNTED_FORMS

__all__ = ["Identity", "class_sizes", "journalist_risk", "prosecutor_risk"]

AT_RISK = 0.2  # a record in a class of fewer than five
_STOPS = "larger classes (k-anonymity with a larger k), coarser or fewer quasi-identifiers"
_STOPS_DRAWN = "fewer or coarser quasi-identifiers, or a smaller epsilon"
_NOBODYS = (
    "Rows of this release are drawn, and none comes from a row of the table: a match counts as one in n where n rows "
    "of either fit alike. Only the gain over others comes from being in the table."
)


def class_sizes(release: Release) -> np.ndarray:
    """Return the rows of each class: of each distinct combination of labels, suppressed rows aside."""
    kept = release.boxes.weight > 0
    if release.suppressed_group is not None:
        kept = kept & (release.boxes.group != release.suppressed_group)
    which = row_ids(release.boxes.labels[kept].astype(np.int64))
    return np.bincount(which, weights=release.boxes.weight[kept]).astype(np.int64)


def prosecutor_risk(sizes: np.ndarray, threshold: float = AT_RISK) -> dict[str, float]:
    """Return highest and mean risk of a row, the share of rows above a threshold and of rows that are alone.

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
        there = _rows_there(view, targets, known) if drawn else None
        people, own = _with_own_rows(view, targets, known, entropy.child("targets"), self.most)
        chance = _pointed_at(view, people, own, there)
        found = None
        if controls is not None:
            case.same_codes(known)
            found = Share(0, trials=min(controls.rows if controls.people is None else controls.people, self.most))
        if controls is not None and there is not None:
            others, theirs = _with_own_rows(view, controls, known, entropy.child("controls"), self.most)
            found = share_of(_pointed_at(view, others, theirs, there, beside=theirs), others.weight)
        holds, hit, miss = _words(known, people.whom, several=targets.schema.several, drawn=drawn)
        return Gain(
            self.name,
            axis="identity",
            targets=share_of(chance, people.weight),
            controls=found,
            baseline=Share(people.people / max(1, release.rows), trials=people.people),
            records=people.exposure(chance, chance),
            holds=holds,
            hit=hit,
            miss=miss,
            whom=people.whom,
            stops=_STOPS_DRAWN if drawn else _STOPS,
            notes=(_NOBODYS,) if drawn else (),
            details={} if drawn else self._risks(release, view, case.knowledge),
        )

    def _risks(self, release: Release, view: View, knowledge: Knowledge) -> dict[str, Any]:
        sizes = class_sizes(release)
        found: dict[str, Any] = {"prosecutor": prosecutor_risk(sizes)}
        if knowledge.population is not None:
            names = tuple(attribute.name for attribute in view.quasi)
            counts = knowledge.population.counts(names)
            here = _by_class(release, view, counts.codes.astype(np.int64), counts.weights)
            found["journalist"] = journalist_risk(here[0], here[1])
        if self.fraction is not None and release.form in ("generalized", "buckets"):
            share = float(self.fraction)
            people = max(1, round(int(sizes.sum()) / share))
            models = {"zayatz": zayatz, "pitman": pitman, "snb": snb}
            uniques = {name: model(sizes, share) for name, model in models.items()}
            chosen, model_name = dankar(sizes, share)
            as_shares = {name: json_number(many / people) for name, many in uniques.items()}
            found["population uniques"] = {**as_shares, "dankar": json_number(chosen / people), "chosen": model_name}
        return found


def _words(known: tuple[str, ...], whom: Whom, *, several: bool, drawn: bool) -> tuple[str, str, str]:
    """What the attacker has and does, of people or of rows."""
    if drawn:
        mine = "it" if whom is ROWS else "theirs"
        return (
            f"knows {joined_words(known)} of a {whom.one} and takes a drawn row that fits for {mine}",
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


def _pointed_at(
    view: View,
    people: Victims,
    own: np.ndarray,
    there: np.ndarray | None,
    *,
    beside: np.ndarray | float = 0.0,
) -> np.ndarray:
    """How likely the attacker points at a row of each person; `there` are the table's rows in each box of drawn ones.

    `beside` are rows of people who are not in the table, counted as if they were.
    """
    rows = _matching(view, people.codes, view.weight)
    if there is not None:
        rows = np.where(rows > 0, np.maximum(rows, _matching(view, people.codes, there) + beside), 0)
    return np.asarray(np.minimum(1.0, np.divide(own, rows, where=rows > 0, out=np.zeros(len(rows)))))


def _matching(view: View, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Rows of all boxes that hold each person."""
    person, box = holding_boxes(view, codes)
    return np.bincount(person, weights=weight[box], minlength=len(codes))


def _with_own_rows(
    view: View, targets: Table, known: tuple[str, ...], entropy: Entropy, most: int
) -> tuple[Victims, np.ndarray]:
    """People and how many rows of their own lie in the boxes that hold the row they are attacked by."""
    persons = targets.persons() if targets.schema.several and whom(targets) is PEOPLE else None
    if persons is None:
        people = victims(targets, known, entropy=entropy, most=most)
        return people, np.ones(len(people.codes))
    from scipy.sparse import csr_matrix

    persons = np.unique(persons, return_inverse=True)[1].reshape(-1)
    codes = targets.codes(known).astype(np.int64)
    rows = one_row_each(targets, entropy, most)
    rows = np.arange(len(codes)) if rows is None else rows
    distinct, place = np.unique(codes, axis=0, return_inverse=True)
    point, box = holding_boxes(view, distinct)
    held = csr_matrix((np.ones(len(point)), (point, box)), shape=(len(distinct), len(view.weight)))
    shape = (int(persons.max(initial=-1)) + 1, len(codes))
    same = csr_matrix((np.ones(len(codes)), (persons, np.arange(len(codes)))), shape=shape)
    by_box = same @ held[place.reshape(-1)]  # rows of each person in each box
    own = np.asarray(by_box[persons[rows]].multiply(held[place.reshape(-1)[rows]]).sum(axis=1)).reshape(-1)
    people = Victims(known, codes=codes[rows], weight=np.ones(len(rows), np.int64), known=len(known), whom=PEOPLE)
    return people, np.maximum(own, 1.0)


def _rows_there(view: View, targets: Table, known: tuple[str, ...]) -> np.ndarray:
    """How many rows of the table each box holds."""
    counts = targets.counts(known)
    person, box = holding_boxes(view, counts.codes.astype(np.int64))
    return np.bincount(box, weights=counts.weights[person], minlength=len(view.weight))


def _by_class(release: Release, view: View, codes: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and people of the population in each class."""
    kept = view.weight > 0
    if release.suppressed_group is not None:
        kept = kept & (view.group != release.suppressed_group)
    which = row_ids(view.labels.astype(np.int64))
    person, box = holding_boxes(view, codes)
    first = np.unique(which, return_index=True)[1]  # equal labels hold the same people: each counts once
    once = np.isin(box, first)
    people = np.bincount(which[box[once]], weights=weight[person[once]], minlength=len(first))
    rows = np.bincount(which, weights=np.where(kept, view.weight, 0), minlength=len(first))
    some = rows > 0
    return rows[some].astype(np.int64), people[some].astype(np.int64)
