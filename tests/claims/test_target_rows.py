"""TargetRows: every transcript of the whole mechanism on small worlds, its budget, and mutants that must be caught."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import sfumato as sf
from sfumato.attacks.audit import INFINITY, ROOM, WORK, Walk, laplace_counts, walked
from sfumato.counts import Table
from sfumato.mechanisms.base import gather
from sfumato.mechanisms.target_rows import corrections, row_model, target_rows
from sfumato.randomness import discrete_laplace_pmf

EPSILON = Fraction(1, 2)
HIGH = 60  # an outcome above every count, so far that a table of it tells the classes apart


chance = cache(discrete_laplace_pmf)


def highest(stage):
    """Corrections are measured in units of a row."""
    return HIGH * (corrections.UNITS if stage.startswith("correction") else 1)


class Transcripts(Walk):
    """A draw that walks noisy counts, too: each entry takes an outcome on either side of where two tables differ.

    Where counts differ by one, the ratio of two discrete Laplace laws has two values, one on each side; both are taken.
    """

    def entry(self, law):
        return self.taken(law)

    def noisy(self, counts, *, epsilon, stage):
        high = highest(stage)
        found = [self.entry([chance(epsilon, out - int(count)) for out in (0, high)]) for count in counts.flat]
        return high * np.array(found).reshape(counts.shape)

    def cells(self, number, occupied, *, epsilon, threshold):
        held = dict(zip(*(part.tolist() for part in occupied), strict=True))
        where, noisy = [], []
        for cell in range(number):
            outcomes = (None, threshold + HIGH)
            out = outcomes[self.entry([laplace_counts(held.get(cell, 0), o, epsilon, threshold) for o in outcomes])]
            if out is not None:
                where.append(cell)
                noisy.append(out)
        return np.array(where, np.int64), np.array(noisy, np.int64)


def schema(rows, values=2, columns=1):
    attribute = {f"a{at}": {"role": "quasi", "values": [f"v{v}" for v in range(values)]} for at in range(columns)}
    attribute["class"] = {"role": "target", "values": ["no", "yes"]}
    known = {} if rows is None else {"rows": rows}
    said = {"name": "tiny", "source": "public", "rows_per_person": 1, "copies_are_people": True, "attribute": attribute}
    return sf.Schema.parse({**said, **known})


def law(mechanism, known, rows, walk=Transcripts):
    """Return the probability of each transcript: the choices and the noisy counts, in order."""
    counts = gather(mechanism, Table.from_codes(known, np.array(rows, np.int64).reshape(-1, len(known.published))))
    found = {}

    def run(draw):
        return draw, mechanism.decide(counts, draw)

    for chance, (draw, _) in walked(run, walk):
        taken = (*draw.path, *(0 for _ in range(len(draw.laws) - len(draw.path))))
        found[taken] = chance
    return found


def loss(mechanism, known, rows, more, walk=Transcripts):
    one, other = law(mechanism, known, rows, walk), law(mechanism, known, [*rows, more], walk)
    if one.keys() != other.keys():
        return INFINITY
    return max(abs(WORK.ln(WORK.divide(one[key], other[key]))) for key in one)


WORLDS = [
    ([], (0, 1)),
    ([(0, 1)], (0, 1)),
    ([(0, 1)], (1, 0)),
    ([(0, 1), (1, 0)], (0, 0)),
]


def known_for(kind, monkeypatch):
    """Nothing is cut; cells alone; cells and tables; a number of rows that is paid for and decides which; corrections.

    With corrections: after a cut; by one attribute, chosen of two; and by two, one after the other.
    """
    if kind == "both":
        monkeypatch.setattr(target_rows, "FLAT", 1)
    if kind.startswith("corrected"):
        monkeypatch.setattr(corrections, "STRATA", ())  # three entries for each value, so that all can be walked
    if kind in ("corrected by one of two", "corrected by two"):
        monkeypatch.setattr(target_rows, "affordable_cuts", lambda _: 0)
        many = {"corrected by one of two": 1, "corrected by two": 2}[kind]
        monkeypatch.setattr(target_rows, "affordable_corrections", lambda _, **__: many)
        return schema(20_000, values=3 - many, columns=2)  # of one value each, where there are two tables to walk
    if kind == "counted":
        monkeypatch.setattr(target_rows, "FEW", 1)
        monkeypatch.setattr(target_rows, "information", lambda _, rows: max(rows, 0))
    return schema({"tables": 10, "cells": 10_000, "both": 10_000, "corrected": 20_000, "counted": None}[kind])


WIDER = [
    ([], (0, 1, 1)),
    ([(1, 1, 0)], (1, 0, 1)),  # one score falls, the other rises
    ([(0, 1, 1)], (0, 1, 1)),
    ([(0, 1, 1)], (1, 0, 0)),
    ([(0, 1, 1), (1, 1, 0)], (0, 1, 0)),
]
CHOSEN = [("corrected by one of two", *world) for world in WIDER]
SOME = [*(("tables", *world) for world in WORLDS), *(("cells", *world) for world in WORLDS), ("counted", *WORLDS[0]),
        CHOSEN[0]]  # fmt: skip
REST = (
    [("corrected", *world) for world in WORLDS]
    + CHOSEN[1:]
    + [("corrected by two", [(0, 0, 1)], (0, 0, 0))]
    + [("both", *world) for world in WORLDS]
    + [("counted", *world) for world in WORLDS[1:]]
)


def keeps_its_epsilon(kind, rows, more, monkeypatch):
    found = loss(sf.TargetRows(EPSILON), known_for(kind, monkeypatch), rows, more)
    assert found <= Decimal("0.5") + ROOM
    assert found > Decimal("0.1")  # the walk sees what is spent


@pytest.mark.parametrize(("kind", "rows", "more"), SOME)
def test_the_whole_mechanism_keeps_its_epsilon(kind, rows, more, monkeypatch):
    keeps_its_epsilon(kind, rows, more, monkeypatch)


@pytest.mark.full
@pytest.mark.parametrize(("kind", "rows", "more"), REST)
def test_the_whole_mechanism_keeps_its_epsilon_at_length(kind, rows, more, monkeypatch):
    keeps_its_epsilon(kind, rows, more, monkeypatch)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("tables", {"counts", "tables", "model"}),
        ("cells", {"selections", "counts"}),
        ("both", {"selections", "counts", "tables", "model"}),
        ("counted", {"rows", "selections", "counts", "tables", "model"}),
        ("corrected", {"selections", "counts", "attributes", "corrections"}),
    ],
)
def test_the_worlds_take_every_path(kind, expected, monkeypatch):
    known = known_for(kind, monkeypatch)
    table = Table.from_codes(known, np.array([[0, 1], [1, 0]]))
    traces = [sf.publish(table, sf.TargetRows(EPSILON), seed=seed, allow_noise=True).claim.trace for seed in range(8)]
    assert {stage for trace in traces for stage, _ in trace} == expected


@pytest.mark.parametrize("rows", [None, 10, 5_000, 1_000_000])
@pytest.mark.parametrize(("values", "columns"), [(2, 3), (40, 2), (40, 7), (3, 0)])
def test_the_trace_sums_to_epsilon(rows, values, columns):
    known = schema(rows, values, columns)
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, a.size, 60) for a in known.published])
    for epsilon in ("1/7", "2"):
        release = sf.publish(Table.from_codes(known, codes), sf.TargetRows(epsilon), seed=3, allow_noise=True)
        planned = sf.TargetRows(epsilon).claim(known).trace
        assert sum(amount for _, amount in release.claim.trace) == Fraction(epsilon)
        assert sum(amount for _, amount in planned) == Fraction(epsilon)


class HalfTheNoise(Transcripts):
    """Sensitivity halved: every table is noised as if a row moved it by 1/2."""

    def noisy(self, counts, *, epsilon, stage):
        return super().noisy(counts, epsilon=2 * epsilon, stage=stage)


class NoNoise(Transcripts):
    """The noise of the tables is skipped."""

    def noisy(self, counts, *, epsilon, stage):
        laws = [[Decimal(int((out > 0) == (count > 0))) for out in (0, HIGH)] for count in counts.flat]
        return highest(stage) * np.array([self.entry(one) for one in laws]).reshape(counts.shape)


class UnpaidModel(Transcripts):
    """The model is chosen by what tells the most rows right; nothing is paid for it."""

    def flip(self, scores, *, epsilon, score):
        best = int(np.argmax(scores))
        return self.taken([Decimal(int(at == best)) for at in range(len(scores))])


class EmptyCellsLeftOut(Transcripts):
    """Only cells that hold rows are noised."""

    def cells(self, number, occupied, *, epsilon, threshold):
        where, counts = occupied
        outs = [
            self.entry([laplace_counts(int(c), o, epsilon, threshold) for o in (None, threshold + HIGH)])
            for c in counts
        ]
        kept = np.array(outs, bool)
        return where[kept], np.full(int(kept.sum()), threshold + HIGH)


@pytest.mark.parametrize("mutant", [HalfTheNoise, NoNoise, UnpaidModel, EmptyCellsLeftOut])
def test_mutants_are_caught(mutant):
    known = schema(10)
    allowed = Decimal("0.5") + ROOM
    assert any(loss(sf.TargetRows(EPSILON), known, rows, more, mutant) > allowed for rows, more in WORLDS)


def exceeds(monkeypatch, walk=Transcripts, worlds=tuple(WIDER)):
    known = known_for("corrected by one of two", monkeypatch)
    allowed = Decimal("0.5") + ROOM
    return any(loss(sf.TargetRows(EPSILON), known, rows, more, walk) > allowed for rows, more in worlds)


@pytest.mark.full
@pytest.mark.parametrize("mutant", [HalfTheNoise, NoNoise, UnpaidModel])
def test_mutants_of_corrections_are_caught(mutant, monkeypatch):
    assert exceeds(monkeypatch, mutant)


@pytest.mark.full
def test_a_choice_of_attributes_at_half_its_sensitivity_is_caught(monkeypatch):
    """Nearly all of the budget is for the choice, and the new row raises one score as it lowers the other."""
    one, most = Fraction(1, 100), Fraction(97, 100)
    shares = {"selections": one, "counts": one, "attributes": most, "corrections": one}
    monkeypatch.setattr(target_rows, "CORRECTED", shares)
    world = ([(1, 1, 0)] * 50, (0, 1, 1))
    assert not exceeds(monkeypatch, worlds=[world])
    half = replace(corrections.RESIDUAL, sensitivity=corrections.UNITS // 2)
    monkeypatch.setattr(target_rows, "RESIDUAL", half)
    assert exceeds(monkeypatch, worlds=[world])


def test_a_correction_in_which_a_row_counts_for_more_than_one_is_caught(monkeypatch):
    true = corrections.measured

    def whole_rows_settled(value, many, odds, *, second, weight):
        off, settled = true(value, many, odds, second=second, weight=weight)
        return off, settled + off.sum(axis=1)[:, None]

    monkeypatch.setattr(target_rows, "measured", whole_rows_settled)
    assert exceeds(monkeypatch, worlds=WIDER[:1])


@pytest.mark.parametrize("seed", range(20))
def test_one_row_moves_a_correction_by_one_row_at_most(seed):
    """Whatever the odds are: non-negative whole numbers that come to one row's units; a score by no more."""
    rng = np.random.default_rng(seed)
    value, second, weight = rng.integers(0, 5, 40), rng.random(40) < 0.4, np.ones(40, np.int64)
    odds = rng.choice([1e-12, 0.1, 0.5, 1.0, 3.0, 1e12, *rng.random(5)], 40)
    before, score = np.zeros((5, 2 + len(corrections.STRATA) + 1), np.int64), 0
    for n in range(1, 41):
        said = {"second": second[:n], "weight": weight[:n]}
        after = np.hstack(corrections.measured(value[:n], 5, odds[:n], **said))
        assert (after >= before).all()
        assert (after - before).sum() == corrections.UNITS
        moved = corrections.left_over(value[:n], 5, odds[:n], **said)
        assert abs(moved - score) <= corrections.UNITS
        before, score = after, moved


