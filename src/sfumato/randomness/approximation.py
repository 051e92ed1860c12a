"""Logarithm and exponential in float64 with error bounds that hold on every platform.

Source    Table and atanh series, and Cody & Waite argument reduction (Software Manual for the
          Elementary Functions, 1980, ch. 5-6), written out because no libm promises a bound.
Claim     |natural_log(x) - ln x| <= 2^-46 for 2^-65 <= x <= 2^64;
          |negative_log(U) + ln V| <= 2^-44 for every V in (U, U+1]/2^64 when U >= 2^46;
          |exponential(t) / e^t - 1| <= 2^-45 for -700 <= t <= 0.
Because   Only +, -, *, / and exact scalings are used, which IEEE 754 rounds correctly; the sum of
          the roundings is in docs/theory/exact-sampling.md.
Checked   tests/claims/test_exact_sampling.py::test_logarithm_keeps_its_bound
          tests/claims/test_exact_sampling.py::test_exponential_keeps_its_bound
Silent on rounding modes other than to nearest, and on arguments outside those ranges.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sfumato.randomness.enclosure import context

__all__ = ["LOG_ERROR", "SMALLEST_WORD", "exponential", "natural_log", "negative_log"]

Floats = NDArray[np.float64]

LOG_ERROR: Final = 2.0**-44
SMALLEST_WORD: Final = 1 << 46  # below it the cell of a word is too wide for LOG_ERROR

_EXACT = context(60)
_LN2_EXACT = Fraction(Decimal(2).ln(_EXACT))
_LN2 = float(_LN2_EXACT)
# The leading 33 bits of ln 2: its product with any |k| < 2^20 is exact. The rest is a correction.
_LN2_HIGH = math.floor(_LN2_EXACT * 2**33) / 2**33
_LN2_LOW = float(_LN2_EXACT - Fraction(_LN2_HIGH))
# Middles of 128 equal parts of [1/2, 1), all exact doubles, and their logarithms.
_MIDDLE = (np.arange(128) + 128.5) / 256
_LOG_MIDDLE = np.array([float(Decimal(c).ln(_EXACT)) for c in _MIDDLE.tolist()])
_TAYLOR = [1 / math.factorial(k) for k in range(13, -1, -1)]


def natural_log(x: Floats) -> Floats:
    """Return ln x: x = m 2^e, m near a middle c, ln m = ln c + 2 atanh((m - c) / (m + c))."""
    m, e = np.frexp(x)
    part = (m * 256).astype(np.int64) - 128
    c = _MIDDLE[part]
    s = (m - c) / (m + c)
    square = s * s
    series = 2 * s + s * square * (2 / 3 + square * (2 / 5))
    return np.asarray(e * _LN2 + (_LOG_MIDDLE[part] + series), dtype=np.float64)


def negative_log(words: NDArray[np.uint64]) -> Floats:
    """Return -ln V for the reals V that the words stand for; words below SMALLEST_WORD give no bound."""
    return -natural_log(np.maximum(words, np.uint64(1)).astype(np.float64) * 2.0**-64)


def exponential(t: Floats) -> Floats:
    """Return e^t for t in [-700, 0]: t = k ln 2 + r with |r| < 0.35, then a Taylor polynomial in r."""
    k = np.rint(t * (1 / _LN2))
    r = (t - k * _LN2_HIGH) - k * _LN2_LOW
    total = np.full_like(r, _TAYLOR[0])
    for coefficient in _TAYLOR[1:]:
        total = total * r + coefficient
    return np.asarray(np.ldexp(total, k.astype(np.int64)), dtype=np.float64)
