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
Silent on better models than naive Bayes. Attributes of more than 4,096 values are not used.
Cost      rounds x boxes x values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato.attacks.base import Fit, Gain, Harm, Knowledge
from sfumato.attacks.inference import Guesses, carries, guessed, inference_gain
from sfumato.attacks.victims import MOST, known_names, one_release, same_codes, secrets, victims, worst_attribute
from sfumato.counts import Table
from sfumato.declare import Whole, declare, parameter
from sfumato.estimate import View, align, holding_boxes
from sfumato.mechanisms import Progress
from sfumato.randomness import Entropy
from sfumato.release import Release

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["DeFinetti", "Exchangeable", "fit_exchangeable"]

_WIDEST = 4096
_CELLS = 40_000_000  # boxes x values
_SMOOTH = 0.5  # rows spread over the values of an attribute
_SCALINGS = 8


@declare
class DeFinetti:
    """Guess the sensitive value by a model learned across groups."""

    name: ClassVar[str] = "definetti"
    axis: ClassVar[Harm] = "inference"
    several: ClassVar[bool] = False
    small_only: ClassVar[bool] = False
    compared: ClassVar[bool] = True

    _: KW_ONLY
    rounds: Whole = parameter("Rounds of expectation maximization.", default=15, least=1, unit="rounds")
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=2)

    def fits(self, release: Release) -> Fit:
        """Groups whose values are not linked to rows: buckets, and classes of generalized tables."""
        if not release.quasi:
            return Fit("it publishes no quasi-identifier to learn from")
        if len(release.boxes) * max((a.size for a in release.carried), default=0) > _CELLS:
            return Fit("it has too many boxes for so many values")
        return carries(release)

    def run(
        self,
        releases: Sequence[Release],
        knowledge: Knowledge,
        targets: Table,
        controls: Table | None = None,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Gain:
        """Fit the model once for each sensitive attribute; guess targets and controls."""
        release = one_release(releases)
        known = known_names(knowledge, targets.schema)
        entropy = Entropy.seeded(seed).child(self.name)

        def one(name: str) -> Gain:
            view = align(release, targets.schema.with_roles(quasi=known, sensitive=name), name)
            model = fit_exchangeable(view, self.rounds)

            def attack(table: Table, which: str) -> Guesses:
                people = victims(table, known, [name], entropy=entropy.child(which), most=self.most)
                return guessed(people, model.beliefs(people.quasi), overall=view.overall)

            if controls is not None:
                same_codes(controls, targets, (*known, name))
            return inference_gain(
                self.name,
                attack(targets, "targets"),
                None if controls is None else attack(controls, "controls"),
                overall=view.overall,
                groups=np.arange(view.values),
                known=known,
                attribute=name,
                holds=" and learns across groups (deFinetti)",
                stops="t-closeness with generalization instead of buckets, or differential privacy",
            )

        return worst_attribute(secrets(release, targets.schema, knowledge), one)


@dataclass(frozen=True)
class Exchangeable:
    """`rows[b, s]` are the rows of box b expected to have s; `tables[j][s, code]` is P(y_j | s); `prior` is P(s)."""

    view: View
    _: KW_ONLY
    used: tuple[int, ...]
    tables: tuple[np.ndarray, ...] = field(repr=False)
    held: tuple[np.ndarray, ...] = field(repr=False)  # labels x values: P(label | s)
    rows: np.ndarray = field(repr=False)
    prior: np.ndarray = field(repr=False)

    def beliefs(self, codes: np.ndarray) -> np.ndarray:
        """Return P(s | what is known) for each person, as far as it is told up to a factor."""
        person, box = holding_boxes(self.view, codes)
        found = np.zeros((len(codes), self.view.values))
        step = max(1, 4_000_000 // max(1, self.view.values))
        for start in range(0, len(person), step):
            who, where = person[start : start + step], box[start : start + step]
            part = self.rows[where].copy()
            for at, table, label in zip(self.used, self.tables, self.held, strict=True):
                part *= table[:, codes[who, at]].T / label[self.view.labels[where, at]]
            np.add.at(found, who, part)
        lost = found.sum(axis=1) <= 0
        if lost.any():
            found[lost] = self._by_model(codes[lost])
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def _by_model(self, codes: np.ndarray) -> np.ndarray:
        logs = np.repeat(np.log(self.prior)[None, :], len(codes), axis=0)
        for at, table in zip(self.used, self.tables, strict=True):
            logs += np.log(table[:, codes[:, at]].T)
        return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def fit_exchangeable(view: View, rounds: int = 15) -> Exchangeable:
    """Fit P(s) and P(y_j | s) to the boxes and groups of a release."""
    from scipy.sparse import csr_matrix

    values, boxes = view.values, len(view.weight)
    weight = view.weight.astype(np.float64)
    histogram = np.asarray(view.histogram.toarray(), np.float64)
    used = tuple(at for at, table in enumerate(view.tables) if table.attribute.size <= _WIDEST)
    prior = (view.overall + _SMOOTH) / (view.overall + _SMOOTH).sum()
    members = [view.tables[at].holds(np.arange(view.tables[at].attribute.size)).astype(np.float64) for at in used]
    sums = csr_matrix((np.ones(boxes), (view.group, np.arange(boxes))), shape=(len(view.group_weight), boxes))
    share = np.divide(1.0, view.group_weight, where=view.group_weight > 0, out=np.zeros(len(view.group_weight)))
    rows = histogram[view.group] * (weight * share[view.group])[:, None]
    tables = [np.full((values, member.shape[1]), 1 / member.shape[1]) for member in members]
    held = [np.maximum((table @ member.T).T, 1e-12) for table, member in zip(tables, members, strict=True)]
    for _ in range(rounds):
        tables = [_learned(view, at, rows, *known) for at, *known in zip(used, tables, members, held, strict=True)]
        held = [np.maximum((table @ member.T).T, 1e-12) for table, member in zip(tables, members, strict=True)]
        if not view.one_box_each:
            rows = _exchanged(view, used, held, histogram, weight, sums)
    return Exchangeable(view, used=used, tables=tuple(tables), held=tuple(held), rows=rows, prior=prior)


def _learned(
    view: View, at: int, rows: np.ndarray, table: np.ndarray, member: np.ndarray, held: np.ndarray
) -> np.ndarray:
    """P(y_j | s): each box gives its rows to the values of its label, as likely as they were held to be."""
    by_label = np.zeros((len(view.tables[at]), rows.shape[1]))
    np.add.at(by_label, view.labels[:, at], rows)
    found = table * ((by_label / held).T @ member) + _SMOOTH / member.shape[1]
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _exchanged(
    view: View,
    used: tuple[int, ...],
    held: list[np.ndarray],
    histogram: np.ndarray,
    weight: np.ndarray,
    sums: csr_matrix,
) -> np.ndarray:
    """Rows of each box and value by the model, scaled so that boxes and groups keep their numbers."""
    logs = np.zeros((len(weight), view.values))
    for at, label in zip(used, held, strict=True):
        logs += np.log(label[view.labels[:, at]])
    logs -= logs.max(axis=1, keepdims=True)
    rows = np.exp(np.maximum(logs, -60)) * (histogram[view.group] > 0)
    for _ in range(_SCALINGS):
        total = rows.sum(axis=1)
        rows *= np.divide(weight, total, where=total > 0, out=np.zeros_like(total))[:, None]
        inside = np.asarray(sums @ rows)
        rows *= np.divide(histogram, inside, where=inside > 0, out=np.zeros_like(inside))[view.group]
    return np.asarray(rows)
