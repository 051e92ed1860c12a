"""Old Excel files (.xls), looked at before a library reads them: how large a sheet is, and which cells hold no result.

Source    [MS-CFB] (the container: chains of sectors) and [MS-XLS], sections 2.4.20 (BoolErr), 2.4.28 (BoundSheet8),
          2.4.90 (Dimensions), 2.4.127 (Formula), 2.5.133 (FormulaValue) and 2.4.213 (RecalcId).
Claim     every cell of a sheet whose value is an error is found, typed in or calculated, and every formula that has
          no result yet. A file whose chains of sectors lead nowhere or have no end is refused.
Because   the library gives cells without a result as empty cells, follows a chain without end for ever, and reserves
          the memory that a header asks for. Each cell is a record with an address of its own.
Checked   tests/unit/io/test_xls.py::test_cells_without_a_result_are_refused_by_their_address
          tests/unit/io/test_xls.py::test_damaged_files_are_read_or_refused
          tests/unit/io/test_xls.py::test_hostile_files_are_refused_before_they_are_read
Silent on formulas that were stored with a value that is out of date. An empty text counts as a result only in a file
          that names the version of its calculation (RecalcId): programs that do not calculate write empty texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

import numpy as np

__all__ = ["CONTAINER", "ContainerError", "OldWorkbook"]

CONTAINER = bytes.fromhex("d0cf11e0a1b11ae1")  # how the file begins
_ENDS, _ENTRY, _HEADER, _SMALL, _CUTOFF = 0xFFFFFFFA, 128, 512, 64, 4096  # sector numbers from _ENDS on end a chain
_STREAMS = ("workbook", "book")  # of Excel 97 and later, and of Excel 5 and 95
_BEGIN, _END, _SHEET, _RECALCULATED, _EXTENT = 0x0809, 0x000A, 0x0085, 0x01C1, 0x0200
_ERROR, _FORMULA, _SEVERAL = 0x0205, 0x0006, 0x00BD
_CELLS = {0x0203, 0x0204, 0x00D6, _ERROR, 0x027E, 0x00FD, _SEVERAL, _FORMULA}


class ContainerError(ValueError):
    """A container or a stream that breaks off, leads nowhere or has no end."""


@dataclass(frozen=True, slots=True)
class OldWorkbook:
    """The stream of records of a workbook, and where in it each sheet begins."""

    stream: bytes
    _: KW_ONLY
    sheets: tuple[int, ...]
    calculated: bool

    @classmethod
    def of(cls, data: bytes) -> OldWorkbook:
        """Return the workbook in the bytes of a file."""
        stream = _stream(data)
        shared = list(_records(stream, 0))
        places = [_number(body, 0) for kind, body in shared if kind == _SHEET]
        return cls(stream, sheets=tuple(places), calculated=any(kind == _RECALCULATED for kind, _ in shared))

    def extents(self) -> Iterator[tuple[int, int]]:
        """Yield rows and columns of each sheet: as its cells say, and as its header says."""
        for place in self.sheets:
            rows = columns = 0
            for kind, body in _records(self.stream, place):
                if kind in _CELLS:
                    last = max(_number(body, 2, 2), _number(body, len(body) - 2, 2) if kind == _SEVERAL else 0)
                    rows, columns = max(rows, _number(body, 0, 2) + 1), max(columns, last + 1)
                elif kind == _EXTENT:
                    width = 4 if len(body) > 10 else 2  # of a row number; two bytes before Excel 97
                    rows, columns = (
                        max(rows, _number(body, width, width)),
                        max(columns, _number(body, 2 * width + 2, 2)),
                    )
            yield rows, columns

    def without_result(self, sheet: int) -> Iterator[tuple[int, int]]:
        """Yield row and column, from 1, of the cells of a sheet (numbered from 0) that hold no result."""
        if sheet >= len(self.sheets):
            raise ContainerError
        for kind, body in _records(self.stream, self.sheets[sheet]):
            if (kind == _ERROR and body[7:8] == b"\x01") or (kind == _FORMULA and self._no_result(body)):
                yield _number(body, 0, 2) + 1, _number(body, 2, 2) + 1

    def _no_result(self, body: bytes) -> bool:
        """Whether a formula's value is an error, or an empty text that nobody calculated."""
        value = body[6:14]
        return value[6:] == b"\xff\xff" and (value[0] == 2 or (value[0] == 3 and not self.calculated))


