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


def drafted(file):
    return lambda column, spelling, role: look_at(file, written={column: spelling}).attribute_text(column, role)


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
            after = reading({"column": [name], "as": [choice["value"]]}, drafted(file))(text)
            assert shown(after, seen)[name]["now"].split(" ")[0] == choice["value"].split(" ")[0]
            alone = {"name": "read", "attribute": {name: tomllib.loads(after)["attribute"][name]}}
            sf.Schema.parse(alone, folder=file.parent)
    wrong = reading({"column": ["born"], "as": ["date %d.%m.%Y"]}, drafted(file))(text)
    assert not any(one["read"] for one in shown(wrong, seen)["born"]["examples"])
    assert (
        keys_of(reading({"column": ["born"], "as": ["date %m/%Y"]}, drafted(file))(wrong), "born")["format"] == "%m/%Y"
    )


def test_a_code_read_as_a_number_gets_no_public_range(text, file):
    keys = keys_of(reading({"column": ["plz"], "as": ["number"]}, drafted(file))(text), "plz")
    assert (keys["range"], keys["source"], "mask" in keys) == ([0, 100_000], "data", False)


@pytest.mark.parametrize("value", ["date %d", "king", "", "code x"])
def test_a_reading_nobody_offered_is_refused(text, value, file):
    with pytest.raises(sf.ParameterError):
        reading({"column": ["born"], "as": [value]}, drafted(file))(text)


def test_every_offered_format_can_be_used():
    assert [form for form in cell_formats._DATES if form and format_problem(form)] == []


def test_another_reading_of_numbers_brings_its_own_range_unless_a_person_stated_one(tmp_path):
    file = tmp_path / "weights.csv"
    file.write_text("town;weight\n" + "".join(f"{'AB'[at % 2]};{1 + at % 2},{100 + at % 40}\n" for at in range(120)))
    text = draft(file)
    assert keys_of(text, "weight")["range"] == [1000, 3000]  # 1,100 may be a thousand and a hundred
    form = {"column": ["weight"], "as": ["number ,"]}
    after = keys_of(reading(form, drafted(file))(text), "weight")
    assert (after["range"], after["decimal"]) == ([1, 3], ",")
    stated = text.replace('source = "data"', 'source = "public"')
    assert keys_of(reading(form, drafted(file))(stated), "weight")["range"] == [1000, 3000]


def test_signs_of_a_currency_and_words_for_no_value_are_read_on_the_page_as_in_the_file(tmp_path):
    file = tmp_path / "pay.csv"
    lines = [f"{at};{1 + at % 4}.{100 + at},50 \u20ac" for at in range(60)]
    file.write_text("\n".join(["nr;pay", "900;k.A.", *lines]) + "\n", encoding="utf-8")
    (pay,) = [
        one for one in read_as(draft(file), preview(look_at(file).source).rows, ["nr", "pay"]) if one["name"] == "pay"
    ]
    assert [one["read"] for one in pay["examples"]] == ["no value", "1100.50", "2101.50"]
