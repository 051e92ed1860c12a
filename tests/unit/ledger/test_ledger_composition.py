"""Totals against people: every person's cost added up by hand, the dearest person decides."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from sfumato.claims import Neighbours
from sfumato.errors import BudgetExceeded
from sfumato.ledger import Cost, PopulationTree
from sfumato.ledger.composition import Charge, check, totals

ADD, REPLACE = Neighbours.ADD_OR_REMOVE_ONE, Neighbours.REPLACE_ONE
# country > (north > (n1, n2), south); abroad stands apart
PARENTS = {"country": None, "north": "country", "south": "country", "n1": "north", "n2": "north", "abroad": None}
PEOPLE = [
    ("country", "north", "n1"),
    ("country", "north", "n2"),
    ("country", "north"),
    ("country", "south"),
    ("abroad",),
]
charges = st.lists(
    st.builds(
        lambda name, amount, kind, times: Charge(name, neighbours=kind, cost=Cost(Fraction(amount, 7)), times=times),
        st.sampled_from(list(PARENTS)),
        st.integers(1, 9),
        st.sampled_from([ADD, REPLACE]),
        st.integers(1, 3),
    ),
    max_size=8,
)


def person(memberships, found, factor):
    return sum(
        (c.cost.epsilon * factor[c.neighbours] * c.times for c in found if c.population in memberships), Fraction()
    )


@given(charges)
def test_totals_equal_the_dearest_person(found):
    tree = PopulationTree(PARENTS, limits={})
    for name in PARENTS:
        people = [person for person in PEOPLE if name in person]
        sharing = [c for c in found if any(c.population in memberships for memberships in people)]
        kinds = {c.neighbours for c in sharing}
        factor = {ADD: 2 if REPLACE in kinds else 1, REPLACE: 1}
        total = totals(tree, name, found)
        assert total.combined.epsilon == max(person(p, found, factor) for p in people)
        for kind in kinds:
            alone = {ADD: int(kind is ADD), REPLACE: int(kind is REPLACE)}
            assert total.spent[kind].epsilon == max(person(p, found, alone) for p in people)


@given(charges, charges)
def test_what_passes_the_check_is_within_every_limit(found, more):
    limits = {"country": Cost(Fraction(3)), "n1": Cost(Fraction(2)), "south": Cost(Fraction(5))}
    tree = PopulationTree(PARENTS, limits=limits)
    kept: list[Charge] = []
    refused: list[BudgetExceeded] = []
    for charge in (c for many in (found, more) for c in many for _ in range(c.times)):
        asked = Charge(charge.population, neighbours=charge.neighbours, cost=charge.cost)
        left = totals(tree, asked.population, kept).left
        try:
            check(tree, kept, asked)
        except BudgetExceeded as error:
            refused.append(error)
            continue
        kept.append(asked)
        if left is not None:
            assert asked.cost.within(left)
        for name, limit in limits.items():
            assert totals(tree, name, kept).combined.within(limit)
    for error in refused:
        assert error.spent + error.asked > error.limit


def test_what_is_left_can_be_spent_and_no_more():
    tree = PopulationTree(PARENTS, limits={"country": Cost(Fraction(1)), "n1": Cost(Fraction(1, 2))})
    found = [
        Charge("country", neighbours=ADD, cost=Cost(Fraction(1, 4))),
        Charge("south", neighbours=ADD, cost=Cost(Fraction(3, 4))),
    ]
    expected = {
        "country": Fraction(0),
        "south": Fraction(0),
        "north": Fraction(1, 4),
        "n1": Fraction(1, 4),
        "n2": Fraction(3, 4),
    }
    for name, free in expected.items():
        left = totals(tree, name, found).left
        assert left is not None
        assert left.epsilon == free
        if free:
            check(tree, found, Charge(name, neighbours=ADD, cost=Cost(free)))
        with pytest.raises(BudgetExceeded):
            check(tree, found, Charge(name, neighbours=ADD, cost=Cost(free + Fraction(1, 10**9))))
    assert totals(tree, "abroad", found).left is None
    check(tree, found, Charge("abroad", neighbours=ADD, cost=Cost(Fraction(100))))


def test_relations_are_never_added_silently():
    half = Cost(Fraction(1, 2))
    found = [Charge("south", neighbours=ADD, cost=half), Charge("south", neighbours=REPLACE, cost=half)]
    total = totals(PopulationTree(PARENTS, limits={}), "south", found)
    assert total.spent == {ADD: half, REPLACE: half}
    assert total.relation is REPLACE
    assert total.combined == Cost(Fraction(3, 2))
    limited = PopulationTree(PARENTS, limits={"south": Cost(Fraction(1))})
    check(limited, found[:1], found[0])
    with pytest.raises(BudgetExceeded) as caught:  # 1/2 + 1/2 would be 1, were they the same relation
        check(limited, found[:1], found[1])
    assert (caught.value.spent, caught.value.asked, caught.value.limit) == (Fraction(1), Fraction(1, 2), Fraction(1))


def test_delta_adds_up_and_has_its_limit():
    small = Cost(Fraction(1, 2), delta=Fraction(1, 1000))
    tree = PopulationTree(PARENTS, limits={"south": Cost(Fraction(9), delta=Fraction(1, 1000))})
    charge = Charge("south", neighbours=ADD, cost=small)
    check(tree, [], charge)
    with pytest.raises(BudgetExceeded, match=r"0\.5 \(delta 0\.001\) asked") as caught:
        check(tree, [charge], charge)
    assert caught.value.limit == Cost(Fraction(9), delta=Fraction(1, 1000))
    assert totals(tree, "south", [charge, charge]).combined == Cost(Fraction(1), delta=Fraction(2, 1000))
    assert totals(tree, "country", [charge]).combined == small
