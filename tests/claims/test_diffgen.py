"""Is DiffGen epsilon-DP as a whole? Every choice of the real code is walked, every count looked at."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.claims.tiny_tables import gathered, pair, random_pair, tiny_schema

import sfumato as sf
from sfumato.attacks.audit import exact_audit, law_of, walked
from sfumato.mechanisms.diffgen.growth import CellTables, OneWay, root_cut
from sfumato.mechanisms.diffgen.scores import score_of

# The kinds of choice, each in at least one configuration; all with two specializations.
KINDS = {
    "paper-max": {"paper": True},
    "paper-infogain": {"paper": True, "score": "infogain"},
    "max": {},
    "gain": {"score": "gain"},
    "infogain": {"score": "infogain"},
    "gini": {"score": "gini"},
    "flip": {"selection": "permute-and-flip"},
    "together": {"splits": "together", "score": "gini", "threshold": 2},
    "cells": {"scored": "cells", "splits": "together", "structure": "7/10"},
    "first": {"scored": "cells", "splits": "together", "first": "gini", "structure": "7/10"},
    "together-flip": {"splits": "together", "selection": "permute-and-flip", "score": "gini"},
    "ratio": {"splits": "together", "ratio": 3},
    "penalty": {"scored": "cells", "penalty": 2, "structure": "9/10"},
    "recommended": {
        **{name: getattr(sf.DiffGen.recommended(2), name) for name in ("first", "score", "scored", "splits")},
        **{name: getattr(sf.DiffGen.recommended(2), name) for name in ("selection", "structure", "ratio", "penalty")},
    },
    "cells-ahead": {"scored": "cells", "score": "gini"},
    "prefix": {"prefix": "1/4", "structure": "1/4"},
    "mostly-cuts": {"structure": "19/20", "score": "infogain"},
}


def diffgen(kind, epsilon=2):
    return sf.DiffGen(epsilon, specializations=2, **KINDS[kind])


@pytest.mark.cells(6)
@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_mechanism_keeps_its_epsilon(kind):
    mechanism = diffgen(kind)
    found = [exact_audit(mechanism, *random_pair(mechanism, seed)) for seed in range(2)]
    assert all(audited.holds for audited in found), [audited.describe() for audited in found]
    assert all(audited.structures > 3 for audited in found)
    assert max(audited.loss for audited in found) > Decimal("0.1")


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", ["1/10", 2, 12])
def test_the_whole_mechanism_keeps_its_epsilon_on_a_grid(kind, epsilon):
    mechanism = diffgen(kind, epsilon)
    for seed in range(20):
        audited = exact_audit(mechanism, *random_pair(mechanism, seed, most=8))
        assert audited.holds, (seed, audited.describe())


@pytest.mark.parametrize("kind", ["max", "cells"])
def test_rows_of_one_person_share_the_budget(kind):
    """With two rows a person, two more rows cost no more than epsilon."""
    schema = tiny_schema(rows_per_person=2)
    mechanism = diffgen(kind)
    rows = [(0, 0, 0, 0), (3, 2, 2, 1)]
    one, two = (gathered(mechanism, schema, [*rows, *more]) for more in ([], [(1, 1, 0, 1), (1, 1, 0, 1)]))
    assert exact_audit(mechanism, one, two).holds
    if kind != "max":
        return
    # The same budget for each single row, had the rows of a person been forgotten:
    single = tiny_schema()
    one, two = (gathered(mechanism, single, [*rows, *more]) for more in ([], [(1, 1, 0, 1), (1, 1, 0, 1)]))
    assert not exact_audit(mechanism, one, two).holds


def test_missing_values_are_a_public_part_from_the_start():
    schema = tiny_schema(
        attribute={
            **tiny_schema_attributes(),
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 4], "step": 1, "missing": ["?"]},
        }
    )
    for kind in ("max", "recommended"):
        mechanism = diffgen(kind)
        audited = exact_audit(mechanism, *pair(mechanism, [(0, 0, 0, 0), (4, 1, 2, 1)], (4, 0, 0, 1), schema))
        assert audited.holds
    law = law_of(mechanism, pair(mechanism, [], (4, 0, 0, 1), schema)[1])
    assert all((4, 5) in said[0][0] for said in law.chances)


def tiny_schema_attributes():
    from tests.claims.tiny_tables import TINY

    return TINY["attribute"]


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(sorted(KINDS)), epsilon=st.sampled_from(["1/10", "1", "7"]))
@settings(max_examples=30)
def test_the_trace_sums_to_epsilon(seed, kind, epsilon):
    mechanism = diffgen(kind, epsilon)
    counts, _ = random_pair(mechanism, seed)
    release = mechanism.apply(counts, sf.Entropy.seeded(seed))
    assert sum(spent for _, spent in release.claim.trace) == Fraction(epsilon)
    planned, spent = dict(mechanism.claim(counts.schema).trace), dict(release.claim.trace)
    assert all(spent[stage] <= planned.get(stage, 0) for stage in spent if stage not in ("counts", "unspent"))
    assert spent["counts"] >= planned["counts"] or kind.startswith("paper")


def test_unspent_steps_go_to_the_counts_but_not_in_the_paper():
    """One taxonomy and no grid: no split is ever drawn."""
    schema = tiny_schema().with_roles(quasi="job")
    for paper in (False, True):
        mechanism = sf.DiffGen(1, specializations=2, paper=paper)
        table = gathered(mechanism, schema, [(0, 1), (2, 0)])
        trace = dict(mechanism.apply(table, sf.Entropy.seeded(1)).claim.trace)
        if paper:
            assert trace == {"selections": Fraction(1, 4), "counts": Fraction(1, 2), "unspent": Fraction(1, 4)}
        else:
            assert trace == {"selections": Fraction(1, 3), "counts": Fraction(2, 3)}


def test_one_way_tables_score_as_the_tree_of_records():
    """Theory A5: partition records along random specializations; each candidate's score is a one-way sum."""
    rng = np.random.default_rng(3)
    schema = tiny_schema()
    for _ in range(60):
        codes = np.column_stack([rng.integers(size, size=12) for size in (4, 3, 3)])
        label = rng.integers(2, size=12)
        tables = OneWay([4, 3, 3], codes, np.ones(12, np.int64), label, 2)
        at = int(rng.integers(3))
        low, high = sorted(rng.choice(schema.quasi[at].size + 1, 2, replace=False))
        cell = rng.integers(4, size=12)  # any partition by the other attributes
        point = int(rng.integers(low, high + 1))
        slow = sum(
            np.array([[((codes[:, at] >= a) & (codes[:, at] < b) & (label == k) & (cell == c)).sum() for k in (0, 1)]
                      for a, b in ((low, point), (point, high))])
            for c in range(4)
        )  # fmt: skip
        [running] = tables.along(at)
        fast = running[0, [point, high]] - running[0, [low, point]]
        assert (fast == slow).all()


