"""The deFinetti attack: learn from all groups who has what, and use it inside each of them.

Source    Kifer, "Attacks on privacy and deFinetti's theorem", SIGMOD 2009, section 4 (naive Bayes, learned while values
          are exchanged inside buckets). Expectations in the place of his exchanges are ours, and so is the form for
          generalized tables.
Claim     P(s | y, group) is proportional to the rows of the group that are expected to have y and s, under P(s) and
          independent P(y_j | s) fitted to the whole release by expectation maximization; the rows of each box and the
          values of each group keep their published numbers. Somebody no box holds is judged by the model alone.
Because   random worlds treat groups as if nothing could be learned from one about another; the values of exchangeable
          rows tell of each other (deFinetti).
Checked   tests/claims/test_attribute_attacks.py::test_definetti_finds_what_random_worlds_hide
          tests/claims/test_attribute_attacks.py::test_definetti_keeps_the_published_numbers
          tests/claims/test_attribute_attacks.py::test_definetti_beats_random_worlds_on_anatomy
          tests/claims/test_attribute_attacks.py::test_definetti_in_parts_is_definetti
          tests/claims/test_attribute_attacks.py::test_values_dealt_by_patterns_on_planted_tables
Silent on better models than naive Bayes. Attributes of more than 4,096 values are not used. Of a release with more than
          4,000,000 boxes x values the model is learned from that many, whole groups at random; the gain says so.
Cost      rounds x boxes x values of the groups learned from, and once boxes x values of the groups of the people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from sfumato.attacks.base import Fit, Gain, Harm
from sfumato.attacks.case import MOST, Case, Victims, run
from sfumato.attacks.inference import Guesser, Guesses, carries, guess_secrets, guessed, in_parts
from sfumato.declare import Whole, declare, parameter
from sfumato.estimate import View, align, holding_boxes
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.schema import Schema

_WIDEST = 4096
_PATTERNS = 40_000_000  # values of the quasi-identifiers x values of what is carried
_CELLS = 4_000_000  # boxes x values that the model is learned from, and that are dealt at a time
_SMOOTH = 0.5  # rows spread over the values of an attribute
_SCALINGS = 8


@declare
class DeFinetti:
    """Guess the sensitive value by a model learned across groups."""

    name: ClassVar[str] = "definetti"
    axis: ClassVar[Harm] = "inference"
    compared: ClassVar[bool] = True

    _: KW_ONLY
    rounds: Whole = parameter("Rounds of expectation maximization.", default=15, least=1, unit="rounds")
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=2)

    run = run

    def fits(self, release: Release) -> Fit:
        """Groups whose values are not linked to rows: buckets, and classes of generalized tables."""
        if not release.quasi:
            return Fit("it publishes no quasi-identifier to learn from")
        widths = sum(a.size for a in release.quasi if a.size <= _WIDEST)
        if widths * max((a.size for a in release.carried), default=0) > _PATTERNS:
            return Fit("its columns have too many values")
        return carries(release)

    def attempt(self, case: Case) -> Gain:
        """Fit the model once for each sensitive attribute; guess targets and controls."""

        def guesser(release: Release, schema: Schema, name: str) -> Guesser:
            view = align(release, schema, name)
            model = fit_exchangeable(view, self.rounds, entropy=case.entropy(self.name).child("groups"))

            def guess(part: Victims) -> Guesses:
                return guessed(part, model.beliefs(part.quasi), overall=view.overall)

            return Guesser(
                lambda people: in_parts(people, view.values, guess),
                values=view.values,
                groups=np.arange(view.values),
                said={
                    "holds": " and learns across groups (deFinetti)",
                    "stops": "t-closeness with generalization instead of buckets, or differential privacy",
                    "notes": model.notes(),
                },
            )

        return guess_secrets(self.name, guesser, case, most=self.most)


@dataclass(frozen=True)
class Exchangeable:
    """`tables[j][s, code]` is P(y_j | s); `prior` is P(s); `learned` boxes of the view taught them."""

    view: View
    _: KW_ONLY
    used: tuple[int, ...]
    tables: tuple[np.ndarray, ...] = field(repr=False)
    held: tuple[np.ndarray, ...] = field(repr=False)  # labels x values: P(label | s)
    prior: np.ndarray = field(repr=False)
    learned: int

    @cached_property
    def rows(self) -> np.ndarray:
        """`rows[b, s]` are the rows of box b expected to have s, of all boxes at once."""
        return _rows_of(self.view, self.used, self.held)

    def notes(self) -> tuple[str, ...]:
        """Say where the model was learned from a part of the release."""
        many = len(self.view.weight)
        if self.learned == many:
            return ()
        return (f"The model was learned from {self.learned:,} of {many:,} boxes, whole groups drawn at random.",)

    def beliefs(self, codes: np.ndarray) -> np.ndarray:
        """Return P(s | what is known) for each person, up to a factor."""
        person, box = holding_boxes(self.view, codes)
        found = np.zeros((len(codes), self.view.values))
        if self.learned == len(self.view.weight):
            self._add(found, codes, (person, box), self.rows, box)
        else:
            for at, inside in self._groups_in_parts(box):
                part = _of_groups(self.view, inside)
                rows = _rows_of(part.view, self.used, self.held)
                self._add(found, codes, (person[at], box[at]), rows, np.searchsorted(part.boxes, box[at]))
        lost = found.sum(axis=1) <= 0
        if lost.any():
            found[lost] = self._by_model(codes[lost])
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def _add(
        self,
        found: np.ndarray,
        codes: np.ndarray,
        pairs: tuple[np.ndarray, np.ndarray],
        rows: np.ndarray,
        place: np.ndarray,
    ) -> None:
        """Add what each box says about the person it holds; `place` is the line of the box in `rows`."""
        from scipy.sparse import csr_matrix

        person, box = pairs
        step = max(1, _CELLS // max(1, self.view.values))
        for start in range(0, len(person), step):
            who, where = person[start : start + step], box[start : start + step]
            part = rows[place[start : start + step]]
            for at, table, label in zip(self.used, self.tables, self.held, strict=True):
                part *= table.T[codes[who, at]] / label[self.view.labels[where, at]]
            sums = csr_matrix((np.ones(len(who)), (who, np.arange(len(who)))), shape=(len(codes), len(who)))
            found += sums @ part

    def _groups_in_parts(self, box: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Places in `box` and the groups they lie in, as many groups at a time as are dealt at once."""
        group = self.view.group[box]
        order = np.argsort(group, kind="stable")
        touched, first = np.unique(group[order], return_index=True)
        boxes = np.bincount(self.view.group, minlength=len(self.view.group_weight))[touched]
        share = (np.cumsum(boxes) - boxes) * self.view.values // _CELLS
        for part in np.unique(share):
            some = np.flatnonzero(share == part)
            end = first[some[-1] + 1] if some[-1] + 1 < len(first) else len(order)
            yield order[first[some[0]] : end], touched[some]

    def _by_model(self, codes: np.ndarray) -> np.ndarray:
        logs = np.repeat(np.log(self.prior)[None, :], len(codes), axis=0)
        for at, table in zip(self.used, self.tables, strict=True):
            logs += np.log(table[:, codes[:, at]].T)
        return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def fit_exchangeable(view: View, rounds: int = 15, *, entropy: Entropy | None = None) -> Exchangeable:
    """Fit P(s) and P(y_j | s) to the boxes and groups of a release, or to groups of it drawn at random."""
    used = tuple(at for at, table in enumerate(view.tables) if table.attribute.size <= _WIDEST)
    prior = (view.overall + _SMOOTH) / (view.overall + _SMOOTH).sum()
    seen = view
    if len(view.weight) * view.values > _CELLS:
        seen = _of_groups(view, _drawn(view, entropy or Entropy.seeded(0))).view
    members = [view.tables[at].holds(np.arange(view.tables[at].attribute.size)).astype(np.float64) for at in used]
    tables = [np.full((view.values, member.shape[1]), 1 / member.shape[1]) for member in members]
    held = [np.maximum((table @ member.T).T, 1e-12) for table, member in zip(tables, members, strict=True)]
    rows = _evenly(seen)
    for done in range(rounds):
        if done and not seen.one_box_each:
            rows = _exchanged(seen, used, held)
        tables = [_learned(seen, at, rows, *known) for at, *known in zip(used, tables, members, held, strict=True)]
        held = [np.maximum((table @ member.T).T, 1e-12) for table, member in zip(tables, members, strict=True)]
    return Exchangeable(view, used=used, tables=tuple(tables), held=tuple(held), prior=prior, learned=len(seen.weight))


