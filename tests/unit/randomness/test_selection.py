from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.randomness import STEPS, rounded_log2_sums, rounded_sensitivity, selection


def gain_terms(children):
    """Information gain of child x class counts as sum k log2 m / n."""
    whole = [sum(column) for column in zip(*children, strict=True)]
    n = sum(whole)
    cells = [(n, n), *((-c, c) for c in whole), *((-sum(c), sum(c)) for c in children)]
    cells += [(c, c) for child in children for c in child]
    return [k for k, _ in cells], [m for _, m in cells], n


def steps_of(tables):
    k, m, n = zip(*map(gain_terms, tables), strict=True)
    return rounded_log2_sums(k, m, n)


def test_known_gains():
    # One bit; nothing; an empty table; 0.311278124459133 bits = 326397.58 steps.
    assert steps_of([[[4, 0], [0, 4]], [[1, 1], [2, 2]], [[0, 0], [0, 0]]]).tolist() == [STEPS, 0, 0]
    assert steps_of([[[1, 0], [1, 2]]]).tolist() == [round(0.31127812445913283 * STEPS)]


def test_fast_rounding_equals_decimal_rounding():
    generator = np.random.default_rng(1)
    tables = [generator.integers(0, 10 ** generator.integers(1, 8), (3, 2)).tolist() for _ in range(300)]
    slow = [
        selection._decimal_steps(
            *(np.where(np.array(k) == 0, 1, x).tolist() if i else k for i, x in enumerate((k, m))), max(n, 1)
        )
        for k, m, n in map(gain_terms, tables)
    ]
    assert steps_of(tables).tolist() == slow


def test_half_a_step_is_decided_by_the_decimal_definition(monkeypatch):
    asked = []
    real = selection._decimal_steps
    monkeypatch.setattr(selection, "_decimal_steps", lambda *row: asked.append(row) or real(*row))
    # log2(2) / 2^21 is half a step exactly; a fast path that answered here would answer by luck.
    assert rounded_log2_sums([[1], [-1], [3]], [[2], [2], [2]], [2**21] * 3).tolist() == [1, 0, 2]
    assert len(asked) == 3


def test_rounded_sensitivity_is_reached_and_never_exceeded():
    # All 2 x 2 tables of up to 5 rows, each with one row more: gain has sensitivity 1 bit.
    tables = [t for t in itertools.product(range(6), repeat=4) if sum(t) <= 5]
    before = dict(zip(tables, steps_of([[t[:2], t[2:]] for t in tables]).tolist(), strict=True))
    more = [(t, (*t[:i], t[i] + 1, *t[i + 1 :])) for t in tables for i in range(4)]
    after = steps_of([[u[:2], u[2:]] for _, u in more]).tolist()
    largest = max(abs(value - before[t]) for (t, _), value in zip(more, after, strict=True))
    assert largest == STEPS
    assert rounded_sensitivity(1) == STEPS + 1 >= largest
    assert rounded_sensitivity("0.3") == math.ceil(0.3 * STEPS) + 1
    # The extra step is needed: two real scores less than 1 apart, half a step off either way.
    pair = rounded_log2_sums([[1, 0], [1, 2**21]], [[2, 1], [2, 2]], [2**21] * 2)
    assert pair[1] - pair[0] == STEPS


@pytest.mark.parametrize(
    ("k", "m", "n"),
    [([[1.0]], [[2]], [1]), ([[1]], [[0]], [1]), ([[1]], [[2]], [0]), ([1], [2], [1]), ([[2**60]], [[3]], [1])],
)
def test_what_is_not_exact_is_refused(k, m, n):
    with pytest.raises(ParameterError):
        rounded_log2_sums(k, m, n)


def test_no_rows():
    assert rounded_log2_sums(np.zeros((0, 3), int), np.zeros((0, 3), int), np.zeros(0, int)).tolist() == []
