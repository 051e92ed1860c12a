"""Hidden partial files and folders: how they are named, held by a living process, and cleared away after a dead one.

Source    Ours: `.NAME.partial-PROCESS-RANDOM` beside the place of NAME; flock(2), which the kernel lets go with the
          process, also across containers.
Claim     What a process that died left behind is removed by the next one that writes in the same folder; never what
          a living process is filling, and never a folder that holds a whole release which was paid for.
Because   a partial is removed only if its lock can be taken, or, where locks do not work, no process of its number
          runs; one of a living number without a manifest is first left 10 seconds to be locked. A release folder has
          its manifest written last, and one with a manifest is removed only where its claim costs nothing.
Checked   tests/unit/release/test_folder.py::test_stale_partials_of_the_dead_are_removed
          tests/unit/release/test_folder.py::test_a_partial_that_holds_a_paid_release_is_never_removed
          tests/unit/release/test_whole_file.py::test_leftovers_of_a_killed_process_are_removed_by_the_next
Silent on file systems without locks, seen from two machines at once.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from pathlib import Path

from sfumato.errors import ParameterError
from sfumato.release.manifest import MANIFEST

__all__ = [
    "Held",
    "flush",
    "holding_release",
    "is_accounted",
    "is_stale",
    "partial_of",
    "refuse_release_folder",
    "remove_stale",
    "target_of",
]

_PATTERN = re.compile(r"\.(?P<name>.+)\.partial-(?P<process>\d+)-[0-9a-f]{12}(?:-aside)?", re.DOTALL)
_LARGEST_MANIFEST = 64 << 20
_SECONDS_TO_LOCK = 10
_ours: set[str] = set()  # partials this process is filling, so that a reused process number is not mistaken


class Held:
    """A lock on a partial file or folder of this process; until it is let go the partial is not stale."""

    __slots__ = ("_handle", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        _ours.add(path.name)
        self._handle = _locked_if_readable(path)

    def release(self) -> None:
        """Let go; may be called twice."""
        handle, self._handle = self._handle, None
        _ours.discard(self.path.name)
        if handle is not None:
            os.close(handle)


def partial_of(target: Path) -> Path:
    """Return a new hidden name beside a target."""
    return target.parent / f".{target.name}.partial-{os.getpid()}-{secrets.token_hex(6)}"


def target_of(partial: Path) -> Path | None:
    """Return the place a partial was made for, None where the name is not that of a partial."""
    found = _PATTERN.fullmatch(partial.name)
    return None if found is None else partial.parent / found["name"]


def remove_stale(folder: Path) -> None:
    """Remove what killed processes left in a folder."""
    for found in list(folder.iterdir()):
        if not is_stale(found):
            continue
        if found.is_dir() and not found.is_symlink():
            if not holding_release(found):
                shutil.rmtree(found, ignore_errors=True)
            continue
        try:
            found.unlink()
        except OSError:  # of another user, or gone meanwhile
            continue


def is_stale(partial: Path) -> bool:
    """Whether this is a partial that nobody fills any more."""
    found = _PATTERN.fullmatch(partial.name)
    if found is None or partial.name in _ours:
        return False
    process = int(found["process"])
    try:
        handle = _locked(partial)
    except FileNotFoundError:
        return True
    except OSError:  # held, or of another user: nobody can say that it is free
        return False
    if handle is None:
        return not _alive(process)
    os.close(handle)
    return not (_alive(process) and _just_made(partial))


def holding_release(partial: Path) -> bool:
    """Whether a partial folder holds a release that was paid for; one whose manifest cannot be read counts as such."""
    if not os.path.lexists(partial / MANIFEST):
        return False
    accounted, proved = _stamps(partial)
    return accounted or proved


def is_accounted(folder: Path) -> bool:
    """Whether a ledger knows the release in a folder; one whose manifest cannot be read counts as such."""
    return _stamps(folder)[0]


def _stamps(folder: Path) -> tuple[bool, bool]:
    """Whether the manifest says accounted, and whether it says proved; both where it cannot be read."""
    manifest = folder / MANIFEST
    try:
        if not manifest.is_file() or manifest.stat().st_size > _LARGEST_MANIFEST:
            return True, True
        claim = json.loads(manifest.read_text("utf-8"))["claim"]
        return bool(claim["accounted"]), claim["kind"] == "proved"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return True, True


def refuse_release_folder(option: str, target: Path, *, planned: Path | None = None, every: bool = True) -> None:
    """Refuse to put a file into a release folder: the one about to be written, and `every` one that exists."""
    parent = Path(os.path.realpath(target.parent))
    for folder in (parent, *parent.parents):
        if (planned is not None and folder == planned) or (every and os.path.lexists(folder / MANIFEST)):
            rule = f"would lie in the release folder {folder.name}, which is made to be published"
            raise ParameterError(option, target.name, rule, hint="name a file outside of every release")


def flush(path: Path) -> None:
    """Wait until the disk holds a file or folder."""
    folder = path.is_dir()
    if folder and os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not folder:  # some file systems cannot flush folders
            raise
    finally:
        os.close(handle)


def _locked(path: Path) -> int | None:
    """Return a handle that holds the lock of a file or folder, None where locks do not work.

    Raises BlockingIOError where another process holds it, another OSError where it cannot be opened.
    """
    if os.name == "nt":
        return None
    import fcntl

    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return handle


def _locked_if_readable(path: Path) -> int | None:
    """Return a handle as `_locked` does, None also where the path cannot be opened."""
    try:
        return _locked(path)
    except BlockingIOError:
        raise
    except OSError:
        return None


def _just_made(partial: Path) -> bool:
    """Whether a partial may stand between being made and being locked: it is new and holds no release yet."""
    try:
        age = abs(time.time() - partial.lstat().st_mtime)
        return age < _SECONDS_TO_LOCK and not os.path.lexists(partial / MANIFEST)
    except OSError:
        return False


def _alive(process: int) -> bool:
    """True when another process of that number runs (our own partials are known by name)."""
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
