"""`sfumato publish dlink`: what the library makes, the command makes."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import main

SCHEMA = """
name = "people"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 60]
step = 2
[attribute.job]
role = "quasi"
kind = "nominal"
values = ["a", "b", "c"]
[attribute.ill]
role = "sensitive"
kind = "nominal"
values = ["flu", "gout", "none", "pox", "rash"]
"""


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "age": rng.integers(0, 60, 600),
            "job": rng.choice(list("abc"), 600),
            "ill": rng.choice(["flu", "gout", "none", "pox", "rash"], 600, p=[0.3, 0.25, 0.2, 0.15, 0.1]),
        }
    )
    frame.write_csv(tmp_path / "data.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "population.csv").write_text(
        "attribute,value,count\n"
        + "".join(
            f"ill,{v},{n}\n" for v, n in zip(["flu", "gout", "none", "pox", "rash"], [9, 8, 7, 6, 5], strict=True)
        ),
        encoding="utf-8",
    )
    return tmp_path


def command(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code, capsys.readouterr()


def test_command_and_library_agree(files, capsys) -> None:
    out = files / "out"
    asked = ("--k", 5, "--d", 4, "--alpha", "0.8", "-o", out, "--json")
    code, stated = command(capsys, "publish", "dlink", files / "data.csv", files / "schema.toml", *asked)
    assert code == 0
    answer = json.loads(stated.out)
    assert answer["claim"]["promise"]["kind"] == "linkable"
    table = sf.read(files / "data.csv", sf.Schema.load(files / "schema.toml"))
    release = sf.publish(table, sf.DLink(sf.Mondrian(sf.KAnonymity(5)), d=4, alpha=0.8))
    assert answer["summary"] == release.summary().to_json()
    assert sf.Release.load(out).frame().equals(release.frame())
    code, stated = command(capsys, "verify", out, "--json")
    assert code == 0
    assert json.loads(stated.out)["kind"] == "estimate"


@pytest.mark.parametrize(
    "more",
    [
        ("--population", "joint", "--distance", "uniform", "--nominal", "leaves"),
        ("--population", "population.csv"),
        ("--probability", "robust", "--k-other", "40"),
        ("--organisations", "3", "--others", "900", "--others", "500"),
        ("--inside",),
        ("--l", "2", "--max-suppressed", "0.02"),
    ],
    ids=" ".join,
)
def test_every_option_reaches_the_mechanism(files, capsys, more) -> None:
    given = [files / word if word.endswith(".csv") else word for word in more]
    paths = (files / "data.csv", files / "schema.toml")
    code, stated = command(
        capsys, "publish", "dlink", *paths, "--k", 5, "--d", 3, "--alpha", "0.6", *given, "-o", files / "out", "--json"
    )
    assert code == 0, stated
    assert json.loads(stated.out)["claim"]["promise"]["d"] == 3


def test_unreachable_is_exit_3_and_bad_input_2(files, capsys) -> None:
    paths = (files / "data.csv", files / "schema.toml", "-o", files / "out")
    code, stated = command(capsys, "publish", "dlink", *paths, "--k", 5, "--others", 3)
    assert code == 3
    assert "cannot be reached" in stated.err
    assert command(capsys, "publish", "dlink", *paths, "--k", 5, "--alpha", 2)[0] == 2
    code, stated = command(capsys, "publish", "dlink", *paths, "--k", 5, "--dry-run")
    assert code == 0
    assert "not a guarantee" in stated.out
