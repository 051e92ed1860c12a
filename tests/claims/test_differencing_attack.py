"""Releases subtracted from each other: planted tables, all worlds, mutants."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest
from tests.claims.planted_people import PLANTED, planted

import sfumato as sf
from sfumato.attacks import REGISTRY, Differencing, Knowledge, attack_all
from sfumato.attacks.composing import differencing as module
from sfumato.attacks.composing.differencing import rest_of
from sfumato.estimate import align

EVERYTHING = Knowledge()


def published(rows, cuts):
    """Everybody's age as the interval of `cuts` it lies in, and the town hidden."""
    ends = [0, *cuts, 300]
    label = [next(f"[{low}-{high})" for low, high in pairwise(ends) if low <= age < high) for age, _, _ in rows]
    ill = ["abcd"[code] for _, _, code in rows]
    return sf.Release.read(pl.DataFrame({"age": label, "town": ["*"] * len(rows), "ill": ill}), PLANTED)


def people(*ages_and_ills):
    return [[age, at % 20, ill] for at, (age, ill) in enumerate(ages_and_ills)]


OLD = [(age, 0) for age in range(100, 120)]


def test_planted_tables():
    # Two tables of ages below 30 and below 33: the three between are left, all with c.
    rows = people(*[(age, age % 2) for age in range(10, 30)], (30, 2), (31, 2), (32, 2), *OLD)
    table, control = planted(rows), planted(people((30, 2), (31, 0), (50, 0), (10, 1)))
    pair = [published(rows, [30]), published(rows, [33])]
    found = Differencing().run(pair, EVERYTHING, table, control)
    assert found.targets.successes == 3
    assert found.details == {"isolated": 3, "alone": 0, "fewer than": 5}
    assert found.controls.successes == 1  # one of them has c, too, and stands in the gap
    assert found.baseline.successes == 0  # the most frequent value is a
    assert found.attribute == "ill"
    assert "3 rows of the table in groups of fewer than 5" in found.notes[0]
    # The same cuts twice, or more people in the gap than that: nothing.
    for cuts in ([30], [20]):
        nothing = Differencing().run([pair[0], published(rows, cuts)], EVERYTHING, table, control)
        assert nothing.targets.successes == nothing.details["isolated"] == 0
        assert not nothing.better_than_baseline
    assert Differencing(few=3).run(pair, EVERYTHING, table).targets.successes == 0


@pytest.mark.parametrize("why", ["left_out", "capped"])
def test_nothing_is_subtracted_from_a_release_that_left_out_rows(why):
    """Two people were left out of one release; subtracting the other from it left one row for three, called alone."""
    rows = people((10, 2), (11, 2), *[(age, age % 2) for age in range(12, 30)], (30, 2), (31, 2), (32, 2), *OLD)
    table, finer, whole = planted(rows), published(rows, [30]), published(rows, [33])
    lacking = replace(published(rows[2:], [33]), **{why: 2})
    found = Differencing().run([finer, lacking], EVERYTHING, table)
    assert found.details == {"isolated": 3, "alone": 0, "fewer than": 5}
    assert found.notes[-1] == "Release 2 left out rows: nothing is subtracted from it."
    assert Differencing().run([finer, whole], EVERYTHING, table).details == found.details
    mutant = Differencing().run([finer, replace(lacking, **{why: 0})], EVERYTHING, table)
    assert mutant.details["alone"] == 3


def test_everybody_is_left_alone():
    # Six people of six ages; every cut is published once, so that each lies between two of them.
    rows = people(*[(10 * at, at % 4) for at in range(8)])
    tables = [published(rows, [10 * at]) for at in range(2, 7)]
    found = Differencing(few=2).run(tables, EVERYTHING, planted(rows))
    middle = [row for row in rows if 20 <= row[0] < 60]
    assert found.targets.successes == found.details["alone"] == len(middle)  # the ends stand in classes of two or more
    inner = Differencing(few=2).run(tables, EVERYTHING, planted(middle))
    assert inner.targets.rate == 1.0


def test_equals_all_worlds():
    """In every table that gives the two releases, the people of the gap have these values, and are so many."""
    rows = people((0, 0), (0, 1), (1, 1), (1, 0), (2, 2), (3, 0), (3, 3))
    one, other = published(rows, [2]), published(rows, [3])
    schema = PLANTED.with_roles(quasi=["age"], sensitive="ill")
    views = [align(release, schema, "ill") for release in (one, other)]
    rest = rest_of(views[1], views[0])
    box = next(at for at in range(2) if views[1].tables[0].low[views[1].labels[at, 0]] == 0)

    def histogram(ages, ills, low, high):
        return tuple(sorted(ill for age, ill in zip(ages, ills, strict=True) if low <= age < high))

    ages, ills = [row[0] for row in rows], [row[2] for row in rows]
    seen = {at: histogram(ages, ills, *at) for at in ((0, 2), (2, 300), (0, 3), (3, 300))}
    gaps = set()
    for world in product(range(4), repeat=len(ills)):  # the ages of people with these values
        if all(histogram(world, ills, *at) == held for at, held in seen.items()):
            gaps.add(histogram(world, ills, 2, 3))
    assert gaps == {(2,)}
    assert rest.left[box] == 1
    assert rest.values[box].tolist() == [0, 0, 1, 0]


def test_releases_of_other_people_give_nothing():
    """A difference below 0 shows that the releases are not of the same people; it is given up."""
    rows = people(*[(age, 0) for age in range(10, 30)], *OLD)
    fewer = people(*[(age, 1) for age in range(10, 40)], *OLD)
    found = Differencing().run([published(rows, [100]), published(fewer, [30])], EVERYTHING, planted(rows))
    assert found.details["isolated"] == 0


def test_without_a_sensitive_attribute_people_are_isolated():
    rows = people(*[(age, 0) for age in range(10, 30)], (31, 1), *OLD)
    pair = (published(rows, [30]), published(rows, [33]))
    frames = [sf.Release.read(release.frame().drop("ill"), PLANTED) for release in pair]
    found = Differencing().run(frames, EVERYTHING, planted(rows))
    assert (found.axis, found.attribute, found.targets.successes) == ("identity", None, 1)
    assert found.most_exposed == 1.0


def test_the_suite_subtracts_several_releases():
    rows = people(*[(age, age % 2) for age in range(10, 30)], (30, 2), (31, 2), *OLD)
    pair = [published(rows, [30]), published(rows, [33])]
    found = attack_all(pair, planted(rows), planted(rows), attacks=["differencing"])
    assert found["differencing"].details["isolated"] == 2
    one = attack_all(pair[0], planted(rows), planted(rows), attacks=["differencing"])
    assert "two releases" in one.skipped["differencing"]
    assert REGISTRY["differencing"].several


MUTANTS = {
    "subtracts classes that may reach beyond": lambda real: (
        lambda one, other: np.where(real(one, other) < 0, 0, real(one, other))
    ),
    "subtracts nothing": lambda real: lambda one, other: real(one, other) * 0 - 1,
}


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_mutants_are_caught(name, monkeypatch):
    monkeypatch.setattr(module, "_only_meeting", MUTANTS[name](module._only_meeting))
    with pytest.raises(AssertionError):
        test_planted_tables()
