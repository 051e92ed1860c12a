"""Sheets of Excel and OpenDocument files, each cell read by itself, never typed from the rows above it.

Source    own, over python-calamine.
Claim     a cell means the same wherever it stands: a number is its decimal text (5 and 5.0 are one), a day or time and
          a truth value are what they are, a text is itself ("007" stays "007", and "5" is read as 5 is), and an empty
          cell has no value. A row of empty cells is never a row. A sheet with an error such as #N/A, or a formula
          without a stored result, is refused, and the message names the cells. Merged cells below the names of the
          columns are known by their place, for who reads one of their columns: all but the first are empty. Rows
          that are hidden, as by a filter, are rows like all others, and known by their place.
Because   cells arrive as Python objects, typed by their own record in the file; nothing is inferred from a column. The
          library gives an error and a formula without a result as empty cells, so they are looked for apart from it.
Checked   tests/claims/test_rows_are_read_by_themselves.py::test_each_row_alone_is_the_row_in_the_file
          tests/unit/io/test_excel.py::test_cells_mean_what_they_say
          tests/unit/io/test_excel.py::test_a_cell_in_the_last_corner_is_refused
          tests/unit/io/test_excel.py::test_cells_without_a_result_are_refused_by_their_address
          tests/unit/io/test_xls.py::test_cells_without_a_result_are_refused_by_their_address
          tests/unit/io/test_excel.py::test_merged_cells_of_a_column_that_is_read_are_refused_by_their_address
          tests/unit/io/test_excel.py::test_hidden_rows_are_read_and_named
Silent on .xlsb files, in which an error of any sheet is refused, formulas without a result and all but the first of
          merged cells are empty cells, and hidden rows are not known. What the format of a cell adds to its value: a
          currency, a unit or a percent sign is not read, so amounts in EUR and in CHF by format are plain numbers.

The first row with a value names the columns. A file in which several sheets hold values is refused unless one is
named, and so is one in which only a hidden sheet does. A sheet is held as a rectangle by the library, so one whose
cells lie farther apart than `CELLS_LIMIT` cells is refused before it is opened.
"""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import count_of
from sfumato.io.decode_cell import canonical_text
from sfumato.io.dialect import title_like, title_refused
from sfumato.io.read_errors import refuse_names_twice, refused
from sfumato.raw_files import engine_path, most_unpacked
from sfumato.schema import Grid

CELLS_LIMIT = 20_000_000  # of the rectangle around all cells of a sheet
_BLOCK = 1 << 20
_WINDOW = 15  # ` r="XFD1048576"`
_DAMAGED_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_RESULTS = re.compile(rb"<(?:\w{1,40}:)?f[\s/>]|\st\s{0,9}=\s{0,9}[\"']e[\"']")
_SPANNED = re.compile(rb"number-(?:rows|columns)-spanned")
_HIDDEN = re.compile(rb"\shidden\s{0,9}=|visibility\s{0,9}=")
_LONGEST_NAME = 60
_CELL = re.compile(rb"([A-Za-z]{1,4})([0-9]{1,10})")
_REFERENCE = re.compile(rb"\sr\s*=\s*[\"']([A-Za-z]{0,4})([0-9]{1,10})")