class _Part(NamedTuple):
    view: View
    boxes: np.ndarray  # of the whole view, ascending


def _of_groups(view: View, groups: np.ndarray) -> _Part:
    """Return the boxes of some groups, numbered anew in their order."""
    place = np.full(len(view.group_weight), -1, np.int64)
    place[groups] = np.arange(len(groups))
    boxes = np.flatnonzero(place[view.group] >= 0)
    kept = replace(
        view,
        labels=view.labels[boxes],
        weight=view.weight[boxes],
        group=place[view.group[boxes]],
        group_weight=view.group_weight[groups],
        histogram=view.histogram[groups],
    )
    return _Part(kept, boxes)


def _drawn(view: View, entropy: Entropy) -> np.ndarray:
    """Whole groups at random, up to as many boxes as a model is learned from."""
    order = entropy.permutation(len(view.group_weight))
    boxes = np.bincount(view.group, minlength=len(order))[order]
    many = int(np.searchsorted(np.cumsum(boxes) * view.values, _CELLS, side="right"))
    return np.sort(order[: max(1, many)])


def _learned(
    view: View, at: int, rows: np.ndarray, table: np.ndarray, member: np.ndarray, held: np.ndarray
) -> np.ndarray:
    """P(y_j | s): each box gives its rows to the values of its label, as likely as they were held to be."""
    from scipy.sparse import csr_matrix

    boxes = np.arange(len(rows))
    sums = csr_matrix((np.ones(len(rows)), (view.labels[:, at], boxes)), shape=(len(view.tables[at]), len(rows)))
    found = table * ((sums @ rows / held).T @ member) + _SMOOTH / member.shape[1]
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _rows_of(view: View, used: tuple[int, ...], held: Sequence[np.ndarray]) -> np.ndarray:
    """Rows of each box and value: read off where a box is its whole group, else dealt by the model."""
    return _evenly(view) if view.one_box_each else _exchanged(view, used, held)


