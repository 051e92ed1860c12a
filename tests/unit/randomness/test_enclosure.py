from __future__ import annotations

from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import pytest

from sfumato.randomness.enclosure import exp_enclosure, floor_log_ratio, rational_rate, sign_of_exponentials


@pytest.mark.parametrize("a", [Fraction(1, 2), Fraction(1), Fraction(1, 10**6), Fraction(50), Fraction(3, 7)])
@pytest.mark.parametrize("g", [1, 2, 17])
@pytest.mark.parametrize("bits", [64, 192])
def test_floor_log_ratio_at_its_thresholds(a, g, bits):
    # The whole number just below 2^bits e^(-ga), by decimals of another length, and the one after it.
    with localcontext() as work:
        work.prec = 400
        edge = int((Decimal(-g * a.numerator) / Decimal(a.denominator)).exp() * 2**bits)
    rate = rational_rate(a)
    if edge >= 1:
        assert floor_log_ratio(edge, bits, rate) >= g
    assert floor_log_ratio(edge + 1, bits, rate) == g - 1 or edge == 0
    if edge > 10**6:
        assert floor_log_ratio(edge, bits, rate) == g


def test_floor_log_ratio_at_the_ends():
    rate = rational_rate(Fraction(1, 10**12))
    assert floor_log_ratio(2**64, 64, rate) == 0
    assert floor_log_ratio(1, 64, rate) == 44361419555836  # 64 ln 2 = 44.361419555836 49...
    assert floor_log_ratio(1, 64, rate, cap=5) == 5
    assert floor_log_ratio(2**6400 - 1, 6400, rate) == 0
    tiny = rational_rate(Fraction(1, 10**60))  # more digits than the first precision carries
    assert floor_log_ratio(1, 1, tiny) == int(
        Fraction("0.693147180559945309417232121458176568075500134360255254120680") * 10**60
    )


def test_callers_decimal_context_does_not_matter():
    rate = rational_rate(Fraction(1, 3))
    with localcontext() as work:
        work.prec = 3
        assert floor_log_ratio(12345, 64, rate) == floor_log_ratio(12345, 64, rational_rate(Fraction(1, 3))) == 104
        assert sign_of_exponentials({Fraction(0): 10**20, Fraction(-1): -271828182845904523536}) == 1
    assert getcontext().prec != 3


def test_sign_of_exponentials():
    assert sign_of_exponentials({}) == 0
    assert sign_of_exponentials({Fraction(0): 0, Fraction(-1): 0}) == 0
    assert sign_of_exponentials({Fraction(0): -1}) == -1
    # e = 2.718281828459045235360287471352662497757247...
    assert sign_of_exponentials({Fraction(1): 10**40, Fraction(0): -27182818284590452353602874713526624977572}) == 1
    assert sign_of_exponentials({Fraction(1): 10**40, Fraction(0): -27182818284590452353602874713526624977573}) == -1
    # What is left after the leading terms cancel is far below any float.
    assert sign_of_exponentials({Fraction(-(10**9)): 1, Fraction(-(10**30)): -(10**50)}) == 1


@pytest.mark.parametrize("t", [Fraction(0), Fraction(-1, 3), Fraction(-100), Fraction(-200)])
def test_exp_enclosure_holds_the_value(t):
    low, high = exp_enclosure(t, 40)
    with localcontext() as work:
        work.prec = 200
        value = (Decimal(t.numerator) / Decimal(t.denominator)).exp() * Decimal(10) ** 40
    assert low <= value <= high
    assert high - low <= 3