@dataclass(frozen=True, slots=True)
class MergedCells:
    """Cells that were merged into one: its rows and columns, counted from 1."""

    top: int
    left: int
    bottom: int
    right: int

    def __str__(self) -> str:
        return f"{_letters(self.left)}{self.top}:{_letters(self.right)}{self.bottom}"


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a sheet as Python objects, by column; None where a cell has no value."""

    names: tuple[str, ...]
    _: KW_ONLY
    columns: tuple[list[Any], ...]
    blank: int = 0
    lines: tuple[int, ...] = ()  # the row of the sheet on which each row stands, where there is one sheet
    merged: tuple[MergedCells, ...] = ()  # cells that were merged, below the names of the columns
    hidden: tuple[int, ...] = ()  # the rows, counted from 1, that have values and are hidden

    @classmethod
    def chained(cls, sheets: Sequence[Sheet]) -> Sheet:
        """Return the rows of several sheets with the same columns, one after the other."""
        if len(sheets) == 1:
            return sheets[0]
        columns = [
            [cell for part in parts for cell in part] for parts in zip(*(s.columns for s in sheets), strict=True)
        ]
        merged = tuple(one for sheet in sheets for one in sheet.merged)
        return cls(
            sheets[0].names,
            columns=tuple(columns),
            blank=sum(sheet.blank for sheet in sheets),
            merged=merged,
            hidden=tuple(row for sheet in sheets for row in sheet.hidden),
        )

    def rows(self, names: Sequence[str], _cells: Mapping[str, Grid]) -> pl.DataFrame:
        """Return the named columns as canonical texts."""
        return pl.DataFrame(
            [pl.Series(name, list(map(canonical_text, self.objects(name))), dtype=pl.String) for name in names]
        )

    def objects(self, name: str) -> list[Any]:
        """Return the cells of a column as they are."""
        return self.columns[self.names.index(name)]

    def height(self) -> int:
        """Return how many rows there are."""
        return len(self.columns[0]) if self.columns else 0

    def merged_in(self, name: str) -> list[str]:
        """Return the addresses of merged cells that lie in a column."""
        at = self.names.index(name) + 1
        return [str(one) for one in self.merged if one.left <= at <= one.right]


def open_sheet(path: Path, name: str | None, *, nameable: bool = True) -> Sheet:
    """Read the named sheet, or the only one that holds values; `nameable` says whether the caller can name one."""
    try:
        import python_calamine
    except ModuleNotFoundError:
        raise refused(path.name, "needs the excel extra", "pip install 'sfumato[excel]'") from None
    if path.stat().st_size == 0:
        raise refused(path.name, "is empty", "write the file again")
    _check_size(path)
    book = python_calamine.CalamineWorkbook.from_path(engine_path(path))
    kept = python_calamine.SheetTypeEnum.WorkSheet
    names = [sheet.name for sheet in book.sheets_metadata if sheet.typ == kept]
    shown = {sheet.name for sheet in book.sheets_metadata if sheet.visible == python_calamine.SheetVisibleEnum.Visible}
    if name is not None and name not in names:
        raise refused(path.name, f"has no sheet named {name}", f"its sheets are {_listed(names)}")
    found = {each: book.get_sheet_by_name(each) for each in ([name] if name is not None else names)}
    filled = [each for each, sheet in found.items() if sheet.start is not None]
    how, alone = f"sheet={filled[0] if filled else ''!r} (--sheet)", "save the sheet to read in a file of its own"
    if len(filled) > 1:
        rule = f"has {len(filled)} sheets with values: {_listed(filled)}"
        raise refused(path.name, rule, f"name the one to read: {how}" if nameable else alone)
    if not filled:
        raise refused(path.name, "holds no values", "give a sheet with a row of column names and rows below it")
    if name is None and filled[0] not in shown:
        rule = f"holds values only in the sheet {filled[0]}, which is hidden"
        raise refused(path.name, rule, f"name it if it is the one to read: {how}" if nameable else alone)
    every = [sheet.name for sheet in book.sheets_metadata]
    _check_results(path, filled[0], every)
    given = found[filled[0]]
    corners = given.merged_cell_ranges
    merged = [MergedCells(a + 1, b + 1, c + 1, d + 1) for (a, b), (c, d) in corners or ()]
    if corners is None and _archived(path):
        merged = _open_merged(path, filled[0])
    return _sheet(path, enumerate(given.iter_rows(), 1), merged, _hidden_rows(path, filled[0], every))


def filled_sheets(path: Path) -> dict[str, bool]:
    """Return the names of the sheets that hold values, and whether each is shown."""
    import python_calamine

    _check_size(path)
    book = python_calamine.CalamineWorkbook.from_path(engine_path(path))
    kinds = [sheet for sheet in book.sheets_metadata if sheet.typ == python_calamine.SheetTypeEnum.WorkSheet]
    shown = python_calamine.SheetVisibleEnum.Visible
    return {
        sheet.name: sheet.visible == shown for sheet in kinds if book.get_sheet_by_name(sheet.name).start is not None
    }


def _sheet(
    path: Path, rows: Iterator[tuple[int, Sequence[Any]]], merged: Sequence[MergedCells], hidden: frozenset[int]
) -> Sheet:
    """Read rows with their numbers in the sheet."""
    top, first = next(((number, row) for number, row in rows if any(cell != "" for cell in row)), (0, ()))
    texts = [canonical_text(cell) for cell in first]
    if title_like(texts):
        raise title_refused(path.name, texts, line=False)
    names = tuple(text or f"column_{at}" for at, text in enumerate(texts, 1))
    refuse_names_twice(path.name, names, certain=False)
    columns: tuple[list[Any], ...] = tuple([] for _ in names)
    blank, lines = 0, []
    for number, row in rows:
        if all(cell == "" for cell in row):
            blank += 1
            continue
        lines.append(number)
        for column, cell in zip(columns, row, strict=True):
            column.append(None if isinstance(cell, str) and cell == "" else cell)
    below = sorted((one for one in merged if one.bottom > top), key=lambda one: (one.top, one.left))
    unseen = tuple(number for number in lines if number in hidden)
    return Sheet(names, columns=columns, blank=blank, lines=tuple(lines), merged=tuple(below), hidden=unseen)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:10])
    return f"{shown} and {len(names) - 10} more" if len(names) > 10 else shown


# -- cells that hold no result -------------------------------------------------------------------


def _check_results(path: Path, name: str, sheets: Sequence[str]) -> None:
    """Refuse a sheet with errors, or formulas whose result was not stored: both would be read as empty cells."""
    try:
        if _archived(path):
            with zipfile.ZipFile(path) as archive:
                cells = list(_without_result(archive, name))
        else:
            cells = list(OldWorkbook.of(path.read_bytes()).without_result(sheets.index(name)))
    except (*_DAMAGED_ZIP, KeyError, ET.ParseError, ContainerError):
        raise refused(path.name, "cannot be read: the file is damaged or protected", "save it again") from None
    if cells:
        where = _listed([f"{_letters(column)}{row}" for row, column in cells])
        holds = count_of(len(cells), "cell", "cells")
        rule = f"has {holds} with an error such as #N/A, or with a formula without a stored result: {where}"
        hint = (
            "empty or correct them and save the file in a spreadsheet program, which stores results; or save it as CSV"
        )
        raise refused(path.name, rule, hint, count=len(cells))


def _without_result(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[int, int]]:
    parts = archive.namelist()
    if "content.xml" in parts:
        with archive.open("content.xml") as file:
            yield from _open_errors(file, name)
        return
    for part in parts:
        if part.endswith(".bin") and "worksheets" in part:
            yield from _binary_errors(archive.read(part))
    if "xl/workbook.xml" not in parts:
        return
    part = _part_of(archive, name)
    with archive.open(part) as file:
        seen = _mentions(iter(lambda: file.read(_BLOCK), b""), _RESULTS)
    if seen:
        with archive.open(part) as file:
            yield from _xml_cells_without_result(file)


def _part_of(archive: zipfile.ZipFile, name: str) -> str:
    """Return the part that holds a sheet, as the workbook and its relations say."""
    book, links = (ET.fromstring(archive.read(part)) for part in ("xl/workbook.xml", "xl/_rels/workbook.xml.rels"))  # noqa: S314
    sheets = [element.attrib for element in book.iter() if _tag(element) == "sheet"]
    known = next(attributes for attributes in sheets if attributes.get("name") == name)
    link = next(value for key, value in known.items() if _tag_of(key) == "id")
    target = next(element.attrib["Target"] for element in links.iter() if element.attrib.get("Id") == link)
    return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"


def _mentions(parts: Iterator[bytes], what: re.Pattern[bytes]) -> bool:
    """Whether a sheet has an error or a formula at all, which is far quicker to see than which cell has it."""
    rest = b""
    for part in parts:
        if what.search(rest + part):
            return True
        rest = part[-_LONGEST_NAME:]
    return False


def _xml_cells_without_result(file: IO[bytes]) -> Iterator[tuple[int, int]]:
    row = column = 0
    for event, element in ET.iterparse(file, ("start", "end")):  # noqa: S314  (as below)
        name = _tag(element)
        if event == "start" and name == "row":
            given = element.attrib.get("r", "")
            row, column = int(given) if given.isdecimal() else row + 1, 0
        elif event == "start" and name == "c":
            written = _CELL.fullmatch(element.attrib.get("r", "").encode())
            column = column + 1 if written is None else _column_number(written[1])
            row = row if written is None else int(written[2])
        elif event == "end" and name == "c":
            below = {_tag(child): child for child in element}
            shown = "v" in below and bool(below["v"].text)
            empty = element.attrib.get("t") == "str" and "v" in below  # a formula whose result is an empty text
            if element.attrib.get("t") == "e" or ("f" in below and not (shown or empty)):
                yield row, column
        elif event == "end" and name == "row":
            element.clear()


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _tag(element: ET.Element) -> str:
    return _tag_of(element.tag)


def _tag_of(name: str) -> str:
    return name.rpartition("}")[2]


# -- how large a sheet is, before anything is made of it -------------------------------------------


def _check_size(path: Path) -> None:
    """Refuse a file whose cells lie so far apart that the rectangle around them does not fit in memory."""
    try:
        if not _archived(path):
            for corner in OldWorkbook.of(path.read_bytes()).extents():
                _check_corner(path, *corner)
            return
        with zipfile.ZipFile(path) as archive:
            _check_unpacked(path, archive)
            for part in archive.infolist():
                if part.filename.endswith(".bin") and "worksheets" in part.filename:
                    _check_corner(path, *_binary_corner(archive.read(part)))
                elif part.filename == "content.xml":
                    with archive.open(part) as file:
                        for corner in _open_corners(file):
                            _check_corner(path, *corner)
                elif part.filename.endswith(".xml"):
                    with archive.open(part) as file:
                        corner = _corner(iter(lambda file=file: file.read(_BLOCK), b""))  # type: ignore[misc]
                    _check_corner(path, *corner)
    except (*_DAMAGED_ZIP, ET.ParseError, ContainerError):
        raise refused(path.name, "cannot be read: the file is damaged or protected", "save it again") from None


def _archived(path: Path) -> bool:
    """Whether a file is a zip archive; an .xls file may hold one, which is none of its sheets."""
    with path.open("rb") as file:
        return file.read(len(CONTAINER)) != CONTAINER and zipfile.is_zipfile(path)


def _check_unpacked(path: Path, archive: zipfile.ZipFile) -> None:
    """Unpack every part once, whatever size it states: the library that reads the cells has no limit of its own."""
    most = most_unpacked(path.stat().st_size)
    size = 0
    for part in archive.infolist():
        endless = copy.copy(part)
        endless.file_size = 1 << 62  # read to its end, and no further than the limit
        with archive.open(endless) as file:
            while block := file.read(_BLOCK):
                size += len(block)
                if size > most:
                    rule = f"is more than {most:,} bytes when unpacked, which is the limit"
                    raise refused(path.name, rule, "save the sheet as CSV or Parquet")


def _check_corner(path: Path, rows: int, columns: int) -> None:
    if rows * columns > CELLS_LIMIT:
        rule = f"has cells as far as row {rows:,} and column {columns:,}: {rows * columns:,} cells, and at most "
        rule += f"{CELLS_LIMIT:,} are read"
        raise refused(path.name, rule, "delete stray cells below and beside the table, or save it as CSV or Parquet")


def _corner(parts: Iterator[bytes]) -> tuple[int, int]:
    """Return the largest row and column that an attribute r="XFD1048576" or r="1048576" names."""
    rows = columns = 0
    rest = b""
    for part in parts:
        block = np.frombuffer(rest + part, np.uint8)
        found = _references(block)
        rows, columns = max(rows, found[0]), max(columns, found[1])
        rest = block[-2 * _WINDOW :].tobytes()
    found = _references(np.frombuffer(rest + b" " * _WINDOW, np.uint8))
    return max(rows, found[0]), max(columns, found[1])


def _references(block: NDArray[np.uint8]) -> tuple[int, int]:
    """Read the references that begin in a block and end before its last bytes."""
    if len(block) <= _WINDOW:
        return 0, 0
    begin = block[:-_WINDOW]
    blank = begin <= 32
    name = blank[:-2] & (begin[1:-1] == ord("r"))
    if (name & blank[2:]).any() or (name & (begin[2:] == ord("=")) & (block[3 : len(begin) + 1] <= 32)).any():
        return _spaced(block.tobytes())
    places = np.flatnonzero(name & (begin[2:] == ord("=")))
    rows, columns = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
    going = np.ones(len(places), dtype=bool)
    for at in range(4, _WINDOW):  # behind the quote
        byte = block[places + at].astype(np.int64)
        letter, digit = (byte | 32) - ord("a") + 1, byte - ord("0")
        lettered, numbered = (letter >= 1) & (letter <= 26), (digit >= 0) & (digit <= 9)
        columns = np.where(going & lettered, columns * 26 + letter, columns)
        rows = np.where(going & numbered, rows * 10 + digit, rows)
        going &= lettered | numbered
    return int(rows.max(initial=0)), int(columns.max(initial=0))


def _spaced(block: bytes) -> tuple[int, int]:
    """Read references that have blanks around the sign of equality, which hardly any program writes."""
    found = _REFERENCE.findall(block)
    rows = max((int(digits) for _, digits in found), default=0)
    return rows, max((_column_number(letters) for letters, _ in found), default=0)


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - ord("A") + 1
    return number


def _open_corners(file: IO[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the last row and column with a value of each sheet of an OpenDocument file, where cells are repeated."""
    row = column = rows = columns = 0
    filled = False
    for event, element in ET.iterparse(file, ("start", "end")):  # noqa: S314  (no entity is expanded, and the size is bounded)
        name = element.tag.rpartition("}")[2]
        if event == "start":
            row, rows, columns = (0, 0, 0) if name == "table" else (row, rows, columns)
            column, filled = (0, False) if name == "table-row" else (column, filled)
        elif name in ("table-cell", "covered-table-cell"):
            column += _repeated(element, "number-columns-repeated")
            if len(element) or any(key.endswith("value-type") for key in element.attrib):
                columns, filled = max(columns, column), True
        elif name == "table-row":
            row += _repeated(element, "number-rows-repeated")
            rows = row if filled else rows
            element.clear()
        elif name == "table":
            yield rows, columns
            element.clear()


