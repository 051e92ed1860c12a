"""Is NoisyTable epsilon-DP, for huge tables too?"""

from __future__ import annotations

import math
import time
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.claims.tiny_tables import gathered, random_pair, tiny_schema

import sfumato as sf
from sfumato.attacks.audit import exact_audit
from sfumato.counts import Table
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy, discrete_laplace_tail, sparse_noise_pmf
from sfumato.randomness.sparse import threshold_for
from sfumato.schema import Schema


@pytest.mark.parametrize("epsilon", ["1/10", 2, 9])
@pytest.mark.parametrize("threshold", ["auto", 1, 4])
@pytest.mark.parametrize("cuts", [None, {"age": ["[0-2)", "[2-4)"], "job": ["*"]}])
def test_no_output_is_e_to_the_epsilon_times_as_likely(epsilon, threshold, cuts):
    mechanism = sf.NoisyTable(epsilon, threshold=threshold, cuts=cuts)
    for seed in range(5):
        audited = exact_audit(mechanism, *random_pair(mechanism, seed))
        assert audited.holds, audited.describe()
        assert audited.structures == 1


HUGE = {
    f"a{i}": {"role": "quasi", "kind": "numeric", "range": [0, 1000], "step": 1} for i in range(5)
}  # 10^15 cells a class
CLASS = {"pay": {"role": "target", "kind": "nominal", "values": ["low", "high"]}}


def test_more_than_a_trillion_cells_publish_in_seconds():
    schema = Schema.parse({"name": "huge", "source": "public", "attribute": {**HUGE, **CLASS}})
    rng = np.random.default_rng(1)
    rows = np.repeat(np.column_stack([rng.integers(0, 1000, (50, 5)), rng.integers(0, 2, 50)]), 400, axis=0)
    table = Table.from_codes(schema, rows)
    mechanism = sf.NoisyTable(1)
    assert mechanism.plan(schema).stages[0].does.startswith(f"adds noise to {2 * 10**15:,} cells")
    start = time.process_time()
    release = run(mechanism, gather(mechanism, table), Entropy.seeded(2))
    assert time.process_time() - start < 5
    true = {tuple(row[:5]) for row in rows.tolist()}
    said = {tuple(box) for box in release.boxes.labels.tolist()}
    assert true <= said  # 400 rows each, far above the threshold
    assert len(said - true) < 40  # 10 are expected by noise alone


def test_beyond_64_bits_labels_are_decoded_exactly():
    """A cross product above 2^80: every reported label lies in its domain and large true cells come back."""
    wide = {f"a{i}": {"role": "quasi", "kind": "numeric", "range": [0, 997], "step": 1} for i in range(9)}
    schema = Schema.parse({"name": "wide", "source": "public", "attribute": {**wide, **CLASS}})
    assert 997**9 * 2 > 2**80
    rows = np.repeat([[996, 0, 1, 2, 3, 500, 996, 0, 995, 1]], 5000, axis=0)
    mechanism = sf.NoisyTable("1/2")
    release = run(mechanism, gather(mechanism, Table.from_codes(schema, rows)), Entropy.seeded(3))
    assert [996, 0, 1, 2, 3, 500, 996, 0, 995] in release.boxes.labels.tolist()
    assert release.boxes.labels.max() <= 996


def test_a_small_copy_of_a_huge_table_has_the_exact_law():
    """6 cells, two of them occupied: 1,500 releases fit the exact law of the reported cells, and no wrong one."""
    schema = tiny_schema().with_roles(quasi="hours")
    mechanism = sf.NoisyTable("3/2", threshold=2)
    counts = gathered(mechanism, schema, [(0, 0)] * 2 + [(2, 1)])
    runs = 1500
    seen: Counter = Counter()
    for i in range(runs):
        release = mechanism.apply(counts, Entropy.seeded(i))
        carried, labels = release.groups.carried, release.boxes.labels[:, 0]
        cells = labels[carried.group] * 2 + carried.codes[:, 0]
        seen[tuple(sorted((int(c), min(int(w), 4)) for c, w in zip(cells, carried.weight, strict=True)))] += 1

    def law(epsilon, outcome):
        total = Decimal(0)
        tops = [cell for cell, w in outcome if w == 4]
        for more in np.ndindex(*[12] * len(tops)):  # a 4 stands for 4 and more
            full = {c: w for c, w in outcome if w < 4} | {c: 4 + m for c, m in zip(tops, more, strict=True)}
            total += sparse_noise_pmf(6, {0: 2, 5: 1}, epsilon, 2, full)
        return float(total)

    common = [outcome for outcome, _ in seen.most_common(12)]
    observed = [seen[outcome] for outcome in common]
    for epsilon, fits in ((Fraction(3, 2), True), (Fraction(11, 10), False)):
        expected = [law(epsilon, outcome) * runs for outcome in common]
        table = [*observed, runs - sum(observed)], [*expected, runs - sum(expected)]
        assert (stats.chisquare(*table).pvalue > 1e-6) == fits


def test_the_threshold_keeps_false_cells_few():
    for cells in (1, 10, 11, 10**6, 10**30):
        for epsilon in (Fraction(1, 100), Fraction(1), Fraction(7)):
            t = threshold_for(cells, epsilon, "auto")
            expected = Decimal(cells) * discrete_laplace_tail(epsilon, t)
            assert expected <= 10
            if t > 1:  # and it is not far too high
                assert Decimal(cells) * discrete_laplace_tail(epsilon, t - 2 if t > 2 else 1) > 10 / (1 + math.e**2) / 2
    assert threshold_for(10**9, Fraction(1), 3) == 3


def test_nothing_but_the_class_is_carried_and_no_number_of_rows_is_stated():
    schema = Schema.parse(
        {
            "name": "x",
            "source": "public",
            "attribute": {
                "age": {"role": "quasi", "kind": "numeric", "range": [0, 4], "step": 1, "missing": ["?"]},
                "zip": {"role": "quasi", "kind": "nominal", "values": ["a", "b"]},
                "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "cold"]},
                "pay": CLASS["pay"],
            },
        }
    )
    table = Table.from_codes(schema, np.array([[0, 0, 0, 0], [4, 1, 1, 1]] * 30))
    for mechanism in (sf.NoisyTable(1), sf.DiffGen(1, specializations=1)):
        release = run(mechanism, gather(mechanism, table), Entropy.seeded(1))
        assert [a.name for a in release.carried] == ["pay"]
        assert "ill" not in release.schema.names
        assert release.left_out is None
        assert release.residence is None
        assert release.form == "cells"
    jointly = schema.with_roles(target=())
    release = run(sf.NoisyTable(1), gather(sf.NoisyTable(1), table.with_roles(target=())), Entropy.seeded(1))
    assert [a.name for a in release.carried] == ["ill"]
    with pytest.raises(sf.ParameterError, match="class to count"):
        sf.NoisyTable(1).claim(jointly.with_roles(sensitive=()))
