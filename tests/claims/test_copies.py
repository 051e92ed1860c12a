"""Rows that are copies of one another are not several people, unless the steward says so."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
import sfumato.counts.copies as copies
from sfumato.cli.main import app
from sfumato.io.source import open_source

SCHEMA = """
name = "patients"
rows_per_person = 1
source = "public"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 100]
[attribute.zip]
role = "quasi"
values = [{zips}]
[attribute.illness]
role = "sensitive"
values = ["a", "b", "c", "d"]
""".format(zips=", ".join(f'"{at}"' for at in range(100)))


def people(rows: int = 600, seed: int = 1) -> pl.DataFrame:
    """A list in which hardly two people agree in everything."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(0, 100, rows),
            "zip": rng.integers(0, 100, rows),
            "illness": rng.choice(["a", "b", "c", "d"], rows),
            "admitted": rng.integers(0, 365, rows),
        }
    ).select(pl.all().cast(pl.String))


def adult(names: list[str], rows: int) -> pl.DataFrame:
    table = sf.datasets.adult().with_roles(quasi=names, sensitive=[], target=[])
    codes = table.codes()[np.random.default_rng(3).permutation(table.rows)[:rows]]
    return pl.DataFrame(codes.astype(str), schema=[a.name for a in table.schema.published])


