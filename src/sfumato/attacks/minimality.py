"""The minimality attack: a class was not cut further, so that cutting it must have broken the requirement.

Source    Wong, Fu, Wang & Pei, "Minimality attack in privacy preserving data publishing", VLDB 2007.
Claim     Someone who knows the quasi-identifiers of everybody in a class and that it is cut wherever l-diversity (no
          value above 1/l) allows believes in the worlds in which at least one of its parts breaks it: each way to deal
          the values of the class to its people is as likely as any other, and those in which every part keeps the
          requirement are out. Exact for classes of up to `size` people in 2 to 4 parts; else the reading of the class.
Because   had the parts kept the requirement, they would have been published.
Checked   tests/claims/test_minimality_and_downcoding.py::test_minimality_finds_a_planted_breach
          tests/claims/test_minimality_and_downcoding.py::test_minimality_equals_all_worlds
          tests/claims/test_minimality_and_downcoding.py::test_minimality_is_wrong_where_classes_are_whole_for_another_reason
          tests/claims/test_minimality_and_downcoding.py::test_a_blind_minimality_mutant_is_caught
Silent on algorithms that leave classes whole for other reasons, and on parts other than equal quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from fractions import Fraction
from math import comb
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Fit, Gain, Harm
from sfumato.attacks.case import Case, Victims, run
from sfumato.attacks.inference import Guesser, Guesses, carries, guess_secrets, guessed
from sfumato.declare import MaybeRational, Whole, declare, parameter
from sfumato.estimate import View, align, holding_boxes, inferred
from sfumato.exact import number_from_json
from sfumato.release import Release
from sfumato.schema import Schema

_WORLDS = 20_000
_PARTS = 4


def believed(parts: Sequence[int], values: Sequence[int], largest: Fraction) -> list[list[Fraction]]:
    """Return for each part the expected share of each value, over all worlds in which some part breaks the rule.

    `parts` are the people of each part, `values` the rows of each value; a part breaks the rule where a value has more
    than `largest` of it. Without such a world nothing is ruled out.

    Of two people and four, two rows of each value: who knows that a class broke the rule knows that the two are alike.

    >>> believed([2, 4], [2, 2, 2], Fraction(1, 2))[0]
    [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
    """
    total, sums = 0, [[0] * len(values) for _ in parts]
    everything, all_sums = 0, [[0] * len(values) for _ in parts]
    for world, ways in _worlds(tuple(parts), tuple(values)):
        broken = any(max(dealt) > largest * size for dealt, size in zip(world, parts, strict=True))
        everything += ways
        total += ways if broken else 0
        for at, dealt in enumerate(world):
            for value, many in enumerate(dealt):
                all_sums[at][value] += ways * many
                sums[at][value] += ways * many if broken else 0
    chosen, over = (sums, total) if total else (all_sums, everything)
    return [[Fraction(many, over * size) for many in line] for line, size in zip(chosen, parts, strict=True)]


def _worlds(parts: tuple[int, ...], values: tuple[int, ...]) -> Iterator[tuple[tuple[tuple[int, ...], ...], int]]:
    """Each way to deal values to parts, by how many of each a part gets, with the number of ways to do it."""
    if len(parts) == 1:
        yield (values,), 1
        return
    for dealt in _dealt(parts[0], values):
        ways = 1
        for many, taken in zip(values, dealt, strict=True):
            ways *= comb(many, taken)
        left = tuple(many - taken for many, taken in zip(values, dealt, strict=True))
        for rest, more in _worlds(parts[1:], left):
            yield (dealt, *rest), ways * more


def _dealt(size: int, values: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if len(values) == 1:
        if size <= values[0]:
            yield (size,)
        return
    for first in range(min(size, values[0]) + 1):
        for rest in _dealt(size - first, values[1:]):
            yield (first, *rest)


@declare
class Minimality:
    """Rule out the worlds in which a class could have been cut; `l` is that of the release unless given."""

    name: ClassVar[str] = "minimality"
    axis: ClassVar[Harm] = "inference"
    small_only: ClassVar[bool] = True

    _: KW_ONLY
    l: MaybeRational = parameter(  # noqa: E741
        "No value has more than 1/l of a class; that of the release unless given.", default=None, above=1
    )
    size: Whole = parameter("Largest class that is worked out exactly.", default=20, least=2, unit="people")

    run = run

    def fits(self, release: Release) -> Fit:
        """Generalized tables under l-diversity that limits the share of a value."""
        if release.form != "generalized":
            return Fit("it is not a generalized table")
        if self._largest(release) is None:
            return Fit("it does not promise l-diversity that limits the share of a value")
        return carries(release)

    def _largest(self, release: Release) -> Fraction | None:
        if self.l is not None:
            return 1 / self.l
        return next(_promised(release.mechanism.get("requirement")), None)

    def attempt(self, case: Case) -> Gain:
        """Work out the small classes; read the others. Targets must be everybody in the table."""
        everybody = case.targets.counts(case.known)

        def guesser(release: Release, schema: Schema, name: str) -> Guesser:
            view = align(release, schema, name)
            largest = self._largest(release) or Fraction(1, 2)
            worked = self._classes(view, everybody.codes.astype(np.int64), everybody.weights, largest)

            def guess(people: Victims) -> Guesses:
                beliefs, held = inferred(view, people.quasi)
                for line, point in enumerate(map(tuple, people.quasi.tolist())):
                    if point in worked:
                        beliefs[line] = worked[point]
                return guessed(people, beliefs, held, overall=view.overall)

            return Guesser(
                guess,
                values=view.values,
                groups=np.arange(view.values),
                said={
                    "holds": " of every row, and how the method cuts",
                    "stops": "a method that does not cut wherever it may, or a requirement that also holds for parts",
                    "details": {"kinds of rows in classes worked out exactly": len(worked)},
                },
            )

        return guess_secrets(self.name, guesser, case)

    def _classes(
        self, view: View, codes: np.ndarray, weight: np.ndarray, largest: Fraction
    ) -> dict[tuple[int, ...], np.ndarray]:
        """Return the belief about each point in a small class that is held by no other."""
        person, box = holding_boxes(view, codes)
        once = np.bincount(person, minlength=len(codes))[person] == 1
        person, box = person[once], box[once]
        order = np.argsort(box, kind="stable")
        person, box = person[order], box[order]
        starts = np.flatnonzero(np.concatenate([[True], box[1:] != box[:-1]])) if len(box) else np.zeros(0, np.int64)
        histogram = view.histogram.tocsr()
        found: dict[tuple[int, ...], np.ndarray] = {}
        for start, end in zip(starts, [*starts[1:], len(box)], strict=True):
            members, group = person[start:end], view.group[box[start]]
            values = histogram.indices[histogram.indptr[group] : histogram.indptr[group + 1]]
            counts = histogram.data[histogram.indptr[group] : histogram.indptr[group + 1]]
            parts = weight[members]
            total = int(parts.sum())
            if not 2 <= len(parts) <= _PARTS or total != int(counts.sum()) or total > self.size:
                continue
            if np.prod([comb(total, int(part)) for part in parts[:-1]], dtype=object) > _WORLDS:
                continue
            shares = believed([int(part) for part in parts], [int(many) for many in counts], largest)
            for member, line in zip(members, shares, strict=True):
                belief = np.zeros(view.values)
                belief[values] = [float(share) for share in line]
                found[tuple(codes[member].tolist())] = belief
        return found


def _promised(requirement: object) -> Iterator[Fraction]:
    """The largest share of a value that a described requirement allows."""
    if not isinstance(requirement, Mapping):
        return
    by_share = requirement.get("reading", "probability") == "probability"  # other readings allow larger shares
    if requirement.get("kind") == "l-diversity" and "l" in requirement and by_share:
        yield 1 / number_from_json("l", requirement["l"])
    for part in requirement.get("of", ()):
        yield from _promised(part)
