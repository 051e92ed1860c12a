"""Mondrian's kernel against its readable reference, and what every partition must be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.oracles.mondrian import (
    Best,
    Cut,
    ReferencePartition,
    WeightedTable,
    Widest,
    part_cost,
    partition_reference,
    route,
    summarize,
)

from sfumato.kernels import conditions as sc
from sfumato.kernels.conditions import all_hold
from sfumato.kernels.mondrian.layout import BOX, EXTREMES, SET, CutAttribute
from sfumato.kernels.mondrian.partition import Partition, partition

QUIET = settings(max_examples=60, suppress_health_check=list(HealthCheck))
TREE = ((0, 6, (1, 2, 3)), (0, 2, (4, 5)), (2, 5, (6, 7)), (5, 6, ()), (0, 1, ()), (1, 2, ()), (2, 4, ()), (4, 5, ()))


def a_table(codes, weights=None, sensitive=None, size=3):
    codes = np.asarray(codes, dtype=np.int32)
    weights = np.ones(len(codes), dtype=np.int64) if weights is None else np.asarray(weights, dtype=np.int64)
    sensitive = np.zeros((len(codes), 1)) if sensitive is None else np.asarray(sensitive).reshape(-1, 1)
    return WeightedTable(codes, weights=weights, sensitive=sensitive.astype(np.int32), sensitive_sizes=[size])


def fast(table, attributes, conditions, *, cut="best", weight=0.3, suppress=Fraction(0)) -> Partition:
    return partition(
        table.codes,
        table.weights,
        attributes,
        conditions=conditions,
        sensitive=table.sensitive,
        sensitive_sizes=table.sensitive_sizes,
        cut=cut,
        uniformity_weight=weight,
        max_suppressed=suppress,
    )


def slow(table, attributes, conditions, *, cut="best", weight=0.3, suppress=Fraction(0)) -> ReferencePartition:
    return partition_reference(
        table, attributes, conditions=conditions, cut=cut, uniformity_weight=weight, max_suppressed=suppress
    )


def same(one, other) -> None:
    np.testing.assert_array_equal(one.low, other.low)
    np.testing.assert_array_equal(one.high, other.high)
    np.testing.assert_array_equal(one.weight, other.weight)
    np.testing.assert_array_equal(one.leaf, other.leaf)
    assert one.suppressed == other.suppressed


def made(seed: int, rows: int, attributes) -> WeightedTable:
    """A table whose attributes, and the sensitive column, all lean on one hidden number."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(rows)
    columns = [
        np.minimum((0.6 * hidden + 0.4 * rng.random(rows)) ** 1.5 * a.size, a.size - 1).astype(np.int32)
        for a in attributes
    ]
    sensitive = np.minimum((0.4 * hidden + 0.6 * rng.random(rows)) * 5, 4).astype(np.int32)
    return a_table(np.stack(columns, axis=1), rng.integers(1, 5, rows), sensitive, 5)


def kinds(label: int, *, tree: bool = False) -> list[CutAttribute]:
    return [
        CutAttribute(9, label=EXTREMES if label else BOX),
        CutAttribute(6, label=label, missing=True, nodes=TREE if tree else ()),
        CutAttribute(4, label=label, missing=True),
        CutAttribute(1, label=label),
    ]


def asked(table: WeightedTable) -> dict[str, list[sc.Condition]]:
    counts = table.overall()[0]
    ground = sc.GroundEdges.ordered(counts)
    return {
        "k": [sc.size(4)],
        "k and l": [sc.size(3), sc.distinct(min(2, np.count_nonzero(counts)))],
        "emd": [sc.size(2), sc.emd(Fraction(3, 10), ground)],
        "js": [sc.size(2), sc.js(Fraction(1, 10))],
        "delta": [sc.delta_disclosure(Fraction(5, 2), two_sided=True, absent_fails=False), sc.size(2)],
        "beta": [sc.size(2), sc.ratio(Fraction(5, 2))],
        "frequency": [sc.size(2), sc.frequency(Fraction(7, 10))],
        "entropy": [sc.size(2), sc.entropy(Fraction(2))],
        "recursive": [sc.size(2), sc.recursive(Fraction(3), 2)],
        "l and emd": [sc.size(2), sc.distinct(2), sc.emd(Fraction(3, 10), sc.GroundEdges.equal(counts.size))],
    }


