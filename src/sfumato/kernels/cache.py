"""Where compiled kernels are kept between runs.

numba does not notice an edit in another file's compiled callee, so the folder carries a hash of every
file of this package and of numba's version: one edit, one new folder. It lies in the user's cache, so
a read-only installation works; `SFUMATO_CACHE` names another place.

A compiled function is code that will be run, so it is loaded only from a folder that nobody else could have filled:
the folder is ours and closed to others, it and all it holds, and every folder above it up to the root belongs to us or
to root, cannot be written by others (or is sticky, like /tmp, where nobody can replace what is ours) and is not a link.
Without such a folder kernels are compiled in memory and not kept; that is logged once, with the reason.
"""

from __future__ import annotations

import hashlib
import logging
import multiprocessing
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config

from sfumato.visible import visible

_Function = TypeVar("_Function", bound=Callable[..., Any])


@cache
def source_key() -> str:
    """Return a short hash of the kernels' sources, numba's and Python's version."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:3]}".encode())
    here = Path(__file__).parent
    for path in sorted(here.rglob("*.py")):
        digest.update(path.relative_to(here).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def folder() -> Path | None:
    """Return the folder for compiled kernels, made if need be; None where there is none that only we can fill."""
    asked = os.environ.get("SFUMATO_CACHE")
    root: Path | None = None
    try:
        root = Path(asked).expanduser() if asked else _user_cache() / "sfumato"
        place = Path(os.path.abspath(root)) / f"kernels-{source_key()}"  # noqa: PTH100  (no link is resolved)
        if sys.platform == "win32":  # the folder of a user's own data is closed to others there
            place.mkdir(parents=True, exist_ok=True)
        elif not _ours_alone(place):
            _nothing_kept(root, "others could put code there, or it lies below a link")
            return None
        tempfile.TemporaryFile(dir=place).close()
    except OSError as error:
        _nothing_kept(root, error.strerror or "it cannot be written")
        return None
    except (RuntimeError, ValueError):  # no home, a name that no file can have
        _nothing_kept(root, "there is no such folder")
        return None
    return place


def _nothing_kept(root: Path | None, why: str) -> None:
    """Say, once and not again in each worker, why it takes so long and how to make it quicker."""
    if multiprocessing.parent_process() is None:
        where = "in the home folder" if root is None else f"in {visible(root)}"
        logging.getLogger("sfumato").warning(
            "Compiling: the compiled code cannot be kept %s (%s), so every run compiles it anew, which takes about a"
            " minute. To keep it, set SFUMATO_CACHE to a folder of your own that only you can write.",
            where,
            why,
        )


def _ours_alone(place: Path) -> bool:
    """Make the folder where it is missing and say whether nobody else can have put anything into it.

    Each step is opened from the one above and looked at by its descriptor, so that nothing is exchanged in between.
    What is ours in a folder that passes cannot be renamed by others, so the path stays what was looked at.
    """
    look = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    here = os.open(place.anchor, look)
    try:
        for name in place.parts[1:]:
            if not _trusted(os.fstat(here)):
                return False
            try:
                below = os.open(name, look, dir_fd=here)
            except FileNotFoundError:
                os.mkdir(name, mode=0o700, dir_fd=here)
                below = os.open(name, look, dir_fd=here)
            os.close(here)
            here = below
        last = os.fstat(here)
        return _mine(last) and not last.st_mode & 0o077 and not _planted(here)
    finally:
        os.close(here)


def _trusted(found: os.stat_result) -> bool:
    """Whether what is ours inside a folder cannot be replaced by others: theirs to write only where it is sticky."""
    owned = found.st_uid in (0, os.geteuid())
    return owned and (not found.st_mode & 0o022 or bool(found.st_mode & stat.S_ISVTX))


def _mine(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid()


def _planted(opened: int) -> bool:
    """Whether anything inside is a link or belongs to somebody else, left from when the folder was open to others."""
    for _, folders, files, here in os.fwalk(".", dir_fd=opened):
        for name in (*folders, *files):
            try:
                found = os.stat(name, dir_fd=here, follow_symlinks=False)
            except FileNotFoundError:  # a temporary file of another process of ours
                continue
            if not _mine(found) or stat.S_ISLNK(found.st_mode):
                return True
    return False


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def compiled(function: _Function) -> _Function:
    """Compile at the first call and keep the result in `folder()`.

    No fast-math: a sum of floats has one value on every machine. numba reads the folder while it
    decorates, so the setting is put back at once and other packages keep theirs.
    """
    place, before = folder(), config.CACHE_DIR
    if place is None:
        return numba.njit(error_model="numpy")(function)  # type: ignore[no-any-return]
    config.CACHE_DIR = str(place)
    try:
        return numba.njit(cache=True, error_model="numpy")(function)  # type: ignore[no-any-return]
    finally:
        config.CACHE_DIR = before


def inlined(function: _Function) -> _Function:
    """Compile a function that only compiled functions call; it is kept as part of them.

    Without the wrappers for Python callers, which take most of the compiler's time.
    """
    options = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(**options)(function)  # type: ignore[no-any-return]


def borrowing(function: _Function) -> _Function:
    """Compile like `inlined` a function that makes and returns no array: it counts no references.

    Counting them for every array of a tuple took more time than the work on a small part: Mondrian's rule `best` on a
    million distinct rows took 5.2 CPU seconds with them and 3.7 without. numba applies the option to all that the
    function calls, so none of those may make an array either; the compiler refuses it.
    """
    options = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    return numba.njit(**options)(function)  # type: ignore[no-any-return]
