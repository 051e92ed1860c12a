"""dictionary.md tells a reader what a group's name stands for."""

import json
import re

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.counts import Table

SCHEMA = {
    "name": "club",
    "attribute": {
        "town": {"role": "quasi", "hierarchy": {"North": ["a", "b"], "South": ["c", "d"]}},
        "hurt": {"role": "sensitive", "values": ["yes", "no"]},
    },
}


def page(source: str, tmp_path) -> str:
    described = {
        **SCHEMA,
        "attribute": {**SCHEMA["attribute"], "town": {**SCHEMA["attribute"]["town"], "source": source}},
    }
    rows = np.array([[code, row % 2] for code in range(3) for row in range(6)])
    release = sf.publish(
        Table.from_codes(sf.Schema.parse(described), rows), sf.Mondrian(sf.KAnonymity(6), nominal="nodes")
    )
    release.save(tmp_path / "out")
    return (tmp_path / "out" / "dictionary.md").read_text()


def test_groups_are_spelled_out(tmp_path):
    text = page("public", tmp_path)
    assert "`North` is a, b" in text
    assert "`South` is c, d" in text


def test_a_hierarchy_read_off_the_data_is_not(tmp_path):
    text = page("data", tmp_path)
    assert "is c, d" not in text
    assert "`South` is" not in text


def test_names_of_groups_read_off_the_data_are_not_called_values(tmp_path):
    """Every cell was `coast` or `inland`: two values, it was said, and that the groups are not published."""
    groups = {"coast": ["Aalst", "Boom"], "inland": ["Cuyk", "Dalen", "Ermelo"]}
    known = {
        "town": {"role": "quasi", "kind": "nominal", "groups": groups, "source": "data"},
        "hurt": {"role": "sensitive", "values": ["yes", "no"], "source": "data"},
    }
    described = sf.Schema.parse({"name": "club", "attribute": known})
    for counts, stated, cells, named in (
        ([3, 3, 3, 3, 3], "2 groups of values (", "the name of a group,", "not published: `coast`, `inland`"),
        (
            [9, 9, 3, 3, 3],
            "2 values and 1 group of values (",
            "one value or the name of a group,",
            "`inland` is the name",
        ),
        ([9, 9, 9, 9, 9], "5 values (", "one value,", ""),
    ):
        rows = np.array([[code, row % 2] for code, many in enumerate(counts) for row in range(many)])
        release = sf.publish(Table.from_codes(described, rows), sf.Mondrian(sf.KAnonymity(6), nominal="nodes"))
        folder = tmp_path / str(counts)
        release.save(folder, allow_text=True)
        text = (folder / "dictionary.md").read_text().partition("### town")[2].partition("###")[0]
        assert f"nominal; {stated}" in text
        assert f"a cell holds {cells}" in text
        assert named in text
        assert ("which values" in text) == bool(named)
        assert "Dalen" not in text or not named
        assert sf.verify(folder).holds, str(sf.verify(folder))
        assert sf.Release.load(folder).schema["town"].unlisted == release_names(folder)


def release_names(folder) -> tuple[str, ...]:
    (town,) = [
        a for a in json.loads((folder / "manifest.json").read_text())["schema"]["attributes"] if a["name"] == "town"
    ]
    return tuple(town.get("groups", ()))


FORMS = {
    "name": "clinic",
    "attribute": {
        "born": {"role": "quasi", "kind": "date", "range": ["2010-01-01", "2012-01-01"], "dates": ["month", "year"]},
        "zip": {"role": "quasi", "values": ["04105", "04109", "20095", "20099", "21029"], "mask": {"length": 5}},
        "visits": {"role": "quasi", "kind": "numeric", "range": [0, 50]},
        "sex": {"role": "quasi", "values": ["f", "m"]},
        "hurt": {"role": "sensitive", "values": ["yes", "no"]},
    },
}


@pytest.mark.parametrize("source", ["public", "data"])
def test_every_form_of_a_cell_is_explained_in_plain_words(source: str, tmp_path):
    described = {name: {**given, "source": source} for name, given in FORMS["attribute"].items()}
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.integers(0, size, 400) for size in (2, 5, 50, 2, 2)])
    rows[:, 0] += 364  # the last day of one year and the first of the next
    table = Table.from_codes(sf.Schema.parse({**FORMS, "attribute": described}), rows)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(30), nominal="nodes"))
    release.save(tmp_path / "out", format="csv")
    text = (tmp_path / "out" / "dictionary.md").read_text()
    reading = text.partition("## How to read a cell")[2]
    forms = {
        r"\d{4}": "`2020` any day of that year",
        r"\d{4}-\d{2}": "`2020-03` any day of that month",
        r"\[\d{4}-\d{2}-\d{2}\.\..*\)": "`[2020-01-01..2020-02-01)`",
        r"\d+\*+": "`509**` any code",
        r"\[\d+-\d+\)": "`[20-40)` 20 or more",
        r"\*": "`*` any value at all",
    }
    cells = {cell for name in ("born", "zip", "visits", "sex") for cell in release.frame()[name]}
    found = [form for form in forms if any(re.fullmatch(form, cell) for cell in cells)]
    assert {r"\d{4}", r"\d+\*+", r"\[\d+-\d+\)"} <= set(found)
    assert all(forms[form] in reading for form in found)
    for odd in ("(part", "to add rows up", "halved", "as far as published"):
        assert odd not in text
    assert ("known from the published cells alone" in text) == (source == "data")
    assert "the levels are not published" in text  # visits
    assert "the groups are not published" in text  # sex


