"""Paths that are not text, or mean something to an engine: a message before anything is spent, or it works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.small_files import WITHOUT_JOB, write_table

import sfumato as sf
from sfumato.cli.main import main
from sfumato.release import store

pytestmark = pytest.mark.skipif(
    sys.platform != "linux",
    reason="only Linux lets a file have a name that is not UTF-8; elsewhere there is nothing to test",
)

NO_TEXT = os.fsdecode(b"o\xff")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table("d.csv", "s.toml", WITHOUT_JOB)
    return tmp_path


@pytest.fixture
def run(desk, capsys):
    def command(*words):
        with pytest.raises(SystemExit) as stopped:
            main([*map(str, words)])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return stopped.value.code, said.out + said.err

    return command


NOISY = ("publish", "noisy-table", "d.csv", "s.toml", "--epsilon", "1", "--ledger", "ledger.db")


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("place", [NO_TEXT, f"{NO_TEXT}/out"])
def test_an_output_whose_path_is_no_text_is_refused_before_anything_is_spent(run, form, place):
    code, said = run(*NOISY, "-o", place, "--format", form)
    assert code == 2
    assert "its path is not valid UTF-8" in said
    assert not Path("ledger.db").exists()


def test_tables_and_releases_whose_path_is_no_text_are_refused_with_a_message(run):
    assert run(*NOISY, "-o", "out")[0] == 0
    for name in ("d.csv", "out"):
        Path(name).rename(NO_TEXT)
        wrong = ("verify", NO_TEXT) if name == "out" else ("check", NO_TEXT, "s.toml")
        code, said = run(*wrong)
        assert (code, "its path is not valid UTF-8" in said) == (2, True), said
        Path(NO_TEXT).rename(name)
    with pytest.raises(sf.ParameterError, match="not valid UTF-8"):
        sf.Ledger("ledger.db").record_saved(1, NO_TEXT)


@pytest.mark.parametrize("words", [("--population", "p\udcff"), ("--resolve", 10**23, "--as", "spent", "--note", "x")])
def test_the_ledger_has_a_message_for_names_and_numbers_it_cannot_hold(run, words):
    run("ledger", "ledger.db", "--population", "small", "--set-limit", "1")
    before = Path("ledger.db").read_bytes()
    assert run("ledger", "ledger.db", *words)[0] == 2
    assert Path("ledger.db").read_bytes() == before


@pytest.mark.parametrize("act", ["saved", "not-saved", "note", "part"])
def test_no_argument_of_the_ledger_escapes_as_a_traceback(run, act):
    assert run(*NOISY, "-o", "out")[0] == 0
    words = {
        "saved": ("--saved", 10**23, "out"),
        "not-saved": ("--not-saved", 10**23, "--note", "x"),
        "note": ("--not-saved", 1, "--note", "\udcff"),
        "part": ("--population", "small", "--part", "\udcff"),
    }
    assert run("ledger", "ledger.db", *words[act])[0] == 2


@pytest.mark.cells(6)
@pytest.mark.parametrize("name", ["~", "~root", "s3:", "http:", "-x", "out[1]", "a%20b", "file:", "caf\u00e9"])
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_names_that_engines_and_shells_expand_are_plain_names(run, name, form):
    assert run(*NOISY, "-o", f"./{name}", "--format", form)[0] == 0
    assert (Path.cwd() / name / "manifest.json").is_file()
    assert run("verify", f"./{name}")[0] == 0
    Path("d.csv").rename(Path.cwd() / f"{name}.csv")
    assert run("check", f"./{name}.csv", "s.toml")[0] == 0


@pytest.mark.parametrize("error", [TypeError("x"), MemoryError(), RecursionError(), UnicodeError("x")])
def test_whatever_goes_wrong_while_a_paid_release_is_written_it_is_kept(run, monkeypatch, tmp_path, error):
    (tmp_path / "spare").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spare"))
    whole = store._fill

    def fill(release, partial, *given, **more):
        if partial.name.startswith(".out."):
            raise error
        whole(release, partial, *given, **more)

    monkeypatch.setattr(store, "_fill", fill)
    code, said = run(*NOISY, "-o", "out")
    assert code == 2
    (kept,) = (tmp_path / "spare").glob("sfumato-unsaved-*/release")
    assert f"it is whole in {kept}" in said
    assert sf.Ledger("ledger.db").saved_folders("small") == [kept]


@pytest.mark.full
def test_in_a_locale_without_letters_a_paid_release_is_saved_and_found(desk):
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment["PYTHONPATH"] = str(Path(sf.__file__).parents[1])
    for words in ([*NOISY, "-o", "caf\u00e9"], ["verify", "caf\u00e9"]):
        done = subprocess.run(
            [sys.executable, "-m", "sfumato", *words], env=environment, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
    code = "import sfumato as sf; assert len(sf.Ledger('ledger.db').saved_folders('small')) == 1"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert sf.Ledger("ledger.db").saved_folders("small") == [desk / "caf\u00e9"]
