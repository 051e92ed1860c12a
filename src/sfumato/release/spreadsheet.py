"""Cells of a CSV file that a spreadsheet would run, marked so that it shows them instead, and the mark taken off again.

Source    Ours, after OWASP's page on CSV injection.
Claim     `unmarked(marked(text)) == text` for every text, and no spreadsheet takes a marked cell for a formula.
Because   a cell that begins like a formula, or with the mark, gets one mark `'` in front; reading takes one off.
Checked   tests/unit/release/test_spreadsheet.py::test_a_mark_is_taken_off_exactly
          tests/unit/release/test_spreadsheet.py::test_no_cell_of_a_csv_begins_like_a_formula
Silent on files that are cut at another separator than the comma, and on Parquet, which spreadsheets do not run.

A cell begins like a formula when, after blanks, it starts with `=`, `+`, `-` or `@` (or the wide forms of these) and is
not a plain number, or when it starts with a tab or a line break. Names of columns follow the same rule.
"""

from __future__ import annotations

import re

import polars as pl

__all__ = ["marked", "marked_frame", "miswritten", "unmarked", "unmarked_frame"]

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
    """Return for each column whether some cell has a mark we would not write, or lacks one; None where a name does."""
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
