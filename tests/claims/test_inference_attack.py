"""Guessing a sensitive value by the reading of a release: planted tables, a slow attack, mutants."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.attacks import Inference, Knowledge, inference as inference_module
from sfumato.counts import Table
from sfumato.errors import NotComparable, ParameterError
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.schema import Schema

SCHEMA = Schema.parse(
    {
        "name": "planted",
        "source": "public",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 50], "step": 1},
            "sex": {"role": "quasi", "kind": "nominal", "values": ["f", "m"]},
            "ill": {
                "role": "sensitive",
                "kind": "nominal",
                "hierarchy": {"lung": ["flu", "asthma"], "other": ["burn", "gout"]},
            },
        },
    }
)
EVERYTHING = Knowledge()


def planted(rows) -> Table:
    return Table.from_codes(SCHEMA, np.array(rows, np.int64))


def attacked(table, control, mechanism=None, **options):
    release = sf.publish(table, mechanism or sf.Raw(), seed=0)
    return Inference(**options).run([release], EVERYTHING, table, control)


def test_planted_tables():
    # Everybody's illness is a coin of its own; the table gives each away, and says nothing of the others.
    ages = np.arange(48)
    table = planted(np.column_stack([ages, ages % 2, ages // 2 % 4]))
    control = planted(np.column_stack([ages, ages % 2, (ages // 2 + 1) % 4]))
    all_given = attacked(table, control)
    assert (all_given.targets.successes, all_given.targets.trials) == (48, 48)
    assert all_given.controls.successes == 0
    assert all_given.value == 1.0
    assert all_given.most_exposed == 1.0
    # Nothing but the overall distribution, which is even: the first value is guessed for everybody.
    nothing = attacked(table, control, sf.Suppress())
    assert nothing.targets.successes == nothing.controls.successes == nothing.baseline.successes == 12
    assert nothing.value == 0.0
    assert not nothing.better_than_baseline
    # Three people of each age, two of them with one value.
    thirds = planted([[at // 3, 0, (at // 3 + (at % 3 == 0)) % 4] for at in range(48)])
    grouped = attacked(thirds, thirds)
    assert grouped.targets.successes == 32
    assert grouped.value == 0.0  # the control is the table itself


def slow_attack(release, rows, people, ruled_out, parents):
    """By the definition, for one box a group: boxes that hold the point, each value's density, the best by hand."""
    boxes, groups = release.boxes, release.groups
    histogram = groups.histogram("ill").toarray()
    overall = histogram.sum(axis=0)
    right = 0
    for *point, truth in people:
        belief = np.zeros(4)
        for box in range(len(boxes)):
            labels = [table.intervals(int(boxes.labels[box, at])) for at, table in enumerate(boxes.tables)]
            if all(any(low <= code < high for low, high in label) for label, code in zip(labels, point, strict=True)):
                volume = np.prod([sum(high - low for low, high in label) for label in labels])
                group = boxes.group[box]
                belief += boxes.weight[box] / volume * histogram[group] / groups.weight[group]
        assert belief.sum() > 0  # people of the table are always held
        value = {parent: belief[np.array(parents) == parent].sum() for parent in set(parents)}
        common = {parent: overall[np.array(parents) == parent].sum() for parent in set(parents)}
        wrong = sorted((v for v in value if v != parents[truth]), key=lambda v: (-value[v], v))
        left = [v for v in value if v not in wrong[:ruled_out]]
        top = max(value[v] for v in left)
        guess = min((v for v in left if value[v] >= top * (1 - 1e-9)), key=lambda v: (-common[v], v))
        right += guess == parents[truth]
    return right


@pytest.mark.parametrize("ruled_out", [0, 1, 2])
@pytest.mark.parametrize("similar", [0, 1])
@pytest.mark.parametrize(
    "mechanism", [sf.Raw(), sf.Mondrian(sf.KAnonymity(4)), sf.Anatomy(2), sf.Bucketize(sf.LDiversity(2))]
)
def test_equals_the_slow_attack(mechanism, similar, ruled_out):
    rng = np.random.default_rng(5)
    rows = np.column_stack([rng.integers(0, 50, 60), rng.integers(0, 2, 60), rng.integers(0, 4, 60)])
    release = sf.publish(planted(rows), mechanism, seed=1)
    found = Inference(ruled_out=ruled_out, similar=similar).run([release], EVERYTHING, planted(rows), None)
    parents = [0, 0, 1, 1] if similar else [0, 1, 2, 3]
    assert found.targets.successes == slow_attack(release, rows, rows.tolist(), ruled_out, parents)


