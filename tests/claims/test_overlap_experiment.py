"""The overlap experiment attacks who it says it attacks."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sfumato.attacks import composition, draw_samples, overlap_experiment
from sfumato.claims import KAnonymity
from sfumato.counts import Table
from sfumato.datasets import census
from sfumato.errors import ParameterError
from sfumato.measures import query_error, workload
from sfumato.mechanisms import Mondrian, Suppress
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.schema import Schema


def numbered(rows):
    """A table whose quasi-identifier is the row number."""
    schema = Schema.parse(
        {
            "name": "t",
            "attribute": {
                "q": {"role": "quasi", "kind": "numeric", "range": [0, rows], "step": 1},
                "s": {"role": "sensitive", "kind": "nominal", "values": ["x", "y", "z"]},
            },
        }
    )
    return Table.from_codes(schema, np.column_stack([np.arange(rows), np.arange(rows) % 3]))


def ids(table):
    return table.codes(["q"])[:, 0].tolist()


def test_samples_share_the_pool_and_nothing_else():
    drawn = draw_samples(numbered(100), size=20, overlap=7, samples=3, seed=4)
    pool = set(ids(drawn.shared))
    assert len(pool) == 7
    for at, part in enumerate(drawn.tables):
        assert part.rows == 27
        assert set(ids(part)) == set(ids(drawn.only[at])) | pool
        assert not set(ids(drawn.only[at])) & pool
        for other in drawn.tables[:at]:
            assert set(ids(part)) & set(ids(other)) == pool
    assert len(ids(drawn.rest)) == 100 - 67
    assert not set(ids(drawn.rest)) & {i for part in drawn.tables for i in ids(part)}
    assert ids(draw_samples(numbered(100), size=20, overlap=7, samples=3, seed=4).shared) == ids(drawn.shared)
    assert ids(draw_samples(numbered(100), size=20, overlap=7, samples=3, seed=5).shared) != ids(drawn.shared)
    with pytest.raises(ParameterError, match="need 67 rows"):
        draw_samples(numbered(60), size=20, overlap=7, samples=3)


@pytest.fixture(scope="module")
def people():
    return census(14_000, 1).with_roles(sensitive="occupation", target="salary")


def test_victims_are_the_pool_only(people):
    mechanism = Mondrian(KAnonymity(3), cut="widest")
    [row] = overlap_experiment(people, mechanism, size=4000, overlap=600, samples=3, seed=2, queries=20)
    assert row.pairs == 3
    assert (row.one.trials, row.below_d.trials, row.alone.trials) == (1800, 1800, 3600)
    # By hand, on the same samples.
    drawn = draw_samples(people, size=4000, overlap=600, samples=3, seed=2)
    made = [run(mechanism, gather(mechanism, part), Entropy.seeded(0)) for part in drawn.tables]
    pairs = [(0, 1), (0, 2), (1, 2)]
    by_hand = [composition([made[a], made[b]], drawn.shared) for a, b in pairs]
    assert row.one.successes == sum(found.tally.one.successes for found in by_hand)
    assert row.right == row.one  # members always keep their own value
    # Trap 25: the mutant that attacks everybody of the first sample counts people who are not in the second.
    mutant = [composition([made[a], made[b]], drawn.tables[a]).tally for a, b in pairs]
    assert sum(found.one.successes for found in mutant) > sum(found.right.successes for found in mutant)
    assert row.right.rate > row.control_right.rate


def test_same_queries_for_every_mechanism(people):
    mechanisms = {"k5": Mondrian(KAnonymity(5), cut="widest"), "again": Mondrian(KAnonymity(5), cut="widest")}
    mechanisms["nothing"] = Suppress()
    rows = overlap_experiment(people, mechanisms, size=3000, overlap=[50, 100], seed=3, queries=50, classify={})
    assert [(row.mechanism, row.overlap) for row in rows] == [
        (name, overlap) for overlap in (50, 100) for name in mechanisms
    ]
    first, again, nothing = rows[:3]
    assert (first.errors, first.one, first.accuracy) == (again.errors, again.one, again.accuracy)
    drawn = draw_samples(people, size=3000, overlap=50, seed=3)
    mechanism = mechanisms["k5"]
    errors = []
    for at, part in enumerate(drawn.tables):
        work = workload(part, dimension=4, queries=50, kind="range", seed=3 + at)
        errors.append(query_error(part, run(mechanism, gather(mechanism, part), Entropy.seeded(0)), work).value)
    assert first.errors["range"] == pytest.approx(np.mean(errors))
    assert nothing.errors["range"] > first.errors["range"]
    assert nothing.classes == 1
    assert nothing.one.successes == 0
    assert 0 < first.accuracy < 1
    json.dumps([row.to_json() for row in rows])


def test_people_with_several_rows_are_in_one_sample_or_in_all():
    schema = Schema.parse(
        {
            "name": "t",
            "person": "id",
            "rows_per_person": 4,
            "attribute": {
                "id": {"role": "identifier"},
                "q": {"role": "quasi", "kind": "numeric", "range": [0, 40], "step": 1},
                "s": {"role": "sensitive", "kind": "nominal", "values": ["x", "y", "z"]},
            },
        }
    )
    codes = np.column_stack([np.arange(160) % 40, np.arange(160) % 3])
    drawn = draw_samples(Table.from_codes(schema, codes, people=[at // 4 for at in range(160)]), size=10, overlap=5)
    pool = set(drawn.shared.persons().tolist())
    assert len(pool) == 5
    first, second = (set(part.persons().tolist()) for part in drawn.only)
    assert len(first) == len(second) == 10
    assert not first & second
    assert not pool & (first | second)
    assert drawn.rest.people == 15
    with pytest.raises(ParameterError, match="need 45 people"):
        draw_samples(Table.from_codes(schema, codes, people=[at // 4 for at in range(160)]), size=20, overlap=5)
