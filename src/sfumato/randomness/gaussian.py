"""Discrete Gaussian noise, drawn exactly.

Source    Canonne, Kamath & Steinke, The Discrete Gaussian for Differential Privacy, arXiv 2004.00010, algorithm 3.
Claim     P(discrete_gaussian = x) ~ e^(-x^2 / (2 variance)) over the whole numbers, variance rational: exactly, given
          uniform words.
Because   a discrete Laplace draw x of rate 1/t is kept with probability e^(-(|x| - variance/t)^2 / (2 variance)); the
          product of both is e^(-x^2/(2 variance)) times a constant. The exponent is rational, so the coin is exact.
Checked   tests/claims/test_discrete_gaussian.py::test_gaussian_fits_its_pmf_and_no_other
          tests/claims/test_discrete_gaussian.py::test_kept_draws_have_exactly_the_law
          tests/claims/test_discrete_gaussian.py::test_opendp_agrees
Silent on timing: how many draws are not kept depends on the words alone; and on what the noise is added to.
Cost      Three words and about 0.3 us for each of at most 2 tries a draw, on average.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import Number, index, rational
from sfumato.randomness.enclosure import Rate, context, rational_rate
from sfumato.randomness.entropy import Entropy
from sfumato.randomness.geometric import DIGITS, WORKING_DIGITS, discrete_laplace, exp_minus
from sfumato.randomness.parameters import read_size
from sfumato.randomness.refinement import at_least

SMALLEST, LARGEST = Fraction(1, 10**6), Fraction(10**18)
LARGEST_PMF = 10**8  # variance up to which the law is added up term by term


def read_variance(value: object) -> Fraction:
    """Return the variance as an exact fraction in the range the sampler is proved for."""
    variance = rational("variance", value)
    if not SMALLEST <= variance <= LARGEST:
        raise ParameterError("variance", value, "must lie between 1e-6 and 1e18", hint="try 100")
    return variance


def discrete_gaussian(variance: Number, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """Draw `size` whole numbers x with P(x) ~ e^(-x^2 / (2 variance)).

    Order of the words: tries of all draws that are open, then their coins, until none is open.

    >>> int(np.abs(discrete_gaussian(100, 1000, Entropy.seeded(1))).mean())
    7
    """
    spread, size = read_variance(variance), read_size(size)
    t = _whole_root(spread) + 1
    found = np.empty(size, np.int64)
    open_ = np.arange(size)
    while len(open_):
        tried = discrete_laplace(Fraction(1, t), len(open_), entropy)
        kept = _coins(np.abs(tried), spread, t, entropy)
        found[open_[kept]] = tried[kept]
        open_ = open_[~kept]
    return found


def exponent(x: int, variance: Fraction, t: int) -> Fraction:
    """Return (|x| - variance/t)^2 / (2 variance): a try x of rate 1/t is kept with e to the minus that."""
    return (abs(x) - variance / t) ** 2 / (2 * variance)


def _coins(sizes: NDArray[np.int64], variance: Fraction, t: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Return which tries are kept."""
    levels, where = np.unique(sizes, return_inverse=True)
    rates = [exponent(int(level), variance, t) for level in levels]
    near = np.array([float(rate) for rate in rates])  # correctly rounded, of an exact fraction

    def rate_of(i: int) -> Rate | None:
        rate = rates[int(where[i])]
        return rational_rate(rate) if rate else None

    return at_least(entropy.words(len(sizes)), near[where.reshape(-1)], rate_of, entropy)


def _whole_root(variance: Fraction) -> int:
    """Return the whole part of the standard deviation."""
    return isqrt(variance.numerator // variance.denominator)


def discrete_gaussian_pmf(variance: Number, x: int) -> Decimal:
    """Return P(discrete_gaussian = x) to 50 digits (relative error below 10^-48), for variances up to 10^8."""
    spread, x = read_variance(variance), abs(index("x", x, least=-(1 << 63)))
    if spread > LARGEST_PMF:
        raise ParameterError("variance", str(spread), f"must be at most {LARGEST_PMF} for its law")
    work = context(WORKING_DIGITS)
    return context(DIGITS).divide(exp_minus(Fraction(x * x) / (2 * spread)), _total(spread, work.prec))


_TOTALS: dict[Fraction, Decimal] = {}


def _total(variance: Fraction, digits: int) -> Decimal:
    """Return the sum of e^(-x^2 / (2 variance)) over all x; each term is the last one times q^(2x + 1)."""
    if variance not in _TOTALS:
        work, rate = context(digits + 10), Fraction(1) / (2 * variance)
        term = step = exp_minus(rate, digits + 10)
        square, total = work.multiply(step, step), Decimal(1)
        floor = Decimal((0, (1,), -digits))
        while term > floor:
            total = work.add(total, work.multiply(2, term))
            step = work.multiply(step, square)
            term = work.multiply(term, step)
        _TOTALS[variance] = total
    return _TOTALS[variance]
