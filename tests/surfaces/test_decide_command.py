"""`sfumato decide` asks what is open, writes each answer at once, and never loses a comment."""

from __future__ import annotations

import io
import json
import random
import tomllib

import polars as pl
import pytest
import tomlkit

from sfumato.cli.main import main
from sfumato.drafting import units
from sfumato.drafting.decisions import decisions
from sfumato.schema import Schema

TEXT = """# a comment that stays
name = "t"
decide = ["rows_per_person: how many?"]
rows_per_person = 1
[attribute.age]
decide = ["role: could an outsider know it?", "range: which bounds are public?"]
role = "quasi"  # beside a key
kind = "numeric"
range = [0, 100]
step = 1
source = "data"
[attribute.note]
decide = ["role: is it free text?", "groups: which are alike?"]
role = "quasi"
kind = "nominal"
values = ["a", "b"]
"""


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(TEXT, "utf-8")
    return path


def asked(schema, monkeypatch, capsys, *answers):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{one}\n" for one in answers)))
    with pytest.raises(SystemExit) as stopped:
        main(["decide", str(schema)])
    return stopped.value.code, capsys.readouterr(), schema.read_text("utf-8")


def exit_of(*words):
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    return stopped.value.code


def test_questions_are_answered_one_by_one(schema, monkeypatch, capsys):
    code, said, text = asked(schema, monkeypatch, capsys, "2", "", "[18, 95] public", "other")
    held = tomllib.loads(text)
    assert code == 0
    assert held["rows_per_person"] == 2
    assert (held["attribute"]["age"]["range"], held["attribute"]["age"]["source"]) == ([18, 95], "public")
    assert held["attribute"]["note"]["role"] == "other"  # and needs no groups any more
    assert "decide" not in text
    assert "a comment that stays" in text
    assert "# beside a key" in text
    assert "Every question is answered" in said.out


def test_skipped_stopped_and_ended_questions_stay_open(schema, monkeypatch, capsys):
    for answers in (("s", "s", "q"), ("q",), ()):
        code, _, text = asked(schema, monkeypatch, capsys, *answers)
        assert (code, text) == (0, TEXT)


def test_what_cannot_be_meant_is_asked_again(schema, monkeypatch, capsys):
    code, said, text = asked(schema, monkeypatch, capsys, "s", "king", "sensitive", "q")
    assert code == 0
    assert "role = king" in said.err
    assert tomllib.loads(text)["attribute"]["age"]["role"] == "sensitive"


DRAFTED = """name = "t"
decide = ["rows_per_person: who is a row about?", "rows_per_person: is a row a person or a household?"]
[attribute.mrn]
role = "other"
"""
KEYED = """name = "t"
person = "mrn"
decide = ["rows_per_person: are all rows kept?", "person: does mrn say who a row is about?"]
[attribute.mrn]
role = "identifier"
"""
MRN = '[attribute.mrn]\nrole = "other"\n'


def opened(*questions, more=""):
    return f'name = "t"\ndecide = {json.dumps([units.WHO, *questions])}\n{MRN}{more}'


VISITS = opened(units.ask_visits("visit_id"))
COUPLES = opened(units.ask_two_people("age_husband", "age_wife"))
HOMES = opened(units.ask_households("home id"), more='[attribute."home id"]\nrole = "identifier"\n')
COUNTED = opened(units.ask_counts("n"), more='[attribute.n]\nrole = "other"\n')


