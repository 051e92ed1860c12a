"""The one estimator equals its definition, in every way it is computed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.claims.small_worlds import estimate_slowly, publish, random_release, small_table

from sfumato.claims import Claim, Nothing
from sfumato.counts import Table
from sfumato.estimate import (
    Regions,
    align,
    cells_of,
    count,
    coverages,
    estimate,
    estimates,
    exact_view,
    expected_at,
    normalised,
    units_of,
)
from sfumato.measures.utility import large_populations
from sfumato.mechanisms.raw import Raw
from sfumato.release import assemble
from sfumato.schema import Labels
from sfumato.schema.labels import merged

KINDS = ("classes", "buckets", "noise")
seeds = st.integers(0, 2**32 - 1)


def random_regions(schema, rng, number=6):
    regions = []
    for _ in range(number):
        region = {}
        for attribute in schema.quasi:
            if rng.random() < 0.6:
                codes = np.flatnonzero(rng.random(attribute.size) < 0.5)
                codes = codes if len(codes) else np.array([0])
                region[attribute.name] = merged((int(c), int(c) + 1) for c in codes)
        regions.append(region)
    return regions


def as_sets(region):
    return {name: {c for low, high in pairs for c in range(low, high)} for name, pairs in region.items()}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(seed=seeds)
def test_equals_the_definition_in_fractions(kind, seed):
    table = small_table(seed)
    release, _ = random_release(table, seed, kind)
    schema, rng = table.schema, np.random.default_rng(seed)
    regions = random_regions(schema, rng)
    view = align(release, schema, "ill")
    found = estimate(view, Regions.of(schema.quasi, regions))
    wanted = rng.random((len(regions), schema["ill"].size)) < 0.5
    counted = count(view, Regions.of(schema.quasi, regions), wanted)
    for at, region in enumerate(regions):
        slow = [float(rows) for rows in estimate_slowly(release, as_sets(region), "ill")]
        assert found[at] == pytest.approx(slow, abs=1e-12, rel=1e-12)
        assert counted[at] == pytest.approx(sum(np.array(slow)[wanted[at]]), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(seed=seeds)
def test_points_equal_the_definition(kind, seed):
    table = small_table(seed)
    release, _ = random_release(table, seed, kind)
    names = [a.name for a in table.schema.quasi]
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, a.size, 5) for a in table.schema.quasi])
    found = expected_at(align(release, table.schema, "ill"), codes)
    for at, row in enumerate(codes.tolist()):
        slow = estimate_slowly(release, {name: {code} for name, code in zip(names, row, strict=True)}, "ill")
        assert found[at] == pytest.approx([float(rows) for rows in slow], abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(seed=seeds)
def test_the_walk_equals_the_definition(kind, seed):
    table = small_table(seed)
    release, _ = random_release(table, seed, kind)
    found = large_populations(table, "1/5", "ill")
    view = align(release, table.schema, "ill")
    walked = estimates(cells_of(view, coverages(view)), found.steps, len(found))
    regions = [
        {
            a.name: ((int(a.nodes.low[n]), int(a.nodes.high[n])),)
            for a, n in zip(found.quasi, row.tolist(), strict=True)
            if n >= 0
        }
        for row in found.members
    ]
    slow = estimate(view, Regions.of(found.quasi, regions))
    assert walked == pytest.approx(slow, abs=1e-9)
    assert estimates(units_of(view), found.steps, len(found)) == pytest.approx(slow, abs=1e-9)


def test_many_groups_take_the_sparse_way():
    rng = np.random.default_rng(0)
    table = small_table(0, rows=1)
    codes = np.column_stack([rng.integers(0, a.size, 6000) for a in table.schema.published])
    table = Table.from_codes(table.schema, codes)
    group = np.arange(6000) // 2
    release, _ = assemble(
        table.schema,
        tables=tuple(Labels.of_codes(a) for a in table.schema.quasi),
        labels=codes[:, :3],
        weight=np.ones(6000),
        group=group,
        carried_group=group,
        carried_codes=codes[:, 3:],
        carried_weight=np.ones(6000),
        claim=Claim(Nothing()),
    )
    found = large_populations(table, "1/20", "ill")
    view = align(release, table.schema, "ill")
    one = estimates(units_of(view), found.steps, len(found))
    assert one == pytest.approx(estimates(cells_of(view, coverages(view)), found.steps, len(found)), abs=1e-9)


@settings(max_examples=40)
@given(seed=seeds)
def test_the_table_read_from_itself_is_exact(seed):
    table = small_table(seed)
    schema = table.schema
    regions = Regions.of(schema.quasi, random_regions(schema, np.random.default_rng(seed)))
    rows = table.codes()
    truth = np.zeros((len(regions), schema["ill"].size))
    for at in range(len(regions)):
        inside = np.ones(len(rows), bool)
        for name, codes in as_sets(regions.where(at)).items():
            inside &= np.isin(rows[:, schema.names.index(name)], list(codes))
        truth[at] = np.bincount(rows[inside, 3], minlength=schema["ill"].size)
    names = [a.name for a in schema.quasi]
    raw = align(publish(table, Raw()), schema, "ill")
    assert (estimate(raw, regions) == truth).all()
    assert (estimate(exact_view(table.counts(), names, schema["ill"]), regions) == truth).all()


@settings(max_examples=40)
@given(seed=seeds)
def test_counts_of_single_values_equal_a_count_of_rows(seed):
    """The quick way for boxes of single values, region by region, against every row held against the region."""
    table, rng = small_table(seed), np.random.default_rng(seed)
    schema, wanted = table.schema, table.schema.sensitive[0]
    names = [attribute.name for attribute in schema.quasi]
    counts = table.counts([*names, wanted.name])
    regions = random_regions(schema, rng)
    values = rng.random((len(regions), wanted.size)) < 0.5
    found = count(exact_view(counts, names, wanted), Regions.of(schema.quasi, regions), values)
    for at, region in enumerate(map(as_sets, regions)):
        inside = [
            int(weight)
            for codes, weight in zip(counts.codes.tolist(), counts.weights.tolist(), strict=True)
            if values[at, codes[-1]] and all(codes[names.index(name)] in held for name, held in region.items())
        ]
        assert found[at] == sum(inside)


def test_large_weights_stay_whole():
    # 49 x (1 / 49) is not 1 in floats: the share of a group is taken before its histogram enters.
    table = small_table(3, rows=1)
    codes = np.repeat(table.codes(), 49, axis=0)
    again = type(table).from_codes(table.schema, codes)
    view = align(publish(again, Raw()), table.schema, "ill")
    assert estimate(view, Regions.of(table.schema.quasi, [{}])).max() == 49.0


def test_a_region_of_which_nothing_is_said_gets_the_overall_distribution():
    found = normalised(np.array([[0.0, 0.0], [1.0, 3.0]]), np.array([2, 2]))
    assert found.tolist() == [[0.5, 0.5], [0.25, 0.75]]


def test_wrong_mutants_are_caught():
    """Traps 32 and 33: dividing by the true support, and counting only values that are present."""
    caught = {"support": 0, "present": 0}
    for seed in range(30):
        table = small_table(seed)
        release, _ = random_release(table, seed, "classes")
        view = align(release, table.schema, "ill")
        region = {"age": ((0, 4),)}
        right = estimate(view, Regions.of(table.schema.quasi, [region]))[0]
        slow = np.array([float(x) for x in estimate_slowly(release, {"age": set(range(4))}, "ill")])
        assert right == pytest.approx(slow)
        rows = table.codes()
        support = (rows[:, 1] < 4).sum()
        if support and right.sum():
            mutant = right / support
            caught["support"] += not np.allclose(mutant, normalised(right[None, :], view.overall)[0])
        present = set(rows[:, 1].tolist())
        mutant = np.zeros(4)
        histogram = view.histogram.toarray()
        for box in range(len(view.weight)):
            held = {c for low, high in view.tables[1].intervals(int(view.labels[box, 1])) for c in range(low, high)}
            held &= present
            mutant += histogram[view.group[box]] * len(held & {0, 1, 2, 3}) / max(1, len(held))
        caught["present"] += not np.allclose(mutant, right)
    assert min(caught.values()) >= 10
