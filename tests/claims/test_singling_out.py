"""Predicates that single out: planted tables, counting by the definition, mutants."""

from __future__ import annotations

import numpy as np
import pytest
from tests.claims.planted_people import PLANTED, drawn, made, planted

import sfumato as sf
from sfumato.attacks import Knowledge, SinglingOut, attack_all
from sfumato.attacks.singling_out import Predicates

EVERYTHING = Knowledge()


def test_planted_tables():
    # Everybody is unique on age in the table, and nobody outside has such an age.
    inside = planted([[age, 0, age % 4] for age in range(150)])
    outside = planted([[age, 1, age % 4] for age in range(150, 300)])
    found = SinglingOut(columns=1).run([made(inside, sf.Raw())], EVERYTHING, inside, outside)
    assert found.targets.trials >= 2  # the youngest and the oldest
    assert found.targets.rate == 1.0
    assert found.controls.rate == 0.0
    several = SinglingOut(columns=2, attempts=100).run([made(inside, sf.Raw())], EVERYTHING, inside, outside)
    assert several.targets.rate == 1.0
    assert several.value > 0.5
    # Pairs of equal rows: what is read off the release singles out nobody.
    pairs = planted(np.repeat([[age, age % 20, age % 4] for age in range(100)], 2, axis=0))
    nobody = SinglingOut(columns=3).run([made(pairs, sf.Raw())], EVERYTHING, pairs, outside)
    assert nobody.targets.successes == 0
    assert not nobody.better_than_baseline
    # Half of the published rows are copies of people: their conditions hold for one person, most others for nobody.
    rows, others = drawn(5, 300), drawn(6, 300)
    copied = made(planted(np.concatenate([rows[:150], others[150:]])), sf.Raw())
    between = SinglingOut(columns=3).run([copied], EVERYTHING, planted(rows), planted(drawn(7, 300)))
    assert 0.3 < between.targets.rate < 0.7
    assert between.interval[0] > 0
    # A release that says nothing gives no condition more than chance.
    blind = SinglingOut(columns=3).run([made(inside, sf.Suppress())], EVERYTHING, inside, outside)
    assert blind.value == pytest.approx(0, abs=0.25)


@pytest.mark.parametrize("seed", range(3))
def test_conditions_are_counted_as_defined(seed):
    rng = np.random.default_rng(seed)
    rows = drawn(seed, 300)
    sizes = np.array([PLANTED[name].size for name in ("age", "town", "ill")])
    low = rng.integers(0, sizes, (40, 3))
    high = np.minimum(low + rng.integers(1, sizes, (40, 3)), sizes)
    conditions = Predicates(("age", "town", "ill"), low=low, high=high)
    expected = [((rows >= at) & (rows < to)).all(axis=1).sum() for at, to in zip(low, high, strict=True)]
    assert conditions.met_by(planted(rows).counts()).tolist() == expected


MUTANTS = {
    "counts conditions that nobody meets": lambda real: lambda self, counts: np.minimum(real(self, counts), 1) * 0 + 1,
    "forgets a column": lambda real: (
        lambda self, counts: (
            real(Predicates(self.names, low=self.low * [1, 0, 0], high=np.maximum(self.high, [0, 20, 4])), counts)
            if len(self.names) == 3
            else real(self, counts)
        )
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_mutants_are_caught(name, monkeypatch):
    monkeypatch.setattr(Predicates, "met_by", MUTANTS[name](Predicates.met_by))
    with pytest.raises(AssertionError):
        test_planted_tables()


def test_the_control_is_as_many_people():
    """Of more people as many are drawn; fewer say nothing of how often one of so many meets a condition."""
    inside = planted(drawn(1, 200))
    release = made(inside, sf.Mondrian(sf.KAnonymity(20)))
    fewer, more, same = (
        SinglingOut(attempts=200).run([release], EVERYTHING, inside, planted(drawn(seed, rows)))
        for seed, rows in ((2, 50), (3, 4000), (4, 210))
    )
    assert fewer.controls is None
    assert "50" in fewer.notes[0]
    assert "200" in more.notes[0]
    assert more.controls.rate == pytest.approx(same.controls.rate, abs=0.12)  # 4,000 people would meet hardly any
    assert not same.notes


def test_with_no_condition_to_try_no_guess_is_rated():
    """Nobody is published: no condition is read off the release, and none is compared with a blind one."""
    table = planted(drawn(1, 200))
    empty = made(planted(np.zeros((0, 3), np.int64)), sf.Raw())
    found = SinglingOut().run([empty], EVERYTHING, table)
    assert found.targets.trials == found.baseline.trials == 0
    suite = attack_all(empty, table, attacks=["singling-out"])
    for said in (found.describe(), suite.describe()):
        assert "nothing to try it on" in said
        assert "0 %" not in said
        assert "without the release" not in said


@pytest.mark.parametrize("mechanism", [sf.Raw(), sf.Mondrian(sf.KAnonymity(4)), sf.Anatomy(2)])
def test_many_boxes_are_looked_up_with_the_same_result(mechanism):
    from sfumato.attacks import singling_out
    from sfumato.estimate import align, align_boxes

    release = made(planted(drawn(5, 400)), mechanism)
    linked = not isinstance(mechanism, sf.Anatomy)
    view = align(release, PLANTED, "ill") if linked else align_boxes(release, PLANTED)
    columns = ("age", "town", "ill")[: 2 + linked]
    generator = np.random.default_rng(1)
    tried = singling_out._conditions(view, columns, PLANTED, 3, 200, generator)
    slow = singling_out._expected(view, tried, linked)
    assert slow.max() > 0
    assert singling_out.expected_by_index(view, tried, linked=linked) == pytest.approx(slow)


def test_conditions_are_not_counted_as_people():
    """A few conditions that hold for one person each were said to expose the most exposed 1 % of all."""
    rows = drawn(3, 900)
    found = SinglingOut(attempts=5).run(
        [made(planted(rows), sf.Raw())], EVERYTHING, planted(rows), planted(drawn(4, 900))
    )
    assert 0 < found.targets.successes < 9  # of 900
    assert found.to_json()["counted"] == "conditions"
    assert found.to_json()["most_exposed"] == "nan"
    assert "most exposed" not in found.describe()
