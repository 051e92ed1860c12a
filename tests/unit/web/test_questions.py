"""Questions of a page: plain words, and buttons that answer them."""

from __future__ import annotations

import re
import time
import tomllib

import pytest
from tests.unit.web.served import HOME, client

import sfumato as sf
from sfumato.drafting import Decision, as_proposed, decisions, draft, keys_of
from sfumato.web import edits
from sfumato.web.questions import alike, asked, asked_together, asks_of_pairs, open_questions

CSV = "nr,born,sex,town,bmi,note\n" + "".join(
    f"N{at},{1 + at % 28:02}.0{1 + at % 9}.19{40 + at % 50},{'wWm'[at % 3]},{'ABC'[at % 3]}x,{18 + at % 20},n/a\n"
    for at in range(90)
)
KEYS = re.compile(r"`|\bquasi\b|\bidentifier\b|\bsame = |\bvalues\b = |=\s*\{")


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    file = tmp_path_factory.mktemp("drafted") / "people.csv"
    file.write_text(CSV)
    return draft(file)


def test_no_question_of_a_column_names_a_key_of_the_file(text):
    found = open_questions(text)
    assert {one.topic for one in found} >= {"role", "range", "same", "format", "groups"}
    for one in found:
        if one.attribute:
            stated = asked(one, keys_of(text, one.attribute))
            assert not KEYS.search(stated["words"]), stated["words"]
            assert stated["keep"]


def test_an_unknown_question_is_shown_as_it_is():
    stated = asked(Decision("", attribute="age", question="why `x`?"), {})
    assert stated["words"] == "Why `x`?"
    assert stated["keep"] == "Keep as proposed"


def test_spellings_are_merged_by_the_button_that_says_so(text):
    assert alike(["a", "b ", "B", "c"]) == [["b ", "B"]]
    question = next(one for one in open_questions(text) if one.topic == "same")
    (also,) = asked(question, keys_of(text, "sex"))["also"]
    assert also[1] == "merge-alike"
    merged = edits.merge_alike("sex", {})(text)
    assert keys_of(merged, "sex")["same"] == {"w": ["W"]}
    assert "W" not in keys_of(merged, "sex")["values"]
    assert not [one for one in decisions(merged) if one.topic == "same"]


def test_public_bounds_close_the_question_about_the_range(text):
    fields = {"fields": ["source"], "public": ["yes"]}
    after = edits.own_keys("bmi", fields)(text)
    assert keys_of(after, "bmi")["source"] == "public"
    assert not [one for one in decisions(after) if one.attribute == "bmi" and one.topic == "range"]


def test_all_proposals_of_some_columns_are_kept_at_once(text):
    after = as_proposed(text, ["born", "sex"])
    assert not [one for one in decisions(after) if one.attribute in ("born", "sex")]
    assert [one for one in decisions(after) if one.attribute == "town"]
    assert {name: keys_of(after, name)["role"] for name in ("born", "sex")} == {
        name: keys_of(text, name)["role"] for name in ("born", "sex")
    }


def test_a_word_among_numbers_is_made_no_value_by_one_button(tmp_path):
    rows = [f"{at % 70 + 20},{'abs' if at % 5 == 0 else at % 60 + 20}" for at in range(300)]
    (tmp_path / "marks.csv").write_text("age,score\n" + "\n".join(rows) + "\n")
    drafted = draft(tmp_path / "marks.csv")
    (question,) = [one for one in open_questions(drafted) if (one.attribute, one.topic) == ("score", "kind")]
    reported = asked(question, keys_of(drafted, "score"))
    assert "not so: \u201cabs\u201d" in reported["words"]
    assert [one[1] for one in reported["also"]] == ["numbers"]
    after = edits.as_numbers("score", {})(drafted)
    keys = keys_of(after, "score")
    assert (keys["kind"], keys["range"], keys["missing"], keys["source"]) == ("numeric", [0, 80], ["abs"], "data")
    assert not [one for one in decisions(after) if (one.attribute, one.topic) == ("score", "kind")]
    with pytest.raises(sf.ParameterError):
        edits.as_numbers("score", {})(after)


