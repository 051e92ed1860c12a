"""Published files as lazy tables of text: CSV of any common separator, Parquet, Excel, hashes.

Errors of the reader are reworded, since theirs may quote a cell.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import ParameterError, ReadError, ReleaseError
from sfumato.io.excel import open_sheet
from sfumato.io.source import Source, empty_problems, open_texts
from sfumato.raw_files import engine_path, guarded_from_zlib, packing_of, utf8_path
from sfumato.release.workbook import read_workbook

TIMES = "\0times"
# What polars raises for a file it cannot read; a panic is not an Exception.
DAMAGED = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
_PARQUET, _ZIP = b"PAR1", b"PK\x03\x04"
_EXACT_FLOATS = 2**53


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def scan(path: Path, *, marks: bool = False, sheet: str | None = None) -> pl.LazyFrame:
    """Return a CSV, Parquet or Excel file lazily, every column as text; an empty cell is null, a quoted one is not.

    marks  the file is one of ours: marks against spreadsheets are taken off the cells of a CSV.
    sheet  the sheet of anyone's Excel file, if several hold values.
    """
    return as_texts(_ours(path) if marks else opened(path, sheet=sheet, nameable=True), path.name)


def opened(path: Path, *, sheet: str | None = None, nameable: bool = False) -> pl.LazyFrame:
    """Return anyone's CSV, Parquet or Excel file lazily, the columns of Parquet with their types.

    It is read as `sfumato.read` reads files: blank lines are no rows, a row without any value is refused.

    nameable  whether the caller can name a sheet, for the hint where several hold values.
    """
    head = _head(path)
    if sheet is not None and head != _ZIP:
        raise ParameterError("sheet", sheet, "is for Excel files", hint="omit sheet (--sheet)")
    if head == _PARQUET:
        return with_values(_schemed(pl.scan_parquet(engine_path(path), glob=False), path.name), path.name)
    with _read_errors_reworded():
        if head == _ZIP:
            found = open_sheet(path, sheet, nameable=nameable)
            source = Source(path.name, columns=found.names, frame=found, streaming=False)
        else:
            source = open_texts([path], header=True)
            source.height()  # the engine must find as many rows as there are by the lines
        return _with_values(source)


def with_values(frame: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """Return a table; one with a row that has no value is refused."""
    with _read_errors_reworded():
        return _with_values(Source(name, columns=tuple(frame.collect_schema().names()), frame=frame))


def _with_values(source: Source) -> pl.LazyFrame:
    """Return the table of a source; rows without a value are refused."""
    if nobody := empty_problems(source):
        raise ReadError(nobody)
    return source.scan(source.columns)


@contextmanager
def _read_errors_reworded() -> Iterator[None]:
    try:
        yield
    except ReadError as error:
        wrong = error.problems[0]
        raise ReleaseError(f"{wrong.path}: {wrong.rule}", hint=wrong.hint) from None


def _head(path: Path) -> bytes:
    """Return the first four bytes of a file."""
    if path.exists() and not path.is_file():
        raise ReleaseError(f"{path.name} is not a file", hint="save its output as a file first")
    try:
        utf8_path(path)
        with path.open("rb") as file:
            return file.read(4)
    except OSError as error:
        raise ReleaseError(f"{path.name} cannot be read ({error.strerror})", hint="check the path") from None


def _ours(path: Path) -> pl.LazyFrame:
    """Return a table of a saved release lazily, as it was written."""
    head = _head(path)
    if head == _PARQUET:
        _refuse_metadata(path)
        return _schemed(pl.scan_parquet(engine_path(path), glob=False), path.name)
    if head == _ZIP:
        return read_workbook(path).lazy()
    if packing_of(head):
        hint = "use the folder as it was saved"
        raise ReleaseError(f"{path.name} is compressed, but was not saved that way", hint=hint)
    # A name like out[1] is not a pattern: the file that is hashed is the file that is read.
    source = engine_path(path) if guarded_from_zlib(head) == head else guarded_from_zlib(path.read_bytes())
    frame = _schemed(pl.scan_csv(source, infer_schema=False, glob=False), path.name)
    names = frame.collect_schema().names()
    doubled = {
        name: name.replace('""', '"') for name in names if '""' in name
    }  # polars leaves quotes in a header doubled
    if len({doubled.get(name, name) for name in names}) == len(names):
        frame = frame.rename(doubled)
    _refuse_miswritten(frame, path.name)
    return unmarked_frame(frame)


def _refuse_metadata(path: Path) -> None:
    """Refuse a Parquet file of ours with notes beside its columns: we write none but the types of the columns."""
    try:
        found = pl.read_parquet_metadata(engine_path(path))
    except DAMAGED:  # whoever reads the rows says so
        return
    if strange := len(found.keys() - {"ARROW:schema"}):
        problem = f"{path.name} holds {strange} notes beside its columns"
        raise ReleaseError(problem, hint="use the folder as it was saved")


def _refuse_miswritten(frame: pl.LazyFrame, name: str) -> None:
    """Refuse a CSV of ours with marks other than those we write: which cells have one could tell people apart."""
    wrong = miswritten(frame)
    try:
        as_saved = wrong is not None and not any(wrong.collect(engine="streaming").row(0))
    except DAMAGED:  # whoever reads the rows says so
        return
    if not as_saved:
        raise ReleaseError(f"{name}: a cell is not written as it is saved", hint="use the folder as it was saved")


def _schemed(frame: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """Read the header now, so that a file which is not a table fails here."""
    try:
        frame.collect_schema()
    except DAMAGED:
        raise _unreadable(name) from None
    return frame


def _unreadable(name: str) -> ReleaseError:
    return ReleaseError(f"{name} cannot be read as a table", hint="CSV in UTF-8 with a header line, or Parquet")


def as_texts(frame: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """Return every column as the text a CSV would hold; a whole float loses its `.0`."""
    columns = []
    for column, dtype in frame.collect_schema().items():
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
            raise ReleaseError(f"{name}: column {column} holds no plain values", hint="one value for each cell")
        here = pl.col(column)
        if dtype.is_float():
            whole = (here == here.floor()) & (here.abs() < _EXACT_FLOATS)
            text = here.cast(pl.String)
            here = pl.when(whole).then(here.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(text)
        elif dtype == pl.Date:
            here = here.dt.to_string("iso")
        elif dtype != pl.String:
            here = here.cast(pl.String)
        columns.append(here.alias(column))
    return frame.select(columns)


def tally(frame: pl.LazyFrame, columns: Sequence[str], name: str) -> pl.DataFrame:
    """Return the distinct rows of some columns, in any order, and how often each occurs; null is a value."""
    counted: Any = frame.group_by(list(columns)) if columns else frame
    count = pl.len().cast(pl.Int64).alias(TIMES)
    lazy = counted.agg(count) if columns else counted.select(count)
    return read_whole(lazy, name)


def read_whole(frame: pl.LazyFrame, name: str) -> pl.DataFrame:
    """Return a lazy table whole."""
    try:
        found: pl.DataFrame = frame.collect(engine="streaming")
    except DAMAGED:
        raise _unreadable(name) from None
    return found


def distinct_texts(texts: pl.Series) -> tuple[list[str | None], np.ndarray]:
    """Return the distinct texts in byte order, null last, and the place of each row's text among them."""
    known = texts.drop_nulls().unique().sort()
    places = texts.cast(pl.Enum(known)).to_physical().cast(pl.Int64).fill_null(len(known)).to_numpy()
    found: list[str | None] = known.to_list()
    return (found if texts.null_count() == 0 else [*found, None]), places


