"""Bad input gets a message and loses nothing: exit 0 or 2, never a traceback, never a cell value in --json."""

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.mangling import mangled

from sfumato.cli import main


def run(arguments: list[str]) -> tuple[int, str]:
    """Run the command in this process."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), pytest.raises(SystemExit) as stopped:
        main(arguments)
    return stopped.value.code, out.getvalue()


def judge(seed: int, code: int, text: str) -> None:
    assert code in (0, 2), f"seed {seed}: exit {code}\n{text}"
    assert text.strip(), f"seed {seed}: no message"
    assert "Traceback" not in text, f"seed {seed}: {text}"
    assert "unexpected" not in text, f"seed {seed}: {text}"
    if code == 2:
        assert "Hint" in text or "." in text, f"seed {seed}: the message does not say what to do: {text}"


def mangle_and_check(seeds: range, folder: Path) -> int:
    refused = 0
    for seed in seeds:
        data, schema = mangled(seed, folder)
        code, text = run(["check", str(data), str(schema)])
        judge(seed, code, text)
        refused += code == 2
    return refused


@pytest.mark.parametrize("start", range(0, 1000, 250))
def test_a_thousand_mangled_inputs(start: int, tmp_path: Path) -> None:
    refused = mangle_and_check(range(start, start + 250), tmp_path)
    assert 100 < refused <= 250  # most damage is noticed; a table that survives it is fine


@pytest.mark.full
@pytest.mark.parametrize("start", range(1000, 11000, 500))
def test_ten_thousand_mangled_inputs(start: int, tmp_path: Path) -> None:
    mangle_and_check(range(start, start + 500), tmp_path)


def test_json_says_how_many_and_never_which(tmp_path: Path) -> None:
    from tests.surfaces.mangling import SCHEMA

    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "d.csv").write_text(
        "person,age,weight,city,seen,smoker,diagnosis\nP1,3,5,Atlantis,2020-01-01,true,flu\n"
    )
    code, text = run(["check", str(tmp_path / "d.csv"), str(tmp_path / "s.toml"), "--json"])
    assert code == 2
    assert "Atlantis" not in text
    assert json.loads(text)["problems"][0]["rows"] == 1
    code, text = run(["check", str(tmp_path / "d.csv"), str(tmp_path / "s.toml")])
    assert "Atlantis" in text  # on the steward's own screen


# A process that computes for longer than a minute is ended by the system; waiting for a busy machine does not count.
AT_MOST_A_MINUTE = ["sh", "-c", 'ulimit -t 60; exec "$@"', "sh"]


def as_process(seeds: range, folder: Path) -> None:
    for seed in seeds:
        data, schema = mangled(seed, folder)
        done = subprocess.run(
            [*AT_MOST_A_MINUTE, sys.executable, "-m", "sfumato", "check", str(data), str(schema)],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        judge(seed, done.returncode, done.stdout + done.stderr)


@pytest.mark.full
def test_real_processes(tmp_path: Path) -> None:
    as_process(range(20000, 20004), tmp_path)


@pytest.mark.full
def test_more_real_processes(tmp_path: Path) -> None:
    as_process(range(20004, 20060), tmp_path)
