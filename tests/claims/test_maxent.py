"""The min-max-entropy reading keeps what is published, climbs in likelihood, and uses what other labels show."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from small_worlds import publish, random_release, small_schema, small_table

from sfumato.claims import Claim, Nothing
from sfumato.counts import Table
from sfumato.measures import utility_loss
from sfumato.mechanisms.suppress import Suppress
from sfumato.reading import align, fit_maxent
from sfumato.release import assemble
from sfumato.schema import Labels

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("kind", ["classes", "buckets", "noise"])
@settings(deadline=None, max_examples=25)
@given(seed=seeds)
def test_margins_are_kept(kind, seed):
    table = small_table(seed)
    release, _ = random_release(table, seed, kind)
    view = align(release, table.schema, "ill")
    cells = fit_maxent(view).cells
    lengths = np.diff(view.histogram.indptr)[view.group]
    group = np.repeat(view.group, lengths)
    sums = np.zeros(view.histogram.shape)
    np.add.at(sums, (group, cells.value), cells.mass)
    said = np.where(view.group_weight[:, None] > 0, view.histogram.toarray(), 0)
    assert sums == pytest.approx(said, abs=1e-9)
    for cover in cells.coverage:
        assert ((cover >= 0) & (cover <= 1)).all()
        assert (cover[..., 0] == 1).all()  # the root holds all of every label
    if kind == "buckets":
        rows = np.bincount(np.repeat(np.arange(len(view.weight)), lengths), weights=cells.mass)
        assert rows == pytest.approx(view.weight, rel=0.05, abs=0.2)


@settings(deadline=None, max_examples=40)
@given(seed=seeds)
def test_likelihood_never_falls(seed):
    table = small_table(seed)
    release, _ = random_release(table, seed, "classes")
    history = fit_maxent(align(release, table.schema, "ill")).log_likelihood
    steps = np.diff(history)
    assert (steps >= -1e-9 * max(1.0, abs(history[0]))).all()


def test_one_box_reads_as_uniform():
    table = small_table(7, rows=24)
    release = publish(table, Suppress())
    uniform, maxent = (utility_loss(table, release, estimator=name) for name in ("uniform", "maxent"))
    assert maxent.value == pytest.approx(uniform.value, abs=1e-12)


def two_grains():
    """Half of the rows keep their age, half are published as 20 to 27; all are 20 or 21 by illness."""
    schema = small_schema()
    rows = np.array([[0, s, 0, s, 0] for s in (0, 1) for _ in range(20)])
    fine = np.arange(40) % 2 == 0
    low, high = np.where(fine, rows[:, 1], 0), np.where(fine, rows[:, 1] + 1, 8)
    ages, age = Labels.from_hulls(schema["age"], low, high)
    whole = [Labels.from_hulls(schema[name], np.array([0]), np.array([1]))[0] for name in ("job", "town")]
    ids = np.column_stack([np.zeros(40, int), age.reshape(-1), np.zeros(40, int)])
    boxes, group = np.unique(ids, axis=0, return_inverse=True)
    release, _ = assemble(
        schema,
        tables=(whole[0], ages, whole[1]),
        labels=boxes,
        weight=np.bincount(group.reshape(-1)),
        group=np.arange(len(boxes)),
        carried_group=group.reshape(-1),
        carried_codes=rows[:, 3:],
        carried_weight=np.ones(40),
        claim=Claim(Nothing()),
    )
    return Table.from_codes(schema, rows), release


def test_recovers_what_other_labels_show():
    """The exact half shows that age goes with illness; the uniform reading does not use it for the other half."""
    table, release = two_grains()
    uniform, maxent = (utility_loss(table, release, estimator=name).value for name in ("uniform", "maxent"))
    assert uniform > 0.01
    assert maxent < uniform / 100
