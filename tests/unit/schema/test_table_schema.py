from __future__ import annotations

import pytest

from sfumato.errors import ParameterError, SchemaError
from sfumato.schema import Attribute, Schema

TEXT = """
name = "people"
rows_per_person = 2
[attribute.id]
role = "identifier"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [17, 91]
[attribute.job]
role = "quasi"
hierarchy = "job.csv"
[attribute.grade]
role = "sensitive"
kind = "ordered"
values = ["low", "mid", "high"]
[attribute.zip]
column = "postcode"
mask = { length = 3, from = "right" }
missing = ["?", ""]
[attribute.income]
role = "target"
values = ["<=50K", ">50K"]
source = "data"
"""


@pytest.fixture
def schema(tmp_path):
    (tmp_path / "job.csv").write_text("Clerk;White;*\nMiner;Blue;*\n", encoding="utf-8")
    (tmp_path / "people.toml").write_text(TEXT, encoding="utf-8")
    return Schema.load(tmp_path / "people.toml")


def test_load(schema):
    assert schema.names == ("id", "age", "job", "grade", "zip", "income")
    assert (schema.name, schema.population, schema.rows_per_person) == ("people", "people", 2)
    assert [a.name for a in schema.quasi] == ["age", "job"]
    assert [a.name for a in schema.sensitive] == ["grade"]
    assert [a.name for a in schema.carried] == ["grade", "income"]
    assert [a.name for a in schema.published] == ["age", "job", "grade", "income"]
    assert schema["zip"].column == "postcode"
    assert schema["zip"].size == 1001
    assert "age" in schema
    assert "Age" not in schema


@pytest.mark.parametrize("given", [TEXT, None, [], ["name"], 5, b"name"])
def test_what_is_no_mapping_is_refused_with_a_way_to_make_one(given):
    with pytest.raises(SchemaError, match=r"schema: must be a mapping.*tomllib\.loads reads a text"):
        Schema.parse(given)


def test_an_unknown_attribute_is_a_parameter_error(schema):
    with pytest.raises(ParameterError, match="attribute = shoe: is not in the schema"):
        schema["shoe"]


def test_roles_given_replace_and_roles_not_given_stay(schema):
    other = schema.with_roles(quasi=["zip", "age"])
    assert [a.name for a in other.quasi] == ["age", "zip"]
    assert [a.name for a in other.sensitive] == ["grade"]
    assert other["job"].role == "other"
    assert other["id"].role == "identifier"
    assert [a.name for a in schema.with_roles(sensitive="job").quasi] == ["age"]
    assert schema.with_roles(sensitive=()).sensitive == ()


def test_roles_that_can_not_be(schema):
    with pytest.raises(ParameterError, match="has no domain"):
        schema.with_roles(quasi="id")
    with pytest.raises(ParameterError, match="is also quasi"):
        schema.with_roles(quasi="age", sensitive="age")
    with pytest.raises(ParameterError, match="is not in the schema"):
        schema.with_roles(quasi="shoe")


def test_decisions_name_what_is_open(schema):
    assert schema.decisions() == []
    assert [(p.path, p.rule.partition(":")[0]) for p in schema.remarks()] == [
        ("attribute.income", "domain read off the data")
    ]
    decide = ["rows_per_person: how many?", "ask the board"]
    bare = Schema.parse({"name": "t", "decide": decide, "attribute": {"a": {"decide": ["role"], "source": "data"}}})
    assert [(p.path, p.rule) for p in bare.decisions()] == [
        ("rows_per_person", "how many?"),
        ("decide", "ask the board"),
        ("attribute.a", "role"),
    ]
    assert [p.rule for p in bare.remarks()] == ["no attribute is a quasi-identifier", "no attribute is sensitive"]


