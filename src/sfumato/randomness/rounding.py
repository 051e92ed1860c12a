"""Real-valued scores (information gain, entropy) as whole multiples of 2^-20.

Source    Mironov, CCS 2012 (why a float score must not reach a mechanism); docs/theory/diffgen.md for the score.
Claim     rounded_log2_sums is a function of its whole-number arguments alone, the same on every
          platform, and within 1/2 + 10^-30 steps of the real score; so a score of sensitivity s (a
          multiple of 2^-20) has sensitivity s 2^20 + 1 after rounding, in steps.
Because   The value is defined by correctly rounded decimal arithmetic with 70 digits; float64 answers
          only where its error bound leaves that value no choice. Two roundings move a difference
          by at most one step plus 2 * 10^-30, and it is a whole number.
Checked   tests/unit/randomness/test_rounding.py::test_fast_rounding_equals_decimal_rounding
          tests/unit/randomness/test_rounding.py::test_rounded_sensitivity_is_reached_and_never_exceeded
Silent on the sensitivity of the real score itself.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import ParameterError
from sfumato.randomness.enclosure import context, natural_log
from sfumato.randomness.parameters import Exact, exact

__all__ = ["STEPS", "rounded_log2_sums", "rounded_sensitivity"]

STEPS = 1 << 20  # steps in one unit of score
LARGEST_ARGUMENT = 1 << 53


def rounded_log2_sums(coefficients: ArrayLike, arguments: ArrayLike, divisors: ArrayLike) -> NDArray[np.int64]:
    """Return sum_j coefficient_ij log2(argument_ij) / divisor_i in steps of 2^-20, half a step rounded up.

    Whole numbers throughout; a term with coefficient 0 counts 0 whatever its argument, a row of only
    such terms is 0 whatever its divisor (0 log 0 = 0, 0/0 = 0).
    """
    k, m, n = (np.asarray(part) for part in (coefficients, arguments, divisors))
    _check(k, m, n)
    k = k.astype(np.int64)
    m, n = np.where(k == 0, 1, m).astype(np.int64), np.where((k == 0).all(axis=1), 1, n).astype(np.int64)
    if k.size and (m.min() < 1 or m.max() > LARGEST_ARGUMENT or n.min() < 1):
        raise ParameterError("arguments", "an entry", "must lie in 1..2^53 where the coefficient is not 0")
    span = np.abs(k).sum(axis=1, dtype=np.float64) / n
    value = (k * natural_log(m.astype(np.float64))).sum(axis=1) / n * (STEPS / math.log(2))
    error = span * (k.shape[1] + 8) * 2.0**-25
    if np.abs(value).max(initial=0) > 2.0**52:
        raise ParameterError("coefficients", "a row", "gives a score above 2^32", hint="divide it by more")
    low, high = np.floor(value + 0.5 - error), np.floor(value + 0.5 + error)
    steps: NDArray[np.int64] = low.astype(np.int64)
    for i in np.flatnonzero(low != high):
        steps[i] = _decimal_steps(k[i].tolist(), m[i].tolist(), int(n[i]))
    return steps


def rounded_sensitivity(sensitivity: Exact) -> int:
    """Return the sensitivity in steps that scores of this real sensitivity have after rounding."""
    span = exact("sensitivity", sensitivity)
    if span <= 0:
        raise ParameterError("sensitivity", sensitivity, "must be above 0")
    return math.ceil(span * STEPS) + 1


def _decimal_steps(coefficients: list[int], arguments: list[int], divisor: int) -> int:
    """Return the same by definition: 70 digits, every operation rounded correctly, terms in order."""
    work, total = context(70), Decimal(0)
    for k, m in zip(coefficients, arguments, strict=True):
        total = work.add(total, work.multiply(Decimal(k), Decimal(m).ln(work)))
    bits = work.divide(work.divide(total, Decimal(2).ln(work)), Decimal(divisor))
    steps = work.add(work.multiply(bits, Decimal(STEPS)), Decimal("0.5"))
    return int(steps.to_integral_value(rounding=ROUND_FLOOR))


def _check(k: NDArray[np.generic], m: NDArray[np.generic], n: NDArray[np.generic]) -> None:
    if k.ndim != 2 or k.shape != m.shape or n.shape != k.shape[:1]:
        raise ParameterError("coefficients", k.shape, "must be a table as large as arguments, with one divisor a row")
    if not all(np.issubdtype(part.dtype, np.integer) for part in (k, m, n)):
        raise ParameterError("coefficients", "entries", "must be whole numbers, as arguments and divisors")
