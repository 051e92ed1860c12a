"""Tables with several rows of a person, as a steward types the commands: refused, decided, published, verified."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import main
from sfumato.web.app import _templates
from sfumato.web.screens import _dangers

COLUMNS = """\
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 100]
[attribute.city]
role = "quasi"
values = ["Bern", "Genf", "Basel"]
[attribute.illness]
role = "sensitive"
values = ["flu", "gout", "none"]
[attribute.paid]
role = "target"
values = ["no", "yes"]
"""
NAMED = '[attribute.MRN]\nrole = "identifier"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    rng = np.random.default_rng(4)
    rows = []
    for patient in range(150):
        age, city = int(rng.integers(0, 100)), str(rng.choice(["Bern", "Genf", "Basel"]))
        rows += [
            (f"{patient:05d}", age, city, rng.choice(["flu", "gout", "none"]), rng.choice(["no", "yes"]))
            for _ in range(int(rng.integers(1, 8)))
        ]
    frame = pl.DataFrame(rows, schema=["MRN", "age", "city", "illness", "paid"], orient="row")
    frame.sample(fraction=1, shuffle=True, seed=1).write_csv(tmp_path / "d.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    said = capsys.readouterr()
    assert "unexpected" not in said.err
    return int(stopped.value.code or 0), said.out + said.err


def decided(folder: Path, *lines: str, named: bool = True) -> None:
    head = 'name = "visits"\nsource = "public"\n' + "".join(f"{line}\n" for line in lines)
    (folder / "s.toml").write_text(head + COLUMNS + (NAMED if named else ""))


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("lines", [(), ("rows_per_person = 1",), ("rows_per_person = 3",)])
def test_a_repeating_key_is_refused_by_check_publish_and_frontier(folder, capsys, named, lines):
    """Also where the key is not in the schema at all; the message says the column, the number and the fixes."""
    decided(folder, *lines, named=named)
    words = (
        ["check", "d.csv", "s.toml"],
        ["publish", "mondrian", "d.csv", "s.toml", "--k", "5", "-o", "out"],
        ["publish", "noisy-table", "d.csv", "s.toml", "--epsilon", "1", "--ledger", "l.db", "-o", "out"],
    )
    for given in words:
        code, text = run(capsys, *given)
        assert code != 0, given
        assert "MRN" in text
        assert "up to 7 rows have the same value" in text
        assert 'person = "MRN"' in text
        assert "up to 7 rows" in text
        assert "rows_per_person = 7" not in text  # a number read off the data is not proposed
        assert 'not_person = ["MRN"]' in text
        assert not any(f"{patient:05d}" in text for patient in range(150))
        assert not (folder / "out").exists()
    table = sf.read("d.csv", sf.Schema.load("s.toml"))
    for wanted in (sf.publish, lambda table, one: sf.frontier(table, [one], workers=0, progress=False)):
        with pytest.raises(sf.SchemaError, match="looks like the key of a person"):
            wanted(table, sf.Mondrian(sf.KAnonymity(5)))


@pytest.mark.parametrize("line", ["rows_per_person = 7", 'not_person = ["MRN"]', 'person = "MRN"'])
def test_each_fix_of_the_message_is_one(folder, capsys, line):
    decided(folder, line)
    assert run(capsys, "check", "d.csv", "s.toml")[0] == 0
    assert run(capsys, "publish", "mondrian", "d.csv", "s.toml", "--k", "5", "-o", "out")[0] == 0
    code, text = run(capsys, "verify", "out")
    assert (code, "holds" in text) == (0, True)


def test_rows_are_called_rows_until_the_unit_is_decided(folder, capsys):
    """Nothing that leaves the house, and nothing on the screen, counts people."""
    decided(folder, 'not_person = ["MRN"]')
    _, printed = run(capsys, "publish", "mondrian", "d.csv", "s.toml", "--k", "5", "-o", "out", "--format", "csv")
    _, verified = run(capsys, "verify", "out")
    claim = json.loads((folder / "out" / "manifest.json").read_text())["claim"]
    assert claim["unit"] == "row"
    said = printed + verified + (folder / "out" / "dictionary.md").read_text() + json.dumps(claim)
    silence = "one may stand for several people"
    assert silence in said
    assert "people" not in said.replace(silence, "")
    assert "at least 5 rows" in said
    decided(folder, "rows_per_person = 7")
    run(capsys, "publish", "mondrian", "d.csv", "s.toml", "--k", "5", "-o", "stated", "--format", "csv")
    assert "at least 5 people" in (folder / "stated" / "dictionary.md").read_text()


def test_an_open_question_about_the_unit_keeps_it_open(folder, capsys):
    decided(folder, "rows_per_person = 7", 'decide = ["rows_per_person: how many rows has one person at most?"]')
    _, text = run(capsys, "publish", "mondrian", "d.csv", "s.toml", "--k", "5", "--dry-run")
    assert "at least 5 people" not in text
    assert "at least 5 rows" in text


def test_from_draft_to_a_verified_release_about_people(folder, capsys):
    """Draft, name the person, publish, verify: the figures are those of the people in the file."""
    assert run(capsys, "draft", "d.csv", "-o", "drafted.toml")[0] == 0
    decided(folder, 'person = "MRN"')
    code, text = run(capsys, "publish", "mondrian", "d.csv", "s.toml", "--k", "5", "-o", "out", "--format", "csv")
    assert code == 0, text
    people = pl.read_csv("out/people.csv", infer_schema=False).with_columns(pl.col("people").cast(pl.Int64))
    classes = people.filter(pl.col("scope") == "class")
    assert people.filter(pl.col("scope") == "all")["people"].to_list() == [150]
    smallest = classes["people"].min()
    assert smallest >= 5
    assert "fewest people in a class" in text
    truth = pl.read_csv("d.csv", infer_schema=False)
    released = sf.apply(sf.publish(*_again()), sf.read("d.csv", sf.Schema.load("s.toml")))
    counted = released.with_columns(MRN=truth["MRN"]).group_by("age", "city").agg(pl.col("MRN").n_unique())
    assert sorted(counted["MRN"].to_list()) == sorted(classes["people"].to_list())
    assert "MRN" not in (folder / "out" / "data.csv").read_text()
    code, text = run(capsys, "verify", "out", "--schema", "s.toml")
    assert code == 0
    assert "declared" in text
    code, text = run(capsys, "verify", "out", "--json")
    assert json.loads(text)["found"] == {"k-anonymity": smallest}


def _again():
    table = sf.read("d.csv", sf.Schema.load("s.toml"))
    return table, sf.Mondrian(sf.KAnonymity(5))


def test_differential_privacy_with_a_cap(folder, capsys):
    decided(folder, 'person = "MRN"')
    words = ("publish", "noisy-table", "d.csv", "s.toml", "--epsilon", "2", "--cut", "age=*", "--ledger", "l.db", "-o")
    code, text = run(capsys, *words, "out")
    assert code != 0
    assert "rows_per_person = m keeps at most m rows of each person" in text
    decided(folder, 'person = "MRN"', "rows_per_person = 2")
    code, text = run(capsys, *words, "out")
    assert code == 0, text
    assert run(capsys, "verify", "out")[0] == 0
    answer = (folder / "out" / "dictionary.md").read_text()
    assert "at most 2 rows of each person" in answer
    assert "presence of one person" in answer
    assert not (folder / "out" / "people.parquet").exists()  # how many people there are is not stated


def test_keys_of_other_things_are_left_alone(folder, capsys):
    """A clinic, a product, an age that repeat are not people."""
    frame = pl.read_csv("d.csv", infer_schema=False).drop("MRN")
    extra = {name: pl.lit("x") for name in ("clinic_id", "product id", "Patientenalter", "patient_age", "town_name")}
    frame.with_columns(**extra).write_csv("d.csv")
    decided(folder, named=False)
    assert run(capsys, "check", "d.csv", "s.toml")[0] == 0
    for name in ("Versichertennummer", "patient_no", "PatientID", "visit-nr", "Fallnummer", "person", "SSN"):
        frame.with_columns(pl.lit("x").alias(name)).write_csv("d.csv")
        code, text = run(capsys, "check", "d.csv", "s.toml")
        assert (code != 0, name in text) == (True, True), name


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("person = []", "names no column"),
        ('person = ["MRN", "MRN"]', "names a column twice"),
        ('person = "illness"', "is published as it is"),
        ("person = 3", "wrong form"),
        ('person = "nobody"', "the column nobody is missing"),
    ],
)
def test_a_wrong_person_is_named(folder, capsys, line, said):
    decided(folder, line)
    code, text = run(capsys, "check", "d.csv", "s.toml")
    assert code != 0
    assert said in text


def test_explain_schema_names_the_keys(capsys):
    _, text = run(capsys, "explain", "schema")
    for key in ("person =", "rows_per_person =", "not_person ="):
        assert key in text


def test_a_method_that_counts_rows_says_what_to_do(folder, capsys):
    decided(folder, 'person = "MRN"')
    code, text = run(capsys, "publish", "bucketize", "d.csv", "s.toml", "--l", "2", "-o", "out")
    assert code != 0
    assert "rows_per_person = 1 keeps one row of each person" in text


@pytest.mark.parametrize("name", ["client", "nr", "who", "Akte"])
def test_a_key_under_any_name_is_found_by_rows_that_agree(folder: Path, name: str) -> None:
    """Rows of one value that agree in every quasi-identifier are refused, whatever the column is called."""
    frame = pl.read_csv("d.csv", schema_overrides={"MRN": pl.String}).rename({"MRN": name})
    schema = sf.Schema.parse(tomllib.loads(f'name = "visits"\nrows_per_person = 1\n{COLUMNS}'))
    with pytest.raises(sf.SchemaError, match="agree in every quasi-identifier") as refused:
        sf.publish(sf.read(frame, schema), sf.Mondrian(sf.KAnonymity(5)))
    assert refused.value.problems[0].path == name
    stated = sf.Schema.parse(tomllib.loads(f'name = "visits"\nrows_per_person = 7\n{COLUMNS}'))
    assert sf.publish(sf.read(frame, stated), sf.Mondrian(sf.KAnonymity(5))).rows == frame.height
    # A column whose rows differ in the quasi-identifiers, as those of a clinic do, is no key.
    clinic = frame.with_columns(pl.Series(name, [f"c{at % 40}" for at in range(frame.height)]))
    assert sf.publish(sf.read(clinic, schema), sf.Mondrian(sf.KAnonymity(5))).rows == frame.height


def test_a_draft_never_says_that_a_key_is_no_persons(folder: Path) -> None:
    many = pl.read_csv("d.csv", schema_overrides={"MRN": pl.String})
    many = pl.concat([many.with_columns(MRN=pl.lit(f"{at % 30:05d}")) for at in range(1)] + [many] * 12)
    drafted = sf.draft(many)
    assert "not_person" not in drafted
    assert sf.check(many, sf.Schema.parse(tomllib.loads(drafted))) or 'person = "MRN"' in drafted


def test_what_k_alone_leaves_open_is_said(folder: Path, capsys) -> None:
    (folder / "s.toml").write_text(f'name = "visits"\nperson = "MRN"\n{NAMED}{COLUMNS}')
    pl.read_csv("d.csv", schema_overrides={"MRN": pl.String}).with_columns(illness=pl.lit("flu")).write_csv("same.csv")
    with pytest.raises(SystemExit):
        main(["publish", "mondrian", "same.csv", "s.toml", "--k", "5", "-o", "out"])
    answer = capsys.readouterr().out
    assert "Warning: nothing is promised of illness" in answer


def test_a_missing_value_that_is_the_only_other_one_is_said(folder: Path, capsys) -> None:
    column = COLUMNS.replace('role = "sensitive"', 'role = "sensitive"\nmissing = [""]')
    (folder / "s.toml").write_text(f'name = "visits"\nperson = "MRN"\n{NAMED}{column}')
    seen = pl.read_csv("d.csv", schema_overrides={"MRN": pl.String})
    known = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("flu")).otherwise(pl.lit(""))
    seen.with_columns(illness=known).write_csv("half.csv")
    with pytest.raises(SystemExit):
        main(["publish", "mondrian", "half.csv", "s.toml", "--k", "5", "--l", "1.1", "-o", "out"])
    answer = capsys.readouterr().out
    assert "classes everyone whose illness is known has the same; a missing value counts" in answer


REACHED = {
    "caller": lambda person: f"+49 151 {2000000 + person}",
    "von": lambda person: f"0761 {200000 + person}",
    "host": lambda person: f"93.184.{person // 200}.{person % 200}",
    "kontakt": lambda person: f"p{person}@example.org",
}


@pytest.mark.parametrize("name", REACHED)
def test_addresses_and_telephone_numbers_are_keys_under_any_name(folder: Path, capsys, name: str) -> None:
    # Towns differ from row to row, so that rows with one key do not agree: its look alone tells.
    rng = np.random.default_rng(3)
    people = rng.integers(0, 150, 900)
    frame = pl.DataFrame(
        {
            name: [REACHED[name](int(person)) for person in people],
            "age": rng.integers(0, 100, 900),
            "city": rng.choice(["Bern", "Genf", "Basel"], 900),
            "illness": rng.choice(["flu", "gout", "none"], 900),
            "paid": rng.choice(["no", "yes"], 900),
        }
    )
    frame.write_csv("d.csv")
    Path("s.toml").write_text(f'name = "t"\nrows_per_person = 1\n{COLUMNS}')
    code, said = run(capsys, "publish", "mondrian", "d.csv", "s.toml", "--k", "3", "-o", "out")
    assert code == 2
    assert f"{name}: looks like the key of a person and repeats" in " ".join(said.split())
    drafted = tomllib.loads(sf.draft("d.csv"))
    assert drafted["attribute"][name]["role"] == "identifier"
    Path("s.toml").write_text(f'name = "t"\nrows_per_person = 1\nnot_person = ["{name}"]\n{COLUMNS}')
    assert run(capsys, "publish", "mondrian", "d.csv", "s.toml", "--k", "3", "-o", "out")[0] == 0


@pytest.mark.parametrize("values", ["01.02.2024 12.03.2024", "978123 978124", "10.5.2 11.6.3", "I21.9 E11.90"])
def test_dates_codes_and_versions_are_no_addresses(values: str) -> None:
    from sfumato.schema.key_names import addresses

    texts = [f"{value}{at}" for at in range(10, 40) for value in values.split()]
    assert not addresses(pl.Series(texts))


def test_a_row_about_two_people_is_asked_about_and_warned_of(folder: Path, capsys) -> None:
    frame = pl.read_csv("d.csv").drop("MRN").rename({"age": "age_1"})
    frame.with_columns(age_2=100 - pl.col("age_1")).write_csv("d.csv")
    assert "does a row describe two people (age_1, age_2)?" in sf.draft("d.csv")
    both = COLUMNS.replace("attribute.age", "attribute.age_1") + '[attribute.age_2]\nrole = "other"\n'
    head = 'name = "t"\nrows_per_person = 1\ncopies_are_people = true\n'
    for extra, warned in (("", True), ('not_person = ["age_2"]\n', False)):
        Path("s.toml").write_text(f"{head}{extra}{both}")
        for words in (["check", "d.csv", "s.toml"], ["publish", "mondrian", "d.csv", "s.toml", "--k", "3", "-o", "o"]):
            said = " ".join(run(capsys, *words)[1].split())
            assert ("age_1 and age_2 are named as if a row described two people" in said) == warned, said


SECOND_AGE = '"sensitive"\nkind = "numeric"\nrange = [0, 101]'


@pytest.mark.parametrize(("role", "noted"), [(SECOND_AGE, True), ('"other"', False)])
def test_a_release_says_that_a_row_is_named_as_that_of_two_people(folder: Path, role, noted) -> None:
    """The screen warned; the dictionary spoke of 1,300 people and published the partners' days of birth."""
    frame = pl.read_csv("d.csv").drop("MRN").rename({"age": "age_1"}).with_columns(age_2=100 - pl.col("age_1"))
    both = COLUMNS.replace("attribute.age", "attribute.age_1") + f"[attribute.age_2]\nrole = {role}\n"
    schema = sf.Schema.parse(tomllib.loads(f'name = "t"\nrows_per_person = 1\ncopies_are_people = true\n{both}'))
    release = sf.publish(sf.read(frame, schema), sf.Mondrian(sf.KAnonymity(3)))
    rule = "age_1 and age_2 are named as if a row described two people, but every promise counts it as one"
    assert (f"attribute.age_2: {rule}" in release.notes) is noted


