"""`sfumato synthesize` as a steward types it, and the same by the library."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    data = sf.datasets.commuting(300, 2000, 1)
    data.flows.write_csv(tmp_path / "od.csv")
    data.geography.write_csv(tmp_path / "blocks.csv")
    return [str(tmp_path / "od.csv"), "--geography", str(tmp_path / "blocks.csv")]


def run(*arguments: str, code: int = 0) -> dict:
    done = CliRunner().invoke(app, ["synthesize", *arguments, "--json"])
    if code == 0:
        assert done.exit_code == 0, (done.output, done.exception)
        return json.loads(done.output)
    assert done.exception is not None
    return {"error": done.exception}


OPTIONS = {
    "plain": [],
    "coarse": ["--coarsen", "tract"],
    "bands": ["--by", "tract", "--bands", "2,5", "--weights", "4,2,1"],
    "shrunk": ["--keep", "0.2"],
    "cut": ["--by", "tract", "--max-distance", "3"],
    "far": ["--by", "tract", "--far", "3", "tract"],
    "person": ["--unit", "person", "--cap", "2"],
    "rejecting": ["--accept-reject"],
}


@pytest.mark.cells(3)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_synthesize_then_verify(options, files, tmp_path):
    out = str(tmp_path / "out")
    answer = run(*files, "--epsilon", "4.6", "--delta", "1e-5", *options, "--allow-unaccounted", "-o", out)
    assert answer["ok"]
    assert answer["summary"]["rows"] == 2000
    done = CliRunner().invoke(app, ["verify", out, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["kind"] == "proved"


def test_older_flows_shape_the_prior(files, tmp_path):
    older = pl.read_csv(files[0], infer_schema=False).select(
        pl.col("w_geocode").str.slice(0, 11).alias("w_tract"), pl.col("h_geocode").str.slice(0, 11).alias("h_tract"),
        "S000",
    )  # fmt: skip
    older.write_csv(tmp_path / "older.csv")  # a stand-in for last year's
    options = ["--older", str(tmp_path / "older.csv"), "tract", "--coarsen", "tract", "--dry-run"]
    answer = run(*files, "--epsilon", "4.6", "--delta", "1e-5", *options)
    assert any("older public flows" in text for text in answer["claim"]["public_inputs"])


def test_totals_stay_and_the_file_holds_two_columns(files, tmp_path):
    given = ["--epsilon", "4.6", "--delta", "1e-5", "--allow-unaccounted", "--format", "csv"]
    run(*files, *given, "-o", str(tmp_path / "out"))
    real = pl.read_csv(files[0], schema_overrides={"w_geocode": str}).group_by("w_geocode").agg(pl.col("S000").sum())
    drawn = pl.read_csv(tmp_path / "out" / "data.csv", infer_schema=False)
    assert drawn.columns == ["destination", "origin"]
    totals = drawn.group_by("destination").len()
    assert dict(totals.iter_rows()) == dict(real.iter_rows())


def test_command_and_library_draw_the_same(files, tmp_path):
    out = tmp_path / "out"
    run(*files, "--epsilon", "4.6", "--delta", "1e-5", "--coarsen", "tract", "--seed", "5", "--allow-rehearsal",
        "-o", str(out))  # fmt: skip
    geography = sf.commuting.Geography.read(files[2])
    flows = sf.commuting.read_flows(files[0], geography)
    shape = sf.commuting.Shape(geography, coarsen="tract")
    release = sf.publish(flows.table, sf.Synthesize("4.6", "1e-5", prior=shape), seed=5)
    assert sf.Release.load(out).frame().equals(release.frame())


def test_dry_run_reads_no_flows(files):
    answer = run("no-such-file.csv", *files[1:], "--epsilon", "4.6", "--delta", "1e-5", "--keep", "0.1", "--dry-run")
    stages = [stage["name"] for stage in answer["plan"]["stages"]]
    assert stages == ["prior", "domain", "synthesis", "placing"]
    assert answer["claim"]["promise"]["kind"] == "approx-dp"
    shown = CliRunner().invoke(
        app, ["synthesize", "x.csv", *files[1:], "--epsilon", "4.6", "--delta", "1e-5", "--dry-run"]
    )
    assert "Neighbours" in shown.output


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--epsilon", "0", "--delta", "1e-5"], sf.ParameterError),
        (["--epsilon", "1", "--delta", "1e-5", "--bands", "two"], sf.ParameterError),
        (["--epsilon", "1", "--delta", "1e-5", "--coarsen", "parish"], sf.ParameterError),
        (["--epsilon", "1", "--delta", "1e-5", "--unit", "person"], sf.ParameterError),
        (["--epsilon", "1", "--delta", "1e-5", "--seed", "1"], sf.ReleaseError),
    ],
)
def test_wrong_options_are_named_and_nothing_is_written(options, error, files, tmp_path):
    found = run(*files, *options, "-o", str(tmp_path / "out"), code=2)["error"]
    assert isinstance(found, error)
    assert not (tmp_path / "out").exists()


def test_nothing_is_drawn_where_nothing_could_be_saved(files, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_text("x")
    asked = ["--epsilon", "4.6", "--delta", "1e-5", "-o", str(tmp_path / "out")]
    assert isinstance(run(*files, *asked, "--ledger", str(tmp_path / "l.db"), code=2)["error"], sf.ReleaseError)
    found = run(*files, *asked, code=2)["error"]
    assert isinstance(found, sf.ParameterError)
    assert found.name == "ledger"


def test_a_ledger_is_charged(files, tmp_path):
    book = str(tmp_path / "book.sqlite")
    run(*files, "--epsilon", "4.6", "--delta", "1e-5", "-o", str(tmp_path / "out"), "--ledger", book)
    assert sf.Release.load(tmp_path / "out").claim.accounted


@pytest.mark.parametrize(
    ("column", "values", "warned"),
    [("trip_date", ["2024-05-01"], True), ("person_id", ["a", "b"], True), ("person_id", None, False)],
)
def test_lines_that_may_be_days_or_trips_of_one_person_are_warned_of(column, values, warned, files, tmp_path) -> None:
    flows = pl.read_csv(files[0], infer_schema=False)
    cells = [str(at) if values is None else values[at % len(values)] for at in range(flows.height)]
    flows.with_columns(pl.Series(column, cells)).write_csv(files[0])
    budget = ["--epsilon", "4.6", "--delta", "1e-5", "--allow-unaccounted"]
    answer = run(*files, *budget, "-o", str(tmp_path / "out"))
    assert any(text.startswith(column) and "one" in text for text in answer["warnings"]) == warned
    done = CliRunner().invoke(app, ["synthesize", *files, *budget, "-o", str(tmp_path / "again")])
    assert (f"Warning: {column}" in done.stderr) == warned


def test_a_map_that_cannot_be_written_is_a_warning_once_the_release_is_saved(files, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sfumato.commuting.map.write_map", full)
    out = tmp_path / "out"
    asked = ["--epsilon", "4.6", "--delta", "1e-5", "--ledger", str(tmp_path / "l.db"), "-o", str(out)]
    answer = run(*files, *asked, "--map", str(tmp_path / "m.html"))
    assert answer["map"] is None
    assert any("map was not written" in text for text in answer["warnings"])
    assert sf.verify(out).holds


def test_a_sum_of_one_or_more_is_not_given_as_a_bound(files, tmp_path):
    asked = ["--epsilon", "0.5", "--delta", "0.1", "--seed", "1", "--allow-rehearsal", "-o", str(tmp_path / "out")]
    (said,) = [text for text in run(*files, *asked)["notes"] if "disclosing draw" in text]
    assert "at most 1 at" not in said
    assert "nothing is promised" in said


def test_shares_near_none_and_all_are_not_rounded_to_them():
    from sfumato.commuting.map import of_homes

    shares = [0.01, 0.049, 0.05, 0.051, 0.14, 0.88, 0.949, 0.95, 0.99]
    parts = [1, 5, 5, 5, 14, 88, 95, 95, 99]  # 5.1 % was 1 of 10, beside 4.9 % as 5 of 100
    assert [of_homes(share) for share in shares] == [f"{part} of 100 homes" for part in parts]


def test_of_a_shrunk_prior_the_share_is_called_an_upper_bound(files, tmp_path):
    """Most empty cells take no part: far fewer homes come from the prior than before shrinking."""
    asked = ["--epsilon", "4.6", "--delta", "1e-3", "--seed", "1", "--allow-rehearsal"]
    page = tmp_path / "m.html"
    answer = run(*files, *asked, "--keep", "0.05", "-o", str(tmp_path / "out"), "--map", str(page))
    assert answer["drawn"].startswith("at most ")
    assert '<span id="prior">at most ' in page.read_text("utf-8")
    whole = run(*files, *asked, "-o", str(tmp_path / "whole"))
    assert "at most" not in whole["drawn"]
