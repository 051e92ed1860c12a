"""Each form is one edit of the schema file; what a form cannot mean is refused and changes nothing."""

from __future__ import annotations

import json
import tomllib

import pytest

import sfumato as sf
from sfumato.drafting import decisions, keys_of, units
from sfumato.schema import Schema
from sfumato.web import edits, questions

TEXT = """name = "t"
population = "t"
rows_per_person = 1
decide = ["rows_per_person: how many?"]
[attribute.id]
role = "identifier"
[attribute.town]
decide = ["groups: which are alike?"]
role = "quasi"
kind = "nominal"
values = ["a", "b", "c", "d"]
source = "data"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 100]
step = 1
source = "data"
"""


def loads(text):
    return Schema.parse(tomllib.loads(text))


def test_values_are_grouped_moved_and_taken_out():
    one = edits.group("town", {"value": ["a", "b"], "new": ["West"]})(TEXT)
    assert keys_of(one, "town")["groups"] == {"c": ["c"], "d": ["d"], "West": ["a", "b"]}
    assert "decide" not in keys_of(one, "town")
    two = edits.group("town", {"value": ["c"], "group": ["West"], "new": [""]})(one)
    three = edits.ungroup("town", {"value": ["a"]})(two)
    assert keys_of(three, "town")["groups"] == {"d": ["d"], "West": ["b", "c"], "a": ["a"]}
    four = edits.ungroup("town", {"group": ["West"]})(three)
    assert sorted(keys_of(four, "town")["values"]) == ["a", "b", "c", "d"]
    assert "groups" not in keys_of(four, "town")
    for text in (one, two, three, four):
        assert loads(text)["town"].size == 4


def test_spellings_become_one_value():
    text = edits.merge("town", {"value": ["a", "b"], "into": ["a"]})(TEXT)
    assert keys_of(text, "town")["same"] == {"a": ["b"]}
    again = edits.merge("town", {"value": ["a", "c"], "into": ["c"]})(text)
    assert keys_of(again, "town")["same"] == {"c": ["a", "b"]}
    assert loads(again)["town"].size == 2


def test_the_spelling_to_keep_need_not_be_selected():
    """One had to tick it besides choosing it, and was told `value = 1: must be two or more`."""
    text = edits.merge("town", {"value": ["b"], "into": ["a"]})(TEXT)
    assert text == edits.merge("town", {"value": ["a", "b"], "into": ["a"]})(TEXT)
    for form in ({"value": ["a"], "into": ["a"]}, {"into": ["a"]}, {"value": ["a"]}):
        with pytest.raises(sf.ParameterError, match="is selected to be replaced"):
            edits.merge("town", form)(TEXT)
    for form in ({"value": ["a"], "into": ["nowhere"]}, {"value": ["nowhere"], "into": ["a"]}):
        with pytest.raises(sf.ParameterError, match="is not a value of the column"):
            edits.merge("town", form)(TEXT)


def test_a_range_says_where_it_comes_from():
    form = {"fields": ["range", "intervals"], "low": ["18"], "high": ["95"], "step": ["1"], "intervals": ["7, 14"]}
    assert keys_of(edits.own_keys("age", form)(TEXT), "age")["source"] == "data"
    public = keys_of(edits.own_keys("age", {**form, "public": ["yes"]})(TEXT), "age")
    assert (public["range"], public["source"], public["intervals"]) == ([18, 95], "public", [7, 14])


@pytest.mark.parametrize(
    "form",
    [
        {"fields": ["range"], "low": ["x"], "high": ["5"]},
        {"fields": ["range"], "low": [""], "high": ["5"]},
        {"fields": ["range"], "low": ["1"], "high": ["1e999999999"]},
        {"fields": ["mask"], "digits": ["five"]},
        {"fields": ["intervals"], "intervals": ["5, ten"]},
    ],
)
def test_what_is_no_number_is_refused(form):
    with pytest.raises(sf.ParameterError):
        edits.own_keys("age", form)(TEXT)


def test_the_person_is_never_published():
    form = {"person": ["town"], "rows": ["all"], "population": ["clinic"]}
    held = tomllib.loads(edits.person(form)(TEXT))
    assert held["person"] == "town"
    assert held["attribute"]["town"]["role"] == "identifier"
    assert "rows_per_person" not in held
    assert "decide" not in held


def test_one_row_each_or_at_most_some():
    held = tomllib.loads(
        edits.person({"person": [""], "unit": ["person"], "rows": ["most"], "most": ["3"], "population": ["p"]})(TEXT)
    )
    assert (held["rows_per_person"], held["population"], held.get("person")) == (3, "p", None)
    with pytest.raises(sf.ParameterError):
        edits.person({"person": ["id"], "rows": ["most"], "most": ["0"]})


def test_that_a_row_is_a_person_is_never_assumed():
    form = {"person": [""], "rows": ["most"], "most": ["1"], "population": ["p"]}
    with pytest.raises(sf.ParameterError, match="Who is a row about: not answered yet"):
        edits.person(form)
    held = tomllib.loads(edits.person({**form, "unit": ["row"]})(TEXT))
    assert not {"person", "rows_per_person", "decide"} & held.keys()


