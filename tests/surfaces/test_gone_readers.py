"""A reader that has gone, a closed stream or a full disk: the verdict's code stands, nothing is a traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import pytest

import sfumato as sf
from sfumato.cli.main import main
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


def run(folder, shell, words):
    """Run a command with its streams as the shell is asked, `$@` being the command."""
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


def opened(kind, tmp_path):
    """Return a descriptor that is a full disk, a pipe nobody reads, or a file."""
    if kind == "full":
        return os.open("/dev/full", os.O_WRONLY)
    if kind == "gone":
        reader, writer = os.pipe()
        os.close(reader)
        return writer
    return os.open(tmp_path / kind, os.O_CREAT | os.O_TRUNC | os.O_RDWR)


def run_here(folder, words, tmp_path, monkeypatch, **streams):
    """Run a command in this process with the real descriptors 0, 1 and 2 as given; return its code and its words.

    streams  for stdin, stdout and stderr "full", "gone", "closed", or the name of another stream to go where it goes.
    """
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SFUMATO_DEBUG", raising=False)
    numbers = {"stdin": 0, "stdout": 1, "stderr": 2}
    (tmp_path / "stdin").touch()
    kept = {name: os.dup(number) for name, number in numbers.items()}
    made = {name: opened(kind, tmp_path) for name, kind in ({name: name for name in numbers} | streams).items()
            if kind != "closed"}  # fmt: skip
    try:
        for name, number in numbers.items():
            if name in made:
                os.dup2(made[name], number)
                found = open(number, "r" if number == 0 else "w", closefd=False)  # noqa: SIM115
            else:  # as Python itself does where a descriptor is closed at the start
                os.close(number)
                found = None
            monkeypatch.setattr(sys, name, found)
        with pytest.raises(SystemExit) as ended:
            main(words)
    finally:
        monkeypatch.undo()
        for name, number in numbers.items():
            os.dup2(kept[name], number)
        for number in (*made.values(), *kept.values()):
            os.close(number)
    said = tmp_path / "stderr"
    return ended.value.code, said.read_text() if said.exists() else ""


def judge(name, streams, found, stderr):
    _, code, gone, full = RUNS[name]
    expected = {"a pipe that nobody reads": gone, "a full disk": full, "both on a full disk": full}
    expected["both streams into it"] = gone
    assert found == expected.get(streams, code), (streams, stderr)
    assert "Traceback" not in stderr, streams
    assert "Exception ignored" not in stderr, streams
    if streams == "a full disk" and code == 0:
        assert stderr.startswith("Error: standard output cannot be written (No space left on device)")
    elif name not in PRINTS_ON_STDERR:
        assert stderr == "", streams


HERE = {
    "a pipe that nobody reads": {"stdout": "gone"},
    "a full disk": {"stdout": "full"},
    "both streams into it": {"stdout": "gone", "stderr": "gone"},
    "standard output closed": {"stdout": "closed"},
    "both on a full disk": {"stdout": "full", "stderr": "full"},
    "all closed": {"stdin": "closed", "stdout": "closed", "stderr": "closed"},
    "standard error closed": {"stderr": "closed"},
    "standard error on a full disk": {"stderr": "full"},
}


@pytest.mark.parametrize("streams", HERE)
@pytest.mark.parametrize("name", RUNS)
def test_exit_codes_of_gone_readers(folder, name, streams, tmp_path, monkeypatch):
    """Item 2: `sfumato verify BAD | true` exited with 0."""
    found, stderr = run_here(folder, RUNS[name][0], tmp_path, monkeypatch, **HERE[streams])
    judge(name, streams, found, stderr)


@pytest.mark.cells(3)
@pytest.mark.parametrize("streams", STREAMS)
def test_exit_codes_of_real_processes(folder, streams):
    """The same where Python ends and flushes what it still has."""
    assert STREAMS.keys() == HERE.keys()
    for name in ["help", *(["a verdict that fails"] if streams in ("a pipe that nobody reads", "all closed") else [])]:
        done = run(folder, STREAMS[streams], RUNS[name][0])
        judge(name, streams, done.returncode, done.stderr)


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
    assert done.stderr.endswith(f"Saved in {out}. Check it with: sfumato verify {out}\n")
    assert sf.verify(out).holds


@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
def test_a_full_standard_output_says_where_the_release_is(folder, tmp_path, monkeypatch, as_json):
    """It was paid for and saved, and the only word about it was that standard output cannot be written."""
    out, ledger = tmp_path / "out", tmp_path / "l.db"
    words = ["publish", "diffgen", "clinic.csv", "clinic.toml", "--epsilon", "1", "--specializations", "2"]
    words += ["--ledger", str(ledger), "-o", str(out), *(["--json"] if as_json else [])]
    code, stderr = run_here(folder, words, tmp_path, monkeypatch, stdout="full")
    assert code == 2
    assert "Error: standard output cannot be written (No space left on device)" in stderr
    assert stderr.endswith(f"Saved in {out}. Check it with: sfumato verify {out}\n")
    assert sf.verify(out).holds
    assert [entry.saved for entry in sf.Ledger(ledger).entries()] == [("out",)]


def test_a_closed_stream_is_never_a_files_number(folder, tmp_path):
    """Descriptor 1 closed: the first file opened would get it, and what is printed would end up in that file."""
    out = tmp_path / "out"
    words = ["publish", "mondrian", "clinic.csv", "clinic.toml", "--k", "5", "--ledger", str(tmp_path / "l.db"), "-o"]
    done = run(folder, '"$@" <&- >&- 2>&-', [*words, str(out)])
    assert done.returncode == 0
    assert sf.verify(out).holds
    assert len(sf.Ledger(tmp_path / "l.db").entries()) == 1


@pytest.mark.parametrize("words", [["explain", "t-closeness"], ["verify", "bad", "--json"], ["draft", "clinic.csv"]])
def test_letters_that_an_encoding_lacks(folder, words, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    with (tmp_path / "out").open("w", encoding="ascii") as out:
        monkeypatch.setattr(sys, "stdout", out)
        with pytest.raises(SystemExit):
            main(words)
    assert (tmp_path / "out").read_bytes().isascii()
    assert (tmp_path / "out").stat().st_size


def test_a_process_whose_encoding_lacks_letters(folder):
    done = run(folder, 'LC_ALL=C PYTHONUTF8=0 PYTHONIOENCODING=ascii "$@"', ["explain", "t-closeness"])
    assert "Traceback" not in done.stderr
    assert done.stdout.isascii()
    assert done.stdout
