from __future__ import annotations

import pytest

from sfumato.errors import SchemaError
from sfumato.schema import Schema
from sfumato.schema.toml_models import _HINTS, AttributeFile, SchemaFile, parse_toml, read_file

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
        ({**SOUND, "": ""}, '""', "is not a known key"),
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


MASKED = {"name": "x", "attribute": {"a": {"role": "quasi", "mask": {"length": 1}}}}
DAYS = with_attribute(role="quasi", kind="date", range=["2020-01-01", "2020-03-01"])
NUMBERS = with_attribute(role="quasi", kind="numeric", range=[0, 10])


def changed(data, path, value):
    """Return a copy in which one key is something else."""
    if not path:
        return value
    return {**data, path[0]: changed(data.get(path[0], {}), path[1:], value)}


NAME = next(iter(NUMBERS["attribute"]))
WHOLE = {
    "rows_per_person": (NUMBERS, ("rows_per_person",)),
    "rows": (NUMBERS, ("rows",)),
    "mask.length": (MASKED, ("attribute", "a", "mask", "length")),
    "step of days": (DAYS, ("attribute", NAME, "step")),
}


@pytest.mark.parametrize("key", WHOLE)
@pytest.mark.parametrize("value", [True, False, 1.0, 2.0, "1"])
def test_a_whole_number_is_one_in_toml(key, value):
    """`rows_per_person = true` was read as 1, and halved what a claim says; 1.0 and "1" are no whole numbers either."""
    data, path = WHOLE[key]
    assert Schema.parse(changed(data, path, 1))
    with pytest.raises(SchemaError):
        Schema.parse(changed(data, path, value))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("step", True),
        ("range", [False, 10]),
        ("range", [0, True]),
        ("intervals", [5, True]),
        ("edges", [False, 1, 10]),
        ("clamp", 1),
        ("clamp", "yes"),
    ],
)
def test_truth_values_are_no_numbers_and_numbers_no_truth_values(key, value):
    data = changed(NUMBERS, ("attribute", NAME, key), value)
    if key == "edges":
        del data["attribute"][NAME]["range"]
    with pytest.raises(SchemaError, match=key):
        Schema.parse(data)
    with pytest.raises(SchemaError, match="person_exact"):
        Schema.parse({**NUMBERS, "person": "b", "person_exact": "yes"})


def test_numbers_of_every_kind_are_still_numbers():
    for step in (1, 0.5, "0.5"):
        assert Schema.parse(changed(NUMBERS, ("attribute", NAME, "step"), step))


@pytest.mark.parametrize("value", [True, 5.0, "5", None])
def test_whole_numbers_of_a_manifest(value):
    from sfumato.schema.domain import domain_from_json
    from sfumato.schema.hierarchies import Mask

    with pytest.raises(ValueError, match="whole number"):
        domain_from_json({"low": "0", "step": "1", "cells": value})
    with pytest.raises(ValueError, match="whole number"):
        domain_from_json({"first": "2020-01-01", "step": value, "cells": 5})
    with pytest.raises(ValueError, match="whole number"):
        Mask.from_json({"length": value, "from": "right", "alphabet": "01"})


def test_truth_values_are_no_parameters_ledger_limits_or_points_of_a_sweep(tmp_path):
    import sfumato as sf

    wrong = [
        lambda: sf.sweep(sf.Mondrian, k=[True]),
        lambda: sf.sweep(sf.Mondrian, t=[True]),
        lambda: sf.sweep(sf.DiffGen, epsilon=[1], specializations=[True]),
        lambda: sf.DiffGen(True),
        lambda: sf.DiffGen(1, threshold=True),
        lambda: sf.TopDown(True),
        lambda: sf.Anatomy(True),
        lambda: sf.DLink(sf.Mondrian(sf.KAnonymity(3)), d=True),
        lambda: sf.Ledger(tmp_path / "l.db").limit("p", True),
        lambda: sf.Ledger(tmp_path / "l.db").limit("p", 1, True),
    ]
    for action in wrong:
        with pytest.raises(sf.ParameterError):
            action()
    assert sf.KAnonymity(10.0) == sf.KAnonymity(10)  # a parameter is a number, not a key of a file
