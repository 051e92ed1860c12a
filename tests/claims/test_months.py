"""Item 13: a file that names months (03/1994) gives cells of months, from label to verified release and back."""

from __future__ import annotations

import datetime as dt
import itertools
import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.schema import Attribute, Schema, label_name, parse_label

KEYS = {"kind": "date", "range": ["1993-11-01", "1995-03-01"], "step": "month", "format": "%m/%Y"}


def schema(**keys) -> Schema:
    entry = {"role": "quasi", **KEYS, **keys}
    ill = {"role": "sensitive", "values": ["a", "b", "c"]}
    return Schema.parse({"name": "t", "attribute": {"entry": entry, "ill": ill}})


@pytest.mark.parametrize("keys", [{}, {"dates": ["month", "year"]}, {"dates": ["quarter"]}, {"missing": ["?"]}])
def test_labels_of_months_come_back(keys) -> None:
    entry = schema(**keys)["entry"]
    again = Attribute.from_json(entry.to_json())
    assert again.values == entry.values
    for low, high in itertools.combinations(range(entry.values.size + 1), 2):
        text = label_name(entry, [(low, high)])
        assert parse_label(entry, text) == ((low, high),), text
        assert parse_label(again, text) == ((low, high),), text
    assert entry.text(4) == "1994-03"
    assert parse_label(entry, "03/1994", written=True) == ((4, 5),)
    assert parse_label(entry, "[1994-03-01..1994-04-01)") == ((4, 5),)
    assert parse_label(entry, "[1994-02-28..1994-03-31]") == ((3, 5),)


def test_every_day_lies_in_the_cell_of_its_month() -> None:
    days = schema()["entry"].values
    for code in range(days.size):
        first, after = days.edge(code), days.edge(code + 1)
        assert (days.place(first), days.place(after - dt.timedelta(days=1))) == (code, code)
        assert (days.place(first, -1), days.place(after - dt.timedelta(days=1), 1)) == (code - 1, code + 1)
        assert first.day == 1


@pytest.mark.parametrize("keys", [{}, {"dates": ["month", "year"], "source": "data"}])
def test_a_release_of_months_verifies_and_names_no_day(tmp_path, keys) -> None:
    drawn = random.Random(5)
    months = [f"{drawn.randrange(1, 13):02}/1994" for _ in range(300)]
    frame = pl.DataFrame({"entry": months, "ill": [drawn.choice("abc") for _ in months]})
    table = sf.read(frame, schema(**keys))
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(20)), seed=1)
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").holds
    cells = set(release.frame()["entry"].to_list())
    assert len(cells) > 5
    assert all(cell.count("-") == 1 or ".." in cell for cell in cells), cells
    back = sf.Release.load(tmp_path / "out")
    assert back.frame().equals(release.frame())
    exact = sf.publish(table, sf.Bucketize(sf.LDiversity(2)), seed=1).frame()
    assert set(exact["entry"].to_list()) == {f"{text[3:]}-{text[:2]}" for text in months}
