"""A bare file cannot show how many people its classes hold where a person may have several rows."""

from __future__ import annotations

import json
import tomllib

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


def visits(public=""):
    head = SCHEMA.replace('person = "who"', f'person = "who"\n{public}')
    rows = [(f"p{who}", 20 + who % 40, ["baker", "clerk"][at]) for who in range(120) for at in (0, 1)]
    frame = pl.DataFrame(rows, schema=["who", "age", "job"], orient="row")
    return sf.read(frame, sf.Schema.parse(tomllib.loads(head)))


def test_a_folder_that_cannot_show_what_is_asked_is_not_called_failed(tmp_path, capsys):
    """Asked for l beside a k that held, the folder was said to fail, though nothing states people by value in it."""
    sf.publish(visits(), sf.Mondrian(sf.KAnonymity(5))).save(tmp_path / "out")
    both = sf.verify(tmp_path / "out", requirement=sf.KAnonymity(3) & sf.LDiversity(2))
    assert not both.holds
    assert not both.checkable
    assert str(both).startswith("k-anonymity(3) & l-diversity(2): cannot be checked\n")
    assert "k-anonymity(3): found" in str(both)
    assert exit_of(["verify", str(tmp_path / "out"), "--k", "3", "--l", "2"]) == 3
    assert "FAILS" not in capsys.readouterr().out
    more = sf.verify(tmp_path / "out", requirement=sf.KAnonymity(200) & sf.LDiversity(2))
    assert more.checkable
    assert str(more).startswith("k-anonymity(200) & l-diversity(2): FAILS")
    (tmp_path / "out" / "dictionary.md").write_text("other words")
    forged = sf.verify(tmp_path / "out", requirement=sf.KAnonymity(3) & sf.LDiversity(2))
    assert forged.checkable
    assert "FAILS" in str(forged)


@pytest.mark.parametrize("method", [sf.NoisyTable(4), sf.Marginals(4)], ids=["noisy-table", "marginals"])
def test_drawn_rows_are_nobodys_people(method, tmp_path):
    """A noisy folder was to be verified "as it was saved", which it was; few rows drawn were called few people."""
    release = sf.publish(visits('rows_per_person = 2\nsource = "public"'), method, allow_noise=True)
    release.save(tmp_path / "out", allow_unaccounted=True)
    verdict = sf.verify(tmp_path / "out", requirement=sf.KAnonymity(10_000))
    assert not verdict.holds
    assert not verdict.checkable
    (problem,) = verdict.problems
    assert problem.rule.startswith("the rows that were counted are noisy or synthetic")
    assert "as it was saved" not in problem.hint
    assert "fewer than" not in str(verdict)
