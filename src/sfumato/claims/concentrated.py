"""Between zero-concentrated and (epsilon, delta)-differential privacy, rounded so that nothing is promised in excess.

Source    Bun & Steinke, TCC 2016 (zCDP: definition 1.1; pure epsilon is epsilon^2/2-zCDP, proposition 1.4); Canonne,
          Kamath & Steinke, arXiv 2004.00010, proposition 12 and corollary 13 (conversion).
Claim     rho-zCDP implies (`epsilon_of(rho, delta)`, delta)-DP; `rho_for(epsilon, delta)`-zCDP implies
          (epsilon, delta)-DP; `implies` is never true where that bound does not show it.
Because   for every alpha > 1, rho-zCDP implies (e, delta)-DP with e = alpha rho + ln(alpha - 1) + (ln(1/delta) -
          alpha ln alpha)/(alpha - 1). A float search only picks alpha; e is then computed to 80 digits at that rational
          alpha, with correctly rounded logarithms and a slack above all roundings, and rounded up.
Checked   tests/unit/claims/test_concentrated.py::test_conversion_is_that_of_the_paper_and_never_below
          tests/unit/claims/test_concentrated.py::test_the_gaussian_itself_is_within_the_conversion
          tests/unit/claims/test_concentrated.py::test_wrong_conversions_are_distinguished
Silent on the smallest epsilon a particular mechanism has: the conversion holds for every rho-zCDP mechanism.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Final

from sfumato.randomness.enclosure import context

__all__ = ["epsilon_of", "implies", "rho_for"]

_DIGITS: Final = 80
_SLACK: Final = Decimal("1e-50")  # of |terms| below 1e15: twelve roundings of relative error 10^-79
_STEPS: Final = 200  # of the search for alpha
_PLACES: Final = 12  # decimal places of an epsilon that is rounded up
_SHARP: Final = 10**9  # the search for rho goes down in steps of one part in 10^9
_FAR: Final = 34.0  # ln(alpha - 1) is looked for between -34 and 34


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon, rounded up to 12 places, such that rho-zCDP implies (epsilon, delta)-DP.

    >>> float(epsilon_of(Fraction(1, 100), Fraction(1, 10**6)))
    0.62169265456
    """
    if rho == 0:
        return Fraction(0)
    least = _upper(rho, delta, _order(float(rho), _log_inverse(delta)))
    scale = 10**_PLACES
    return max(Fraction(math.ceil(Fraction(least) * scale), scale), Fraction(0))


def implies(rho: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether the conversion shows that rho-zCDP implies (epsilon, delta)-DP."""
    if rho == 0:
        return True
    if not 0 < delta < 1:
        return False
    return Fraction(_upper(rho, delta, _order(float(rho), _log_inverse(delta)))) <= epsilon


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho found, rounded down to nine digits, that implies (epsilon, delta)-DP.

    >>> rho = rho_for(Fraction(1), Fraction(1, 10**9))
    >>> implies(rho, Fraction(1), Fraction(1, 10**9)), round(float(rho), 6)
    (True, 0.014973)
    """
    low, high = 0.0, float(epsilon) + 1
    log_inverse, wanted = _log_inverse(delta), float(epsilon)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle <= 0 or _near(middle, log_inverse, _order(middle, log_inverse)) > wanted:
            high = middle
        else:
            low = middle
    places = 10 ** max(0, 9 - math.floor(math.log10(low)))
    units = math.floor(low * places)
    while not implies(Fraction(units, places), epsilon, delta):  # the float was a shade too large
        units -= max(1, units // _SHARP)
    return Fraction(units, places)


def _log_inverse(delta: Fraction) -> float:
    return math.log(delta.denominator) - math.log(delta.numerator)


def _near(rho: float, log_inverse: float, order: Fraction) -> float:
    alpha, less = float(order), float(order - 1)
    return alpha * rho + math.log(less) + (log_inverse - alpha * math.log1p(less)) / less


def _order(rho: float, log_inverse: float) -> Fraction:
    """Return a good alpha, by golden section over ln(alpha - 1)."""

    def bound(at: float) -> float:
        less = math.exp(at)
        # ln(alpha - 1) - alpha ln(alpha) / (alpha - 1), written so that large alpha does not cancel
        return (1 + less) * rho + at + (log_inverse - (1 + less) * math.log1p(less)) / less

    low, high = -_FAR, _FAR
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(_STEPS):
        first, second = high - golden * (high - low), low + golden * (high - low)
        if bound(first) < bound(second):
            high = second
        else:
            low = first
    return 1 + Fraction(f"{math.exp(low):.12e}")


def _upper(rho: Fraction, delta: Fraction, alpha: Fraction) -> Decimal:
    """Return the bound at this alpha, computed to 80 digits and moved up by more than its roundings."""
    work = context(_DIGITS)

    def real(value: Fraction) -> Decimal:
        return work.divide(Decimal(value.numerator), Decimal(value.denominator))

    less, order = real(alpha - 1), real(alpha)
    log_delta = work.subtract(Decimal(delta.numerator).ln(work), Decimal(delta.denominator).ln(work))
    # Operators would round by the caller's own context: every step names the one it works in.
    inner = work.subtract(work.minus(log_delta), work.multiply(order, order.ln(work)))
    found = work.add(real(alpha * rho), work.add(less.ln(work), work.divide(inner, less)))
    sizes = (real(alpha * rho), work.divide(log_delta, less), work.divide(inner, less))
    scale = max(Decimal(1), *(work.abs(size) for size in sizes))
    return context(_DIGITS, ROUND_CEILING).add(found, work.multiply(_SLACK, scale))
