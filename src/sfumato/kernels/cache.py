"""Where compiled kernels are kept between runs.

numba does not notice an edit in another file's compiled callee, so the folder carries a hash of every
file of this package and of numba's version: one edit, one new folder. It lies in the user's cache, so
a read-only installation works; `SFUMATO_CACHE` names another place. A compiled function is code that
will be run, so a place that others can write is never tried: without a private folder nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config

__all__ = ["compiled", "folder", "inlined", "source_key"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


@cache
def source_key() -> str:
    """Return a short hash of the kernels' sources, numba's and Python's version."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:3]}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def folder() -> Path | None:
    """Return the folder for compiled kernels, made if need be; None where none can be written."""
    asked = os.environ.get("SFUMATO_CACHE")
    root = Path(asked).expanduser() if asked else _user_cache() / "sfumato"
    place = root / f"kernels-{source_key()}"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return None
    return place


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
