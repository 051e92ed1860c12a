"""How far a sweep is: a bar on a terminal, lines where standard error is piped, or a caller's own function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from sfumato.mechanisms import Progress
from sfumato.visible import visible

_EVERY = 2.0  # seconds between two lines
_AT_LEAST = 30.0  # seconds after which a line is written although nothing has changed
_ENOUGH = 5  # steps after which the time that is left is told: the first also wait for processes that start
_LAST = 8  # steps that it is told from: methods differ in what they take


def progress_of(asked: bool | Progress) -> AbstractContextManager[Progress]:
    """Return a context that yields the function to report progress to."""
    if callable(asked):
        return nullcontext(asked)
    if not asked or sys.stderr is None:
        return nullcontext(_silent)
    return _bar() if sys.stderr.isatty() else nullcontext(ProgressLines(_to_stderr))


def _silent(share: float, doing: str) -> None:
    """Nobody is watching."""


def time_left(share: float, seconds: float) -> str:
    """Return about how long work will go on that took `seconds` for this share; nothing where that is not known.

    >>> time_left(0.25, 30)
    '90 s'
    """
    if not 0.02 <= share < 1:
        return ""
    left = seconds * (1 - share) / share
    return f"{max(1, round(left))} s" if left <= 90 else f"{round(left / 60)} min"


class ProgressLines:
    """Tells progress in lines: one for each change, every two seconds at most, and one each 30 seconds without any."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock = write, clock
        self._start = self._last = clock()
        self._told = ""
        self._steps: list[
            tuple[float, float]
        ] = []  # when each share was reached, the first as kept by an earlier sweep

    def __call__(self, share: float, doing: str) -> None:
        """Write a line where the last is old enough: `25 % done, about 90 s left: 13/52 Mondrian`."""
        now = self._clock()
        if not self._steps:
            self._steps.append((self._start, share))
        elif share > self._steps[-1][1]:
            self._steps.append((now, share))
        told = f"{int(100 * share)} {doing}"
        if now - self._last < (_AT_LEAST if told == self._told else _EVERY):
            return
        self._last, self._told = now, told
        left = self._left(share, now)
        about = f", about {left} left" if left else ""
        self._write(f"{int(100 * share)} % done{about}: {visible(doing)}")

    def _left(self, share: float, now: float) -> str:
        """Return about how long it will go on, from the last steps; nothing before there are enough of them."""
        if len(self._steps) <= _ENOUGH or share >= 1:
            return ""
        began, first = self._steps[-min(_LAST, len(self._steps) - 1) - 1]
        return time_left((share - first) / (1 - first), now - began)


def _to_stderr(line: str) -> None:
    try:
        print(line, file=sys.stderr, flush=True)  # noqa: T201
    except (OSError, ValueError):  # nobody reads it any more
        return


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=1.0)

        def tell(share: float, doing: str) -> None:
            shown.update(task, completed=share, description=visible(doing))

        yield tell
