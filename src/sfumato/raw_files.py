"""Files as bytes, before anybody reads a table in them: regular ones only, never larger than a limit, unpacked or not.

Also what an engine that opens files itself needs: a path it takes as it is, and a text it does not take for a packed
one.
"""

from __future__ import annotations

import codecs
import gzip
import os
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal

from sfumato import limits


def read_regular(path: Path, *, most: int, links: bool = True) -> bytes:
    """Return a small file; what is not a regular file, or larger than `most` bytes, raises `OSError` with the reason.

    Never waits: a pipe or a device is refused before anything is read of it.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    if not links:
        if path.is_symlink():
            raise OSError(0, "it is a link")
        flags |= getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, flags)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "not a file")
        if found.st_size > most:
            raise OSError(0, f"it has {found.st_size:,} bytes, more than {most:,}")
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(found.st_size + 1)  # a buffer of the size asked for is made first
            if len(data) > found.st_size:
                data += file.read(most + 1 - len(data))
    finally:
        os.close(handle)
    if len(data) > most:
        raise OSError(0, f"it has more than {most:,} bytes")
    return data


def utf8_path(path: str | os.PathLike[str]) -> str:
    """Return a path as text in UTF-8, whatever the locale; one that is not raises `OSError` with the reason."""
    try:
        return os.fsencode(path).decode()
    except UnicodeDecodeError:
        raise OSError(0, "its path is not valid UTF-8") from None


def engine_path(path: str | os.PathLike[str]) -> str:
    """Return a path, as `utf8_path` does, for an engine that opens files itself: absolute, so that `~` is a name."""
    return utf8_path(os.path.abspath(path))  # noqa: PTH100  (no link is resolved)


# -- which files are not text ------------------------------------------------------------------

PARQUET = frozenset({".parquet", ".pq"})
EXCEL = frozenset({".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"})
STATS = frozenset({".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"})
"""SPSS, Stata and SAS."""
SQLITE = b"SQLite format 3\0"
"""How such a file begins."""


# -- compressed files --------------------------------------------------------------------------

_GZIP, _ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ZLIB = (b"x\x01", b"x^")  # the beginnings that can be text
_READ = 1 << 18
_CONTROLS = re.compile(rb"[\x80-\x9f]")
_READ_ZSTANDARD = 1 << 10  # of four bytes it can make 128 KB, so little is given to it at a time
_DAMAGED = "the compressed file is damaged or cut off"


def packing_of(head: bytes) -> str:
    """Return how a file that begins so is compressed: "gz", "zst", or nothing."""
    if head.startswith(_GZIP):
        return "gz"
    return "zst" if head.startswith(_ZSTANDARD) else ""


def guarded_from_zlib(text: bytes) -> bytes:
    """Return a text so that polars reads it as one: a text that begins with `x^` it would unpack as zlib.

    >>> guarded_from_zlib(b"x^2,y").decode("utf-8-sig"), guarded_from_zlib(b"x,y")
    ('x^2,y', b'x,y')
    """
    return codecs.BOM_UTF8 + text if text.startswith(_ZLIB) else text


def western_encoding(raw: bytes) -> Literal["latin-1", "cp1252"]:
    r"""Return the encoding in which a text is read that is not UTF-8 and does not state one.

    Latin-1, unless that shows control characters, which no text holds, and Windows-1252 shows signs in their places.

    >>> raws = "Kosten (\u20ac)".encode("cp1252"), "N\u00eemes".encode("cp1252"), b"\x81\x80"
    >>> [western_encoding(raw) for raw in raws]
    ['cp1252', 'latin-1', 'latin-1']
    """
    if _CONTROLS.search(raw) is None:
        return "latin-1"
    try:
        raw.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def most_unpacked(packed: int) -> int:
    """Return how many bytes a compressed file of `packed` bytes may unpack to."""
    return min(limits.UNPACKED_BYTES, max(limits.UNPACKED_SMALL, limits.UNPACKED_RATIO * packed))


def unpacked(path: Path) -> Iterator[bytes]:
    """Yield the content of a file compressed by gzip or Zstandard, recognized by its first bytes, part by part.

    One that is damaged, or unpacks to more than `most_unpacked`, raises `OSError` with the reason as soon as it does.
    """
    size = 0
    with path.open("rb") as file:
        most = most_unpacked(os.fstat(file.fileno()).st_size)
        packing = packing_of(file.read(4))
        file.seek(0)
        try:
            for part in _of_gzip(file) if packing == "gz" else _of_zstandard(file, packing):
                size += len(part)
                if size > most:
                    raise OSError(0, f"it unpacks to more than {most:,} bytes")
                yield part
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise OSError(0, _DAMAGED) from None


def _of_gzip(file: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file) as content:
        yield from iter(lambda: content.read(_READ), b"")


def _of_zstandard(file: BinaryIO, packing: str) -> Iterator[bytes]:
    if packing != "zst":
        raise OSError(0, _DAMAGED)
    try:
        import zstandard
    except ModuleNotFoundError:
        raise OSError(0, "it needs the zst extra: pip install 'sfumato[zst]'") from None
    frame = None
    rest = b""
    try:
        while part := rest or file.read(_READ_ZSTANDARD):
            frame = zstandard.ZstdDecompressor().decompressobj() if frame is None else frame
            yield frame.decompress(part)
            rest = b""
            if frame.eof:  # another may follow
                rest, frame = frame.unused_data, None
    except zstandard.ZstdError:
        raise OSError(0, _DAMAGED) from None
    if frame is not None:
        raise OSError(0, _DAMAGED)
