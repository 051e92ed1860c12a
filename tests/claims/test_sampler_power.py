"""Statistics with power: the right law is accepted, one off by 10 % is rejected, a second sampler agrees.

Seeds are fixed, so nothing here can fail by chance, save the OpenDP draws (false alarm below 1e-6).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from sfumato.randomness import (
    Entropy,
    bernoulli_exp,
    binomial,
    binomial_pmf,
    discrete_laplace,
    discrete_laplace_tail,
    geometric,
)

DRAWS = 100_000


def fit(drawn, epsilon):
    """p-value of the draws against discrete Laplace, in cells of about equal mass."""
    width = max(1, int(1 / Fraction(epsilon) / 4))
    edges = [width * i for i in range(-12, 13)]
    tails = np.array([1.0, *(float(discrete_laplace_tail(epsilon, t)) for t in edges), 0.0])
    expected = -np.diff(tails) * len(drawn)
    found = np.bincount(np.searchsorted(edges, drawn, side="right"), minlength=len(expected))
    keep = expected > 5
    found, expected = np.append(found[keep], found[~keep].sum()), np.append(expected[keep], expected[~keep].sum())
    keep = expected > 0.5
    return stats.chi2.sf(((found - expected)[keep] ** 2 / expected[keep]).sum(), keep.sum() - 1)


@pytest.mark.parametrize("epsilon", ["1/2", "0.1", "1", "1e-6", "1/3"])
def test_laplace_fits_its_pmf_and_no_other(epsilon):
    drawn = discrete_laplace(epsilon, DRAWS, Entropy.seeded(20))
    assert fit(drawn, epsilon) > 1e-3
    for wrong in (Fraction(11, 10), Fraction(9, 10)):
        assert fit(drawn, Fraction(epsilon) * wrong) < 1e-6


def test_mutants_are_rejected():
    # Rounded continuous Laplace (trap 4), and a two-sided geometric that counts 0 twice.
    generator = np.random.default_rng(5)
    rounded = np.rint(generator.laplace(0, 2, DRAWS)).astype(int)
    signed = geometric("1/2", DRAWS, Entropy.seeded(1)) * generator.choice([-1, 1], DRAWS)
    assert fit(rounded, "1/2") < 1e-6
    assert fit(signed, "1/2") < 1e-6


def test_huge_epsilon_gives_no_noise_and_its_coin_never_falls():
    assert not discrete_laplace(50, DRAWS, Entropy.seeded(3)).any()
    assert not bernoulli_exp("1e15", DRAWS, Entropy.seeded(3)).any()


@pytest.mark.parametrize("a", ["1/2", "0.01", "3"])
def test_coin_has_probability_exp_minus_a(a):
    heads = int(bernoulli_exp(a, DRAWS, Entropy.seeded(8)).sum())
    assert stats.binomtest(heads, DRAWS, float(np.exp(-float(Fraction(a))))).pvalue > 1e-3
    assert stats.binomtest(heads, DRAWS, float(np.exp(-1.1 * float(Fraction(a))))).pvalue < (
        1e-6 if a != "0.01" else 0.05
    )


@pytest.mark.parametrize("f", ["1/3", "0.999", "1/2"])
def test_binomial_fits_its_pmf_and_no_other(f):
    drawn = binomial(np.full(20_000, 10), f, Entropy.seeded(9))
    found = np.bincount(drawn, minlength=11)

    def p_value(probability):
        expected = np.array([float(binomial_pmf(10, probability, k)) for k in range(11)]) * len(drawn)
        keep = expected > 3
        return stats.chi2.sf(((found - expected)[keep] ** 2 / expected[keep]).sum(), keep.sum() - 1)

    assert p_value(f) > 1e-3
    assert p_value(Fraction(f) * Fraction(9, 10)) < 1e-6


@pytest.mark.parametrize(
    "scale", [2.0, pytest.param(0.7, marks=pytest.mark.full), pytest.param(30.0, marks=pytest.mark.full)]
)
def test_opendp_agrees(scale):
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = np.array(dp.m.make_laplace(*space, scale=scale)([0] * 50_000))

    def p_value(epsilon):
        ours = discrete_laplace(epsilon, 50_000, Entropy.seeded(4))
        cut = int(3 * scale) + 1
        both = np.clip(np.concatenate([ours, theirs]), -cut, cut) + cut
        table = np.stack(
            [np.bincount(both[:50_000], minlength=2 * cut + 1), np.bincount(both[50_000:], minlength=2 * cut + 1)]
        )
        return stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue

    assert p_value(Fraction(1) / Fraction(str(scale))) > 1e-6
    assert p_value(Fraction(11, 10) / Fraction(str(scale))) < 1e-6
