"""Cells that could be read in another way: 03/04/2020 is a day in March or in April, 1.234 a thousand or a little.

Source    Ours.
Claim     A column is named only if every cell that its declared form reads is also read by the other form, and at least
          one of them as another day or number. A column with a cell that settles it, such as 31/04/2020, is not named.
Because   every distinct text is read in both forms.
Checked   tests/claims/test_unclear_cells.py::test_dates_that_nothing_settles_are_named
          tests/claims/test_unclear_cells.py::test_one_cell_settles_it
          tests/claims/test_unclear_cells.py::test_points_that_mark_decimals_or_thousands_are_named
Silent on which reading is right: the schema declares one, and whoever made the file knows; on columns whose first
          20,000 rows hold no doubtful cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import polars as pl

from sfumato.errors import Problem
from sfumato.io.source import Source
from sfumato.schema import Attribute, Days, Edges, Grid, Schema
from sfumato.schema.formats import NumberForm, parse_day

__all__ = ["unclear_cells"]


def unclear_cells(source: Source, schema: Schema) -> list[Problem]:
    """Return a problem for each published column whose days or numbers no cell of the file settles."""
    found = []
    for attribute in schema.published:
        ways = _ways(attribute)
        if ways is None:
            continue
        declared, other, rule, hint = ways
        if all(_open(_texts(source, attribute, most), declared, other) for most in (_FIRST_ROWS, None)):
            found.append(Problem(attribute.where, rule, hint))
    return found


def _ways(attribute: Attribute) -> tuple[Callable[[str], Any], Callable[[str], Any], str, str] | None:
    """Return how a cell is read, how else it could be, and what to say; None where there is no other way."""
    if isinstance(attribute.domain, Days):
        form = attribute.format or ""
        if "%d" not in form or "%m" not in form:
            return None
        swapped = form.replace("%d", "\0").replace("%m", "%d").replace("\0", "%m")
        one, two = (text.replace("%d", "day").replace("%m", "month").replace("%Y", "year") for text in (form, swapped))
        rule = f"is read as {one}, and no cell of the file tells it from {two}: every day could be another"
        return lambda text: parse_day(text, form), lambda text: parse_day(text, swapped), rule, _ASK
    if isinstance(attribute.domain, Grid | Edges):
        form_of = attribute.numbers
        mark = form_of.thousands or form_of.decimal
        if mark not in ".,":
            return None
        if form_of.thousands:
            other = NumberForm(mark, units=form_of.units)
            rule = f"the sign {mark} is read as a mark of thousands, and no cell of the file tells it from decimals"
        else:
            other = NumberForm("," if mark == "." else ".", thousands=mark, units=form_of.units)
            rule = f"the sign {mark} is read as the mark of decimals, and no cell of the file tells it from thousands"
        return form_of.number, other.number, f"{rule}: 1{mark}234 could be another number", _ASK
    return None


_FIRST_ROWS = 20_000  # raise the question; all rows settle it
_ASK = "ask the people who made the file; what the schema declares is what is published"


def _open(texts: Iterable[str], declared: Callable[[str], Any], other: Callable[[str], Any]) -> bool:
    """Whether both forms read every text that the declared one reads, and not always alike."""
    differ = False
    for text in texts:
        here = declared(text)
        if here is None:
            continue
        there = other(text)
        if there is None:
            return False
        differ |= here != there
    return differ


def _texts(source: Source, attribute: Attribute, most: int | None) -> list[str]:
    """Return the distinct texts of a column, or of its first rows; none where it holds days or numbers as such."""
    column = attribute.column or attribute.name
    frame = source.scan([column])
    if source.types(frame)[column] != pl.String:
        return []
    frame = frame if most is None else frame.head(most)
    found = source.collect(frame.select(pl.col(column).drop_nulls().str.strip_chars().unique()))
    return [str(text) for text in found[column].to_list()]
