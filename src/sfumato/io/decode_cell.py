"""What one cell means: its canonical text, and its code in the declared domain. The readable reference of `encoding`.

Integers have no point, dates are ISO, truth values are `true` and `false`, surrounding blanks are stripped.
A blank cell is a null. Whatever the engines cannot settle at a glance is settled here, value by value.
A typed day or number is spelt as the attribute's file writes it (`format`, `decimal`) and then read like any text;
marks for thousands and units are optional in every cell, so that 64300 and $64,300 are one number.
The texts of `missing` are read as cells are: 99,9 and 99,90 are one number, 01.01.1900 and 1.1.1900 one day, and a
time after a day is ignored. With a decimal comma 1.5 is not a number: as a text of `missing` it means itself only.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from typing import Any

import numpy as np

from sfumato.schema import Attribute, Days, Edges, Grid, Values
from sfumato.schema.domain import decimal_or_none, decimal_text
from sfumato.schema.formats import TIME, format_day, parse_day

# Codes of what has no code. ASK never leaves `encoding`: it means "let `code_of` decide".
OUTSIDE, NULL, UNPARSABLE, ASK, LEFT_OUT = -1, -2, -3, -4, -5

WHOLE_FLOATS = 2.0**53
"""From here on a float stands for several whole numbers: 2^53 + 1 is read as 2^53."""
WHOLE_SINGLES = 2.0**24
"""The same of a float of four bytes: 123456789 is read as 123456792."""
_DAY = re.compile(rf"(\d{{4}}-\d{{2}}-\d{{2}})(?:{TIME})?", re.ASCII | re.DOTALL)
_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+\.0*", re.ASCII)


def canonical_text(value: Any) -> str | None:
    """Return the text form every engine agrees on, None for a null (NaN and NaT are nulls)."""
    value = _unwrapped(value)
    if isinstance(value, complex) and not value.imag:  # one complex cell makes a whole column of pandas complex
        value = value.real
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:  # noqa: PLR0124  (NaN)
        return None
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return decimal_text(Decimal(repr(value))) if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return decimal_text(value) if value.is_finite() else str(value)
    if isinstance(value, dt.datetime):
        midnight = value.time() == dt.time(0)
        return value.date().isoformat() if midnight else value.isoformat()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return str(value).strip()


def too_large_for_a_float(value: Any) -> bool:
    """Whether a float may stand for another whole number: an identifier that a library made a float lost its end."""
    limit = WHOLE_SINGLES if isinstance(value, np.float32) else WHOLE_FLOATS
    value = _unwrapped(value)
    value = value.real if isinstance(value, complex) else value
    return isinstance(value, float) and abs(value) >= limit


def _unwrapped(value: Any) -> Any:
    if isinstance(value, np.float32):
        return float(str(value))  # the decimal it prints, not the nearest double
    return value.item() if hasattr(value, "item") and not isinstance(value, str) else value  # a NumPy scalar


def _written(attribute: Attribute, value: Any) -> str | None:
    """Return the text of a cell as the attribute's file would write it, None for a null."""
    text, value = canonical_text(value), _unwrapped(value)
    if text is None or isinstance(value, str):
        return text
    if isinstance(value, int | float | complex | Decimal):
        return text.replace(".", attribute.numbers.decimal)
    day = day_of(text) if attribute.format is not None else None
    return text if day is None else format_day(day, str(attribute.format)) + text[10:]


def missing_result(attribute: Attribute) -> int:
    """Return what becomes of a cell without a value: the missing code, a row left out, or a problem."""
    if attribute.missing is None:
        return NULL
    code = attribute.missing_code
    return LEFT_OUT if code is None else code


def day_of(text: str, spelling: str | None = None) -> dt.date | None:
    """Return the day of a date or timestamp, ISO or in the given format, None when the text is neither."""
    if spelling is not None:
        return parse_day(text, spelling)
    match = _DAY.fullmatch(text)
    try:
        return dt.date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def missing_days(attribute: Attribute) -> list[dt.date]:
    """Return the days that mean "no value"."""
    texts = attribute.missing.texts if attribute.missing else ()
    return [day for text in texts if (day := day_of(text, attribute.format)) is not None]


def missing_numbers(attribute: Attribute) -> list[Decimal]:
    """Return the numbers that mean "no value"."""
    texts = attribute.missing.texts if attribute.missing else ()
    return [number for text in texts if (number := attribute.numbers.number(text)) is not None]


def code_of(attribute: Attribute, value: Any) -> int:
    """Return the code of one cell, or the negative sign of what is wrong with it."""
    text = _written(attribute, value)
    domain = attribute.values
    if text is None:
        return missing_result(attribute)
    texts = attribute.missing.texts if attribute.missing else ()
    if text in texts:
        return missing_result(attribute)
    if isinstance(domain, Values):
        if too_large_for_a_float(value):
            return UNPARSABLE
        return _listed(attribute, domain, text, texts)
    if text == "":
        return missing_result(attribute)
    if isinstance(domain, Days):
        if domain.months and attribute.format is None and _MONTH.fullmatch(text):
            text = f"{text}-01"  # as we publish months ourselves
        return _day(attribute, domain, day_of(text, attribute.format))
    return _number(attribute, domain, attribute.numbers.number(text))


def _listed(attribute: Attribute, domain: Values, text: str, texts: tuple[str, ...]) -> int:
    for form in _forms(text):
        if form in domain.index:
            return domain.index[form]
        if form in attribute.same:
            return domain.index[attribute.same[form]]
        if form in texts:
            return missing_result(attribute)
    if text == "":
        return missing_result(attribute)
    if attribute.kind == "numeric" and (number := decimal_or_none(text)) is not None:
        code = domain.index.get(decimal_text(number))
        if code is not None:
            return code
    return OUTSIDE if attribute.other is None else domain.index[attribute.other]


def _forms(text: str) -> list[str]:
    """The text itself, then the forms other programs write for it: `39.0` for 39, `True` for true."""
    forms = [text]
    if _WHOLE.fullmatch(text):
        forms.append(decimal_text(Decimal(text)))
    if text.lower() in ("true", "false"):
        forms.append(text.lower())
    return forms


def _number(attribute: Attribute, domain: Grid | Edges, number: Decimal | None) -> int:
    if number is None:
        return UNPARSABLE
    if number in missing_numbers(attribute):
        return missing_result(attribute)
    low, high = (domain.low, domain.high) if isinstance(domain, Grid) else (domain.points[0], domain.points[-1])
    if number < low:
        return 0 if attribute.clamp else OUTSIDE
    if number >= high:
        return domain.size - 1 if attribute.clamp else OUTSIDE
    code = domain.code(str(number))
    return OUTSIDE if code is None else code


def _day(attribute: Attribute, domain: Days, day: dt.date | None) -> int:
    if day is None:
        return UNPARSABLE
    if day in missing_days(attribute):
        return missing_result(attribute)
    code = domain.place(day)
    if attribute.clamp:
        return min(max(code, 0), domain.size - 1)
    return code if 0 <= code < domain.size else OUTSIDE
