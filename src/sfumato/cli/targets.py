"""Files and folders that a command is asked to write: what cannot be written is refused before the work."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from sfumato.errors import ParameterError

__all__ = ["refuse_target"]


def refuse_target(
    option: str, given: str | None, *, endings: Sequence[str] = (), new: bool = False, folder: bool = False
) -> None:
    """Refuse a path that could not be written when the work is done; None is no path and is fine.

    endings  those a file may have, such as ".html"; new  it must not exist yet; folder  it is a folder.
    """
    if given is None:
        return
    target = Path(given)
    if endings and target.suffix.lower() not in endings:
        named = ", ".join(endings[:-1]) + f" or {endings[-1]}" if len(endings) > 1 else endings[0]
        raise ParameterError(option, target.name, f"must end with {named}")
    try:
        exists = _exists(target)
        if exists and new:
            raise ParameterError(option, target.name, "exists already", hint="name another, or move it away")
        if exists and not folder and target.is_dir():
            raise ParameterError(option, target.name, "is a folder", hint="name a file")
        _refuse_place(target if exists else _above(target))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "not a name of a file"
        hint = "name a place where you may write"
        raise ParameterError(option, target.name, f"can not be written ({why})", hint=hint) from None


def _exists(target: Path) -> bool:
    """Whether something is there, a link that leads nowhere included; a name that no file can have is an error."""
    try:
        os.lstat(target)
    except FileNotFoundError:
        return False
    return True


def _above(target: Path) -> Path:
    """Return the nearest folder above that is there."""
    for parent in Path(os.path.abspath(target)).parents:  # noqa: PTH100  (no link is resolved)
        if _exists(parent):
            if not parent.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            return parent
    return Path(target.anchor)  # pragma: no cover  (the root is always there)


def _refuse_place(place: Path) -> None:
    if not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
