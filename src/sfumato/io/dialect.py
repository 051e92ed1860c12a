"""How a delimited text file is written: encoding, delimiter and header, seen from its first lines, and what is in it.

Rules that no row can change come first: a byte order mark or UTF-8, the delimiter that cuts the first line into the
wanted columns, a first line that names them. Only where they settle nothing is a property guessed from rows; `guesses`
names it, and differentially private methods refuse it.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ReadError, count_of
from sfumato.io.read_errors import guessed_reading, refuse_names_twice, refused
from sfumato.raw_files import guarded_from_zlib, packing_of, unpacked, western_encoding

# The lines of a delimited text file, counted apart from the engine that reads them, under one strict rule.
#
# Source    own; RFC 4180 with the ambiguous parts refused.
# Claim     a file that passes has one reading: `records` rows, each of `width` cells; any other file is refused with
#           the number of its first wrong line. What a line is depends on that line alone, except inside a quoted cell.
# Because   quotes alternate: the first opens, the next closes, and a doubled one does both. So it is enough that
#           every opening quote begins a cell and every closing quote ends one; line ends after an odd number of quotes
#           are inside a cell. Two stray quotes that swallow rows leave lines which are whole rows without them.
# Checked   tests/claims/test_rows_in_are_rows_read.py::test_lines_agree_with_a_slow_reader
#           tests/claims/test_rows_in_are_rows_read.py::test_any_csv_is_read_as_python_reads_it_or_refused
# Silent on a cell with line breaks whose lines could not be rows: it is taken as written.
# Cost      one pass in blocks, a few nanoseconds a byte.
#
# The rule: a line without a single character is never a row, in any file; an empty cell of a one-column file is
# written `""`. A quote may stand only around a whole cell, or doubled inside one. Line ends are \n or \r\n. A record
# may
# go over several lines only where they cannot be rows: no inner line, and not both the first and the last, may have
# as
# many cells as the header when their quotes are ignored.

BLOCK = 1 << 18  # fits the cache of a core, which is what makes the pass fast
_NEWLINE, _RETURN, _QUOTE, _NUL = 10, 13, 34, 0
Bytes = NDArray[np.uint8]
Offsets = NDArray[np.intp]
Flags = NDArray[np.bool_]


class WrongLine(Exception):  # noqa: N818  (never leaves the package)
    """A line that breaks the rule: its number, what is wrong and what to do."""

    def __init__(self, number: int, rule: str, hint: str) -> None:
        super().__init__(number, rule, hint)
        self.number, self.rule, self.hint = number, rule, hint


@dataclass(frozen=True, slots=True)
class CountedLines:
    """What was counted: records (the header is one where there is one), blank lines, and whether all is UTF-8."""

    records: int
    _: KW_ONLY
    blank: int = 0
    utf8: bool = True


def count_lines(parts: Iterable[bytes], *, delimiter: str, width: int) -> CountedLines:
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
    return CountedLines(records, blank=blank, utf8=utf8)


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


def _whole_records(parts: Iterable[bytes], scanner: _Scanner) -> Iterator[tuple[bytes, Flags | None]]:
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

    def end_of_records(self, block: bytes, before: int) -> tuple[int, Flags | None]:
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

    def _check_quotes(self, data: Bytes, quotes: Flags, before: int) -> None:
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

    def _edge(self, beside: Bytes) -> Flags:
        """Whether a byte beside a quote ends or begins a cell, or is the other half of a doubled quote."""
        edge: Flags = (beside == self.delimiter) | (beside == _NEWLINE) | (beside == _QUOTE)
        return edge

    def block(self, block: bytes, inside: Flags | None, before: int) -> tuple[int, int, int]:
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

    def _slowly(self, data: Bytes, ends: Offsets, cells: Offsets, before: int) -> tuple[int, int, int]:
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

    def _check_breaks(self, data: Bytes, starts: Offsets, all_ends: Offsets, before: int) -> None:
        """Refuse a record over several lines of which some could be rows of their own."""
        cells = _cells(data, all_ends, self.delimiter)
        first = np.searchsorted(all_ends, starts)
        last = np.append(first[1:], len(all_ends)) - 1
        for begin, end in zip(first[last > first].tolist(), last[last > first].tolist(), strict=True):
            whole = cells[begin : end + 1] >= self.width
            if whole[1:-1].any() or (whole[0] and whole[-1]):
                raise _swallowed(before + 1 + begin)

    def _check_returns(self, data: Bytes, inside: Flags | None, before: int) -> None:
        """A carriage return outside quotes stands before a line end."""
        returns = (data[:-1] == _RETURN) & (data[1:] != _NEWLINE)
        lone = np.flatnonzero(returns if inside is None else returns & ~inside[:-1])
        if len(lone):
            number = before + 1 + int(np.count_nonzero(data[: lone[0]] == _NEWLINE))
            rule = "has a carriage return that does not end a line"
            raise WrongLine(number, rule, "save the file with line ends \\n or \\r\\n, or quote the cell")


def _odd(marks: Flags) -> Flags:
    """True where an odd number of marks stands up to here: within eight bytes by shifts, then from word to word."""
    words = np.zeros(-(-len(marks) // 8), "<u8")
    words.view(np.uint8)[: len(marks)] = marks
    for shift in (8, 16, 32):
        words ^= words << np.uint64(shift)
    before = np.bitwise_xor.accumulate(words >> np.uint64(56))
    words[1:] ^= before[:-1] * np.uint64(0x0101010101010101)
    return words.view(np.uint8)[: len(marks)].view(np.bool_)


def _swallowed(number: int) -> WrongLine:
    rule = "opens a quote that continues over lines that look like rows"
    return WrongLine(number, rule, "remove the stray quote, or replace the line breaks inside the cell by blanks")


def _lengths(data: Bytes, starts: Any, ends: Offsets) -> Any:
    """Return how many bytes each line has, without its line end."""
    length = ends - starts
    return length - ((length > 0) & (data[np.maximum(ends - 1, 0)] == _RETURN))


def _cells(data: Bytes, ends: Offsets, delimiter: int) -> Offsets:
    """Return how many cells each line has when quotes are ignored."""
    before = np.searchsorted(np.flatnonzero(data == delimiter), ends)
    return np.diff(before, prepend=0) + 1


_SAMPLE = 1 << 18
_LINES = 200
_FEW_LINES, _WIDEST = 3, 1 << 26
_DELIMITERS = (",", ";", "\t", "|")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|", re.ASCII)
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_READ_BY_POLARS = {"utf-8", "ascii", "utf-8-sig"}
_LETTER_IN_UTF8 = re.compile(rb"[\xc3-\xc5\xce-\xd1][\x80-\xbf]")  # a Latin, Greek or Cyrillic one, in two bytes
_TWO = 2  # letters in UTF-8, lines in it and lines that are not; one may be an accident
_GUESSED = ("latin-1", "cp1252")  # what a file is read as that is not UTF-8 and does not say what it is
_PACKED = {".gz", ".zst"}


@dataclass(frozen=True, slots=True)
class CsvForm:
    """Names of the columns and how to read the lines below them."""

    names: tuple[str, ...]
    _: KW_ONLY
    delimiter: str
    encoding: str
    header: bool
    guessed: bool
    padded: bool
    file: str  # its name
    first: str = ""  # the line that names the columns
    asked: tuple[str, ...] = ()  # which of delimiter, encoding and header nobody stated

    def guesses(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return what was guessed from rows, where the first line is to name `columns`.

        A first line that names them under one delimiter alone settles delimiter and header, whatever the rows are.
        """
        found = ["encoding"] if "encoding" in self.asked and self.encoding in _GUESSED else []
        marks = _DELIMITERS if "delimiter" in self.asked else (self.delimiter,)
        named = self.header and _named_by(self.first, columns, marks) == [self.delimiter]
        if not named:
            found += [name for name in ("delimiter", "header") if name in self.asked]
        return tuple(found)


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A text file that was counted line by line: its form, how many rows it has, and what polars is to read."""

    path: Path
    _: KW_ONLY
    form: CsvForm
    rows: int
    blank: int
    text: bytes | None = None  # None: polars reads the file itself


def guesses_of(forms: Iterable[CsvForm], columns: Sequence[str]) -> tuple[str, ...]:
    """Return which of encoding, delimiter and header were guessed from rows, when these columns are read."""
    found = {guess for form in forms for guess in form.guesses(columns)}
    return tuple(guess for guess in ("encoding", "delimiter", "header") if guess in found)


def refuse_guesses(forms: Iterable[CsvForm], columns: Sequence[str]) -> None:
    """Raise for the first file whose reading one row could change, where a differentially private claim is asked."""
    for form in forms:
        if guesses := form.guesses(columns):
            raise guessed_reading(form.file, guesses)


def open_csv(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | Sequence[str] | None = None,
    expected: Sequence[str] = (),
) -> CsvFile:
    """Find out how a file is written and count its lines; one that has no single reading is refused.

    `expected` are column names a header would carry. A file that is not UTF-8 throughout is read as Latin-1 where no
    encoding is given; as Windows-1252 where that would show control characters, such as for its euro sign.
    """
    form = _sniff(path, delimiter=delimiter, encoding=encoding, header=header, expected=expected)
    text = None if _plain(path, form) else _decoded(path, form.encoding)
    lines = _counted(path, form, text)
    if not lines.utf8:
        if encoding is not None or form.encoding == "utf-8-sig":  # stated, by somebody or by the file's mark
            raise _not_text(path, encoding or "UTF-8")
        form = _sniff(path, delimiter=delimiter, encoding="latin-1", header=header, expected=expected, guess=True)
        text = _decoded(path, form.encoding)
        lines = _counted(path, form, text)
    raw = (
        text.decode().encode("latin-1") if encoding is None and text is not None and form.encoding == "latin-1" else b""
    )
    _refuse_two_encodings(path, raw)
    if raw and western_encoding(raw) != "latin-1":
        form = _sniff(path, delimiter=delimiter, encoding="cp1252", header=header, expected=expected, guess=True)
        text = _decoded(path, form.encoding)
        lines = _counted(path, form, text)
    if lines.blank:
        text = without_blank_lines(_decoded(path, form.encoding) if text is None else text)
    text = None if text is None else guarded_from_zlib(text)
    return CsvFile(path, form=form, rows=lines.records - form.header, blank=lines.blank, text=text)


def line_numbers(file: CsvFile, rows: Sequence[int]) -> list[int]:
    """Return the lines on which rows begin, counted from 0 and in order; nothing where the file cannot be walked."""
    wanted, found, before = {row + file.form.header for row in rows}, [], 0
    try:
        text = io.StringIO(_decoded(file.path, file.form.encoding).decode(), newline="")
        reader = csv.reader(text, delimiter=file.form.delimiter)
        record = 0
        for cells in reader:
            if cells and record in wanted:
                found.append(before + 1)
            if len(found) == len(wanted):
                return found
            record, before = record + bool(cells), reader.line_num
    except (ReadError, csv.Error, UnicodeError):
        return []
    return []


def _plain(path: Path, form: CsvForm) -> bool:
    """True when polars can read the file itself."""
    if _packed(path) or codecs.lookup(form.encoding).name not in _READ_BY_POLARS:
        return False
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise _unreadable(path, error) from None
    return guarded_from_zlib(head) == head


def _counted(path: Path, form: CsvForm, text: bytes | None) -> CountedLines:
    try:
        if text is not None:
            parts: Iterator[bytes] = (text[at : at + BLOCK] for at in range(0, len(text), BLOCK))
            return count_lines(parts, delimiter=form.delimiter, width=len(form.names))
        with path.open("rb") as file:
            mark = file.read(len(codecs.BOM_UTF8))
            file.seek(len(mark) if mark == codecs.BOM_UTF8 else 0)
            parts = iter(lambda: file.read(BLOCK), b"")
            return count_lines(parts, delimiter=form.delimiter, width=len(form.names))
    except WrongLine as wrong:
        rule = f"line {wrong.number} {wrong.rule}"
        raise refused(path.name, rule, wrong.hint) from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _sniff(
    path: Path,
    *,
    delimiter: str | None,
    encoding: str | None,
    header: bool | Sequence[str] | None,
    expected: Sequence[str],
    guess: bool = False,
) -> CsvForm:
    """Look at the first lines; `guess` says that the encoding was not stated."""
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise refused("delimiter", "must be one ASCII character", "such as ; or ,")
    given = {"delimiter": delimiter, "encoding": None if guess else encoding, "header": header}
    raw, whole = _head(path)
    if not raw.strip():
        raise refused(path.name, "is empty", "give a file with a header line and rows")
    encoding, text = _text(path, raw, encoding, whole=whole)
    lines = [line for line in itertools.islice(io.StringIO(text, newline="\n"), _LINES + 1) if line.strip("\r\n")]
    if not whole and len(lines) > 1 and len(lines) <= _LINES:
        lines.pop()  # the sample ends within a line
    named = isinstance(header, Sequence)
    mark = delimiter or _delimiter(lines, () if named or header is False else expected)
    records = _records(lines, mark)
    if not records:
        raise refused(path.name, "holds no line that can be read", "check the delimiter and the quotes")
    first = tuple(cell.strip() for cell in records[0])
    numbered = expected and all(re.fullmatch(r"column_[0-9]+", name) for name in expected)
    if not named and header is not False and not numbered and title_like(first):
        raise title_refused(path.name, first, line=True)
    has_header = (_has_header(records, expected) if header is None else header is True) and not named
    if named:
        names = tuple(str(name) for name in header)  # type: ignore[union-attr]
        if len(names) != len(first):
            rule = f"has {len(first)} columns, but {len(names)} names were given"
            raise refused(path.name, rule, "name every column in `header`")
    else:
        names = tuple((has_header and cell) or f"column_{at}" for at, cell in enumerate(first, 1))
    refuse_names_twice(path.name, names, certain=header is not None)
    return CsvForm(
        names,
        delimiter=mark,
        encoding=encoding,
        header=has_header,
        guessed=header is None,
        padded=any(cell.startswith(" ") for record in records[1:20] for cell in record),
        file=path.name,
        first=lines[0] if has_header else "",  # else it is a row
        asked=tuple(name for name, value in given.items() if value is None),
    )


def _decoded(path: Path, encoding: str) -> bytes:
    """Return a whole file as UTF-8 bytes without a mark (for what polars does not read)."""
    try:
        raw = b"".join(unpacked(path)) if _packed(path) else path.read_bytes()
        if codecs.lookup(encoding).name in _READ_BY_POLARS:
            return raw.removeprefix(codecs.BOM_UTF8)  # whether it is UTF-8 is found when lines are counted
        return raw.decode(encoding).removeprefix("\ufeff").encode()
    except OSError as error:
        raise _unreadable(path, error) from None
    except (UnicodeError, LookupError):
        problem = _not_text(path, encoding)
    raise problem  # out here: the context would be an error that holds the file


def _refuse_two_encodings(path: Path, raw: bytes) -> None:
    """Refuse a file that is not UTF-8 and has lines that are: each name would be one person here, another there."""
    if len(_LETTER_IN_UTF8.findall(raw)) < _TWO:
        return
    lines = [(number, _is_utf8(line)) for number, line in enumerate(raw.split(b"\n"), 1) if not line.isascii()]
    inside, outside = ([number for number, utf8 in lines if utf8 is wanted] for wanted in (True, False))
    if min(len(inside), len(outside)) < _TWO:
        return
    fewer, which = min((inside, "in UTF-8 "), (outside, ""), key=lambda lines: len(lines[0]))
    many, others = (count_of(len(lines), "line is", "lines are") for lines in (inside, outside))
    rule = f"{many} in UTF-8, and {others} not: the first of these {which}is line {fewer[0]}"
    hint = (
        "write all of the file in UTF-8; where parts in two encodings were joined, convert each, then join them again"
    )
    raise refused(path.name, rule, hint, count=len(fewer))


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _not_text(path: Path, encoding: str) -> ReadError:
    hint = 'write the file in UTF-8, or name the encoding it is in: encoding="cp1252" for one of Western Europe'
    return refused(path.name, f"is not {encoding} text throughout", hint)


def _packed(path: Path) -> bool:
    """True for a compressed file, by its name or by how it begins."""
    if path.suffix.lower() in _PACKED:
        return True
    try:
        with path.open("rb") as file:
            return bool(packing_of(file.read(4)))
    except OSError as error:
        raise _unreadable(path, error) from None


def _head(path: Path) -> tuple[bytes, bool]:
    """Return the first lines of a file, and whether that is all of it; a header may be longer than a sample."""
    raw = b""
    try:
        for part in unpacked(path) if _packed(path) else _parts(path):
            raw += part
            if len(raw) >= _WIDEST or (len(raw) >= _SAMPLE and raw.count(b"\n") >= _FEW_LINES):
                return raw, False
    except OSError as error:
        raise _unreadable(path, error) from None
    return raw, True


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from iter(lambda: file.read(_SAMPLE), b"")


def _unreadable(path: Path, error: OSError) -> ReadError:
    return refused(path.name, f"cannot be read ({error.strerror})", "check the path and the file")


def _text(path: Path, raw: bytes, encoding: str | None, *, whole: bool) -> tuple[str, str]:
    if encoding is None:
        encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), None)
    if encoding is None and b"\0" in raw:
        raise refused(path.name, "is not text", 'save it as CSV, or name its encoding: encoding="utf-16-le"')
    for candidate in [encoding] if encoding else ["utf-8", "latin-1"]:
        try:
            text = codecs.getincrementaldecoder(candidate)().decode(raw, final=whole)
        except LookupError:
            raise refused("encoding", "is not known", "utf-8, latin-1, cp1252 or utf-16") from None
        except UnicodeError:
            continue
        if "\0" in text:
            raise refused(path.name, "is not text", "save it as CSV in UTF-8")
        return candidate, text.removeprefix("\ufeff")
    raise refused(path.name, f"is not {encoding} text", "omit the encoding to have it found")


def _records(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Return the first records, up to one with a cell too long for this reader: no row is refused for being early."""
    found: list[list[str]] = []
    with suppress(csv.Error):
        found.extend(_parsed(lines, delimiter))
    return found


