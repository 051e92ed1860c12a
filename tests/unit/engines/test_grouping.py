"""Rows of codes are grouped alike whether their key has 32 bits, 64 bits or more, by a table or by sorting."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engines.grouping import group_codes, packed

SHAPES = {
    "a table of all combinations": (4, 5, 3),
    "a key of 32 bits": (4000, 5000, 100),
    "the last key of 32 bits": (2**16, 2**15 - 1, 1),
    "a key of 64 bits": (2**20, 2**20, 2**10),
    "columns one by one": (2**30, 2**30, 2**30),
}


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("sizes", SHAPES.values(), ids=SHAPES)
def test_lines_and_weights_equal_a_count_by_hand(sizes, weighed):
    rng = np.random.default_rng(7)
    some = [np.append(rng.integers(0, size, 30), size - 1) for size in sizes]  # the largest code is among them
    columns = [column[rng.integers(0, 31, 2000)] for column in some]
    columns = [np.append(column, size - 1) for column, size in zip(columns, sizes, strict=True)]
    weights = rng.integers(1, 9, 2001) if weighed else None
    codes, sums = group_codes(columns, sizes, rows=2001, weights=weights)
    expected, place = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    np.testing.assert_array_equal(codes, expected)
    np.testing.assert_array_equal(sums, np.bincount(place.reshape(-1), weights=weights))
    assert codes.dtype == np.int32
    assert sums.dtype == np.int64


def test_columns_are_not_changed():
    column = np.array([3, 1, 2, 1])
    group_codes([column], [4000], rows=4)
    np.testing.assert_array_equal(column, [3, 1, 2, 1])


def test_a_key_of_narrow_columns_does_not_wrap_round():
    narrow = [np.array([126], np.int8), np.array([99], np.int8)]
    assert packed(narrow, [127, 100]).tolist() == [12699]
    assert packed(narrow, [127, 100], np.int32).tolist() == [12699]