@pytest.mark.parametrize(
    ("draft", "answers", "held", "unit", "left"),
    [
        (DRAFTED, ["", "", "", "", "", ""], {}, "row", 2),  # Enter answers nothing, however often
        (DRAFTED, ["1", "person"], {"rows_per_person": 1}, "person", 0),
        (DRAFTED, ["1", "yes", "yes", "yes"], {"rows_per_person": 1}, "row", 1),  # to "a person or a household?"
        (DRAFTED, ["1", "household"], {}, "row", 0),
        (DRAFTED, ["1", "", "", ""], {"rows_per_person": 1}, "row", 1),
        (DRAFTED, ["rows"], {}, "row", 0),
        (DRAFTED, ["mrn", "2"], {"person": "mrn", "rows_per_person": 2}, "person", 0),
        (DRAFTED, ["0", "-1", "everybody", "s"], {}, "row", 2),
        (KEYED, ["", "", "", ""], {"person": "mrn"}, "person", 1),  # by a key that is still a question
        (KEYED, ["", "yes"], {"person": "mrn"}, "person", 0),
        (KEYED, ["", "rows"], {"not_person": ["mrn"]}, "row", 0),
        (KEYED, ["", "6"], {"rows_per_person": 6}, "person", 0),  # a number says that no column is the key
        (KEYED, ["s", "6"], {"rows_per_person": 6}, "person", 0),
        (KEYED, ["all", "no", "no", "no"], {"person": "mrn"}, "person", 1),
        (KEYED, ["some", "some", "some", "yes"], {"person": "mrn"}, "person", 1),
        (VISITS, ["1", "yes", "yes", "yes"], {"rows_per_person": 1}, "row", 1),
        (VISITS, ["1", "yes", "5"], {"rows_per_person": 5}, "person", 0),
        (VISITS, ["5", "yes"], {"rows_per_person": 5}, "person", 0),
        (VISITS, ["1", "no"], {"rows_per_person": 1}, "person", 0),
        (VISITS, ["mrn", "yes"], {"person": "mrn"}, "person", 0),
        (COUPLES, ["1", "2", "yes", "1"], {"rows_per_person": 1}, "row", 1),
        (COUPLES, ["1", "no"], {"rows_per_person": 1, "not_person": ["age_wife"]}, "person", 0),
        (COUNTED, ["1", "n", "n", "n"], {"rows_per_person": 1}, "row", 1),
        (COUNTED, ["rows", "rows", "n", "yes"], {}, "row", 1),  # a row that is no person may stand for several
        (COUNTED, ["rows", "no"], {"not_count": ["n"]}, "row", 0),
        (COUNTED, ["1", "rows", "s"], {"rows_per_person": 1}, "row", 1),
        (HOMES, ["1", "person"], {"rows_per_person": 1, "not_person": ["home id"]}, "person", 0),
        (HOMES, ["5", "4"], {"rows_per_person": 4, "not_person": ["home id"]}, "person", 0),
        (HOMES, ["1", "mrn"], {"person": "mrn", "rows_per_person": 1, "not_person": ["home id"]}, "person", 0),
        (HOMES, ["1", "home id"], {"person": "home id", "rows_per_person": 1}, "person", 0),
        (HOMES, ["1", "nobody", "s"], {"rows_per_person": 1}, "row", 1),
        (HOMES, ["s", "person", "s"], {}, "row", 2),
        (HOMES, ["1", "household"], {"not_person": ["home id"]}, "row", 0),
        (COUNTED, ["1", "person"], {"rows_per_person": 1, "not_count": ["n"]}, "person", 0),
    ],
)
def test_who_a_row_is_about_is_never_assumed(schema, monkeypatch, capsys, draft, answers, held, unit, left):
    schema.write_text(draft, "utf-8")
    code, _, text = asked(schema, monkeypatch, capsys, *answers)
    found = tomllib.loads(text)
    assert code == 0
    assert {key: found[key] for key in ("person", "rows_per_person", "not_person", "not_count") if key in found} == held
    assert len(found.get("decide", [])) == left
    assert Schema.parse(found).unit == unit
    asked_of_key = any(question.startswith("person:") for question in found.get("decide", []))
    assert Schema.parse(found).person_in_question == ("person" in found and asked_of_key)


NAMED = """name = "t"
person = "Nº socio"
decide = ["person: does Nº socio say who a row is about?"]
[attribute."Nº socio"]
role = "identifier"
[attribute.Nombre]
role = "sensitive"
values = ["Ana"]
[attribute.born]
role = "quasi"
kind = "date"
range = ["1950-01-01", "2000-01-01"]
"""


@pytest.mark.parametrize(
    ("typed", "person", "left"),
    [
        ('["Nº socio", "Nombre"]', ["Nº socio", "Nombre"], 0),
        ("Nº socio, Nombre,born", ["Nº socio", "Nombre", "born"], 0),
        ('"Nombre"', "Nombre", 0),
        ("Nº socio, nobody", "Nº socio", 1),
        ('["Nº socio", 1]', "Nº socio", 1),
        ("[]", "Nº socio", 1),
    ],
)
def test_a_key_of_several_columns_is_an_answer(schema, monkeypatch, capsys, typed, person, left):
    """Every spelling of a key of two columns was refused, although the file may hold one."""
    schema.write_text(NAMED, "utf-8")
    _, said, text = asked(schema, monkeypatch, capsys, typed)
    found = tomllib.loads(text)
    assert (found["person"], len(found.get("decide", []))) == (person, left)
    assert found["attribute"]["born"]["role"] == "quasi"
    assert (found["attribute"]["Nombre"]["role"] == "identifier") == (left == 0)
    assert "several that say it together with commas between them" in " ".join(said.out.split())
    Schema.parse(found)