def _records(stream: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """Yield the records of one part of a stream, parts inside it (charts) aside."""
    depth = 0
    while at + 4 <= len(stream):
        kind, size = _number(stream, at, 2), _number(stream, at + 2, 2)
        if at + 4 + size > len(stream):
            break
        depth += (kind == _BEGIN) - (kind == _END)
        if depth < 1:
            if kind == _END:
                return
            break  # it does not begin as a part does
        if depth == 1:
            yield kind, stream[at + 4 : at + 4 + size]
        at += 4 + size
    raise ContainerError


def _stream(data: bytes) -> bytes:
    """Return the stream of the workbook, from a container whose chains all end."""
    if data[:8] != CONTAINER or len(data) < _HEADER:
        raise ContainerError
    sector = {9: 512, 12: 4096}.get(_number(data, 30, 2), 0)
    if not sector or _number(data, 32, 2) != 6 or max(_number(data, at) for at in (44, 64, 72)) > len(data) // sector:
        raise ContainerError
    table = _allocation(data, sector)
    folder = _chain(data, table, _number(data, 48), sector)
    entries = [folder[at : at + _ENTRY] for at in range(0, len(folder) - _ENTRY + 1, _ENTRY)]
    named = {_name(entry): entry for entry in reversed(entries)}
    entry = next((named[name] for name in _STREAMS if name in named), None)
    if entry is None:
        raise ContainerError
    begin, size = _number(entry, 116), _number(entry, 120)
    links = _numbers(_chain(data, table, _number(data, 60), sector))
    _all_end(links)
    if size >= _CUTOFF:
        return _chain(data, table, begin, sector)[:size]
    within = _chain(data, table, _number(entries[0], 116), sector)
    return _chain(bytes(_SMALL) + within, links, begin, _SMALL)[:size]


def _allocation(data: bytes, sector: int) -> np.ndarray:
    """Return the table that names the sector after each."""
    places, more = _numbers(data[76:_HEADER]).tolist(), _number(data, 68)
    seen: set[int] = set()
    while more < _ENDS:
        block = data[sector * (more + 1) : sector * (more + 2)]
        if more in seen or len(block) < sector:
            raise ContainerError
        seen.add(more)
        *rest, more = _numbers(block).tolist()
        places += rest
    table = _numbers(b"".join(data[sector * (at + 1) : sector * (at + 2)] for at in places if at < _ENDS))
    _all_end(table)
    return table


def _all_end(table: np.ndarray) -> None:
    """Raise unless every chain ends: after as many doublings of the step as the length has digits, none is left."""
    end = len(table)
    step = np.append(np.where(table < end, table, end), end)
    for _ in range(end.bit_length()):
        step = step[step]
    if (step != end).any():
        raise ContainerError


def _chain(data: bytes, table: np.ndarray, at: int, size: int) -> bytes:
    """Return the sectors of a chain; the first sector stands one sector after the beginning."""
    parts = []
    while at < _ENDS:
        if at >= len(table) or size * (at + 1) >= len(data):
            raise ContainerError
        parts.append(data[size * (at + 1) : size * (at + 2)])
        at = int(table[at])
    return b"".join(parts)


def _name(entry: bytes) -> str:
    return entry[: max(0, min(_number(entry, 64, 2), 64) - 2)].decode("utf-16-le", "replace").lower()


def _number(data: bytes, at: int, size: int = 4) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _numbers(data: bytes) -> np.ndarray:
    return np.frombuffer(data[: len(data) // 4 * 4], "<u4").astype(np.int64)
