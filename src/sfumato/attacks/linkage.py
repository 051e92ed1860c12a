"""Linkage: somebody holds two files, each with some columns of the same people, and joins them through the release.

Source    Article 29 Working Party, Opinion 05/2014; protocol: Giomi et al., PoPETs 2023, section 4.2 (one neighbour).
Claim     For each person the attacker looks for the published row nearest to what the first file says, and to what the
          second says, at random among equally near ones, and joins the two where it is the same row. Of rows A and B at
          the least distances, of which C are in both, that happens with chance C / (A B).
          Without the release one of the n people of the table is taken for the person: right for 1 / n.
Because   rows with the same labels are alike, so that they are compared once and count with their number.
Checked   tests/claims/test_linkage_attack.py::test_planted_tables
          tests/claims/test_linkage_attack.py::test_equals_the_slow_attack
          tests/claims/test_linkage_attack.py::test_suppressed_rows_are_not_looked_at
          tests/claims/test_linkage_attack.py::test_wrong_mutants_are_caught
Silent on more than one neighbour, and on which columns stand in which file: they are dealt out in turn unless named.
Cost      people x distinct boxes x columns.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import FITS, Fit, Gain, Harm, joined_words
from sfumato.attacks.case import Case, Victims, how_many, run, share_of
from sfumato.declare import Whole, declare, parameter
from sfumato.errors import NotComparable, ParameterError
from sfumato.estimate import View, align_boxes, distinct_boxes, nearest_boxes
from sfumato.measures.proportions import Share
from sfumato.release import Release

_AT_ONCE = 100


@declare
class Linkage:
    """Join two files of the same people through the release; `first` names the columns of one of them."""

    name: ClassVar[str] = "linkage"
    axis: ClassVar[Harm] = "identity"

    _: KW_ONLY
    first: tuple[str, ...] | None = parameter("Columns of the first file; every other one unless named.", default=None)
    most: Whole = parameter("How many people of each side are attacked at most.", default=1000, least=1)

    run = run

    def fits(self, release: Release) -> Fit:
        """Two quasi-identifiers or more."""
        return FITS if len(release.quasi) > 1 else Fit("it has fewer than two quasi-identifiers")

    def attempt(self, case: Case) -> Gain:
        """Try to join the two halves of each target and control."""
        names = case.known
        if len(names) < 2:
            raise NotComparable("linkage needs two quasi-identifiers or more.")
        one = names[::2] if self.first is None else self.first
        other = tuple(name for name in names if name not in one)
        if not other or any(name not in names for name in one):
            hint = f"some, not all, of {', '.join(names)}"
            raise ParameterError("first", ", ".join(one), "must be some of the known columns", hint=hint)
        view = distinct_boxes(
            _looked_at(case.release, align_boxes(case.release, case.targets.schema.with_roles(quasi=names)))
        )
        halves = [[names.index(name) for name in part] for part in (one, other)]
        people, others = case.people(self.name, most=self.most)
        chance = _linked(view, people, halves)
        return Gain(
            self.name,
            axis="identity",
            targets=share_of(chance, people.weight),
            controls=None if others is None else share_of(_linked(view, others, halves), others.weight),
            baseline=Share(people.people / max(1, how_many(case.targets, people.whom)), trials=people.people),
            records=people.exposure(chance, chance),
            holds=f"has one file with {joined_words(one)} and another with {joined_words(other)}",
            hit=f"joins what the two files say of {{}} of the {people.whom.many} in the table",
            miss=f"of {{}} of {people.whom.others}",
            whom=people.whom,
            stops="fewer columns together, larger classes, or differential privacy",
        )


def _looked_at(release: Release, view: View) -> View:
    """Return the view without the suppressed rows, where there are others."""
    if release.suppressed_group is None:
        return view
    weight = np.where(view.group == release.suppressed_group, 0, view.weight)
    return replace(view, weight=weight) if weight.any() else view


def _linked(view: View, people: Victims, halves: list[list[int]]) -> np.ndarray:
    """C / (A B) for each person."""
    chance = np.zeros(len(people.codes))
    boxes = len(view.weight)
    for start in range(0, len(chance), _AT_ONCE):
        codes = people.codes[start : start + _AT_ONCE]
        pairs = [nearest_boxes(view, codes, columns)[:2] for columns in halves]
        rows = [np.bincount(who, weights=view.weight[box], minlength=len(codes)) for who, box in pairs]
        keys = [who * boxes + box for who, box in pairs]
        common = np.intersect1d(keys[0], keys[1], assume_unique=True)
        both = np.bincount(common // boxes, weights=view.weight[common % boxes], minlength=len(codes))
        many = rows[0] * rows[1]
        chance[start : start + len(codes)] = np.divide(both, many, where=many > 0, out=np.zeros(len(codes)))
    return chance
