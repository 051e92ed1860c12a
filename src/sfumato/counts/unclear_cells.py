"""Cells that could be read in another way: 03/04/2020 is a day in March or in April, 1.234 a thousand or a little.

Source    Ours.
Claim     A column is named only if every cell that its declared form reads is also read by the other form, and at least
          one of them as another day or number. A column with a cell that settles it, such as 31/04/2020, is not named.
Because   every distinct text is read in both forms.
Checked   tests/claims/test_unclear_cells.py::test_dates_that_nothing_settles_are_named
          tests/claims/test_unclear_cells.py::test_one_cell_settles_it
          tests/claims/test_unclear_cells.py::test_points_that_mark_decimals_or_thousands_are_named
          tests/claims/test_unclear_cells.py::test_amounts_in_two_currencies_are_named
          tests/claims/test_unclear_cells.py::test_numbers_with_labels_are_named
          tests/claims/test_unclear_cells.py::test_shares_beside_percentages_are_named
Silent on which reading is right: the schema declares one, and whoever made the file knows; on columns whose first
          20,000 rows hold no doubtful cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import polars as pl

from sfumato.counts.row_groups import FIRST_ROWS  # raise the question; all rows settle it
from sfumato.errors import Problem, count_of
from sfumato.io.decode_cell import missing_numbers
from sfumato.io.frames import ROWS
from sfumato.io.source import Source
from sfumato.schema import Attribute, Days, Edges, Grid, Schema
from sfumato.schema.domain import decimal_text
from sfumato.schema.formats import PERCENT, NumberForm, parse_day


def unclear_cells(source: Source, schema: Schema) -> list[Problem]:
    """Return a problem for each published column whose days or numbers no cell of the file settles."""
    found = []
    for attribute in schema.published:
        for declared, other, rule in _ways(attribute):
            if all(_open(_texts(source, attribute, most), declared, other) for most in (FIRST_ROWS, None)):
                found.append(Problem(attribute.where, rule, _ASK))
                break
        found += _currencies(source, attribute) + _shares(source, attribute) + _labelled(source, attribute)
    return found


def _ways(attribute: Attribute) -> Iterator[tuple[Callable[[str], Any], Callable[[str], Any], str]]:
    """Yield how a cell is read, how else it could be, and what to say."""
    if isinstance(attribute.domain, Days):
        form = attribute.format or ""
        if "%d" not in form or "%m" not in form:
            return
        swapped = form.replace("%d", "\0").replace("%m", "%d").replace("\0", "%m")
        one, two = (text.replace("%d", "day").replace("%m", "month").replace("%Y", "year") for text in (form, swapped))
        rule = f"is read as {one}, but no cell of the file rules out {two}: every date could be another one"
        yield lambda text: parse_day(text, form), lambda text: parse_day(text, swapped), rule
    elif isinstance(attribute.domain, Grid | Edges):
        numbers, units = attribute.numbers, attribute.numbers.units
        said = "the sign {} is read as a {}, but no cell of the file rules out a {}: 1{}234 could be another number"
        mark = numbers.thousands
        if mark in {".", ","}:
            rule = said.format(mark, "thousands separator", "decimal mark", mark)
            yield numbers.number, NumberForm(mark, units=units).number, rule
        mark = numbers.decimal
        rule = said.format(mark, "decimal mark", "thousands separator", mark)
        yield numbers.number, NumberForm("," if mark == "." else ".", thousands=mark, units=units).number, rule


def _currencies(source: Source, attribute: Attribute) -> list[Problem]:
    """Return a problem where amounts in several currencies are read as one number."""
    currencies = attribute.numbers.currencies if isinstance(attribute.domain, Grid | Edges) else ()
    if len(currencies) < 2:
        return []
    units = sorted((unit for some in currencies for unit in some), key=len, reverse=True)
    texts = [text.lstrip("+- ") for text in _texts(source, attribute, FIRST_ROWS)]
    beside = {next((unit for unit in units if text.startswith(unit) or text.endswith(unit)), "") for text in texts}
    held = [min(beside & {*some}) for some in currencies if beside & {*some}]
    if len(held) < 2:
        return []
    rule = f"has amounts in {' and '.join(held)}, which are published without the sign, as if they were one currency"
    return [Problem(attribute.where, rule, "convert them to one currency, or give each currency a column of its own")]


def _labelled(source: Source, attribute: Attribute) -> list[Problem]:
    """Return a problem where a file gives numbers a label that the schema does not name as missing."""
    texts = attribute.missing.texts if attribute.missing else ()
    numbers = {*texts, *map(decimal_text, missing_numbers(attribute))}
    labels = source.scale_labels(attribute.column_name).numbers
    left = tuple(f"{number} {label}" for number, label in labels.items() if number not in numbers)
    if not left:
        return []
    has, be = ("number has a label", "is") if len(left) == 1 else ("numbers have labels", "are")
    rule = f"{len(left)} {has} in the file, which {be} not read"
    hint = "read the labels: numbers that stand for no answer belong in `missing`"
    return [Problem(attribute.where, rule, hint, count=len(left), values=left)]


def _shares(source: Source, attribute: Attribute) -> list[Problem]:
    """Return a problem where some numbers have the declared % beside them and some do not: 45% and 0.45."""
    if not isinstance(attribute.domain, Grid | Edges):
        return []
    marked, bare = percent_rows(source, attribute.column_name, attribute.numbers)
    if not marked or not bare:
        return []
    # The rule becomes a note of the release: numbers of rows are for the steward's eyes.
    rule = "has numbers with % and numbers without it, and all are read as percentages: 0.45 is not 45%"
    hint = (
        f"{count_of(f'{bare:,}', 'row has', 'rows have')} no %, {marked:,} have one; where those without are shares, "
    )
    return [Problem(attribute.where, rule, f"{hint}write them as percentages", rows=bare)]


def percent_rows(source: Source, column: str, form: NumberForm) -> tuple[int, int]:
    """Return in how many rows of a column a % stands beside the number, and in how many it does not."""
    frame = source.scan([column])
    if PERCENT not in form.units or source.types(frame)[column] != pl.String or source.exact(column):
        return 0, 0
    text = pl.col(column).str.strip_chars()
    number, marked = text.str.contains(f"^(?:{form.regex})$"), text.str.contains(PERCENT, literal=True)
    rows = pl.col(ROWS) if source.grouped else pl.lit(1)
    found = source.collect(
        frame.select(
            rows.filter(number & here).sum().alias(name) for name, here in (("marked", marked), ("bare", ~marked))
        )
    ).row(0)
    return int(found[0] or 0), int(found[1] or 0)


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
    column = attribute.column_name
    frame = source.scan([column])
    if source.types(frame)[column] != pl.String or source.exact(column):
        return []
    frame = frame if most is None else frame.head(most)
    found = source.collect(frame.select(pl.col(column).drop_nulls().str.strip_chars().unique()))
    return [str(text) for text in found[column].to_list()]
