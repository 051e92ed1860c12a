"""`sfumato publish ... --engine spark`: the same folder as without, and messages where Spark is not there."""

from __future__ import annotations

import pytest
from tests.spark_sessions import Sail

import sfumato as sf
from sfumato.cli import main
from sfumato.io.spark import spark_session


@pytest.fixture(scope="module")
def address():
    server = Sail()
    yield server.address
    server.stop()


def publish(capsys, data, schema, *more: str) -> tuple[int, str]:
    """Run the command; return its exit code and what it said."""
    with pytest.raises(SystemExit) as done:
        main(["publish", "mondrian", str(data), str(schema), "--k", "5", *more])
    said = capsys.readouterr()
    return int(done.value.code or 0), said.out + said.err


def test_the_same_folder_with_spark(clinic_files, address, tmp_path, capsys) -> None:
    data, schema = clinic_files
    spark = ("--engine", "spark", "--remote", address)
    assert publish(capsys, data, schema, "-o", str(tmp_path / "here"))[0] == 0
    for number, more in enumerate(((), ("--driver-cells", "40"))):
        out = tmp_path / f"there{number}"
        code, said = publish(capsys, data, schema, "-o", str(out), *spark, *more)
        assert code == 0, said
        assert (out / "data.parquet").read_bytes() == (tmp_path / "here" / "data.parquet").read_bytes()
        assert sf.verify(out).holds


def test_the_named_server_is_asked_though_a_session_of_another_is_open(address) -> None:
    other = Sail()
    try:
        assert other.session().range(2).count() == 2
        asked = spark_session(remote=address)
    finally:
        other.stop()
    assert asked.range(3).count() == 3, "the other server is gone, the named one answers"


def test_parquet_is_read_by_spark(clinic_files, address, tmp_path, capsys) -> None:
    import polars as pl

    data, schema = clinic_files
    pl.read_csv(data).write_parquet(tmp_path / "clinic.parquet")
    out = tmp_path / "out"
    spark = ("--engine", "spark", "--remote", address)
    code, said = publish(capsys, tmp_path / "clinic.parquet", schema, "-o", str(out), *spark)
    assert code == 0, said
    assert sf.verify(out).holds


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "spark"], "needs either a master or a remote server"),
        (["--engine", "spark", "--remote", "localhost"], "must be sc://host:port"),
        (["--engine", "spark", "--remote", "sc://127.0.0.1:1"], "Spark cannot be reached"),
        (["--master", "local[2]"], "add --engine spark"),
    ],
)
def test_what_is_missing_is_said(options: list[str], said: str, clinic_files, tmp_path, capsys) -> None:
    code, printed = publish(capsys, *clinic_files, "-o", str(tmp_path / "out"), *options)
    assert code == 2
    assert said in printed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file"),
        ("age,town,ill\n20,a,flu\n21,b\n", "cannot be read"),
        ("age,town\n20,a\n", "ill is missing"),
    ],
    ids=["no file", "a short line", "no column"],
)
def test_files_are_refused(text: str | None, said: str, clinic_files, address, tmp_path, capsys) -> None:
    if text is not None:
        (tmp_path / "odd.csv").write_text(text)
    out = ("-o", str(tmp_path / "out"), "--engine", "spark", "--remote", address)
    code, printed = publish(capsys, tmp_path / "odd.csv", clinic_files[1], *out)
    assert code == 2
    assert said in printed
    assert not (tmp_path / "out").exists()