def register(rows: int) -> pl.DataFrame:
    """Columns that follow from one another: few people differ, although many columns do."""
    rng = np.random.default_rng(5)
    age, code = rng.integers(20, 90, rows), rng.integers(0, 80, rows)
    made = {"age": age, "born": 2020 - age, "band": age // 10, "zip": code, "town": code // 2, "county": code // 20}
    return pl.DataFrame(made | {"sex": rng.integers(0, 2, rows)}).select(pl.all().cast(pl.String))


def survey(rows: int = 1000) -> pl.DataFrame:
    """Forty questions; a tenth of the people gave one answer to all of them."""
    rng = np.random.default_rng(7)
    answers = rng.integers(1, 6, (rows, 40))
    answers[: rows // 10] = rng.integers(1, 6, (rows // 10, 1))
    return pl.DataFrame(answers.astype(str), schema=[f"q{at}" for at in range(40)])


COARSE = ["age", "education", "education-num", "marital-status", "relationship", "sex", "race", "income"]
ORDINARY = [
    *((COARSE[:width], rows) for width in (2, 4, 8) for rows in (300, 3000, 20_000)),
    (["workclass", "occupation", "sex", "hours-per-week", "native-country"], 5000),
]


def found(frame: pl.DataFrame):
    return copies.find_copies(open_source(frame))


@pytest.mark.parametrize(("names", "rows"), ORDINARY)
def test_ordinary_tables_with_equal_rows_are_not_reported(names, rows):
    assert found(adult(names, rows)) is None


def test_registers_surveys_and_small_lists_are_not_reported():
    for rows in (100, 300, 1000, 5000):
        assert found(register(rows)) is None
    assert found(survey()) is None
    assert found(people(60)) is None
    assert found(people()) is None


@pytest.mark.parametrize("share", [0.08, 0.3, 1.0])
@pytest.mark.parametrize("rows", [300, 3000])
def test_copied_rows_are_reported(rows, share):
    frame = people(rows)
    again = pl.concat([frame, frame[: int(share * rows)]]).sample(fraction=1, shuffle=True, seed=2)
    assert found(again).copies == again.height - again.unique().height


def narrow(rows: int, often: list[int], seed: int) -> pl.DataFrame:
    """Four columns in which people often agree; each person has as many rows as `often` says, one after the other."""
    rng = np.random.default_rng(seed)
    made = {
        "age": rng.integers(18, 90, rows),
        "sex": rng.integers(0, 2, rows),
        "town": rng.integers(0, 4, rows),
        "illness": rng.integers(0, 6, rows),
    }
    frame = pl.DataFrame(made).select(pl.all().cast(pl.String))
    return frame[np.repeat(np.arange(rows), np.resize(often, rows)).tolist()]


@pytest.mark.parametrize("seed", range(5))
def test_many_copies_in_a_narrow_table_are_reported(seed):
    """Forty people with 12 rows each and 360 with one to three: 16 times as many equal pairs as by chance."""
    assert found(narrow(400, [12, 1, 1, 2, 3, 1, 1, 2, 3, 1], seed)) is not None
    for rows in (400, 1100, 4000):
        assert found(narrow(rows, [1], seed)) is None


@pytest.mark.parametrize("seed", range(4))
def test_ordinary_narrow_tables_are_not_reported(seed):
    """Any three to six columns of Adult, in which people agree often; copies are more than a quarter of most."""
    rng = np.random.default_rng(seed)
    table = sf.datasets.adult()
    names = [a.name for a in table.schema.attributes if a.name != "fnlwgt"]
    many = 0
    for width in (3, 4, 5, 6):
        frame = adult(rng.choice(names, width, replace=False).tolist(), int(rng.choice([400, 1500, 8000])))
        many += 4 * frame.unique().height < 3 * frame.height
        assert found(frame) is None
    assert many >= 2


def test_a_list_in_which_one_column_tells_all_is_not_reported():
    """A list of towns with their counties: nobody can tell copies from people of one town."""
    town = np.random.default_rng(4).integers(0, 300, 2000)
    assert found(pl.DataFrame({"town": town, "county": town // 10}).select(pl.all().cast(pl.String))) is None


def test_a_database_says_the_same():
    again = pl.concat([people(), people()[:200]])
    relation = duckdb.sql("select * from again")
    assert copies.find_copies(open_source(relation)) == found(again)


def test_mutants_are_caught(monkeypatch):
    """Without a share, without chance, without dependence and without several kinds, one of the tables above fails."""
    with monkeypatch.context() as mutant:
        mutant.setattr(copies, "beyond_chance", lambda *_, **__: True)
        assert found(adult(COARSE[:4], 3000)) is not None
    with monkeypatch.context() as mutant:
        mutant.setattr(copies, "_ENOUGH", 10**9)  # columns taken for independent
        assert found(register(5000)) is not None
    with monkeypatch.context() as mutant:
        mutant.setattr(copies, "_KINDS", 0)
        assert found(survey()) is not None
    with monkeypatch.context() as mutant:
        mutant.setattr(copies, "_ALONE", 2.0)
        town = np.arange(2000) % 300
        assert found(pl.DataFrame({"town": town, "odd": town % 2}).select(pl.all().cast(pl.String))) is not None
    with monkeypatch.context() as mutant:
        mutant.setattr(copies, "_NARROW", 0)
        assert found(narrow(400, [12, 1, 1, 2, 3, 1, 1, 2, 3, 1], 0)) is None
    few = pl.concat([people(), people()[:25]])
    assert found(few) is None
    with monkeypatch.context() as mutant:
        mutant.setattr(copies, "COPIES_SHARE", 0)
        assert found(few) is not None


def written(tmp_path, frame, text=SCHEMA):
    (tmp_path / "s.toml").write_text(text)
    frame.write_csv(tmp_path / "d.csv")
    return [str(tmp_path / "d.csv"), str(tmp_path / "s.toml")]


def test_check_warns_and_publish_refuses_until_the_steward_says_so(tmp_path):
    again = pl.concat([people(), people()[:200]])
    paths = written(tmp_path, again)
    stated = json.loads(CliRunner().invoke(app, ["check", *paths, "--json"]).stdout)
    assert stated["ok"]
    assert "200 of 800 rows are copies of another row" in stated["warnings"][0]["rule"]
    out = str(tmp_path / "out")
    asked = ["publish", "mondrian", *paths, "--k", "2", "-o", out, "--json"]
    refused = CliRunner().invoke(app, asked)
    assert refused.exit_code != 0
    with pytest.raises(sf.SchemaError, match="copies of another row") as caught:
        sf.publish(sf.read(paths[0], sf.Schema.load(paths[1])), sf.Mondrian(sf.KAnonymity(2)))
    assert "copies_are_people = true" in str(caught.value)
    written(tmp_path, again, SCHEMA.replace("rows_per_person = 1", "rows_per_person = 1\ncopies_are_people = true"))
    # Copies agree in everything, so that what is carried follows from the rest.
    assert CliRunner().invoke(app, [*asked, "--allow-derived"]).exit_code == 0
    rest = json.loads(CliRunner().invoke(app, ["check", *paths, "--json"]).stdout)["warnings"]
    assert [one["path"] for one in rest] == ["attribute.illness"]  # not the copies any more


def test_rows_that_are_not_said_to_be_people_and_proved_claims_are_not_refused(tmp_path):
    """A refusal that depends on the rows would be a veto in a differentially private release."""
    again = pl.concat([people(), people()[:200]])
    paths = written(tmp_path, again)
    table = sf.read(paths[0], sf.Schema.load(paths[1]), delimiter=",", encoding="utf-8", header=True)
    assert sf.publish(table, sf.NoisyTable(1), seed=1, allow_noise=True).claim.kind == "proved"
    written(tmp_path, again, SCHEMA.replace("rows_per_person = 1\n", ""))
    table = sf.read(paths[0], sf.Schema.load(paths[1]))
    assert table.doubts.copies()
    assert sf.publish(table, sf.Mondrian(sf.KAnonymity(2))).rows == 800


@pytest.mark.parametrize(("rows", "scans"), [(50_000, 1), (3000, 2)])
def test_rows_are_read_once_where_the_sample_is_kept_and_judged_alike(tmp_path, monkeypatch, rows, scans):
    """Of many different rows one in 16 is a sample already; of few the sample is read in a second scan."""
    frame, judged, read = people(rows), [], []
    path = tmp_path / "people.csv"
    pl.concat([frame, frame[: rows // 10]]).write_csv(path)
    source = open_source(path)
    scan = type(source).scan
    monkeypatch.setattr(type(source), "scan", lambda *given: read.append(given) or scan(*given))
    monkeypatch.setattr(copies, "_far_too_many", lambda *given: judged.append(given) is None)
    assert copies.find_copies(source) is not None
    assert len(read) == 1 + scans  # the first asks for types and reads nothing
    monkeypatch.setattr(copies, "_CELLS", 0)
    assert copies.find_copies(source) is not None
    (codes, *weights), (other_codes, *other_weights) = judged
    assert all(map(np.array_equal, weights, other_weights))
    assert all(map(np.array_equal, codes, other_codes))
