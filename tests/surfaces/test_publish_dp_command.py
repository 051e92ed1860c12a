"""`sfumato publish diffgen` and `noisy-table`: the plan comes first, flags become parameters, errors are messages."""

from __future__ import annotations

import json

import pytest
from tests.surfaces.small_files import SCHEMA, write_table

import sfumato as sf
from sfumato.cli.main import main

WITH_TARGET = SCHEMA.replace('role = "sensitive"', 'role = "target"')


@pytest.fixture
def files(tmp_path):
    write_table(tmp_path / "data.csv", tmp_path / "schema.toml", WITH_TARGET)
    return tmp_path


def command(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code, capsys.readouterr()


def test_the_plan_is_printed_before_anything_is_spent(files, capsys):
    out = files / "out"
    code, said = command(
        capsys,
        "publish",
        "diffgen",
        files / "data.csv",
        files / "schema.toml",
        "--epsilon",
        "1",
        "--recommended",
        "--ledger",
        files / "ledger.db",
        "-o",
        out,
    )
    assert code == 0
    assert said.out.index("Spends epsilon 7/10") < said.out.index("Published small")
    assert "rows a cell on average" in said.out
    assert sf.Release.load(out).claim.promise == sf.PureDP(1)


def test_dry_run_reads_no_data(files, capsys):
    (files / "data.csv").unlink()
    arguments = (
        "--epsilon",
        "1/2",
        "--specializations",
        "3",
        "--score",
        "gini",
        "--prefix",
        "1/10",
        "--dry-run",
        "--json",
    )
    code, said = command(capsys, "publish", "diffgen", files / "data.csv", files / "schema.toml", *arguments)
    assert code == 0
    answer = json.loads(said.out)
    mechanism = sf.DiffGen("1/2", specializations=3, score="gini", prefix="1/10")
    schema = sf.Schema.load(files / "schema.toml")
    assert answer["plan"] == sf.plan(schema, mechanism).to_json()
    assert answer["plan"].pop("forecast")["rows"] == 1000
    assert answer["plan"] == sf.plan(schema, mechanism, forecast=False).to_json()


def test_command_and_library_give_the_same_rehearsal(files, capsys):
    cut = ("--cut", "age=[20-24);[24-28)", "--cut", "job=*", "--threshold", "1")
    out = files / "out"
    code, _ = command(
        capsys, "publish", "noisy-table", files / "data.csv", files / "schema.toml", "--epsilon", "2", *cut,
        "--seed", "5", "--allow-rehearsal", "--json", "-o", out,
    )  # fmt: skip
    assert code == 0
    table = sf.read(files / "data.csv", sf.Schema.load(files / "schema.toml"))
    cuts = {"age": ["[20-24)", "[24-28)"], "job": ["*"]}
    release = sf.publish(table, sf.NoisyTable(2, cuts=cuts, threshold=1), seed=5)
    assert sf.Release.load(out).frame().equals(release.frame())


@pytest.mark.parametrize(
    ("method", "flags", "message"),
    [
        ("diffgen", ("--epsilon", "0"), "must be above 0"),
        ("diffgen", ("--epsilon", "1", "--recommended", "--score", "max"), "fixed by --recommended"),
        ("diffgen", ("--epsilon", "1", "--threshold", "few"), "whole number"),
        ("diffgen", ("--epsilon", "1", "--paper", "--splits", "together"), "not in the paper"),
        ("noisy-table", ("--epsilon", "1", "--cut", "age"), "attribute=label"),
        ("diffgen", (), "--epsilon"),
    ],
)
def test_errors_are_messages(files, capsys, method, flags, message):
    code, said = command(
        capsys, "publish", method, files / "data.csv", files / "schema.toml", *flags, "-o", files / "out"
    )
    assert code == 2
    assert message in said.out + said.err
    assert not (files / "out").exists()


def test_noise_is_stated_and_nobody_is_called_suppressed(files, capsys):
    asked = ("publish", "noisy-table", files / "data.csv", files / "schema.toml", "--epsilon", "1", "-o", files / "out")
    code, said = command(capsys, *asked, "--ledger", files / "ledger.db")
    assert code == 0
    assert "small ones are not reported" in said.out
    assert "suppressed" not in said.out
    stated = (files / "out" / "dictionary.md").read_text("utf-8")
    assert "the counts carry noise" in stated
    assert "published as it is" not in stated
    assert "null" not in stated


def test_a_missing_account_is_refused_and_one_without_a_limit_is_a_warning(files, capsys):
    asked = ("publish", "noisy-table", files / "data.csv", files / "schema.toml", "--epsilon", "1")
    code, said = command(capsys, *asked, "-o", files / "a")
    assert code == 2
    assert "--allow-unaccounted" in said.err
    assert not (files / "a").exists()
    code, said = command(capsys, *asked, "-o", files / "a", "--allow-unaccounted")
    assert code == 0
    assert "Warning: no ledger is named" in said.err
    book = files / "ledger.db"
    sf.Ledger(book).limit("smal", 1)  # a slip of the pen
    _, said = command(capsys, *asked, "-o", files / "b", "--ledger", book)
    rule = "the ledger also has a population smal, similar to small: if they are the same people, use smal"
    assert rule in said.err
    assert "sets no limit for the population small. Set one with" in said.err
    sf.Ledger(book).limit("small", 5)
    _, said = command(capsys, *asked, "-o", files / "c", "--ledger", book)
    assert "Warning" not in said.err
    _, said = command(capsys, *asked, "-o", files / "d", "--ledger", files / "new.db", "--json")
    assert "sets no limit for the population small" in json.loads(said.out)["warnings"][0]


def test_what_a_method_does_not_carry_is_named_with_its_reason(files, capsys):
    both = WITH_TARGET + '[attribute.ill]\nrole = "sensitive"\nkind = "nominal"\nvalues = ["x", "y"]\n'
    (files / "both.toml").write_text(both, "utf-8")
    rows = (files / "data.csv").read_text("utf-8").splitlines()
    (files / "both.csv").write_text("\n".join([f"{rows[0]},ill", *(f"{row},x" for row in rows[1:])]), "utf-8")
    asked = ("publish", "diffgen", files / "both.csv", files / "both.toml", "--epsilon", "1")
    _, said = command(capsys, *asked, "--dry-run")
    assert "Not published by this method, which counts the target and no sensitive column: ill." in said.out
    _, said = command(capsys, *asked, "-o", files / "out", "--allow-unaccounted", "--json")
    assert json.loads(said.out)["not_published"] == ["ill"]
    lacking = [f"{rows[0]},ill", *(f"{row},{'x' if at % 3 else ''}" for at, row in enumerate(rows[1:]))]
    (files / "new.csv").write_text("\n".join(lacking), "utf-8")
    gaps = both.replace('["x", "y"]', '["x", "y"]\nmissing = { values = [""], action = "suppress" }')
    (files / "gaps.toml").write_text(gaps, "utf-8")
    asked = ("apply", files / "out", files / "new.csv", "--schema", files / "gaps.toml", "-o")
    _, said = command(capsys, *asked, files / "more.csv")
    assert "Wrote 200 rows" in said.out
    assert "100 rows" in said.out
    assert "does not publish, as it is: ill." in said.err
    _, said = command(capsys, *asked, files / "again.csv", "--json")
    answer = json.loads(said.out)
    assert (answer["rows"], answer["left_out"], answer["not_in_release"]) == (200, 100, ["ill"])


def test_noise_that_passes_for_people_is_stated_before_and_after(files, capsys):
    asked = ("publish", "noisy-table", files / "data.csv", files / "schema.toml", "--epsilon", "1/20")
    _, said = command(capsys, *asked, "--dry-run")
    assert "expected to hold nobody: noise alone" in said.out
    assert "Warning: with this number of cells no group below" in said.out
    assert "This would be refused: epsilon = 0.05: noise alone would report about" in said.out
    code, said = command(capsys, *asked, "-o", files / "out", "--ledger", files / "book.db")
    assert code == 2
    assert "allow_noise=True (--allow-noise)" in said.err
    assert not (files / "out").exists()
    assert not (files / "book.db").exists()  # refused before anything was reserved
    code, _ = command(capsys, *asked, "-o", files / "out", "--allow-noise", "--allow-unaccounted")
    assert code == 0
    assert "expected to hold nobody" in (files / "out" / "dictionary.md").read_text("utf-8")


def test_parameters_that_were_compared_are_stated_in_the_claim(files, capsys):
    words = ("publish", "noisy-table", files / "data.csv", files / "schema.toml", "--epsilon", "1", "--json")
    words += ("--ledger", files / "ledger.db")
    silences = []
    for more in ((), ("--compared",)):
        out = files / f"out{len(more)}"
        code, said = command(capsys, *words, *more, "-o", out)
        assert code == 0, said
        silences.append(set(sf.Release.load(out).claim.silent_on))
    assert silences[1] - silences[0] == {sf.frontiers.CHOSEN}


def test_what_is_said_of_drawn_rows_is_said_on_the_screen_too(files, capsys):
    """A third of the rows was expected to be noise: the dictionary said so, and `publish` did not."""
    asked = ("publish", "target-rows", files / "data.csv", files / "schema.toml", "--epsilon", "1", "-o", files / "out")
    code, said = command(capsys, *asked, "--ledger", files / "ledger.db", "--allow-noise")
    assert code == 0, said.err
    for note in sf.Release.load(files / "out").notes:
        assert f"{note[0].upper()}{note[1:]}." in " ".join(said.out.split())
