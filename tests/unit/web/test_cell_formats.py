"""How cells are read, as switches: dates, decimals, codes; each choice is a change of the description."""

from __future__ import annotations

import tomllib

import pytest

import sfumato as sf
from sfumato.drafting import draft, keys_of, look_at, preview, profiles
from sfumato.schema.formats import format_problem
from sfumato.web import cell_formats
from sfumato.web.cell_formats import read_as, reading

LINES = ["plz;born;paid;age"] + [
    f"{1000 + at % 40:05};{1 + at % 12:02}/{1950 + at % 40};{at % 9}.{100 + at % 800},{at % 90 + 10};{20 + at % 50}"
    for at in range(120)
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("read") / "people.csv"
    path.write_text("\n".join([*LINES, "01005;07/1980;about 300;44"]) + "\n")
    return path


@pytest.fixture(scope="module")
def text(file):
    return draft(file)


@pytest.fixture(scope="module")
def seen(file):
    return preview(look_at(file).source)


def shown(text, seen):
    return {one["name"]: one for one in read_as(text, seen.rows, seen.columns)}


def test_every_column_says_how_it_is_read_and_shows_it_on_its_first_cells(text, seen):
    found = shown(text, seen)
    assert {name: one["now"] for name, one in found.items()} == {
        "plz": "code",
        "born": "date %m/%Y",
        "paid": "number ,.",
        "age": "number .",
    }
    assert found["born"]["examples"][0] == {"cell": "01/1950", "read": "January 1950"}
    assert found["paid"]["examples"][1] == {"cell": "1.101,11", "read": "1101.11"}
    assert [name for name, one in found.items() if one["plain"]] == ["age"]


def test_a_cell_that_is_not_read_is_shown_with_its_line(file):
    (paid,) = [one for one in profiles(look_at(file)) if one.name == "paid"]
    assert (paid.unread, paid.unread_texts) == ("line 122", ("about 300",))


def test_each_choice_changes_the_description_and_can_be_chosen_back(text, seen, file):
    for name, one in shown(text, seen).items():
        for choice in one["choices"]:
            after = reading({"column": [name], "as": [choice["value"]]})(text)
            assert shown(after, seen)[name]["now"].split(" ")[0] == choice["value"].split(" ")[0]
            alone = {"name": "read", "attribute": {name: tomllib.loads(after)["attribute"][name]}}
            sf.Schema.parse(alone, folder=file.parent)
    wrong = reading({"column": ["born"], "as": ["date %d.%m.%Y"]})(text)
    assert not any(one["read"] for one in shown(wrong, seen)["born"]["examples"])
    assert keys_of(reading({"column": ["born"], "as": ["date %m/%Y"]})(wrong), "born")["format"] == "%m/%Y"


def test_a_code_read_as_a_number_gets_no_public_range(text):
    keys = keys_of(reading({"column": ["plz"], "as": ["number"]})(text), "plz")
    assert (keys["range"], keys["source"], "mask" in keys) == ([0, 100_000], "data", False)


@pytest.mark.parametrize("value", ["date %d", "king", "", "code x"])
def test_a_reading_nobody_offered_is_refused(text, value):
    with pytest.raises(sf.ParameterError):
        reading({"column": ["born"], "as": [value]})(text)


def test_every_offered_format_can_be_used():
    assert [form for form in cell_formats._DATES if form and format_problem(form)] == []
