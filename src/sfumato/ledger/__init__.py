"""What was published about which population and what it cost, exactly; and the budget of one mechanism in memory."""

from __future__ import annotations

from sfumato.ledger.composition import PopulationTree, Totals
from sfumato.ledger.cost import Budget, Cost, cost_of, under
from sfumato.ledger.entry import Entry, LimitSet, State, near_names, population_key
from sfumato.ledger.ledger import Ledger, Reservation, entered, refuse_ledger_inside

__all__ = [
    "Budget",
    "Cost",
    "Entry",
    "Ledger",
    "LimitSet",
    "PopulationTree",
    "Reservation",
    "State",
    "Totals",
    "cost_of",
    "entered",
    "near_names",
    "population_key",
    "refuse_ledger_inside",
    "under",
]
