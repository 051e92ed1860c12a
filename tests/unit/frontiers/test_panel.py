"""What is said of one release: typical counts, and rows in which a column tells nothing."""

from __future__ import annotations

import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.frontiers import panel, star_shares


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
