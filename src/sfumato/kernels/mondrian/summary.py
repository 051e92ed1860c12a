"""The same cuts from summaries: what a rule may know of a part, without its rows.

Source    Ours (docs/decisions/009-two-phases.md).
Claim     `choose` takes the cut that `partition` takes of the rows behind the summary: attribute, position, children.
Because   a rule reads a part only through the counts of each attribute's codes, the counts of the other attributes and
          of the sensitive codes among the rows of each code; this is the summary, and the compiled rules are the same.
Checked   tests/claims/test_two_phases.py::test_a_summary_is_cut_like_its_rows
          tests/claims/test_two_phases.py::test_a_mutant_without_pairs_is_caught
Silent on LINK conditions and suppression, which are not decided from summaries.
Cost      as one part of so many rows as there are pairs of codes that occur together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from sfumato.arrays import Ints
from sfumato.kernels.cache import compiled
from sfumato.kernels.conditions import Conditions
from sfumato.kernels.mondrian.layout import Codes, CutAttribute, Layout, Part, RowRecords, Scratch, scratch
from sfumato.kernels.mondrian.partition import WIDEST, choose_cut

# mypy: disable-error-code="arg-type"

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Codes of one column, codes of another, weight: each pair of codes once."""


@dataclass(frozen=True, slots=True)
class PartSummary:
    """The one-way counts of a part's attributes, and of pairs: two attributes, or an attribute and a sensitive column.

    `codes[a]` are those that occur, rising, `weights[a]` their weight. `pairs[a, b]`, a < b, is needed by every rule
    but `widest`; `sensitive[a, j]` where a condition reads sensitive column j.
    """

    codes: Sequence[Codes]
    _: KW_ONLY
    weights: Sequence[Ints]
    pairs: Mapping[tuple[int, int], Entries]
    sensitive: Mapping[tuple[int, int], Entries]

    @property
    def weight(self) -> int:
        """The weight of the part."""
        return int(self.weights[0].sum())


@dataclass(frozen=True, slots=True)
class PartCut:
    """A cut of one attribute below `position`, or of its node into children (-1)."""

    attribute: int
    _: KW_ONLY
    position: int


@compiled
def _decide(t: Layout, c: Conditions, s: Scratch, part: Part, n: int, rule: int, weight: float) -> bool:
    return choose_cut(t, c, s, part, n, np.int64(0), rule, weight)


def choose(
    summary: PartSummary,
    layout: Layout,
    attributes: Sequence[CutAttribute],
    conditions: Conditions,
    *,
    box: RowRecords,
    rule: int,
    uniformity_weight: float,
) -> PartCut | None:
    """Return the cut that a rule takes of a part with this summary and box, or None where it stays whole."""
    side = box.copy()
    side["least"] = [codes[0] for codes in summary.codes]
    side["most"] = [codes[-1] for codes in summary.codes]
    room = _filled(summary, attributes, conditions, pairs=rule != WIDEST)
    none = np.zeros((0, len(attributes) + len(conditions.offset)), np.int32)
    part = Part(none, np.zeros(0, np.int32), side)
    if not _decide(layout, conditions, room, part, summary.weight, rule, float(uniformity_weight)):
        return None
    return PartCut(int(room.cut[0]), position=int(room.cut[1]))


def _filled(
    summary: PartSummary, attributes: Sequence[CutAttribute], conditions: Conditions, *, pairs: bool
) -> Scratch:
    """Return the counts of a part as the compiled rules keep them, and what moves with each code of each attribute."""
    offset, sizes = conditions.offset, [len(codes) for codes in summary.codes]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    whole = np.concatenate(list(summary.weights)).astype(np.int32)
    places = np.arange(first[-1])
    owner, to, moved = [places], [places], [whole.astype(np.int64)]
    for (a, b), (one, other, weight) in (summary.pairs if pairs else {}).items():
        left = first[a] + np.searchsorted(summary.codes[a], one)
        right = first[b] + np.searchsorted(summary.codes[b], other)
        owner += [left, right]
        to += [right, left]
        moved += [weight, weight]
    for (a, j), (one, code, weight) in summary.sensitive.items():
        owner.append(first[a] + np.searchsorted(summary.codes[a], one))
        to.append(-1 - (offset[j] + code))
        moved.append(weight)
    owners = np.concatenate(owner)
    order = np.argsort(owners, kind="stable")
    occurs = np.bincount(owners, minlength=int(first[-1]))
    room = scratch(attributes, max(sizes), int(offset[-1]), summary.weight)
    counts = room.sensitive
    for j in range(len(offset) - 1):
        _, code, weight = summary.sensitive[0, j]
        np.add.at(counts, offset[j] + code, weight)
    return room._replace(
        first=first,
        code=np.concatenate(list(summary.codes)).astype(np.int32),
        occurs=occurs.astype(np.int32),
        whole=whole,
        moves=np.concatenate([[0], np.cumsum(occurs)]).astype(np.int64),
        to=np.concatenate(to)[order].astype(np.int32),
        moved=np.concatenate(moved)[order].astype(np.int32),
    )
