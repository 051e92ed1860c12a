"""The DiffGen paper's own numbers: scores, budget, split laws, Tables 1.b-1.d, Example 3, noise."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from tests.claims.tiny_tables import gathered, paper_table

import sfumato as sf
from sfumato.attacks.audit import Walk
from sfumato.mechanisms.base import gather
from sfumato.mechanisms.diffgen import information_gain, max_score, step_epsilon
from sfumato.mechanisms.diffgen.growth import OneWay
from sfumato.mechanisms.diffgen.scores import score_of
from sfumato.randomness import discrete_laplace_pmf, discrete_laplace_tail, exponential_choice_pmf, permute_and_flip_pmf

NEAR = {"abs": 1e-9}


def paper_gathered(mechanism):
    return gather(mechanism, paper_table())


def one_way():
    table = paper_table()
    counts = table.counts(["job", "age", "class"])
    return OneWay([4, 47], counts.codes[:, :2], counts.weights, counts.codes[:, 2], 2)


def test_scores_of_table_1a():
    """diffgen.max.*, diffgen.ig.*"""
    assert max_score([[2, 2], [2, 2]]) == 4  # Any_Job
    assert max_score([[1, 1], [1, 1]]) == 2  # Professional
    assert max_score([[4, 3], [0, 1]]) == 5  # age at 40
    assert max_score([[5, 1, 0], [2, 3, 4]]) == 9
    assert max_score([]) == 0
    for children in ([[2, 2], [2, 2]], [[1, 1], [1, 1]]):
        assert information_gain(children) == pytest.approx(0.0, **NEAR)
    assert information_gain([[1, 0], [0, 1]]) == 1.0
    assert information_gain([[0, 0], [0, 0]]) == 0.0


def test_the_same_scores_from_one_way_tables():
    score = score_of("max", classes=2, paper=True)
    [job], [age] = one_way().along(0), one_way().along(1)
    assert score.of(job[:, [2, 4]] - job[:, [0, 2]])[0] == 4
    assert score.of(age[:, [22, 47]] - age[:, [0, 22]])[0] == 5


def test_budget():
    """diffgen.epsprime.*, diffgen.budget.total"""
    assert step_epsilon("0.1", 6, 16) == Fraction(1, 760)
    assert float(step_epsilon(0.1, 6, 16)) == pytest.approx(0.0013157894736842105, **NEAR)
    assert float(step_epsilon("0.5", 6, 15)) == pytest.approx(0.006944444444444444, **NEAR)
    step = step_epsilon(1, 6, 10)
    assert (6 + 2 * 10) * step == Fraction(1, 2)
    assert float(10 * step) == pytest.approx(0.19230769230769232, **NEAR)


def test_selection_laws():
    """diffgen.em.2cand, diffgen.em.3cand; permute-and-flip is never worse for the best."""
    two = exponential_choice_pmf([4, 5], "0.1", 1)
    assert float(two[1]) == pytest.approx(0.5124973964842103, **NEAR)
    three = exponential_choice_pmf([4, 5, 2], 1, 1)
    assert [float(p) for p in three] == pytest.approx(
        [0.3314989604240915, 0.5465493872661796, 0.12195165230972886], **NEAR
    )
    assert permute_and_flip_pmf([4, 5, 2], 1, 1)[1] > three[1]


def split_law(epsilon):
    """The law by which the real code draws the split of age, from the walk of its first choice."""
    mechanism = sf.DiffGen(epsilon, specializations=1, paper=True)
    walk = Walk()
    mechanism.decide(paper_gathered(mechanism), walk)
    return dict(zip(range(19, 65), map(float, walk.laws[0]), strict=True))


def test_split_law_of_age():
    """diffgen.split.int.probs: epsilon' = 0.5 with one grid and h = 1, so epsilon = 2 (1 + 2) 0.5 = 3."""
    law = split_law(3)
    expected = {
        19: 0.01793371337903362, 20: 0.01793371337903362, 21: 0.023027343794272168, 25: 0.023027343794272168,
        26: 0.01793371337903362, 34: 0.0295676947106522, 35: 0.037965671521341116, 38: 0.0295676947106522,
        39: 0.023027343794272168, 40: 0.023027343794272168, 50: 0.023027343794272168, 51: 0.01793371337903362,
        64: 0.01793371337903362,
    }  # fmt: skip
    assert {s: law[s] for s in expected} == pytest.approx(expected, **NEAR)
    assert sum(law.values()) == pytest.approx(1)
    assert min(law.values()) > 0  # the outer runs, before the youngest and after the oldest, are included


def test_continuous_split_law_is_the_limit_of_the_grid():
    """diffgen.split.cont.intervals: eq. (6) on [18, 65], lengths instead of counts of points."""
    ages, labels = [34, 50, 38, 33, 20, 37, 32, 25], "YNNYYNYN"
    edges = [18, *sorted(ages), 65]
    scores = []
    for low, high in itertools.pairwise(edges):
        s = (low + high) / 2
        sides = [
            [sum((a < s) == left and c == k for a, c in zip(ages, labels, strict=True)) for k in "YN"]
            for left in (True, False)
        ]
        scores.append(max_score(sides))
    lengths = [high - low for low, high in itertools.pairwise(edges)]
    law = exponential_choice_pmf(scores, "1/2", 1, weights=lengths)
    assert scores == [4, 5, 4, 5, 6, 7, 6, 5, 4]
    assert [float(p) for p in law] == pytest.approx(
        [0.03523552298803939, 0.11310826771731942, 0.12332433045813787, 0.022621653543463887, 0.02904677811731194,
         0.1118904041265535, 0.02904677811731194, 0.27145984252156663, 0.2642664224102954], **NEAR,
    )  # fmt: skip


