"""A learner and the deFinetti attack: planted tables, exact numbers, mutants."""

from __future__ import annotations

import numpy as np
import pytest
from tests.claims.planted_people import PLANTED, drawn, made, planted

import sfumato as sf
import sfumato.attacks.definetti as definetti_module
import sfumato.attacks.inference as inference_module
from sfumato.attacks import DeFinetti, Foreground, Inference, Knowledge, Learner
from sfumato.attacks.definetti import Exchangeable, fit_exchangeable
from sfumato.estimate import align

EVERYTHING = Knowledge()
LEARNED = definetti_module._learned


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
    # Values that are coins: what is learned beyond chance is each person's own row.
    rows, others = drawn(3, 400), drawn(4, 400)
    coins = Learner(model="tree").run([made(planted(rows), sf.Raw())], EVERYTHING, planted(rows), planted(others))
    assert coins.controls.interval[0] <= 0.25 <= coins.controls.interval[1]


def by_town(value):
    """Twenty people of each town; `value` gives the illness of the one at a place among them."""
    return planted([[at, town, value(town, at)] for town in range(20) for at in range(20)])


def learned(others=None):
    """What a learner gains where the towns of the table and of the others have unlike illnesses."""
    table = by_town(lambda town, _: town % 4)
    return Learner().run([made(table, sf.Raw())], EVERYTHING, table, others or by_town(lambda town, _: (town + 1) % 4))


def test_a_learner_gains_what_its_rows_say():
    everything = learned()
    assert (everything.targets.rate, everything.controls.rate, everything.value) == (1.0, 0.0, 1.0)
    assert everything.baseline.rate == 0.25
    # Of the others half have the illness of their town in the table.
    half = learned(by_town(lambda town, at: (town + at % 2) % 4))
    assert (half.targets.rate, half.controls.rate) == (1.0, 0.5)
    # In the table itself six of ten have it: the learner says it of everybody, and is right six times in ten.
    mixed = by_town(lambda town, at: (town + (at % 5 > 2)) % 4)
    between = Learner().run([made(mixed, sf.Raw())], Knowledge(("town",)), mixed)
    assert between.targets.rate == 0.6


def test_a_learner_is_certain_only_where_its_prediction_never_errs():
    """Every right guess of a learner was called certain, whatever else it says of the same rows."""
    # Three illnesses: six of ten have that of their town, four the next. A prediction is right six times in ten.
    mixed = by_town(lambda town, at: (town % 3 + (at % 5 > 2)) % 3)
    found = Learner().run([made(mixed, sf.Raw())], Knowledge(("town",)), mixed)
    assert found.targets.rate == 0.6
    assert found.details["certain and right"]["successes"] == 0
    assert found.most_exposed == pytest.approx(0.6)
    assert found.details["mean belief in the truth"] == pytest.approx(0.6 * 0.6 + 0.4 * 0.4)
    sure = learned()
    assert sure.details["certain and right"]["successes"] == sure.targets.successes == 400


LEARNER_MUTANTS = {
    "asks about nobody in particular": ("row_features", lambda real: lambda *known: real(*known) * 0),
    "mixes up the values": ("training_lines", lambda real: lambda view, codes: real(view, (codes + 1) % 4)),
    "learns nothing": ("fit", lambda _: lambda *_, **__: lambda x: np.zeros(len(x), np.int64)),
}


@pytest.mark.parametrize("name", LEARNER_MUTANTS)
def test_wrong_learners_are_caught(name, monkeypatch):
    what, broken = LEARNER_MUTANTS[name]
    monkeypatch.setattr(inference_module, what, broken(getattr(inference_module, what)))
    with pytest.raises(AssertionError):
        test_a_learner_gains_what_its_rows_say()


