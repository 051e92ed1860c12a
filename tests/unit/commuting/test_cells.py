"""Cells: strata, slots, and exact placing."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.commuting.cells import ALWAYS, Cells, Uniform


def some(**changes):
    given = {
        "cell": np.array([0, 0, 1, 2, 2, 2]),
        "weight": np.array([3, 1, 3]),
        "keep": np.array([ALWAYS, ALWAYS // 2, ALWAYS]),
        "density": np.array([1, 2, 1, 0, 5, 3]),
        **changes,
    }
    return Cells(given.pop("cell"), **given)


def test_strata_are_ranges_of_slots():
    strata, slots = some().strata()
    assert [(s.alpha, s.blocks, s.keep) for s in strata] == [(1, 1, Fraction(1, 2)), (3, 2, 1)]
    assert slots.tolist() == [1, 0, 2]


def test_a_place_is_drawn_by_its_density_exactly():
    """Every remainder once: words 2^63 + 0 .. T-1 shifted to a multiple, so each unit occurs exactly once."""
    cells = some()
    first = (2**63 // 8 + 1) * 8  # a multiple of 8, the total of cell 2, far above what is refused
    words = iter([np.arange(first, first + 8, dtype=np.uint64)])
    found = cells.place(np.full(8, 2), lambda _: next(words))
    assert Counter(found.tolist()) == {4: 5, 5: 3}  # block 3 has density 0


def test_words_that_would_favour_small_remainders_are_drawn_again():
    cells = some()  # cell 0 has 3 units; 2^64 mod 3 = 1, so the word 0 is refused
    words = iter([np.array([0], dtype=np.uint64), np.array([5], dtype=np.uint64)])
    assert cells.place(np.array([0]), lambda _: next(words)).tolist() == [1]


def test_a_cell_of_one_origin_draws_nothing():
    def refuse(size):
        assert size == 0
        return np.zeros(0, dtype=np.uint64)

    assert Cells.of_blocks(5).place(np.array([4, 0, 3]), refuse).tolist() == [4, 0, 3]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"weight": np.array([3, 0, 3])}, "weight"),
        ({"keep": np.array([1, 0, 1])}, "keep"),
        ({"keep": np.array([1, 1])}, "cells"),
        ({"density": np.array([0, 0, 1, 1, 1, 1])}, "density"),
        ({"density": np.array([1, -1, 1, 1, 1, 1])}, "density"),
        ({"cell": np.array([0, 0, 1, 2, 2, 3])}, "cell"),
    ],
)
def test_wrong_cells_are_refused(changes, named):
    with pytest.raises(sf.ParameterError) as error:
        some(**changes)
    assert error.value.name == named


def test_one_cell_has_no_secret_and_is_refused():
    with pytest.raises(sf.ParameterError, match="at least 2"):
        Cells.of_blocks(1)


def test_uniform_names_what_it_keeps():
    assert Uniform("1/3").least_keep >= Fraction(1, 3)
    assert "0.3333" in Uniform("1/3").describe()[0]
    assert Uniform().to_json() == {"name": "uniform", "shrink": "1"}