def test_everything_but_one_value_ruled_out_gives_everybody_away():
    ages = np.arange(48)
    table = planted(np.column_stack([ages, ages % 2, ages // 2 % 4]))
    found = attacked(table, table, sf.Suppress(), ruled_out=3)
    assert found.targets.rate == found.controls.rate == found.baseline.rate == 1.0


def test_fewer_known_columns_find_less():
    ages = np.arange(48)
    table = planted(np.column_stack([ages, ages % 2, ages // 2 % 4]))
    release = sf.publish(table, sf.Raw())
    found = Inference().run([release], Knowledge(("sex",)), table, table)
    assert found.targets.successes == 12
    assert "knows sex " in found.sentence


def test_the_worst_sensitive_attribute_is_named():
    data = {"role": "sensitive", "kind": "nominal", "values": ["a", "b"]}
    schema = Schema.parse(
        {
            "name": "two",
            "source": "public",
            "attribute": {
                "age": {"role": "quasi", "kind": "numeric", "range": [0, 20], "step": 1},
                "safe": data,
                "given": data,
            },
        }
    )
    ages = np.arange(20)
    table = Table.from_codes(schema, np.column_stack([ages, 0 * ages, ages % 2]))
    control = Table.from_codes(schema, np.column_stack([ages, 0 * ages, (ages + 1) % 2]))
    found = Inference().run([sf.publish(table, sf.Raw())], EVERYTHING, table, control)
    assert found.attribute == "given"
    assert found.value == 1.0
    assert set(found.by_attribute) == {"safe", "given"}
    assert found.by_attribute["safe"].value == 0.0


def test_a_sample_of_many_people_is_attacked():
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(0, 50, 500), rng.integers(0, 2, 500), rng.integers(0, 4, 500)])
    found = attacked(planted(rows), planted(rows), most=100)
    assert found.targets.trials == found.controls.trials == 100


def test_names_that_mean_nothing_are_refused():
    table = planted([[1, 0, 0], [2, 1, 1]])
    release = sf.publish(table, sf.Raw())
    with pytest.raises(ParameterError) as caught:
        Inference().run([release], Knowledge(("ill",)), table)
    assert caught.value.name == "known"
    other = Schema.parse(
        {
            "name": "o",
            "source": "public",
            "attribute": {"age": {"role": "quasi", "kind": "numeric", "range": [0, 9], "step": 1}},
        }
    )
    with pytest.raises(NotComparable):
        Inference().run([release], EVERYTHING, table, Table.from_codes(other, np.zeros((2, 1), np.int64)))


MUTANTS = {
    "guesses the least likely": (
        "guessed",
        lambda real: lambda people, beliefs, *a, **k: real(people, -beliefs, *a, **k),
    ),
    "reads everybody as the first person": (
        "inferred",
        lambda real: lambda view, codes: (real(view, codes)[0] * 0 + real(view, codes)[0][:1], real(view, codes)[1]),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_mutants_are_caught(name, monkeypatch):
    what, broken = MUTANTS[name]
    monkeypatch.setattr(inference_module, what, broken(getattr(inference_module, what)))
    with pytest.raises(AssertionError):
        test_planted_tables()


def noisy_half_well(seed: int) -> sf.Release:
    """120 people, most of whom have gout, in noise in which no value stands out."""
    table = half_well()
    mechanism = sf.NoisyTable("0.1", threshold=1)
    return run(mechanism, gather(mechanism, table), Entropy.seeded(seed))


def half_well() -> Table:
    rng = np.random.default_rng(5)
    ill = rng.choice(4, 120, p=[0.15, 0.15, 0.2, 0.5])
    return planted(np.column_stack([rng.integers(0, 50, 120), rng.integers(0, 2, 120), ill]))


@pytest.mark.parametrize("options", [{}, {"ruled_out": 1}, {"risen": True}])
def test_the_baseline_is_that_of_the_people_attacked(options):
    """What is most frequent in a release with noise need not be so in the table."""
    table = half_well()
    share = np.bincount(table.codes(("ill",))[:, 0]) / table.rows
    found = [Inference(**options).run([noisy_half_well(seed)], EVERYTHING, table) for seed in range(8)]
    assert all(gain.frequent.rate == pytest.approx(share.max()) for gain in found)
    if not options:
        assert all(gain.baseline == gain.frequent for gain in found)
    if "risen" in options:  # the mean of the true shares of what is guessed
        assert all(share.min() <= gain.baseline.rate <= share.max() for gain in found)


def test_drawn_rows_leave_nobody_one_value():
    """A value that noise removed is not ruled out."""
    found = Inference().run([noisy_half_well(1)], EVERYTHING, half_well())
    assert found.details["certain and right"]["successes"] == 0
    assert not any("one value" in note for note in found.notes)
    exact = attacked(half_well(), None)
    assert exact.details["certain and right"]["successes"] > 0
    assert any("one value" in note for note in exact.notes)