def test_a_question_about_who_a_row_is_takes_its_own_answer_only():
    asked = [units.ask_visits("visit_id"), units.ask_two_people("age_husband", "age_wife"), units.ask_counts("n")]
    text = f'name = "t"\nrows_per_person = 1\ndecide = {json.dumps(asked)}\n[attribute.n]\nrole = "other"\n'
    shown = [questions.asked(one, {}) for one in decisions(text)]
    assert [(one["keep"] != "", one["answer"]) for one in shown] == [(False, ""), (True, "no"), (True, "person")]
    form = {"topic": ["rows_per_person"], "question": [shown[0]["question"]]}
    for given in ({}, {"answer": ["yes"]}):  # a person can have several rows, and the file says one
        with pytest.raises(sf.ParameterError):
            edits.answer({**form, **given})(text)
    each = {"person": [""], "unit": ["person"], "population": ["p"]}
    assert tomllib.loads(edits.person(each)(text))["decide"] == asked[1:]  # which that does not answer
    rows = tomllib.loads(edits.person({**each, "unit": ["row"]})(text))
    assert rows["decide"] == asked[2:]  # a row that is no person may stand for several
    held = tomllib.loads(edits.answer({**form, "question": [shown[2]["question"]], "answer": ["person"]})(text))
    assert (held["not_count"], held["rows_per_person"], len(held["decide"])) == (["n"], 1, 2)


def test_a_column_without_a_domain_is_described_when_it_is_to_be_published():
    def described(name, role):
        return f'[attribute.{name}]\nrole = "{role}"\nvalues = ["x", "y"]\n'

    text = edits.roles({"column": ["id"], "role": ["quasi"]}, described)(TEXT)
    assert keys_of(text, "id") == {"role": "quasi", "values": ["x", "y"]}
    with pytest.raises(sf.ParameterError):
        edits.roles({"role": ["quasi"]}, described)


LEFT_OUT = """name = "t"
[attribute.town]
role = "other"
kind = "nominal"
values = ["Ulm", "ulm", "Bonn", "Trier"]
source = "data"
[attribute.age]
role = "other"
kind = "numeric"
range = [0, 100]
step = 1
source = "data"
[attribute.born]
role = "identifier"
kind = "date"
range = ["1950-01-01", "2001-01-01"]
source = "data"
"""


def topics(text, name):
    return [item.partition(":")[0] for item in keys_of(text, name).get("decide", [])]


def test_a_column_that_was_left_out_is_asked_about_once_it_is_to_be_published():
    form = {"column": ["town", "age", "born"], "role": ["quasi"]}
    text = edits.roles(form, None)(LEFT_OUT)
    assert [topics(text, name) for name in ("town", "age", "born")] == [["same", "groups"], ["range"], ["range"]]
    assert keys_of(text, "age")["intervals"] == [5, 10, 20]
    assert keys_of(text, "born")["dates"] == ["month", "year"]
    assert loads(text)["age"].size == 100
    again = edits.roles({**form, "role": ["sensitive"]}, None)(text)  # it was published already: nothing is asked anew
    assert topics(edits.roles(form, None)(again), "town") == ["same", "groups"]
    private = edits.roles({**form, "role": ["sensitive"]}, None)(LEFT_OUT)
    assert topics(private, "town") == ["same"]
    assert "intervals" not in keys_of(private, "age")


def test_several_columns_of_numbers_get_the_same_range():
    """Q1 to Q20 were proposed as 0 up to 10, and each needed its own page."""
    more = TEXT + '[attribute.Q1]\nrole = "sensitive"\nkind = "numeric"\nrange = [0, 10]\nstep = 1\nsource = "data"\n'
    more += 'decide = ["range: is it?", "role: is it?"]\n' + more.partition("[attribute.Q1]")[2].join(
        ["[attribute.Q2]", ""]
    )
    form = {"column": ["Q1", "Q2"], "low": ["1"], "high": ["6"], "step": [""], "intervals": [""]}
    after = edits.ranges(form)(more)
    for name in ("Q1", "Q2"):
        keys = keys_of(after, name)
        assert (keys["range"], keys["step"], "intervals" in keys) == ([1, 6], 1, False)
    assert keys_of(after, "Q1")["decide"] == ["role: is it?"]  # only what it answers
    assert keys_of(after, "age") == keys_of(TEXT, "age")
    assert loads(after)["Q2"].size == 5
    wider = edits.ranges({"column": ["Q1"], "step": ["5"]})(more)
    assert (keys_of(wider, "Q1")["range"], keys_of(wider, "Q1")["step"]) == ([0, 10], 5)
    assert len(keys_of(wider, "Q1")["decide"]) == 2
    for wrong, said in (
        ({**form, "column": []}, "^column: none is selected. Hint: select at least one column.$"),
        ({**form, "high": [""]}, "^range: one end is empty. Hint: fill in both"),
        ({**form, "low": [""], "high": [""]}, "^range: nothing is filled in"),
        ({**form, "column": ["Q1", "town"]}, "is not read as numbers"),
    ):
        with pytest.raises(sf.ParameterError, match=said):
            edits.ranges(wrong)(more)