def test_a_count_that_is_not_paid_for_is_caught(monkeypatch):
    monkeypatch.setattr(target_rows, "FEW", 1)
    monkeypatch.setattr(target_rows, "information", lambda _, rows: max(rows, 0))

    class Unpaid(Transcripts):
        def noisy(self, counts, *, epsilon, stage):
            return counts if stage == "rows" else super().noisy(counts, epsilon=epsilon, stage=stage)

    assert loss(sf.TargetRows(EPSILON), schema(None), [], (0, 1), Unpaid) == INFINITY


def test_a_score_that_one_row_moves_too_far_is_caught(monkeypatch):
    true = row_model.correct_rows
    monkeypatch.setattr(target_rows, "correct_rows", lambda *answer: 40 * true(*answer))
    allowed = Decimal("0.5") + ROOM
    assert any(loss(sf.TargetRows(EPSILON), schema(10), rows, more) > allowed for rows, more in WORLDS)


@pytest.mark.parametrize("seed", range(20))
def test_one_row_moves_every_score_by_at_most_one(seed):
    """Whatever the noisy counts are: a model tells the class of one row by that row alone."""
    rng = np.random.default_rng(seed)
    known = schema(10, values=4, columns=2)
    cut = tuple((target_rows.Node(0, high=4, tree=0),) for _ in range(2))
    classes = rng.integers(1, 50, 2)
    columns = tuple(
        row_model.fitted_column(
            a,
            row_model.public_bins(a, cut[at]),
            cut[at],
            rng.integers(-9, 30, (4, 2)),
            rate=Fraction(1, 3),
            classes=classes,
        )
        for at, a in enumerate(known.quasi)
    )
    law = row_model.CellLaw(np.zeros(1, np.int64), counts=rng.integers(0, 9, (1, 2)), smoothing=2.0)
    codes = rng.integers(0, 4, (30, 2))
    label, weight, cell = rng.integers(0, 2, 30), np.ones(30, np.int64), np.zeros(30, np.int64)
    for cells in (law, None):
        for power in (0, 1, 2, 4):
            model = row_model.RowModel(columns, cells=cells, classes=classes, power=power)
            scores = [row_model.correct_rows(model, codes[:n], cell[:n], label[:n], weight[:n]) for n in range(31)]
            assert set(np.diff(scores).tolist()) <= {0, 1}
