"""What a person sees of a file: every row is in one bar, in what no bar shows, or missing."""

from __future__ import annotations

import datetime as dt

import pytest

import sfumato as sf
from sfumato.drafting import look_at, preview, profiles

FILE = "id;day;amount;place;note\n" + "".join(
    f"P{at};{1 + at % 28:02d}.{1 + at % 12:02d}.{1990 + at % 30};{at * 7 % 501},5;{'abcdefghijklmnopq'[at % 17]};\n"
    for at in range(600)
)


@pytest.fixture
def look(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text(FILE)
    return look_at(path)


def test_the_first_rows_are_shown_as_read(look):
    seen = preview(look.source, 3)
    assert seen.columns == ("id", "day", "amount", "place", "note")
    assert seen.rows[0][:4] == ("P0", "01.01.1990", "0,5", "a")
    assert (seen.total, seen.delimiter, seen.header) == (600, ";", True)
    with pytest.raises(sf.ParameterError):
        preview(look.source, 0)


def test_bars_count_every_row_once(look):
    found = {one.name: one for one in profiles(look)}
    assert {name: one.kind for name, one in found.items() if name != "note"} == {
        "id": "text",
        "day": "date",
        "amount": "number",
        "place": "text",
    }
    for one in found.values():
        assert sum(bar.rows for bar in one.bars) + one.rest + one.missing == one.rows == 600, one.name
    assert len(found["day"].bars) <= 20
    assert len(found["place"].bars) == 12
    assert found["place"].rest > 0


def test_a_column_is_described_in_another_role(look):
    assert 'role = "sensitive"' in look.attribute_text("place", "sensitive")
    with pytest.raises(sf.ParameterError):
        look.attribute_text("nobody", "quasi")


def test_bars_of_a_few_numbers_or_days_stand_in_their_order(tmp_path):
    """They stood in the order of their rows, under a scale from the first to the last."""
    path = tmp_path / "few.csv"
    lines = [f"{(2, 10, 10, 10, 1, 2)[at % 6]};0{(3, 1, 2)[at % 3]}.05.2024;{'bba'[at % 3]}" for at in range(60)]
    path.write_text("\n".join(["days;on;ward", *lines]))
    found = {one.name: [bar.label for bar in one.bars] for one in profiles(look_at(path))}
    assert found == {"days": ["1", "2", "10"], "on": ["01.05.2024", "02.05.2024", "03.05.2024"], "ward": ["b", "a"]}


def test_the_ends_of_the_bars_are_those_of_the_file(tmp_path):
    path = tmp_path / "people.csv"
    first = dt.date(2024, 1, 1)
    lines = [f"{1959 + at % 48},{first + dt.timedelta(days=at % 366)},{at % 77 * 1000 + 0.5}" for at in range(400)]
    path.write_text("\n".join(["born,day,pay", *lines]) + "\n")
    found = {one.name: [bar.label for bar in one.bars] for one in profiles(look_at(path))}
    assert found["born"][0].startswith("1959 to ")
    assert found["born"][-1].endswith(" to 2006")
    assert found["day"][0].startswith("2024-01-01 to ")
    assert found["day"][-1].endswith(" to 2024-12-31")
    assert found["pay"][0].startswith("0.5 to ")
    assert found["pay"][-1].endswith(" to 76,000.5")
