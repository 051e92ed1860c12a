"""Score a partition: certainty penalty of its published sets, and the error of random COUNT queries.

NCP is the mean over rows and attributes of (largest - smallest value) / (size - 1) for a numeric attribute, and of
(values in the published set - 1) / (size - 1) otherwise; a suppressed row counts 1. Query error is the
median relative error of 1,000 COUNT queries over 2-4 attributes that select 5-20 % of the rows, when
a reader spreads the rows of a class evenly over its sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Score", "published_sets", "query_errors", "random_queries", "score"]

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Score:
    ncp: float
    _: KW_ONLY
    classes: int
    query_error: float
    suppressed: float


def published_sets(codes, leaf, sizes: Sequence[int], numeric: Sequence[bool]) -> list[Bools]:
    """One table classes x codes per attribute: True where the class's label holds the code."""
    tables = []
    for a, size in enumerate(sizes):
        holds = np.zeros((leaf.max() + 1, size), dtype=bool)
        holds[leaf[leaf >= 0], codes[leaf >= 0, a]] = True
        if numeric[a]:  # from the smallest to the largest
            holds = np.logical_or.accumulate(holds, axis=1) & np.logical_or.accumulate(holds[:, ::-1], axis=1)[:, ::-1]
        tables.append(holds)
    return tables


def random_queries(codes, weights, sizes: Sequence[int], *, queries: int, seed: int, numeric: Sequence[bool]):
    """Queries as one mask per attribute (None: not asked); numeric attributes by a range, others by a set."""
    rng = np.random.default_rng(seed)
    total, found = weights.sum(), []
    while len(found) < queries:
        asked = rng.choice(len(sizes), size=rng.integers(2, 5), replace=False)
        masks: list[Bools | None] = [None] * len(sizes)
        inside = np.ones(len(codes), dtype=bool)
        for a in asked:
            mask = np.zeros(sizes[a], dtype=bool)
            if numeric[a]:
                low, high = np.sort(rng.integers(0, sizes[a], size=2))
                mask[low : high + 1] = True
            else:
                mask[rng.choice(sizes[a], size=rng.integers(1, sizes[a] + 1), replace=False)] = True
            masks[a] = mask
            inside &= mask[codes[:, a]]
        actual = int(weights[inside].sum())
        if 0.05 * total <= actual <= 0.20 * total:
            found.append((masks, actual))
    return found


def query_errors(sets: list[Bools], weight, queries) -> npt.NDArray[np.float64]:
    errors = np.empty(len(queries))
    widths = [table.sum(axis=1) for table in sets]
    for number, (masks, actual) in enumerate(queries):
        share = weight.astype(np.float64)
        for table, width, mask in zip(sets, widths, masks, strict=True):
            if mask is not None:
                share = share * (table[:, mask].sum(axis=1) / width)
        errors[number] = abs(share.sum() - actual) / actual
    return errors


def score(
    codes,
    weights,
    leaf,
    sizes: Sequence[int],
    numeric: Sequence[bool],
    *,
    seeds: Sequence[int] = range(5),
    queries: int = 1000,
    workloads=None,
    sets: list[Bools] | None = None,
) -> Score:
    """Score the tight labels of a partition (or the given label sets); a suppressed row is spread over the domain."""
    sets = published_sets(codes, leaf, sizes, numeric) if sets is None else sets
    weight = np.bincount(leaf[leaf >= 0], weights=weights[leaf >= 0], minlength=leaf.max() + 1)
    lost = float(weights[leaf < 0].sum())
    total = float(weights.sum())
    penalty = sum((weight * (t.sum(axis=1) - 1)).sum() / (t.shape[1] - 1) for t in sets) / len(sizes)
    if lost:
        sets = [np.vstack([table, np.ones((1, table.shape[1]), dtype=bool)]) for table in sets]
        weight = np.append(weight, lost)
    if workloads is None:
        workloads = [random_queries(codes, weights, sizes, queries=queries, seed=s, numeric=numeric) for s in seeds]
    medians = [float(np.median(query_errors(sets, weight, work))) for work in workloads]
    return Score(
        float((penalty + lost) / total),
        classes=int(leaf.max() + 1),
        query_error=float(np.mean(medians)),
        suppressed=lost / total,
    )