def test_a_proved_claim_does_not_rest_on_what_is_undecided():
    listed = {"role": "quasi", "values": ["x"]}
    data = {"name": "t", "source": "public", "attribute": {"a": listed, "b": {**listed, "decide": ["role: is it?"]}}}
    Schema.parse(data).refuse_data_domains(["a"])
    with pytest.raises(SchemaError, match=r"attribute\.b: undecided: role\."):
        Schema.parse(data).refuse_data_domains(["a", "b"])
    with pytest.raises(SchemaError, match="rows_per_person: undecided: how many"):
        Schema.parse({**data, "decide": ["rows_per_person: how many?"]}).refuse_data_domains(["a"])


def test_domains_read_off_the_data_are_refused_by_name(schema):
    with pytest.raises(SchemaError, match=r"attribute\.age: does not say that its domain or range is public"):
        schema.refuse_data_domains(["age"])
    with pytest.raises(SchemaError, match=r"attribute\.income: its domain or range was read off the data"):
        schema.refuse_data_domains(["age", "income"])


@pytest.mark.parametrize("table", [None, "public", "data"])
@pytest.mark.parametrize("column", [None, "public", "data"])
def test_what_does_not_say_that_it_is_public_is_not(table, column):
    """A column's own word counts; without one the table's; without both a differentially private claim is refused."""
    given = {"role": "quasi", "values": ["x"], **({} if column is None else {"source": column})}
    made = Schema.parse({"name": "t", "attribute": {"a": given}, **({} if table is None else {"source": table})})
    assert made["a"].source == (column or table or "unstated")
    assert Attribute("a").source == "unstated"
    assert Attribute.from_json(made["a"].to_json()).source == made["a"].source
    if made["a"].source == "public":
        made.refuse_data_domains(["a"])
    else:
        with pytest.raises(SchemaError, match=r"attribute\.a: .*source = \"public\""):
            made.refuse_data_domains(["a"])


def test_all_problems_of_the_file_at_once():
    data = {
        "nam": "t",
        "attribute": {
            "a": {"role": "quassi"},
            "b": {"role": "quasi", "kind": "numeric", "range": [5, 1]},
            "c": {"role": "quasi", "hierarchy": "absent.csv"},
            "d": {"role": "quasi", "values": ["x", "x"], "column": "b"},
        },
    }
    with pytest.raises(SchemaError) as caught:
        Schema.parse(data)
    assert sorted(p.path for p in caught.value.problems) == [
        "attribute.a.role", "attribute.b.range", "attribute.c.hierarchy", "attribute.d", "attribute.d", "nam", "name",
    ]  # fmt: skip
    assert str(caught.value).startswith("7 problems:\n  1. ")


def test_files_that_are_no_schema(tmp_path):
    for content, part in [
        (None, "cannot be read"),
        (b"\0", "is not text"),
        (b"[", "is not TOML"),
        (b"", "is missing"),
    ]:
        if content is not None:
            (tmp_path / "s.toml").write_bytes(content)
        with pytest.raises(SchemaError, match=part):
            Schema.load(tmp_path / "s.toml")
    with pytest.raises(SchemaError, match="not a file"):
        Schema.load(tmp_path)


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "numeric", "range": [0, 20]},  # dyadic: some intervals of one cell, some of two
        {"kind": "numeric", "range": [0, 40], "intervals": [5, 10]},
        {"kind": "ordered", "values": list("abcdefghij")},
        {"values": ["a;b", 'c"d', "e"], "missing": ["?"]},
        {"kind": "numeric", "range": [0, 1], "missing": ["?"]},
    ],
)
def test_the_arx_export_lists_every_value_once_and_reads_back(table, tmp_path):
    schema = Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", **table}}})
    (tmp_path / "x.csv").write_text(schema.arx_hierarchy("x"), encoding="utf-8")
    again = Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", "hierarchy": "x.csv"}}}, folder=tmp_path)[
        "x"
    ]
    x = schema["x"]
    assert list(again.values.names) == [x.values.text(code) for code in range(x.values.size)]
    # every set of values with a name of its own keeps it, except the root
    for node in range(1, len(x.nodes)):
        part = (int(x.nodes.low[node]), int(x.nodes.high[node]))
        if x.nodes.names[node] != "(missing)" and part != (0, x.values.size):
            assert again.nodes.names[again.nodes.by_interval[part]] == x.nodes.names[node]


