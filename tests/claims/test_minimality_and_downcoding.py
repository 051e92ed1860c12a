"""What narrow labels and uncut classes give away: exact worlds, planted breaches, mutants."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest
from tests.claims.planted_people import made, planted

import sfumato as sf
from sfumato.attacks import (
    Downcoding,
    DowncodingRows,
    Inference,
    Knowledge,
    Minimality,
    attack_all,
    minimality as minimality_module,
)
from sfumato.attacks.downcoding import child_chances, end_chance
from sfumato.attacks.minimality import believed
from sfumato.counts import Table
from sfumato.schema import Schema

EVERYTHING = Knowledge()
HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("parts", "values"),
    [
        ((2, 2), (2, 1, 1)),
        ((2, 2), (1, 3)),
        ((1, 3), (2, 1, 1)),
        ((1, 2, 2), (3, 1, 1)),
        ((1, 2, 2), (2, 2, 1)),
        ((2, 5), (2, 5)),
        ((3, 4), (2, 2, 2, 1)),
    ],
)
def test_minimality_equals_all_worlds(parts, values):
    rows = [value for value, many in enumerate(values) for _ in range(many)]
    place = [part for part, many in enumerate(parts) for _ in range(many)]
    shares = {}
    for least in (True, False):
        worlds = []
        for dealt in permutations(rows):
            held = [[v for v, p in zip(dealt, place, strict=True) if p == part] for part in range(len(parts))]
            broken = any(part.count(v) > HALF * len(part) for part in held for v in part)
            if broken or not least:
                worlds.append(held)
        shares[least] = worlds
    worlds = shares[True] or shares[False]
    for part in range(len(parts)):
        for value in range(len(values)):
            expected = Fraction(sum(world[part].count(value) for world in worlds), len(worlds) * parts[part])
            assert believed(parts, values, HALF)[part][value] == expected


WONG = Schema.parse(
    {
        "name": "wong",
        "source": "public",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 300], "step": 1},
            "ill": {"role": "sensitive", "kind": "nominal", "values": list("abcdefgh")},
        },
    }
)


def breach():
    """As Wong et al., section 1: two people of one kind, both ill, and five of another, two-diverse only together."""
    ill = [[10, 0], [10, 0]]
    well = [[11, at] for at in range(1, 6)]
    far = [[200, at] for at in range(8)]
    return Table.from_codes(WONG, np.array([*ill, *well, *far]))


def test_minimality_finds_a_planted_breach():
    table = breach()
    release = made(table, sf.Mondrian(sf.LDiversity(2)))
    sizes = sorted(release.groups.weight.tolist())
    assert sizes == [7, 8]  # the two kinds were not cut apart: both of the first kind have one value
    worlds = Inference().run([release], EVERYTHING, table)
    found = Minimality().run([release], EVERYTHING, table)
    ages, ills = found.records.codes[:, 0], found.records.codes[:, -1]
    both = (ages == 10) & (ills == 0)
    assert found.records.chance[both].tolist() == [1.0]
    assert worlds.records.chance[both][0] < 0.5
    assert found.targets.successes > worlds.targets.successes


def not_minimal():
    """Two people and five who are together because k asks for it: the values of the two differ."""
    return Table.from_codes(WONG, np.array([[10, 1], [10, 2], [11, 0], [11, 0], [11, 3], [11, 4], [11, 5]]))


def test_minimality_is_wrong_where_classes_are_whole_for_another_reason():
    table = not_minimal()
    release = made(table, sf.Mondrian(sf.KAnonymity(4)))
    assert release.groups.weight.tolist() == [7]
    found = Minimality(l=2).run([release], EVERYTHING, table)
    assert (found.targets.successes, found.targets.trials) == (0, 7)  # it is sure that the two are alike
    assert not found.better_than_baseline


def test_minimality_rules_nothing_out_where_every_world_breaks_the_rule():
    """Parts of one person always break it: what is left is the reading of the class."""
    table = Table.from_codes(WONG, np.array([[10 * pair + end, end] for pair in range(12) for end in (0, 1)]))
    release = made(table, sf.Mondrian(sf.LDiversity(2)))
    found = Minimality().run([release], EVERYTHING, table)
    assert found.details["kinds of rows in classes worked out exactly"] == 24
    assert found.records.chance.tolist() == Inference().run([release], EVERYTHING, table).records.chance.tolist()


def test_a_blind_minimality_mutant_is_caught(monkeypatch):
    """One that keeps every world believes what random worlds do."""
    real = minimality_module.believed
    monkeypatch.setattr(minimality_module, "believed", lambda parts, values, _: real(parts, values, Fraction(2)))
    for shown in (
        test_minimality_finds_a_planted_breach,
        test_minimality_is_wrong_where_classes_are_whole_for_another_reason,
    ):
        with pytest.raises(AssertionError):
            shown()


def test_minimality_needs_l_diversity():
    table = breach()
    assert not Minimality().fits(made(table, sf.Mondrian(sf.KAnonymity(2))))
    assert Minimality(l=2).fits(made(table, sf.Mondrian(sf.KAnonymity(2))))
    assert Minimality().fits(made(table, sf.Mondrian(sf.KAnonymity(2) & sf.LDiversity(2))))
    # Two different values may be as uneven as they like: a class is not whole because a part has more than 1/l of one.
    assert not Minimality().fits(made(table, sf.Mondrian(sf.LDiversity(2, kind="distinct"))))
    assert Minimality(l=2).fits(made(table, sf.Mondrian(sf.LDiversity(2, kind="distinct"))))


@pytest.mark.parametrize(("values", "people"), [(2, 2), (3, 2), (4, 3), (3, 4), (5, 2)])
def test_downcoding_equals_all_worlds(values, people):
    tight = [world for world in product(range(values), repeat=people) if {0, values - 1} <= set(world)]
    assert end_chance(values, people) == pytest.approx(np.mean([world[0] == 0 for world in tight]))
    children = (1, values - 1) if values > 1 else (1,)
    below = [world for world in product(range(values), repeat=people) if len({code > 0 for code in world}) == 2]
    found = child_chances(children, people)
    assert found[0] == pytest.approx(np.mean([world[0] == 0 for world in below]))
    assert found[1] == pytest.approx(np.mean([world[0] == 1 for world in below]))


def pairs(gap):
    """Two people in each class, `gap` years apart: a tight label names both of their ages."""
    return planted([[15 * town + end * gap, town, end] for town in range(20) for end in (0, 1)])


def test_downcoding_succeeds_on_its_construction():
    table = pairs(9)
    release = made(table, sf.Mondrian(sf.KAnonymity(2), tight=True))
    assert len(release.groups) == 20
    found = Downcoding().run([release], EVERYTHING, table)
    assert found.attribute == "age"
    assert found.targets.rate == 0.5  # the lower end is one of the two
    assert found.baseline.rate == pytest.approx(0.1)
    assert found.records.chance.max() == pytest.approx(0.5)
    anybody = planted([[15 * town + year, town, 0] for town in range(20) for year in range(10)])
    beside = Downcoding().run([release], EVERYTHING, table, anybody)
    assert beside.controls.rate == pytest.approx(0.1)
    assert beside.better_than_baseline


def test_a_blind_guess_within_the_label_is_not_called_one_without_the_release():
    """Who lives in one of two towns is told by the release; most frequent ages are told by anybody."""
    table = pairs(9)
    release = made(table, sf.Mondrian(sf.KAnonymity(2), tight=True))
    for control in (None, planted([[15 * town, town, 0] for town in range(20) for _ in (0, 1)])):  # all are guessed
        found = Downcoding().run([release], EVERYTHING, table, control)
        suite = attack_all(release, table, control, attacks=["downcoding"])
        assert (
            found.beside == found.to_json()["beside"] == "A blind guess within the published label is right for 10 %."
        )
        assert not found.better_than_baseline
        assert "A blind guess within the published label succeeds on 10.00 %" in found.describe()
        assert "not shown to beat a guess without the release" in found.describe()
        assert "Not shown to beat a guess without the release.\n" in suite.describe()  # of which no rate is known
        for said in (found.describe(), suite.describe()):
            assert "guess without the release is right" not in said
            assert "guess without the release (" not in said


def test_downcoding_says_whom_it_makes_no_guess_about():
    """Three rows are suppressed: the rate is that of the others, although a row of `*` holds everybody."""
    table = pairs(9)
    classes = made(table, sf.Mondrian(sf.KAnonymity(2), tight=True)).frame()
    lost = classes.head(3).with_columns(age=pl.lit("*"), town=pl.lit("*"))
    release = sf.Release.read(pl.concat([lost, classes]), table.schema)
    inside = [[15 * town + end * 9, town, end] for town in range(20) for end in (0, 1)]
    everybody = planted([*inside, *([12, town, 0] for town in range(3))])
    found = Downcoding().run([release], EVERYTHING, everybody)
    assert found.targets.trials == table.rows
    assert "with a generalized one in classes worked out" in found.sentence
    assert found.notes[0].startswith(f"No guess is made of the {found.attribute} of 3 more ")


def test_what_a_release_has_already_is_not_advised():
    """Both attacks said that tight=False would stop them, of releases made without tight labels as well."""
    table = pairs(3)
    for tight in (True, False):
        method = sf.Mondrian(sf.KAnonymity(2), tight=tight)
        for release in (made(table, method), made(table, sf.DLink(method, d=2))):
            for attack in (Downcoding(), DowncodingRows()):
                assert ("tight=False" in attack.run([release], EVERYTHING, table).stops) == tight


def test_wide_labels_give_nothing_away():
    table = pairs(9)
    found = Downcoding().run([made(table, sf.Suppress())], EVERYTHING, table)
    assert not found.better_than_baseline
    assert not Downcoding().fits(made(table, sf.Raw()))


def test_a_downcoding_mutant_that_guesses_the_middle_is_caught(monkeypatch):
    from sfumato.attacks import downcoding

    real = downcoding._guesses

    def middle(view, at, suppressed):
        guess, chance = real(view, at, suppressed)
        return guess + 4, chance

    monkeypatch.setattr(downcoding, "_guesses", middle)
    with pytest.raises(AssertionError):
        test_downcoding_succeeds_on_its_construction()
