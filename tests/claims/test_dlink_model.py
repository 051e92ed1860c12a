"""The linkability score against exact enumeration; its monotony; the mutants that look right and are wrong."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.oracles.compiled import all_present

import sfumato as sf
from sfumato.claims import Linkability
from sfumato.kernels.conditions import linkage_score, presence_of_all
from sfumato.kernels.dlink.score import further_values, score
from sfumato.mechanisms.dlink.dlink import joint_presence, presence
from sfumato.mechanisms.dlink.population_model import Frequencies, bind_model, refuse_unlinkable, root_score
from sfumato.schema import Schema

QUIET = settings(max_examples=80, suppress_health_check=list(HealthCheck))
SCHEMA = Schema.parse(
    {
        "name": "people",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 6], "step": 1},
            "job": {"role": "quasi", "hierarchy": {"X": ["x1", "x2"], "Y": ["y1", "y2"]}},
            "ill": {"role": "sensitive", "values": ["a", "b", "c", "d", "e"]},
        },
    }
)
NAMES = ("age", "job", "ill")


def counted(codes, weights=None) -> Frequencies:
    codes = np.asarray(codes)
    weights = np.ones(len(codes), np.int64) if weights is None else np.asarray(weights)
    return Frequencies.of(SCHEMA.quasi, SCHEMA.sensitive, codes, weights, NAMES)


def some_people(seed=1, rows=200) -> Frequencies:
    rng = np.random.default_rng(seed)
    ill = rng.choice(5, rows, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    return counted(np.stack([rng.integers(0, 6, rows), rng.integers(0, 4, rows), ill], axis=1))


def probability_all_occur(rhos: list[Fraction], n: int) -> Fraction:
    """By enumeration of every sequence of n draws."""
    outcomes = [*rhos, 1 - sum(rhos)]
    total = Fraction(0)
    for draws in product(range(len(outcomes)), repeat=n):
        if set(range(len(rhos))) <= set(draws):
            total += prod((outcomes[draw] for draw in draws), start=Fraction(1))
    return total


def at_least_further(shares: list[Fraction], least: int, n: int) -> Fraction:
    outcomes = [*shares, 1 - sum(shares)]
    total = Fraction(0)
    for draws in product(range(len(outcomes)), repeat=n):
        if len(set(draws) - {len(shares)}) >= least:
            total += prod((outcomes[draw] for draw in draws), start=Fraction(1))
    return total


@pytest.mark.parametrize("rhos", [["1/5", "1/5"], ["1/2", "1/3"], ["1/10", "1/4", "1/3"], ["1/2", "1/2"]])
@pytest.mark.parametrize("n", [1, 3, 6])
def test_compiled_score_equals_the_exact_enumeration(rhos, n) -> None:
    exact = [Fraction(rho) for rho in rhos]
    wanted = float(probability_all_occur(exact, n))
    given_as = [float(rho) for rho in exact]
    assert all_present(np.array(given_as), float(n)) == pytest.approx(wanted, abs=1e-12)
    assert joint_presence(given_as, n) == pytest.approx(wanted, abs=1e-12)
    assert presence_of_all(given_as, n) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("shares", [["1/5", "1/5"], ["1/2", "1/4", "1/8"], ["1/3", "1/3", "1/3"], ["1/10"]])
@pytest.mark.parametrize("least", [1, 2])
@pytest.mark.parametrize("n", [0, 1, 4, 6])
def test_robust_probability_equals_the_exact_enumeration(shares, least, n) -> None:
    exact = [Fraction(share) for share in shares]
    wanted = float(at_least_further(exact, least, n))
    assert further_values(np.array([float(s) for s in exact]), least, n) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(
    ("probability", "population"),
    [("exact", None), ("product", None), ("robust", None), ("exact", "joint"), ("product", "joint")],
)
def test_compiled_score_equals_the_reference(probability, population) -> None:
    table, rng = some_people(), np.random.default_rng(5)
    for organisations in (2, 3):
        asked = Linkability(3, 0.5, organisations=organisations, probability=probability, population=population)
        link = bind_model(asked, table, k=8)
        for _ in range(40):
            counts = rng.integers(0, 3, 5)
            low, job = rng.integers(0, 6), rng.integers(0, 4)
            box = [(int(low), int(rng.integers(low + 1, 7))), (int(job), int(rng.integers(job + 1, 5)))]
            sides = enumerate(box)
            mass = prod(float(link.prefix[link.start[a] + h] - link.prefix[link.start[a] + b]) for a, (b, h) in sides)
            fast = score(link, mass, counts, np.zeros(0))
            assert fast == pytest.approx(linkage_score(link, [counts], box), abs=1e-12)


@QUIET
@given(st.data())
def test_score_grows_with_every_union(data) -> None:
    """EXISTS semantics: more mass and more values never lower it (the loop cannot undo what it did)."""
    table = some_people()
    probability = data.draw(st.sampled_from(["exact", "product", "robust"]))
    population = data.draw(st.sampled_from([None, "joint"])) if probability != "robust" else None
    link = bind_model(Linkability(3, 0.5, probability=probability, population=population), table, k=6)
    counts = st.lists(st.integers(0, 4), min_size=5, max_size=5).map(np.array)
    one, other = data.draw(counts), data.draw(counts)
    mass = data.draw(st.floats(1e-6, 1.0))
    more = data.draw(st.floats(mass, 1.0))
    none = np.zeros(0)
    assert score(link, more, one + other, none) >= score(link, mass, one, none) - 1e-9


def test_shares_of_labels_add_up_and_the_root_is_one() -> None:
    link = bind_model(Linkability(2, 0.5), counted([[0, 0, 0], [0, 1, 1], [5, 3, 2]], [1, 1, 1]), k=None)
    age = link.prefix[link.start[0] : link.start[1]]
    job = link.prefix[link.start[1] : link.start[2]]
    assert age[-1] == 1.0  # exactly, although 1/3 + 1/3 + 1/3 rounds (trap 27)
    assert job[-1] == 1.0
    assert age[1] - age[0] == pytest.approx(2 / 3)
    assert job[2] - job[0] == pytest.approx(2 / 3)  # the node X
    assert np.all(np.diff(age) >= 0)


def test_zero_frequencies_are_refused() -> None:
    table = counted([[0, 0, 0], [1, 1, 1], [2, 2, 2]])
    no_values = sf.Population("p", one_way={"ill": np.array([1.0, 1, 0, 0, 0])})
    no_codes = sf.Population("p", one_way={"age": np.array([1.0, 0, 0, 1, 1, 1])})
    for population, attribute in ((no_values, "ill"), (no_codes, "age")):
        with pytest.raises(sf.ParameterError, match="frequency 0") as refused:
            bind_model(Linkability(2, 0.5, population=population), table, k=None)
        assert refused.value.value == attribute
    fine = sf.Population("p", one_way={"ill": np.array([1.0, 1, 1, 0, 0])})
    bind_model(Linkability(2, 0.5, population=fine), table, k=None)  # what never occurs may have frequency 0


def test_infeasible_is_said_with_the_best_and_the_k_that_would_do() -> None:
    table = some_people()
    robust = Linkability(3, 0.8, probability="robust", k_other=3)
    link = bind_model(robust, table, k=None)
    with pytest.raises(sf.Infeasible, match="k_other = ") as refused:
        refuse_unlinkable(robust, link, table)
    would_do = int(refused.value.hint.split("=")[1].split()[0])
    for k, passes in ((would_do, True), (would_do - 1, False)):
        enough = bind_model(Linkability(3, 0.8, probability="robust", k_other=k), table, k=None)
        assert (root_score(enough, table.sensitive_counts) >= enough.alpha) == passes
    small = Linkability(5, 0.99, others=3)
    with pytest.raises(sf.Infeasible, match="no partition can do better") as refused:
        refuse_unlinkable(small, bind_model(small, table, k=None), table)
    assert 0 <= refused.value.best < 0.99
    few = counted([[0, 0, 0], [1, 1, 1]])
    asked = Linkability(3, 0.5)
    with pytest.raises(sf.Infeasible, match="2 values, fewer than d = 3"):
        refuse_unlinkable(asked, bind_model(asked, few, k=None), few)
    with pytest.raises(sf.ParameterError, match="least class size"):
        bind_model(Linkability(3, 0.8, probability="robust"), table, k=None)


# -- mutants that look right and are wrong (theory, traps 16 to 20) ---------------------------------


def every_subset(rhos, d, n):
    """Trap 16: all subsets of d values must pass, not the best one."""
    return min((joint_presence(subset, n) for subset in combinations(rhos, d)), default=0.0)


def counting_rows(counts, shares, mass, d, n):
    """Trap 19: rows with the same value count towards d."""
    rhos = sorted((mass * shares[s] for s in range(5) for _ in range(counts[s])), reverse=True)
    return joint_presence(rhos[:d], n) if len(rhos) >= d else 0.0


def few_values_pass(counts, shares, mass, d, n):
    """Trap 20: a class with fewer than d values is judged by those it has."""
    rhos = sorted((mass * shares[s] for s in range(5) if counts[s]), reverse=True)
    return joint_presence(rhos[:d], n)


def test_mutants_are_caught() -> None:
    table, n = some_people(), 40
    link = bind_model(Linkability(2, 0.5, others=n), table, k=None)
    shares, none = link.share, np.zeros(0)
    counts = np.array([3, 3, 0, 0, 1])
    truth = score(link, 0.5, counts, none)
    rhos = [0.5 * shares[s] for s in (0, 1, 4)]
    assert truth == pytest.approx(joint_presence(rhos[:2], n))
    assert every_subset(rhos, 2, n) < truth - 0.05
    # a rare value added lowers EVERY, never EXISTS
    assert every_subset(rhos, 2, n) < every_subset(rhos[:2], 2, n)
    alone = np.array([7, 0, 0, 0, 0])
    assert score(link, 0.5, alone, none) == 0.0
    assert counting_rows(alone, shares, 0.5, 2, n) > 0.5
    assert few_values_pass(alone, shares, 0.5, 2, n) > 0.5
    # trap 17: the probability of one ungeneralised record instead of the label's
    leaf = float(np.diff(link.prefix[link.start[0] : link.start[1]]).max()) * 0.25
    assert score(link, leaf, counts, none) < truth - 0.2
    # the paper's product is above the truth
    product_link = bind_model(Linkability(2, 0.5, others=n, probability="product"), table, k=None)
    assert score(product_link, 0.5, counts, none) > truth


def test_several_organisations_of_unequal_sizes_multiply() -> None:
    table = some_people()
    link = bind_model(Linkability(2, 0.5, organisations=3, others=[30, 90]), table, k=None)
    counts = np.array([1, 1, 1, 0, 0])
    rhos = (0.3 * link.share[:2]).tolist()
    assert score(link, 0.3, counts, np.zeros(0)) == pytest.approx(joint_presence(rhos, 30) * joint_presence(rhos, 90))


def test_top_values_of_a_union_are_among_the_tops() -> None:
    # dlink.topd_merge: S1 = {a .3, b .1, c .05}, S2 = {d .2, b .1}; the best two of the union are a and d
    first, second = {"a": 0.3, "b": 0.1, "c": 0.05}, {"d": 0.2, "b": 0.1}
    union = {**first, **second}
    best = sorted(union, key=lambda s: -union[s])[:2]
    assert best == ["a", "d"]
    table = counted([[0, 0, s] for s in range(5)], [30, 10, 5, 20, 35])
    link = bind_model(Linkability(2, 0.5, others=20), table, k=None)
    united = score(link, 1.0, np.array([1, 1, 1, 1, 0]), np.zeros(0))
    assert united == pytest.approx(joint_presence([0.3, 0.2], 20))


def test_composition_anonymity_of_the_paper() -> None:
    # dlink.alice, dlink.emu, dlink.attack_accuracy, dlink.breach.d2
    alice = {"Diabetes", "Fever"} & {"Cough", "Diabetes"}
    emu = {"Cough", "Diabetes", "Flu"} & {"Cough", "Diabetes", "Fever", "Flu"}
    assert (len(alice), len(emu)) == (1, 3)
    assert 100 * sum(len(left) == 1 for left in (alice, emu)) / 2 == 50.0
    assert (len(alice) < 2, len(emu) < 2) == (True, False)
    assert presence(1.0, 1) == 1.0
