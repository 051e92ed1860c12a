"""Membership by shadow releases: the same mechanism, run again and again with and without the most exposed people.

Source    Shokri et al., S&P 2017; each person in or out by a coin in every run: Carlini et al., S&P 2022; vulnerable
          records first: Meeus et al., ESORICS 2023.
Claim     The people whom the release holds most alone are put into or left out of each of `releases` shadow tables by a
          coin, with all their rows; the rest of each, people by people, is drawn from targets and controls. For each
          person score and threshold are chosen on one half of the runs and counted on the other; hits are runs with
          them, false alarms runs without. The curve pools the people, each score measured from that person's threshold
          in that person's spread.
Because   given the rest, being in is the only thing that differs between the runs, so that nothing else can be learned.
Checked   tests/claims/test_shadow_attack.py::test_planted_people_are_found_and_hidden_ones_are_not
          tests/claims/test_shadow_attack.py::test_a_mutant_that_never_leaves_anybody_out_is_caught
          tests/claims/test_shadow_attack.py::test_the_most_exposed_people_are_tried_first
          tests/claims/test_attack_suite.py::test_a_person_is_in_a_shadow_release_with_all_rows_or_with_none
Silent on everybody else: the rates are those of the most exposed people, and of releases like this one, not of it.
Cost      one release for each shadow table.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import FITS, ROWS, Exposure, Fit, Gain, Harm
from sfumato.attacks.case import Case, Victims, run, victims
from sfumato.attacks.membership import audited, curve_of, joint_view, stated_bound
from sfumato.counts import Table
from sfumato.declare import Whole, declare, parameter
from sfumato.errors import NotComparable, SfumatoError
from sfumato.estimate import align_boxes, holding_boxes
from sfumato.measures.proportions import Share
from sfumato.mechanisms.base import gather, run as publish
from sfumato.mechanisms.from_json import mechanism_of
from sfumato.randomness import Entropy
from sfumato.release import Release


@declare
class Shadow:
    """Tell from many releases of the same kind whether the most exposed people are in."""

    name: ClassVar[str] = "shadow"
    axis: ClassVar[Harm] = "membership"
    small_only: ClassVar[bool] = True

    _: KW_ONLY
    people: Whole = parameter("How many of the most exposed people are tried.", default=10, least=1, unit="people")
    releases: Whole = parameter("Shadow releases that are made.", default=32, least=8, unit="releases")

    run = run

    def fits(self, release: Release) -> Fit:
        """A release that says by which mechanism it was made."""
        try:
            mechanism_of(release.mechanism)
        except SfumatoError as error:
            return Fit(str(error).rstrip("."))
        return FITS if release.quasi and release.carried else Fit("it publishes too little")

    def attempt(self, case: Case) -> Gain:
        """Make the shadow releases and count; without controls the tables are drawn from the targets."""
        release, known, targets, controls = case.release, case.known, case.targets, case.controls
        mechanism = mechanism_of(release.mechanism)
        carried = tuple(a.name for a in release.carried if a.name in targets.schema)
        if not carried:
            raise NotComparable("the release carries no attribute of the table.")
        case.same_codes((*known, *carried))
        entropy = case.entropy(self.name)
        schema = targets.schema.with_roles(quasi=known, sensitive=carried)
        exposed = _exposed(release, targets, known, carried, self.people)
        names = tuple(attribute.name for attribute in targets.schema.published)
        pool = np.concatenate([table.codes(names) for table in (targets, controls) if table is not None])
        whose = _whose(targets, controls)
        alike = [names.index(name) for name in exposed.names]
        rows_in, of = targets.codes(names), whose[: targets.rows]
        who = of[[np.flatnonzero((rows_in[:, alike] == line).all(axis=1))[0] for line in exposed.codes]].tolist()
        first = [who.index(person) for person in who]  # a person who is exposed by two rows has one coin
        away = np.isin(whose, who)
        for line in exposed.codes:  # nobody like them is left in the pool
            away |= (pool[:, alike] == line).all(axis=1)
        pool, whose = pool[~away], whose[~away]
        rows_of = [np.flatnonzero(of == person) for person in who]
        scores = np.zeros((self.releases, len(who), 2))
        inside = np.zeros((self.releases, len(who)), bool)
        for at in range(self.releases):
            if case.progress is not None:
                case.progress(at / self.releases, "shadow releases")
            stream = entropy.child(str(at))
            inside[at] = stream.child("coins").below_many(2, len(who)).astype(bool)[first]
            rest = _by_people(whose, stream.child("rows"))[: targets.rows]
            mine = [rows_of[one] for one in np.flatnonzero(inside[at]) if first[one] == one]
            put = np.concatenate([np.zeros(0, np.int64), *mine])
            people = np.concatenate([whose[rest], of[put]]).tolist() if targets.schema.person else None
            rows = Table.from_codes(targets.schema, np.concatenate([pool[rest], rows_in[put]]), names, people=people)
            made = publish(mechanism, gather(mechanism, rows), stream.child("release"))
            scores[at] = joint_view(made, schema, carried).scores(exposed)
        found, bound = self._gain(exposed, scores, inside), stated_bound(release)
        # A claim may be about one row, where a trial is about all rows of a person.
        other = release.claim.unit == "row" and targets.persons() is not None
        return found if other or not bound else audited(replace(found, details={**found.details, **bound}))

    def _gain(self, exposed: Victims, scores: np.ndarray, inside: np.ndarray) -> Gain:
        """Choose for each person on the first half of the runs, count on the second."""
        half = len(scores) // 2
        hits, runs, alarms, without = (np.zeros(len(exposed.codes), np.int64) for _ in range(4))
        beyond = np.zeros((len(scores) - half, len(exposed.codes)))
        for who in range(len(exposed.codes)):
            best = (-1.0, 0, np.inf)
            for which in range(scores.shape[2]):
                seen, was_in = scores[:half, who, which], inside[:half, who]
                if not was_in.any() or was_in.all():
                    continue
                ones = np.ones(half)
                curve = curve_of(seen[was_in], seen[~was_in], member_weight=ones[was_in], other_weight=ones[~was_in])
                at = curve.best()
                gap = float((seen[was_in] >= at).mean() - (seen[~was_in] >= at).mean())
                if gap > best[0]:
                    best = (gap, which, _between(seen, at))
            says = scores[half:, who, best[1]] >= best[2]
            beyond[:, who] = _beyond(scores[half:, who, best[1]], scores[:half, who, best[1]], best[2])
            truth = inside[half:, who]
            hits[who], runs[who] = int(says[truth].sum()), int(truth.sum())
            alarms[who], without[who] = int(says[~truth].sum()), int((~truth).sum())
        rate = np.divide(hits, runs, where=runs > 0, out=np.zeros(len(runs)))
        there = inside[half:]
        ones = np.ones(there.size)
        curve = curve_of(
            beyond[there], beyond[~there], member_weight=ones[: there.sum()], other_weight=ones[: (~there).sum()]
        )
        pooled = (hits.sum() + alarms.sum()) / max(1, runs.sum() + without.sum())
        return Gain(
            self.name,
            axis="membership",
            targets=Share(int(hits.sum()), trials=int(runs.sum())),
            controls=Share(int(alarms.sum()), trials=int(without.sum())),
            baseline=Share(float(pooled * runs.sum()), trials=int(runs.sum())),
            records=Exposure(exposed.names, codes=exposed.codes, weight=runs, success=rate, chance=rate),
            holds=f"knows {len(exposed.codes)} of the most exposed rows and the mechanism",
            hit="recognizes {} of the releases they are in",
            miss="takes {} of the other releases for such",
            stops="differential privacy, or leaving out rows that are unique on what is published",
            whom=ROWS,
            notes=tuple(filter(None, [curve.sentence()])),
            details={"shadow releases": len(scores), **curve.figures()},
        )


def _whose(targets: Table, controls: Table | None) -> np.ndarray:
    """Return the person of each row of the targets, then of the controls, who are others; each row's own where none."""
    found: list[np.ndarray] = []
    for table in (targets, controls):
        if table is not None:
            persons = table.persons()
            ids = np.arange(table.rows) if persons is None else persons
            found.append(ids + (int(found[0].max(initial=-1)) + 1 if found else 0))
    return np.concatenate(found)


