"""Time follows the rows and what occurs in them: doubling the input may not quadruple the work."""

from __future__ import annotations

import resource
import tracemalloc
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.estimate import align, coverages
from sfumato.frontiers import panel
from sfumato.frontiers.recommend import price_of
from sfumato.limits import POPULATIONS
from sfumato.measures import large_populations
from sfumato.schema import Labels, Schema


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def seconds(work) -> float:
    """The least of three runs: other processes only ever add."""
    found = []
    for _ in range(3):
        started = cpu()
        work()
        found.append(cpu() - started)
    return min(found)


def many_values(rows: int) -> Table:
    rng = np.random.default_rng(rows)
    schema = Schema.parse(
        {
            "name": "many",
            "attribute": {
                "at": {"role": "quasi", "kind": "numeric", "range": [0, 2 * rows]},
                "sex": {"role": "quasi", "values": ["f", "m"]},
                "ill": {"role": "sensitive", "values": list("abcdef")},
            },
        }
    )
    columns = [rng.permutation(2 * rows)[:rows], rng.integers(0, 2, rows), rng.integers(0, 6, rows)]
    return Table.from_codes(schema, np.column_stack(columns))


def many_attributes(attributes: int, rows: int = 400) -> Table:
    rng = np.random.default_rng(attributes)
    listed = {f"q{at}": {"role": "quasi", "values": ["a", "b"]} for at in range(attributes)}
    schema = Schema.parse(
        {"name": "wide", "attribute": {**listed, "ill": {"role": "sensitive", "values": list("abc")}}}
    )
    return Table.from_codes(schema, np.column_stack([rng.integers(0, 2, (rows, attributes)), rng.integers(0, 3, rows)]))


def masked(length: int, rows: int = 300) -> Table:
    rng = np.random.default_rng(length)
    schema = Schema.parse(
        {
            "name": "masked",
            "attribute": {
                "zip": {"role": "quasi", "mask": {"length": length}},
                "ill": {"role": "sensitive", "values": list("abcd")},
            },
        }
    )
    return Table.from_codes(schema, np.column_stack([rng.integers(0, 10**length, rows), rng.integers(0, 4, rows)]))


@pytest.mark.parametrize(
    "mechanism",
    [sf.Mondrian(sf.KAnonymity(5)), pytest.param(sf.Bucketize(sf.LDiversity(2)), marks=pytest.mark.full)],
    ids=["m", "b"],
)
def test_mondrian_grows_with_the_rows_not_their_square(mechanism):
    """13.11: 80,000 distinct values took 20 s; four times the values took sixteen times as long."""
    small, large = many_values(8_000), many_values(32_000)
    sf.publish(small, mechanism)
    assert seconds(lambda: sf.publish(large, mechanism)) < 8 * max(seconds(lambda: sf.publish(small, mechanism)), 0.05)


@pytest.mark.full
def test_utility_loss_grows_no_further_with_the_attributes():
    """13.11: 1.6 s at 10 quasi-identifiers, 31 s at 20, no end at 26."""
    tables = [many_attributes(26), many_attributes(52)]
    releases = [sf.publish(table, sf.Mondrian(sf.KAnonymity(5))) for table in tables]
    found = [sf.utility_loss(table, release) for table, release in zip(tables, releases, strict=True)]
    for one in found:
        assert one.populations <= POPULATIONS
        assert one.deepest is not None
        assert f"at most {one.deepest} attribute" in one.formula
        assert one.measured().details["deepest"] == one.deepest


def test_a_frontier_counts_the_two_way_tables_of_some_columns(monkeypatch):
    """300 quasi-identifiers have 45,150 pairs: counting them all took most of a frontier's 102 s."""
    table = many_attributes(9)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    exact, read = panel.tables_of(table, release)
    assert len(panel.associations_of(exact, read)) == 45  # all of ten columns
    assert "columns" not in panel.typical_count(exact, read)
    assert panel.PAIRED_COLUMNS * (panel.PAIRED_COLUMNS - 1) // 2 < 2_000
    monkeypatch.setattr(panel, "PAIRED_COLUMNS", 4)
    pairs = [tuple(one["pair"]) for one in panel.associations_of(exact, read)]
    assert pairs == [*combinations(("q0", "q1", "q2", "ill"), 2)]
    typical = panel.typical_count(exact, read)
    assert typical["columns"] == 4
    assert "These are the tables of 4 columns" in price_of(SimpleNamespace(typical=typical, answers={}))


def test_buckets_name_only_what_occurs():
    """13.11: 10^6 cells of a domain took 141 s to name for 3,000 rows."""
    release = sf.publish(masked(5), sf.Bucketize(sf.LDiversity(2)))
    assert len(release.boxes.tables[0]) <= 300
    assert len(sf.publish(masked(5), sf.Raw()).boxes.tables[0]) <= 300
    large, small = masked(5), masked(4)
    both = [sf.publish(table, sf.Bucketize(sf.LDiversity(2))) for table in (small, large)]
    assert seconds(both[1].frame) < 4 * max(seconds(both[0].frame), 0.02)


def test_memory_follows_what_occurs_not_the_domain():
    """12.10: coverages and queries of a 100,000-code mask took labels x nodes and labels x intervals."""
    table = masked(5)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(3)))
    sf.utility_loss(table, release)
    found = large_populations(table, 0.05)
    assert all(cover.share.shape[1] < 200 for cover in coverages(align(release, table.schema), found.steps))
    work = sf.workload(table, dimension=1, queries=20)
    tracemalloc.start()
    sf.query_error(table, release, work)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # 20 queries of about 10,000 intervals each against 100 labels: 160 MB and more before


def test_groups_are_numbered_without_a_table_of_the_largest():
    """12.10: `bucketize --l 2` took groups x the largest group."""
    from sfumato.release.release import assemble

    schema = masked(3).schema
    groups, largest = 20_000, 5_000
    group = np.concatenate([np.arange(groups), np.zeros(largest, np.int64)])
    codes = np.arange(len(group)) % 1000
    tables, labels = Labels.exact(schema.quasi, codes[:, None])
    one = np.ones(len(group), np.int64)
    tracemalloc.start()
    assemble(
        schema,
        tables=tables,
        labels=labels,
        weight=one,
        group=group,
        carried_group=group,
        carried_codes=(codes % 4)[:, None],
        carried_weight=one,
        claim=None,
        form="buckets",
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # the table alone: 800 MB
