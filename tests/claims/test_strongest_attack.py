"""An axis of the frontier is the strongest attack that fits, and names it."""

from __future__ import annotations

import pytest
from tests.claims.planted_people import drawn, made, planted
from tests.claims.test_attribute_attacks import towns

import sfumato as sf
from sfumato.attacks import REGISTRY, Knowledge
from sfumato.errors import NotComparable
from sfumato.frontiers import axes
from sfumato.frontiers.axes import Axis, attacks_of


def strongest(mechanism, table, control):
    return Axis("inference").attack(made(table, mechanism), table, control)


def test_the_axis_is_the_largest_gain_and_is_named():
    """Buckets hide from their readers what deFinetti's attack learns across them."""
    table, control = towns(), planted(drawn(3, 100))
    release = made(table, sf.Anatomy(2))
    found = Axis("inference").attack(release, table, control)
    alone = {
        name: REGISTRY[name]().run([release], Knowledge(), table, control).value
        for name in ("inference", "skewness", "learner", "definetti", "foreground")
    }
    assert found.details["tried"] == alone
    assert found.value == max(alone.values()) > alone["inference"]
    assert alone[found.details["attack"]] == found.value


def test_an_axis_of_the_reading_alone_is_a_mutant_that_is_caught(monkeypatch):
    real = axes.attacks_of
    monkeypatch.setattr(axes, "attacks_of", lambda harm: real(harm)[:1])
    with pytest.raises((AssertionError, KeyError)):
        test_the_axis_is_the_largest_gain_and_is_named()


def test_attacks_that_mean_something_else_take_no_part():
    """Ruling values out is knowing more, and a guess that is only alike is another success."""
    assert [attack.name for attack in attacks_of("inference")] == [
        "inference",
        "skewness",
        "learner",
        "definetti",
        "foreground",
    ]
    assert [attack.name for attack in attacks_of("membership")] == ["membership"]
    assert [attack.name for attack in attacks_of("identity")] == ["identity"]


def test_a_release_that_no_attack_fits_says_why():
    table = planted(drawn(1, 60))
    nothing = sf.Release.read(made(table, sf.Raw()).frame().drop("ill"), table.schema)
    with pytest.raises(NotComparable, match="carries no sensitive"):
        Axis("inference").attack(nothing, table, planted(drawn(2, 60)))


def test_the_report_names_what_was_tried(tmp_path):
    table = planted(drawn(4, 200))
    front = sf.frontier(table, [sf.Mondrian(sf.KAnonymity(5))], privacy=["inference"], workers=0, progress=False)
    assert len(front.points[0].attacks["inference"]["tried"]) == 5
    sf.report(front, tmp_path / "report.html")
    assert "The strongest of 5 attacks; gains in points:" in (tmp_path / "report.html").read_text("utf-8")


def test_results_kept_for_other_attacks_are_not_taken(monkeypatch):
    before = Axis("inference").key
    monkeypatch.setattr(axes, "attacks_of", lambda harm: attacks_of(harm)[:2])
    assert Axis("inference").key != before
