"""What values an attribute may take, as codes on a line.

`Values` lists them in leaf order; `Grid` cuts a half-open numeric range into equal cells;
`Edges` cuts it at given points; `Days` is a range of calendar days or months. A code is `floor((x - low) / step)` of
the value's decimal text, so 0.3 on a grid of 0.1 is cell 3 on every machine. Where the range is not a multiple of the
step, the last cell is as wide as the others and reaches past the range.
"""

from __future__ import annotations

import bisect
import datetime as dt
import math
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from sfumato.exact import decimal_of
from sfumato.limits import CODES

CODES_LIMIT = CODES
DIGITS_LIMIT = 30  # of a declared number, before and after the point each
_DIGITS_BELOW_STEP = 6
_HUGE, _TINY = Decimal("1e60"), Decimal("1e-60")  # beyond what may be declared; 1e999999999 would fill the memory
_EXACT = Context(prec=200)  # sums and products of numbers within the limits above never round
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ]\d.*)?", re.ASCII)  # a day - a day is not a day with a time
_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)


@dataclass(frozen=True)
class Values:
    """Named values in leaf order."""

    names: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.names)

    @cached_property
    def index(self) -> dict[str, int]:
        """Code of each value."""
        return {name: code for code, name in enumerate(self.names)}

    @cached_property
    def longest(self) -> int:
        """How many characters the longest name has."""
        return max(map(len, self.names), default=0)

    def text(self, code: int) -> str:
        """Name of one code."""
        return self.names[code]

    def code(self, text: str) -> int | None:
        """Code of a value, None when it is not in the domain."""
        return self.index.get(text)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {"values": list(self.names)}


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells `[low + i step, low + (i + 1) step)`, i = 0 .. size - 1."""

    low: Decimal
    _: KW_ONLY
    step: Decimal
    size: int

    @property
    def high(self) -> Decimal:
        """End of the range, excluded."""
        return self.edge(self.size)

    @property
    def decimals(self) -> int:
        """Decimals a value is rounded to before it is coded: six more than low and step have."""
        exponents = (int(x.normalize(_EXACT).as_tuple().exponent) for x in (self.low, self.step))
        return max(0, *(-exponent for exponent in exponents)) + _DIGITS_BELOW_STEP

    @property
    def whole(self) -> bool:
        """True when a cell holds exactly one integer."""
        return self.step == 1 and self.low == self.low.to_integral_value()

    def edge(self, code: int) -> Decimal:
        """Lower end of a cell."""
        return _EXACT.add(self.low, _EXACT.multiply(self.step, Decimal(code)))

    def text(self, code: int) -> str:
        """Name of one cell: the integer, or the half-open interval."""
        if self.whole:
            return decimal_text(self.edge(code))
        return f"[{decimal_text(self.edge(code))}-{decimal_text(self.edge(code + 1))})"

    def cell(self, value: Decimal) -> int:
        """Return the code of a decimal; outside 0 .. size - 1 when the value is outside the range."""
        return math.floor(self.place(value.quantize(Decimal(1).scaleb(-self.decimals), context=_EXACT)))

    def place(self, value: Decimal) -> Fraction:
        """Return how many steps a decimal lies above the low end, exactly."""
        return (Fraction(value) - Fraction(self.low)) / Fraction(self.step)

    def code(self, text: str) -> int | None:
        """Code of a number written as text, None when outside the range or not a number."""
        value = decimal_or_none(text)
        if value is None or not self.low <= value < self.high:
            return None
        return min(self.cell(value), self.size - 1)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping, decimals as text."""
        return {"low": decimal_text(self.low), "step": decimal_text(self.step), "cells": self.size}


