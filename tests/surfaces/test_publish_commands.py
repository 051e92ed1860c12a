"""The partition commands as a steward types them."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app, main

SCHEMA = """\
name = "clinic"
source = "public"
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


def test_it_prints_five_released_rows_and_where_a_column_tells_nothing(files: tuple[str, str], tmp_path: Path) -> None:
    out, page = str(tmp_path / "out"), tmp_path / "page.html"
    words = ["publish", "mondrian", *files, "--k", "5", "--format", "xlsx", "--page", str(page), "-o", out]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    frame = sf.Release.load(out).frame()
    lines = done.stdout.splitlines()
    at = next(place for place, line in enumerate(lines) if line.split() == frame.columns)
    assert [line.split()[-1:] in (["no"], ["yes"]) for line in lines[at + 1 : at + 7]] == [True] * 5 + [False]
    answer = " ".join(lines[at:]).partition("nothing (* or (known)): ")[2]
    shares = dict(part.split()[:2] for part in answer.partition("%.")[0].split(", "))
    for name in ("age", "city"):
        assert float(shares[name]) == pytest.approx(100 * frame[name].is_in(["*", "(known)"]).mean(), rel=0.01)
    text = page.read_text("utf-8")
    assert "the published table" in text
    assert "sfumato verify out" in text
    assert "How it was chosen" not in text  # nothing was compared


def test_a_release_that_tells_nothing_of_a_column_says_so(files: tuple[str, str], tmp_path: Path) -> None:
    words = ["publish", "mondrian", *files, "--k", "300", "-o", str(tmp_path / "out"), "--json"]
    assert json.loads(CliRunner().invoke(app, words).stdout)["stars"] == {"age": 1.0, "city": 1.0}


@pytest.mark.parametrize("command", [["check"], ["publish", "suppress"], ["frontier"]])
def test_swapped_arguments_are_stated(command: list[str], files: tuple[str, str]) -> None:
    done = CliRunner().invoke(app, [*command, *reversed(files)], standalone_mode=False)
    assert "the data file comes first, the schema second" in f"{done.output} {done.exception}"


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


@pytest.mark.parametrize(("method", "asked"), [("mondrian", ["--k", "1"]), ("mondrian", ["--k", "5", "--t", "0.7"])])
def test_a_requirement_that_promises_nothing_is_not_published(method, asked, files, tmp_path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["publish", method, *files, *asked, "-o", str(out)])
    assert "promises nothing: every table satisfies it" in str(done.exception)
    assert not out.exists()


def test_a_void_claim_is_named_by_whoever_reads_it(files, tmp_path) -> None:
    release = sf.publish(sf.read(files[0], sf.Schema.load(files[1])), sf.Mondrian(sf.KAnonymity(1)), allow_void=True)
    release.save(tmp_path / "void", format="csv")
    assert "anything by k-anonymity(1): every table satisfies it" in (tmp_path / "void" / "dictionary.md").read_text()
    assert "promises nothing" in str(sf.verify(tmp_path / "void"))
    bare = sf.verify(tmp_path / "void" / "data.csv", schema=release.schema, requirement=sf.TCloseness("0.7"))
    assert "promises nothing" in str(bare)


def test_buckets_say_that_quasi_identifiers_are_exact(files, tmp_path) -> None:
    done = CliRunner().invoke(app, ["publish", "anatomy", *files, "--l", "2", "-o", str(tmp_path / "out")])
    assert "in every published row: age, city. Only the link to illness is hidden." in done.output


def test_a_file_of_a_release_is_verified_by_its_folder(files, tmp_path) -> None:
    CliRunner().invoke(app, ["publish", "mondrian", *files, "--k", "5", "-o", str(tmp_path / "out")])
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "out" / "data.parquet")])
    assert "verify its folder" in str(done.exception)


def test_what_applies_to_new_rows_is_named(files, tmp_path) -> None:
    CliRunner().invoke(app, ["publish", "mondrian", *files, "--k", "5", "-o", str(tmp_path / "out")])
    done = CliRunner().invoke(app, ["apply", str(tmp_path / "out"), files[0], "-o", str(tmp_path / "new.csv")])
    assert "topdown, diffgen and noisy-table" in str(done.exception)


def test_an_option_of_another_method_gets_no_far_fetched_suggestion(files, capsys) -> None:
    with pytest.raises(SystemExit):
        main(["publish", "mondrian", *files, "--epsilon", "1"])
    assert "Did you mean" not in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["publish", "mondrian", *files, "--dri-run"])
    assert "--dry-run" in capsys.readouterr().err


def test_an_attribute_that_few_people_lack_and_nothing_cut_is_named(files, tmp_path) -> None:
    data, schema = Path(files[0]), Path(files[1])
    lines = data.read_text().splitlines()
    data.write_text("\n".join([*lines[:-3], *("," + line.split(",", 1)[1] for line in lines[-3:])]) + "\n")
    schema.write_text(SCHEMA.replace("range = [0, 100]", 'range = [0, 100]\nmissing = [""]'))
    done = CliRunner().invoke(app, ["publish", "mondrian", *files, "--k", "100", "-o", str(tmp_path / "out")])
    assert "fewer than 100, so no class of 100 that holds any of them can be cut by age" in " ".join(
        done.output.split()
    )
    assert 'action = "suppress"' in done.output


def test_apply_names_the_schema_where_the_saved_one_can_not_read_the_file(tmp_path) -> None:
    rows = "".join(f"{row % 50},5;{'yes' if row % 3 else 'no'}\n" for row in range(200))
    (tmp_path / "d.csv").write_text("dose;paid\n" + rows)
    dose = 'role = "quasi"\nkind = "numeric"\nrange = [0, 64]\ndecimal = ","\n'
    (tmp_path / "s.toml").write_text(
        f'name = "c"\nsource = "public"\n[attribute.dose]\n{dose}'
        '[attribute.paid]\nrole = "target"\nvalues = ["no", "yes"]\n'
    )
    data, schema, out = (str(tmp_path / name) for name in ("d.csv", "s.toml", "out"))
    assert CliRunner().invoke(app, ["publish", "topdown", data, schema, "--k", "5", "-o", out]).exit_code == 0
    done = CliRunner().invoke(app, ["apply", out, data, "-o", str(tmp_path / "new.csv")])
    assert "--schema patients.toml" in str(done.exception)
    assert done.exception.problems[0].path == "--schema"  # the cause stands before what follows from it
    done = CliRunner().invoke(app, ["apply", out, data, "-o", str(tmp_path / "new.csv"), "--schema", schema])
    assert done.exception is None


def test_commands_to_copy_are_quoted(files, tmp_path) -> None:
    out = tmp_path / "out of house"
    done = CliRunner().invoke(app, ["publish", "mondrian", *files, "--k", "5", "-o", str(out)])
    assert f"sfumato verify '{out}'" in done.output
