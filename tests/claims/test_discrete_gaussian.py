"""The discrete Gaussian: its law exactly, statistics with power, and OpenDP as a second sampler.

Seeds are fixed, so nothing here can fail by chance, save the OpenDP draws (false alarm below 1e-6).
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import isqrt

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from sfumato.errors import ParameterError
from sfumato.randomness import Entropy, discrete_gaussian, discrete_gaussian_pmf, discrete_laplace_pmf
from sfumato.randomness.gaussian import exponent
from sfumato.randomness.geometric import exp_minus

DRAWS = 60_000


def fit(drawn, variance):
    """p-value of the draws against the discrete Gaussian, in cells of a quarter of its deviation."""
    variance = Fraction(variance)
    root = max(1, isqrt(int(variance)))
    reach = 6 * root + 6
    law = np.array([float(discrete_gaussian_pmf(variance, x)) for x in range(-reach, reach + 1)])
    width = max(1, root // 4)
    cell = (np.arange(2 * reach + 1)) // width
    expected = np.bincount(cell, weights=law) * len(drawn)
    found = np.bincount(cell[np.clip(drawn, -reach, reach) + reach], minlength=len(expected))
    keep = expected > 5
    found, expected = np.append(found[keep], found[~keep].sum()), np.append(expected[keep], expected[~keep].sum())
    keep = expected > 0.5
    return stats.chi2.sf(((found - expected)[keep] ** 2 / expected[keep]).sum(), keep.sum() - 1)


@pytest.mark.parametrize("variance", ["1/4", "1", "7/3", "100", "12345.678"])
def test_gaussian_fits_its_pmf_and_no_other(variance):
    drawn = discrete_gaussian(variance, DRAWS, Entropy.seeded(21))
    assert fit(drawn, variance) > 1e-3
    for wrong in (Fraction(12, 10), Fraction(8, 10)):
        assert fit(drawn, Fraction(variance) * wrong) < 1e-6


def test_mutants_are_rejected():
    # A rounded continuous Gaussian, and one whose variance is taken for its deviation.
    rounded = np.rint(np.random.default_rng(5).normal(0, 0.5, DRAWS)).astype(int)
    assert fit(rounded, "1/4") < 1e-6
    assert fit(discrete_gaussian(4, DRAWS, Entropy.seeded(2)), 2) < 1e-6


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(5), Fraction(40, 3)])
def test_kept_draws_have_exactly_the_law(variance):
    """The try's law times the coin's is the stated law times one constant, digit for digit."""
    t = isqrt(int(variance)) + 1
    shares = [
        discrete_laplace_pmf(Fraction(1, t), x)
        * exp_minus(exponent(x, variance, t))
        / discrete_gaussian_pmf(variance, x)
        for x in range(-30, 31)
    ]
    assert max(shares) - min(shares) < Decimal("1e-24") * max(shares)
    broken = discrete_laplace_pmf(Fraction(1, t), 7) * exp_minus(exponent(7, variance, t + 1))
    assert abs(broken / discrete_gaussian_pmf(variance, 7) / shares[0] - 1) > Decimal("1e-3")


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(3), Fraction(1000, 7)])
def test_the_law_sums_to_one_and_is_concentrated(variance):
    """Shifted by one, its Renyi divergence is at most alpha/(2 variance): 1/(2 variance)-zCDP, by adding up the law."""
    reach = 12 * isqrt(int(variance)) + 40
    law = {x: discrete_gaussian_pmf(variance, x) for x in range(-reach, reach + 2)}
    assert abs(sum(law.values()) - 1) < Decimal("1e-20")
    for alpha in (2, 3, 10):
        moment = sum(law[x] ** alpha / law[x + 1] ** (alpha - 1) for x in range(-reach, reach + 1))
        divergence = moment.ln() / (alpha - 1)
        allowed = Decimal(alpha) / (2 * Decimal(variance.numerator) / Decimal(variance.denominator))
        assert divergence <= allowed + Decimal("1e-18")
        assert divergence > allowed * Decimal("0.999")


@pytest.mark.parametrize("scale", [2.0, pytest.param(25.0, marks=pytest.mark.full)])
def test_opendp_agrees(scale):
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    theirs = np.array(dp.m.make_gaussian(*space, scale=scale)([0] * 50_000))

    def p_value(variance):
        ours = discrete_gaussian(variance, 50_000, Entropy.seeded(4))
        cut = int(3 * scale) + 1
        both = np.clip(np.concatenate([ours, theirs]), -cut, cut) + cut
        table = np.stack(
            [np.bincount(both[:50_000], minlength=2 * cut + 1), np.bincount(both[50_000:], minlength=2 * cut + 1)]
        )
        return stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue

    assert p_value(Fraction(str(scale)) ** 2) > 1e-6
    assert p_value(Fraction(12, 10) * Fraction(str(scale)) ** 2) < 1e-6


@pytest.mark.parametrize("variance", [0, -1, "1e-9", "1e30", float("nan")])
def test_a_variance_out_of_range_is_refused(variance):
    with pytest.raises(ParameterError) as refused:
        discrete_gaussian(variance, 1, Entropy.seeded(1))
    assert refused.value.name == "variance"


def test_the_same_words_give_the_same_draws():
    first, second = (discrete_gaussian("9/2", 100, Entropy.seeded(3)) for _ in range(2))
    assert (first == second).all()
    assert not len(discrete_gaussian(1, 0, Entropy.seeded(3)))
