from __future__ import annotations

import pytest

from sfumato.errors import SchemaError
from sfumato.schema import Schema
from sfumato.schema.file import _HINTS, AttributeFile, SchemaFile, parse_toml, read_file

SOUND = {"name": "t", "attribute": {"age": {"role": "quasi", "kind": "numeric", "range": [0, 10]}}}


def with_attribute(**table):
    return {"name": "t", "attribute": {"age": table}}


def test_a_sound_file():
    file, attributes, problems = read_file(SOUND)
    assert problems == []
    assert file is not None
    assert file.name == "t"
    assert attributes["age"].role == "quasi"


@pytest.mark.parametrize(
    ("data", "path", "rule"),
    [
        ({}, "name", "is missing"),
        ({"name": "t"}, "attribute", "is missing"),
        ({"name": "t", "attribute": {}}, "attribute", "has a value of the wrong form"),
        ({"name": "", "attribute": {"a": {}}}, "name", "has a value of the wrong form"),
        ({"name": "t", "attribute": {"a": 3}}, "attribute.a", "has a value of the wrong form"),
        ({**SOUND, "rows_per_person": 0}, "rows_per_person", "has a value of the wrong form"),
        ({**SOUND, "rows": True}, "rows", "has a value of the wrong form"),
        ({**SOUND, "rows": 10**15 + 1}, "rows", "has a value of the wrong form"),
        ({**SOUND, "rows": 10**400}, "rows", "has a value of the wrong form"),
        ({**SOUND, "nam": "x"}, "nam", "is not a known key"),
        (with_attribute(role="quassi"), "attribute.age.role", "has a value of the wrong form"),
        (with_attribute(rolle="quasi"), "attribute.age.rolle", "is not a known key"),
        (with_attribute(range=[1]), "attribute.age.range", "has a value of the wrong form"),
        (with_attribute(range=[1, 2, 3]), "attribute.age.range", "has a value of the wrong form"),
        (with_attribute(mask={"length": 0}), "attribute.age.mask", "has a value of the wrong form"),
        (with_attribute(mask={"from": "right"}), "attribute.age.mask", "has a value of the wrong form"),
        (with_attribute(dates=["day"]), "attribute.age.dates", "has a value of the wrong form"),
        (with_attribute(source="secret"), "attribute.age.source", "has a value of the wrong form"),
        (with_attribute(missing={"value": ["?"]}), "attribute.age.missing.value", "is not a known key"),
        (with_attribute(missing="drop"), "attribute.age.missing", "has a value of the wrong form"),
    ],
)
def test_each_wrong_form_has_path_rule_and_hint(data, path, rule):
    file, _, problems = read_file(data)
    assert file is None
    assert (path, rule) in [(p.path, p.rule) for p in problems]
    assert all(p.hint for p in problems)


@pytest.mark.parametrize("rows", [True, 12 * 10**399, 10**16])
def test_a_number_of_rows_that_is_none_is_refused(rows):
    with pytest.raises(SchemaError, match="rows: has a value of the wrong form"):
        Schema.parse({**SOUND, "rows": rows})
    assert Schema.parse({**SOUND, "rows": 10**15}).rows == 10**15


def test_close_names_are_offered():
    _, _, problems = read_file(with_attribute(hierachy="x.csv"))
    assert problems[0].hint == "did you mean hierarchy"


def test_all_wrong_forms_at_once_and_the_sound_attributes_apart():
    data = {"name": 3, "attribute": {"a": {"role": "x", "kind": "y"}, "b": {"step": []}, "c": {"role": "quasi"}}}
    _, attributes, problems = read_file(data)
    assert [p.path for p in problems] == ["name", "attribute.a.role", "attribute.a.kind", "attribute.b.step"]
    assert list(attributes) == ["c"]


def test_every_key_has_a_hint_of_our_own():
    assert {*AttributeFile.model_fields, *SchemaFile.model_fields} <= set(_HINTS)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("name = ", "is not TOML (at end of document"),
        ("a = 1\na = 2\n\n", "is not TOML (at line 2"),
        ("a = " + "9" * 5000, "is not TOML"),
        ("a = " + "[" * 20_000 + "]" * 20_000, "nested too deep"),
        ("a = 2020-02-30", "is not TOML"),
    ],
)
def test_what_is_not_toml(text, part):
    data, problems = parse_toml(text, "x.toml")
    assert data == {}
    assert [p.path for p in problems] == ["x.toml"]
    assert part in problems[0].rule
