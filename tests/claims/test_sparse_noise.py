"""Is the sparse release the law of noising every cell?"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats

from sfumato.errors import ParameterError
from sfumato.randomness import (
    Entropy,
    discrete_laplace,
    discrete_laplace_pmf,
    discrete_laplace_tail,
    refinement,
    sparse_noise,
    sparse_noise_pmf,
)
from sfumato.randomness.enclosure import floor_log_ratio
from sfumato.randomness.sparse import Gaps, Hits, hit_rate, miss_rate


def test_pmf_is_the_law_of_noising_every_cell():
    # Three cells, one occupied: each noisy value is below the threshold (its mass summed term by term) or stands.
    truth, epsilon, threshold = {1: 4}, "1", 2
    with localcontext() as work:
        work.prec = 60
        noise = {x: discrete_laplace_pmf(epsilon, x) for x in range(-120, 20)}
        total = Decimal(0)
        for values in itertools.product([None, *range(threshold, 9)], repeat=3):
            chance = Decimal(1)
            for cell, value in enumerate(values):
                true = truth.get(cell, 0)
                below = sum(noise[v - true] for v in range(-110, threshold))
                chance *= below if value is None else noise[value - true]
            outcome = {c: v for c, v in enumerate(values) if v is not None}
            assert abs(sparse_noise_pmf(3, truth, epsilon, threshold, outcome) / chance - 1) < Decimal("1e-44")
            total += chance
        assert Decimal("0.95") < total < 1
    assert sparse_noise_pmf(3, truth, epsilon, threshold, {0: 1}) == 0
    assert float(sparse_noise_pmf(10**9, {}, "1/2", 30, {})) == pytest.approx(
        np.exp(10**9 * np.log1p(-float(hit_rate(Fraction(1, 2), 30))))
    )


@pytest.mark.parametrize(("cells", "threshold"), [(4, 1), (4, 2)])
def test_sampler_fits_the_exact_law_and_no_other(cells, threshold):
    truth, entropy, draws = {1: 2, 3: 1}, Entropy.seeded(30), 6000
    found = Counter()
    for _ in range(draws):
        where, values = sparse_noise(cells, truth, 1, threshold, entropy)
        found[tuple(zip(where.tolist(), np.minimum(values, 4).tolist(), strict=True))] += 1

    def p_value(epsilon, truth=truth):
        @cache
        def chance(cell, value):
            true = truth.get(cell, 0)
            if value is None:
                return 1 - float(discrete_laplace_tail(epsilon, threshold - true))
            return float(
                discrete_laplace_pmf(epsilon, value - true) if value < 4 else discrete_laplace_tail(epsilon, 4 - true)
            )

        statistic, cells_used, rest_seen, rest_expected = 0.0, 0, draws, float(draws)
        for values in itertools.product([None, *range(threshold, 5)], repeat=cells):
            expected = draws * math.prod(chance(c, v) for c, v in enumerate(values))
            if expected >= 8:
                seen = found[tuple((c, v) for c, v in enumerate(values) if v is not None)]
                statistic, cells_used = statistic + (seen - expected) ** 2 / expected, cells_used + 1
                rest_seen, rest_expected = rest_seen - seen, rest_expected - expected
        statistic += (rest_seen - rest_expected) ** 2 / max(rest_expected, 1)
        return stats.chi2.sf(statistic, cells_used)

    assert p_value(1) > 1e-3
    assert p_value(Fraction(11, 10)) < 1e-6
    assert p_value(1, {1: 2, 3: 2}) < 1e-6


def test_it_equals_noising_every_cell_of_a_larger_table():
    cells, threshold = 50_000, 3
    counts = {int(c): 5 for c in range(0, cells, 100)}
    where, values = sparse_noise(cells, counts, "1/2", threshold, Entropy.seeded(31))
    direct = discrete_laplace("1/2", cells, Entropy.seeded(32))
    direct[list(counts)] += 5
    there = np.flatnonzero(direct >= threshold)
    edges = range(threshold, 12)
    table = [[(np.clip(v, None, 11) == e).sum() for e in edges] for v in (values, direct[there])]
    assert stats.chi2_contingency(table).pvalue > 1e-3
    assert stats.ks_2samp(where, there).pvalue > 1e-3
    kept = [np.isin(w, list(counts)).sum() for w in (where, there)]
    assert abs(kept[0] - kept[1]) < 5 * np.sqrt(len(counts) / 4)
    # The mutant (trap 3): empty cells left out.
    assert (
        stats.chi2_contingency([table[1], [(np.clip(direct[list(counts)], None, 11) == e).sum() for e in edges]]).pvalue
        < 1e-6
    )


@pytest.mark.parametrize(("cells", "threshold"), [(10**6, 4), (2**41, 50), (2**50, 62), (2**80, 104), (2**200, 270)])
def test_gaps_have_their_law_at_every_scale(cells, threshold):
    # From direct floors (k = 0) to blocks of 2^190 cells: gaps over their mean are exponential.
    epsilon = Fraction(1, 2)
    gaps = Gaps.of(Hits(epsilon, threshold=threshold, cells=cells))
    drawn = gaps.draw(20_000, Entropy.seeded(33))
    rate = miss_rate(epsilon, threshold)
    depth = drawn.astype(float) * rate.near
    spread = rate.near * np.random.default_rng(1).random(len(depth))  # a gap g stands for [g, g + 1)
    inside = depth < 0.9 * min(50.0, float(cells) * rate.near)
    assert inside.mean() > 0.99
    assert stats.kstest(depth[inside] + spread[inside], "expon").pvalue > 1e-3
    assert stats.kstest(1.1 * (depth + spread), "expon").pvalue < 1e-6
    if gaps.k:  # R is nearly uniform and its lowest bits are fair
        low = np.array([int(g) % 16 for g in drawn])
        assert stats.chisquare(np.bincount(low, minlength=16)).pvalue > 1e-3


def test_gap_words_nearest_their_thresholds():
    # V <= (1 - q)^g, by decimals far longer than the enclosure's first.
    epsilon, threshold = Fraction(1, 2), 12
    rate = miss_rate(epsilon, threshold)
    with localcontext() as work:
        work.prec = 200
        q = Decimal(-6).exp() / (1 + Decimal("-0.5").exp())
        for g in (1, 2, 700, 5000):
            edge = int((1 - q) ** g * 2**64)
            assert floor_log_ratio(edge, 64, rate) == g
            assert floor_log_ratio(edge + 1, 64, rate) == g - 1
        low, high = rate.enclosure(50)
        assert low < -(1 - q).ln() < high
        assert high / low - 1 < Decimal("1e-50")


@pytest.mark.parametrize(("cells", "threshold"), [(1000, 3), (10**7, 20), (2**80, 105)])
def test_forced_refinement_equals_the_fast_path(cells, threshold, monkeypatch):
    fast = Entropy.seeded(34)
    where, values = sparse_noise(cells, {3: 9}, "1/2", threshold, fast)
    after = fast.word()
    monkeypatch.setattr(refinement, "LOG_ERROR", 1e15)
    forced = Entropy.seeded(34)
    again, same = sparse_noise(cells, {3: 9}, "1/2", threshold, forced)
    assert (again.tolist(), same.tolist(), forced.word()) == (where.tolist(), values.tolist(), after)
    assert len(where) > 5


def test_number_of_hits_at_two_to_the_eighty():
    threshold, cells = 93, 2**80
    mean = float(cells * Fraction(hit_rate(Fraction(1, 2), threshold)))
    counts = [len(sparse_noise(cells, {}, "1/2", threshold, Entropy.seeded(seed))[0]) for seed in range(20)]
    assert abs(np.mean(counts) - mean) < 4 * np.sqrt(mean / 20)
    assert abs(np.mean(counts) - 1.1 * mean) > 6 * np.sqrt(mean / 20)


def test_hits_do_not_depend_on_what_is_occupied():
    one = sparse_noise(10**6, {}, "1/2", 10, Entropy.seeded(35))
    two = sparse_noise(10**6, {int(one[0][0]): 0, 7: 100}, "1/2", 10, Entropy.seeded(35))
    assert set(one[0].tolist()) - set(two[0].tolist()) <= {int(one[0][0])}
    assert 7 in two[0]


def test_output_is_sorted_distinct_typed_and_input_order_is_irrelevant():
    cells = {int(c): int(c % 7) for c in np.random.default_rng(2).choice(10**5, 500, replace=False)}
    where, values = sparse_noise(10**5, cells, "1/3", 4, Entropy.seeded(36))
    backward = (np.array(list(cells))[::-1], np.array(list(cells.values()))[::-1])
    again = sparse_noise(10**5, backward, "1/3", 4, Entropy.seeded(36))
    assert np.array_equal(where, again[0])
    assert np.array_equal(values, again[1])
    assert (np.diff(where) > 0).all()
    assert values.min() >= 4
    assert where.dtype == values.dtype == np.int64
    assert sparse_noise(2**80, {2**79: 500}, 1, 60, Entropy.seeded(1))[0].tolist() == [2**79]
    assert sparse_noise(1, {}, 50, 1, Entropy.seeded(1))[0].tolist() == []
    assert sparse_noise(2**80, {5: 10}, 1, 10**14, Entropy.seeded(1))[0].tolist() == []


@pytest.mark.parametrize(
    ("cells", "occupied", "threshold"),
    [
        (0, {}, 1),
        (10, {}, 0),
        (10, {10: 1}, 1),
        (10, {-1: 1}, 1),
        (10, {1: -1}, 1),
        (10, ([1, 1], [2, 2]), 1),
        (10, ([1], [2, 2]), 1),
        (10, {1: 1.5}, 1),
        (2**80, {}, 10),
        (2**600, {}, 10**4),
        (10, {}, 10**20),
        (10, {}, 1.5),
    ],
)
def test_bad_tables_are_refused_and_nothing_is_drawn(cells, occupied, threshold):
    entropy = Entropy.seeded(1)
    with pytest.raises(ParameterError) as caught:
        sparse_noise(cells, occupied, 1, threshold, entropy)
    assert not entropy.drew
    assert caught.value.name in ("cells", "occupied", "threshold")


def test_the_hint_of_a_refused_threshold_is_accepted():
    with pytest.raises(ParameterError) as caught:
        sparse_noise(2**60, {}, "1/2", 3, Entropy.seeded(1), most=1000)
    enough = int(caught.value.hint.split()[0])
    assert len(sparse_noise(2**60, {}, "1/2", enough, Entropy.seeded(1), most=1000)[0]) < 1200
