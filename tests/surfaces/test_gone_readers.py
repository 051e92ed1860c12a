"""A reader that has gone, a closed stream or a full disk: the verdict's code stands, nothing is a traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import pytest

import sfumato as sf
from sfumato.cli.output import EXIT_GONE


@pytest.fixture(scope="module")
def folder(clinic, clinic_files, tmp_path_factory):
    """A release that holds, one that was tampered with, and the table."""
    there = tmp_path_factory.mktemp("gone")
    sf.publish(clinic, sf.Mondrian(sf.KAnonymity(5))).save(there / "good")
    shutil.copytree(there / "good", there / "bad")
    with (there / "bad" / "dictionary.md").open("a") as file:
        file.write("more\n")
    shutil.copy(clinic_files[0], there / "clinic.csv")
    shutil.copy(clinic_files[1], there / "clinic.toml")
    (there / "wrong.csv").write_text("age,town,ill\n" + "1,a,flu\n" * 3)
    return there


# words of the command, its code, the code when nobody reads it, the code on a full disk
RUNS = {
    "a verdict that fails": (["verify", "bad"], 3, 3, 3),
    "the same as JSON": (["verify", "bad", "--json"], 3, 3, 3),
    "a verdict that holds": (["verify", "good"], 0, 0, 2),
    "problems of a file": (["check", "wrong.csv", "clinic.toml"], 2, 2, 2),
    "a file that fits": (["check", "clinic.csv", "clinic.toml", "--json"], 0, 0, 2),
    "an error": (["verify", "absent"], 2, 2, 2),
    "a wrong option": (["verify", "--wrong"], 2, 2, 2),
    "help": (["--help"], 0, EXIT_GONE, 2),
    "the version": (["--version"], 0, EXIT_GONE, 2),
    "a text": (["explain", "t-closeness"], 0, EXIT_GONE, 2),
    "a schema": (["draft", "clinic.csv"], 0, EXIT_GONE, 2),
}
PRINTS_ON_STDERR = {"an error", "a wrong option"}
IN_ALL_STREAMS = {"a verdict that fails", "help"}  # the others: where nobody reads, and on a full disk


def run(folder, shell, words):
    """Run a command with its streams as the shell is told, `$@` being the command."""
    script = f'{shell}\nexit "${{code:-$?}}"'
    command = ["bash", "-c", script, "bash", sys.executable, "-m", "sfumato", *words]
    environment = {name: value for name, value in os.environ.items() if name != "SFUMATO_DEBUG"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)


PIPE = '"$@" | true; code=${PIPESTATUS[0]}'
STREAMS = {
    "a pipe that nobody reads": PIPE,
    "a full disk": '"$@" > /dev/full',
    "both streams into it": PIPE.replace("|", "2>&1 |"),
    "standard output closed": '"$@" >&-',
    "both on a full disk": '"$@" > /dev/full 2>&1',
    "all closed": '"$@" <&- >&- 2>&-',
    "standard error closed": '"$@" 2>&-',
    "standard error on a full disk": '"$@" 2> /dev/full',
}


@pytest.mark.parametrize("name", RUNS)
def test_exit_codes_of_gone_readers(folder, name):
    """Item 2: `sfumato verify BAD | true` exited with 0."""
    words, code, gone, full = RUNS[name]
    expected = {"a pipe that nobody reads": gone, "a full disk": full, "both on a full disk": full}
    expected["both streams into it"] = gone
    for streams, shell in STREAMS.items() if name in IN_ALL_STREAMS else list(STREAMS.items())[:2]:
        done = run(folder, shell, words)
        assert done.returncode == expected.get(streams, code), (streams, done.stderr)
        assert "Traceback" not in done.stderr, streams
        assert "Exception ignored" not in done.stderr, streams
        if streams == "a full disk" and code == 0:
            assert done.stderr.startswith("Error: standard output can not be written (No space left on device)")
        elif name not in PRINTS_ON_STDERR:
            assert done.stderr == "", streams


def test_a_reader_that_leaves_early(folder):
    """More than a pipe holds: the first line arrives, the writer is not stuck."""
    names = [f"column{at}" for at in range(500)]
    rows = [",".join(f"{name}-value-{at % 7}" for name in names) for at in range(50)]
    (folder / "wide.csv").write_text("\n".join([",".join(names), *rows]))
    command = [sys.executable, "-m", "sfumato", "draft", "wide.csv", "--json"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 2) == b"{\n"
        time.sleep(0.5)  # the pipe is full by now
        process.stdout.close()
        assert process.wait(60) == EXIT_GONE
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_publishing_goes_on_without_a_reader(folder, tmp_path):
    out = tmp_path / "out"
    done = run(folder, PIPE, ["publish", "mondrian", "clinic.csv", "clinic.toml", "--k", "5", "-o", str(out)])
    assert done.returncode == EXIT_GONE
    assert sf.verify(out).holds


def test_a_closed_stream_is_never_a_files_number(folder, tmp_path):
    """Descriptor 1 closed: the first file opened would get it, and what is printed would end up in that file."""
    out = tmp_path / "out"
    words = ["publish", "mondrian", "clinic.csv", "clinic.toml", "--k", "5", "--ledger", str(tmp_path / "l.db"), "-o"]
    done = run(folder, '"$@" <&- >&- 2>&-', [*words, str(out)])
    assert done.returncode == 0
    assert sf.verify(out).holds
    assert len(sf.Ledger(tmp_path / "l.db").entries()) == 1


def test_letters_that_an_encoding_lacks(folder):
    for words in (["explain", "t-closeness"], ["verify", "bad", "--json"], ["draft", "clinic.csv"]):
        done = run(folder, 'LC_ALL=C PYTHONUTF8=0 PYTHONIOENCODING=ascii "$@"', words)
        assert "Traceback" not in done.stderr
        assert done.stdout.isascii()
        assert done.stdout
