"""A text file that is written whole or not at all: a process that dies while writing leaves no half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(target: Path, text: str, *, mode: int) -> None:
    """Write the text beside its place, then put it there, in place of what was; the folder is made where it is missing.

    Nobody else can read it before it has its `mode`.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