def test_a_learner_that_sees_the_controls_is_caught(monkeypatch):
    """A mutant that trains on the controls, and on them alone, tells them and not the targets."""
    others = by_town(lambda town, _: (town + 1) % 4)
    view = align(made(others, sf.Raw()), PLANTED, "ill")
    real = inference_module.training_lines
    monkeypatch.setattr(inference_module, "training_lines", lambda _, codes: real(view, codes))
    assert learned().value == -1.0
    with pytest.raises(AssertionError):
        test_a_learner_gains_what_its_rows_say()


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


def test_definetti_in_parts_is_definetti(monkeypatch):
    """Groups that are dealt some at a time keep their numbers; a model learned from a part of them says so."""
    from sfumato.attacks import definetti

    table, control = sf.holdout(sf.datasets.adult(), seed=2)
    release = made(table, sf.Anatomy(4))
    view = align(release, table.schema, "occupation")
    people = control.codes([a.name for a in view.quasi])[:3000].astype(np.int64)
    whole = fit_exchangeable(view, rounds=2)
    apart = Exchangeable(**{**vars(whole), "learned": len(view.weight) - 1})
    monkeypatch.setattr(definetti, "_CELLS", 20_000)
    assert apart.beliefs(people) == pytest.approx(whole.beliefs(people), abs=1e-12)
    assert whole.notes() == ()
    monkeypatch.setattr(definetti, "_CELLS", 100_000)
    few = DeFinetti(rounds=3, most=4000)
    learned = few.run([release], EVERYTHING, table, control)
    assert learned.notes[0].startswith("The model was learned from 7,1")
    monkeypatch.undo()
    everything = few.run([release], EVERYTHING, table, control)
    assert not any("learned from" in note for note in everything.notes)
    assert learned.targets.rate == pytest.approx(everything.targets.rate, abs=0.02)


def test_foreground_knowledge_is_the_first_round():
    table = towns()
    release = made(table, sf.Anatomy(2))
    found = Foreground().run([release], EVERYTHING, table, planted(drawn(3, 50)))
    once = DeFinetti(rounds=1).run([release], EVERYTHING, table, planted(drawn(3, 50)))
    assert (found.targets, found.controls) == (once.targets, once.controls)
    assert found.attack == found.by_attribute["ill"].attack == "foreground"
    worlds = Inference().run([release], EVERYTHING, table)
    assert worlds.targets.rate < found.targets.rate


FOREGROUND_MUTANTS = {
    "reads no pattern": ("_learned", lambda *known: known[3]),
    "deals values as random worlds do": ("_exchanged", lambda view, *_: definetti_module._evenly(view)),
    "gives the patterns to the wrong values": ("_learned", lambda *known: np.roll(LEARNED(*known), 1, axis=0)),
}


@pytest.mark.parametrize("name", FOREGROUND_MUTANTS)
def test_wrong_foreground_attacks_are_caught(name, monkeypatch):
    monkeypatch.setattr(definetti_module, *FOREGROUND_MUTANTS[name])
    with pytest.raises(AssertionError):
        test_foreground_knowledge_is_the_first_round()


@pytest.mark.parametrize("kind", [DeFinetti, Foreground])
def test_values_dealt_by_patterns_on_planted_tables(kind):
    # Exact rows: everybody's town says their illness, of the others nobody's does.
    table = by_town(lambda town, _: town % 4)
    others = by_town(lambda town, _: (town + 1) % 4)
    everything = kind().run([made(table, sf.Raw())], EVERYTHING, table, others)
    assert (everything.targets.rate, everything.controls.rate) == (1.0, 0.0)
    # One class: the guess of somebody who has seen the overall numbers, of which a quarter are right.
    nothing = kind().run([made(table, sf.Suppress())], EVERYTHING, table, others)
    assert nothing.targets.rate == nothing.controls.rate == nothing.baseline.rate == 0.25
    assert not nothing.better_than_baseline
    # Six of ten have the illness of their town.
    mixed = by_town(lambda town, at: (town + (at % 5 > 2)) % 4)
    between = kind().run([made(mixed, sf.Raw())], Knowledge(("town",)), mixed)
    assert between.targets.rate == 0.6