def _by_people(whose: np.ndarray, entropy: Entropy) -> np.ndarray:
    """Return the places of rows, the people in a random order and the rows of each together."""
    known, place = np.unique(whose, return_inverse=True)
    turn = np.empty(len(known), np.int64)
    turn[entropy.permutation(len(known))] = np.arange(len(known))
    return np.argsort(turn[place.reshape(-1)], kind="stable")


def _beyond(scores: np.ndarray, seen: np.ndarray, threshold: float) -> np.ndarray:
    """How far each score lies above the threshold, in the spread of the scores that it was chosen on."""
    finite = seen[np.isfinite(seen)]
    spread = float(finite.std()) if len(finite) else 0.0
    found = (scores - threshold) / (spread or 1.0) if np.isfinite(threshold) else np.full(len(scores), -np.inf)
    return np.asarray(np.nan_to_num(found, nan=-1e9, posinf=1e9, neginf=-1e9))


def _between(seen: np.ndarray, at: float) -> float:
    """The middle between a threshold and the next score below it: other runs have other scores."""
    below = seen[seen < at]
    return float((at + below.max()) / 2) if len(below) and np.isfinite(below.max()) else at


def _exposed(release: Release, targets: Table, known: tuple[str, ...], carried: tuple[str, ...], most: int) -> Victims:
    """The people with fewest like them and, of equals, in the thinnest classes: fewest rows for the room they take."""
    people = victims(targets, known, carried, entropy=Entropy.seeded(0))
    view = align_boxes(release, targets.schema.with_roles(quasi=known))
    person, box = holding_boxes(view, people.quasi)
    there = np.bincount(person, weights=view.weight[box], minlength=len(people.codes))
    logs = [np.log(table.size)[view.labels[box, at]] for at, table in enumerate(view.tables)]
    wide = np.bincount(person, weights=np.sum(logs, axis=0), minlength=len(people.codes))
    thin = wide - np.log(np.maximum(there, 1e-9))
    order = np.lexsort((-thin, people.weight))[:most]
    return Victims(
        people.names, codes=people.codes[order], weight=people.weight[order], known=people.known, whom=people.whom
    )