def _open_errors(file: IO[bytes], table: str) -> Iterator[tuple[int, int]]:
    """Yield where the errors, and the formulas without a result, of a sheet of an OpenDocument file stand."""
    for row, column, cell in _open_cells(file, table):
        kinds = [value for key, value in cell.attrib.items() if key.endswith("value-type")]
        formula = any(_tag_of(key) == "formula" for key in cell.attrib)
        if "error" in kinds or (formula and not kinds):
            yield row, column


def _open_merged(path: Path, table: str) -> list[MergedCells]:
    """Return the merged cells of a sheet of an OpenDocument file."""
    found: list[MergedCells] = []
    with zipfile.ZipFile(path) as archive:
        if "content.xml" not in archive.namelist():
            return []
        with archive.open("content.xml") as file:
            if not _mentions(iter(lambda: file.read(_BLOCK), b""), _SPANNED):
                return []
        with archive.open("content.xml") as file:
            for row, column, cell in _open_cells(file, table):
                down, along = (_repeated(cell, f"number-{which}-spanned") for which in ("rows", "columns"))
                if down * along > 1:
                    found.append(MergedCells(row, column, row + down - 1, column + along - 1))
    return found


def _hidden_rows(path: Path, name: str, sheets: Sequence[str]) -> frozenset[int]:
    """Return the rows of a sheet, from 1, that are hidden by hand or by a filter."""
    if not _archived(path):
        return frozenset(OldWorkbook.of(path.read_bytes()).hidden_rows(sheets.index(name)))
    with zipfile.ZipFile(path) as archive:
        parts = archive.namelist()
        open_document = "content.xml" in parts
        if not open_document and "xl/workbook.xml" not in parts:
            return frozenset()
        part = "content.xml" if open_document else _part_of(archive, name)
        with archive.open(part) as file:
            if not _mentions(iter(lambda: file.read(_BLOCK), b""), _HIDDEN):
                return frozenset()
        with archive.open(part) as file:
            return frozenset(_open_hidden(file, name) if open_document else _xml_hidden(file))


