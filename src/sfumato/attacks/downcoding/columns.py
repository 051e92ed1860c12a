"""Downcoding of one column: labels that are no wider than they must be give away exact values.

Source    Cohen, "Attacks on deidentification's defenses", USENIX Security 2022: minimal hierarchical generalization can
          be undone in part. The exact law below is ours, for the labels of one class.
Claim     A class of w people has a label of m values. Where labels are as narrow as may be, an interval has somebody at
          either end, and a node somebody below two of its children at least. Among all ways to deal values that keep
          this, all equally likely, a person has an end with chance (m^(w-1) - (m-1)^(w-1)) / N, N = m^w - 2 (m-1)^w +
          (m-2)^w; below a child of c values each with (m^(w-1) - c^(w-1)) / (m^w - sum of c^w). The likeliest value is
          guessed, the first of equals. The baseline is a value of the label at random.
Because   the worlds that break minimality are counted out by inclusion and exclusion.
Checked   tests/claims/test_minimality_and_downcoding.py::test_downcoding_succeeds_on_its_construction
          tests/claims/test_minimality_and_downcoding.py::test_downcoding_equals_all_worlds
          tests/claims/test_minimality_and_downcoding.py::test_wide_labels_give_nothing_away
Silent on what several columns together rule out (`rows.py`), and on labels that are not minimal: there it is no
          better than chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import FITS, Exposure, Fit, Gain, Harm
from sfumato.attacks.case import Case, run
from sfumato.attacks.victims import MOST, share_of, worst_attribute
from sfumato.declare import Whole, declare, parameter
from sfumato.estimate import View, align_boxes, holding_boxes
from sfumato.release import Release

__all__ = ["Downcoding", "child_chances", "end_chance"]


def end_chance(values: int, people: int) -> float:
    """Return how likely one of `people` has a given end of a tight interval of `values`.

    >>> round(end_chance(10, 2), 3), round(end_chance(10, 1000), 3)
    (0.5, 0.1)
    """
    if values == 1:
        return 1.0
    lower, lowest = (values - 1) / values, (values - 2) / values
    all_ways = 1 - 2 * lower**people + lowest**people
    with_end = (1 - lower ** (people - 1)) / values
    return with_end / all_ways if all_ways > 0 else 1 / values


def child_chances(children: Sequence[int], people: int) -> list[float]:
    """Return how likely one of `people` has one given value below each child of a tight node."""
    values = sum(children)
    shares = [many / values for many in children]
    all_ways = 1 - sum(share**people for share in shares)
    if all_ways <= 0:
        return [1 / values for _ in children]
    return [(1 - share ** (people - 1)) / values / all_ways for share in shares]


@declare
class Downcoding:
    """Guess the exact value behind a label, one column at a time."""

    name: ClassVar[str] = "downcoding"
    axis: ClassVar[Harm] = "inference"

    _: KW_ONLY
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=1)

    run = run

    def fits(self, release: Release) -> Fit:
        """Generalized tables."""
        if release.form != "generalized":
            return Fit("it is not a generalized table")
        return FITS if any((table.size > 1).any() for table in release.boxes.tables) else Fit("its values are exact")

    def attempt(self, case: Case) -> Gain:
        """Guess each generalized column of targets and controls whose class is known; the worst column is shown."""
        release, known = case.release, case.known
        view = align_boxes(release, case.targets.schema.with_roles(quasi=known))
        people, others = case.people(self.name, most=self.most)
        boxes = _first_box(view, people.codes)
        beside = None if others is None else _first_box(view, others.codes)
        suppressed = -1 if release.suppressed_group is None else release.suppressed_group

        def one(name: str) -> Gain:
            at = known.index(name)
            guess, chance = _guesses(view, at, suppressed)
            width = view.tables[at].size[view.labels[:, at]]

            def counted(codes: np.ndarray, box: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                there = (box >= 0) & (width[box] > 1) & (guess[box] >= 0)
                return (codes[:, at] == guess[box]) & there, np.where(there, weight, 0)

            success, weight = counted(people.codes, boxes, people.weight)
            found = None
            if others is not None and beside is not None:
                found = share_of(*counted(others.codes, beside, others.weight))
            blind = np.divide(1.0, width[boxes], where=weight > 0, out=np.zeros(len(weight)))
            return Gain(
                self.name,
                axis="inference",
                targets=share_of(success, weight),
                controls=found,
                baseline=share_of(blind, weight),
                records=Exposure(
                    people.names,
                    codes=people.codes,
                    weight=weight,
                    success=success,
                    chance=np.where(success, chance[boxes], 0.0),
                ),
                holds=f"knows the class of a {people.whom.one} and that labels are as narrow as may be",
                hit=f"guesses the exact {name} of {{}} of the {people.whom.many} with a generalized one",
                miss=f"of {{}} of {people.whom.others}",
                whom=people.whom,
                stops="labels of fixed hierarchies instead of tight ones (tight=False), or larger classes",
                attribute=name,
            )

        return worst_attribute(known, one)


def _first_box(view: View, codes: np.ndarray) -> np.ndarray:
    """The box that holds each person, -1 where none does."""
    person, box = holding_boxes(view, codes)
    found = np.full(len(codes), -1)
    found[person[::-1]] = box[::-1]
    return found


def _guesses(view: View, at: int, suppressed: int) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest exact value of a person of each box, and how likely it is; -1 where all are suppressed."""
    table = view.tables[at]
    attribute, tree = table.attribute, table.attribute.nodes
    found: dict[tuple[int, int], tuple[int, float]] = {}
    guess, chance = np.full(len(view.weight), -1), np.zeros(len(view.weight))
    for box, (label, people) in enumerate(zip(view.labels[:, at].tolist(), view.weight.tolist(), strict=True)):
        if view.group[box] == suppressed or not people:
            continue
        if (label, people) not in found:
            low, high, size = int(table.low[label]), int(table.high[label]), int(table.size[label])
            node = tree.by_interval.get((low, high))
            if attribute.ordered or node is None or not tree.children[node]:
                found[label, people] = low, end_chance(size, people)
            else:
                children = tree.children[node]
                sizes = [int(tree.high[child] - tree.low[child]) for child in children]
                each = child_chances(sizes, people)
                best = int(np.argmax(each))
                found[label, people] = int(tree.low[children[best]]), each[best]
        guess[box], chance[box] = found[label, people]
    return guess, chance
