from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from sfumato.claims import ApproxDP, Claim, KAnonymity, Linkable, Neighbours, ProbabilisticDP, PureDP
from sfumato.errors import ParameterError
from sfumato.ledger import Cost, cost_of, under
from sfumato.ledger.cost import weakest

ADD, REPLACE, ORIGIN = Neighbours.ADD_OR_REMOVE_ONE, Neighbours.REPLACE_ONE, Neighbours.ONE_ORIGIN
TENTH = Fraction(1, 10)


def test_what_claims_cost():
    assert cost_of(Claim(PureDP(0.1), neighbours=ADD)) == Cost(TENTH)
    for kind in (ApproxDP, ProbabilisticDP):
        assert cost_of(Claim(kind(0.1, delta=1e-5), neighbours=ADD)) == Cost(TENTH, delta=Fraction(1, 100_000))
    for free in (KAnonymity(3), Linkable(4, alpha=0.8)):
        assert cost_of(Claim(free)) is None


def test_replacing_a_person_is_two_steps():
    assert under(Cost(TENTH), ADD, REPLACE) == Cost(2 * TENTH)
    assert under(Cost(TENTH), ADD, ORIGIN) == Cost(2 * TENTH)
    assert under(Cost(TENTH), REPLACE, ORIGIN) == Cost(TENTH)
    assert under(Cost(TENTH), ADD, ADD) == Cost(TENTH)


@pytest.mark.parametrize(("stated", "asked"), [(REPLACE, ADD), (ORIGIN, ADD), (ORIGIN, REPLACE)])
def test_nothing_follows_for_a_stronger_relation(stated, asked):
    with pytest.raises(ParameterError, match="nothing follows"):
        under(Cost(TENTH), stated, asked)


@given(st.fractions(min_value="1/1000", max_value=60), st.integers(1, 30))
def test_delta_of_two_steps_is_never_rounded_down(epsilon, places):
    delta = Fraction(1, 10**places)
    found = under(Cost(epsilon, delta=delta), ADD, REPLACE).delta
    with localcontext() as exact:
        exact.prec = 80
        power = Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())
    true = (1 + power) * delta
    if true >= 1:
        assert found == 1
    else:
        assert true < found <= true * (1 + Fraction(1, 10**11))


def test_the_dearest_delta_costs_no_time():
    assert under(Cost(Fraction(10**9), delta=Fraction(1, 10**6)), ADD, REPLACE) == Cost(
        Fraction(2 * 10**9), delta=Fraction(1)
    )


def test_the_weakest_relation():
    assert weakest(set()) is None
    assert weakest({ADD}) is ADD
    assert weakest({ADD, REPLACE}) is REPLACE
    assert weakest({REPLACE, ORIGIN, ADD}) is ORIGIN
    assert all(weakest({ADD, kind}) is kind for kind in Neighbours)  # a new relation must find its place