def test_example_three():
    """Any_Job first, then [18-65) at 40: the cut of Table 1.d, with its counts (diffgen.table1d, table1d.class)."""
    mechanism = sf.DiffGen(1, specializations=2, paper=True)
    at_40 = 40 - 19  # of the points 19..64
    walk = Walk((at_40, 0, 2))  # the split of age; Any_Job of (Any_Job, age); age of (Professional, Artist, age)
    decided = mechanism.decide(paper_gathered(mechanism), walk)
    names = [labels.names for labels in decided.cells.tables]
    assert names == [("Professional", "Artist"), ("[18-40)", "[40-65)")]
    assert len(walk.laws[1]) == 2
    assert len(walk.laws[2]) == 3
    counts = dict(zip(decided.cells.where.tolist(), decided.cells.counts.tolist(), strict=True))
    table = [counts.get(cell, 0) for cell in range(8)]
    assert table == [2, 1, 0, 1, 2, 2, 0, 0]  # Prof young Y N, Prof old Y N, Artist young Y N, Artist old Y N
    assert decided.cells.number == 8
    assert [sum(pair) for pair in np.array(table).reshape(4, 2)] == [3, 1, 4, 0]
    assert decided.epsilon == Fraction(1, 2)
    assert decided.threshold == 1


def test_tables_1b_and_1c():
    """Table 1.b: jobs one step up, ages not at all; Table 1.c: each job by two ages."""
    cuts = {"1b": {"job": ["Professional", "Artist"], "age": ["[18-65)"]}, "1c": {"age": ["[18-40)", "[40-65)"]}}
    found = {}
    for name, cut in cuts.items():
        mechanism = sf.NoisyTable(1, cuts=cut)
        cells = mechanism.decide(paper_gathered(mechanism)).cells
        table = np.zeros(cells.number, int)
        table[cells.where] = cells.counts
        found[name] = table.reshape(-1, 2).sum(axis=1).tolist()
    assert found == {"1b": [4, 4], "1c": [2, 0, 1, 1, 2, 0, 2, 0]}


def test_noise():
    """diffgen.dlap.*, diffgen.phantom, diffgen.sparse.zero"""
    half, p = Fraction(1, 2), math.exp(-0.5)
    assert float(discrete_laplace_pmf(half, 0)) == pytest.approx(0.24491866240370913, **NEAR)
    tails = [0.37754066879814546, 0.228989990914488, 0.051094573345137194, 0.004194097982724283]
    assert [float(discrete_laplace_tail(half, t)) for t in (1, 2, 5, 10)] == pytest.approx(tails, **NEAR)
    values = range(-200, 201)
    variance = sum(x * x * float(discrete_laplace_pmf(half, x)) for x in values)
    assert variance == pytest.approx(7.835396178065528, **NEAR)
    phantom = sum(x * float(discrete_laplace_pmf(half, x)) for x in range(1, 200))
    assert phantom == pytest.approx(0.9595173756674719, **NEAR)
    q = float(discrete_laplace_tail(half, 12))
    assert q == pytest.approx(0.0015429224221028828, **NEAR)
    assert 10**9 * q == pytest.approx(1542922.4221028828, abs=1e-3)
    assert 12 + p / (1 - p) == pytest.approx(13.541494082536799, **NEAR)
    assert float(discrete_laplace_pmf(half, 12)) / q == pytest.approx(0.3934693402873666, **NEAR)


def test_paper_mode_is_the_printed_algorithm():
    """Its factor 2, its sensitivities; a public rule alone excludes candidates; no configuration of ours is let in."""
    for name, sensitivity in (("max", 1), ("infogain", 2**20 + 2)):
        score = score_of(name, classes=2, paper=True)
        assert (score.monotone, score.sensitivity) == (False, sensitivity)
    assert score_of("max", classes=2).monotone
    for option in (
        {"score": "gini"},
        {"scored": "cells"},
        {"splits": "together"},
        {"structure": "1/3"},
        {"prefix": "1/9"},
    ):
        with pytest.raises(sf.ParameterError, match="not in the paper"):
            sf.DiffGen(1, paper=True, **option)


def test_empty_candidates_are_kept():
    mechanism = sf.DiffGen(1, specializations=2)
    schema = paper_table().schema
    walk = Walk((0, 0, 1))
    mechanism.decide(gathered(mechanism, schema, []), walk)
    assert len(walk.laws[0]) == 46
    assert len(set(walk.laws[0])) == 1
    assert sum(walk.laws[2]) == pytest.approx(Decimal(1))
    assert len(walk.laws[2]) == 3
