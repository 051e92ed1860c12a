"""What all releases about a population cost together.

Source    Dwork & Roth, The Algorithmic Foundations of Differential Privacy, 2014, theorem 3.16 (sequential);
          McSherry, Privacy Integrated Queries, SIGMOD 2009, theorem 4 (parallel); Rogers, Roth, Ullman & Vadhan,
          Privacy Odometers and Filters, NIPS 2016, section 3 (sums stay true where budgets are chosen on the way).
Claim     Every person of a population is protected by `combined`, under `relation`.
Because   a person belongs to the population, to all it is a part of, and to at most one of its parts, of theirs and
          so on: releases about the former add up, of the latter only the dearest counts. All are first brought
          to the weakest relation among them (`cost.under`), under which each of them holds.
Checked   tests/unit/ledger/test_ledger_composition.py::test_totals_equal_the_dearest_person
          tests/unit/ledger/test_ledger_composition.py::test_relations_are_never_added_silently
Silent on whether parts are disjoint and populations different people: that is declared, not checked. Who belongs
          to which part is taken as public, so replacing a person never moves them to another part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from sfumato.claims import Neighbours
from sfumato.errors import BudgetExceeded
from sfumato.exact import plain
from sfumato.ledger.cost import Cost, under, weakest

NONE = Cost(Fraction(0))


@dataclass(frozen=True, slots=True)
class Charge:
    """What one release took from one population; or several that took the same."""

    population: str
    _: KW_ONLY
    neighbours: Neighbours
    cost: Cost
    times: int = 1


@dataclass(frozen=True, slots=True)
class PopulationTree:
    """Populations by name with what each is a part of, and their limits."""

    parents: Mapping[str, str | None]
    _: KW_ONLY
    limits: Mapping[str, Cost]

    def above(self, name: str) -> Iterator[str]:
        """Everything the population is a part of, nearest first."""
        parent = self.parents.get(name)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def below(self, name: str) -> Iterator[str]:
        """Parts, and their parts: each after the one it is a part of."""
        parts: dict[str, list[str]] = {}
        for part, parent in self.parents.items():
            if parent is not None:
                parts.setdefault(parent, []).append(part)
        waiting = parts.get(name, [])[::-1]
        while waiting:
            part = waiting.pop()
            yield part
            waiting += parts.get(part, [])[::-1]

    def related(self, name: str) -> list[str]:
        """Return all populations that share people with this one."""
        return [name, *self.above(name), *self.below(name)]


@dataclass(frozen=True, slots=True)
class Totals:
    """What was spent on a population: by relation, and together under the weakest of them.

    `leaves` says of each limit that concerns the population, by whose it is, what it leaves to it; `left` is the least.
    `counted` says in which relation each of them counts: others who share the limit may have weakened it. `exceeded`
    says of those that are exceeded already, in what: a limit may be set after more was spent.
    Exact, except for sums of fractions too long to write: spent is then rounded up, and what is left down.
    """

    population: str
    _: KW_ONLY
    spent: Mapping[Neighbours, Cost]
    combined: Cost
    relation: Neighbours | None
    limit: Cost | None
    left: Cost | None
    leaves: Mapping[str, Cost]
    counted: Mapping[str, Neighbours | None]
    exceeded: Mapping[str, str]

    @property
    def left_for(self) -> str:
        """The relations in which `left` is counted, where they are not simply that of all that was spent."""
        kinds = {kind for kind in self.counted.values() if kind is not None}
        return "" if kinds == {*self.spent} else " and ".join(sorted(map(str, kinds)))

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping; exact numbers as text."""
        return {
            "population": self.population,
            "spent": {relation.value: cost.to_json() for relation, cost in self.spent.items()},
            "combined": self.combined.to_json(),
            "relation": None if self.relation is None else self.relation.value,
            "limit": None if self.limit is None else self.limit.to_json(),
            "left": None if self.left is None else self.left.to_json(),
            **({"exceeded": dict(self.exceeded)} if self.exceeded else {}),
        }


def totals(tree: PopulationTree, name: str, charges: Iterable[Charge]) -> Totals:
    """Return the totals of one population."""
    every = list(charges)
    near = _sharing(tree, name, every)
    relation = weakest({charge.neighbours for charge in near})
    held = _held(tree, name, every)
    leaves = {other: spent.left_of(limit).printable(up=False) for other, (spent, limit) in held.items()}
    present = [kind for kind in Neighbours if any(charge.neighbours is kind for charge in near)]
    alone = {kind: [charge for charge in near if charge.neighbours is kind] for kind in present}
    return Totals(
        name,
        spent={kind: _dearest(tree, name, _by_population(found, kind)).printable() for kind, found in alone.items()},
        combined=_dearest(tree, name, _by_population(near, relation)).printable(),
        relation=relation,
        limit=tree.limits.get(name),
        left=reduce(Cost.least, leaves.values()) if leaves else None,
        leaves=leaves,
        counted={other: kind for other, _, kind, _ in _limited(tree, name, every)},
        exceeded={other: _over(spent, limit) for other, (spent, limit) in held.items() if not spent.within(limit)},
    )


