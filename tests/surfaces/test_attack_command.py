"""`sfumato attack composition` and `sfumato publish --against`: the same figures as the library."""

from __future__ import annotations

import json

import polars as pl
import pytest
from tests.claims.paper_tables import TABLE_1A, TABLE_1B, TABLE_2A, TABLE_2B, paper_schema, people, published

import sfumato as sf
from sfumato.cli.main import main

SCHEMA = """
name = "paper"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [10, 41]
step = 1
[attribute.sex]
role = "quasi"
kind = "nominal"
values = ["F", "M"]
[attribute.zip]
role = "quasi"
kind = "nominal"
values = [{zips}]
mask = {{ length = 4, from = "right" }}
[attribute.diagnosis]
role = "sensitive"
kind = "nominal"
values = ["Cough", "Diabetes", "Fever", "Flu", "Heart Disease", "Hepatitis"]
""".format(zips=", ".join(f'"{code}"' for code in range(5000, 5100)))


def command(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code


@pytest.fixture
def desk(tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    columns = ["name", "age", "sex", "zip", "diagnosis"]
    for name, rows in (("one_a", TABLE_1A), ("one_b", TABLE_1B)):
        pl.DataFrame(rows, columns, orient="row").drop("name").write_csv(tmp_path / f"{name}.csv")
    for name, table in (("two_a", TABLE_2A), ("two_b", TABLE_2B)):
        pl.DataFrame(table).write_csv(tmp_path / f"{name}.csv")
    shared = [row[1:] for row in TABLE_1A if row[0] in ("Emu", "Alice")]
    pl.DataFrame(shared, columns[1:], orient="row").write_csv(tmp_path / "victims.csv")
    return tmp_path


def test_the_paper_by_command(desk, capsys):
    files = (
        desk / "two_a.csv",
        desk / "two_b.csv",
        "--schema",
        desk / "schema.toml",
        "--victims",
        desk / "victims.csv",
    )
    assert command("attack", "composition", *files, "--d", 2, "--json", "--records", desk / "records.csv") == 0
    answer = json.loads(capsys.readouterr().out)
    library = sf.attacks.composition([published(TABLE_2A), published(TABLE_2B)], people(TABLE_1A, "Emu", "Alice"), d=2)
    assert answer == {"ok": True, **library.to_json()}
    assert answer["rate"] == 0.5
    lines = (desk / "records.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "victim,attribute,values_left,guess,posterior"
    assert lines[2] == "2,diagnosis,1,Diabetes,1.000000"
    assert command("attack", "composition", *files, "--records", desk / "records.csv") == 2
    assert "records" in capsys.readouterr().err
    assert command("attack", "composition", *files, "--control", desk / "one_b.csv") == 0
    said = capsys.readouterr().out
    assert "Exactly one value left: 50.00 %" in said
    assert "that are not in all releases" in said


def test_folders_by_command(desk, capsys):
    for name in ("a", "b"):
        made = ("publish", "mondrian", desk / f"one_{name}.csv", desk / "schema.toml", "--allow-fingerprints", "--k", 4)
        assert command(*made, "-o", desk / name) == 0
    capsys.readouterr()
    arguments = (desk / "a", desk / "b", "--victims", desk / "victims.csv", "--json")
    assert command("attack", "composition", *arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    releases = [sf.publish(people(rows), sf.Mondrian(sf.KAnonymity(4))) for rows in (TABLE_1A, TABLE_1B)]
    library = sf.attacks.composition(releases, people(TABLE_1A, "Emu", "Alice"))
    assert answer == {"ok": True, **library.to_json()}


def mondrian(desk):
    """The words of a command that publishes table 1a in classes of four."""
    return ("publish", "mondrian", desk / "one_a.csv", desk / "schema.toml", "--allow-fingerprints", "--k", 4)


def test_mistakes_exit_with_2(desk, capsys):
    assert command("attack", "composition", desk / "two_a.csv", "--victims", desk / "victims.csv") == 2
    assert "needs one" in capsys.readouterr().err
    assert command("attack", "composition", "--victims", desk / "victims.csv") == 2
    made = (*mondrian(desk), "-o", desk / "a")
    assert command(*made, "--refuse") == 2
    assert "needs --against" in capsys.readouterr().err
    assert command(*made, "--against", desk / "nowhere") == 2
    assert not (desk / "a").exists()


def test_against_warns_and_writes(desk, capsys):
    made = mondrian(desk)
    beside = ("--against", desk / "two_b.csv", "--d", 3)
    assert command(*made, "-o", desk / "a", *beside) == 2
    assert "left with one value by this release together with 1 earlier one" in capsys.readouterr().err
    assert not (desk / "a").exists()
    beside = (*beside, "--allow-repeated")  # said by somebody who has seen it
    assert command(*made, "-o", desk / "a", *beside) == 0
    assert "Warning: " in capsys.readouterr().err
    assert (desk / "a" / "manifest.json").exists()
    assert command(*made, "-o", desk / "b", *beside, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    release = sf.publish(people(TABLE_1A), sf.Mondrian(sf.KAnonymity(4)))
    library = sf.attacks.against(release, published(TABLE_2B), people(TABLE_1A), 3, names=[str(desk / "two_b.csv")])
    assert answer["against"] == library.to_json()
    assert library.people > 0


def test_refuse_stops_before_anything_is_written(desk, capsys):
    made = (*mondrian(desk), "-o", desk / "a", "--refuse")
    assert command(*made, "--against", desk / "two_b.csv", "--d", 3) == 3
    assert "records keep fewer together with 1 earlier release" in capsys.readouterr().err
    assert not (desk / "a").exists()
    # Two values are left to everybody beside a table that hides nothing of a person.
    pl.DataFrame({**TABLE_2A, "sex": ["*"] * 8}).write_csv(desk / "wide.csv")
    assert command(*made, "--against", desk / "wide.csv", "--d", 2) == 0
    assert (desk / "a").exists()


def test_against_everything_the_ledger_saw_saved(desk, capsys):
    made = (
        "publish",
        "mondrian",
        desk / "one_a.csv",
        desk / "schema.toml",
        "--allow-fingerprints",
        "--ledger",
        desk / "book.db",
    )
    against = ("--against", desk / "book.db", "--d", 3, "--refuse")
    assert command(*made, "--k", 4, "-o", desk / "first") == 0
    assert command(*made, "--k", 2, "-o", desk / "second", *against) == 3
    assert "together with 1 earlier release" in capsys.readouterr().err
    assert not (desk / "second").exists()
    fresh = (
        "publish",
        "mondrian",
        desk / "one_a.csv",
        desk / "schema.toml",
        "--allow-fingerprints",
        "--k",
        4,
        "-o",
        desk / "third",
    )
    sf.Ledger(desk / "new.db").limit("somebody else", 1)
    assert command(*fresh, "--against", desk / "new.db", "--refuse") == 0
    assert "knows no earlier release of the population paper" in capsys.readouterr().err


def test_naming_one_earlier_release_does_not_pass_over_the_others_of_the_ledger(desk, capsys):
    """Two releases are in the ledger; the third was tried together with the one that was named, and saved."""
    made = ("publish", "mondrian", desk / "one_a.csv", desk / "schema.toml", "--allow-fingerprints", "--json")
    ledger = ("--ledger", desk / "book.db", "--d", 2)
    assert command(*made, "--k", 4, "-o", desk / "first", *ledger) == 0
    capsys.readouterr()
    assert command(*made, "--k", 8, "-o", desk / "second", *ledger, "--against", desk / "first") == 0
    assert json.loads(capsys.readouterr().out)["against"]["earlier"] == 1
    assert command(*made, "--k", 6, "-o", desk / "third", *ledger, "--against", desk / "second") == 0
    assert json.loads(capsys.readouterr().out)["against"]["earlier"] == 2
    allowed = ("--against", desk / "second", "--allow-repeated")
    assert command(*made, "--k", 6, "-o", desk / "fourth", *ledger, *allowed) == 0
    assert json.loads(capsys.readouterr().out)["against"]["earlier"] == 1  # an explicit yes to what was not tried


def test_the_schema_of_the_file_is_the_schema_of_the_tests(desk):
    assert sf.Schema.load(desk / "schema.toml") == paper_schema()