def test_scores_in_cells_are_those_of_the_refined_table():
    rng = np.random.default_rng(5)
    codes = np.column_stack([rng.integers(size, size=40) for size in (4, 3, 3)])
    label, weights = rng.integers(2, size=40), rng.integers(1, 4, size=40)
    tables = CellTables([4, 3, 3], codes, weights, label, 2)
    schema = tiny_schema()
    [age] = root_cut(schema["age"])
    [job] = root_cut(schema["job"])
    tables.specialize(0, age, age.split(2))
    tables.specialize(2, job, job.children(schema["job"]))
    score = score_of("max", classes=2, in_cells=True)
    found = sum(score.of(running[:, [1, 3]] - running[:, [0, 1]]).sum() for running in tables.along(1))
    before = after = 0
    for a in (codes[:, 0] < 2, codes[:, 0] >= 2):
        for j in (codes[:, 2] < 2, codes[:, 2] == 2):
            here = a & j
            most = lambda rows: max(weights[rows & (label == k)].sum() for k in (0, 1))  # noqa: E731
            before += most(here)
            after += most(here & (codes[:, 1] < 1)) + most(here & (codes[:, 1] >= 1))
    assert found == after - before


def test_chunks_of_cells_change_nothing(monkeypatch):
    mechanism = diffgen("cells")
    counts, _ = random_pair(mechanism, 11, most=9)
    whole = mechanism.apply(counts, sf.Entropy.seeded(4))
    monkeypatch.setattr("sfumato.mechanisms.diffgen.growth.CHUNK", 1)
    parts = mechanism.apply(counts, sf.Entropy.seeded(4))
    assert whole.frame().equals(parts.frame())


def test_the_walk_agrees_with_what_entropy_draws():
    """The audited law and the drawn releases: 1,500 runs fit it (false alarm below 1e-6), and not its neighbour's."""
    from scipy import stats

    mechanism = sf.DiffGen(12, specializations=1, structure="19/20", splits="together")
    rows = [(0, 0, 0, 0), (1, 0, 2, 1), (3, 2, 2, 1)]
    one, two = pair(mechanism, rows, (3, 2, 1, 0))
    from sfumato.mechanisms.diffgen.growth import Drawn

    runs = 1500
    drawn = [mechanism.decide(one, Drawn(sf.Entropy.seeded(i).child("structure"))).said for i in range(runs)]
    keys = sorted(law_of(mechanism, one).chances, key=str)
    seen = [drawn.count(key) for key in keys]
    assert sum(seen) == runs
    right, wrong = ([float(law_of(mechanism, t).chances[key]) * runs for key in keys] for t in (one, two))
    assert stats.chisquare(seen, np.array(right) * runs / sum(right)).pvalue > 1e-6
    assert stats.chisquare(seen, np.array(wrong) * runs / sum(wrong)).pvalue < 1e-12


def test_probabilities_of_all_structures_sum_to_one():
    for kind in ("paper-max", "flip", "cells-ahead", "prefix"):
        mechanism = diffgen(kind)
        counts, _ = random_pair(mechanism, 2)
        total = sum(chance for chance, _ in walked(lambda draw, m=mechanism, c=counts: m.decide(c, draw)))
        assert abs(total - 1) < Decimal("1e-25")