@pytest.mark.parametrize("names", [("Client name", "Partner name"), ("Client name",), ("patient_id",), ("hh_id",)])
def test_rows_that_nobody_can_tell_apart_are_published_as_rows(tmp_path, monkeypatch, capsys, names):
    """`rows` was offered where nobody knows who a row is about, and check and publish then refused the table."""
    data, path = tmp_path / "debts.csv", tmp_path / "s.toml"
    rows = {name: [f"A{(at * 7 + place) % 60}" for at in range(150)] for place, name in enumerate(names)}
    debts = {
        "age": [20 + at * 11 % 40 for at in range(150)],
        "reason": [("loss", "illness")[at % 2] for at in range(150)],
    }
    pl.DataFrame({**rows, **debts}).write_csv(data)
    exit_of("draft", data, "-o", path)
    kept = [""] if "person" in tomllib.loads(path.read_text("utf-8")) else []
    asked(path, monkeypatch, capsys, "debts", *kept, "rows", *[""] * 20)
    text = path.read_text("utf-8")
    assert Schema.parse(tomllib.loads(text)).unit == "row"
    assert exit_of("publish", "mondrian", data, path, "-o", tmp_path / "out", "--k", "5", "--undecided") == 0
    path.write_text("\n".join(line for line in text.splitlines() if not line.startswith("not_person")), "utf-8")
    assert exit_of("check", data, path) != 0
    assert "or that nobody knows whom: promises then speak of rows" in " ".join(capsys.readouterr().out.split())


def test_names_with_commas_are_cut_apart_only_in_a_list(schema, monkeypatch, capsys):
    """A comma in the name of a column would make two names of it."""
    text = NAMED.replace("Nombre", '"name, first"')
    for typed, person in (("Nº socio, born", "Nº socio"), ('["Nº socio", "name, first"]', ["Nº socio", "name, first"])):
        schema.write_text(text, "utf-8")
        _, _, after = asked(schema, monkeypatch, capsys, typed)
        assert tomllib.loads(after)["person"] == person


@pytest.mark.parametrize("name", ["aantal", "total"])
def test_a_table_of_counts_is_not_published_where_rows_are_no_people(tmp_path, monkeypatch, capsys, name):
    cells = [
        (town, age, illness, (place + age) % 3)
        for place, town in enumerate("ABC")
        for age in range(20, 32)
        for illness in ("flu", "gout", "none", "cold")
    ]
    data, path = tmp_path / "cells.csv", tmp_path / "s.toml"
    pl.DataFrame(cells, schema=["gemeente", "leeftijd", "diagnose", name], orient="row").write_csv(data)
    exit_of("draft", data, "-o", path)
    _, said, text = asked(path, monkeypatch, capsys, "s", "rows", name, name, name, *[""] * 20)
    (left,) = (one for one in tomllib.loads(text)["decide"] if one.startswith("rows_per_person:"))
    assert f"is {name} the number of people?" in left
    assert said.err.count("write a row for each person into the file") == 3
    exit_of("check", data, path)
    assert "each row is counted as one" in " ".join(capsys.readouterr().out.split())
    publish = ("publish", "mondrian", data, path, "-o", tmp_path / "out", "--k", "5", "--undecided")
    assert exit_of(*publish) != 0
    assert f'not_count = ["{name}"] if it counts something else' in " ".join(capsys.readouterr().err.split())
    path.write_text(f'not_count = ["{name}"]\n{text}', "utf-8")
    assert exit_of(*publish) == 0


@pytest.mark.parametrize("name", ["Number", "Numero", "N"])
def test_that_each_row_is_one_person_does_not_hide_the_key_of_people(tmp_path, capsys, name):
    """Asked whether a column counts people, `person` declared it nobody's key: 117 of 121 classes were too small."""
    draw = random.Random(3)
    people = [(at + 1, draw.randrange(20, 80), draw.choice("ABC")) for at in range(100)]
    visits = [(*draw.choice(people), draw.choice("pqr")) for _ in range(300)]
    data, path = tmp_path / "visits.csv", tmp_path / "s.toml"
    pl.DataFrame(visits, schema=[name, "Age", "Town", "Ill"], orient="row").write_csv(data)
    exit_of("draft", data, "-o", path)
    text = path.read_text("utf-8")
    for words, answer in ((f"is {name} the number of people?", "person"), ("who is a row about?", "1")):
        (question,) = (one for one in decisions(text) if words in one.question)
        text = units.with_unit(text, question, answer)
    held = tomllib.loads(text)
    assert (held["not_count"], held["rows_per_person"], held.get("not_person")) == ([name], 1, None)
    path.write_text(text, "utf-8")
    assert exit_of("publish", "mondrian", data, path, "-o", tmp_path / "out", "--k", "5", "--undecided") != 0
    assert "as the rows of one person do" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("topic", "answers", "held", "left"),
    [
        ("duplicates", ["2", "yes", "x"], {}, 1),
        ("duplicates", ["no"], {"copies_are_people": True}, 0),
        ("totals", ["2", ""], {}, 0),
    ],
)
def test_a_question_about_no_key_takes_no_value(schema, monkeypatch, capsys, topic, answers, held, left):
    schema.write_text(f'name = "t"\ndecide = ["{topic}: is it so?"]\n{MRN}', "utf-8")
    _, _, text = asked(schema, monkeypatch, capsys, *answers)
    found = tomllib.loads(text)
    assert {key: found[key] for key in found if key not in ("name", "decide", "attribute")} == held
    assert len(found.get("decide", [])) == left


