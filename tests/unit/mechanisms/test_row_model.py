"""The parts of TargetRows that follow from noisy counts: values distinguished, laws of a column, drawn rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.mechanisms.diffgen.growth import root_cut
from sfumato.mechanisms.target_rows.row_model import (
    BINS,
    CellLaw,
    ColumnLaw,
    RowModel,
    drawn_rows,
    fitted_column,
    public_bins,
)
from sfumato.mechanisms.target_rows.target_rows import affordable_cuts, cuttable, is_stacked
from sfumato.randomness import Entropy

SCHEMA = sf.Schema.parse(
    {
        "name": "columns",
        "source": "public",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 20], "step": 1, "missing": ["?"]},
            "gain": {"role": "quasi", "kind": "numeric", "range": [0, 1000], "step": 1},
            "job": {"role": "quasi", "hierarchy": {"X": ["x1", "x2"], "Y": ["y1", "y2", "y3"]}, "missing": ["?"]},
            "code": {"role": "quasi", "values": [f"c{at}" for at in range(40)]},
            "class": {"role": "target", "values": ["no", "yes"]},
        },
    }
)


@pytest.mark.parametrize("attribute", SCHEMA.quasi, ids=lambda a: a.name)
def test_bins_hold_each_code_once_and_the_missing_value_alone(attribute):
    borders = public_bins(attribute, root_cut(attribute))
    assert borders[0] == 0
    assert borders[-1] == attribute.size
    assert (np.diff(borders) > 0).all()
    assert len(borders) <= max(2 * BINS, attribute.size + 1)
    if attribute.missing_code is not None:
        assert {attribute.missing_code, attribute.missing_code + 1} <= set(borders.tolist())


@pytest.mark.parametrize("attribute", SCHEMA.quasi, ids=lambda a: a.name)
@pytest.mark.parametrize("seed", range(5))
def test_a_fitted_column_is_a_law_whatever_the_noise(attribute, seed):
    rng = np.random.default_rng(seed)
    cut = root_cut(attribute)
    borders = public_bins(attribute, cut)
    noisy = rng.integers(-200, 200, (len(borders) - 1, 2))
    column = fitted_column(attribute, borders, cut, noisy, rate=Fraction(1, 50), classes=np.array([70, 30]))
    assert len(column.value) == attribute.size
    assert (column.share >= 0).all()
    assert column.share.sum() == pytest.approx(100)
    assert (column.ratio > 0).all()
    labels, _ = column.labels(attribute)
    held = np.zeros(attribute.size, int)
    for start, end in zip(labels.starts, labels.ends, strict=True):
        held[start:end] += 1
    assert (held == 1).all()
    for power in (0, 1, 2, 4):
        for in_cells in (False, True):
            assert np.isfinite(column.factor(power, in_cells=in_cells)).all()


def test_without_noise_a_ratio_is_the_share_of_the_class_over_its_share_overall():
    attribute = SCHEMA["code"]
    cut = root_cut(attribute)
    table = np.full((40, 2), 500)
    table[0] = [100, 900]
    column = fitted_column(
        attribute, public_bins(attribute, cut), cut, table, rate=Fraction(100), classes=table.sum(axis=0)
    )
    rows = table.sum()
    assert column.ratio[0, 1] == pytest.approx(0.9 / (table[:, 1].sum() / rows), rel=0.05)


def test_drawn_rows_have_the_proportions_of_the_weights():
    column = ColumnLaw(
        np.arange(4), label=np.array([0, 0, 1, 1]), share=np.array([1.0, 3, 2, 2]), ratio=np.ones((4, 2))
    )
    cells = CellLaw(np.array([0, 1]), counts=np.array([[400, 0], [100, 200]]), smoothing=1.0)
    model = RowModel((column,), cells=cells, classes=np.array([500, 200]), power=4)
    [values], label = drawn_rows(model, [2], Entropy.seeded(1))
    assert np.bincount(label).tolist() == [500, 200]
    assert np.bincount(values[label == 0], minlength=4).tolist() == [100, 300, 50, 50]
    assert np.bincount(values[label == 1], minlength=4).tolist() == [0, 0, 100, 100]


def test_an_empty_model_draws_no_row():
    model = RowModel((), cells=CellLaw(np.zeros(0, np.int64), counts=np.zeros((0, 2), int), smoothing=1.0),
                     classes=np.array([1, 1]), power=0)  # fmt: skip
    columns, label = drawn_rows(model, [1, 3], Entropy.seeded(1))
    assert [len(part) for part in (*columns, label)] == [0, 0, 0]


def test_the_rule_is_one_of_public_numbers():
    assert [affordable_cuts(answer) for answer in (0, 399, 400, 1999, 2000, 10**12)] == [0, 0, 2, 2, 3, 16]
    assert not cuttable(SCHEMA["code"], 10_000)
    assert cuttable(SCHEMA["code"], 20_000)
    assert cuttable(SCHEMA["age"], 0)
    assert is_stacked(SCHEMA, 10**6)
    narrow = SCHEMA.with_roles(quasi=["age", "job"], target="class")
    assert not is_stacked(narrow, 10**6)
    assert is_stacked(narrow, 100)