def test_an_export_that_can_not_be(schema):
    with pytest.raises(ParameterError, match="has no domain"):
        schema.arx_hierarchy("id")
    twice = {"X": {"G": ["a"]}, "Y": {"H": {"G": ["b"]}}, "Z": ["H"]}
    names = Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", "hierarchy": twice}}})
    with pytest.raises(ParameterError, match="has one name under two parents"):
        names.arx_hierarchy("x")
    big = Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", "kind": "numeric", "range": [0, 2**31 - 1]}}})
    with pytest.raises(ParameterError, match="has more than 10000000 values"):
        big.arx_hierarchy("x")


def test_names_are_looked_up_and_not_searched_for() -> None:
    """A header of 32,000 names was quadratic. A look-up compares no names of other columns."""

    class Watched(str):
        __slots__ = ()
        seen = 0

        def __eq__(self, other: object) -> bool:
            Watched.seen += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    schema = Schema(tuple(Attribute(Watched(f"c{k}")) for k in range(3000)))
    for k in range(3000):
        assert schema[f"c{k}"].name == f"c{k}"
        assert f"c{k}" in schema
    assert Watched.seen <= 10 * 3000
    assert "other" not in schema
    with pytest.raises(ParameterError, match=r"c99, \.\.\."):
        schema["other"]


_KEYED = {"name": "t", "person": "mrn", "attribute": {"a": {"role": "quasi", "values": ["x"]}}}


@pytest.mark.parametrize("question", ["person: is it?", " PERSON : is it?", "is mrn it?", "who: is it?"])
def test_a_question_about_the_key_is_open_however_it_is_written(question):
    asked = Schema.parse({**_KEYED, "decide": [question]})
    assert asked.person_in_question
    assert [problem.path for problem in asked.undecided_person()] == ["person"]
    known = Schema.parse({**_KEYED, "decide": ["Population: who are they?", "rows-per-person: all?"]})
    assert not known.person_in_question
    assert known.undecided_person() == []


@pytest.mark.parametrize("question", ["rows_per_person: 1?", "Rows_per_person: 1?", "Rows per person: 1?", "1?"])
def test_a_question_about_rows_leaves_the_unit_open_however_it_is_written(question):
    data = {"name": "t", "rows_per_person": 1, "attribute": {"a": {"role": "quasi", "values": ["x"]}}}
    assert Schema.parse(data).unit == "person"
    assert Schema.parse({**data, "decide": ["Duplicates: are they?"]}).unit == "person"
    assert Schema.parse({**data, "decide": [question]}).unit == "row"


@pytest.mark.parametrize("question", ["role: is it?", "Role: is it?", "ROLE :is it?", "role", "quasi or other?"])
def test_a_question_about_a_role_is_open_however_it_is_written(question):
    column = {"role": "quasi", "values": ["x"]}
    asked = Schema.parse({"name": "t", "attribute": {"a": {**column, "decide": [question]}}})
    assert [problem.path for problem in asked.undecided_roles(["a"])] == ["attribute.a"]
    known = Schema.parse({"name": "t", "attribute": {"a": {**column, "decide": ["Groups: which?", "range"]}}})
    assert known.undecided_roles(["a"]) == []


def test_a_question_without_a_key_is_told_apart_in_what_is_said():
    said = Schema.parse({**_KEYED, "decide": ["is mrn it?"]}).undecided_person()[0]
    assert "names no key" in said.rule
    both = Schema.parse({**_KEYED, "decide": ["is mrn it?", "Person: is it?"]}).undecided_person()[0]
    assert both.rule == "the key by which people are counted is still a question"