def test_merging_case_leaves_the_question_about_other_pairs_open(tmp_path):
    """One button closed both questions, so that nobody was asked about the other pair any more."""
    tongues = ["Deutsch"] * 6 + ["deutsch", "Türkisch", "Türkisch", "Tuerkisch", "Polnisch"]
    rows = [f"N{at},{20 + at % 50},{tongues[at % len(tongues)]}" for at in range(300)]
    (tmp_path / "p.csv").write_text("nr,age,Muttersprache\n" + "\n".join(rows) + "\n", encoding="utf-8")
    drafted = draft(tmp_path / "p.csv")
    before = [one for one in decisions(drafted) if one.attribute == "Muttersprache" and one.topic == "same"]
    assert sorted(map(asks_of_pairs, before)) == [False, True]
    after = edits.merge_alike("Muttersprache", {})(drafted)
    (left,) = [one for one in decisions(after) if one.attribute == "Muttersprache" and one.topic == "same"]
    assert "Türkisch" in asked(left, keys_of(after, "Muttersprache"))["words"]
    form = {"value": ["Tuerkisch"], "into": ["Türkisch"]}
    merged = edits.merge("Muttersprache", form)(after)
    assert not [one for one in decisions(merged) if one.attribute == "Muttersprache" and one.topic == "same"]


def test_the_spelling_most_rows_have_is_kept(text):
    assert keys_of(edits.merge_alike("sex", {}, {"W": 9, "w": 2})(text), "sex")["same"] == {"W": ["w"]}


CODES = "nr,plz,sex\n" + "".join(f"N{at},{80331 + 7 * (at % 13)},f\n" for at in range(90)) + "N91,8O331,f\n"


def test_a_code_answers_which_values_are_alike_and_whether_they_are_numbers(tmp_path):
    file = tmp_path / "codes.csv"
    file.write_text(CODES)
    text = edits.merge("plz", {"value": ["8O331"], "into": ["80331"]})(draft(file))
    (kind,) = [one for one in open_questions(text) if (one.attribute, one.topic) == ("plz", "kind")]
    stated = asked(kind, keys_of(text, "plz"))
    assert "draft again" not in stated["words"]
    assert stated["keep"] == "Yes"
    coded = edits.own_keys("plz", {"fields": ["mask"], "digits": ["5"]})(text)
    assert not {one.topic for one in open_questions(coded) if one.attribute == "plz"} & {"kind", "groups", "mask"}
    assert {one.topic for one in open_questions(text) if one.attribute == "plz"} >= {"kind", "groups"}


def test_related_columns_are_told_without_names_of_roles():
    one = Decision("related", attribute="b", question="a tells b: give both the same role, or make one of them other")
    assert asked(one, {})["words"].endswith("or leave one of them out.")


def same_questions(text, name):
    return sorted(asks_of_pairs(one) for one in decisions(text) if one.attribute == name and one.topic == "same")


def test_a_merge_by_hand_closes_only_the_question_it_answers(tmp_path):
    """Any merge closed every question about spellings of the column."""
    tongues = ["Deutsch"] * 6 + ["deutsch", "Türkisch", "Türkisch", "Tuerkisch", "Polnisch", "poln"]
    rows = [f"N{at},{20 + at % 50},{tongues[at % len(tongues)]}" for at in range(300)]
    (tmp_path / "p.csv").write_text("nr,age,Muttersprache\n" + "\n".join(rows) + "\n", encoding="utf-8")
    drafted = draft(tmp_path / "p.csv")
    assert same_questions(drafted, "Muttersprache") == [False, True]

    def merged(text, spelling, kept):
        return edits.merge("Muttersprache", {"value": [spelling], "into": [kept]})(text)

    other = merged(drafted, "poln", "Polnisch")  # about which neither question asks
    assert same_questions(other, "Muttersprache") == [False, True]
    cased = merged(other, "deutsch", "Deutsch")
    assert same_questions(cased, "Muttersprache") == [True]
    assert same_questions(merged(other, "Tuerkisch", "Türkisch"), "Muttersprache") == [False]
    assert same_questions(merged(cased, "Tuerkisch", "Türkisch"), "Muttersprache") == []


def questionnaire(folder, columns=30):
    """Answers from 1 to 5; 9 and kA are no answer. One more column holds numbers of children, 9 among them."""
    lines = [",".join(["nr", "age", "children", *(f"Q{at:02}" for at in range(columns))])]
    for row in range(400):
        answers = [("9", "kA", *"12345")[(row * 3 + at) % 7] for at in range(columns)]
        lines.append(",".join([f"N{row}", str(20 + row % 60), str((0, 1, 2, 3, 4, 5, 9, 7)[row % 8]), *answers]))
    (folder / "q.csv").write_text("\n".join(lines) + "\n")
    return draft(folder / "q.csv")


def test_no_answer_is_asked_once_for_thirty_columns(tmp_path):
    text = questionnaire(tmp_path)
    (together,) = asked_together(text)
    assert together["columns"] == [f"Q{at:02}" for at in range(30)]
    assert "In 30 columns \u201c9\u201d, \u201ckA\u201d are read as no value" in together["words"]
    assert "missing" not in keys_of(text, "children")
    answer = {"topic": ["missing"], "column": together["columns"]}
    after = edits.answer_same(answer)(text)
    assert asked_together(after) == ()
    assert len(decisions(text)) - len(decisions(after)) == 30
    assert keys_of(after, "Q07")["missing"] == ["9", "kA"]
    with pytest.raises(sf.ParameterError, match="answered already"):
        edits.answer_same(answer)(after)


