"""How far a sweep is: a bar on a terminal, a caller's own function, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from sfumato.mechanisms import Progress
from sfumato.visible import visible

__all__ = ["progress_of"]


def progress_of(asked: bool | Progress) -> AbstractContextManager[Progress]:
    """Return a context that yields what to tell the progress to."""
    if callable(asked):
        return nullcontext(asked)
    return _bar() if asked and sys.stderr is not None and sys.stderr.isatty() else nullcontext(_silent)


def _silent(share: float, doing: str) -> None:
    """Nobody is watching."""


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
