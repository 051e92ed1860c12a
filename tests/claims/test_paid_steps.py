"""TargetRows and Marginals, step by step: what one person moves in every step is paid for, and nothing else is read.

A script takes the place of the draws and does not look at the table. So the mechanism takes the same path on two
tables, and each step is bounded by what the new person moves in it: a table by its rate times the sum of all changes, a
choice by its slope times how far apart the changes of two scores lie. The bounds are exact fractions, and their sum may
not exceed epsilon. No law is added up, so that attributes of many values, missing values and several rows of a person
are tried, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.mechanisms.base import gather, run
from sfumato.mechanisms.diffgen import growth
from sfumato.mechanisms.diffgen.scores import score_of
from sfumato.mechanisms.marginals import draws as drawing, measuring
from sfumato.mechanisms.marginals.draws import Concentrated, Pure
from sfumato.mechanisms.target_rows import corrections, target_rows
from sfumato.randomness import Entropy

EPSILON = Fraction(1, 2)


def attributes(flat):
    """A grid with missing values, a hierarchy, a list without order, and an attribute of one value."""
    return {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 12], "step": 1, "missing": ["?"]},
        "job": {"role": "quasi", "kind": "nominal", "hierarchy": {"U": ["p", "q"], "V": ["r", "s", "t"]}},
        "town": {"role": "quasi", "kind": "nominal", "values": [f"t{at}" for at in range(flat)]},
        "land": {"role": "quasi", "kind": "nominal", "values": ["here"]},
        "class": {"role": "target", "kind": "nominal", "values": ["no", "yes"]},
    }


def schema(flat, *, rows=None, person=1, keyed=False):
    said = {"name": "steps", "source": "public", "rows_per_person": person, "copies_are_people": True}
    said |= {"person": "who", "person_exact": True} if keyed else {}
    known = {} if rows is None else {"rows": rows * person}
    return sf.Schema.parse({**said, **known, "attribute": attributes(flat)})


def rows_of(rng, known, number):
    """Rows of a few kinds, so that cells hold several; any code may come up, those for missing values too."""
    kinds = np.column_stack([rng.integers(0, a.size, max(1, number // 2)) for a in known.published])
    return kinds[rng.integers(0, len(kinds), number)]


def neighbours(seed, known):
    """A table, maybe an empty one, and the same with all rows of one more person: often of one kind."""
    rng = np.random.default_rng(seed)
    some = rows_of(rng, known, int(rng.choice([0, 1, 5, 40])))
    new = rows_of(rng, known, known.rows_per_person)
    if seed % 2:
        new = new[:1].repeat(known.rows_per_person, axis=0)
    return some, np.vstack([some, new])


def counted(mechanism, known, codes):
    return gather(mechanism, Table.from_codes(known, codes))


def moved(one, other):
    """The sum of all changes."""
    return sum(abs(int(a) - int(b)) for a, b in zip(np.ravel(one), np.ravel(other), strict=True))


def apart(one, other):
    """How far the changes of two scores lie apart: what all have in common cancels in a choice."""
    changes = [int(b) - int(a) for a, b in zip(one, other, strict=True)]
    return max(changes) - min(changes)


def plain(value):
    """Anything that leaves a mechanism, to be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        return [type(value).__name__, *(plain(getattr(value, one.name)) for one in fields(value))]
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


# -- TargetRows ------------------------------------------------------------------------------------------------

KINDS = {  # long flat values, declared rows, and the rows that are counted where none are declared
    "tables": (5, 10, 0),
    "cells": (5, 10_000, 0),
    "both": (40, 10_000, 0),
    "corrected": (5, 20_000, 0),
    "corrected flat": (40, 30_000, 0),
    "counted few": (5, None, -3),
    "counted": (5, None, 9_000),
    "counted and corrected": (20, None, 100_000),
    "codes": (400, 30_000, 0),
}


@dataclass
class Script:
    """Draws that follow a seed and not the table; what they are asked is kept."""

    seed: int
    rows: int = 0
    steps: list = field(default_factory=list)

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)

    def flip(self, scores, *, epsilon, score):
        span = score.sensitivity if score.monotone else 2 * score.sensitivity
        self.steps.append(("choice", epsilon, span, [int(one) for one in scores]))
        return int(self.rng.integers(len(scores)))

    def noisy(self, counts, *, epsilon, stage):
        unit = corrections.UNITS if stage.startswith("correction") else 1
        self.steps.append((stage, epsilon, unit, counts.copy()))
        return np.array([self.rows]) if stage == "rows" else unit * self.rng.integers(-20, 90, counts.shape)

    def cells(self, number, occupied, *, epsilon, threshold):
        held = dict(zip(*(part.tolist() for part in occupied), strict=True))
        self.steps.append(("counts", epsilon, (number, threshold), held))
        where = np.unique(self.rng.integers(0, number, 9))
        return where, threshold + self.rng.integers(0, 60, len(where))


