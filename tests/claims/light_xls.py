"""The smallest old Excel file (.xls) that holds given sheets: records in a stream, the stream in a container.

Cells are numbers, truth values, texts and days; `Error` is an error typed in, `Formula` a formula with its value.
"""

from __future__ import annotations

import datetime as dt
import struct
from dataclasses import dataclass

SECTOR, FREE, LAST, TABLE = 512, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


@dataclass(frozen=True)
class Error:
    code: int = 42  # #N/A


@dataclass(frozen=True)
class Formula:
    value: bytes  # eight bytes: a number, or a kind of value and 0xFFFF at the end


CALCULATED_ERROR = Formula(b"\x02\0\x2a\0\0\0\xff\xff")
EMPTY_TEXT = Formula(b"\x03\0\0\0\0\0\xff\xff")
CALCULATED_NUMBER = Formula(struct.pack("<d", 7.0))


def record(kind, body=b""):
    return struct.pack("<HH", kind, len(body)) + body


def cell_record(row, column, cell):
    at = struct.pack("<HHH", row, column, 2 if isinstance(cell, dt.datetime) else 1 if isinstance(cell, dt.date) else 0)
    if isinstance(cell, Error):
        return record(0x0205, at + bytes([cell.code, 1]))
    if isinstance(cell, Formula):
        return record(0x0006, at + cell.value + struct.pack("<HIH", 0, 0, 3) + b"\x1e\x01\x00")
    if isinstance(cell, bool):
        return record(0x0205, at + bytes([cell, 0]))
    if isinstance(cell, dt.date):
        moment = cell if isinstance(cell, dt.datetime) else dt.datetime.combine(cell, dt.time())
        days = (moment - dt.datetime(1899, 12, 30)) / dt.timedelta(days=1)  # noqa: DTZ001
        return record(0x0203, at + struct.pack("<d", days))
    if isinstance(cell, int | float):
        return record(0x0203, at + struct.pack("<d", cell))
    text = str(cell).encode("utf-16-le")
    return record(0x0204, at + struct.pack("<HB", len(text) // 2, 1) + text)


def sheet_records(rows, hidden=()):
    unseen = b"".join(record(0x0208, struct.pack("<HHHHHHI", at - 1, 0, 0, 255, 0, 0, 0x0100 | 0x20)) for at in hidden)
    cells = [
        cell_record(at, place, cell)
        for at, row in enumerate(rows)
        for place, cell in enumerate(row)
        if cell is not None and cell != ""
    ]
    width = max(map(len, rows), default=0)
    size = record(0x0200, struct.pack("<IIHHH", 0, len(rows), 0, width, 0))
    begin = record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 0))
    return begin + size + unseen + b"".join(cells) + record(0x000A)


def workbook(sheets, calculated, hidden=()):
    """Return the stream: what all sheets share, then each sheet; `hidden` rows, from 1, are so in every sheet."""
    forms = b"".join(record(0x00E0, struct.pack("<HH", 0, shown) + bytes(16)) for shown in (0, 14, 22))
    begin = record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 0)) + forms
    begin += record(0x01C1, bytes(8)) if calculated else b""
    names = [name.encode("utf-16-le") for name in sheets]
    at = len(begin) + sum(4 + 8 + len(name) for name in names) + 4
    listed, parts = b"", []
    for name, rows in zip(names, sheets.values(), strict=True):
        listed += record(0x0085, struct.pack("<IBBBB", at, 0, 0, len(name) // 2, 1) + name)
        parts.append(sheet_records(rows, hidden))
        at += len(parts[-1])
    return begin + listed + record(0x000A) + b"".join(parts)


def entry(name, kind, start, size, child=FREE):
    text = name.encode("utf-16-le") + b"\0\0"
    fixed = text.ljust(64, b"\0") + struct.pack("<HBBIII", len(text), kind, 1, FREE, FREE, child)
    return fixed + bytes(36) + struct.pack("<IQ", start, size)


def write_xls(path, sheets, *, calculated=False, hidden=()):
    """Write {name: rows}. The stream is at least 4,096 bytes long, so that it stands in sectors of its own."""
    stream = workbook(sheets, calculated, hidden)
    size = max(len(stream), 4096)
    body = stream.ljust(-(-size // SECTOR) * SECTOR, b"\0")
    sectors = len(body) // SECTOR
    tables = -(-(sectors + 2) // (SECTOR // 4 - 1))
    assert tables <= 109
    links = [TABLE] * tables + [LAST] + [tables + 2 + at for at in range(sectors - 1)] + [LAST]
    links += [FREE] * (tables * SECTOR // 4 - len(links))
    folder = entry("Root Entry", 5, LAST, 0, child=1) + entry("Workbook", 2, tables + 1, size)
    folder = folder.ljust(SECTOR, b"\0")
    header = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIIII", 0, tables, tables, 0, 4096, LAST, 0, LAST, 0, 0)[:-4]
    places = [*range(tables), *[FREE] * (109 - tables)]
    header += struct.pack("<109I", *places)
    assert len(header) == SECTOR
    path.write_bytes(header + struct.pack(f"<{len(links)}I", *links) + folder + body)
    return path
