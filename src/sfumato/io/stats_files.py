"""Files of SPSS, Stata and SAS, through pyreadstat: each cell as its value label, number, text, day or time.

A cell is read by what the file declares of its variable and by nothing else: another row never changes it. Two codes
are never read as one text. Values declared missing (SPSS's lists and ranges, Stata's .a to .z, SAS's .A to .Z) are
nulls.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.io.decode_cell import canonical_text
from sfumato.io.read_errors import refused
from sfumato.raw_files import engine_path
from sfumato.schema.domain import decimal_or_none, decimal_text
from sfumato.schema.word_hints import NO_VALUE, may_mean_none, means_none

_READERS = {".sav": "sav", ".zsav": "sav", ".por": "por", ".dta": "dta", ".sas7bdat": "sas7bdat", ".xpt": "xport"}
_SPSS = {".sav", ".zsav", ".por"}
_WITH_RANGES = {".sav", ".zsav"}  # pyreadstat reports what these declare missing
_TEXT = "string"
_SINGLE = "float"  # Stata's four bytes: 0.7 is the decimal it prints, not the nearest double
_UNLABELLED = " (no label)"


@dataclass(frozen=True, slots=True)
class ScaleLabels:
    """The labels of single numbers of a scale variable.

    `numbers` are read as numbers: the label of each. `none` are what numbers are read as whose label says that there is
    no answer: the number with the label behind it, which is no number.
    """

    numbers: Mapping[str, str] = field(default_factory=dict)
    _: KW_ONLY
    none: tuple[str, ...] = ()


NO_LABELS = ScaleLabels()


@dataclass(frozen=True, slots=True)
class StatsTable:
    """The table of a file, the labels of its scale variables, and why columns are not read: a rule and a hint each."""

    frame: pl.DataFrame
    _: KW_ONLY
    scales: Mapping[str, ScaleLabels]
    unread: Mapping[str, tuple[str, str]]


class _UnreadError(Exception):
    """A variable cannot be read: the rule and the hint."""


def stats_table(path: Path) -> StatsTable:
    """Return what a file of a statistics program holds."""
    try:
        import pyreadstat
    except ModuleNotFoundError:
        raise refused(path.name, "needs the stats extra", "pip install 'sfumato[stats]'") from None
    suffix = path.suffix.lower()
    reader = getattr(pyreadstat, f"read_{_READERS[suffix]}")
    # In lists: no column is given a type by its cells. Unconverted: pyreadstat takes times modulo 24 hours.
    found, meta = reader(engine_path(path), output_format="dict", disable_datetime_conversion=True)
    if not found:
        raise refused(path.name, "has no columns", "write the file again")
    labels: dict[str, Mapping[Any, str]] = dict(meta.variable_value_labels or {})
    if labels and suffix in _WITH_RANGES:
        _, header = reader(engine_path(path), metadataonly=True, user_missing=True)
        for name, ranges in header.missing_ranges.items():
            labels[name] = _not_missing(labels.get(name, {}), ranges)
    columns: list[pl.Series] = []
    scales: dict[str, ScaleLabels] = {}
    unread: dict[str, tuple[str, str]] = {}
    for name, cells in found.items():
        stored = str((meta.readstat_variable_types or {}).get(name))
        form = str((meta.original_variable_types or {}).get(name) or "")
        known = _known(labels.get(name, {}), stored)
        try:
            written = _time_of(suffix, form) if stored != _TEXT else None
            names = known
            if (meta.variable_measure or {}).get(name) == "scale" and stored != _TEXT:
                names, scale = _scale_names(known, written or canonical_text)
                scales[name] = scale
            columns.append(_series(name, cells, _apart(names), stored, written))
        except _UnreadError as problem:
            unread[name] = problem.args[0], problem.args[1]
            columns.append(pl.Series(name, [None] * len(cells), dtype=pl.Binary))  # as cells of no plain value
    return StatsTable(pl.DataFrame(columns), scales=scales, unread=unread)


def _series(
    name: str, cells: Sequence[Any], names: Mapping[Any, str], stored: str, written: Callable[[Any], str | None] | None
) -> pl.Series:
    """Return one variable: of numbers as numbers, of all else as the text of each cell.

    A code without a label whose text is that of a label is marked, so that it is not read as the code with the label.
    """
    if not names and written is None and stored != _TEXT:
        values = [None if cell is None else float(cell) for cell in cells]
        return pl.Series(name, values, dtype=pl.Float32 if stored == _SINGLE else pl.Float64)
    plain = written or (lambda cell: canonical_text(np.float32(cell) if stored == _SINGLE else cell))
    taken = {_read_alike(text) for text in names.values()}
    texts: dict[Any, str | None] = {None: None, **names}
    for cell in cells:
        if cell not in texts:
            text = plain(cell) if stored == _TEXT or math.isfinite(cell) else canonical_text(cell)
            marked = text is not None and (_read_alike(text) in taken or (names and text.endswith(_UNLABELLED)))
            texts[cell] = f"{text}{_UNLABELLED}" if marked else text
    return pl.Series(name, [texts[cell] for cell in cells], dtype=pl.String)


# -- labels --------------------------------------------------------------------------------


def _known(labels: Mapping[Any, Any], stored: str) -> dict[Any, str]:
    """Return the labels that say something, without the blanks around them and without those of Stata's .a to .z."""
    texts = {code: text.strip() for code, text in labels.items() if isinstance(text, str)}
    return {code: text for code, text in texts.items() if text and isinstance(code, str) == (stored == _TEXT)}