def _evenly(view: View) -> np.ndarray:
    """Rows of each box and value as random worlds have them: every value of a group as likely for each of its rows."""
    histogram = np.asarray(view.histogram.toarray(), np.float64)
    share = np.divide(1.0, view.group_weight, where=view.group_weight > 0, out=np.zeros(len(view.group_weight)))
    return np.asarray(histogram[view.group] * (view.weight.astype(np.float64) * share[view.group])[:, None])


def _exchanged(view: View, used: tuple[int, ...], held: Sequence[np.ndarray]) -> np.ndarray:
    """Rows of each box and value by the model, scaled so that boxes and groups keep their numbers."""
    from scipy.sparse import csr_matrix

    weight, boxes = view.weight.astype(np.float64), np.arange(len(view.weight))
    histogram = np.asarray(view.histogram.toarray(), np.float64)
    sums = csr_matrix((np.ones(len(boxes)), (view.group, boxes)), shape=(len(histogram), len(boxes)))
    logs = np.zeros((len(weight), view.values))
    for at, label in zip(used, held, strict=True):
        logs += np.log(label)[view.labels[:, at]]
    logs -= logs.max(axis=1, keepdims=True)
    rows = np.exp(np.maximum(logs, -60)) * (histogram[view.group] > 0)
    for _ in range(_SCALINGS):
        total = rows.sum(axis=1)
        rows *= np.divide(weight, total, where=total > 0, out=np.zeros_like(total))[:, None]
        inside = np.asarray(sums @ rows)
        rows *= np.divide(histogram, inside, where=inside > 0, out=np.zeros_like(inside))[view.group]
    return np.asarray(rows)


# Foreground knowledge: patterns that the release itself shows are used inside its groups.
#
# Source    Wong, Fu, Wang, Yu & Pei, "Can the utility of anonymized data be used for privacy breaches?", TKDD 2011.
# Claim     P(y_j | s) is read off the release as its readers do (every value of a group as likely for each of its
#           rows), once; inside a group the values are dealt by these patterns, boxes and groups keeping their numbers.
# Because   an analyst would find the same patterns: they are what the release is published for. It is one round of
#           `definetti.py`, which goes on until the patterns fit the dealing.
# Checked   tests/claims/test_attribute_attacks.py::test_foreground_knowledge_is_the_first_round
#           tests/claims/test_attribute_attacks.py::test_values_dealt_by_patterns_on_planted_tables
#           tests/claims/test_attribute_attacks.py::test_wrong_foreground_attacks_are_caught
# Silent on patterns of several columns together.


@declare
class Foreground:
    """Guess the sensitive value by patterns that the release shows."""

    name: ClassVar[str] = "foreground"
    axis: ClassVar[Harm] = "inference"
    compared: ClassVar[bool] = True

    _: KW_ONLY
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=1)

    run = run

    def fits(self, release: Release) -> Fit:
        """As for deFinetti's attack."""
        return DeFinetti(most=self.most).fits(release)

    def attempt(self, case: Case) -> Gain:
        """Read the patterns once, and guess targets and controls."""
        found = DeFinetti(rounds=1, most=self.most).attempt(case)
        parts = {name: _renamed(one) for name, one in found.by_attribute.items()}
        return replace(_renamed(found), by_attribute=parts)


def _renamed(gain: Gain) -> Gain:
    holds = gain.holds.replace(" and learns across groups (deFinetti)", " and uses patterns that the release shows")
    return replace(gain, attack=Foreground.name, holds=holds)
