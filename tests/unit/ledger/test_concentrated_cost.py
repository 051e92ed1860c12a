"""What concentrated releases cost together, beside the plain sums."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.claims import ApproxDP, Claim, ConcentratedDP, Neighbours, PureDP
from sfumato.claims.concentrated import epsilon_of
from sfumato.errors import BudgetExceeded
from sfumato.ledger import Cost, Ledger, cost_of, under

ONE = Neighbours.ADD_OR_REMOVE_ONE
DELTA = Fraction(1, 10**6)


def claim(promise):
    return Claim(promise, neighbours=ONE)


def test_rho_adds_up_and_is_lost_where_a_release_has_none():
    promise = ConcentratedDP.within("1/2", delta=DELTA)
    concentrated, pure = cost_of(claim(promise)), cost_of(claim(PureDP("1/10")))
    approximate = cost_of(claim(ApproxDP("1/10", delta=DELTA)))
    assert concentrated.rho == promise.rho
    assert pure.rho == Fraction(1, 200)
    both = concentrated + pure
    assert (both.rho, both.epsilon, both.delta) == (promise.rho + Fraction(1, 200), Fraction(3, 5), DELTA)
    assert (both + approximate).rho is None
    assert (approximate + pure).rho is None
    assert pure.times(4).rho == Fraction(4, 200)  # not (4/10)^2 / 2
    assert both.most(approximate).rho is None
    assert both.most(pure).rho == both.rho


def test_replacing_costs_four_rho():
    promise = ConcentratedDP.within("1/2", delta=DELTA)
    twice = under(cost_of(claim(promise)), ONE, Neighbours.REPLACE_ONE)
    assert (twice.rho, twice.epsilon) == (4 * promise.rho, 1)
    assert under(cost_of(claim(PureDP("1/10"))), ONE, Neighbours.REPLACE_ONE).rho == Fraction(1, 50)


def test_a_limit_is_kept_by_sums_or_by_rho_and_by_nothing_else():
    limit = Cost(Fraction(2), delta=DELTA)
    promise = ConcentratedDP.within("1/2", delta=DELTA)
    part = cost_of(claim(promise))
    assert part.times(9).rho == 9 * promise.rho
    most = max(n for n in range(1, 40) if part.times(n).within(limit))
    assert most > 4  # sums alone allow 4 at most, and their delta one
    assert epsilon_of(most * promise.rho, DELTA) <= 2 < epsilon_of((most + 1) * promise.rho, DELTA)
    assert not part.times(5).within(Cost(Fraction(2)))  # without a delta nothing concentrated is within a limit
    assert not cost_of(claim(ApproxDP("1/2", delta=DELTA))).times(2).within(limit)


def test_a_ledger_composes_rho_and_refuses_what_neither_way_allows(tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.limit("people", 2, DELTA)
    promise = ConcentratedDP.within(1, delta=DELTA)
    allowed = max(n for n in range(50) if epsilon_of(n * promise.rho, DELTA) <= 2)
    assert allowed > 2
    for _ in range(allowed):
        book.reserve("people", claim(promise), {"name": "marginals"})
    with pytest.raises(BudgetExceeded):
        book.reserve("people", claim(promise), {"name": "marginals"})
    total = book.totals("people")
    assert total.combined.rho == allowed * promise.rho
    assert total.combined.epsilon == allowed
    told = total.to_json()["combined"]
    assert Fraction(told["rho"]) == allowed * promise.rho
    assert Fraction(told["epsilon_from_rho"]) < 2


def test_an_approximate_release_stops_concentrated_composition(tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.limit("people", 2, 3 * DELTA)
    book.reserve("people", claim(ApproxDP(1, delta=DELTA)), {"name": "other"})
    promise = ConcentratedDP.within(1, delta=DELTA)
    book.reserve("people", claim(promise), {"name": "marginals"})
    with pytest.raises(BudgetExceeded):  # the sums say 3, and no rho is known of the first
        book.reserve("people", claim(promise), {"name": "marginals"})