def _xml_hidden(file: IO[bytes]) -> Iterator[int]:
    row = 0
    for _, element in ET.iterparse(file, ("end",)):  # noqa: S314  (as above)
        if _tag(element) == "row":
            given = element.attrib.get("r", "")
            row = int(given) if given.isdecimal() else row + 1
            if element.attrib.get("hidden") in ("1", "true"):
                yield row
            element.clear()


def _open_hidden(file: IO[bytes], table: str) -> Iterator[int]:
    row, here = 0, False
    for event, element in ET.iterparse(file, ("start", "end")):  # noqa: S314  (as above)
        name = _tag(element)
        if event == "start" and name == "table":
            row, here = 0, any(_tag_of(key) == "name" and value == table for key, value in element.attrib.items())
        elif event == "end" and name == "table-row":
            before, row = row, row + _repeated(element, "number-rows-repeated")
            shown = next((value for key, value in element.attrib.items() if _tag_of(key) == "visibility"), "visible")
            if here and shown != "visible":
                yield from range(before + 1, row + 1)
            element.clear()


def _open_cells(file: IO[bytes], table: str) -> Iterator[tuple[int, int, ET.Element]]:
    """Yield the row, the column and the element of each cell of a sheet of an OpenDocument file."""
    row = column = 0
    here = False
    for event, element in ET.iterparse(file, ("start", "end")):  # noqa: S314  (as above)
        name = _tag(element)
        if event == "start" and name == "table":
            row, here = 0, any(_tag_of(key) == "name" and value == table for key, value in element.attrib.items())
        elif event == "start":
            column = 0 if name == "table-row" else column
        elif name in ("table-cell", "covered-table-cell"):
            if here:
                yield row + 1, column + 1, element
            column += _repeated(element, "number-columns-repeated")
        elif name == "table-row":
            row += _repeated(element, "number-rows-repeated")
            element.clear()


