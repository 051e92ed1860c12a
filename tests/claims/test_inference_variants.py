"""Skewness, similarity and background knowledge: planted tables, a slow attack, mutants."""

from __future__ import annotations

import numpy as np
import pytest
from tests.claims.test_inference_attack import EVERYTHING, planted

import sfumato as sf
from sfumato.attacks import Inference, Knowledge, RuledOut, Similarity, Skewness, inference as inference_module

FLU, ASTHMA, BURN, GOUT = range(4)
FEW = sf.Suppress()


def of_ages(*classes):
    """One age for each class of illnesses; each illness as often as it is named."""
    return planted([[age, 0, ill] for age, illnesses in enumerate(classes) for ill in illnesses])


def attack(kind, table, control=None, mechanism=None):
    return kind.run([sf.publish(table, mechanism or sf.Raw(), seed=0)], EVERYTHING, table, control)


def test_skewness_on_planted_tables():
    # One class of forty is one quarter gout, which nobody else has: three quarters of it are flu all the same.
    skewed = of_ages([GOUT, FLU, FLU, FLU], *([[FLU] * 4] * 39))
    found = attack(Skewness(), skewed, skewed)
    usual = Inference().run([sf.publish(skewed, sf.Raw())], EVERYTHING, skewed, skewed)
    lonely = (found.records.codes[:, 0] == 0) & (found.records.codes[:, -1] == GOUT)
    assert found.records.success[lonely].all()  # the one with gout is pointed at,
    assert not usual.records.success[lonely].any()  # whom a guess of the likeliest value never finds
    assert found.targets.successes == 1 + 39 * 4
    assert found.baseline.successes == pytest.approx(4 * (1 / 160) + 39 * 4 * (159 / 160))
    # Everybody gives themselves away; nobody does.
    alone = of_ages(*[[at % 4] for at in range(48)])
    assert attack(Skewness(), alone, alone).targets.rate == 1.0
    hidden = attack(Skewness(), alone, alone, FEW)
    assert hidden.targets == hidden.baseline
    assert not hidden.better_than_baseline
    # Another share of each class is its own control: no gain.
    assert attack(Skewness(), alone, alone).value == 0.0


def test_similarity_on_planted_tables():
    # Two illnesses of the lung in each even class, two others in each odd one: diverse, and alike.
    table = of_ages(*[[FLU, ASTHMA] if at % 2 else [BURN, GOUT] for at in range(20)])
    apart = attack(Inference(), table, table)
    alike = attack(Similarity(), table, table)
    assert apart.targets.rate == 0.5
    assert alike.targets.rate == 1.0
    assert alike.baseline.rate == 0.5
    assert alike.better_than_baseline
    assert "to within 1 step of its hierarchy" in alike.sentence
    # One of each branch in each class: nothing is gained by being vague.
    mixed = of_ages(*[[FLU, BURN]] * 20)
    found = attack(Similarity(), mixed, mixed)
    assert found.targets.rate == found.baseline.rate == 0.5
    assert attack(Similarity(), table, table, FEW).targets.rate == 0.5


def test_ruled_out_on_planted_tables():
    # Of two values in a class, whoever knows that one is wrong has the other; of three, one remains to be guessed.
    pairs = of_ages(*[[FLU, ASTHMA], [BURN, GOUT]] * 10)
    assert attack(RuledOut(), pairs, pairs).targets.rate == 1.0
    threes = of_ages(*[[FLU, ASTHMA, BURN]] * 10)
    found = attack(RuledOut(), threes, threes)
    assert found.targets.rate == pytest.approx(2 / 3)  # flu before asthma before burn, at equal shares
    assert "rules out 1 wrong value" in found.sentence
    assert attack(RuledOut(ruled_out=2), threes, threes).targets.rate == 1.0
    # A guess without the release rules the same values out.
    assert found.baseline == found.targets


def test_one_value_is_left_only_where_the_release_alone_leaves_one():
    """Two values in every class: whoever rules one out, or takes alike ones as one, read none off the release."""
    claimed = "the release leaves one value, and"
    pairs = of_ages(*[[FLU, ASTHMA], [BURN, GOUT]] * 10)
    for kind in (Inference(), RuledOut(), Similarity()):
        assert not any(claimed in note for note in attack(kind, pairs).notes)
    alone = of_ages(*[[at % 4] for at in range(48)])
    assert any(claimed in note for note in attack(Inference(), alone).notes)
    assert len(attack(RuledOut(), pairs).notes) == len(attack(Similarity(), pairs).notes) == 1