def _not_missing(labels: Mapping[Any, str], ranges: Iterable[Mapping[str, Any]]) -> dict[Any, str]:
    """Return the labels of codes that are not declared missing: those are never read."""
    held = [(one["lo"], one["hi"]) for one in ranges]
    inside = {
        code
        for code in labels
        for low, high in held
        if code == low or (not isinstance(code, str) and low <= code <= high)
    }
    return {code: text for code, text in labels.items() if code not in inside}


def _read_alike(text: str) -> str:
    """Return a text that is the same for two texts that a schema may read as one: 4.0 is 4."""
    number = decimal_or_none(text)
    return text if number is None else decimal_text(number)


def _apart(labels: Mapping[Any, str]) -> dict[Any, str]:
    """Return what each labelled code is read as: its label, behind the code where several codes have that label."""
    times = Counter(map(_read_alike, labels.values()))
    names = {
        code: text if times[_read_alike(text)] == 1 else f"{canonical_text(code)} {text}"
        for code, text in labels.items()
    }
    if len({*map(_read_alike, names.values())}) < len(names) or any(
        text.endswith(_UNLABELLED) for text in names.values()
    ):
        raise _UnreadError("has value labels that cannot be told apart", "give each code a label of its own")
    return names


def _scale_names(labels: Mapping[Any, str], written: Callable[[Any], str | None]) -> tuple[dict[Any, str], ScaleLabels]:
    """Return what codes of a scale variable are read as that are no numbers, and the labels of all.

    A label marks an odd number among others: `98 or more` is a number still, and one that says that there is no answer
    is not.
    """
    texts = {code: str(written(code)) for code in labels}
    none = {code: f"{texts[code]} {label}" for code, label in labels.items() if _no_answer(label)}
    numbers = {
        texts[code]: label
        for code, label in labels.items()
        if code not in none and _read_alike(label) != _read_alike(texts[code])
    }
    return none, ScaleLabels(numbers, none=tuple(none.values()))


def _no_answer(label: str) -> bool:
    return label in NO_VALUE or means_none(label) or may_mean_none(label)


# -- days and times ------------------------------------------------------------------------
#
# A variable is read as the day or time that it holds, also where its format shows a part of it (a month, a weekday).
# Durations may have more than 24 hours: 30:00:00. A number that is no day of the years 1 to 9999 stays that number.

_SPSS_DAY_1, _DAY_1 = dt.date(1582, 10, 14), dt.date(1960, 1, 1)
_DAY = 86_400
_MILLI = 1_000
_SPSS_FORMATS = {
    "day of seconds": r"[AEJS]?DATE|MOYR|QYR|WKYR",
    "seconds": r"DATETIME|YMDHMS",
    "clock": r"D?TIME|MTIME",
}
_SAS_FORMATS = {
    "days": r"DATE|JULIAN|JULDAY|MONYY|MONNAME|MONTH|DOWNAME|DAY|QTRR?|YEAR|NENGO|MINGUO|HDATE|HEBDATE|WORDDAT[EX]"
    r"|WEEK(?:DAT[EX]|DAY|[UVW])|(?:DDMMYY|MMDDYY|YYMMDD|MMYY|YYMM|YYQR?)[BCDNPS]?|YYQZ|YYMON|YYWEEK[UVW]"
    r"|(?:E8601|B8601|IS8601)DA|NLDATE[A-Z]*|[A-Z]{3}DF(?:D[DEN]|DWN|M[NY]|W[DK]X)",
    "seconds": r"DATETIME|DATEAMPM|MDYAMPM|DT(?:DATE|MONYY|WKDATX|YEAR|YYQC)|(?:E8601|B8601|IS8601)D[TNZXL]"
    r"|NLDATM[A-Z]*|[A-Z]{3}DFDT",
    "clock": r"TIME(?:AMPM)?|TOD|HHMM|HOUR|MMSS|(?:E8601|B8601|IS8601)T[MZXL]|NLTIM[A-Z]*",
}
_STATA_FORMAT = re.compile(r"%-?(?:t(?P<unit>.)|d)(?P<mask>.*)", re.DOTALL)
_STATA_CLOCK = re.compile(r"(?:[Hh][Hh]|MM|SS|\.s{1,3}|[aA]\.?[mM]\.?|!.|[:._,+ ])+")
_PER_YEAR = {"m": (12, "-", 2), "q": (4, "Q", 1), "h": (2, "H", 1), "w": (52, "W", 2)}


