"""What is said of one release: typical counts, and rows in which a column tells nothing."""

from __future__ import annotations

import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.frontiers import moved_words, panel, star_shares, typical_words


def _survey(carried: int) -> sf.Table:
    draw = random.Random(1)
    names = ["known", *(f"q{at}" for at in range(carried))]
    rows = pl.DataFrame({name: draw.choices("abc", weights=(6, 3, 1), k=300) for name in names})
    described = {name: {"role": "sensitive", "values": [*"abc"]} for name in names}
    described["known"]["role"] = "quasi"
    return sf.read(rows, sf.Schema.parse({"name": "survey", "attribute": described}))


def test_many_exact_tables_of_carried_columns_do_not_make_a_typical_count_exact() -> None:
    table = _survey(8)
    exact, read = panel.tables_of(table, sf.publish(table, sf.Suppress()))
    typical = panel.typical_count(exact, read)
    assert typical["share"] > 0.1
    assert typical["cells"] <= sum(exact.counts("known", f"q{at}").size for at in range(8))
    assert "of" not in typical


def test_a_quasi_identifier_is_counted_though_there_are_more_carried_columns_than_are_paired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(panel, "PAIRED_COLUMNS", 4)
    table = _survey(8)
    typical = panel.typical_count(*panel.tables_of(table, sf.publish(table, sf.Suppress())))
    assert typical["share"] > 0.1
    assert typical["columns"] == 4


def test_known_alone_tells_nothing() -> None:
    age = {"role": "quasi", "kind": "numeric", "range": [0, 80], "step": 10, "missing": [""], "source": "public"}
    schema = sf.Schema.parse({"name": "few", "attribute": {"age": age, "ill": {"role": "sensitive", "values": ["y"]}}})
    rows = {"age": ["*", "(known)", "(known)", "(missing)", "[10-20)"], "ill": ["y"] * 5}
    assert star_shares(sf.Release.read(pl.DataFrame(rows), schema)) == {"age": 3 / 5}


def test_the_class_with_the_largest_share_of_any_sensitive_column_is_listed_though_others_are_smaller() -> None:
    towns = [*"abcdefgh"]
    columns = {"town": {"role": "quasi", "values": towns}} | {
        name: {"role": "sensitive", "values": ["x", "y"]} for name in ("ill", "pay")
    }
    rows = {"town": [], "ill": [], "pay": []}
    for at, town in enumerate(towns):  # 4 to 11 rows, half and half; in the largest class all but one have one pay
        number = 4 + at
        rows["town"] += [town] * number
        rows["ill"] += ["xy"[row % 2] for row in range(number)]
        rows["pay"] += ["x"] * (number - 1) + ["y"] if town == "h" else ["xy"[row % 2] for row in range(number)]
    release = sf.Release.read(pl.DataFrame(rows), sf.Schema.parse({"name": "towns", "attribute": columns}))
    found = panel.riskiest_classes(release)
    assert [one["people"] for one in found[:2]] == [4, 5]
    assert found[2] == {"people": 11, "labels": {"town": "h"}, "column": "pay", "value": "x", "share": 10 / 11}
    assert len(found) == 5
    assert len({one["labels"]["town"] for one in found}) == 5


def test_a_column_counted_by_its_first_digits_is_not_said_to_be_counted_nowhere_else() -> None:
    """Of a postcode that keeps its first digit the ranges are exact, but no single postcode is."""
    draw = random.Random(1)
    codes = [f"{first}{last}" for first in "123" for last in range(100, 130)]
    rows = {"plz": draw.choices(codes, weights=[1 + at % 7 for at in range(90)], k=600), "ill": ["y", "n"] * 300}
    mask = {"role": "quasi", "mask": {"length": 4, "from": "right"}}
    schema = sf.Schema.parse(
        {"name": "t", "attribute": {"plz": mask, "ill": {"role": "sensitive", "values": ["n", "y"]}}}
    )
    table = sf.read(pl.DataFrame(rows), schema)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(150)))
    exact, read = panel.tables_of(table, release)
    column = next(one for one in panel.columns_of(exact, read) if one["name"] == "plz")
    assert column["moved"] == 0
    assert column["values_moved"] > 0.1
    assert moved_words(column).startswith("0 % of the rows are counted in another of these ranges, ")
    typical = panel.typical_count(exact, read)
    assert typical["share"] == 0
    assert typical["ranges"]
    assert "values_moved" not in next(one for one in panel.columns_of(exact, read) if one["name"] == "ill")


def test_a_count_that_is_exact_by_ranges_alone_is_said_to_be_one() -> None:
    found = {"count": 100, "off": 0.0, "share": 0.0, "cells": 4}
    assert typical_words(found) == "count of 100 is typically exact"
    assert typical_words({**found, "ranges": True}).endswith(
        "typically exact by ranges of values, not by single values"
    )
