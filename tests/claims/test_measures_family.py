"""What holds for every registered measure: it takes any release, changes nothing, and depends on content alone."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.claims.small_worlds import SCHEMA, publish, random_release, small_schema, small_table

from sfumato.claims import KAnonymity, LDiversity
from sfumato.counts import Table
from sfumato.measures import REGISTRY, measure
from sfumato.mechanisms.bucketize import Bucketize
from sfumato.mechanisms.mondrian.mondrian import Mondrian
from sfumato.mechanisms.raw import Raw
from sfumato.mechanisms.suppress import Suppress
from sfumato.release import Release
from sfumato.schema import Schema

seeds = st.integers(0, 2**32 - 1)
OURS = (
    "privacy_loss",
    "utility_loss",
    "query_error",
    "unchanged_answers",
    "workload_error",
    "histogram_distance",
    "reconstruction_distance",
)


def shapes():
    """Tables that break things: one row, all equal, all unique, one huge class, only missing values."""
    sizes = [a.size for a in small_schema().published]
    every = np.array([[i % s for s in sizes] for i in range(120)])
    return {
        "one row": every[:1],
        "all equal": np.repeat(every[7:8], 30, axis=0),
        "all unique": np.unique(every, axis=0),
        "one huge class": np.concatenate([np.repeat(every[:1], 200, axis=0), every[:6]]),
        "only missing": np.column_stack([np.full(20, sizes[0] - 1), every[:20, 1:]]),
    }


@pytest.mark.cells(1)
@pytest.mark.parametrize("kind", ["classes", "buckets", "noise"])
@settings(max_examples=15)
@given(seed=seeds)
def test_any_release_can_be_measured_and_nothing_changes(kind, seed):
    table = small_table(seed)
    release, _ = random_release(table, seed, kind)
    before = [table.codes().copy(), release.boxes.labels.copy(), release.boxes.weight.copy()]
    found = measure(table, release, OURS)
    for name, one in found.items():
        assert not math.isnan(one.value) or "not measured" in one.details, name
        json.dumps(one.to_json(), allow_nan=False)
    for now, then in zip((table.codes(), release.boxes.labels, release.boxes.weight), before, strict=True):
        assert (now == then).all()
    shuffled = Table.from_codes(table.schema, np.random.default_rng(seed).permutation(table.codes()))
    again = measure(shuffled, release, OURS)
    assert {name: one.to_json() for name, one in again.items()} == {name: one.to_json() for name, one in found.items()}


@pytest.mark.cells(2)
@pytest.mark.parametrize("shape", shapes())
def test_both_ends_on_every_shape(shape):
    table = Table.from_codes(small_schema(), shapes()[shape])
    raw, suppressed = publish(table, Raw()), publish(table, Suppress())
    ours = measure(table, raw, OURS)
    for name in ("utility_loss", "query_error", "workload_error", "histogram_distance", "reconstruction_distance"):
        assert ours[name].value == 0.0, (name, ours[name])
    assert ours["unchanged_answers"].value == 1.0
    assert measure(table, suppressed, OURS)["privacy_loss"].value == 0.0


@pytest.mark.parametrize("source", ["public", "data"])
@pytest.mark.parametrize("make", [Mondrian, Bucketize])
def test_a_saved_release_measures_as_the_one_in_memory(source, make, tmp_path):
    """Loaded without the schema: of a domain read off the data, only what the labels say is left."""
    tables = {name: {**given, "source": source} for name, given in SCHEMA["attribute"].items()}
    schema = Schema.parse({**SCHEMA, "attribute": tables})
    rng = np.random.default_rng(4)
    table = Table.from_codes(schema, np.column_stack([rng.integers(0, a.size, 200) for a in schema.published]))
    release = publish(table, make(LDiversity(2, kind="distinct") if make is Bucketize else KAnonymity(12)))
    release.save(tmp_path / "out")
    for loaded in (Release.load(tmp_path / "out"), Release.load(tmp_path / "out", schema=schema)):
        assert loaded.residence is None
        one, two = (measure(table, which, OURS) for which in (release, loaded))
        assert [x.value for x in one.values()] == pytest.approx([x.value for x in two.values()], abs=1e-12)


def test_relabelling_nominal_values_changes_nothing():
    """Leaf codes of `town` and values of `ill` permuted in table and release alike: every figure stays."""
    table = small_table(17, rows=24)
    codes, turned = table.codes(), table.codes().copy()
    turned[:, 2], turned[:, 3] = (codes[:, 2] + 1) % 3, 3 - codes[:, 3]
    other = Table.from_codes(table.schema, turned)
    wanted = ("privacy_loss", "utility_loss", "reconstruction_distance")
    for mechanism in (Raw(), Suppress()):
        one = measure(table, publish(table, mechanism), wanted)
        two = measure(other, publish(other, mechanism), wanted)
        assert [x.value for x in one.values()] == pytest.approx([x.value for x in two.values()])


def test_ours_are_registered():
    assert set(OURS) <= set(REGISTRY)
