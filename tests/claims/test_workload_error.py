"""The workload error equals its definition, worked out cell by cell in fractions, on every kind of release."""

from __future__ import annotations

import itertools
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.claims.small_worlds import publish, random_release, small_schema, small_table

import sfumato as sf
from sfumato.counts import Table
from sfumato.errors import ParameterError
from sfumato.estimate import bins_of
from sfumato.measures.queries import answers

workload_error_module = import_module("sfumato.measures.workload_error")  # the function has its name
KINDS = ("classes", "buckets", "noise")


def shares_of(table):
    """Share of the rows in each cell of all published columns: the truth."""
    lines = [tuple(int(v) for v in row) for row in table.codes()]
    return {cell: Fraction(lines.count(cell), len(lines)) for cell in set(lines)}


def shares_read(release, schema, *, boxes_alone):
    """What a reader expects in each cell of single codes: a group's boxes and values belong together alike.

    With `boxes_alone`, as a table of quasi-identifiers is read: the carried part of a cell is left at 0.
    """
    boxes, groups, carried = release.boxes, release.groups, release.groups.carried
    found = {}
    for box in range(len(boxes)):
        group = int(boxes.group[box])
        labels = [
            [code for low, high in one.intervals(int(boxes.labels[box, at])) for code in range(low, high)]
            for at, one in enumerate(boxes.tables)
        ]
        size = int(np.prod([len(one) for one in labels]))
        weight = Fraction(int(boxes.weight[box]), size)
        lines = [(tuple(0 for _ in schema.carried), weight)]
        if not boxes_alone:
            lines = [
                (tuple(int(code) for code in carried.codes[at]), weight * int(carried.weight[at]) / int(whole))
                for at in np.flatnonzero(carried.group == group)
                if (whole := groups.weight[group])
            ]
        for values, part in lines:
            for cell in itertools.product(*labels):
                found[*cell, *values] = found.get((*cell, *values), 0) + part
    whole = sum(found.values())
    assert [a.name for a in schema.published] == [*(t.attribute.name for t in boxes.tables), *carried_names(release)]
    return {cell: part / whole for cell, part in found.items() if part} if whole else {}


def carried_names(release):
    return [attribute.name for attribute in release.carried]


def by_definition(table, release, sets, scale=Fraction(1, 2)):
    """The error, from joint shares over single codes, gathered in bins."""
    truth, width = shares_of(table), len(table.schema.quasi)
    read = {alone: shares_read(release, table.schema, boxes_alone=alone) for alone in (False, True)}
    bins = [bins_of(attribute) for attribute in table.schema.published]
    errors = []
    for one in sets:
        both = []
        for shares in (truth, read[max(one) < width]):
            cells = {}
            for cell, part in shares.items():
                key = tuple(int(bins[at].place(np.array([cell[at]]))[0]) for at in one)
                cells[key] = cells.get(key, 0) + part
            both.append(cells)
        if not both[1]:
            errors.append(Fraction(1))
            continue
        keys = set(both[0]) | set(both[1])
        errors.append(scale * sum(abs(both[0].get(k, 0) - both[1].get(k, 0)) for k in keys))
    return float(sum(errors) / len(errors))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1), ways=st.sampled_from([1, 2, 3]))
def test_error_equals_the_definition(kind, seed, ways):
    table = small_table(seed)
    release, _ = random_release(table, seed, kind)
    sets = list(itertools.combinations(range(len(table.schema.published)), ways))
    found = sf.workload_error(table, release, ways)
    assert found.value == pytest.approx(by_definition(table, release, sets), abs=1e-12)
    assert found.tables == found.of == len(sets)
    assert found.value <= found.largest <= 1


def unhalved(table, release, sets):
    """The mutant without the factor 1/2."""
    return by_definition(table, release, sets, scale=Fraction(1))


def pairs_only(table, release, _sets):
    """The mutant that compares pairs where sets of three were asked for."""
    return by_definition(table, release, list(itertools.combinations(range(len(table.schema.published)), 2)))


def first_half(table, release, sets):
    """The mutant that leaves half of the tables out."""
    return by_definition(table, release, sets[: len(sets) // 2])


@pytest.mark.parametrize("mutant", [unhalved, pairs_only, first_half])
def test_wrong_mutants_are_caught(mutant):
    wrong = 0
    for seed in range(6):
        table = small_table(seed)
        release, _ = random_release(table, seed, "classes")
        sets = list(itertools.combinations(range(len(table.schema.published)), 3))
        found = sf.workload_error(table, release).value
        wrong += abs(found - mutant(table, release, sets)) > 1e-6
    assert wrong >= 4


def test_both_ends():
    table = small_table(3)
    assert sf.workload_error(table, publish(table, sf.Raw())).value == 0
    suppressed = publish(table, sf.Suppress())
    sets = list(itertools.combinations(range(len(table.schema.published)), 3))
    found = sf.workload_error(table, suppressed).value
    assert found == pytest.approx(by_definition(table, suppressed, sets))
    assert found > 0


def test_the_declared_workload_decides():
    """A target is its pairs with all others; sets are taken as they are; what is not published is refused."""
    table = small_table(5)
    release, _ = random_release(table, 5, "classes")
    names = [attribute.name for attribute in table.schema.published]
    target = names[-1]
    by_pairs = [[name, target] for name in names[:-1]]
    one, two = sf.workload_error(table, release, target), sf.workload_error(table, release, by_pairs)
    assert one.value == two.value
    assert one.tables == len(names) - 1
    assert set(one.worst) <= set(names)
    with pytest.raises(ParameterError):
        sf.workload_error(table, release, [["height"]])


def test_a_query_is_a_table_of_two_cells():
    table = small_table(11, rows=60)
    release = publish(table, sf.Suppress())
    work = sf.workload(table, dimension=1, queries=20, selectivity="0.5")
    found = sf.workload_error(table, release, work)
    truth = answers(table, work) / table.rows
    assert sf.workload_error(table, publish(table, sf.Raw()), work).value == 0
    assert found.tables == 20
    assert 0 < found.value <= max(truth.max(), 1 - truth.min())


def test_a_long_workload_is_thinned_evenly(monkeypatch):
    monkeypatch.setattr(workload_error_module, "MOST_TABLES", 2)
    table = small_table(2)
    release, _ = random_release(table, 2, "classes")
    found = sf.workload_error(table, release, 2)
    assert (found.tables, found.of) == (2, 10)
    names = [attribute.name for attribute in table.schema.published]
    pairs = list(itertools.combinations(names, 2))
    assert found.value == sf.workload_error(table, release, [pairs[0], pairs[5]]).value


def test_differential_privacy_compares_on_this_axis():
    """DiffGen, NoisyTable, Marginals and TargetRows of one table, all by one figure; more epsilon is less error."""
    rng = np.random.default_rng(0)
    schema = small_schema()
    codes = np.column_stack([rng.integers(0, a.size, 4000) for a in schema.published])
    codes[:, -1] = codes[:, 0] % schema.published[-1].size
    table = Table.from_codes(schema, codes)
    sweep = [make(e) for e in (1, 50) for make in (sf.Marginals, sf.NoisyTable)]
    front = sf.frontier(
        table, sweep, privacy="proved", utility="workload_error", workers=0, progress=False, panels=False, repeats=1
    )
    errors = {(p.mechanism.name, p.mechanism.epsilon): p.utility.mean for p in front.points}
    assert len(errors) == 4
    for name in ("marginals", "noisy-table"):
        assert errors[name, 50] < errors[name, 1]
