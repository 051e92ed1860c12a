"""Are scores from the combinations that occur the same whole numbers as those from tables of all codes and classes?

`diffgen` died with MemoryError or OverflowError on 4 sensitive or 40 target columns.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.claims.tiny_tables import pair

import sfumato as sf
from sfumato.attacks.audit import exact_audit, law_of
from sfumato.mechanisms.diffgen import growth as diffgen_growth, scores as diffgen_sparse
from sfumato.mechanisms.diffgen.growth import CellTables, OneWay
from sfumato.mechanisms.diffgen.scores import SCORES, Rows, score_of, sparse_scores
from sfumato.schema import Schema

SIZE, CLASSES = 9, 5


def asked_of(rng) -> list[np.ndarray]:
    """Disjoint nodes of an attribute in random order: specialized to children, split at one point, or at any."""
    asked, low = [], int(rng.integers(0, 3))
    while low < SIZE - 1:
        high = int(rng.integers(low + 1, SIZE + 1))
        inner = np.arange(low + 1, high)
        kind = rng.integers(4)
        if len(inner) and kind == 0:
            asked.append(np.array([[low, *sorted(rng.choice(inner, rng.integers(1, len(inner) + 1), False)), high]]))
        elif len(inner) > 1 and kind == 1:
            asked.append(np.column_stack([np.full(len(inner), low), inner, np.full(len(inner), high)]))
        elif len(inner):
            asked.append(np.array([[low, int(rng.choice(inner)), high]]))
        low = high + int(rng.integers(0, 2))
    return [asked[i] for i in rng.permutation(len(asked))]


def world(seed: int):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(0, 30))
    codes = rng.integers(0, SIZE, (rows, 2))
    label, weights = rng.integers(0, CLASSES, rows), rng.integers(1, 6, rows)
    return rng, codes, label.astype(np.int64), weights.astype(np.int64)


def both(tables, at, asked, score, codes, label, weights, cell):
    dense = diffgen_growth._dense_scores(tables.along(at), asked, score)
    rows = Rows(codes[:, at].astype(np.int64), cell=cell, label=label, weight=weights)
    return dense, sparse_scores(rows, asked, score, SIZE)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(SCORES), st.booleans())
def test_sparse_scores_are_the_dense_ones(seed, name, paper):
    rng, codes, label, weights = world(seed)
    score = score_of(name, classes=CLASSES, paper=paper)
    tables, cell = OneWay([SIZE, SIZE], codes, weights, label, CLASSES), np.zeros(len(codes), np.int64)
    for dense, sparse in zip(*both(tables, 0, asked_of(rng), score, codes, label, weights, cell), strict=True):
        assert sparse.tolist() == dense.tolist()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["max", "gini"]))
def test_sparse_scores_are_the_dense_ones_in_cells(seed, name):
    rng, codes, label, weights = world(seed)
    score = score_of(name, classes=CLASSES, in_cells=True)
    tables = CellTables([SIZE, SIZE], codes, weights, label, CLASSES)
    nodes = diffgen_growth.Node(0, high=SIZE)
    tables.specialize(1, nodes, nodes.split(int(rng.integers(1, SIZE))))
    for dense, sparse in zip(*both(tables, 0, asked_of(rng), score, codes, label, weights, tables._cell), strict=True):
        assert sparse.tolist() == dense.tolist()


def test_a_mutant_that_forgets_a_class_is_caught():
    differ = 0
    for seed in range(40):
        rng, codes, label, weights = world(seed)
        score, asked = score_of("gini", classes=CLASSES), asked_of(rng)
        rows = Rows(codes[:, 0], cell=np.zeros(len(codes), np.int64), label=label, weight=weights)
        merged = Rows(rows.code, cell=rows.cell, label=np.minimum(label, CLASSES - 2), weight=weights)
        one, other = (sparse_scores(r, asked, score, SIZE) for r in (rows, merged))
        differ += any(a.tolist() != b.tolist() for a, b in zip(one, other, strict=True))
    assert differ > 20


@pytest.mark.parametrize("score", ["max", "gini"])
def test_counts_beyond_32_bits_are_exact(score):
    """Squares of such counts do not fit in int64: the choice would be made by what wrapped around."""
    big = 1 << 33
    codes, label = np.array([0, 0, 1, 3, 3], np.int64), np.array([0, 1, 0, 1, 2], np.int64)
    weights = np.array([big, 3, big + 5, 7, big - 1], np.int64)
    rows = Rows(codes, cell=np.zeros(5, np.int64), label=label, weight=weights)
    known = score_of(score, classes=3)
    points = np.column_stack([[0] * 3, [1, 2, 3], [4] * 3])
    dense = known.of(
        np.array(
            [
                [[int(weights[(codes < p) & (label == c)].sum()) for c in range(3)],
                 [int(weights[(codes >= p) & (label == c)].sum()) for c in range(3)]]
                for p in (1, 2, 3)
            ]
        )
    )  # fmt: skip
    [sparse] = sparse_scores(rows, [points], known, 4)
    assert sparse.tolist() == dense.tolist()


def several(columns: int, values: int, quasi=None) -> Schema:
    """A schema with so many target columns of so many values."""
    targets = {
        f"t{i}": {"role": "target", "kind": "nominal", "values": [f"v{j}" for j in range(values)], "source": "public"}
        for i in range(columns)
    }
    first = quasi or {"age": {"role": "quasi", "kind": "numeric", "range": [0, 4], "step": 1, "source": "public"}}
    return Schema.parse({"name": "several", "attribute": {**first, **targets}})


@pytest.mark.parametrize(
    "mechanism",
    [
        sf.DiffGen(2, specializations=2),
        sf.DiffGen(2, specializations=2, score="infogain"),
        sf.DiffGen(2, specializations=2, paper=True, score="infogain", threshold="auto"),
        sf.DiffGen.recommended(2),
    ],
    ids=["max", "infogain", "paper", "recommended"],
)
def test_the_claim_holds_where_no_table_of_all_classes_fits(mechanism):
    """40 columns of 3 values: 3^40 classes, more than 2^63. The law of all choices and counts, exactly."""
    schema = several(40, 3)
    rng = np.random.default_rng(3)
    draw = lambda: (int(rng.integers(4)), *rng.integers(0, 3, 40).tolist())  # noqa: E731
    first = draw()
    for rows in ([], [first], [first, first, draw()]):
        audited = exact_audit(mechanism, *pair(mechanism, rows, draw(), schema))
        assert audited.holds, audited.describe()


def test_a_mutant_that_counts_only_occurring_classes_is_caught(monkeypatch):
    """Trap: the number of classes for the sensitivity, or the cells to be noised, taken from what occurs."""
    schema = several(2, 3)
    mechanism = sf.NoisyTable(2)
    one, two = pair(mechanism, [(0, 0, 0)], (1, 1, 1), schema)
    assert exact_audit(mechanism, one, two).holds
    true = mechanism.decide(one).cells
    assert true.number == 4 * 9  # every cell of the public domain, not the one that occurs
    monkeypatch.setattr("sfumato.mechanisms.noisy_cells.DomainCells.number", property(lambda cells: len(cells.where)))
    broken = [mechanism.decide(counts) for counts in (one, two)]
    assert broken[0].cells.number != broken[1].cells.number  # a public number that the data decide


@pytest.mark.parametrize("form", [{"scored": "cells", "splits": "together", "first": "gini"}, {"score": "infogain"}])
def test_sparse_and_dense_choose_by_the_same_law(monkeypatch, form):
    """The whole mechanism, all choices: with every table replaced by rows the law is the same, to the last digit."""
    mechanism = sf.DiffGen(2, specializations=2, **form)
    rows = [(0, 0, 0, 0), (3, 2, 2, 1), (1, 1, 0, 1)]
    counts = pair(mechanism, rows, (2, 2, 2, 0))[1]
    dense = law_of(mechanism, counts).chances
    monkeypatch.setattr(diffgen_growth, "CELL_TABLE", 0)
    monkeypatch.setattr(diffgen_growth, "ONE_TABLE", 0)
    monkeypatch.setattr(diffgen_sparse, "BLOCK", 1)
    assert law_of(mechanism, counts).chances == dense
