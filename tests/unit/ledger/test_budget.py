from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from sfumato.claims import Claim, Neighbours, PureDP
from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.ledger import Budget

shares = st.lists(st.integers(0, 50), min_size=1, max_size=12).filter(any)


@given(shares, st.fractions(min_value="1/1000", max_value=20))
def test_the_trace_sums_to_epsilon_exactly(weights, epsilon):
    budget = Budget(epsilon)
    for at, weight in enumerate(weights[:-1]):
        assert budget.draw(f"step {at}", epsilon * Fraction(weight, sum(weights))) == epsilon * weight / sum(weights)
    budget.draw("last", budget.rest())
    assert sum(amount for _, amount in budget.trace) == epsilon == budget.spent
    assert budget.rest() == 0
    assert Claim(PureDP(epsilon), neighbours=Neighbours.REPLACE_ONE, trace=budget.trace).trace == budget.trace


def test_never_hands_out_more_than_there_is():
    budget = Budget(0.3)
    for _ in range(3):
        budget.draw("step", 0.1)  # in floats the third would be too much
    with pytest.raises(BudgetExceeded) as caught:
        budget.draw("more", "1/1000000000000000000000")
    assert (caught.value.spent, caught.value.limit) == (Fraction(3, 10), Fraction(3, 10))
    assert len(budget.trace) == 3
    assert "more" not in dict(budget.trace)


@pytest.mark.parametrize("bad", [-1, "x", float("nan"), True])
def test_amounts_are_numbers_of_at_least_nothing(bad):
    with pytest.raises(ParameterError):
        Budget(1).draw("step", bad)


@pytest.mark.parametrize("bad", [0, -1, "x"])
def test_an_epsilon_is_above_nothing(bad):
    with pytest.raises(ParameterError):
        Budget(bad)
