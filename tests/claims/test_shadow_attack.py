"""Membership by shadow releases: people who are found, people who are not, a mutant."""

from __future__ import annotations

import pytest
from tests.claims.planted_people import drawn, made, planted

import sfumato as sf
from sfumato.attacks import Knowledge, Shadow
from sfumato.randomness import Entropy

EVERYTHING = Knowledge()


def test_planted_people_are_found_and_hidden_ones_are_not():
    table, control = planted(drawn(1, 120)), planted(drawn(2, 120))
    shadow = Shadow(people=4, releases=24)
    answer = shadow.run([made(table, sf.Raw())], EVERYTHING, table, control)
    assert (answer.targets.rate, answer.controls.rate) == (1.0, 0.0)  # their exact rows are there, or not
    hidden = shadow.run([made(table, sf.Suppress())], EVERYTHING, table, control)
    assert abs(hidden.value) < 0.5
    between = shadow.run([made(table, sf.Mondrian(sf.KAnonymity(3)))], EVERYTHING, table, control)
    assert between.interval[0] > 0
    assert hidden.value < between.value < answer.value


def test_a_mutant_that_never_leaves_anybody_out_is_caught(monkeypatch):
    """Coins that always fall on one side leave nothing to tell."""
    monkeypatch.setattr(Entropy, "below_many", lambda self, _, size: self.permutation(size) * 0 + 1)
    with pytest.raises(AssertionError):
        test_planted_people_are_found_and_hidden_ones_are_not()


def test_a_release_of_an_unknown_mechanism_does_not_fit():
    from dataclasses import replace

    release = replace(made(planted(drawn(1, 50)), sf.Raw()), mechanism={"name": "arx"})
    assert not Shadow().fits(release)


def lonely(seed: int):
    """A crowd in the first town and somebody far from everybody else."""
    rows = drawn(seed, 120)
    rows[:, 0], rows[:, 1] = rows[:, 0] % 20, 0
    rows[0] = [290, 19, 3]
    return planted(rows)


def test_the_most_exposed_people_are_tried_first():
    table, control = lonely(3), planted(drawn(4, 120))
    found = Shadow(people=1, releases=24).run([made(table, sf.Mondrian(sf.KAnonymity(3)))], EVERYTHING, table, control)
    assert found.records.codes[0].tolist() == [290, 19, 3]


def test_a_mutant_that_tries_the_least_exposed_is_caught(monkeypatch):
    from sfumato.attacks import shadow

    real = shadow.np.lexsort
    monkeypatch.setattr(shadow.np, "lexsort", lambda keys: real(keys)[::-1])
    with pytest.raises(AssertionError):
        test_the_most_exposed_people_are_tried_first()


def test_the_curve_and_the_audit_stand_beside():
    table, control = planted(drawn(1, 120)), planted(drawn(2, 120))
    answer = Shadow(people=10, releases=40).run([made(table, sf.Raw())], EVERYTHING, table, control)
    assert answer.details["auc"] == 1.0
    assert answer.details["hits at 0.001 false alarms"] is None
    assert "bound" not in answer.details
    target = table.with_roles(quasi=["age", "town"], target="ill", sensitive=())
    other = control.with_roles(quasi=["age", "town"], target="ill", sensitive=())
    drew = Shadow(people=4, releases=24).run([made(target, sf.NoisyTable("0.1"))], EVERYTHING, target, other)
    assert drew.details["epsilon at least"] <= drew.details["epsilon claimed"]
    assert drew.notes[-1].startswith("Audit: this attack shows an epsilon of at least")
