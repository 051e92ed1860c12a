"""A table of visits in which the key of patients repeats: what the pages say of it, and what was declared is shown."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.unit.web.served import HOME, asked, client

from sfumato.counts.suspected_keys import key_hint
from sfumato.drafting import Decision
from sfumato.drafting.units import WHO
from sfumato.errors import Problem, SchemaError
from sfumato.web import questions
from sfumato.web.app import _templates
from sfumato.web.choosing import _refusal
from sfumato.web.wording import page_sentence

VISITS = "visit_no,patient,age,town,ill\n" + "".join(
    f"V{at},H{at // 3},{20 + at // 3 % 50},{'abc'[at // 3 % 3]},{'xyz'[at % 3]}\n" for at in range(240)
)


@pytest.fixture
def web(tmp_path):
    return client(tmp_path)


@pytest.fixture
def base(web):
    answer = web.put("/upload", params={"name": "visits.csv"}, content=VISITS.encode(), headers=HOME)
    found = answer.json()["next"].rpartition("/")[0]
    checked(web, found)
    return found


def checked(web, base):
    return asked(web, f"{base}/describe", lambda data: data["look"] is not None and data.get("checked") is not None)


def rows_only(web, base):
    form = {"person": "", "unit": "row", "rows": "most", "most": "1", "population": "clinic"}
    assert "wrong=" not in web.post(f"{base}/person", data=form, headers=HOME).headers["location"]
    checked(web, base)


def alert(page):
    return page.partition('role="alert"><p>')[2].partition("</div>")[0]


def test_a_key_that_repeats_is_explained_in_sentences_of_a_page(web, base):
    for name in ("file", "person", "describe"):
        page = web.get(f"{base}/{name}").text
        assert "no column is chosen by which a person is known" in page, name
        assert "On Who is a row, choose it to count people by it" in page, name
        assert "identifies something else, or that nobody knows whom" in page, name


def test_who_a_row_is_about_is_asked_without_the_answers_of_a_file(web, base):
    page = web.get(f"{base}/describe").text.partition("<textarea")[0]  # in it, the file
    assert "or each row is a different person, or rows are not people." in page
    assert "m if nobody has more than m rows" not in page
    assert "Yes, “visits”" in page  # what is proposed as the name of the population


def test_a_file_that_does_not_fit_is_not_compared(web, base):
    rows_only(web, base)
    for one in questions.open_questions(checked(web, base)["toml"]):
        web.post(
            f"{base}/answer",
            data={"attribute": one.attribute, "topic": one.topic, "question": one.question},
            headers=HOME,
        )
    checked(web, base)
    page = web.get(f"{base}/compare").text
    said = alert(page)
    assert "does not fit its description" in said
    assert "<b>patient</b>" in said
    assert f'href="{base}/person"' in said
    assert not [sign for sign in ("attribute.", "rows_per_person", " = ") if sign in said]
    assert '<button data-busy="Starting…" disabled>Compare</button>' in page


def test_a_refused_comparison_is_told_in_the_words_of_a_page():
    rule = "looks like the key of a person and repeats: up to 3 rows have the same value, and rows_per_person is 1"
    problem = Problem("attribute.patient", f"{rule}, which nobody has decided", key_hint(["patient"]))
    answer = SchemaError([problem]).as_json()
    for given in (answer, {**answer, "problems": None}):
        told = _refusal(SimpleNamespace(answer=lambda given=given: given))
        assert "no column is chosen by which a person is known" in told["message"]
        assert told["hint"].startswith("On Who is a row, choose it")
        assert not [sign for sign in ("rows_per_person", " = ", "Hint") if sign in str(told)]
    assert _refusal(SimpleNamespace(answer=lambda: answer))["message"].startswith("patient: looks like")


def test_what_was_declared_about_rows_is_still_chosen(web, base):
    web.post(f"{base}/not-person", data={"column": "patient"}, headers=HOME)
    checked(web, base)
    before = web.get(f"{base}/person").text
    assert 'value="row" checked' not in before
    assert "<b>patient</b> is declared to be the key of a household or another group" in before
    rows_only(web, base)
    assert 'value="row" checked' in web.get(f"{base}/person").text


def test_what_is_missing_is_asked_for_by_its_name_on_the_page(web, base):
    answer = web.post(f"{base}/person", data={"person": "", "rows": "most", "most": "1"}, headers=HOME)
    page = web.get(answer.headers["location"]).text
    assert "Who is a row about: not answered yet. Hint: choose the column" in page
    answer = web.post(f"{base}/person", data={"person": "patient", "rows": "most", "most": ""}, headers=HOME)
    assert "Keep at most: no number of rows is given" in web.get(answer.headers["location"]).text


def test_another_question_about_the_table_keeps_its_words():
    who = Decision(
        "rows_per_person", question=f"{WHO.partition(': ')[2]}; columns that repeat like a key: nr (2 values)"
    )
    assert questions.asked(who, {})["words"].endswith("These columns repeat as a key does: nr (2 values).")
    one = Decision("rows_per_person", question="are all rows of a person kept, or at most how many?")
    assert questions.asked(one, {"person": "patient"})["words"].startswith("Are all rows of a person kept")


def test_only_as_many_columns_are_spoken_of_as_there_are():
    """One column that nothing makes coarser was called "these columns", to be ticked "there"."""
    light = _templates().get_template("macros.html.j2").module.light
    held = {
        "ok": True,
        "fits": True,
        "alone": 0,
        "quasi": ["age"],
        "unit": "rows",
        "smallest": 9,
        "rows": 9,
        "people": None,
    }
    held |= {"surplus": 0, "left_out": 0, "above": True, "alone_unchanged": 7, "warnings": []}
    one, two = light({**held, "unchanged": ["pay"]}), light({**held, "unchanged": ["pay", "day"]})
    assert "unless you tick it on Publish: give this column wider steps or groups, or leave it out." in one
    assert "unless you tick it on Publish: give these columns wider steps or groups, or leave some of them out." in two


def test_what_cannot_be_made_of_people_with_several_rows_names_what_is_clicked(web, base):
    web.post(f"{base}/person", data={"person": "patient", "rows": "all", "population": "clinic"}, headers=HOME)
    before = checked(web, base)["toml"].partition("[attribute.ill]")[0]
    private = '[attribute.ill]\nrole = "sensitive"\nvalues = ["x", "y", "z"]\n'
    web.post(f"{base}/schema", data={"toml": before + private}, headers=HOME)
    data = asked(web, f"{base}/compare", lambda data: data["cannot"])
    (why,) = {one["why"] for one in data["cannot"]["sweeps"]["tradeoff-buckets"]}
    assert why.startswith("a person may have several rows, which this method would count as several people. “keep at")
    assert not [sign for sign in ("mechanism", "rows_per_person", "Hint", " = ") if sign in why]


def test_many_unique_rows_are_explained_by_what_is_clicked():
    hint = "give these columns coarser values or the role quasi, drop one of them, or allow it with "
    said = page_sentence(f"{hint}allow_fingerprints=True (--allow-fingerprints)")
    assert said == "On Describe, give these columns wider steps or groups, or leave one of them out."
