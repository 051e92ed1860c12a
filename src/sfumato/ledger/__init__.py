"""What was published about which population and what it cost, exactly; and the budget of one mechanism in memory."""

from __future__ import annotations

from sfumato.ledger.book import Ledger, Reservation, entered, refuse_ledger_inside
from sfumato.ledger.composition import Totals, Tree
from sfumato.ledger.cost import Budget, Cost, cost_of, under
from sfumato.ledger.entry import Entry, LimitSet, State, population_key

__all__ = [
    "Budget",
    "Cost",
    "Entry",
    "Ledger",
    "LimitSet",
    "Reservation",
    "State",
    "Totals",
    "Tree",
    "cost_of",
    "entered",
    "population_key",
    "refuse_ledger_inside",
    "under",
]
