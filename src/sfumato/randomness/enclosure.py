"""Exact decisions about logarithms and exponentials, by enclosures at rising precision.

Source    Lindemann-Weierstrass theorem (Baker, Transcendental Number Theory, 1975, thm 1.4): e^t for
          distinct rational t are linearly independent over the rationals. Python's `decimal`
          rounds `ln`, `exp` and division correctly (General Decimal Arithmetic 1.70).
Claim     `floor_log_ratio` and `sign_of_exponentials` return the exact integer and the exact sign.
Because   Each quantity is enclosed between two numbers computed with a stated error; the answer is
          given only when both ends agree. Agreement comes, because equality cannot occur
          (or, for the sign, is found beforehand: all coefficients zero).
Checked   tests/unit/randomness/test_enclosure.py::test_floor_log_ratio_at_its_thresholds
          tests/unit/randomness/test_enclosure.py::test_sign_of_exponentials
Silent on how long a decision takes: it depends on the words drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Floats

FIRST_DIGITS = 40


def context(digits: int, rounding: str = ROUND_HALF_EVEN) -> Context:
    """Return a decimal context of its own, so that no caller's settings reach a decision."""
    return Context(
        prec=digits,
        rounding=rounding,
        Emin=MIN_EMIN,
        Emax=MAX_EMAX,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[InvalidOperation, DivisionByZero, Overflow],
    )


@dataclass(frozen=True, slots=True)
class Rate:
    """A positive real number: its enclosure with about that many digits, and a float near it.

    `near` has a relative error of at most 2^-51, unless it is below 1e-300 (then nothing is said).
    """

    enclosure: Callable[[int], tuple[Decimal, Decimal]]
    _: KW_ONLY
    near: float

    def times(self, factor: int) -> Rate:
        """Return the rate multiplied by a positive whole number."""

        def scaled(digits: int) -> tuple[Decimal, Decimal]:
            low, high = self.enclosure(digits)
            times = Decimal(factor)
            return (
                context(digits + 5, ROUND_FLOOR).multiply(low, times),
                context(digits + 5, ROUND_CEILING).multiply(high, times),
            )

        low, _ = scaled(30)
        return Rate(scaled, near=float(low))


def rational_rate(a: Fraction) -> Rate:
    """Return a rational number as a rate."""
    top, bottom = Decimal(a.numerator), Decimal(a.denominator)

    def enclosure(digits: int) -> tuple[Decimal, Decimal]:
        return (
            context(digits, ROUND_FLOOR).divide(top, bottom),
            context(digits, ROUND_CEILING).divide(top, bottom),
        )

    return Rate(enclosure, near=float(enclosure(30)[0]))


def floor_log_ratio(numerator: int, bits: int, rate: Rate, cap: int | None = None) -> int:
    """Return floor(-ln(numerator / 2^bits) / rate), or `cap` where that is smaller.

    The quotient must not be a whole number, save for numerator = 2^bits. It is none for a rational
    rate, and none for the rates of `sparse` (docs/theory/exact-sampling.md).
    """
    if numerator >= 1 << bits:
        return 0
    digits = FIRST_DIGITS
    while True:
        low, high = _log_enclosure(numerator, bits, digits)
        rate_low, rate_high = rate.enclosure(digits)
        least = context(digits, ROUND_FLOOR).divide(low, rate_high)
        most = context(digits, ROUND_CEILING).divide(high, rate_low)
        if cap is not None and least >= cap:
            return cap
        # A quotient with more digits than we carry is not known to the unit.
        if max(least.adjusted(), most.adjusted()) < digits and (floor := int(least)) == int(most):
            return floor
        digits *= 2


def _log_enclosure(numerator: int, bits: int, digits: int) -> tuple[Decimal, Decimal]:
    """Enclose bits ln 2 - ln(numerator) >= 0; both logarithms are rounded correctly, in units of `error`."""
    work = context(digits + 10 + len(str(bits)))
    value = work.subtract(
        work.multiply(Decimal(bits), Decimal(2).ln(work)), Decimal(numerator).ln(work)
    )  # three roundings of numbers below `bits`, and `bits` times that of ln 2: below 10^-(digits + 8)
    error = Decimal((0, (1,), -(digits + 5)))
    low = context(digits + 20, ROUND_FLOOR).subtract(value, error)
    return max(low, Decimal(0)), context(digits + 20, ROUND_CEILING).add(value, error)


def exp_enclosure(t: Fraction, digits: int) -> tuple[int, int]:
    """Enclose e^t for t <= 0, in units of 10^-digits, between two whole numbers at most 3 apart."""
    if t == 0:
        return 10**digits, 10**digits
    if t < -3 * digits:  # e^-3 < 10^-1
        return 0, 1
    work = context(digits + 15)
    power = work.exp(work.divide(Decimal(t.numerator), Decimal(t.denominator)))
    # |t| <= 3 digits, so argument and result together are off by far less than one unit.
    unit = int(power.scaleb(digits, work))
    return max(unit - 1, 0), unit + 2


def sign_of_exponentials(terms: Mapping[Fraction, int]) -> int:
    """Return the sign, -1, 0 or 1, of the sum of coefficient * e^exponent over `{exponent: coefficient}`."""
    kept = {t: c for t, c in terms.items() if c}
    if not kept:
        return 0
    top = max(kept)  # the sign does not change when all is divided by the largest exponential
    digits = FIRST_DIGITS
    while True:
        low = high = 0
        for t, c in kept.items():
            least, most = exp_enclosure(t - top, digits)
            low, high = (low + c * least, high + c * most) if c > 0 else (low + c * most, high + c * least)
        if low > 0:
            return 1
        if high < 0:
            return -1
        digits *= 2


# Logarithm and exponential in float64 with error bounds that hold on every platform.
#
# Source    Table and atanh series, and Cody & Waite argument reduction (Software Manual for the
#           Elementary Functions, 1980, ch. 5-6), written out because no libm promises a bound.
# Claim     |natural_log(x) - ln x| <= 2^-46 for 2^-65 <= x <= 2^64;
#           |negative_log(U) + ln V| <= 2^-44 for every V in (U, U+1]/2^64 when U >= 2^46;
#           |exponential(t) / e^t - 1| <= 2^-45 for -700 <= t <= 0.
# Because   Only +, -, *, / and exact scalings are used, which IEEE 754 rounds correctly; the sum of
#           the roundings is in docs/theory/exact-sampling.md.
# Checked   tests/claims/test_exact_sampling.py::test_logarithm_keeps_its_bound
#           tests/claims/test_exact_sampling.py::test_exponential_keeps_its_bound
# Silent on rounding modes other than to nearest, and on arguments outside those ranges.


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
