"""Documents as programs: the blocks of a markdown file, run in order, their printed output compared.

A ```python block is run; all of a file share one namespace. A ```text block right after it is what it prints.
In a ```console block each line after `$ ` is run and what follows is its output. In expected output a line `...` stands
for any lines and `...` within a line for any text. A block that must not run has `<!-- not run: why -->` above it.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "NotRun", "blocks", "differs", "run"]

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w{}-]*)[^\n]*$")
_NOT_RUN = re.compile(r"<!--\s*not run:\s*(?P<why>.*?)\s*-->", re.DOTALL)
_PLAIN = {"cat", "head", "ls", "tail"}  # what a document may run beside sfumato and python


class NotRun(Exception):  # noqa: N818
    """A document says something that is not so."""


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int
    follows: bool  # nothing but blank lines since the block before
    not_run: str | None


def blocks(text: str) -> Iterator[Block]:
    """Return the fenced blocks of a document with what stands before them."""
    lines = text.splitlines()
    at, between = 0, []
    while at < len(lines):
        opened = _FENCE.match(lines[at])
        if opened is None:
            between.append(lines[at])
            at += 1
            continue
        end = at + 1
        while end < len(lines) and lines[end].strip() != opened["ticks"]:
            end += 1
        before = "\n".join(between)
        marks = list(_NOT_RUN.finditer(before))
        above = marks[-1] if marks and not before[marks[-1].end() :].strip() else None
        body = [line.removeprefix(opened["indent"]) for line in lines[at + 1 : end]]
        yield Block(
            opened["language"], "\n".join(body), at + 1, not before.strip(), above["why"] if above is not None else None
        )
        at, between = end + 1, []


def differs(expected: str, printed: str) -> bool:
    """Whether what was printed is not what the document shows; blanks at line ends do not count."""

    def tidy(text: str) -> str:
        return "\n".join(line.rstrip() for line in text.strip().splitlines())

    parts = [re.escape(part) for part in tidy(expected).split("...")]
    return re.fullmatch("(?s:.*)".join(parts).replace(r"\ \ \ ", r"\s+"), tidy(printed)) is None


def run(path: Path) -> int:
    """Run a document in the current folder; return how many blocks ran."""
    names: dict[str, object] = {"__name__": "__main__"}
    printed, ran = "", 0
    for block in blocks(path.read_text("utf-8")):
        where = f"{path.name}, line {block.line}"
        if block.not_run is not None:
            if not block.not_run:
                raise NotRun(f"{where}: does not say why it is not run")
        elif block.language == "python":
            printed = _python(block, names, where)
            ran += 1
        elif block.language == "console":
            for command, expected in _commands(block, where):
                _compare(expected, _command(command, where), f"{where}: {command}")
            ran += 1
        elif block.language == "text" and block.follows and printed:
            _compare(block.text, printed, where)
            printed = ""
    return ran


def _compare(expected: str, printed: str, where: str) -> None:
    if differs(expected, printed):
        raise NotRun(f"{where}\n--- the document shows\n{expected}\n--- it prints\n{printed}")


def _python(block: Block, names: dict[str, object], where: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile("\n" * block.line + block.text, where, "exec"), names)
        except Exception as error:
            raise NotRun(f"{where}: {type(error).__name__}: {error}") from error
    return out.getvalue()


def _commands(block: Block, where: str) -> Iterator[tuple[str, str]]:
    lines = block.text.splitlines()
    if not lines or not lines[0].startswith("$ "):
        raise NotRun(f"{where}: a console block begins with `$ `")
    starts = [at for at, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        body = start + 1
        command = lines[start].removeprefix("$ ")
        while command.endswith("\\"):
            command = command[:-1] + lines[body]
            body += 1
        yield command, "\n".join(lines[body:end])


def _command(command: str, where: str) -> str:
    """Run a command; `; echo $?` at the end shows its exit code, which must be 0 otherwise."""
    shown = command.endswith("; echo $?")
    words = shlex.split(command.removesuffix("; echo $?"))
    if words[0] == "sfumato":
        code, printed = _sfumato(words)
    elif words[0] in {*_PLAIN, "python"}:
        words[0] = sys.executable if words[0] == "python" else str(shutil.which(words[0]))
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        code, printed = done.returncode, done.stdout + done.stderr
    else:
        raise NotRun(f"{where}: `{words[0]}` is not run here; say why with <!-- not run: ... -->")
    if shown:
        return f"{printed.rstrip()}\n{code}"
    if code:
        raise NotRun(f"{where}: {command} ended with {code}\n{printed}")
    return printed


def _sfumato(words: list[str]) -> tuple[int, str]:
    from sfumato.cli import main

    out = io.StringIO()
    before, sys.argv = sys.argv, words
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            main(words[1:])
    except SystemExit as stopped:
        return int(stopped.code or 0), out.getvalue()
    finally:
        sys.argv = before
    return 0, out.getvalue()
