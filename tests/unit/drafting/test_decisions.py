"""Answering the questions of a drafted schema changes what it must and nothing else."""

from __future__ import annotations

import tomllib

import pytest

import sfumato as sf
from sfumato.drafting import answered, changed, decisions, keys_of, with_attributes, with_roles
from sfumato.schema import Schema

DRAFT = """# keep this
name = "t"
population = "t"  # who
decide = [
  "population: who are the rows about?",
  "rows_per_person: how many rows has one person at most?",
]

[attribute.age]
# a reason
decide = [
  "role: could an outsider know it?",
  "range: which bounds are public?",
]
role = "quasi"
kind = "numeric"
range = [0, 100]  # from the file
step = 1
source = "data"

[attribute."post code"]
decide = ["role: could an outsider know it?"]
role = "quasi"
kind = "nominal"
values = ["a", "b", "c"]
source = "data"
"""


def topics(text):
    return [(one.attribute, one.topic) for one in decisions(text)]


def test_questions_are_listed_in_the_order_of_the_file():
    assert topics(DRAFT) == [
        ("", "population"),
        ("", "rows_per_person"),
        ("age", "role"),
        ("age", "range"),
        ("post code", "role"),
    ]


def test_an_answer_sets_its_keys_closes_its_question_and_keeps_every_comment():
    text = answered(DRAFT, decisions(DRAFT)[3], {"range": [18, 95], "source": "public"})
    assert topics(text) == [one for one in topics(DRAFT) if one != ("age", "range")]
    assert keys_of(text, "age")["range"] == [18, 95]
    for comment in ("# keep this", "# who", "# a reason", "# from the file"):
        assert comment in text
    before, after = tomllib.loads(DRAFT), tomllib.loads(text)
    assert before["attribute"]["post code"] == after["attribute"]["post code"]


def test_all_answers_leave_a_schema_without_decisions():
    text = DRAFT
    while found := decisions(text):
        text = answered(text, found[0])
    assert "decide" not in text
    assert Schema.parse(tomllib.loads(text)).decisions() == []


def test_a_question_is_answered_once():
    first = decisions(DRAFT)[0]
    text = answered(DRAFT, first, {"population": "clinic"})
    with pytest.raises(sf.ParameterError) as caught:
        answered(text, first)
    assert caught.value.name == "decision"


@pytest.mark.parametrize("role", ["identifier", "other"])
def test_a_column_that_is_not_published_has_no_open_question(role):
    text = with_roles(DRAFT, ["age", "post code"], role)
    assert topics(text) == [("", "population"), ("", "rows_per_person")]
    assert {keys_of(text, name)["role"] for name in ("age", "post code")} == {role}


def test_a_published_column_keeps_its_other_questions():
    assert ("age", "range") in topics(with_roles(DRAFT, ["age"], "sensitive"))


def test_new_keys_of_the_table_stand_before_its_columns():
    text = changed(DRAFT, {"rows": 1000, "person": "mrn"})
    held = tomllib.loads(text)
    assert (held["rows"], held["person"]) == (1000, "mrn")
    bare = changed('[attribute.a]\nrole = "other"\n', {"name": "t"})
    assert tomllib.loads(bare) == {"name": "t", "attribute": {"a": {"role": "other"}}}


def test_none_deletes_a_key_and_groups_replace_values():
    groups = {"x": ["a", "b"], "y": ["c"]}
    text = changed(DRAFT, {"groups": groups, "values": None}, attribute="post code")
    assert keys_of(text, "post code")["groups"] == groups
    assert "values" not in keys_of(text, "post code")


def test_one_column_can_be_described_anew():
    text = with_attributes(DRAFT, {"post code": '[attribute."post code"]\nrole = "sensitive"\nvalues = ["a"]\n'})
    assert keys_of(text, "post code") == {"role": "sensitive", "values": ["a"]}
    assert keys_of(text, "age") == keys_of(DRAFT, "age")


@pytest.mark.parametrize("text", ["name = ", "a = 1\na = 2\n", "\x00"])
def test_what_is_not_toml_is_refused(text):
    with pytest.raises(sf.ParameterError):
        decisions(text)


def test_an_unknown_column_or_role_is_refused():
    for call in (lambda: changed(DRAFT, {}, attribute="x"), lambda: with_roles(DRAFT, ["age"], "king")):
        with pytest.raises(sf.ParameterError):
            call()