def _repeated(element: ET.Element, name: str) -> int:
    given = next((value for key, value in element.attrib.items() if key.endswith(name)), "1")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 1


def _binary_corner(data: bytes) -> tuple[int, int]:
    """Return the largest row and column of a sheet in the binary format: records of a type, a length and a body."""
    rows = columns = at = 0
    while at < len(data):
        kind, at = _variable(data, at, 2)
        size, at = _variable(data, at, 4)
        if kind == 0 and size >= 4:
            rows = max(rows, int.from_bytes(data[at : at + 4], "little") + 1)
        elif 1 <= kind <= 11 and size >= 4:
            columns = max(columns, int.from_bytes(data[at : at + 4], "little") + 1)
        at += size
    return rows, columns


def _binary_errors(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the row and column of each error of a sheet in the binary format, typed in or the result of a formula."""
    row = at = 0
    while at < len(data):
        kind, at = _variable(data, at, 2)
        size, at = _variable(data, at, 4)
        if kind == 0 and size >= 4:
            row = int.from_bytes(data[at : at + 4], "little") + 1
        elif kind in (3, 11) and size >= 4:
            yield row, int.from_bytes(data[at : at + 4], "little") + 1
        at += size


def _variable(data: bytes, at: int, most: int) -> tuple[int, int]:
    value = 0
    for place in range(most):
        byte = data[at] if at < len(data) else 0
        at += 1
        value |= (byte & 127) << 7 * place
        if byte < 128:
            break
    return value, at


# Old Excel files (.xls), looked at before a library reads them: how large a sheet is, and which cells hold no result.
#
# Source    [MS-CFB] (the container: chains of sectors) and [MS-XLS], sections 2.4.20 (BoolErr), 2.4.28 (BoundSheet8),
#           2.4.90 (Dimensions), 2.4.127 (Formula), 2.5.133 (FormulaValue) and 2.4.213 (RecalcId).
# Claim     every cell of a sheet whose value is an error is found, typed in or calculated, and every formula that has
#           no result yet. A file whose chains of sectors lead nowhere or have no end is refused.
# Because   the library gives cells without a result as empty cells, follows a chain without end for ever, and reserves
#           the memory that a header asks for. Each cell is a record with an address of its own.
# Checked   tests/unit/io/test_xls.py::test_cells_without_a_result_are_refused_by_their_address
#           tests/unit/io/test_xls.py::test_damaged_files_are_read_or_refused
#           tests/unit/io/test_xls.py::test_hostile_files_are_refused_before_they_are_read
# Silent on formulas that were stored with a value that is out of date. An empty text counts as a result only in a file
#           that names the version of its calculation (RecalcId): programs that do not calculate write empty texts.


CONTAINER = bytes.fromhex("d0cf11e0a1b11ae1")  # how the file begins
_ENDS, _ENTRY, _HEADER, _SMALL, _CUTOFF = 0xFFFFFFFA, 128, 512, 64, 4096  # sector numbers from _ENDS on end a chain
_STREAMS = ("workbook", "book")  # of Excel 97 and later, and of Excel 5 and 95
_BEGIN, _END, _SHEET, _RECALCULATED, _EXTENT, _ROW = 0x0809, 0x000A, 0x0085, 0x01C1, 0x0200, 0x0208
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

    def hidden_rows(self, sheet: int) -> Iterator[int]:
        """Yield the rows of a sheet (numbered from 0), from 1, that are hidden."""
        for kind, body in _records(self.stream, self.sheets[sheet]):
            if kind == _ROW and len(body) > 12 and body[12] & 0x20:  # fDyZero, [MS-XLS] 2.4.221
                yield _number(body, 0, 2) + 1

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
