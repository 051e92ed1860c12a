"""A bare file cannot show how many people its classes hold where a person may have several rows."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import main

SCHEMA = """name = "visits"
person = "who"

[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 100]

[attribute.job]
role = "sensitive"
values = ["baker", "clerk"]
"""


def written(folder, rows=6):
    (folder / "s.toml").write_text(SCHEMA)
    pl.DataFrame({"age": ["[30, 40)"] * rows, "job": ["baker", "clerk"] * (rows // 2)}).write_csv(folder / "data.csv")
    return folder / "data.csv"


def exit_of(words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code


def test_what_cannot_be_checked_is_not_called_failed(tmp_path, capsys):
    path = written(tmp_path)
    verdict = sf.verify(path, schema=sf.Schema.load(tmp_path / "s.toml"), requirement=sf.KAnonymity(5))
    assert not verdict.holds
    assert not verdict.checkable
    assert verdict.exit_code == 3
    assert str(verdict).startswith("k-anonymity(5): cannot be checked\n")
    assert "no table says how many people each class holds" in str(verdict)
    assert verdict.to_json()["checkable"] is False
    words = ["verify", str(path), "--schema", str(tmp_path / "s.toml"), "--k", "5"]
    assert exit_of(words) == 3
    said = capsys.readouterr().out
    assert said.startswith("k-anonymity(5): cannot be checked\n")
    assert "FAILS" not in said
    assert "a file without its folder cannot show it" in said
    assert exit_of([*words, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_a_class_with_too_few_rows_fails_whoever_they_are_of(tmp_path):
    schema = sf.Schema.load((written(tmp_path, rows=4).parent) / "s.toml")
    verdict = sf.verify(tmp_path / "data.csv", schema=schema, requirement=sf.KAnonymity(5))
    assert verdict.checkable
    assert str(verdict).startswith("k-anonymity(5): FAILS")
    assert "1 class has fewer than 5 rows, so fewer than 5 people" in str(verdict)


def test_another_problem_beside_it_fails(tmp_path):
    path = written(tmp_path)
    pl.read_csv(path).with_columns(name=pl.lit("x")).write_csv(path)
    verdict = sf.verify(path, schema=sf.Schema.load(tmp_path / "s.toml"), requirement=sf.KAnonymity(5))
    assert verdict.checkable
    assert "FAILS" in str(verdict)


def test_what_can_be_checked_says_nothing_of_it(tmp_path):
    path = written(tmp_path)
    (tmp_path / "s.toml").write_text(SCHEMA.replace('person = "who"\n', ""))
    verdict = sf.verify(path, schema=sf.Schema.load(tmp_path / "s.toml"), requirement=sf.KAnonymity(5))
    assert verdict.holds
    assert "checkable" not in verdict.to_json()
