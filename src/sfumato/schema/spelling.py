"""How a file writes its days and numbers, where it is not 2024-05-31 and 1234.5.

A `format` holds %d, %m and %Y once each; what stands between them is taken literally. Years have four digits, so
that no century is guessed, and nothing depends on a language. A decimal comma goes without marks for thousands, so
that 1.234 and 1,234 are never taken for one another.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
import unicodedata
from decimal import Decimal
from functools import lru_cache

from sfumato.schema.domain import decimal_or_none

__all__ = [
    "COMMA_NUMBER",
    "TIME",
    "format_problem",
    "format_regex",
    "is_spelt",
    "number_in",
    "spelt",
    "spelt_day",
    "with_point",
]

TIME = r"[T ][0-9].*"  # after a day; `2024-05-01 - 2024-05-31` is no day with a time
COMMA_NUMBER = r"[-+]?[0-9]+(?:,[0-9]+)?"
_COMMA_NUMBER = re.compile(COMMA_NUMBER, re.ASCII)
_PARTS = {"%d": "day", "%m": "month", "%Y": "year"}
_UNSEEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
_PIECES = re.compile(r"%.|[^%]+|%$", re.DOTALL)


def format_problem(given: str) -> str:
    """Say what is wrong with a format, nothing when it can be used."""
    pieces = _PIECES.findall(given)
    if sorted(piece for piece in pieces if piece[0] == "%") != sorted(_PARTS):
        return "must hold %d, %m and %Y once each, and no other %"
    if any(letter.isalnum() for piece in pieces if piece[0] != "%" for letter in piece):
        return "may hold only signs such as . / - between %d, %m and %Y"
    if given != given.strip():
        return "may not begin or end with a blank: cells are read without the blanks around them"
    if any(unicodedata.category(letter) in _UNSEEN for letter in given):
        return "holds a control character, or one that can not be printed"
    return ""


def format_regex(given: str) -> str:
    """Return the pattern of the days a format reads, groups in the order of the format; the same for every engine."""
    pieces = _PIECES.findall(given)
    apart = all(a[0] != "%" or b[0] != "%" for a, b in itertools.pairwise(pieces))
    two = "[0-9]{1,2}" if apart else "[0-9]{2}"  # 20240531 can be cut in one way only
    digits = {"%d": two, "%m": two, "%Y": "[0-9]{4}"}
    return "".join(f"({digits[piece]})" if piece in digits else re.escape(piece) for piece in pieces)


@lru_cache(maxsize=64)
def _compiled(given: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    order = tuple(_PARTS[piece] for piece in _PIECES.findall(given) if piece in _PARTS)
    return re.compile(rf"{format_regex(given)}(?:{TIME})?", re.ASCII | re.DOTALL), order


def is_spelt(text: str, given: str) -> bool:
    """True when a text looks like a day in a format, be there such a day or not."""
    return _compiled(given)[0].fullmatch(text) is not None


def spelt_day(text: str, given: str) -> dt.date | None:
    """Return the day a text names in a format (a time after it is ignored), None when it names none."""
    pattern, order = _compiled(given)
    found = pattern.fullmatch(text)
    if found is None:
        return None
    parts = dict(zip(order, map(int, found.groups()), strict=True))
    try:
        return dt.date(parts["year"], parts["month"], parts["day"])
    except ValueError:
        return None


def spelt(day: dt.date, given: str) -> str:
    """Return a day as a format writes it."""
    return given.replace("%d", f"{day.day:02}").replace("%m", f"{day.month:02}").replace("%Y", f"{day.year:04}")


def with_point(text: str) -> str | None:
    """Return 3,5 as 3.5, None for a text that is no number with a decimal comma."""
    return text.replace(",", ".") if _COMMA_NUMBER.fullmatch(text) else None


def number_in(text: str, *, comma: bool) -> Decimal | None:
    """Return the number a text names, with a decimal comma or with a point, None when it names none."""
    plain = with_point(text) if comma else text
    return None if plain is None else decimal_or_none(plain)
