"""A folder that appears whole or not at all.

Source    POSIX rename(2): replacing a name is atomic; a folder may replace only an empty one.
Claim     A kill at any moment leaves the target absent (or as empty as it was) or complete; nothing is overwritten.
Because   files are written and flushed to disk in a hidden sibling, which then takes the name in one rename.
Checked   tests/surfaces/test_atomic_save.py::test_kill_leaves_nothing_or_everything
          tests/unit/release/test_folder.py::test_refuses_what_exists
Silent on file systems whose rename is not atomic, and on hidden `.NAME.partial-*` folders a kill leaves behind:
          the next save to the same name removes them.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.errors import ReleaseError

__all__ = ["whole_folder"]

_ours: set[str] = set()  # partial folders this process is filling, so that a reused process id is not mistaken


@contextmanager
def whole_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty hidden folder to fill; when the block ends well it becomes `folder` in one step."""
    target = Path(os.path.realpath(folder))
    _refuse_existing(target)
    partial = target.parent / f".{target.name}.partial-{os.getpid()}-{secrets.token_hex(6)}"
    _ours.add(partial.name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(target)
        partial.mkdir()
        yield partial
        for file in partial.iterdir():
            _flush(file)
        _flush(partial)
        _refuse_existing(target)
        partial.rename(target)
        _flush(target.parent)
    except OSError as error:
        hint = "name a folder that does not exist yet, where you may write and the disk has room"
        raise ReleaseError(f"{target.name} can not be written ({error.strerror})", hint=hint) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        _ours.discard(partial.name)


def _refuse_existing(target: Path) -> None:
    """Refuse a file or a folder with anything in it."""
    if not target.name:
        raise ReleaseError("the root can not be a release folder", hint="name a new folder")
    if target.is_dir() and not any(target.iterdir()):
        return
    if target.exists():
        raise ReleaseError(f"{target.name} exists already", hint="name a new folder; a release is never overwritten")


def _remove_stale(target: Path) -> None:
    """Remove what killed processes left of earlier tries at the same name."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.partial-(\d+)-[0-9a-f]+")
    for found in target.parent.iterdir():
        match = pattern.fullmatch(found.name)
        if match and found.name not in _ours and not _alive(int(match[1])):
            shutil.rmtree(found, ignore_errors=True)


def _alive(process: int) -> bool:
    """True when another process of that id runs (our own folders are known by name)."""
    if process == os.getpid():
        return False
    if os.name == "nt":  # signal 0 would end it there
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it runs, but is not ours
        return True
    return True


def _flush(path: Path) -> None:
    """Wait until the disk holds a file or folder."""
    folder = path.is_dir()
    if folder and os.name == "nt":  # folders can not be opened there
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not folder:  # some file systems can not flush folders
            raise
    finally:
        os.close(handle)
