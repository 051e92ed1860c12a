"""Joining two halves of a record through a release: planted tables, the slow attack."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.claims.planted_people import PLANTED, drawn, made, planted

import sfumato as sf
import sfumato.attacks.linkage as linkage_module
from sfumato.attacks import Knowledge, Linkage
from sfumato.errors import ParameterError

EVERYTHING = Knowledge()


def test_planted_tables():
    # Twenty people, each with a town and an age of their own: each half finds the row.
    alone = planted([[10 * at, at, 0] for at in range(20)])
    found = Linkage().run([made(alone, sf.Raw())], EVERYTHING, alone, alone)
    assert found.targets.rate == found.controls.rate == 1.0
    # Two people of each kind: the halves meet in one row of two.
    pairs = planted([[10 * at, at, 0] for at in range(20) for _ in range(2)])
    assert Linkage().run([made(pairs, sf.Raw())], EVERYTHING, pairs).targets.rate == pytest.approx(1 / 2)
    # One class of all: the two rows are picked blindly.
    hidden = Linkage().run([made(alone, sf.Suppress())], EVERYTHING, alone)
    assert hidden.targets.rate == pytest.approx(1 / 20)
    assert hidden.targets.rate == pytest.approx(hidden.baseline.rate)
    assert not hidden.better_than_baseline
    # Others whose halves belong to two different people of the table are joined never.
    crossed = planted([[10 * at, (at + 1) % 20, 0] for at in range(20)])
    assert Linkage().run([made(alone, sf.Raw())], EVERYTHING, alone, crossed).value == 1.0


@pytest.mark.parametrize("mechanism", [sf.Raw(), sf.Mondrian(sf.KAnonymity(4)), sf.Anatomy(2)])
def test_equals_the_slow_attack(mechanism):
    rows = drawn(3, 60)
    release = made(planted(rows), mechanism)
    boxes = release.boxes

    def away(box, at, code):
        gaps = []
        for low, high in boxes.tables[at].intervals(int(boxes.labels[box, at])):
            if low <= code < high:
                gaps.append(0.0)
            elif PLANTED.quasi[at].ordered:
                gaps.append((low - code if code < low else code - high + 1) / 299)
            else:
                gaps.append(1.0)
        return min(gaps)

    total = 0.0
    for *point, _ in rows:
        near = []
        for at in (0, 1):
            gaps = np.array([away(box, at, point[at]) for box in range(len(boxes))])
            near.append(set(np.flatnonzero(gaps <= gaps.min() + 1e-6)))
        many = [sum(int(boxes.weight[box]) for box in part) for part in near]
        total += sum(int(boxes.weight[box]) for box in near[0] & near[1]) / (many[0] * many[1])
    found = Linkage().run([release], EVERYTHING, planted(rows))
    assert found.targets.successes == pytest.approx(total)


def test_suppressed_rows_are_not_looked_at():
    """They lie nearest to everybody, so that one in 10 of them hid people who are alone in their row."""
    alone = planted([[10 * at, at, 0] for at in range(20)])
    names = [attribute.name for attribute in PLANTED.quasi]
    texts = {name: [PLANTED[name].text(int(code)) for code in alone.codes([name])[:, 0]] for name in names}
    frame = pl.DataFrame({name: [*column[:18], "*", "*"] for name, column in texts.items()})
    secret = PLANTED.carried[0]
    frame = frame.with_columns(pl.lit(secret.text(0)).alias(secret.name))
    release = sf.Release.read(frame, PLANTED)
    assert release.suppressed_group is not None
    assert Linkage().run([release], EVERYTHING, alone).targets.successes >= 18


def test_others_far_from_every_row_are_not_passed_over():
    """Whoever no row holds is joined by the nearest rows: with a town of the table, by the rows of it."""
    alone = planted([[10 * at, at, 0] for at in range(20)])
    beside = planted([[10 * at + 3, at, 0] for at in range(20)])
    assert Linkage().run([made(alone, sf.Raw())], EVERYTHING, alone, beside).controls.rate == 1.0


def forgets_the_town(real):
    """Look at the age in both files."""
    return lambda view, people, halves: real(view, people, [halves[0], halves[0]])


def counts_boxes(real):
    """Take a box for a row."""
    return lambda view, people, halves: real(replace(view, weight=np.ones_like(view.weight)), people, halves)


def joins_anybody(real):
    """Call it joined wherever both files find rows, the same or not."""
    return lambda view, people, halves: np.ones_like(real(view, people, halves))


@pytest.mark.parametrize("broken", [forgets_the_town, counts_boxes, joins_anybody])
def test_wrong_mutants_are_caught(broken, monkeypatch):
    monkeypatch.setattr(linkage_module, "_linked", broken(linkage_module._linked))
    with pytest.raises(AssertionError):
        test_planted_tables()
    with pytest.raises(AssertionError):
        test_equals_the_slow_attack(sf.Mondrian(sf.KAnonymity(4)))


def test_halves_can_be_named():
    table = planted(drawn(1, 50))
    release = made(table, sf.Raw())
    assert (
        "one file with town and another with age" in Linkage(first=("town",)).run([release], EVERYTHING, table).sentence
    )
    with pytest.raises(ParameterError) as caught:
        Linkage(first=("age", "town")).run([release], EVERYTHING, table)
    assert caught.value.name == "first"
