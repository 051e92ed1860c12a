"""`sfumato attack all`: a table ranked by gain, sentences, JSON, anyone's file, a rehearsal."""

from __future__ import annotations

import json

import polars as pl
import pytest
from tests.claims.planted_people import drawn

import sfumato as sf
from sfumato.cli.main import main

SCHEMA = """
name = "visits"
source = "public"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 300]
step = 1
[attribute.town]
role = "quasi"
kind = "nominal"
values = [{towns}]
[attribute.ill]
role = "sensitive"
kind = "nominal"
values = ["a", "b", "c", "d"]
""".format(towns=", ".join(f'"t{at}"' for at in range(20)))


def command(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code


@pytest.fixture
def desk(tmp_path):
    (tmp_path / "visits.toml").write_text(SCHEMA, encoding="utf-8")
    for name, seed in (("data", 1), ("others", 2)):
        rows = [(age, f"t{town}", "abcd"[ill]) for age, town, ill in drawn(seed, 200).tolist()]
        pl.DataFrame(rows, ["age", "town", "ill"], orient="row").write_csv(tmp_path / f"{name}.csv")
    table = sf.read(tmp_path / "data.csv", sf.Schema.load(tmp_path / "visits.toml"))
    sf.publish(table, sf.Mondrian(sf.KAnonymity(5))).save(tmp_path / "out")
    return tmp_path


def asked(desk, release="out", *more):
    return command(
        "attack", "all", desk / release, "--data", desk / "data.csv", "--schema", desk / "visits.toml", *more
    )


def test_a_table_and_sentences(desk, capsys):
    assert asked(desk, "out", "--control", desk / "others.csv") == 0
    said = capsys.readouterr().out
    assert "gain, points" in said
    assert "An attacker who knows age and town guesses ill of" in " ".join(said.split())
    assert "What would stop it" in said
    assert "Not run: composition" in said
    assert "not evidence" in said


def test_json_holds_no_row(desk, capsys):
    assert (
        asked(desk, "out", "--control", desk / "others.csv", "--json", "--attack", "inference", "--knows", "town") == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert [one["attack"] for one in answer["attacks"]] == ["inference"]
    assert answer["confidential"] is True
    assert answer["attacks"][0]["targets"]["trials"] == 200
    assert "records" not in answer["attacks"][0]


def test_anyones_file(desk, capsys):
    data = pl.read_csv(desk / "data.csv").with_columns(age=pl.lit("*"))
    data.write_csv(desk / "theirs.csv")
    assert asked(desk, "theirs.csv", "--control", desk / "others.csv", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert {"identity", "inference", "membership"} <= {one["attack"] for one in answer["attacks"]}


def test_without_a_control_and_with_a_rehearsal(desk, capsys):
    assert asked(desk) == 0
    assert "cannot be separated from what is true of everybody" in " ".join(capsys.readouterr().out.split())
    assert asked(desk, "out", "--again", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rehearsed"] is True
    assert answer["controlled"] is True


def test_an_attack_nobody_knows(desk, capsys):
    assert asked(desk, "out", "--attack", "magic") == 2
    assert "magic" in capsys.readouterr().err
