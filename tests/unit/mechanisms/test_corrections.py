"""Corrections of TargetRows: what follows from noisy tables, the public rule, and rows drawn from corrected odds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.mechanisms.diffgen.growth import Node
from sfumato.mechanisms.target_rows.corrections import (
    STRATA,
    UNITS,
    CorrectedModel,
    Correction,
    corrected_rows,
    fitted_correction,
    handicap,
    measured,
    units,
)
from sfumato.mechanisms.target_rows.row_model import CellLaw
from sfumato.mechanisms.target_rows.target_rows import (
    affordable_corrections,
    noise_of_sum,
    number_of_corrections,
    parts_of,
)
from sfumato.randomness import Entropy, discrete_laplace

SURE = Fraction(1000)
WHOLE = (Node(0, high=4, tree=0),)
BORDERS = np.arange(5)


def schema(classes=2, values=4, columns=3):
    attribute = {f"a{at}": {"role": "quasi", "values": [f"v{v}" for v in range(values)]} for at in range(columns)}
    attribute["class"] = {"role": "target", "values": [f"c{at}" for at in range(classes)]}
    return sf.Schema.parse(
        {"name": "rows", "source": "public", "rows_per_person": 1, "copies_are_people": True, "attribute": attribute}
    )


def test_without_noise_a_correction_multiplies_the_odds_by_what_they_lack():
    """All rows have even odds; at value v three of four have the second class, at others one of two."""
    value = np.repeat(np.arange(4), 40_000)
    second = np.where(value == 2, np.arange(160_000) % 4 < 3, np.arange(160_000) % 2 < 1)
    odds, weight = np.ones(160_000), np.ones(160_000, np.int64)
    off, settled = measured(value, 4, odds, second=second, weight=weight)
    assert (off.sum(axis=1) + settled.sum(axis=1)).tolist() == [40_000 * UNITS] * 4
    found = fitted_correction(0, BORDERS, WHOLE, off=off, settled=settled, rate=SURE)
    assert found.factor == pytest.approx([1, 1, 3, 1], rel=0.01)


def test_noise_alone_corrects_next_to_nothing():
    rng = np.random.default_rng(3)
    off, settled = (rng.integers(-900, 900, (4, many)) for many in (2, len(STRATA) + 1))
    found = fitted_correction(0, BORDERS, WHOLE, off=off, settled=settled, rate=Fraction(1, 10))
    assert found.factor == pytest.approx(np.ones(4), abs=0.15)
    assert (found.weights > 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_correction_is_finite_whatever_the_noise(seed):
    rng = np.random.default_rng(seed)
    off, settled = (rng.integers(-(10**6), 10**6, (4, many)) for many in (2, len(STRATA) + 1))
    found = fitted_correction(0, BORDERS, WHOLE, off=off, settled=settled, rate=SURE)
    assert ((found.factor >= 1 / 9.01) & (found.factor <= 9.01)).all()
    assert (found.weights > 0).all()


def test_drawn_rows_have_the_values_of_the_weights_and_the_classes_of_the_odds():
    weights = np.tile(np.array([[1], [3]], np.int64), len(STRATA) + 1)
    one = Correction(
        0,
        value=np.array([0, 1]),
        label=np.zeros(2, np.int64),
        factor=np.array([3.0, 1 / 3]),
        weights=weights,
        rows=4000,
    )
    cells = CellLaw(np.zeros(1, np.int64), counts=np.array([[2000, 2000]]), smoothing=1.0)
    model = CorrectedModel(cells, classes=np.array([2000, 2000]), corrections=(one,), rows=4000)
    [values], label = corrected_rows(model, [1], Entropy.seeded(5))
    assert np.bincount(values).tolist() == [1000, 3000]
    assert label[values == 0].sum() == pytest.approx(750, abs=2)
    assert label[values == 1].sum() == pytest.approx(750, abs=2)


def test_cells_come_to_the_rows_and_those_of_noise_alone_to_none():
    cells = CellLaw(np.arange(3), counts=np.array([[3, 4], [30, 40], [60, 20]]), smoothing=1.0)
    model = CorrectedModel(cells, classes=np.array([93, 64]), corrections=(), rows=130)
    [values], label = corrected_rows(model, [3], Entropy.seeded(5))
    assert np.bincount(values, minlength=3).tolist() == [0, 60, 70]
    assert len(label) == 130
    assert label[values == 1].sum() == pytest.approx(60 * 4 / 7, abs=2)


def test_more_values_are_set_back_further():
    assert handicap(2, 100.0, Fraction(1)) < handicap(3, 100.0, Fraction(1)) < handicap(3, 100.0, Fraction(1, 9))
    assert handicap(3, 100.0, Fraction(1)) < handicap(3, 200.0, Fraction(1))


def test_the_rule_is_one_of_public_numbers():
    assert [affordable_corrections(answer, flat=False) for answer in (7999, 8000, 16_000, 64_001)] == [0, 3, 4, 0]
    assert [affordable_corrections(answer, flat=True) for answer in (7999, 8000)] == [0, 4]
    assert number_of_corrections(schema(), 50_000, Fraction(1)) == 3  # no more than there are attributes
    assert number_of_corrections(schema(classes=3), 50_000, Fraction(1)) == 0  # odds are those of two classes
    assert number_of_corrections(schema(values=64), 50_000, Fraction(1)) == 3
    assert number_of_corrections(schema(values=65), 50_000, Fraction(1)) == 0  # codes too long for a learner
    assert number_of_corrections(schema(), 50_000, Fraction(1, 10**9)) == 0  # no draw that cannot be made
    for answer in (100, 5000, 10**5):
        for known in (schema(), schema(values=40), schema(classes=3), schema(columns=0)):
            assert sum(parts_of(known, answer, Fraction(1)).values()) == 1


def test_chances_are_whole_units_and_never_none_or_all():
    assert units(np.array([0.0, 1e-300, 1 / 3, 1.0, np.float64(1e300)])).tolist() == [1, 1, 16, 32, 63]


def test_rows_tell_an_effect_that_no_cell_holds():
    """Seven attributes of small effect: with few cuts most of them reach the rows through corrections alone."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, (40_000, 7))
    second = rng.random(40_000) < 1 / (1 + np.exp(-(codes - 1.5) @ np.full(7, 0.4)))
    known = schema(columns=7)
    release = sf.publish(Table.from_codes(known, np.column_stack([codes, second])), sf.TargetRows(1), seed=2)
    assert dict(release.claim.trace).keys() == {"rows", "selections", "counts", "attributes", "corrections"}
    assert abs(int(release.groups.carried.weight.sum()) - 40_000) < 2000
    answer = [len(labels) for labels in release.boxes.tables]
    assert sum(many == 4 for many in answer) >= 5


