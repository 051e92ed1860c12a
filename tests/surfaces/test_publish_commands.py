"""The partition commands as a steward types them."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from sfumato.cli.main import app

SCHEMA = """\
name = "clinic"
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


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "age": rng.integers(0, 100, 400),
            "city": rng.choice(["Bern", "Genf", "Basel"], 400),
            "illness": rng.choice(["flu", "gout", "none"], 400),
            "paid": rng.choice(["no", "yes"], 400),
        }
    )
    frame.write_csv(tmp_path / "d.csv")
    (tmp_path / "s.toml").write_text(SCHEMA)
    return str(tmp_path / "d.csv"), str(tmp_path / "s.toml")


METHODS = {
    "mondrian": ["--k", "5", "--t", "0.2"],
    "bucketize": ["--l", "2"],
    "anatomy": ["--l", "2"],
    "topdown": ["--k", "5"],
    "suppress": [],
}


@pytest.mark.parametrize("method", METHODS)
def test_publish_then_verify(method: str, files: tuple[str, str], tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    done = CliRunner().invoke(app, ["publish", method, *files, *METHODS[method], "-o", out, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["summary"]["rows"] == 400
    seen = CliRunner().invoke(app, ["verify", out, "--json"], standalone_mode=False)
    assert json.loads(seen.stdout)["holds"]


@pytest.mark.parametrize("method", METHODS)
def test_dry_run_reads_nothing_and_writes_nothing(method: str, files: tuple[str, str], tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    done = CliRunner().invoke(app, ["publish", method, "no-such.csv", files[1], *METHODS[method], "--dry-run"])
    assert done.exit_code == 0, done.output
    assert sorted(tmp_path.iterdir()) == before


def test_the_mapping_is_written_on_request_and_fits(files: tuple[str, str], tmp_path: Path) -> None:
    out, file = tmp_path / "out", tmp_path / "map.csv"
    done = CliRunner().invoke(app, ["publish", "mondrian", *files, "--k", "5", "-o", str(out), "--mapping", str(file)])
    assert done.exit_code == 0, done.output
    assert "keep it to yourself" in done.output
    lines = pl.read_csv(file, infer_schema=False)
    data = pl.read_parquet(out / "data.parquet")
    wanted = data.group_by("age", "city").len().sort("age", "city")
    found = (
        lines.group_by(pl.col("age published").alias("age"), pl.col("city published").alias("city"))
        .agg(pl.col("rows").cast(pl.Int64).sum())
        .sort("age", "city")
    )
    assert found["rows"].to_list() == wanted["len"].to_list()
    assert not list(out.glob("*map*"))


def test_out_of_reach_exits_3(files: tuple[str, str], tmp_path: Path) -> None:
    from sfumato.cli import main

    with pytest.raises(SystemExit) as stopped:
        main(["publish", "mondrian", *files, "--l", "50", "-o", str(tmp_path / "out")])
    assert stopped.value.code == 3
    assert not (tmp_path / "out").exists()


def test_a_folder_is_never_overwritten(files: tuple[str, str], tmp_path: Path) -> None:
    from sfumato.cli import main

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep")
    with pytest.raises(SystemExit) as stopped:
        main(["publish", "suppress", *files, "-o", str(tmp_path / "out")])
    assert stopped.value.code == 2
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]
