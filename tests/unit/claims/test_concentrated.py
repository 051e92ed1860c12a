"""zCDP to (epsilon, delta) and back: the paper's formula, never below it, and wrong formulas distinguished."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import pytest
from scipy.stats import norm

from sfumato.claims import Claim, ConcentratedDP, Neighbours, promise_from_json
from sfumato.claims.guarantees import epsilon_of, implies, rho_for
from sfumato.errors import ParameterError

GRID = [
    (rho, delta) for rho in ("1e-6", "1/1000", "0.0123", "1/2", "3", "40") for delta in ("1e-12", "1e-9", "1e-5", "0.1")
]


def paper(rho, delta):
    """The least epsilon over a fine grid of orders, in floats: slow and obvious."""
    best = math.inf
    for step in range(-3000, 3000):
        less = 10 ** (step / 300)
        alpha = 1 + less
        best = min(best, alpha * rho + math.log(less) + (math.log(1 / delta) - alpha * math.log1p(less)) / less)
    return best


@pytest.mark.parametrize(("rho", "delta"), GRID)
def test_conversion_is_that_of_the_paper_and_never_below(rho, delta):
    rho, delta = Fraction(rho), Fraction(delta)
    found, asked = float(epsilon_of(rho, delta)), max(paper(float(rho), float(delta)), 0.0)
    assert found == pytest.approx(asked, rel=1e-3, abs=1e-9)
    assert found >= asked - max(asked * 1e-3, 1e-9)  # the grid may miss the best order by so much
    standard = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta)))
    assert found <= standard
    least = epsilon_of(rho, delta)
    assert implies(rho, least, delta)  # rounded up, never down
    assert least == 0 or not implies(rho, least - Fraction(2, 10**12), delta)


@pytest.mark.parametrize(("rho", "delta"), GRID)
def test_the_gaussian_itself_is_within_the_conversion(rho, delta):
    """The Gaussian mechanism with rho = 1/(2 sigma^2) has its exact delta (Balle & Wang 2018) below the stated one."""
    epsilon, sigma = float(epsilon_of(Fraction(rho), Fraction(delta))), math.sqrt(1 / (2 * float(Fraction(rho))))
    log_second = epsilon + norm.logcdf(-1 / (2 * sigma) - epsilon * sigma)
    exact = norm.cdf(1 / (2 * sigma) - epsilon * sigma) - math.exp(log_second)
    assert exact <= float(Fraction(delta)) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "10", "1/3"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-5"])
def test_rho_is_rounded_down_and_nearly_the_largest(epsilon, delta):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    rho = rho_for(epsilon, delta)
    assert implies(rho, epsilon, delta)
    assert not implies(rho * Fraction(1000001, 1000000), epsilon, delta)


def test_wrong_conversions_are_distinguished():
    """A rho halved or the square root left out would promise too much; both are refused."""
    epsilon, delta = Fraction(1), Fraction(1, 10**9)
    rho = rho_for(epsilon, delta)
    for wrong in (2 * rho, epsilon**2 / 2, rho + Fraction(1, 10**7)):
        assert not implies(wrong, epsilon, delta)
        with pytest.raises(ParameterError) as refused:
            ConcentratedDP(wrong, epsilon=epsilon, delta=delta)
        assert refused.value.name == "epsilon"
    assert not implies(rho, epsilon, Fraction(0))
    assert not implies(rho, epsilon, delta / 2)


def test_a_promise_holds_both_and_survives_json():
    promise = ConcentratedDP.within(1, delta="1e-9")
    assert promise_from_json(promise.to_json()) == promise
    assert (promise.implied.epsilon, promise.implied.delta) == (1, Fraction(1, 10**9))
    claim = Claim(promise, neighbours=Neighbours.ADD_OR_REMOVE_ONE, trace=[("tables", promise.rho)])
    assert Claim.from_json(claim.to_json()) == claim
    assert claim.kind == "proved"
    with pytest.raises(ParameterError) as refused:
        Claim(promise, neighbours=Neighbours.ADD_OR_REMOVE_ONE, trace=[("tables", 1)])  # a trace of epsilon
    assert refused.value.name == "trace"


@pytest.mark.parametrize("rounding", [decimal.ROUND_DOWN, decimal.ROUND_FLOOR, decimal.ROUND_CEILING])
def test_the_callers_decimal_context_changes_nothing(rounding):
    pairs = [(Fraction(rho), Fraction(delta)) for rho, delta in GRID]
    plainly = [epsilon_of(rho, delta) for rho, delta in pairs]
    with decimal.localcontext() as context:
        context.prec, context.rounding = 2, rounding
        assert [epsilon_of(rho, delta) for rho, delta in pairs] == plainly
        assert not implies(Fraction("0.0155"), Fraction(1), Fraction("1e-9"))