def test_what_noise_adds_to_corrected_rows_is_not_understated():
    """The noise of the table that says how many rows are drawn was left out of what was said to be noise alone."""
    described = replace(schema(values=8), rows=30_000)
    empty = Table.from_codes(described, np.zeros((0, 4), np.int64))
    released = [sf.publish(empty, sf.TargetRows(1), seed=seed, allow_noise=True) for seed in range(60)]
    drawn = np.array([release.rows for release in released])
    parts = parts_of(described, 30_000, Fraction(1))
    rounds = number_of_corrections(described, 30_000, Fraction(1))
    most = noise_of_sum(8 * (2 + len(STRATA) + 1), parts["corrections"] / rounds)
    error = drawn.std() / math.sqrt(len(drawn))
    assert drawn.mean() - 3 * error < most < drawn.mean() + 3 * error
    said = {note.partition(" of these ")[0] for release in released for note in release.notes if "noise alone" in note}
    assert said == {f"noise alone was expected to add up to about {most:,.3g}"}


@pytest.mark.parametrize("entries", [2, 14, 56])
def test_a_sum_of_noise_adds_at_most_that_much(entries):
    rate = Fraction(1, 5)
    drawn = discrete_laplace(rate / UNITS, 20_000 * entries, Entropy.seeded(entries)).reshape(-1, entries)
    added = np.maximum(drawn.sum(axis=1) // UNITS, 0)
    most = noise_of_sum(entries, rate)
    assert 0.85 * most < added.mean() < most + 4 * added.std() / math.sqrt(len(added))