REQUIREMENTS = ["k", "k and l", "emd", "js", "delta", "beta", "frequency", "entropy", "recursive", "l and emd"]


@pytest.mark.cells(40)
@pytest.mark.parametrize("cut", ["best", "sparing", "widest"])
@pytest.mark.parametrize("label", [BOX, SET])
@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("name", REQUIREMENTS)
def test_compiled_equals_the_reference(cut, label, tree, name):
    attributes = kinds(label, tree=tree)
    for seed in range(3):
        table = made(seed, 70, attributes)
        found = fast(table, attributes, asked(table)[name], cut=cut)
        same(found, slow(table, attributes, asked(table)[name], cut=cut))
    assert len(found.weight) > 1  # the last table was cut at all


def compare_any_table(data):
    sizes = data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    label, missing = data.draw(st.sampled_from([BOX, SET, EXTREMES])), data.draw(st.booleans())
    attributes = [CutAttribute(size, label=label, missing=missing and size > 1) for size in sizes]
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes), st.integers(0, 2), st.integers(1, 4))
    rows = np.array(data.draw(st.lists(row, min_size=1, max_size=25)))
    table = a_table(rows[:, :-2], rows[:, -1], rows[:, -2])
    k = data.draw(st.integers(1, 5))
    if table.weights.sum() < k:
        return
    cut = data.draw(st.sampled_from(["best", "sparing", "widest"]))
    weight = data.draw(st.sampled_from([0.0, 0.3, 1.0]))
    suppress = Fraction(data.draw(st.integers(0, 4)), 10) if cut != "widest" else Fraction(0)
    conditions = [sc.size(k)]
    if cut == "sparing":
        conditions.append(data.draw(st.sampled_from([sc.distinct(1), sc.js(Fraction(1, 4)), sc.ratio(Fraction(3))])))
    options = {"cut": cut, "weight": weight, "suppress": suppress}
    same(fast(table, attributes, conditions, **options), slow(table, attributes, conditions, **options))


@QUIET
@given(data=st.data())
def test_compiled_equals_the_reference_on_any_table(data):
    compare_any_table(data)


@pytest.mark.full
@settings(QUIET, max_examples=3000)
@given(data=st.data())
def test_compiled_equals_the_reference_on_thousands_of_tables(data):
    compare_any_table(data)


def test_of_two_costs_that_save_the_same_in_floats_the_lower_is_taken():
    """4.8 and 4.800000000000001 both save 8.0 of 12.8: the cut of the third column is the cheapest."""
    codes = [*[(0, 0, 0, 0)] * 4, (0, 1, 0, 1), (1, 0, 2, 1), (2, 2, 1, 1), (3, 1, 3, 1)]
    table = a_table(codes, [1, 1, 1, 1, 2, 2, 1, 3])
    attributes = [CutAttribute(size, label=SET) for size in (6, 6, 6, 2)]
    found = fast(table, attributes, [sc.size(1)], weight=0.0)
    same(found, slow(table, attributes, [sc.size(1)], weight=0.0))


