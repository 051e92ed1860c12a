"""What a file shows of each of its columns, taken in two aggregate passes."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from typing import Any

import polars as pl

from sfumato.counts.canonical import canonical_text, day_of
from sfumato.counts.csv_form import blank_tail
from sfumato.counts.encoding import supported
from sfumato.counts.source import ROWS, Source
from sfumato.schema import KNOWN, MISSING, ROOT
from sfumato.schema.domain import decimal_or_none

__all__ = ["LISTED", "NO_VALUE", "ColumnFacts", "column_facts"]

LISTED = 10_000  # distinct values looked at one by one
_LAST_DAY = dt.date.max.isoformat()
_OTHERS = 50  # distinct texts among numbers that are looked at
_STRAYS, _NUMBERS = 3, 100  # so few texts among so many numbers are no numbers gone wrong, but a word for none
_FORMS = (
    ("dates: write them as 2024-05-31", "", re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{4}|\d{4}[./]\d{1,2}[./]\d{1,2}")),
    ("numbers with a decimal comma: write them as 1234.5", ",", re.compile(r"[-+]?\d+(,\d+)?")),
)
NO_VALUE = frozenset(
    {"", "?", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", ".", "-", "inf", "-inf", ROOT, MISSING, KNOWN}
)


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One column: how many values, which, and whether they are numbers or days.

    `strays` is how many texts among numbers were taken for no value; `form` says how dates or numbers are
    written that can not be read as they stand.
    """

    name: str
    _: KW_ONLY
    rows: int
    distinct: int
    nulls: int = 0
    texts: tuple[str, ...] | None = None
    no_value: tuple[str, ...] = ()
    numbers: tuple[Decimal, Decimal] | None = None
    whole: bool = False
    days: tuple[dt.date, dt.date] | None = None
    plain: bool = True
    strays: int = 0
    form: str = ""

    @property
    def uniqueness(self) -> float:
        """Distinct values for each row that has one."""
        filled = self.rows - self.nulls
        return self.distinct / filled if filled else 0.0


def column_facts(source: Source) -> list[ColumnFacts]:
    """Return the facts of every column of a source, in order."""
    frame = source.scan(source.columns)
    types = source.types(frame)
    plain = [name for name in source.columns if supported(types[name])]
    if source.grouped:
        frame = frame.select(*plain).drop(ROWS, strict=False)
    counted = source.collect(
        frame.select(
            pl.len().alias("rows"),
            *(_raw(name, types[name]).n_unique().alias(f"n{at}") for at, name in enumerate(plain)),
            *(_raw(name, types[name]).null_count().alias(f"z{at}") for at, name in enumerate(plain)),
        )
    ).row(0, named=True)
    blank = blank_tail(*source.forms[-1]) if source.forms else 0
    rows = int(counted["rows"])
    distinct = {name: int(counted[f"n{at}"]) - (counted[f"z{at}"] > 0) for at, name in enumerate(plain)}
    nulls = {name: max(0, int(counted[f"z{at}"]) - blank) for at, name in enumerate(plain)}
    few = [name for name in plain if distinct[name] <= LISTED]
    many = [name for name in plain if distinct[name] > LISTED]
    listed = source.collect(frame.select(_raw(name, types[name]).unique().implode() for name in few)) if few else None
    facts = {}
    for name in few:
        assert listed is not None
        values = [canonical_text(value) for value in listed[name][0].to_list()]
        known = sorted({text for text in values if text is not None})
        facts[name] = _from_texts(name, known, rows - min(blank, rows), distinct[name], nulls[name])
    for name in many:
        found = source.collect(_ends(frame, name, types[name])).row(0, named=True)
        facts[name] = _from_ends(name, found, rows - min(blank, rows), distinct[name], nulls[name])
    odd = {name: ColumnFacts(name, rows=rows, distinct=0, plain=False) for name in source.columns}
    return [facts.get(name, odd[name]) for name in source.columns]


def _raw(name: str, dtype: pl.DataType) -> pl.Expr:
    return pl.col(name).fill_nan(None) if dtype.is_float() else pl.col(name)


def _text(name: str, dtype: pl.DataType) -> pl.Expr:
    column = _raw(name, dtype)
    return column.str.strip_chars() if isinstance(dtype, pl.String) else column.cast(pl.String)


