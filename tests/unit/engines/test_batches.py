"""Rows in batches: what is counted does not depend on how they are divided."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engines import Parts
from sfumato.engines.batches import Batches, batches_of

SIZES = (5, 4000, 3)


def two_parts() -> Parts:
    part, cut = np.array([0, 0, 1]), np.array([2000, 0, 0])
    sides = {"left": np.array([1, 0, 0]), "right": np.array([2, 0, 0])}
    return Parts(np.array([1, -1, -1]), position=cut, **sides, part=part, rows=(1, 1))


def engine(size: int, weights: bool) -> tuple[Batches, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    codes = np.column_stack([rng.integers(0, size_, 3000) for size_ in SIZES]).astype(np.int32)
    weight = rng.integers(1, 5, 3000) if weights else None
    rows = int(weight.sum()) if weights else 3000
    again = batches_of(codes, weight, size)
    return (
        Batches(("a", "b", "c"), sizes=SIZES, rows=rows, again=again),
        codes,
        np.ones(3000, int) if weight is None else weight,
    )


@pytest.mark.cells(2)
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("size", [37, 700, 10**6])
def test_answers_do_not_depend_on_the_batches(size, weights):
    made, codes, weight = engine(size, weights)
    part = (codes[:, 1] >= 2000).astype(int)
    found = made.pairs(two_parts(), [(0, 2), (1, 2), (1, 1)])
    for (one, other), counts in found.items():
        table = np.zeros((2, SIZES[one], SIZES[other]), int)
        np.add.at(table, (part, codes[:, one], codes[:, other]), weight)
        again = np.zeros_like(table)
        np.add.at(again, (counts.part, counts.first, counts.second), counts.weight)
        np.testing.assert_array_equal(table, again)
        assert len(counts.weight) == np.count_nonzero(table)
    lines = made.lines(two_parts().only([1]))
    rows, sums = np.unique(codes[part == 1], axis=0, return_inverse=True)
    np.testing.assert_array_equal(lines.codes, rows)
    np.testing.assert_array_equal(lines.weight, np.bincount(sums.reshape(-1), weights=weight[part == 1]))


def test_too_many_combinations_are_not_held():
    made, codes, _ = engine(500, weights=False)
    kinds = len(np.unique(codes[:, 1]))
    assert made.counts(["b"], kinds - 1) is None
    assert len(made.counts(["b"], kinds).weight) == kinds
    assert len(made.counts(["a", "c"], 15).weight) == 15
