# ruff: noqa: INP001, T201
"""Differentially private releases that share one budget, and the one too many."""

import sfumato as sf
from sfumato.ledger import Ledger

table = sf.read("patients.csv", sf.Schema.load("patients.toml"))
population = str(table.schema.population)
ledger = Ledger("budget.db")
ledger.limit(population, 1)

first = sf.publish(table, sf.NoisyTable("1/2", cuts={"town": ["West", "East", "South"]}), ledger=ledger)
second = sf.publish(table, sf.DiffGen.recommended("1/4"), ledger=ledger)
for release in (first, second):
    print(release.claim, [(step, str(amount)) for step, amount in release.claim.trace])

try:
    sf.publish(table, sf.NoisyTable("1/2"), ledger=ledger)
except sf.BudgetExceeded as error:
    print(error)
totals = ledger.totals(population)
print(f"{population}: epsilon {totals.combined.epsilon} spent, {totals.left.epsilon} of {totals.limit.epsilon} left")