# Cells of a CSV file that a spreadsheet would run, marked so that it shows them instead, and the mark taken off again.
#
# Source    Ours, after OWASP's page on CSV injection.
# Claim     `unmarked(marked(text)) == text` for every text, and no spreadsheet takes a marked cell for a formula.
# Because   a cell that begins like a formula, or with the mark, gets one mark `'` in front; reading takes one off.
# Checked   tests/unit/release/test_spreadsheet.py::test_a_mark_is_taken_off_exactly
#           tests/unit/release/test_spreadsheet.py::test_no_cell_of_a_csv_begins_like_a_formula
# Silent on files that are cut at another separator than the comma, and on Parquet, which spreadsheets do not run.
#
# A cell begins like a formula when, after blanks, it starts with `=`, `+`, `-` or `@` (or the wide forms of these) and
# is not a plain number, or when it starts with a tab or a line break. Names of columns follow the same rule.

_MARK = "'"
# Both patterns are read by Python's re and by polars, whose \s holds fewer characters: the blanks stand here by name.
_BLANKS = r"[ \t-\r\x1c-\x1f\x{85}\x{a0}\x{1680}\x{2000}-\x{200b}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]*"
_RUNS = f"^(?:'|[\\t-\\r]|{_BLANKS}[=+\\-@\\x{{ff1d}}\\x{{ff0b}}\\x{{ff0d}}\\x{{ff20}}])"
_NUMBER = "^[+-]?[0-9]+(?:[.][0-9]+)?$"


def _python(pattern: str) -> re.Pattern[str]:
    r"""Return a pattern of polars for Python: \x{85} is written as the character, and $ is the very end."""
    text = re.sub(r"\\x\{([0-9a-f]+)\}", lambda code: re.escape(chr(int(code[1], 16))), pattern)
    return re.compile(text.replace("$", r"\Z"))


_RUNS_HERE, _NUMBER_HERE = _python(_RUNS), _python(_NUMBER)


def marked(text: str) -> str:
    """Return the cell that stands for a text in a CSV file."""
    return f"{_MARK}{text}" if _RUNS_HERE.search(text) and not _NUMBER_HERE.search(text) else text


def unmarked(cell: str) -> str:
    """Return the text that a cell of a CSV file of ours stands for."""
    return cell.removeprefix(_MARK)


def marked_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table as it is written to CSV: texts and names of columns marked, numbers as they are."""
    texts = [name for name, kind in frame.schema.items() if kind in (pl.String, pl.Categorical, pl.Enum)]
    cells = [_marked_cell(pl.col(name)).alias(name) for name in texts]
    plain = frame.with_columns(pl.col(name).cast(pl.String) for name in texts)
    return plain.with_columns(cells).rename({name: marked(name) for name in frame.columns})


def _marked_cell(text: pl.Expr) -> pl.Expr:
    """Return `marked` of a column."""
    runs = text.str.contains(_RUNS) & ~text.str.contains(_NUMBER)
    return pl.when(runs).then(pl.lit(_MARK) + text).otherwise(text)


def miswritten(frame: pl.LazyFrame) -> pl.LazyFrame | None:
    """Return for each column whether some cell has a mark we would not write, or lacks one; None if a name does."""
    names = frame.collect_schema().names()
    if any(marked(unmarked(name)) != name for name in names):
        return None
    cells = [pl.col(name) != _marked_cell(pl.col(name).str.strip_prefix(_MARK)) for name in names]
    return frame.select(cell.fill_null(value=False).any() for cell in cells)


def unmarked_frame(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return the table that a CSV file of ours stands for; every column is text."""
    names = frame.collect_schema().names()
    found = [unmarked(name) for name in names]
    plain = frame.with_columns(pl.col(name).str.strip_prefix(_MARK) for name in names)
    return plain.rename(dict(zip(names, found, strict=True))) if len(set(found)) == len(names) else plain
