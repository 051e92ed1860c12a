"""The baseline: noise on every pair above a public threshold."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.laplace_flows import laplace_flows, laplace_threshold

import sfumato as sf
from sfumato.randomness import discrete_laplace_pmf


def test_two_cells_share_epsilon():
    """Replacing an origin moves two cells by one: their losses add up to epsilon, checked on the exact law."""
    epsilon = Fraction(2)
    pmf = {y: discrete_laplace_pmf(epsilon / 2, y) for y in range(-9, 10)}
    worst = max(
        float(pmf[a - 1]) * float(pmf[b]) / (float(pmf[a]) * float(pmf[b - 1]))
        for a in range(-5, 6)
        for b in range(-5, 6)
    )
    assert math.log(worst) == pytest.approx(2, abs=1e-9)


def test_the_noise_of_a_pair_has_half_of_epsilon():
    """At epsilon 40 a count moves with probability below 1e-8; at epsilon 2 half of them move."""
    pairs = (np.repeat(np.arange(40), 50), np.tile(np.arange(50), 40), np.full(2000, 9))
    still = laplace_flows(pairs, 50, 40, sf.Entropy.seeded(1), threshold=1)
    assert [column.tolist() for column in still] == [column.tolist() for column in pairs]
    noisy = laplace_flows(pairs, 50, 2, sf.Entropy.seeded(1), threshold=1)[2]
    p = math.exp(-1)
    assert np.mean(noisy == 9) == pytest.approx((1 - p) / (1 + p), abs=0.04)


def test_the_threshold_reads_public_numbers_only():
    assert laplace_threshold(10**9, 10**6, Fraction("4.6")) == 5
    assert laplace_threshold(100, 10**6, Fraction("4.6")) == 1
    # at most one false pair for 20 people
    t = laplace_threshold(10**9, 10**6, Fraction("4.6"))
    p = math.exp(-2.3)
    assert 10**9 * p**t / (1 + p) <= 0.05 * 10**6 < 10**9 * p ** (t - 1) / (1 + p)
