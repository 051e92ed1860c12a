"""What concentrated releases cost together, beside the plain sums."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.claims import ApproxDP, Claim, ConcentratedDP, Neighbours, PureDP
from sfumato.claims.guarantees import epsilon_of
from sfumato.errors import BudgetExceeded, ParameterError
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


def test_a_limit_is_kept_by_sums_alone():
    limit = Cost(Fraction(2), delta=4 * DELTA)
    promise = ConcentratedDP.within("1/2", delta=DELTA)
    part = cost_of(claim(promise))
    assert part.times(4).within(limit)
    assert not part.times(5).within(limit)
    assert epsilon_of(5 * promise.rho, DELTA) < 2  # by rho alone it would be


def test_two_filters_together_are_none(tmp_path):
    """A limit of (1, 1e-9): pure 1/20, then, by what came out, the rest by sums or a concentrated release by rho.

    With both allowed the whole would cost 1.3 times the delta (a two-point mechanism reaches it), so one is refused.
    """
    delta = Fraction(1, 10**9)
    for later, kept in ((ApproxDP("19/20", delta=delta), True), (ConcentratedDP.within(1, delta=delta), False)):
        book = Ledger(tmp_path / f"{kept}.db")
        book.limit("people", 1, delta)
        book.reserve("people", claim(PureDP("1/20")), {"name": "first"})
        if kept:
            book.reserve("people", claim(later), {"name": "second"})
        else:
            with pytest.raises(BudgetExceeded):
                book.reserve("people", claim(later), {"name": "second"})


def test_a_ledger_reports_rho_and_what_it_implies(tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    book.limit("people", 3, 3 * DELTA)
    promise = ConcentratedDP.within(1, delta=DELTA)
    for _ in range(3):
        book.reserve("people", claim(promise), {"name": "marginals"})
    with pytest.raises(BudgetExceeded):
        book.reserve("people", claim(promise), {"name": "marginals"})
    total = book.totals("people").combined
    assert (total.rho, total.epsilon) == (3 * promise.rho, 3)
    answer = book.totals("people").to_json()["combined"]
    assert Fraction(answer["rho"]) == 3 * promise.rho
    assert Fraction(answer["epsilon_from_rho"]) < 2


def test_a_release_of_another_rho_than_was_reserved_is_seen(tmp_path):
    book = Ledger(tmp_path / "ledger.db")
    little = ConcentratedDP("1/10000", epsilon=1, delta=DELTA)
    for came in (ApproxDP(1, delta=DELTA), ConcentratedDP.within(1, delta=DELTA)):
        held = book.reserve("people", claim(little), {"name": "marginals"})
        with pytest.raises(ParameterError):
            held.spend(claim(came))