def decided(kind, codes, seed, person=1):
    flat, rows, found = KINDS[kind]
    known = schema(flat, rows=rows, person=person)
    mechanism, draw = sf.TargetRows(EPSILON), Script(seed, found * person)
    fixed = mechanism.decide(counted(mechanism, known, codes), draw)
    return fixed, draw.steps


def bound(one, other):
    """What a step may cost, by what it was given for two tables; all else that it was given must be the same."""
    assert one[:3] == other[:3]
    stage, epsilon, asked, here = one
    there = other[3]
    if stage == "choice":
        return epsilon * Fraction(apart(here, there), asked)
    if stage == "counts":
        cells = sorted(here.keys() | there.keys())
        return epsilon * moved([here.get(c, 0) for c in cells], [there.get(c, 0) for c in cells])
    return epsilon * moved(here, there)


def spent(steps, person):
    """What the draws are handed, for a person, stage by stage. A correction has its epsilon for each unit of a row."""
    found = {}
    for stage, epsilon, asked, *_ in steps:
        name = {"choice": "choice", "counts": "counts", "rows": "rows"}.get(stage, stage.split()[0] + "s")
        found[name] = found.get(name, 0) + epsilon * person * (asked if name == "corrections" else 1)
    return found


@pytest.mark.parametrize("person", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_person_moves_no_step_of_target_rows_by_more_than_is_paid(kind, person):
    flat, rows, _ = KINDS[kind]
    largest = Fraction(0)
    for seed in range(12):
        tables = neighbours(seed, schema(flat, rows=rows, person=person))
        (_, one), (_, other) = (decided(kind, codes, seed, person) for codes in tables)
        costs = [bound(x, y) for x, y in zip(one, other, strict=True)]
        assert all(cost <= sum(spent([step], person).values()) for cost, step in zip(costs, one, strict=True))
        cost = sum(costs)
        assert cost <= EPSILON
        largest = max(largest, cost)
    assert largest > EPSILON * Fraction(3, 10 if kind in ("cells", "counted") else 5)  # the bound sees what is spent


@pytest.mark.parametrize("person", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_draws_of_target_rows_are_handed_is_epsilon(kind, person):
    """By the draws and not by the trace, which must say the same."""
    codes = rows_of(np.random.default_rng(1), schema(KINDS[kind][0]), 30)
    for seed in range(6):
        fixed, steps = decided(kind, codes, seed, person)
        found, trace = spent(steps, person), dict(fixed.trace)
        assert sum(found.values()) == sum(trace.values()) == EPSILON
        choices = sum(trace.get(stage, 0) for stage in ("selections", "model", "attributes"))
        assert found.pop("choice", 0) == choices
        assert found == {stage: trace[stage] for stage in found}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_draws_of_target_rows_reads_the_table(kind, monkeypatch):
    """One script on tables of 0, 1 and 5,000 rows: the same questions, the same model, the same release."""
    flat, rows, found = KINDS[kind]
    known, mechanism = schema(flat, rows=rows), sf.TargetRows(EPSILON)
    for seed in range(4):
        rng, seen = np.random.default_rng(seed), []
        for number in (0, 1, 5_000):
            table = counted(mechanism, known, rows_of(rng, known, number))
            script = Script(seed, found)
            monkeypatch.setattr(target_rows, "DrawnTables", lambda _, script=script: script)
            release = run(mechanism, table, Entropy.seeded(seed))
            asked = [(*step[:3], np.shape(step[3]) if step[0] != "counts" else None) for step in script.steps]
            said = (release.frame().rows(), release.claim, release.notes, release.left_out, plain(release.recoding))
            fixed = mechanism.decide(table, Script(seed, found))
            seen.append((asked, plain(fixed), said))
        assert seen[0] == seen[1] == seen[2]


def test_entropy_draws_what_target_rows_asks_for(monkeypatch):
    """The rate, the sensitivity and the threshold that a step is given reach the samplers; the noise is added."""
    asked = []

    def noise(epsilon, size, _stream):
        asked.append(("laplace", epsilon))
        return np.arange(1, size + 1)

    def sparse(cells, occupied, epsilon, threshold, _stream):
        asked.append(("sparse", cells, occupied, epsilon, threshold))
        return occupied

    def choice(name):
        def chosen(scores, epsilon, sensitivity, _stream, *, monotone, **_):
            asked.append((name, list(scores), epsilon, sensitivity, monotone))
            return 1

        return chosen

    monkeypatch.setattr(target_rows, "discrete_laplace", noise)
    monkeypatch.setattr(target_rows, "sparse_noise", sparse)
    for name in ("permute_and_flip", "exponential_choice"):
        monkeypatch.setattr(growth, name, choice(name))
    draw, counts, occupied = target_rows.DrawnTables(Entropy.seeded(1)), np.array([[5, 0], [2, 1]]), ([3], [7])
    assert draw.noisy(counts, epsilon=Fraction(1, 7), stage="table 0").tolist() == [[6, 2], [5, 5]]
    assert draw.cells(10, occupied, epsilon=Fraction(1, 9), threshold=4) is occupied
    for score in (corrections.RESIDUAL, score_of("max", classes=2)):
        assert draw.flip(np.array([4, 2]), epsilon=Fraction(1, 5), score=score) == 1
        assert draw.choose(np.array([4, 2]), epsilon=Fraction(1, 5), score=score) == 1
    assert asked[:2] == [("laplace", Fraction(1, 7)), ("sparse", 10, occupied, Fraction(1, 9), 4)]
    laws = ("permute_and_flip", "exponential_choice")
    residual = [(name, [4, 2], Fraction(1, 5), corrections.UNITS, False) for name in laws]
    assert asked[2:] == residual + [(name, [4, 2], Fraction(1, 5), 1, True) for name in laws]


# -- Marginals -------------------------------------------------------------------------------------------------


@dataclass
class Tables:
    """Draws of Marginals that follow a seed and not the table; `size` is about what a count is said to be."""

    kind: Pure | Concentrated
    seed: int
    size: int
    steps: list = field(default_factory=list)

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)

    def table(self, counts, budget):
        self.steps.append(("table", budget, None, counts.copy()))
        return self.rng.integers(-self.size // 9, self.size, counts.shape)

    def choose(self, scores, budget, sensitivity):
        self.steps.append(("choice", budget, sensitivity, [int(one) for one in scores]))
        return int(self.rng.integers(len(scores)))

    def deviation(self, budget):
        return self.kind.deviation(budget)

    def mean_size(self, budget):
        return self.kind.mean_size(budget)


@pytest.fixture
def _few_rows(monkeypatch):
    """What is drawn from the model is no part of a transcript: a few rows are enough."""
    monkeypatch.setattr(measuring, "SAMPLED", 300)
    monkeypatch.setattr(measuring, "SWEEPS", 2)


def measured(mechanism, known, codes, seed, size):
    kind = Pure if mechanism.delta is None else Concentrated
    draw = Tables(kind(None, person=known.rows_per_person), seed, size)
    found = mechanism.measured(counted(mechanism, known, codes), draw, Entropy.seeded(seed))
    return found, draw.steps


def cost_of(mechanism, person, one, other):
    """What a step may cost in epsilon or in rho, of the noise that the real draws add for its budget."""
    assert one[:3] == other[:3]
    kind, budget, sensitivity, here = one
    there = other[3]
    if mechanism.delta is None:
        draws = Pure(None, person=person)
        if kind == "table":
            return draws.rate(budget) * moved(here, there)
        return budget * Fraction(apart(here, there), 2 * person * sensitivity)
    draws = Concentrated(None, person=person)
    if kind == "table":
        squares = sum(int(a - b) ** 2 for a, b in zip(here.flat, there.flat, strict=True))
        return squares / (2 * draws.variance(budget))
    return (draws.epsilon(budget) * Fraction(apart(here, there), 2 * person * sensitivity)) ** 2 / 8


@pytest.mark.cells(6)
@pytest.mark.usefixtures("_few_rows")
@pytest.mark.parametrize("delta", [None, "1e-6"])
@pytest.mark.parametrize("person", [1, 3])
@pytest.mark.parametrize(("flat", "size"), [(5, 300), (5, 10**6), (60, 10**7), (300, 400)])
def test_a_person_moves_no_step_of_marginals_by_more_than_is_paid(flat, size, person, delta):
    known, mechanism = schema(flat, person=person), sf.Marginals(EPSILON, delta=delta)
    promise = mechanism.promise()
    whole = promise.epsilon if delta is None else promise.rho
    largest, seen = Fraction(0), set()
    for seed in range(6):
        (found, one), (same, other) = (
            measured(mechanism, known, codes, seed, size) for codes in neighbours(seed, known)
        )
        assert plain(found.shares) == plain(same.shares)
        costs = [cost_of(mechanism, person, x, y) for x, y in zip(one, other, strict=True)]
        assert all(cost <= step[1] for cost, step in zip(costs, one, strict=True))
        cost = sum(costs)
        assert cost <= sum(step[1] for step in one) <= whole
        largest = max(largest, cost)
        seen |= {len(held) for held in found.measured}
    assert largest > whole * Fraction(3, 5)  # the bound sees what is spent
    assert seen == ({2, 3} if size > 1000 else {2})  # triples where noise is small beside the counts


@pytest.mark.usefixtures("_few_rows")
@pytest.mark.parametrize("delta", [None, "1e-6"])
@pytest.mark.parametrize(("flat", "size"), [(5, 30), (5, 10**6), (60, 10**7), (300, 400)])
def test_nothing_but_draws_of_marginals_reads_the_table(flat, size, delta):
    """One script on tables of 0, 1 and 200,000 rows: the same questions, the same groups of values, the same rows."""
    known, mechanism = schema(flat), sf.Marginals(EPSILON, delta=delta)
    for seed in range(3):
        rng, seen = np.random.default_rng(seed), []
        for number in (0, 1, 200_000):
            found, steps = measured(mechanism, known, rows_of(rng, known, number), seed, size)
            asked = [(*step[:3], np.shape(step[3])) for step in steps]
            rows = found.rows(200, Entropy.seeded(seed)).tolist()
            seen.append((asked, found.total, plain(found.groups), plain(found.shares), found.measured, rows))
        assert seen[0] == seen[1] == seen[2]


def test_each_draw_of_marginals_is_made_by_its_own_sampler(monkeypatch):
    """The price of a choice in rho is that of the exponential mechanism: permute-and-flip costs four times as much."""
    asked = []

    def named(name, answer):
        return lambda *given: asked.append(name) or answer(*given)

    for name in ("discrete_laplace", "discrete_gaussian"):
        monkeypatch.setattr(drawing, name, named(name, lambda _, size, __: np.zeros(size, np.int64)))
    for name in ("permute_and_flip", "exponential_choice"):
        monkeypatch.setattr(drawing, name, named(name, lambda *_: 0))
    for kind in (Pure, Concentrated):
        draws = kind(Entropy.seeded(1), person=1)
        draws.table(np.zeros(3, np.int64), Fraction(1, 8))
        draws.choose(np.array([1, 2]), Fraction(1, 8), 1)
    assert asked == ["discrete_laplace", "permute_and_flip", "discrete_gaussian", "exponential_choice"]


# -- people with a key -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_few_rows")
@pytest.mark.parametrize("name", ["tables", "corrected", "marginals", "concentrated"])
def test_a_person_with_more_rows_than_are_kept_costs_no_more(name):
    """Rows are kept by the key: the newcomer has up to nine, others too, and two of each are paid for."""
    flat, rows, _ = KINDS.get(name, (5, None, 0))
    known = schema(flat, rows=rows, person=2, keyed=True)
    mechanism = {
        "marginals": sf.Marginals(EPSILON),
        "concentrated": sf.Marginals(EPSILON, delta="1e-6"),
    }.get(name, sf.TargetRows(EPSILON))
    rho = name == "concentrated"
    for seed in range(8):
        rng = np.random.default_rng(seed)
        who = np.append(rng.integers(0, 6, 20), np.full(int(rng.integers(1, 10)), 99))
        codes, order = rows_of(rng, known, len(who)), rng.permutation(len(who))
        sides = []
        for held in (order, order[who[order] != 99]):
            table = gather(mechanism, Table.from_codes(known, codes[held], people=[f"p{one}" for one in who[held]]))
            if isinstance(mechanism, sf.TargetRows):
                draw = Script(seed)
                mechanism.decide(table, draw)
            else:
                draw = Tables((Concentrated if rho else Pure)(None, person=2), seed, 40)
                mechanism.measured(table, draw, Entropy.seeded(seed))
            sides.append(draw.steps)
        pairs = zip(*sides, strict=True)
        if isinstance(mechanism, sf.TargetRows):
            assert sum(bound(x, y) for x, y in pairs) <= EPSILON
        else:
            whole = mechanism.promise().rho if rho else EPSILON
            assert sum(cost_of(mechanism, 2, x, y) for x, y in pairs) <= whole
