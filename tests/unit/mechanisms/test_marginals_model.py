"""The model of Marginals: junction trees, fitting, rows and shrinkage, against slow and obvious references."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.mechanisms.marginals import measuring, model
from sfumato.mechanisms.marginals.draws import Concentrated, Pure
from sfumato.mechanisms.marginals.measuring import pairs_within
from sfumato.mechanisms.marginals.model import TreeModel, junction_tree, model_cells, nearest_distribution, shrunk
from sfumato.randomness import Entropy
from sfumato.schema.workload import read_workload, set_weights, workload_sets, workload_texts

SIZES = (2, 3, 4, 2, 3)
SETS = {
    "none": [],
    "chain": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "loop": [(0, 1), (1, 2), (2, 3), (0, 3)],
    "two parts": [(0, 1), (3, 4)],
    "all pairs": list(itertools.combinations(range(5), 2)),
}


@pytest.mark.parametrize("sets", SETS.values(), ids=SETS)
def test_every_set_lies_in_a_clique_and_attributes_form_subtrees(sets):
    tree = junction_tree(SIZES, sets)
    assert all(tree.home(one) is not None for one in [*sets, *((a,) for a in range(5))])
    for a in range(5):  # the cliques that hold an attribute hang together: all but one have a parent that holds it
        holders = [at for at, clique in enumerate(tree.cliques) if a in clique]
        assert sum(tree.parent[at] not in holders for at in holders) == 1
    for at, clique in enumerate(tree.cliques[1:], 1):
        assert set(tree.separator[at]) == set(clique) & set(tree.cliques[tree.parent[at]])
    assert len(tree.tour()) == 2 * (len(tree.cliques) - 1)
    assert model_cells(SIZES, sets) == sum(int(np.prod([SIZES[a] for a in c])) for c in tree.cliques)


def brute_force(targets, ones, sweeps):
    """Iterative proportional fitting of the full joint table."""
    joint = np.ones(())
    for one in ones:
        joint = joint[..., None] * one
    for _ in range(sweeps):
        for attributes in sorted(targets, key=lambda s: (-len(s), s)):
            others = tuple(a for a in range(len(ones)) if a not in attributes)
            now = joint.sum(axis=others, keepdims=True)
            joint = joint * targets[attributes].reshape(now.shape) / now
    return joint


@pytest.mark.parametrize("sets", SETS.values(), ids=SETS)
def test_fitting_equals_fitting_of_the_full_joint(sets):
    rng = np.random.default_rng(1)
    truth = rng.random(SIZES) + 0.2
    truth /= truth.sum()
    ones = [truth.sum(axis=tuple(b for b in range(5) if b != a)) for a in range(5)]
    targets = {(a,): one for a, one in enumerate(ones)}
    targets |= {s: truth.sum(axis=tuple(b for b in range(5) if b not in s)) for s in sets}
    model = TreeModel(SIZES, sets, ones)
    model.fit(targets, 200)
    joint = brute_force(targets, ones, 200)
    for clique, table in zip(model.tree.cliques, model.tables, strict=True):
        assert np.allclose(table, joint.sum(axis=tuple(b for b in range(5) if b not in clique)), atol=1e-9)


def test_rows_follow_the_model():
    rng = np.random.default_rng(2)
    truth = rng.random(SIZES) ** 3
    truth /= truth.sum()
    sets = SETS["chain"]
    ones = [truth.sum(axis=tuple(b for b in range(5) if b != a)) for a in range(5)]
    targets = {s: truth.sum(axis=tuple(b for b in range(5) if b not in s)) for s in sets}
    model = TreeModel(SIZES, sets, ones)
    model.fit(targets, 20)
    rows = model.rows(5000, Entropy.seeded(3))
    for pair, target in targets.items():
        found = np.zeros(target.shape)
        np.add.at(found, tuple(rows[:, a] for a in pair), 1 / len(rows))
        assert np.abs(found - target).sum() / 2 < 0.01  # independent draws would miss by 0.02 and more
    assert not len(model.rows(0, Entropy.seeded(3)))


def test_nearest_distribution_is_the_nearest():
    rng = np.random.default_rng(3)
    for _ in range(20):
        table = rng.normal(0, 3, 6)
        found = nearest_distribution(table, 4.0)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(4)
        for _ in range(50):
            other = rng.dirichlet(np.ones(6)) * 4
            assert ((found - table) ** 2).sum() <= ((other - table) ** 2).sum() + 1e-9


def test_shrinking_helps_where_there_is_nothing_but_noise():
    rng = np.random.default_rng(4)
    expected = rng.gamma(1, 20, 400)
    noisy = expected + rng.normal(0, 30, 400)
    assert np.abs(shrunk(noisy, expected, 900.0) - expected).mean() < np.abs(noisy - expected).mean() / 10
    far = expected * rng.choice([0.0, 4.0], 400)
    noisy = far + rng.normal(0, 1, 400)
    assert np.abs(shrunk(noisy, expected, 1.0) - far).mean() < 2  # where the table speaks, it is heard


def test_more_pairs_are_measured_where_noise_allows():
    cells = [100] * 45
    for draws in (Pure(None, person=1), Concentrated(None, person=1)):
        numbers = [pairs_within(cells, 9, rows, sf.Marginals(1).epsilon, draws) for rows in (10, 10**4, 10**9)]
        assert numbers == sorted(numbers)
        assert (numbers[0], numbers[-1]) == (9, 27)


def test_the_last_digits_of_a_sum_change_no_row(monkeypatch):
    """Sums of floats differ from machine to machine in their last digits; rows do not. Halves are the hard case."""
    table = sf.datasets.adult("test")
    mechanism = sf.Marginals(1)
    one = sf.publish(table, mechanism, seed=1).frame()
    exact = model.shrunk

    def elsewhere(noisy, expected, variance):
        return exact(noisy, expected, variance) * (1 + 4e-15)

    monkeypatch.setattr(measuring, "shrunk", elsewhere)
    other = sf.publish(table, mechanism, seed=1).frame()
    assert one.equals(other)
    shares = np.array([0.5, 0.5]) * (1 - 1e-15)
    assert measuring.nearest_whole(15 * np.outer(shares, [1.0])).tolist() == [[8], [8]]
    assert np.rint(15 * np.outer(shares, [1.0])).tolist() != [[8], [8]]  # what rint makes of it


def test_workloads_are_read_and_written():
    schema = sf.datasets.adult().schema
    names = [a.name for a in schema.published]
    assert len(workload_sets(None, schema)) == len([*itertools.combinations(names, 3)])
    star = set_weights(workload_sets("income", schema))
    assert all(names.index("income") in pair for pair in star)
    assert len(star) == len(names) - 1
    sets = read_workload([["age", "sex"], ["age", "race", "sex"]])
    assert set_weights(workload_sets(sets, schema))[tuple(sorted((names.index("age"), names.index("sex"))))] == 2
    assert workload_texts(sets) == ["age+sex", "age+race+sex"]
    assert workload_texts((("a+b", "c"),)) is None
    for wrong in (True, 0, 9, [], [["age", "age"]], ["age"], 2.5):
        with pytest.raises(ParameterError) as refused:
            read_workload(wrong)
        assert refused.value.name == "workload"
    with pytest.raises(ParameterError):
        workload_sets("nobody", schema)


def test_it_round_trips_and_plans():
    schema = sf.datasets.adult().schema
    for given in ({}, {"delta": "1e-9"}, {"workload": "income"}, {"workload": [["age", "sex"]]}, {"workload": 2}):
        mechanism = sf.Marginals("1/2", **given)
        again = sf.Marginals(
            mechanism.to_json()["epsilon"], **{k: mechanism.to_json()[k] for k in ("delta", "workload")}
        )
        assert again == mechanism
        plan = mechanism.plan(schema)
        claim = mechanism.claim(schema)
        assert sum(stage.budget for stage in plan.stages) == claim.currency[1]
        assert all(stage.expected_error for stage in plan.stages if stage.name.endswith("tables"))
        assert "a count of 200" in " ".join(plan.notes)


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_a_tiny_budget_is_drawn_all_the_same(delta):
    release = sf.publish(sf.datasets.adult(), sf.Marginals("1/1000", delta=delta), seed=1)
    assert release.rows >= 1
    assert release.claim.promise.epsilon == sf.Marginals("1/1000").epsilon