def test_a_part_without_a_name_is_stated_as_such(tmp_path):
    zips = ["01067", "04105", "20095"]
    given = {"sex": FORMS["attribute"]["sex"], "zip": {"role": "quasi", "values": zips, "mask": {"length": 5}}}
    described = {name: {**column, "source": "data"} for name, column in given.items()}
    described["hurt"] = FORMS["attribute"]["hurt"]
    times = {(0, 1): 9, (0, 2): 9, (1, 0): 2, (1, 1): 9, (1, 2): 9}  # of men a few are from the first code
    rows = np.array([[sex, code, at % 2] for (sex, code), many in times.items() for at in range(many)])
    table = Table.from_codes(sf.Schema.parse({"name": "t", "attribute": described}), rows)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(9), nominal="nodes", tight=True))
    assert {"0****", "04105"} <= set(release.frame()["zip"])
    release.save(tmp_path / "out")
    text = (tmp_path / "out" / "dictionary.md").read_text()
    assert "`0****` is 04105, values that no cell names" in text
    assert "(part" not in text
    assert "01067" not in text


def test_a_salary_in_intervals_is_not_said_to_be_published_as_it_is(tmp_path):
    answer = {
        "pay": {"role": "sensitive", "kind": "numeric", "range": [0, 5000], "step": 1000},
        "left": {"role": "target", "kind": "date", "range": ["2020-01-01", "2021-01-01"], "step": "month"},
        "grade": {"role": "target", "kind": "numeric", "range": [0, 5]},
    }
    schema = sf.Schema.parse({"name": "staff", "attribute": {**SCHEMA["attribute"], **answer}})
    rows = np.array([[code, row % 2, row % 5, row % 12, row % 5] for code in range(4) for row in range(60)])
    names = ("town", "hurt", "pay", "left", "grade")
    release = sf.publish(Table.from_codes(schema, rows, names), sf.Mondrian(sf.KAnonymity(6)))
    release.save(tmp_path / "out")
    text = (tmp_path / "out" / "dictionary.md").read_text()
    said = {
        name: next(line for line in text.split(f"### {name}")[1].splitlines() if "published" in line) for name in answer
    }
    assert "published as the interval of the schema that it lies in" in said["pay"]
    assert "published as the interval of the schema that it lies in" in said["left"]
    assert "published as a whole number; decimals, where the data had any, are rounded down" in said["grade"]


@pytest.mark.parametrize("asked", [sf.LDiversity("1.5"), sf.BetaLikeness(4)])
def test_a_share_is_one_of_people_or_of_rows(asked, tmp_path):
    """Where only a number of rows is declared, shares are of rows: one person's can hide that all others agree."""
    rows = np.array([[code, row % 2] for code in range(3) for row in range(6)])
    people = "of the people (of the rows, where no key says whose they are)"
    for number, whose in ((0, "of the rows"), (1, people), (3, people)):
        stated = {"rows_per_person": number} if number else {}
        table = Table.from_codes(sf.Schema.parse({**SCHEMA, **stated}), rows)
        sf.publish(table, sf.Mondrian(asked)).save(tmp_path / str(number))
        said = " ".join((tmp_path / str(number) / "dictionary.md").read_text().split())
        assert whose in said
        assert ("one person may own 3 rows" in said) == (number == 3)


def test_missing_is_not_said_to_be_no_value_alone(tmp_path):
    """What the publisher writes in `missing` may be an answer: a religion None is not one that nobody recorded."""
    faith = {"role": "sensitive", "values": ["a", "b"], "missing": ["None"]}
    described = {**SCHEMA, "attribute": {**SCHEMA["attribute"], "hurt": faith}}
    rows = np.array([[code, row % 3] for code in range(3) for row in range(6)])
    sf.publish(Table.from_codes(sf.Schema.parse(described), rows), sf.Mondrian(k=6)).save(tmp_path / "out")
    text = (tmp_path / "out" / "dictionary.md").read_text()
    assert "`(missing)` no value, or a text that the publisher takes for none" in text
    assert "no value was recorded" not in text
    assert sf.verify(tmp_path / "out").holds


def test_a_known_column_in_steps_is_not_called_exact_in_buckets(tmp_path):
    """`[600-610)` stood for 600.00 in a column that was said to be published as it is."""
    frame = pl.DataFrame({"rent": [600 + at % 40 for at in range(200)], "ill": ["a", "b"] * 100})
    rent = {"role": "quasi", "kind": "numeric", "range": [0, 1000], "step": 10}
    schema = sf.Schema.parse(
        {"name": "t", "attribute": {"rent": rent, "ill": {"role": "sensitive", "values": ["a", "b"]}}}
    )
    sf.publish(sf.read(frame, schema), sf.Bucketize(sf.LDiversity(2)), save_to=tmp_path / "out", format="csv")
    said = (tmp_path / "out" / "dictionary.md").read_text().split("### rent")[1].split("###")[0]
    assert "could be known to an outsider; published as the interval of the schema that it lies in" in said
    assert "published as it is" not in said


def test_without_quasi_identifiers_no_column_is_said_to_be_made_coarser(tmp_path):
    """Columns that others could know were said to be made coarser, where there were none."""
    schema = sf.Schema.parse({**SCHEMA, "attribute": {"hurt": SCHEMA["attribute"]["hurt"]}})
    release = sf.publish(Table.from_codes(schema, np.array([[row % 2] for row in range(12)])), sf.Suppress())
    release.save(tmp_path / "out")
    text = (tmp_path / "out" / "dictionary.md").read_text()
    assert "The publisher names no column that others could know, so none is made coarser." in text
    assert "are made coarser" not in text
    assert "look alike" not in text
    assert sf.verify(tmp_path / "out").holds