def check(tree: PopulationTree, charges: Iterable[Charge], asked: Charge) -> None:
    """Raise `BudgetExceeded` when a further charge would break a limit of anyone it concerns."""
    before = list(charges)
    after = [*before, asked]
    name = asked.population
    above = {name, *tree.above(name)}
    for other, limit, relation, costs in _limited(tree, name, after):
        if _dearest(tree, other, costs).within(limit):
            continue
        old = _by_population(_sharing(tree, other, before), relation)
        (price,) = _by_population([asked], relation).values()
        spent = _dearest(tree, name if other in above else other, old)
        if (spent + price).within(limit):  # what another part spent is over the limit already
            spent = _dearest(tree, other, old)
        raise _exceeded(other, relation, spent=spent, asked=price, limit=limit)


def _limited(
    tree: PopulationTree, name: str, charges: list[Charge]
) -> Iterator[tuple[str, Cost, Neighbours | None, dict[str, Cost]]]:
    """Yield each limit that concerns a population: whose it is, the relation it is held in, and what each has spent."""
    for other in tree.related(name):
        limit = tree.limits.get(other)
        if limit is None:
            continue
        near = _sharing(tree, other, charges)
        relation = weakest({charge.neighbours for charge in near})
        yield other, limit, relation, _by_population(near, relation)


def _exceeded(name: str, relation: Neighbours | None, *, spent: Cost, asked: Cost, limit: Cost) -> BudgetExceeded:
    """Say it in epsilon; where only delta is over, say both."""
    over = spent.epsilon + asked.epsilon > limit.epsilon
    spent, asked = spent.printable(), asked.printable()
    if over:
        error = BudgetExceeded(spent.epsilon, asked.epsilon, limit.epsilon)
    else:
        why = "the limit allows no delta, and this release has one"
        if spent.delta > limit.delta:
            why = _over(spent, limit)
        elif limit.delta:
            why = f"the limit allows delta {plain(limit.delta)} in all, and with this release it would be more"
        error = BudgetExceeded(spent, asked, limit, why)
    error.add_note(f"The limit is that of the population {name}, counted for the relation {relation}.")
    return error


def _over(spent: Cost, limit: Cost) -> str:
    """Say in what a limit is exceeded by what was spent, and what to do."""
    over = {"epsilon": spent.epsilon > limit.epsilon, "delta": spent.delta > limit.delta}
    what = " and ".join(name for name, above in over.items() if above)
    why = f"the limit is exceeded in {what} by what is already spent"
    return f"{why}, so nothing is left unless one with that {what} is set"


def _sharing(tree: PopulationTree, name: str, charges: list[Charge]) -> list[Charge]:
    people = set(tree.related(name))
    return [charge for charge in charges if charge.population in people]


def _by_population(charges: Iterable[Charge], relation: Neighbours | None) -> dict[str, Cost]:
    """Add up, under one relation, what was charged to each population itself."""
    found: dict[str, Cost] = {}
    for charge in charges:
        price = under(charge.cost, charge.neighbours, relation or charge.neighbours)
        found[charge.population] = found.get(charge.population, NONE) + price.times(charge.times)
    return found


def _dearest(tree: PopulationTree, name: str, own: Mapping[str, Cost]) -> Cost:
    """Return what covers every person of the population: all above it, itself, and the dearest chain of parts."""
    above = sum((own.get(other, NONE) for other in tree.above(name)), NONE)
    return above + _downwards(tree, name, own)


def _downwards(tree: PopulationTree, name: str, own: Mapping[str, Cost]) -> Cost:
    """Return what a population and the dearest chain of its parts cost; from the last part upwards, in no recursion."""
    dearest: dict[str, Cost] = {}
    for part in reversed([*tree.below(name)]):
        parent = tree.parents[part]
        assert parent is not None
        dearest[parent] = dearest.get(parent, NONE).most(own.get(part, NONE) + dearest.get(part, NONE))
    return own.get(name, NONE) + dearest.get(name, NONE)


def _held(tree: PopulationTree, name: str, charges: list[Charge]) -> dict[str, tuple[Cost, Cost]]:
    """Return for each limit that concerns the population what was spent of it, in the relations used so far, and it."""
    above = {name, *tree.above(name)}
    return {
        other: (_dearest(tree, name if other in above else other, own), limit)
        for other, limit, _, own in _limited(tree, name, charges)
    }
