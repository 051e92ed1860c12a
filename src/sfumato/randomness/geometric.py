"""Geometric and discrete Laplace noise, drawn exactly.

Source    Ghosh, Roughgarden & Sundararajan, SIAM J. Comput. 41(6), 2012 (the geometric mechanism);
          inversion of the tail with lazily read reals, docs/theory/exact-sampling.md. The same law as
          Canonne, Kamath & Steinke, arXiv 2004.00010, algorithm 2.
Claim     P(geometric = g) = (1 - p) p^g for g >= 0 and P(discrete_laplace = x) = (1 - p)/(1 + p) p^|x|,
          p = e^-epsilon, epsilon rational: exactly, given uniform words.
Because   P(floor(-ln V / epsilon) >= g) = P(V <= e^(-g epsilon)) = p^g; the difference of two
          independent geometrics is discrete Laplace.
Checked   tests/claims/test_exact_sampling.py::test_law_by_all_words_of_a_small_word_model
          tests/claims/test_sampler_power.py::test_laplace_fits_its_pmf_and_no_other
          tests/claims/test_sampler_power.py::test_opendp_agrees
Silent on timing, and on what the noise is added to: the claim is the mechanism's.
Cost      Two words and about 0.1 us a draw. A value beyond int64 (probability below e^-9000000)
          raises OverflowError.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import Number, index, rational
from sfumato.randomness.enclosure import context, rational_rate
from sfumato.randomness.entropy import Entropy
from sfumato.randomness.parameters import read_epsilon, read_size
from sfumato.randomness.refinement import floors

WORKING_DIGITS, DIGITS = 90, 50


PRACTICALLY_EXACT: Final = Fraction(369, 100)
"""From this epsilon on the discrete Laplace law is off by less than 1/20 on average: 1 / sinh(epsilon)."""


def geometric(epsilon: Number, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """Draw `size` whole numbers g >= 0 with P(g) ~ e^(-epsilon g)."""
    return floors(read_size(size), rational_rate(read_epsilon(epsilon)), entropy)


def discrete_laplace(epsilon: Number, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """Draw `size` whole numbers x with P(x) ~ e^(-epsilon |x|).

    The words of all first geometrics are read before those of the second.
    """
    size = read_size(size)
    drawn = geometric(epsilon, 2 * size, entropy)
    return drawn[:size] - drawn[size:]


def bernoulli_exp(a: Number, size: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Draw `size` coins that come up true with probability e^-a, a >= 0. For a = 0 no word is read."""
    rate, size = rational("a", a), read_size(size)
    if rate < 0:
        raise ParameterError("a", a, "must be at least 0", hint="the probability is e^-a")
    if rate == 0:
        return np.ones(size, dtype=np.bool_)
    return floors(size, rational_rate(rate), entropy, cap=1) >= 1


def exp_minus(a: Fraction, digits: int = WORKING_DIGITS) -> Decimal:
    """Return e^-a with a relative error below 10^(1 - digits) for |a| up to 10^9."""
    work = context(digits + 10)
    power = work.exp(work.divide(Decimal(-a.numerator), Decimal(a.denominator)))
    return context(digits).plus(power)


def geometric_pmf(epsilon: Number, g: int) -> Decimal:
    """Return P(geometric = g) = (1 - p) p^g to 50 digits (relative error below 10^-48)."""
    rate, g = read_epsilon(epsilon), index("g", g, least=0)
    work = context(WORKING_DIGITS)
    value = work.multiply(work.subtract(Decimal(1), exp_minus(rate)), exp_minus(rate * g))
    return context(DIGITS).plus(value)


def discrete_laplace_pmf(epsilon: Number, x: int) -> Decimal:
    """Return P(discrete_laplace = x) = (1 - p)/(1 + p) p^|x| to 50 digits (relative error below 10^-48)."""
    rate, x = read_epsilon(epsilon), abs(index("x", x, least=-(1 << 63)))
    work, p = context(WORKING_DIGITS), exp_minus(rate)
    factor = work.divide(work.subtract(Decimal(1), p), work.add(Decimal(1), p))
    return context(DIGITS).plus(work.multiply(factor, exp_minus(rate * x)))


def discrete_laplace_tail(epsilon: Number, t: int) -> Decimal:
    """Return P(discrete_laplace >= t) to 50 digits: p^t/(1 + p) for t >= 1, 1 - p^(1-t)/(1 + p) below."""
    rate, t = read_epsilon(epsilon), index("t", t, least=-(1 << 63))
    work = context(WORKING_DIGITS)
    beyond = work.divide(exp_minus(rate * (t if t >= 1 else 1 - t)), work.add(Decimal(1), exp_minus(rate)))
    return context(DIGITS).plus(beyond if t >= 1 else work.subtract(Decimal(1), beyond))
