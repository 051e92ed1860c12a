"""Every limit in one place: what is refused, or bounded, before the work begins. `docs/limits.md` has the same table.

A limit is a public number: it never depends on the data. What is larger is refused with the number, or, where a
measure can be taken on less, taken on less and said so. Numbers written as text, small files and compressed files are
read here, so that nothing is computed of one that is too large.
"""

from __future__ import annotations

import codecs
import gzip
import os
import re
import stat
import zlib
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO, Literal

__all__ = [
    "CLAIM_PARTS",
    "CODES",
    "DIGITS",
    "DRIVER_CELLS",
    "EDGES",
    "FLOWS",
    "HELD_ROWS",
    "HIERARCHY_BYTES",
    "LEAVES",
    "MANIFEST_BYTES",
    "MASK_CODES",
    "PAIRED_COLUMNS",
    "POPULATIONS",
    "POPULATIONS_OF_ONE",
    "POPULATION_TABLES",
    "SCHEMA_BYTES",
    "TERM_DIGITS",
    "UNPACKED_BYTES",
    "UNPACKED_SMALL",
    "decimal_of",
    "digits_beyond",
    "engine_path",
    "fraction_of",
    "guarded_from_zlib",
    "most_unpacked",
    "number_fault",
    "packing_of",
    "read_regular",
    "unpacked",
    "utf8_path",
    "western_encoding",
]

DIGITS = 1000
"""Characters of a number written as text."""

DRIVER_CELLS = 20_000_000
"""Distinct combinations of published values that are held at once; of more, Mondrian is cut in two phases."""

HELD_ROWS = 30_000_000
"""Rows of a file whose codes are held in the file's order; more are added up by combination while they are read."""

TERM_DIGITS = 400
"""Digits of the numerator, and of the denominator, of a parameter; what is computed from several may have more."""

EXPONENT = 300
"""Largest exponent of a number written as text, up or down: about the range of a float."""

CODES = 2**31
"""Codes of one attribute."""

LEAVES = 10_000_000
"""Named values of one attribute, and intervals of a hierarchy."""

MASK_CODES = 1_000_000
"""Codes that a mask stands for without a list of values: their tree is held whole."""

EDGES = 100_000
"""Points of a list of `edges`."""

CLAIM_PARTS = 1_000
"""Requirements joined in one claim."""

FLOWS = 100_000_000
"""People in a file of origins and destinations: each is a row of the table."""

MANIFEST_BYTES = 256 * 1024 * 1024
"""Size of a manifest."""

SCHEMA_BYTES = 64 * 1024 * 1024
"""Size of a schema file."""

HIERARCHY_BYTES = 1024 * 1024 * 1024
"""Size of a hierarchy or a list of values beside a schema."""

UNPACKED_BYTES = 4 * 1024 * 1024 * 1024
"""Size of a compressed file (.gz, .zst, the parts of a workbook together) when it is unpacked."""

UNPACKED_RATIO = 200
"""How many times its own size a compressed file may unpack to, beyond `UNPACKED_SMALL`."""

UNPACKED_SMALL = 64 * 1024 * 1024
"""Size up to which a file may unpack whatever the ratio."""

POPULATIONS = 20_000
"""Populations of a utility loss; more are bounded by how many attributes a population names."""

POPULATION_TABLES = 200_000
"""Tables of one attribute that the search for populations counts before it is bounded likewise."""

POPULATIONS_OF_ONE = 1_000_000
"""Populations that name a single attribute; more are refused."""

PAIRED_COLUMNS = 60
"""Columns whose two-way tables a frontier counts; of a table with more, the carried ones and the first others."""

_NUMBER = re.compile(r"[-+]?(?:\d+/\d+|(?:\d+\.?\d*|\.\d+)(?:[eE]([-+]?\d+))?)", re.ASCII)


def number_fault(text: str) -> str:
    """Return why a text is not a number that can be read exactly: a decimal or a fraction within the limits.

    >>> number_fault("1/3"), number_fault("1e-9")
    ('', '')
    >>> number_fault("2_0")
    'must be a number such as 2, 0.1 or 1/10'
    """
    if len(text) > DIGITS:
        return f"has more than {DIGITS} characters"
    written = _NUMBER.fullmatch(text.strip())
    if written is None:
        return "must be a number such as 2, 0.1 or 1/10"
    if written[1] is not None and abs(int(written[1])) > EXPONENT:
        return f"has an exponent beyond {EXPONENT}"
    return ""


def fraction_of(text: str) -> Fraction | None:
    """Return the exact number a text writes, None where it is none or beyond the limits."""
    try:
        return None if number_fault(text) else Fraction(text.strip())
    except ZeroDivisionError:
        return None


def digits_beyond(value: Fraction, most: int) -> bool:
    """Whether a numerator or denominator has more than `most` digits, without writing either out."""
    return max(abs(value.numerator), value.denominator) >= int(10**most)


def decimal_of(text: str) -> Decimal | None:
    """Return the decimal a text writes, None where it is none or beyond the limits."""
    return None if number_fault(text) or "/" in text else Decimal(text.strip())


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
    return min(UNPACKED_BYTES, max(UNPACKED_SMALL, UNPACKED_RATIO * packed))


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
