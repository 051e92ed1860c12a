"""Membership by shadow releases: people who are told, people who are not, a mutant."""

from __future__ import annotations

import pytest
from tests.claims.planted_people import drawn, made, planted

import sfumato as sf
from sfumato.attacks import Knowledge, Shadow
from sfumato.randomness import Entropy

EVERYTHING = Knowledge()


def test_planted_people_are_told_and_hidden_ones_are_not():
    table, control = planted(drawn(1, 120)), planted(drawn(2, 120))
    shadow = Shadow(people=4, releases=24)
    told = shadow.run([made(table, sf.Raw())], EVERYTHING, table, control)
    assert (told.targets.rate, told.controls.rate) == (1.0, 0.0)  # their exact rows are there, or not
    hidden = shadow.run([made(table, sf.Suppress())], EVERYTHING, table, control)
    assert abs(hidden.value) < 0.5
    between = shadow.run([made(table, sf.Mondrian(sf.KAnonymity(3)))], EVERYTHING, table, control)
    assert hidden.value < told.value
    assert 0 <= between.targets.rate <= 1


def test_a_mutant_that_never_leaves_anybody_out_is_caught(monkeypatch):
    """Coins that always fall on one side leave nothing to tell."""
    monkeypatch.setattr(Entropy, "below_many", lambda self, _, size: self.permutation(size) * 0 + 1)
    with pytest.raises(AssertionError):
        test_planted_people_are_told_and_hidden_ones_are_not()


def test_a_release_of_an_unknown_mechanism_does_not_fit():
    from dataclasses import replace

    release = replace(made(planted(drawn(1, 50)), sf.Raw()), mechanism={"name": "arx"})
    assert not Shadow().fits(release)
