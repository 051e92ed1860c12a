"""The readable reference of `merging.unite`: every pair is looked at, nothing is remembered.

The claim and its tests are those of `merging`. Scores come from `score.score`, which has a reference of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from math import prod

import numpy as np

from sfumato.kernels.dlink.merging import JoinAxis, UnitedClasses
from sfumato.kernels.dlink.score import CELLS, Link, score

__all__ = ["ReferenceMerge", "join_labels", "pair_distance", "unite_reference"]


@dataclass(frozen=True, slots=True)
class ReferenceMerge:
    """The unions in their order, the classes left with their boxes, and who was suppressed."""

    unions: tuple[tuple[int, int], ...]
    _: KW_ONLY
    boxes: dict[int, tuple[tuple[int, int], ...]]
    scores: dict[int, float]
    suppressed: tuple[int, ...]


@dataclass(slots=True)
class _Part:
    box: list[tuple[int, int]]
    loss: list[float]
    rows: int
    counts: np.ndarray
    codes: np.ndarray
    mass: float
    spread: float
    score: float = field(default=0.0)


def join_labels(axis: JoinAxis, low: int, high: int) -> tuple[int, int, float]:
    """The lowest node that holds the interval, or the interval itself, with its loss."""
    if axis.nodes:
        holding = [node for node in axis.nodes if node[0] <= low and high <= node[1]]
        begin, end, _, loss = min(holding, key=lambda node: node[1] - node[0])
        return begin, end, loss
    if axis.missing and high == axis.size and low < axis.size - 1:
        low = 0
    return low, high, (high - low - 1) / (axis.size - 1) if axis.size > 1 else 0.0


def pair_distance(axes: Sequence[JoinAxis], one: _Part, other: _Part, starts: np.ndarray, weight: float) -> float:
    """Rows times the loss that each side gains, plus the weighted growth of what an even spread gets wrong."""
    joined = _joined(axes, one, other)
    total = 0.0
    for a, (_, _, loss) in enumerate(joined):
        total += one.rows * (loss - one.loss[a]) + other.rows * (loss - other.loss[a])
    if weight:
        spread = _spread(one.codes + other.codes, one.rows + other.rows, joined, starts)
        total += weight * spread - weight * (one.spread + other.spread)
    return total


def unite_reference(
    axes: Sequence[JoinAxis],
    link: Link,
    classes: UnitedClasses,
    *,
    weight: float = 0.0,
    failing_first: bool = True,
    lost: float = 0.0,
    budget: int = 0,
) -> ReferenceMerge:
    """Unite the failing class of least (score, number) with its nearest, until none fails or one is left."""
    parts = {i: _read(classes, i) for i in range(len(classes.rows))}
    unions: list[tuple[int, int]] = []
    gone: list[int] = []
    spent = 0
    for part in parts.values():
        part.score = _score(link, part)
    while len(parts) > 1:
        failing = [i for i, part in parts.items() if part.score < link.alpha]
        if not failing:
            break
        i = min(failing, key=lambda number: (parts[number].score, number))
        among = failing if failing_first and len(failing) > 1 else list(parts)
        far, j = min((pair_distance(axes, parts[i], parts[j], classes.code_start, weight), j) for j in among if j != i)
        if parts[i].rows <= budget - spent and far >= lost * parts[i].rows:
            gone.append(i)
            spent += parts.pop(i).rows
            continue
        keep, drop = min(i, j), max(i, j)
        parts[keep] = _union(axes, link, parts[keep], parts.pop(drop), classes.code_start)
        unions.append((keep, drop))
    return ReferenceMerge(
        tuple(unions),
        boxes={i: tuple(part.box) for i, part in parts.items()},
        scores={i: part.score for i, part in parts.items()},
        suppressed=tuple(gone),
    )


def _read(classes: UnitedClasses, i: int) -> _Part:
    box = list(zip(classes.low[i].tolist(), classes.high[i].tolist(), strict=True))
    return _Part(
        box,
        loss=classes.loss[i].tolist(),
        rows=int(classes.rows[i]),
        counts=classes.counts[i].copy(),
        codes=classes.codes[i].copy(),
        mass=float(classes.mass[i]),
        spread=float(classes.spread[i]),
    )


def _joined(axes: Sequence[JoinAxis], one: _Part, other: _Part) -> list[tuple[int, int, float]]:
    ends = zip(axes, one.box, other.box, strict=True)
    return [join_labels(axis, min(a[0], b[0]), max(a[1], b[1])) for axis, a, b in ends]


def _spread(codes: np.ndarray, rows: int, joined: Sequence[tuple[int, int, float]], starts: np.ndarray) -> float:
    total = 0.0
    for a, (low, high, _) in enumerate(joined):
        if starts[a] >= 0:
            own = codes[starts[a] + low : starts[a] + high]
            total += sum(max(0.0, float(count) - rows / (high - low)) for count in own)
    return total


def _score(link: Link, part: _Part) -> float:
    cells = np.zeros(len(link.share))
    if link.source == CELLS:
        for at, value in enumerate(link.cell_value):
            share = float(link.cell_weight[at])
            for a, (low, high) in enumerate(part.box):
                begin, end = int(link.cell_low[at, a]), int(link.cell_high[at, a])
                clipped = max(low, begin), min(high, end)
                whole = _mass(link, a, begin, end)
                if clipped != (begin, end):
                    share = share * _mass(link, a, *clipped) / whole if whole else 0.0
            cells[value] += share
    return float(score(link, part.mass, part.counts, cells))


def _mass(link: Link, a: int, low: int, high: int) -> float:
    return float(link.prefix[link.start[a] + high] - link.prefix[link.start[a] + low]) if low < high else 0.0


def _union(axes: Sequence[JoinAxis], link: Link, one: _Part, other: _Part, starts: np.ndarray) -> _Part:
    joined = _joined(axes, one, other)
    codes, rows = one.codes + other.codes, one.rows + other.rows
    box = [(low, high) for low, high, _ in joined]
    made = _Part(
        box,
        loss=[loss for _, _, loss in joined],
        rows=rows,
        counts=one.counts + other.counts,
        codes=codes,
        mass=prod(_mass(link, a, low, high) for a, (low, high) in enumerate(box)),
        spread=_spread(codes, rows, joined, starts),
    )
    made.score = _score(link, made)
    return made