def test_the_most_frequent_value_is_not_that_of_the_most_frequent_branch():
    """Four have gout and six an illness of the lung: to say gout is right for four, the best guess for six."""
    table = of_ages([GOUT] * 4, [FLU] * 3, [ASTHMA] * 3)
    found = attack(Similarity(), table)
    assert found.baseline.rate == 0.6
    assert found.frequent is None or found.frequent.rate == 0.4
    assert "most frequent" not in found.beside
    assert attack(Inference(), table).frequent.rate == 0.4


def test_a_release_without_a_hierarchy_does_not_fit():
    flat = sf.datasets.adult().with_roles(quasi=["age"], sensitive="income")
    release = sf.publish(flat, sf.Raw())
    assert not Similarity().fits(release)
    assert not RuledOut().fits(release)  # two values: one ruled out leaves the truth
    assert Skewness().fits(release)


STAFF = sf.Schema.parse(
    {
        "name": "staff",
        "source": "public",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 50]},
            "reason": {"role": "sensitive", "values": ["flu", "burn", "stress"]},
            "pay": {"role": "sensitive", "kind": "numeric", "range": [0, 80], "intervals": [10, 40]},
            "left": {"role": "sensitive", "values": ["no", "yes"]},
        },
    }
)


def test_attributes_without_levels_are_not_attacked():
    """`guesses reason, to within 1 step of its hierarchy` was said of a flat column, because pay has levels."""
    table = sf.Table.from_codes(STAFF, np.array([[at // 4, at % 3, at % 80, at % 2] for at in range(200)]))
    release = sf.publish(table, sf.Raw())
    for kind, attacked, lacks in (
        (Similarity(), {"pay"}, "reason has no levels above its values; left has no levels above its values."),
        (Inference(similar=1), {"pay"}, "reason has no levels above its values; left has no levels above its values."),
        (RuledOut(), {"reason", "pay"}, "left has too few values to rule any out and guess."),
    ):
        found = kind.run([release], EVERYTHING, table, table)
        assert (set(found.by_attribute) or {found.attribute}) == attacked
        assert found.notes[-1] == f"Not attacked: {lacks}"
        with pytest.raises(sf.NotComparable, match="nothing to attack: left has"):
            kind.run([release], Knowledge(attribute="left"), table, table)
    found = Inference().run([release], EVERYTHING, table, table)
    assert set(found.by_attribute) == {"reason", "pay", "left"}
    assert not any("Not attacked" in note for note in found.notes)


def slow_skewness(table):
    """By hand on exact rows: the value whose share among people of the point is furthest above its usual share."""
    rows = table.codes()
    usual = np.bincount(rows[:, 2], minlength=4) / len(rows)
    order = sorted(range(4), key=lambda value: (-usual[value], value))
    right, expected = 0, 0.0
    for age, sex, truth in rows:
        here = rows[(rows[:, 0] == age) & (rows[:, 1] == sex)]
        rise = np.bincount(here[:, 2], minlength=4) / len(here) - usual
        guess = next(value for value in order if rise[value] >= rise.max() * (1 - 1e-9))
        right += guess == truth
        expected += usual[guess]
    return right, expected


@pytest.mark.parametrize("seed", range(6))
def test_skewness_equals_the_slow_attack(seed):
    rng = np.random.default_rng(seed)
    rows = np.column_stack(
        [rng.integers(0, 12, 90), rng.integers(0, 2, 90), rng.choice(4, 90, p=[0.6, 0.2, 0.15, 0.05])]
    )
    table = planted(rows)
    found = attack(Skewness(), table)
    right, expected = slow_skewness(table)
    assert found.targets.successes == right
    assert found.baseline.successes == pytest.approx(expected)


def without(name):
    """An attacker who never uses one of the options."""
    return lambda real: lambda *given, **options: real(*given, **{k: v for k, v in options.items() if k != name})


MUTANTS = {
    "ranks by the share itself": without("risen"),
    "rules nothing out": without("ruled_out"),
    "sees no hierarchy": without("groups"),
}
CAUGHT_BY = {
    "ranks by the share itself": test_skewness_on_planted_tables,
    "rules nothing out": test_ruled_out_on_planted_tables,
    "sees no hierarchy": test_similarity_on_planted_tables,
}


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_mutants_are_caught(name, monkeypatch):
    monkeypatch.setattr(inference_module, "guessed", MUTANTS[name](inference_module.guessed))
    with pytest.raises(AssertionError):
        CAUGHT_BY[name]()
