"""All that the command prints goes through here: text that a terminal does not obey, and streams that may be gone.

Names of files, columns and values were written by others. Every character that is not shown as itself is replaced
(`sfumato.visible`), styles are given beside a text and never inside it, and only a newline of our own starts a line.

A reader that has gone away (`| head`), a closed stream or a full disk neither stops the work nor causes a traceback:
what failed is remembered, and `exit_code` says with which code the command ends.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import select
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from sfumato.visible import operand, shell_command, visible

if TYPE_CHECKING:
    from rich.console import RenderableType

EXIT_GONE = 141  # what a shell reports of a process that SIGPIPE ended
_EXIT_UNWRITTEN = 2
_GONE = (errno.EPIPE, errno.ECONNRESET, errno.ESHUTDOWN)

_made: list[str] = []  # messages for results that are already saved
_failed: dict[str, int] = {}  # "stdout" or "stderr", and the error number of the first write that failed

TextPart = tuple[object, str]  # a text and how it is shown: ("FAILS", "bold red")


class Answer(int):
    """An exit code that is the answer itself, such as a verdict: it is kept even if nobody reads the text."""


def say(text: object, *, style: str = "", error: bool = False, wrap: bool = False) -> None:
    """Print one line. A newline inside comes from a name and is replaced like any other control character.

    wrap  break it between words where the terminal ends, for sentences that are not to be copied.
    """
    say_parts((text, style), error=error, wrap=wrap)


def say_lines(text: str, *, error: bool = False) -> None:
    """Print a text of our own that has several lines."""
    for line in text.split("\n"):
        say_parts((line, ""), error=error)


def say_parts(*parts: TextPart, error: bool = False, wrap: bool = False) -> None:
    """Print one line of several parts, each with its style."""
    name = "stderr" if error else "stdout"
    shown = [(visible(text), style) for text, style in parts]
    if wrap or (_styled(name) and any(style for _, style in shown)):
        from rich.text import Text

        _show(Text.assemble(*shown), name, wrap=wrap)
    else:
        _write("".join(text for text, _ in shown) + "\n", name)


def show_table(
    rows: Iterable[Sequence[object]],
    *,
    heads: Sequence[str] = (),
    right: Sequence[int] = (),
    least: int | None = None,
) -> None:
    """Print rows under their heads, columns aligned; a cell is a text or a text with its style.

    right  places of columns that stand at the right and are not wrapped; least  width that the first column keeps.
    """
    from rich.table import Table
    from rich.text import Text

    listed = [[cell if isinstance(cell, tuple) else (cell, "") for cell in row] for row in rows]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_header=bool(heads))
    for at in range(len(heads) or max((len(row) for row in listed), default=0)):
        head = Text(visible(heads[at])) if heads else ""
        justify: Any = "right" if at in right else "left"
        table.add_column(head, justify=justify, no_wrap=at in right, min_width=least if at == 0 else None)
    for row in listed:
        table.add_row(*(Text(visible(text), style=style) for text, style in row))
    _show(table, "stdout", wrap=True)


def made(sentence: str) -> None:
    """Record a message for a result that is saved, such as a release: printed on standard error if the output fails."""
    _made.append(sentence)


def was_made() -> list[str]:
    """Return the messages recorded for results that are already saved."""
    return list(_made)


def saved_in(folder: str) -> str:
    """Return the sentence that names the folder of a release and the command that checks it."""
    return f"Saved in {folder}. Check it with: {shell_command(['sfumato', 'verify', operand(folder)])}"


def after_saving(what: str, act: Callable[[], None], warnings: list[str], *, shown: bool) -> bool:
    """Do what follows a saved release and say whether it was done; what fails is a warning: saved and paid it is."""
    from sfumato.errors import SfumatoError

    try:
        act()
    except Exception as error:  # noqa: BLE001  (what others say may quote a cell)
        why = str(error) if isinstance(error, SfumatoError) else getattr(error, "strerror", "") or type(error).__name__
        warnings.append(f"the release is saved, but {what}: {why}")
        if shown:
            say(f"Warning: {warnings[-1]}", error=True)
        return False
    return True


def emit(data: dict[str, Any]) -> None:
    """Print one JSON object; characters that are not shown as themselves stand in it as JSON's own escapes.

    JSON has no NaN and no infinity: both are written as null.
    """
    encoding = getattr(_stream("stdout"), "encoding", None) or "utf-8"
    plain = encoding.lower().replace("-", "") != "utf8"  # another encoding may lack letters
    lines = json.dumps(_finite(data), indent=2, ensure_ascii=plain, allow_nan=False).split("\n")
    _write("\n".join(map(_escaped, lines)) + "\n", "stdout")


def _finite(data: Any) -> Any:
    """Return data with None in place of every number that JSON cannot hold."""
    if isinstance(data, dict):
        return {name: _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _escaped(line: str) -> str:
    if visible(line) == line:
        return line
    return "".join(letter if visible(letter) == letter else json.dumps(letter)[1:-1] for letter in line)


# -- streams that may be gone --------------------------------------------------------------


def opened_streams() -> None:
    """Open the null device in place of standard streams closed at the start: the next file would take their numbers."""
    _failed.clear()
    _made.clear()
    found = os.open(os.devnull, os.O_RDWR)
    while found <= 2:
        found = os.open(os.devnull, os.O_RDWR)
    os.close(found)


def gone(why: int = errno.EPIPE) -> None:
    """Record that click could not print its own text, such as `--help`."""
    _failed.setdefault("stdout", why)
    if (stream := _stream("stdout")) is not None:
        _silence(stream)


def exit_code(code: int) -> int:
    """Return the code to end with, after the streams are flushed.

    An answer and an error keep their code when the reader has gone. Otherwise the text was what was asked for: 141
    when nobody read it, 2 with a message when it could not be written.
    """
    for name in ("stdout", "stderr"):
        _write("", name)
    why = _failed.get("stdout")
    if why is None:
        return code
    unread = why in _GONE
    if not unread and code == 0:
        say(f"Error: standard output cannot be written ({os.strerror(why)}). Hint: free some space.", error=True)
    for sentence in _made:
        say(sentence, error=True)
    if code != 0 or (unread and isinstance(code, Answer)):
        return code
    return EXIT_GONE if unread else _EXIT_UNWRITTEN


def _stream(name: str) -> TextIO | None:
    found: TextIO | None = getattr(sys, name)
    return found


def _styled(name: str) -> bool:
    """Return whether a style would be visible: on a terminal, or if the caller forces it."""
    stream = _stream(name)
    if name in _failed or stream is None or stream.closed:
        return False
    return stream.isatty() or bool(os.environ.get("FORCE_COLOR"))


def _show(what: RenderableType, name: str, *, wrap: bool) -> None:
    """Lay out and print; texts in it are visible already."""
    from rich.console import Console

    stream, text = _stream(name), io.StringIO()
    if name in _failed or stream is None:
        return
    terminal = True if _styled(name) else None
    console = Console(file=text, force_terminal=terminal, markup=False, emoji=False, highlight=False)
    console.print(what, soft_wrap=not wrap)
    _write(text.getvalue(), name)


def _write(text: str, name: str) -> None:
    """Write and flush; the first failure is remembered and the stream goes nowhere from then on."""
    stream = _stream(name)
    if stream is None or name in _failed:
        return
    try:
        encoding = stream.encoding or "utf-8"
        data = text.encode(encoding, "backslashreplace")
        stream.flush()
        if (number := _number(stream)) is None:
            stream.write(data.decode(encoding))
            stream.flush()
        else:
            _write_all(number, data)
    except (OSError, ValueError) as error:
        _failed[name] = getattr(error, "errno", None) or errno.EPIPE
        _silence(stream)


def _number(stream: TextIO) -> int | None:
    """Return the descriptor to write to; None for a stream without one, and where newlines are translated."""
    try:
        return None if os.name == "nt" else stream.fileno()
    except (OSError, ValueError):
        return None


def _write_all(number: int, data: bytes) -> None:
    """Write every byte or fail: Python's own buffer loses the error of a reader that leaves during a write."""
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(number, left) :]
        except BlockingIOError:
            select.select([], [number], [])


def _silence(stream: TextIO) -> None:
    """Let what is still in the buffer go to the null device, so that Python's own flush at the end succeeds."""
    try:
        number = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
        stream.flush()
    except (OSError, ValueError):  # a stream without a number, or one that is closed
        return
