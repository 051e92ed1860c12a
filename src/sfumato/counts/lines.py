r"""The lines of a delimited text file, counted apart from the engine that reads them, under one strict rule.

Source    own; RFC 4180 with the ambiguous parts refused.
Claim     a file that passes has one reading: `records` rows, each of `width` cells; any other file is refused with the
          number of its first wrong line. What a line is depends on that line alone, except inside a quoted cell.
Because   quotes alternate: the first opens, the next closes, and a doubled one does both. So it is enough that every
          opening quote begins a cell and every closing quote ends one; line ends after an odd number of quotes are
          inside a cell. Two stray quotes that swallow rows leave lines which are whole rows without them.
Checked   tests/claims/test_rows_in_are_rows_read.py::test_lines_agree_with_a_slow_reader
          tests/claims/test_rows_in_are_rows_read.py::test_any_csv_is_read_as_python_reads_it_or_refused
Silent on a cell with line breaks whose lines could not be rows: it is taken as written.
Cost      one pass in blocks, a few nanoseconds a byte.

The rule: a line without a single character is never a row, in any file; an empty cell of a one-column file is
written `""`. A quote may stand only around a whole cell, or doubled inside one. Line ends are \n or \r\n. A record may
go over several lines only where they cannot be rows: no inner line, and not both the first and the last, may have as
many cells as the header when their quotes are ignored.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK", "Lines", "WrongLine", "count_lines", "without_blank_lines"]

BLOCK = 1 << 18  # fits the cache of a core, which is what makes the pass fast
_NEWLINE, _RETURN, _QUOTE, _NUL = 10, 13, 34, 0
Bytes = NDArray[np.uint8]
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]


class WrongLine(Exception):  # noqa: N818  (never leaves the package)
    """A line that breaks the rule: its number, what is wrong and what to do."""

    def __init__(self, number: int, rule: str, hint: str) -> None:
        super().__init__(number, rule, hint)
        self.number, self.rule, self.hint = number, rule, hint


@dataclass(frozen=True, slots=True)
class Lines:
    """What was counted: records (the header is one where there is one), blank lines, and whether all is UTF-8."""

    records: int
    _: KW_ONLY
    blank: int = 0
    utf8: bool = True


def count_lines(parts: Iterable[bytes], *, delimiter: str, width: int) -> Lines:
    """Count the records of a text, each of `width` cells; raise `WrongLine` for the first that breaks the rule."""
    records = blank = line = 0
    utf8 = True
    scanner = _Scanner(ord(delimiter), width)
    for block, inside in _whole_records(parts, scanner):
        if b"\0" in block:
            number = line + 1 + block[: block.index(b"\0")].count(b"\n")
            raise WrongLine(number, "holds a null character", "save the file again as text")
        if utf8 and not block.isascii():
            try:
                codecs.utf_8_decode(block, "strict", True)
            except UnicodeDecodeError:
                utf8 = False
        found = scanner.block(block, inside, line)
        records, blank, line = records + found[0], blank + found[1], line + found[2]
    return Lines(records, blank=blank, utf8=utf8)


def without_blank_lines(text: bytes) -> bytes:
    """Return a text that `count_lines` accepted without its blank lines (those inside a quoted cell stay)."""
    data = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", np.uint8)
    ends = np.flatnonzero(data == _NEWLINE)
    starts = np.concatenate([[0], ends[:-1] + 1])
    empty = _lengths(data, starts, ends) == 0
    inside = np.searchsorted(np.flatnonzero(data == _QUOTE), ends) % 2 == 1
    keep = np.ones(len(data), dtype=bool)
    for start, end in zip(starts[empty & ~inside], ends[empty & ~inside], strict=True):
        keep[start : end + 1] = False
    return data[keep].tobytes()


def _whole_records(parts: Iterable[bytes], scanner: _Scanner) -> Iterator[tuple[bytes, Mask | None]]:
    """Cut a text into blocks that end with a record, and say which bytes are quoted, None where there is no quote.

    The last line gets its line end where it has none.
    """
    kept: list[bytes] = []
    line = size = 0
    enough = 0
    for part in parts:
        cut = part.rfind(b"\n") + 1
        size += len(part)
        if cut and size >= enough:
            block = b"".join([*kept, part[:cut]])
            whole, inside = scanner.end_of_records(block, line)
            rest = [block[whole:], part[cut:]]
            if whole:
                yield block[:whole], inside
                line += block.count(b"\n", 0, whole)
            kept, size = [piece for piece in rest if piece], sum(map(len, rest))
            # A record that is not at its end is looked at again only when there is twice as much of it.
            enough = 0 if whole else 2 * size
        else:
            kept.append(part)
    last = b"".join(kept)
    if last:
        last = last if last.endswith(b"\n") else last + b"\n"
        whole, inside = scanner.end_of_records(last, line)
        if whole < len(last):
            hint = "close the quote, or remove it"
            raise WrongLine(scanner.opened, "opens a quote that is never closed", hint)
        yield last, inside


class _Scanner:
    """The rule for one delimiter and one width."""

    def __init__(self, delimiter: int, width: int) -> None:
        self.delimiter, self.width = delimiter, width
        self.opened = 0  # the line on which the record begins that `end_of_records` found open

    def end_of_records(self, block: bytes, before: int) -> tuple[int, Mask | None]:
        """Return where the last whole record of a block of whole lines ends, and which bytes up to there are quoted."""
        if b'"' not in block:
            return len(block), None
        data = np.frombuffer(block, np.uint8)
        quotes = data == _QUOTE
        inside = _odd(quotes)
        self._check_quotes(data, quotes, before)
        if not inside[-1]:
            return len(block), inside
        ends = np.flatnonzero((data == _NEWLINE) & ~inside)
        start = int(ends[-1]) + 1 if len(ends) else 0
        self.opened = before + 1 + block.count(b"\n", 0, start)
        self._check_inner(data[start:], self.opened)
        return start, inside[:start]

    def _check_inner(self, data: Bytes, number: int) -> None:
        """Refuse an open record as soon as one of its later lines could be a row."""
        ends = np.flatnonzero(data == _NEWLINE)
        cells = _cells(data, ends, self.delimiter)
        if (cells[1:] >= self.width).any():
            raise _swallowed(number)

    def _check_quotes(self, data: Bytes, quotes: Mask, before: int) -> None:
        """Every opening quote begins a cell and every closing quote ends one; a doubled one is next to another."""
        places = np.flatnonzero(quotes)
        opens, closes = places[::2], places[1::2]
        begun = opens[int(opens[0] == 0) :]  # nothing stands ahead of the first byte
        ahead, after = data[begun - 1], data[closes + 1]  # a block ends with a line end
        unbegun = begun[~self._edge(ahead)]
        open_end = closes[~self._edge(after)]
        returns = open_end[data[open_end + 1] == _RETURN]
        returns = returns[data[np.minimum(returns + 2, len(data) - 1)] == _NEWLINE]
        unended = np.setdiff1d(open_end, returns, assume_unique=True)
        wrong = np.sort(np.concatenate([unbegun, unended]))
        if len(wrong):
            number = before + 1 + int(np.count_nonzero(data[: wrong[0]] == _NEWLINE))
            hint = "quote the whole cell and double the quotes inside it, or remove the quote"
            raise WrongLine(number, "has a quote inside a cell", hint)

    def _edge(self, beside: Bytes) -> Mask:
        """Whether a byte beside a quote ends or begins a cell, or is the other half of a doubled quote."""
        edge: Mask = (beside == self.delimiter) | (beside == _NEWLINE) | (beside == _QUOTE)
        return edge

    def block(self, block: bytes, inside: Mask | None, before: int) -> tuple[int, int, int]:
        """Return how many records, blank lines and lines a block of whole records holds."""
        data = np.frombuffer(block, np.uint8)
        if b"\r" in block:
            self._check_returns(data, inside, before)
        newlines = data == _NEWLINE
        lines = int(np.count_nonzero(newlines))
        cuts = newlines | (data == self.delimiter)
        marks = np.flatnonzero(cuts if inside is None else cuts & ~inside)
        ends = data[marks] == _NEWLINE
        regular = len(marks) % self.width == 0 and bool(ends[self.width - 1 :: self.width].all())
        regular &= int(np.count_nonzero(ends)) * self.width == len(marks) and lines * self.width == len(marks)
        if regular and self.width > 1:
            return lines, 0, lines
        return self._slowly(data, marks[ends], np.diff(np.flatnonzero(ends), prepend=-1), before)

    def _slowly(self, data: Bytes, ends: Places, cells: Places, before: int) -> tuple[int, int, int]:
        """Count records that do not all look alike: `ends` of records and the number of `cells` in each."""
        starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.intp)
        blank = _lengths(data, starts, ends) == 0
        all_ends = np.flatnonzero(data == _NEWLINE)
        if len(all_ends) > len(ends):
            self._check_breaks(data, starts, all_ends, before)
        wrong = ~blank & (cells != self.width)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            number = before + 1 + int(np.searchsorted(all_ends, starts[at]))
            have = "more" if cells[at] > self.width else "fewer"
            columns = "column" if self.width == 1 else "columns"
            rule = f"has {have} cells than the {self.width} {columns} of the file"
            hint = "check the delimiter and the quotes"
            if self.width == 1:
                hint += "; delete a title above the names of the columns"
            raise WrongLine(number, rule, hint)
        return int(np.count_nonzero(~blank)), int(np.count_nonzero(blank)), len(all_ends)

    def _check_breaks(self, data: Bytes, starts: Places, all_ends: Places, before: int) -> None:
        """Refuse a record over several lines of which some could be rows of their own."""
        cells = _cells(data, all_ends, self.delimiter)
        first = np.searchsorted(all_ends, starts)
        last = np.append(first[1:], len(all_ends)) - 1
        for begin, end in zip(first[last > first].tolist(), last[last > first].tolist(), strict=True):
            whole = cells[begin : end + 1] >= self.width
            if whole[1:-1].any() or (whole[0] and whole[-1]):
                raise _swallowed(before + 1 + begin)

    def _check_returns(self, data: Bytes, inside: Mask | None, before: int) -> None:
        """A carriage return outside quotes stands before a line end."""
        returns = (data[:-1] == _RETURN) & (data[1:] != _NEWLINE)
        lone = np.flatnonzero(returns if inside is None else returns & ~inside[:-1])
        if len(lone):
            number = before + 1 + int(np.count_nonzero(data[: lone[0]] == _NEWLINE))
            rule = "has a carriage return that does not end a line"
            raise WrongLine(number, rule, "save the file with line ends \\n or \\r\\n, or quote the cell")


def _odd(marks: Mask) -> Mask:
    """True where an odd number of marks stands up to here: within eight bytes by shifts, then from word to word."""
    words = np.zeros(-(-len(marks) // 8), "<u8")
    words.view(np.uint8)[: len(marks)] = marks
    for shift in (8, 16, 32):
        words ^= words << np.uint64(shift)
    before = np.bitwise_xor.accumulate(words >> np.uint64(56))
    words[1:] ^= before[:-1] * np.uint64(0x0101010101010101)
    return words.view(np.uint8)[: len(marks)].view(np.bool_)


def _swallowed(number: int) -> WrongLine:
    rule = "opens a quote that runs over lines which look like rows of their own"
    return WrongLine(number, rule, "remove the stray quote, or replace the line breaks inside the cell by blanks")


def _lengths(data: Bytes, starts: Any, ends: Places) -> Any:
    """Return how many bytes each line has, without its line end."""
    length = ends - starts
    return length - ((length > 0) & (data[np.maximum(ends - 1, 0)] == _RETURN))


def _cells(data: Bytes, ends: Places, delimiter: int) -> Places:
    """Return how many cells each line has when quotes are ignored."""
    before = np.searchsorted(np.flatnonzero(data == delimiter), ends)
    return np.diff(before, prepend=0) + 1