def test_json_lists_and_asks_nothing(schema, capsys):
    with pytest.raises(SystemExit):
        main(["decide", str(schema), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["open"] == 5
    assert {one["topic"] for one in found["decisions"]} == {"rows_per_person", "role", "range", "groups"}
    assert schema.read_text("utf-8") == TEXT


@pytest.mark.parametrize(("typed", "meant"), [("verfy", "verify"), ("Publish", "publish"), ("frontiers", "frontier")])
def test_a_command_that_is_nearly_one_is_suggested(typed, meant, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([typed, "out/"])
    assert stopped.value.code == 2
    assert f"Did you mean '{meant}'?" in capsys.readouterr().err


ALIKE = 'name = "t"\n' + "".join(
    f'[attribute.{name}]\nrole = "other"\nkind = "numeric"\nrange = [0, 6]\nmissing = {texts}\n'
    'decide = ["missing: do all texts listed there say that there is no value?"]\n'
    for name, texts in (("a", '["9"]'), ("b", '["9"]'), ("c", '["99"]'), ("d", '["9"]'))
)


@pytest.mark.parametrize(
    ("answers", "left"),
    [(("", ""), ""), (("s", ""), "abd"), (("e", "", "s", "", ""), "b"), (("?", "", ""), ""), (("q",), "abcd")],
)
def test_columns_with_the_same_texts_for_no_value_are_asked_about_once(tmp_path, monkeypatch, capsys, answers, left):
    path = tmp_path / "s.toml"
    path.write_text(ALIKE, "utf-8")
    _, said, text = asked(path, monkeypatch, capsys, *answers)
    held = tomllib.loads(text)["attribute"]
    assert "".join(name for name in held if "decide" in held[name]) == left
    assert said.out.count("3 columns: missing") == 1
    assert {name: held[name]["missing"] for name in "abcd"} == {"a": ["9"], "b": ["9"], "c": ["99"], "d": ["9"]}


@pytest.mark.parametrize(
    ("topic", "question", "typed", "missing", "values"),
    [
        ("missing", "does '-' say that there is no value? else move it to `values`", '["k.A."]', ["k.A."], ["a", "-"]),
        ("missing", "does '-' say that there is no value? else move it to `values`", '["-", "k.A.", "a"]', ..., []),
        ("values", "is 'a' an answer? if it says that there is no value, move it to `missing`", "[]", ..., []),
        (
            "values",
            "is 'a' an answer? if it says that there is no value, move it to `missing`",
            "",
            ["-", "k.A."],
            ["a"],
        ),
    ],
)
def test_a_text_is_moved_between_missing_and_values(
    tmp_path, monkeypatch, capsys, topic, question, typed, missing, values
):
    path = tmp_path / "s.toml"
    head = 'name = "t"\n[attribute.x]\nrole = "quasi"\nkind = "nominal"\n'
    path.write_text(f'{head}missing = ["-", "k.A."]\nvalues = ["a"]\ndecide = ["{topic}: {question}"]\n', "utf-8")
    code, _, text = asked(path, monkeypatch, capsys, typed)
    held = tomllib.loads(text)["attribute"]["x"]
    assert code == 0
    assert (held["missing"], held["values"]) == (["-", "k.A.", "a"] if missing is ... else missing, values)


MOVED = "missing: does '-' (3 rows) say that there is no value? else move it to `values`"
SEVERAL = "missing: do '-' and '?' say that there is no value? else move an answer to `values`"
CODE = "missing: does 99, the largest number, say that there is no value? then add it to `missing`"
SAME = 'same: do values that differ only in case mean the same? then same = { m = ["M", "male"] }'
COMMAS = "decimal: do the commas mark decimals?"
DAYS = "format: no date of the file tells day from month; which is it?"
NOMINAL = {"kind": "nominal", "missing": ["", "-"], "values": ["neg", "Neg"]}
NUMERIC = {"kind": "numeric", "range": [0, 100], "decimal": ",", "missing": ["k.A."]}
DATED = {"kind": "date", "range": ["2020-01-01", "2021-01-01"], "format": "%d/%m/%Y"}


@pytest.mark.parametrize(
    ("question", "typed", "keys", "changed"),
    [
        (MOVED, "yes", NOMINAL, {}),
        (MOVED, "no", NOMINAL, {"missing": [""], "values": ["neg", "Neg", "-"]}),
        (MOVED, "no", {**NOMINAL, "missing": ["-"]}, {"missing": None, "values": ["neg", "Neg", "-"]}),
        (MOVED, "k.A.", NOMINAL, None),
        (MOVED, 'missing = ["", "-", "?"]', NOMINAL, {"missing": ["", "-", "?"]}),
        (SEVERAL, "No", NOMINAL, None),  # which of them?
        (CODE, "yes", NUMERIC, None),
        (CODE, "no", NUMERIC, {}),
        (CODE, '["k.A.", "99"]', NUMERIC, {"missing": ["k.A.", "99"]}),
        (SAME, "yes", NOMINAL, None),
        (SAME, "no", NOMINAL, {}),
        (SAME, "{ neg = [Neg] }", NOMINAL, None),
        (SAME, '{ negative = ["neg."] }', NOMINAL, None),
        (COMMAS, "yes", NUMERIC, {}),
        (COMMAS, "no", NUMERIC, None),
        (COMMAS, "comma", NUMERIC, None),
        (DAYS, "yes", DATED, None),
        (DAYS, "%m/%d", DATED, None),
        (DAYS, "%m/%d/%Y", DATED, {"format": "%m/%d/%Y"}),
        ("values: is 'neg' an answer?", "no", NOMINAL, None),
    ],
)
def test_an_answer_is_written_only_in_the_form_of_its_key(
    tmp_path, monkeypatch, capsys, question, typed, keys, changed
):
    path = tmp_path / "s.toml"
    table = tomlkit.dumps({"name": "t", "attribute": {"x": {"role": "quasi", **keys, "decide": [question]}}})
    path.write_text(table, "utf-8")
    _, said, text = asked(path, monkeypatch, capsys, typed)
    held = tomllib.loads(text)["attribute"]["x"]
    topic = question.partition(":")[0]
    if changed is None:
        assert text == table
        assert f"{topic} = {typed}: " in said.err
        assert "Enter keeps it as it is, or type " in said.err
        assert said.err.count(f"{topic} = ") == 1  # what to type is the value alone
    else:
        assert "decide" not in held
        assert held == {key: one for key, one in {"role": "quasi", **keys, **changed}.items() if one is not None}


def test_spellings_are_taken_out_of_the_values(tmp_path, monkeypatch, capsys):
    path, data = tmp_path / "s.toml", tmp_path / "d.csv"
    listed = """values = [
  "neg",  # as the laboratory writes it
  "neg.",
  "pos", "positiv",
]  # every value of the file
"""
    head = 'name = "t"\nrows_per_person = 1\n[attribute.HIV]\nrole = "sensitive"\n'
    path.write_text(f"{head}{listed}decide = [{json.dumps(SAME)}]\n", "utf-8")
    data.write_text("HIV\nneg\nneg.\npos\npositiv\n", "utf-8")
    _, said, text = asked(path, monkeypatch, capsys, '{ neg = ["neg."], pos = ["positiv"] }')
    held = tomllib.loads(text)["attribute"]["HIV"]
    assert held == {"role": "sensitive", "values": ["neg", "pos"], "same": {"neg": ["neg."], "pos": ["positiv"]}}
    assert "# as the laboratory writes it" in text
    assert "# every value of the file" in text
    assert "Every question is answered" in said.out
    assert exit_of("check", data, path) == 0


def test_spellings_are_taken_out_of_the_groups(tmp_path, monkeypatch, capsys):
    path = tmp_path / "s.toml"
    groups = 'groups = { ill = ["pos", "positiv"], well = ["neg"] }'
    path.write_text(f'name = "t"\n[attribute.x]\nrole = "quasi"\n{groups}\ndecide = [{json.dumps(SAME)}]\n', "utf-8")
    _, _, text = asked(path, monkeypatch, capsys, '{ pos = ["positiv"] }')
    assert tomllib.loads(text)["attribute"]["x"]["groups"] == {"ill": ["pos"], "well": ["neg"]}