def test_two_columns_are_no_questionnaire(tmp_path):
    """In two columns only the word is proposed as no value. The page showed it again in place of the question of 9."""
    text = questionnaire(tmp_path, columns=2)
    keys = keys_of(text, "Q00")
    assert keys["missing"] == ["kA"]
    shown = [asked(one, keys) for one in decisions(text) if (one.attribute, one.topic) == ("Q00", "missing")]
    assert "\u201ckA\u201d" in shown[0]["words"]
    assert shown[1]["words"].startswith(
        "Does 9 say that there is no value? then add it to the texts that mean no value"
    )
    assert [found["columns"] for found in asked_together(text)] == [["Q00", "Q01"]]


IMPOSSIBLE = {5: "31.02.1980", 7: "00.05.1990", 11: "30.02.1975", 13: "32.01.2001"}  # up to three are read as no value
BIRTHS = "Nr;Born;Sex\n" + "".join(
    f"N{at};{IMPOSSIBLE.get(at % 90) or f'{at % 28 + 1:02}.{at % 12 + 1:02}.{1930 + at % 71}'};{'mw'[at % 2]}\n"
    for at in range(400)
)


@pytest.mark.parametrize("role", ["", "quasi"])
def test_impossible_dates_are_made_no_value_by_one_button(tmp_path, role):
    """The page said to correct the file and draft again, and no click led to dates."""
    web = client(tmp_path / "space")
    base = web.put("/upload", params={"name": "b.csv"}, content=BIRTHS.encode(), headers=HOME).json()["next"]
    base = base.rpartition("/")[0]

    def card():
        until = time.monotonic() + 60
        while time.monotonic() < until:
            data = web.get(f"{base}/describe.json").json()
            if data["look"] is not None and data.get("checked") is not None:
                return next(one for one in data["cards"] if one["name"] == "Born"), data
            time.sleep(0.05)
        raise AssertionError(base)

    card()
    if role:
        web.post(f"{base}/roles", data={"column": "Born", "role": role}, headers=HOME)
    (kind,) = [one for one in card()[0]["questions"] if one["topic"] == "kind"]
    assert "“00.05.1990”, “30.02.1975”" in kind["words"]
    assert kind["also"] == [["Yes: read as dates, these 4 texts as no value", "dates", {}]]
    assert web.post(f"{base}/column/Born/dates", headers=HOME).headers["location"].endswith("/column/Born")
    after, data = card()
    assert after["kind"] == "date"
    assert after["missing"] == sorted(IMPOSSIBLE.values())
    assert after["unread"] == ""
    assert {one["topic"] for one in after["questions"]}.isdisjoint({"kind", "missing"})
    assert data["checked"]["problems"] == []
    assert sf.Schema.parse(tomllib.loads(data["toml"]))


def test_a_text_that_means_no_value_is_no_value_of_the_list(tmp_path):
    """Both were saved, and the file that followed could not be read."""
    text = '[attribute.a]\nrole = "quasi"\nvalues = ["x", "y", "n/a"]\n'
    after = tomllib.loads(edits.own_keys("a", {"fields": ["missing"], "missing": ["n/a\n?"]})(text))["attribute"]["a"]
    assert after["values"] == ["x", "y"]
    assert after["missing"] == ["n/a", "?"]
    grouped = '[attribute.a]\nrole = "quasi"\ngroups = { g = ["x", "y"], h = ["n/a"] }\n'
    after = tomllib.loads(edits.own_keys("a", {"fields": ["missing"], "missing": ["n/a"]})(grouped))["attribute"]["a"]
    assert after["groups"] == {"g": ["x", "y"]}


def test_an_answer_that_may_mean_no_value_is_asked_about_and_moved_by_its_field(tmp_path):
    (tmp_path / "d.csv").write_text("sex,test\n" + "f,+\nm,-\n" * 30)
    text = draft(tmp_path / "d.csv")
    (decision,) = (one for one in decisions(text) if one.topic == "values")
    shown = asked(decision, keys_of(text, "test"))
    assert "'-' (30 rows)" in shown["words"]
    assert "`" not in shown["words"]
    after = edits.own_keys("test", {"fields": ["missing"], "missing": ["-"]})(text)
    assert keys_of(after, "test")["missing"] == ["-"]
    assert keys_of(after, "test")["values"] == ["+"]
    assert "values" not in {one.topic for one in decisions(after)}
