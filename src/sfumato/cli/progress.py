"""A progress bar on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.mechanisms import Progress

__all__ = ["bar"]


@contextmanager
def bar() -> Iterator[Progress]:
    """Show how far the work is, on standard error."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=1.0)

        def advance(share: float, doing: str) -> None:
            shown.update(task, completed=share, description=doing)

        yield advance
