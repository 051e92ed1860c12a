"""Columns that too few lack to be a class of their own are named, and only these."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.counts.few_missing import few_missing
from sfumato.errors import PublicationWarning

SCHEMA = """
name = "visits"
{head}
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 80]
step = 10
missing = [""]
source = "public"
[attribute.sex]
role = "quasi"
kind = "nominal"
values = ["f", "m"]
source = "public"
[attribute.illness]
role = "sensitive"
kind = "nominal"
values = ["a", "b", "c"]
source = "public"
"""
KEY = '[attribute.who]\nrole = "identifier"\n'


def _schema(head: str = "rows_per_person = 1", more: str = "") -> sf.Schema:
    return sf.Schema.parse(tomllib.loads(SCHEMA.format(head=head) + more))


def _rows(lacking: int, number: int = 240) -> pl.DataFrame:
    draw = random.Random(1)
    return pl.DataFrame(
        {
            "age": ["" if at < lacking else str(draw.randrange(80)) for at in range(number)],
            "sex": draw.choices("fm", k=number),
            "illness": draw.choices("abc", k=number),
        }
    )


def _table(lacking: int) -> sf.Table:
    return sf.read(_rows(lacking), _schema("rows_per_person = 1\ncopies_are_people = true"))


def test_mondrian_never_cuts_a_named_column() -> None:
    release = sf.publish(_table(7), sf.Mondrian(k=10))
    assert set(release.frame()["age"]) == {"*"}
    said = release.warnings()[0]
    assert said.startswith(
        "age: 7 people have no value, fewer than 10, so no class of 10 that holds any of them can be cut by age; "
    )
    assert 'missing = { values = [...], action = "suppress" }' in said
    assert "max_suppressed" in said
    freed = sf.publish(_table(7), sf.Mondrian(k=10, max_suppressed="0.05"))
    assert "*" not in set(freed.frame()["age"])
    assert not freed.few_missing


def test_topdown_names_the_columns_that_it_cannot_cut() -> None:
    schema = _schema("rows_per_person = 1\ncopies_are_people = true").with_roles(target=["illness"])
    release = sf.publish(sf.read(_rows(7), schema), sf.TopDown(10))
    assert set(release.frame()["age"]) == {"*"}
    said = release.warnings()[0]
    assert said.startswith("age: 7 people have no value, fewer than 10, so age is not cut in any row; ")
    assert 'missing = { values = [...], action = "suppress" }' in said
    assert "max_suppressed" not in said
    enough = sf.publish(sf.read(_rows(10), schema), sf.TopDown(10))
    assert not enough.few_missing
    by_base = sf.publish(_table(7), sf.DLink(sf.Mondrian(k=10), d=2, alpha="0.5"))
    assert "max_suppressed" not in by_base.few_missing["age"]


def test_saving_warns_of_it(tmp_path: Path) -> None:
    release = sf.publish(_table(7), sf.Mondrian(k=10))
    with pytest.warns(PublicationWarning, match="age: 7 people have no value, fewer than 10"):
        release.save(tmp_path / "release")
    assert not sf.Release.load(tmp_path / "release").few_missing
    for file in (tmp_path / "release").iterdir():
        assert b"have no value" not in file.read_bytes()


@pytest.mark.parametrize("lacking", [0, 10])
def test_as_many_as_a_class_needs_are_not_named(lacking: int) -> None:
    table = _table(lacking)
    assert few_missing(table, 10) == []
    assert bool(few_missing(table, 11)) == bool(lacking)


def test_rows_are_called_rows() -> None:
    table = sf.read(_rows(7), _schema(""))
    assert few_missing(table, 10)[0].rule.startswith("7 rows have no value, fewer than 10, so")
    two = sf.read(_rows(17), _schema("rows_per_person = 2\ncopies_are_people = true"))
    assert few_missing(two, 10)[0].rule.startswith(
        "17 rows have no value, fewer than 20 (10 people of up to 2 rows), so"
    )


def test_people_are_weighed_by_shares_of_their_rows() -> None:
    rows = _rows(12).with_columns(who=pl.Series([str(at % 60) for at in range(240)]))
    table = sf.read(rows, _schema('person = "who"', KEY))
    assert [one.path for one in few_missing(table, 10)] == ["attribute.age"]
    share = 0.0
    for at in range(60):  # by hand: a person's rows that are alike count once
        own = {(age and int(age) // 10, *rest) for age, *rest, who in rows.rows() if who == str(at)}
        share += sum(age == "" for age, *_ in own) / len(own)
    assert 3 <= share < 4
    said = few_missing(table, 10)[0].rule
    assert said.startswith(
        "12 people have no value in some of their rows, which weigh less than 10 people, so no class"
    )
    assert few_missing(table, 4) != []
    assert few_missing(table, 10)[0].rows == 12
    assert few_missing(table, 3) == []
    assert "max_suppressed" not in few_missing(table, 10)[0].hint


def test_check_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _rows(7).write_csv(tmp_path / "rows.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA.format(head="rows_per_person = 1\ncopies_are_people = true"))
    with pytest.raises(SystemExit):
        main(["check", str(tmp_path / "rows.csv"), str(tmp_path / "schema.toml")])
    assert "7 people have no value, fewer than 10" in " ".join(capsys.readouterr().out.split())


def test_the_fix_that_is_named_to_people_with_several_rows_works(tmp_path):
    """A few missing values keep Mondrian from cutting; max_suppressed is refused where people have several rows."""
    rng = np.random.default_rng(3)
    rows = rng.choice([1, 1, 2, 3], 400)
    columns = {
        "mrn": np.repeat([f"p{at}" for at in range(400)], rows),
        "age": np.repeat(rng.integers(20, 80, 400), rows),
        "town": np.repeat([*rng.choice(["a", "b", "c", "d"], 397), *[""] * 3], rows),
        "ill": rng.choice(["flu", "gout", "none"], rows.sum()),
    }
    frame = pl.DataFrame(columns)

    def described(missing):
        return sf.Schema.parse(
            {
                "name": "t",
                "person": "mrn",
                "attribute": {
                    "mrn": {"role": "identifier"},
                    "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
                    "town": {"role": "quasi", "values": ["a", "b", "c", "d"], "missing": missing},
                    "ill": {"role": "sensitive", "values": ["flu", "gout", "none"]},
                },
            }
        )

    table = sf.read(frame, described([""]))
    with pytest.raises(sf.ParameterError) as error:
        sf.publish(table, sf.Mondrian(sf.KAnonymity(5), max_suppressed="0.05"))
    fix = 'missing = { values = [""], action = "suppress" }'
    assert error.value.hint.startswith(fix)
    blocked = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    free = sf.publish(sf.read(frame, described(tomllib.loads(fix)["missing"])), sf.Mondrian(sf.KAnonymity(5)))
    assert free.people.everyone == 397
    assert "so no class of 5 that holds any of them can be cut by town" in blocked.warnings()[0]
    hidden = [(one.frame()["town"] == "*").mean() for one in (blocked, free)]
    assert 0 < hidden[0] < 1  # classes without those three are cut by town
    assert hidden[1] == 0
    free.save(tmp_path / "out", allow_fingerprints=True)
    assert sf.verify(tmp_path / "out").holds


def _published(tmp_path: Path, capsys: pytest.CaptureFixture[str], lacking: int, *method: str) -> str:
    """What `publish` says of rows of which so many lack the age."""
    _rows(lacking).write_csv(tmp_path / "rows.csv")
    schema = SCHEMA.format(head="rows_per_person = 1\ncopies_are_people = true")
    if "topdown" in method:
        schema = schema.replace('"sensitive"', '"target"')
    (tmp_path / "schema.toml").write_text(schema)
    files = [str(tmp_path / "rows.csv"), str(tmp_path / "schema.toml"), "-o", str(tmp_path / f"release{lacking}")]
    with pytest.raises(SystemExit) as ended:
        main(["publish", *method, *files])
    assert not ended.value.code
    printed = capsys.readouterr()
    return " ".join((printed.out + printed.err).split())


def test_suppress_is_not_said_to_leave_columns_uncut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Not cut" not in _published(tmp_path, capsys, 7, "suppress")


@pytest.mark.parametrize("method", ["mondrian", "topdown"])
def test_missing_values_are_blamed_only_where_few_lack_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    many = _published(tmp_path, capsys, 125, method, "--k", "121")
    assert "Not cut at all: age, sex." in many
    assert "missing = {" not in many
    few = _published(tmp_path, capsys, 7, method, "--k", "10")
    assert "age: 7 people have no value, fewer than 10" in few
    assert "Not cut at all: age" not in few


@pytest.mark.parametrize(("method", "least"), [(sf.Mondrian(l=2), 2), (sf.Mondrian(l=3), 3), (sf.Mondrian(t="0.4"), 1)])
def test_only_k_counts_people_as_several_rows(method: sf.Mondrian, least: int) -> None:
    """Under l alone as many rows as l people may have were called too few, though l counts rows, and age was cut."""
    schema = _schema("rows_per_person = 3\ncopies_are_people = true")
    rows = _rows(6).with_columns(illness=pl.Series(list("abc" * 80)))
    release = sf.publish(sf.read(rows, schema), method)
    assert not release.few_missing
    assert "*" not in set(release.frame()["age"])
    said = [one.rule.partition(", so")[0] for one in method.uncuttable(sf.read(_rows(1), schema), wrapped=False)]
    assert said == ([f"1 row has no value, fewer than {least}"] if least > 1 else [])
    beside = sf.Mondrian(method.requirement & sf.KAnonymity(3)).uncuttable(sf.read(rows, schema), wrapped=False)
    assert beside[0].rule.startswith("6 rows have no value, fewer than 9 (3 people of up to 3 rows), so no class of 3 ")
