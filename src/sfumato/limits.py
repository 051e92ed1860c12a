"""Every limit in one place: what is refused, or bounded, before the work begins. `docs/limits.md` has the same table.

A limit is a public number: it never depends on the data. What is larger is refused with the number, or, where a
measure can be taken on less, taken on less and said so. Numbers written as text, and small files, are read here, so
that nothing is computed of one that is too large.
"""

from __future__ import annotations

import os
import re
import stat
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

__all__ = [
    "CLAIM_PARTS",
    "CODES",
    "DIGITS",
    "EDGES",
    "EXPONENT",
    "FLOWS",
    "HIERARCHY_BYTES",
    "LEAVES",
    "MANIFEST_BYTES",
    "MASK_CODES",
    "POPULATIONS",
    "POPULATIONS_OF_ONE",
    "POPULATION_TABLES",
    "SCHEMA_BYTES",
    "decimal_of",
    "fraction_of",
    "number_fault",
    "read_regular",
]

DIGITS = 1000
"""Characters of a number written as text."""

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

POPULATIONS = 20_000
"""Populations of a utility loss; more are bounded by how many attributes a population names."""

POPULATION_TABLES = 200_000
"""Tables of one attribute that the search for populations counts before it is bounded likewise."""

POPULATIONS_OF_ONE = 1_000_000
"""Populations that name a single attribute; more are refused."""

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


def decimal_of(text: str) -> Decimal | None:
    """Return the decimal a text writes, None where it is none or beyond the limits."""
    return None if number_fault(text) or "/" in text else Decimal(text.strip())


def read_regular(path: Path, *, most: int, links: bool = True) -> bytes:
    """Return a small file; what is no regular file, or larger than `most` bytes, raises `OSError` with the reason.

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
            data = file.read(most + 1)
    finally:
        os.close(handle)
    if len(data) > most:
        raise OSError(0, f"it has more than {most:,} bytes")
    return data