def _time_of(suffix: str, form: str) -> Callable[[Any], str | None] | None:
    """Return how a number is read as a day or a time by the format that the file declares; None for a number."""
    if suffix == ".dta":
        return _stata_time(form)
    spss = suffix in _SPSS
    name = re.sub(r"[0-9]*(?:\.[0-9]*)?$", "", form.upper())
    formats = _SPSS_FORMATS if spss else _SAS_FORMATS
    kind = next((kind for kind, names in formats.items() if re.fullmatch(names, name)), "")
    if not kind:
        return None
    first = _SPSS_DAY_1 if spss else _DAY_1
    if kind == "clock":
        return lambda cell: _clock(Fraction(repr(cell)))
    if kind == "seconds":
        return lambda cell: _moment(cell, first, _DAY)
    return lambda cell: _day(cell, first, _DAY if kind == "day of seconds" else 1)


def _stata_time(form: str) -> Callable[[Any], str | None] | None:
    found = _STATA_FORMAT.fullmatch(form)
    if found is None:
        return None
    unit = found["unit"] or "d"
    if unit == "d":
        return lambda cell: _day(cell, _DAY_1, 1)
    if unit == "c" and _STATA_CLOCK.fullmatch(found["mask"]):
        return lambda cell: _clock(Fraction(repr(cell)) / _MILLI)
    if unit == "c":
        return lambda cell: _moment(cell, _DAY_1, _DAY * _MILLI)
    if unit in _PER_YEAR:
        return lambda cell: _period(cell, *_PER_YEAR[unit])
    if unit == "C":
        raise _UnreadError(
            "has the format %tC, which counts leap seconds", "in Stata, replace it by cofC() of it, in %tc"
        )
    if unit == "b":
        raise _UnreadError(
            "has the format %tb, days of a business calendar", "in Stata, replace it by dofb() of it, in %td"
        )
    return None  # %ty holds the year, %tg any number


def _day(cell: Any, first: dt.date, per_day: int) -> str | None:
    """Return the day of a number that counts days, or so many parts of a day, since the first one."""
    try:
        return (first + dt.timedelta(days=int(Fraction(repr(cell)) // per_day))).isoformat()
    except OverflowError:
        return canonical_text(cell)


def _moment(cell: Any, first: dt.date, per_day: int) -> str | None:
    """Return the day, with the time of day where it is not midnight."""
    day, rest = _day(cell, first, per_day), Fraction(repr(cell)) % per_day
    outside = day == canonical_text(cell)
    return day if outside or not rest else f"{day}T{_clock(rest * _DAY / per_day)}"


def _clock(seconds: Fraction) -> str:
    """Return hours, minutes and seconds; hours count on where there are more than 24."""
    minutes, rest = divmod(abs(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    whole, part = divmod(rest, 1)
    behind = decimal_text(Decimal(part.numerator) / Decimal(part.denominator)).removeprefix("0") if part else ""
    return f"{'-' if seconds < 0 else ''}{hours:02d}:{minutes:02d}:{int(whole):02d}{behind}"


def _period(cell: Any, many: int, mark: str, digits: int) -> str | None:
    """Return a month as 2024-05, a quarter, half-year or week as 2024Q2, of so many a year since 1960."""
    year, part = divmod(int(Fraction(repr(cell)) // 1), many)
    year += _DAY_1.year
    return f"{year:04d}{mark}{part + 1:0{digits}d}" if dt.MINYEAR <= year <= dt.MAXYEAR else canonical_text(cell)
