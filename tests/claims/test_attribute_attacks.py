"""A learner and the deFinetti attack: planted tables, exact numbers, mutants."""

from __future__ import annotations

import numpy as np
import pytest
from tests.claims.planted_people import PLANTED, drawn, made, planted

import sfumato as sf
from sfumato.attacks import DeFinetti, Foreground, Inference, Knowledge, Learner
from sfumato.attacks.definetti import fit_exchangeable
from sfumato.estimate import align

EVERYTHING = Knowledge()


def test_a_learner_on_planted_tables():
    # The illness follows from the town: the learner tells it of everybody, so that nobody loses by being in.
    rows, others = drawn(1, 400), drawn(2, 400)
    rows[:, 2], others[:, 2] = rows[:, 1] % 4, others[:, 1] % 4
    found = Learner().run([made(planted(rows), sf.Raw())], EVERYTHING, planted(rows), planted(others))
    assert found.targets.rate == found.controls.rate == 1.0
    assert found.value == 0.0
    # Nothing to learn from: the most frequent value, as the baseline.
    hidden = Learner().run([made(planted(rows), sf.Suppress())], EVERYTHING, planted(rows), planted(others))
    assert hidden.targets == hidden.baseline
    assert not hidden.better_than_baseline
    # Values that are coins: what is told beyond chance is each person's own row.
    rows, others = drawn(3, 400), drawn(4, 400)
    coins = Learner(model="tree").run([made(planted(rows), sf.Raw())], EVERYTHING, planted(rows), planted(others))
    assert coins.controls.interval[0] <= 0.25 <= coins.controls.interval[1]


def test_a_learner_that_sees_the_controls_is_caught():
    """A mutant that trains on the controls, too, gains nothing where an honest one does."""
    rows, others = drawn(5, 300), drawn(6, 300)
    rows[:, 0], others[:, 0] = np.arange(300), np.arange(300)
    honest = made(planted(rows), sf.Raw())
    mutant = made(planted(np.concatenate([rows, others])), sf.Raw())
    gain = Inference().run([honest], EVERYTHING, planted(rows), planted(others)).value
    assert gain > 0.3
    assert abs(Inference().run([mutant], EVERYTHING, planted(rows), planted(others)).value) < 0.1


def towns():
    """Illness follows the town, and nobody's age says anything; buckets mix two towns, and not always the same two."""
    many = (50, 40, 30, 20)
    return planted([[at % 7, town, town] for town in range(4) for at in range(many[town])])


def test_definetti_finds_what_random_worlds_hide():
    table = towns()
    release = made(table, sf.Anatomy(2))
    worlds = Inference().run([release], EVERYTHING, table)
    learned = DeFinetti().run([release], EVERYTHING, table)
    assert worlds.targets.rate < 0.75
    assert learned.targets.rate > 0.95
    assert learned.most_exposed > 0.95


def test_definetti_keeps_the_published_numbers():
    release = made(planted(drawn(7, 200)), sf.Anatomy(2))
    view = align(release, PLANTED, "ill")
    model = fit_exchangeable(view, rounds=5)
    assert model.rows.sum(axis=1) == pytest.approx(view.weight, abs=0.05)
    groups = np.zeros((len(view.group_weight), view.values))
    np.add.at(groups, view.group, model.rows)
    assert groups == pytest.approx(view.histogram.toarray(), abs=1e-9)


def test_definetti_adds_nothing_where_there_is_nothing_to_learn():
    table = planted(drawn(8, 200))
    one = DeFinetti().run([made(table, sf.Suppress())], EVERYTHING, table, planted(drawn(9, 200)))
    assert abs(one.value) < 0.1
    assert one.targets.rate < 0.4


def test_definetti_without_rounds_is_a_mutant_that_is_caught(monkeypatch):
    """One that never exchanges values is random worlds again."""
    from sfumato.attacks import definetti

    monkeypatch.setattr(definetti, "_learned", lambda *known: known[3])  # the table as it was
    with pytest.raises(AssertionError):
        test_definetti_finds_what_random_worlds_hide()


def test_definetti_beats_random_worlds_on_anatomy():
    table, control = sf.holdout(sf.datasets.adult(), seed=2)
    release = made(table, sf.Anatomy(4))
    worlds = Inference().run([release], EVERYTHING, table, control)
    learned = DeFinetti().run([release], EVERYTHING, table, control)
    assert learned.attribute == worlds.attribute == "occupation"
    assert learned.targets.interval[0] > worlds.targets.interval[1]
    assert learned.value > worlds.value


def test_foreground_knowledge_is_the_first_round():
    table = towns()
    release = made(table, sf.Anatomy(2))
    found = Foreground().run([release], EVERYTHING, table, planted(drawn(3, 50)))
    once = DeFinetti(rounds=1).run([release], EVERYTHING, table, planted(drawn(3, 50)))
    assert (found.targets, found.controls) == (once.targets, once.controls)
    assert found.attack == found.by_attribute["ill"].attack == "foreground"
    worlds = Inference().run([release], EVERYTHING, table)
    assert worlds.targets.rate < found.targets.rate