def _from_texts(name: str, known: list[str], rows: int, distinct: int, nulls: int) -> ColumnFacts:
    no_value = tuple(text for text in known if text in NO_VALUE)
    texts = tuple(text for text in known if text not in NO_VALUE)
    dated = [text for text in texts if day_of(text) is not None]
    if len(dated) == len(texts) and _LAST_DAY in dated:  # how many programs write "no end"
        no_value, texts = (*no_value, _LAST_DAY), tuple(text for text in texts if text != _LAST_DAY)
    strays = _strays(texts)
    no_value, texts = (*no_value, *strays), tuple(text for text in texts if text not in strays)
    numbers = [decimal_or_none(text) for text in texts]
    found = [number for number in numbers if number is not None]
    padded = any(_zero_led(text) for text in texts)
    size = all(abs(number) < 10**15 for number in found)
    numeric = bool(found) and len(found) == len(texts) and not padded and size
    days = [day for text in texts if (day := day_of(text)) is not None]
    return ColumnFacts(
        name,
        rows=rows,
        distinct=distinct,
        nulls=nulls,
        texts=texts,
        no_value=no_value,
        numbers=(min(found), max(found)) if numeric else None,
        whole=numeric and all(number == number.to_integral_value() for number in found),
        days=(min(days), max(days)) if days and len(days) == len(texts) else None,
        strays=len(strays),
        form=_form(texts),
    )


def _form(texts: tuple[str, ...]) -> str:
    """Say what most values look like, where it is a form that is not read."""
    for form, mark, looks in _FORMS:
        fitting = [text for text in texts if looks.fullmatch(text)]
        if any(mark in text for text in fitting) and len(texts) - len(fitting) <= min(_STRAYS, len(fitting) // 10):
            return form
    return ""


def _strays(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the few texts among many numbers: how an office writes that there is no value (k.A., unknown)."""
    numbers = [number for text in texts if (number := decimal_or_none(text)) is not None]
    few = len(texts) - len(numbers) <= _STRAYS and len(numbers) >= _NUMBERS
    if not few or any(_zero_led(text) for text in texts) or any(abs(number) >= 10**15 for number in numbers):
        return ()
    return tuple(text for text in texts if decimal_or_none(text) is None)


def _zero_led(text: str) -> bool:
    """True for 007: a code, not a number."""
    return len(text) > 1 and text[0] == "0" and text[1].isdigit()


def _ends(frame: pl.LazyFrame, name: str, dtype: pl.DataType) -> pl.LazyFrame:
    """Ask for the ends of a column with too many values to list, as numbers and as days."""
    text = _text(name, dtype)
    x = _raw(name, dtype).cast(pl.Float64) if dtype.is_numeric() else text.cast(pl.Float64, strict=False)
    x = pl.when(x.is_finite()).then(x)
    day: pl.Expr
    if isinstance(dtype, pl.Date | pl.Datetime):
        day = pl.col(name).dt.date()
    else:
        head = text.str.slice(0, 10)
        day = head.str.to_date("%Y-%m-%d", strict=False)
        day = pl.when(day.cast(pl.String) == head).then(day)
    return frame.select(
        low=x.min(),
        high=x.max(),
        whole=(x == x.floor()).all(),
        zeros=text.str.contains(r"^0\d").any(),
        others=text.filter(x.is_null()).drop_nulls().unique().sort().head(_OTHERS).implode(),
        first=day.min(),
        last=day.max(),
        no_day=(day.is_null() & pl.col(name).is_not_null()).sum(),
    )


def _from_ends(name: str, found: dict[str, Any], rows: int, distinct: int, nulls: int) -> ColumnFacts:
    facts: dict[str, Any] = {"rows": rows, "distinct": distinct, "nulls": nulls}
    others = [value for value in found["others"] if value is not None]
    bounded = found["low"] is not None and max(abs(found["low"]), abs(found["high"])) < 10**15
    if bounded and not found["zeros"] and len(others) < _OTHERS and set(others) <= NO_VALUE:
        ends = (Decimal(repr(found["low"])), Decimal(repr(found["high"])))
        return ColumnFacts(name, numbers=ends, whole=bool(found["whole"]), no_value=tuple(others), **facts)
    if found["first"] is not None and not found["no_day"] and found["last"].year < dt.MAXYEAR:
        return ColumnFacts(name, days=(found["first"], found["last"]), **facts)
    return ColumnFacts(name, **facts)
