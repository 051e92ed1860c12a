"""The min-max-entropy reading keeps what is published, climbs in likelihood, and uses what other labels show."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.claims.small_worlds import publish, random_release, small_schema, small_table

from sfumato.claims import Claim, Nothing
from sfumato.counts import Table
from sfumato.estimate import align, cells_of, coverages, fit_maxent
from sfumato.estimate.maxent import ValueFactors, ValueSpread
from sfumato.measures import utility_loss
from sfumato.mechanisms.raw import Raw
from sfumato.mechanisms.suppress import Suppress
from sfumato.release import assemble
from sfumato.schema import Labels

seeds = st.integers(0, 2**32 - 1)


def stepped(view, steps=3):
    """A model that has learnt something, whether or not the release's other half agrees."""
    model = (ValueSpread if view.one_box_each else ValueFactors).uniform(view, cells_of(view, coverages(view)))
    for _ in range(steps):
        model = model.advance(np.ones(len(model.cells.mass), bool))
    return model.read()


@pytest.mark.parametrize("read", [lambda view: fit_maxent(view).cells, stepped], ids=["fitted", "three steps"])
@pytest.mark.parametrize("kind", ["classes", "buckets", "noise"])
@settings(max_examples=20)
@given(seed=seeds)
def test_margins_are_kept(kind, read, seed):
    table = small_table(seed)
    release, _ = random_release(table, seed, kind)
    view = align(release, table.schema, "ill")
    cells = read(view)
    lengths = np.diff(view.histogram.indptr)[view.group]
    group = np.repeat(view.group, lengths)
    sums = np.zeros(view.histogram.shape)
    np.add.at(sums, (group, cells.value), cells.mass)
    said = np.where(view.group_weight[:, None] > 0, view.histogram.toarray(), 0)
    assert sums == pytest.approx(said, abs=1e-9)
    for cover in cells.coverage:
        assert ((cover.share >= 0) & (cover.share <= 1)).all()
        assert (cover.share[..., 0] == 1).all()  # the root holds all of every label
    if kind == "buckets":
        rows = np.bincount(np.repeat(np.arange(len(view.weight)), lengths), weights=cells.mass)
        assert rows == pytest.approx(view.weight, rel=0.05, abs=0.2)


@settings(max_examples=20)
@given(seed=seeds)
def test_single_values_are_read_as_they_are(seed):
    table = small_table(seed)
    view = align(publish(table, Raw()), table.schema, "ill")
    for cover, uniform in zip(stepped(view).coverage, coverages(view), strict=True):
        assert (cover.share == uniform.share[:, None, :]).all()


@settings(max_examples=40)
@given(seed=seeds)
def test_likelihood_never_falls(seed):
    table = small_table(seed)
    release, _ = random_release(table, seed, "classes")
    view = align(release, table.schema, "ill")
    model = ValueSpread.uniform(view, cells_of(view, coverages(view)))
    everything = np.ones(len(model.cells.mass), bool)
    history = []
    for _ in range(8):
        history.append(model.score(everything))
        model = model.advance(everything)
    assert (np.diff(history) >= -1e-9 * max(1.0, abs(history[0]))).all()


def test_nothing_to_learn_reads_as_uniform():
    table = small_table(7, rows=24)
    release = publish(table, Suppress())
    assert fit_maxent(align(release, table.schema, "ill")).steps == 0
    uniform, maxent = (utility_loss(table, release, estimator=name) for name in ("uniform", "maxent"))
    assert maxent.value == pytest.approx(uniform.value, abs=1e-12)
    # Large buckets filled at random: their histograms differ by chance alone.
    table, release = dealt(bucket=100)
    uniform, maxent = (utility_loss(table, release, estimator=name) for name in ("uniform", "maxent"))
    assert uniform.value > 0.05
    assert maxent.value < 1.05 * uniform.value


def dealt(bucket, rows=1200):
    """People whose illness follows from their town, dealt into buckets at random."""
    rng = np.random.default_rng(3)
    town = rng.integers(0, 3, rows)
    ill = np.where(rng.random(rows) < 0.9, town, rng.integers(0, 4, rows))
    codes = np.column_stack([rng.integers(0, 2, rows), rng.integers(0, 8, rows), town, ill, np.zeros(rows, int)])
    schema, group = small_schema(), np.arange(rows) // bucket
    boxes, weight = np.unique(np.column_stack([group, codes[:, :3]]), axis=0, return_counts=True)
    release, _ = assemble(
        schema,
        tables=tuple(Labels.of_codes(attribute) for attribute in schema.quasi),
        labels=boxes[:, 1:],
        weight=weight,
        group=boxes[:, 0],
        carried_group=group,
        carried_codes=codes[:, 3:],
        carried_weight=np.ones(rows),
        claim=Claim(Nothing()),
        form="buckets",
    )
    return Table.from_codes(schema, codes), release


def test_links_within_small_buckets():
    """In buckets of four, how buckets differ shows that illness follows town; uniform reading blurs it."""
    table, release = dealt(bucket=4)
    uniform, maxent = (utility_loss(table, release, estimator=name).value for name in ("uniform", "maxent"))
    assert uniform > 0.05
    assert maxent < uniform / 5


def two_grains():
    """Half of the rows keep their age, half are published as 20 to 27; age goes with illness."""
    schema = small_schema()
    rows = np.array([[j, s, t, s, 0] for s in (0, 1) for j in range(4) for t in range(3) for _ in range(10)])
    fine = np.arange(len(rows)) % 2 == 0
    low, high = np.where(fine, rows[:, 1], 0), np.where(fine, rows[:, 1] + 1, 8)
    ages, age = Labels.from_hulls(schema["age"], low, high)
    ids = np.column_stack([rows[:, 0], age.reshape(-1), rows[:, 2]])
    boxes, group = np.unique(ids, axis=0, return_inverse=True)
    release, _ = assemble(
        schema,
        tables=(Labels.of_codes(schema["job"]), ages, Labels.of_codes(schema["town"])),
        labels=boxes,
        weight=np.bincount(group.reshape(-1)),
        group=np.arange(len(boxes)),
        carried_group=group.reshape(-1),
        carried_codes=rows[:, 3:],
        carried_weight=np.ones(len(rows)),
        claim=Claim(Nothing()),
    )
    return Table.from_codes(schema, rows), release


def test_recovers_what_other_labels_show():
    """The exact half shows that age goes with illness; the uniform reading does not use it for the other half."""
    table, release = two_grains()
    uniform, maxent = (utility_loss(table, release, estimator=name).value for name in ("uniform", "maxent"))
    assert uniform > 0.005
    assert maxent < uniform / 100