@dataclass(frozen=True, slots=True)
class Days:
    """Calendar days from `low` on, `step` days a cell; with `months`, `step` whole months a cell."""

    low: dt.date
    _: KW_ONLY
    step: int
    size: int
    months: bool = False

    def edge(self, code: int) -> dt.date:
        """First day of a cell (or the day after the last cell)."""
        if self.months:
            year, month = divmod(_month(self.low) + self.step * code, 12)
            return dt.date(year, month + 1, 1) if year <= dt.MAXYEAR else dt.date.max
        days = (dt.date.max - self.low).days  # the last cell may reach past the last day there is
        return self.low + dt.timedelta(days=min(self.step * code, days))

    def text(self, code: int) -> str:
        """Name of one cell: the day, or the half-open interval of days."""
        if self.step == 1:
            return self.edge(code).isoformat()[: 7 if self.months else 10]
        return f"[{self.edge(code).isoformat()}..{self.edge(code + 1).isoformat()})"

    def code(self, text: str) -> int | None:
        """Code of an ISO date (of months also 2024-05), None when outside the range or not a date."""
        text = text.strip()
        if self.months and _MONTH.fullmatch(text):
            text = f"{text}-01"
        written = _DAY.fullmatch(text)
        try:
            day = dt.date.fromisoformat(written.group(1) if written else "")
        except ValueError:
            return None
        code = self.place(day)
        return code if 0 <= code < self.size else None

    def place(self, day: dt.date, shift: int = 0) -> int:
        """Cell of a day, or of the day after (`shift` 1) or before it (-1); the range may not hold it."""
        if not self.months:
            return ((day - self.low).days + shift) // self.step
        before = shift < 0 and day.day == 1
        after = shift > 0 and (day == dt.date.max or (day + dt.timedelta(days=1)).day == 1)
        return (_month(day) - before + after - _month(self.low)) // self.step

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping, dates as ISO text."""
        unit = {"unit": "month"} if self.months else {}
        return {"first": self.low.isoformat(), "step": self.step, "cells": self.size, **unit}


def _month(day: dt.date) -> int:
    return day.year * 12 + day.month - 1


@dataclass(frozen=True, slots=True)
class Edges:
    """Cells between given points: `[points[i], points[i + 1])`. For skewed attributes."""

    points: tuple[Decimal, ...]

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.points) - 1

    def edge(self, code: int) -> Decimal:
        """Lower end of a cell."""
        return self.points[code]

    def text(self, code: int) -> str:
        """Name of one cell, a half-open interval."""
        return f"[{decimal_text(self.points[code])}-{decimal_text(self.points[code + 1])})"

    def code(self, text: str) -> int | None:
        """Code of a number written as text, None when outside the range or not a number."""
        value = decimal_or_none(text)
        if value is None or not self.points[0] <= value < self.points[-1]:
            return None
        return bisect.bisect_right(self.points, value) - 1

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping, decimals as text."""
        return {"edges": [decimal_text(point) for point in self.points]}


Domain = Values | Grid | Edges | Days


def domain_from_json(data: Mapping[str, Any]) -> Domain:
    """Return the domain that `to_json` wrote."""
    if "values" in data:
        return Values(tuple(data["values"]))
    if "edges" in data:
        return Edges(tuple(_exact(point) for point in data["edges"]))
    if "first" in data:
        first, months = dt.date.fromisoformat(data["first"]), data.get("unit") == "month"
        return Days(first, step=whole_of(data["step"]), size=whole_of(data["cells"]), months=months)
    return Grid(_exact(data["low"]), step=_exact(data["step"]), size=whole_of(data["cells"]))


def whole_of(value: Any) -> int:
    """Return a whole number of a manifest; `ValueError` for anything else, `true` and 1.0 among them."""
    if type(value) is not int:
        msg = "is not a whole number"
        raise ValueError(msg)
    return value


def _exact(value: Any) -> Decimal:
    """Return a decimal of a manifest; `ValueError` if it is not one, or beyond the limits."""
    found = None if isinstance(value, bool) else decimal_of(str(value))
    if found is None:
        msg = "is not a number within the limits"
        raise ValueError(msg)
    return found


def decimal_or_none(text: str) -> Decimal | None:
    """Return a finite number written as text, else None; cut at 10^60, and 0 below 10^-60."""
    text = text.strip()
    if "_" in text:  # Python would take 2_0 for 20
        return None
    try:
        value = Decimal(text)
    except ArithmeticError:
        return None
    if not value.is_finite():
        return None
    if value.copy_abs() < _TINY:
        return Decimal(0)
    return min(value.copy_abs(), _HUGE).copy_sign(value)


def decimal_text(value: Decimal) -> str:
    """Return a decimal without exponent or needless zeros."""
    text = format(value.normalize(_EXACT), "f")
    return "0" if text == "-0" else text


def value_text(value: Any) -> str:
    """Return the canonical text of a value declared in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value):
        return decimal_text(Decimal(repr(value)))
    if isinstance(value, int):
        return format(Decimal(value), "f")  # str() refuses more than 4,300 digits
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value).strip()