def _parsed(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    return (row for row in csv.reader(lines, delimiter=delimiter) if row)


def _named_by(line: str, columns: Sequence[str], marks: Sequence[str] = _DELIMITERS) -> list[str]:
    """Return which marks cut a line into cells among which are all the columns; of a line without a mark, the first."""
    if not columns:
        return []
    found = []
    for mark in [mark for mark in marks if mark in line] or marks[:1]:
        try:
            cells = {cell.strip() for row in _parsed([line], mark) for cell in row}
        except csv.Error:
            continue
        if cells.issuperset(columns):
            found.append(mark)
    return found


def _delimiter(lines: Sequence[str], expected: Sequence[str]) -> str:
    """Return the mark that cuts the first line into the expected names, else the one that fits the lines best.

    That is the one that cuts the most lines into the same number of cells, more cells winning ties. Where the first
    line has another width the mark is rather part of the cells, as the comma of 0,5 is.
    """
    named = _named_by(lines[0], expected) if lines else []
    if lines and [lines[0].strip()] == list(expected):
        return _DELIMITERS[0]  # one column, and its name takes the whole line
    if len(named) == 1:
        return named[0]

    def score(mark: str) -> tuple[float, bool, int]:
        try:
            widths = [len(row) for row in _parsed(lines, mark)]
        except csv.Error:
            return (0.0, False, 0)
        usual = max(set(widths), key=widths.count, default=0)
        if usual < 2:
            return (0.0, False, 0)
        return (round(widths.count(usual) / len(widths), 1), widths[0] == usual, usual)

    return max(_DELIMITERS, key=score)


def _has_header(records: Sequence[Sequence[str]], expected: Sequence[str]) -> bool:
    first = [cell.strip() for cell in records[0]]
    names, positions = set(first), {f"column_{at}" for at in range(1, len(first) + 1)}
    if expected and all(name in positions for name in expected):
        return all(name in names for name in expected)
    if any(name in names for name in expected):
        return True
    named = first[1:] if len(first) > 1 and not first[0] else first  # programs write the numbers of rows in front
    if any(_NUMBER.fullmatch(cell) for cell in named) or len(set(first)) < len(first):
        return any(first) and len(set(first)) < len(first) and _names_like(first)
    below = [[cell.strip() for cell in record] for record in records[1:] if len(record) == len(first)]
    below = [record for record in below if record != first]  # the header again, or rows that tell nothing
    if not below:
        return True
    columns = list(zip(*below, strict=True))
    if any(all(_NUMBER.fullmatch(cell) for cell in column) for column in columns):
        return True
    # Only texts below: a name that comes back as a value is not a name.
    return not any(name in column for name, column in zip(first, columns, strict=True))


def title_like(first: Sequence[str | None]) -> bool:
    """True of a first line that names no table: half of its cells are empty, and not just the first of them.

    A column without a name is usual in front: programs write the numbers of their rows there.
    """
    empty = sum(not cell for cell in first)
    return len(first) > 1 and 2 * empty >= len(first) and not (empty == 1 and not first[0])


def title_refused(name: str, first: Sequence[str | None], *, line: bool) -> ReadError:
    """Return the error for a file that begins with a title in the place of the names of its columns."""
    named = sum(bool(cell) for cell in first)
    where = "its first line" if line else "the first row of its sheet"
    rule = f"{where} should name {len(first)} columns and names {named}, like a title above the table"
    hint = "delete the lines above the names of the columns, or give each column a name"
    return refused(name, rule, f"{hint}; --no-header where the line is data" if line else hint)


def _names_like(first: Sequence[str]) -> bool:
    """True when a first line with repetitions is still made of names (a header with duplicate names)."""
    return all(re.fullmatch(r"[A-Za-z_][\w .-]*", cell) for cell in first)