VISITS = 'decide = ["person: is MRN the key of a person?"]'


def test_a_key_in_question_is_not_called_people_by_check(folder, capsys):
    """`check` and the pages said "people" of the values of a key that was still asked about."""
    decided(folder, 'person = "MRN"', "rows_per_person = 1", VISITS)
    _, text = run(capsys, "check", "d.csv", "s.toml")
    assert "The rows have 150 values of MRN.\n" in text
    assert "left out: their value of MRN has more than `rows_per_person`" in text
    assert "of 150 values of MRN have a combination of all published columns that no other has" in text
    assert "people" not in text
    for cap in ("", "rows_per_person = 1"):
        decided(folder, 'person = "MRN"', cap, VISITS)
        checked = {"ok": True, "fits": True} | _dangers(sf.read("d.csv", sf.Schema.load("s.toml")))
        page = " ".join(str(_templates().get_template("macros.html.j2").module.light(checked)).split())
        assert f"{checked['rows']:,} rows with 150 values of MRN." in page
        assert "people" not in page
        assert "person" not in page
    decided(folder, 'person = "MRN"')
    assert "The rows are about 150 people.\n" in run(capsys, "check", "d.csv", "s.toml")[1]


def test_a_release_of_rows_does_not_say_of_each_person(folder, capsys):
    """A release that counts rows said "of each person at most 1 row is kept" beside not knowing who a row is about."""
    decided(folder, 'person = "MRN"', "rows_per_person = 1", VISITS)
    words = ("publish", "mondrian", "d.csv", "s.toml", "--k", "5", "--undecided", "--allow-fingerprints", "-o", "out")
    code, text = run(capsys, *words)
    assert code == 0
    assert "left out: at most 1 row of each value of MRN is kept" in text
    assert "of each person" not in text
    for name in ("dictionary.md", "manifest.json"):
        said = (folder / "out" / name).read_text("utf-8")
        assert "rows were left out: of each value of MRN at most 1 row is kept, by a rule that reads its rows" in said
        assert "each person" not in said
    sf.report(None, "page.md", audience="public", release=sf.Release.load("out"), folder="out")
    assert "left out: at most 1 row of each value of MRN kept" in (folder / "page.md").read_text("utf-8")
    assert run(capsys, "verify", "out")[0] == 0