def shapes() -> dict[str, tuple[WeightedTable, list[CutAttribute]]]:
    two = [CutAttribute(4), CutAttribute(5)]
    grid = np.array([(a, b) for a in range(4) for b in range(5)])
    rng = np.random.default_rng(3)
    huge = np.concatenate([np.zeros((1, 2)), grid])
    far = [CutAttribute(2_000_000_000), CutAttribute(1000)]
    return {
        "empty": (a_table(np.zeros((0, 2))), two),
        "one row": (a_table([[2, 3]]), two),
        "one heavy row": (a_table([[2, 3]], [50]), two),
        "all equal": (a_table([[1, 1]] * 9), two),
        "all unique": (a_table(grid), two),
        "one huge class": (a_table(huge, [10**6, *[1] * 20]), two),
        "a missing category": (a_table(grid), [CutAttribute(4, missing=True), CutAttribute(5, missing=True)]),
        "one missing row": (a_table([*grid[grid[:, 1] < 4], [1, 4]]), [CutAttribute(4), CutAttribute(5, missing=True)]),
        "correlated pair": (a_table([(i % 5, i % 5) for i in range(40)]), [CutAttribute(5), CutAttribute(5)]),
        "tie everywhere": (
            a_table([(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 3),
            [CutAttribute(2)] * 3,
        ),
    } | {"far apart": (a_table(np.stack([rng.integers(0, 2_000_000_000, 12), rng.integers(0, 9, 12)], 1)), far)}


@pytest.mark.parametrize("name", shapes())
@pytest.mark.parametrize("cut", ["best", "widest"])
def test_named_shapes(name, cut):
    table, attributes = shapes()[name]
    found = fast(table, attributes, [sc.size(1)], cut=cut)
    assert found.weight.sum() == table.weights.sum()
    if name != "far apart":  # the reference makes a table over the domain
        same(found, slow(table, attributes, [sc.size(1)], cut=cut))
        return
    ranks = [np.unique(column, return_inverse=True)[1] for column in table.codes.T]
    assert len(found.weight) == len(np.unique(np.stack(ranks, 1), axis=0))  # k = 1: every row its own box


def test_a_wide_domain_is_cut_like_a_narrow_one():
    """Tight extremes depend on distances only, so stretching all codes by one factor changes no leaf."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 40, (200, 3))
    narrow = fast(a_table(codes), [CutAttribute(40, label=SET)] * 3, [sc.size(5)])
    wide = fast(a_table(codes * 40_000_000), [CutAttribute(1_560_000_001, label=SET)] * 3, [sc.size(5)], weight=0.3)
    assert len(narrow.weight) > 10
    assert len(wide.weight) > 10
    median = [
        fast(a_table(codes * f), [CutAttribute(39 * f + 1)] * 3, [sc.size(5)], cut="widest") for f in (1, 40_000_000)
    ]
    np.testing.assert_array_equal(np.bincount(median[0].leaf), median[0].weight)
    assert {frozenset(np.flatnonzero(median[0].leaf == i)) for i in range(len(median[0].weight))} == {
        frozenset(np.flatnonzero(median[1].leaf == i)) for i in range(len(median[1].weight))
    }


@pytest.mark.parametrize("label", [BOX, SET])
def test_chosen_cut_is_the_cheapest_of_all_cuts(label):
    """Brute force over rows: no summary, no sweep."""
    for seed in range(8):
        attributes = [
            CutAttribute(8, label=EXTREMES if label else BOX),
            CutAttribute(5, label=label),
            CutAttribute(3, label=label),
        ]
        table = made(seed, 40, attributes)
        size, costs = sc.size(5), {}
        for a, attribute in enumerate(attributes):
            for position in range(1, attribute.size):
                sides = [table.codes[:, a] < position, table.codes[:, a] >= position]
                if min(table.weights[side].sum() for side in sides) >= 5:
                    bounds = [(0, position), (position, attribute.size)]
                    costs[a, position] = sum(
                        brute_cost(table, attributes, side, a, box) for side, box in zip(sides, bounds, strict=True)
                    )
        rule = Best(0.3, conditions=[size], overall=table.overall())
        sizes = tuple(a.size for a in attributes)
        whole = summarize(table, attributes, np.arange(40), low=(0, 0, 0), high=sizes, node=(0, 0, 0))
        chosen = rule.choose(whole)
        assert isinstance(chosen, Cut)
        assert rule.cost(whole, chosen) == pytest.approx(min(costs.values()), abs=1e-9)
        assert costs[chosen.attribute, chosen.bounds[1]] == pytest.approx(min(costs.values()), abs=1e-9)


def brute_cost(table, attributes, side, cut_attribute, box) -> float:
    """Certainty penalty + 0.3 x half the L1 distance from uniform, row by row."""
    total, n = 0.0, table.weights[side].sum()
    for a, attribute in enumerate(attributes):
        low, high = box if a == cut_attribute else (0, attribute.size)
        held = table.codes[side, a]
        if attribute.label == SET:
            label = sorted(set(held.tolist()))
        elif attribute.label == EXTREMES:
            label = list(range(held.min(), held.max() + 1))
        else:
            label = list(range(low, high))
        shares = np.array([table.weights[side][held == code].sum() for code in label]) / n
        total += n * (len(label) - 1) / (attribute.size - 1) + 0.3 * n * np.abs(shares - 1 / len(label)).sum() / 2
    return total


def test_part_cost_is_the_formula():
    attributes = [CutAttribute(8, label=EXTREMES), CutAttribute(5), CutAttribute(3, label=SET)]
    table = made(1, 30, attributes)
    whole = summarize(table, attributes, np.arange(30), low=(0, 0, 0), high=(8, 5, 3), node=(0, 0, 0))
    expected = brute_cost(table, attributes, np.ones(30, dtype=bool), 1, (0, 5))
    assert part_cost(attributes, whole.counts, whole.low, whole.high, 0.3) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("cut", ["best", "sparing", "widest"])
@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_leaf_holds_and_boxes_are_disjoint(cut, name):
    attributes = kinds(BOX, tree=True)
    table = made(11, 300, attributes)
    conditions = asked(table)[name]
    found = fast(table, attributes, conditions, cut=cut)
    overall = table.overall()
    assert len(found.weight) > 1
    for number in range(len(found.weight)):
        rows = found.leaf == number
        part = [np.bincount(table.sensitive[rows, 0], table.weights[rows], 5).astype(np.int64)]
        assert all_hold(conditions, part, overall, int(table.weights[rows].sum()))
        assert (table.codes[rows] >= found.low[number]).all()
        assert (table.codes[rows] < found.high[number]).all()
    for one in range(len(found.weight)):
        meet = (np.maximum(found.low, found.low[one]) < np.minimum(found.high, found.high[one])).all(axis=1)
        assert np.flatnonzero(meet).tolist() == [one]
    order = [
        tuple(zip(low, high, strict=True)) for low, high in zip(found.low.tolist(), found.high.tolist(), strict=True)
    ]
    assert order == sorted(order)


def test_labels_never_mix_values_and_missing():
    attributes = [CutAttribute(9), CutAttribute(6, missing=True), CutAttribute(4, missing=True)]
    table = made(4, 200, attributes)
    found = fast(table, attributes, [sc.size(3)])
    for a in (1, 2):
        last = attributes[a].size - 1
        whole = (found.low[:, a] == 0) & (found.high[:, a] == last + 1)
        assert ((found.high[:, a] <= last) | (found.low[:, a] == last) | whole).all()
        for number in np.flatnonzero(whole):
            held = table.codes[found.leaf == number, a]
            assert (held == last).any()
            assert (held < last).any()


@pytest.mark.parametrize("cut", ["best", "sparing", "widest"])
def test_merged_rows_and_single_rows_give_the_same_boxes(cut):
    attributes = kinds(SET)
    table = made(2, 90, attributes)
    expanded = np.repeat(np.arange(90), table.weights)
    shuffled = np.random.default_rng(0).permutation(expanded)
    single = a_table(table.codes[shuffled], None, table.sensitive[shuffled, 0], 5)
    conditions = asked(table)["k and l"]
    one, other = fast(table, attributes, conditions, cut=cut), fast(single, attributes, conditions, cut=cut)
    np.testing.assert_array_equal(one.low, other.low)
    np.testing.assert_array_equal(one.high, other.high)
    np.testing.assert_array_equal(one.weight, other.weight)
    np.testing.assert_array_equal(one.leaf[shuffled], other.leaf)


@pytest.mark.parametrize("cut", ["best", "sparing", "widest"])
def test_equal_summaries_give_equal_cuts(cut):
    """Two tables with equal one-way and two-way counts, but other rows."""
    even = np.array([(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)] * 3)
    odd = 1 - even
    attributes, cuts = [CutAttribute(2)] * 3, []
    for codes in (even, odd):
        table = a_table(codes)
        rule = Best(0.3, conditions=[sc.size(2)], overall=table.overall(), sparing=cut == "sparing")
        if cut == "widest":
            rule = Widest([sc.size(2)], overall=table.overall())
        cuts.append(
            rule.choose(summarize(table, attributes, np.arange(12), low=(0,) * 3, high=(2,) * 3, node=(0,) * 3))
        )
    assert cuts[0] == cuts[1] == Cut(0, bounds=(0, 1, 2))  # a tie everywhere: the first attribute


def test_suppression_stays_within_its_limit():
    rng = np.random.default_rng(9)
    codes = np.concatenate([rng.integers(0, 4, (400, 2)), [[60, 1], [61, 2], [62, 3]]])
    attributes = [CutAttribute(64), CutAttribute(4)]
    kept = fast(a_table(codes), attributes, [sc.size(10)])
    spared = fast(a_table(codes), attributes, [sc.size(10)], suppress=Fraction(1, 100))
    assert kept.suppressed == 0
    assert spared.suppressed == 3
    assert not spared.suppressed_holds
    np.testing.assert_array_equal(np.flatnonzero(spared.leaf < 0), [400, 401, 402])
    for limit in (Fraction(1, 50), Fraction(1, 10), Fraction(3, 10)):
        found = fast(a_table(codes), attributes, [sc.size(10)], suppress=limit)
        assert found.suppressed <= limit * 403
        assert found.weight.min() >= 10


def test_tree_routes_every_row_to_its_leaf():
    for tree in (False, True):
        attributes = kinds(BOX, tree=tree)
        table = made(8, 150, attributes)
        found = fast(table, attributes, [sc.size(3)], suppress=Fraction(1, 20))
        np.testing.assert_array_equal(route(found.tree, table.codes), found.leaf)
        every = np.array(np.meshgrid(*(np.arange(a.size) for a in attributes))).reshape(len(attributes), -1).T
        leaf = route(found.tree, every)
        assert (leaf >= 0).any()
        inside = ((every >= found.low[leaf]) & (every < found.high[leaf])).all(axis=1)
        assert inside[leaf >= 0].all()


@pytest.mark.parametrize("label", [BOX, SET, EXTREMES])
def test_wide_attributes_are_cut_like_narrow_ones(label, monkeypatch):
    """Trees of counts (mondrian_excess) and the loop over all codes give the same boxes, heavy codes included."""
    from sfumato.kernels.mondrian import layout as mondrian_layout

    rng = np.random.default_rng(label)
    for rows in (60, 400):
        codes = np.column_stack([rng.integers(0, 3 * rows, rows), rng.integers(0, 40, rows), rng.integers(0, 3, rows)])
        weights = np.where(rng.random(rows) < 0.05, 900, rng.integers(1, 4, rows))
        attributes = [CutAttribute(3 * rows, label=label), CutAttribute(40, label=label, missing=True), CutAttribute(3)]
        found = []
        for wide_from, gain, heaviest in ((10**9, 0, 1 << 16), (2, 0, 1 << 16), (2, 0, 32)):
            monkeypatch.setattr(mondrian_layout, "WIDE_FROM", wide_from)
            monkeypatch.setattr(mondrian_layout, "WIDE_GAIN", gain)
            monkeypatch.setattr(mondrian_layout, "WEIGHTS", heaviest)
            found.append(partition(codes, weights, attributes, conditions=[sc.size(3)]))
        for other in found[1:]:
            assert (found[0].leaf == other.leaf).all()
            assert (found[0].low == other.low).all()
            assert (found[0].high == other.high).all()
