"""How a file writes its days and numbers, where it is not 2024-05-31 and 1234.5.

A `format` holds %d, %m and %Y once each, or %m and %Y for months; what stands between them is taken literally. Years
have four digits, so that no century is guessed, and nothing depends on a language. What a point or a comma means in
a number is declared, never inferred from other cells: 1.234 is 1234 where `thousands` is a point, and else 1.234.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
import unicodedata
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from functools import lru_cache

from sfumato.schema.domain import decimal_or_none

TIME = r"[T ][0-9].*"  # after a day; `2024-05-01 - 2024-05-31` is not a day with a time
_BLANKS = " \u00a0\u202f"  # plain, no-break and narrow no-break: programs write any of them
_THOUSANDS = {".": ".", ",": ",", "'": "'\u2019", " ": _BLANKS}  # what is read for a declared mark
_UNIT_LENGTH = 20
_PARTS = {"%d": "day", "%m": "month", "%Y": "year"}
_UNSEEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
_CURRENCY_OF = {
    sign: frozenset(signs)
    for signs in (
        ("€", "EUR", "Euro", "euro", "euros"),
        ("$", "USD", "US$"),
        ("£", "GBP"),
        ("CHF", "Fr.", "SFr.", "sFr."),
        *(("SEK",), ("NOK",), ("DKK",), ("kr", "kr.")),
        *(("PLN", "zł"), ("CZK", "Kč"), ("HUF", "Ft"), ("RON", "lei")),
        *(("CAD", "C$"), ("AUD", "A$"), ("NZD",), ("¥", "JPY"), ("CNY",), ("₹", "INR", "Rs", "Rs.")),
        *(("BRL", "R$"), ("MXN",), ("ZAR",), ("₺", "TRY", "TL"), ("₪", "ILS"), ("DM",)),
    )
    for sign in signs
}
PERCENT = "%"  # as a unit it changes the number a hundredfold where a cell lacks it, which no currency does
_PIECES = re.compile(r"%.|[^%]+|%$", re.DOTALL)


def format_problem(given: str) -> str:
    """Say what is wrong with a format, nothing when it can be used."""
    pieces = _PIECES.findall(given)
    if sorted(piece for piece in pieces if piece[0] == "%") not in (["%Y", "%d", "%m"], ["%Y", "%m"]):
        return "must hold %d, %m and %Y once each, or %m and %Y for months, and no other %"
    if any(letter.isalnum() for piece in pieces if piece[0] != "%" for letter in piece):
        return "may hold only signs such as . / - between %d, %m and %Y"
    if given != given.strip():
        return "may not begin or end with a blank: cells are read without the blanks around them"
    if any(unicodedata.category(letter) in _UNSEEN for letter in given):
        return "holds a control character, or one that cannot be printed"
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


def looks_like_day(text: str, given: str) -> bool:
    """True when a text looks like a day in a format, whether or not there is such a day."""
    return _compiled(given)[0].fullmatch(text) is not None


def parse_day(text: str, given: str) -> dt.date | None:
    """Return the day a text names in a format (a time after it is ignored; a month is its first day), else None."""
    pattern, order = _compiled(given)
    found = pattern.fullmatch(text)
    if found is None:
        return None
    parts = dict(zip(order, map(int, found.groups()), strict=True))
    try:
        return dt.date(parts["year"], parts["month"], parts.get("day", 1))
    except ValueError:
        return None


def format_day(day: dt.date, given: str) -> str:
    """Return a day as a format writes it."""
    return given.replace("%d", f"{day.day:02}").replace("%m", f"{day.month:02}").replace("%Y", f"{day.year:04}")


@dataclass(frozen=True, slots=True)
class NumberForm:
    """How numbers are written: the mark before decimals, one between thousands, signs and words beside the number.

    Marks for thousands and units may be absent from a cell: with `thousands` a comma and the unit $, both 64300 and
    $64,300 are read. A unit stands before or after the number, with or without a blank between them.
    """

    decimal: str = "."
    _: KW_ONLY
    thousands: str = ""
    units: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """True for numbers as programs write them: 1234.5, -3, 1e5."""
        return self.decimal == "." and not self.thousands and not self.units

    @property
    def commas(self) -> bool:
        """True when a comma may be part of a number."""
        return "," in (self.decimal, self.thousands)

    @property
    def marks(self) -> str:
        """The characters that are read as the mark between thousands."""
        return _THOUSANDS.get(self.thousands, "")

    @property
    def example(self) -> str:
        """A number in this form, for messages."""
        return f"{self.units[0] if self.units else ''}1{self.thousands}234{self.decimal}5"

    @property
    def regex(self) -> str:
        """The pattern of a number, the same for every engine: groups 1 and 2 hold the sign, 3 the digits and marks."""
        whole = f"[0-9]{{1,3}}(?:[{self.marks}][0-9]{{3}})+|[0-9]+" if self.thousands else "[0-9]+"
        number = f"((?:{whole})(?:{re.escape(self.decimal)}[0-9]+)?)"
        if not self.units:
            return f"([-+])?(){number}"
        unit = f"(?:{'|'.join(re.escape(unit) for unit in sorted(self.units, key=len, reverse=True))})"
        before = f"(?:{unit}[{_BLANKS}]?)?"
        return f"(?:([-+])?{before}|{before}([-+])?){number}(?:[{_BLANKS}]?{unit})?"

    @property
    def currencies(self) -> tuple[tuple[str, ...], ...]:
        """The units that name currencies, those of one currency together: $ and USD, then € and EUR."""
        found: dict[frozenset[str], tuple[str, ...]] = {}
        for unit in filter(is_currency, self.units):
            currency = _CURRENCY_OF.get(unit, frozenset({unit}))
            found[currency] = (*found.get(currency, ()), unit)
        crowns = [found[currency] for currency in found if currency & {"SEK", "NOK", "DKK"}]
        if len(crowns) == 1 and _CURRENCY_OF["kr"] in found:  # each of the three is written so
            crown = next(currency for currency in found if found[currency] is crowns[0])
            found[crown] = (*crowns[0], *found.pop(_CURRENCY_OF["kr"]))
        return tuple(found.values())

    def problem(self) -> tuple[str, str, str] | None:
        """Return the key, the rule and a hint for what makes a number mean two things; None if nothing does."""
        if self.decimal == self.thousands:
            return "thousands", "is also the mark before decimals", 'thousands = "." goes with decimal = ","'
        for unit in self.units:
            if not _is_unit(unit):
                rule = "holds a text with a digit, a sign, a blank at its end, or nothing but marks"
                return "units", rule, 'units = ["$", "EUR"]'
        return None

    def number(self, text: str) -> Decimal | None:
        """Return the number a text names, None when it names none."""
        if self.plain:
            return decimal_or_none(text)
        found = _number_pattern(self).fullmatch(text.strip())
        if found is None:
            return None
        first, second, digits = found.groups()
        for mark in self.marks:
            digits = digits.replace(mark, "")
        return decimal_or_none((first or second or "") + digits.replace(self.decimal, "."))


PLAIN_NUMBERS = NumberForm()


def is_currency(unit: str) -> bool:
    """Say whether a sign or word beside an amount names a currency."""
    return unit in _CURRENCY_OF or (len(unit) == 1 and unicodedata.category(unit) == "Sc")


@lru_cache(maxsize=256)
def _number_pattern(form: NumberForm) -> re.Pattern[str]:
    return re.compile(form.regex, re.ASCII)


def _is_unit(unit: str) -> bool:
    wrong = any(letter.isdigit() or letter in "+-" or unicodedata.category(letter) in _UNSEEN for letter in unit)
    return 0 < len(unit) <= _UNIT_LENGTH and not wrong and bool(set(unit) - set(".,'\u2019" + _BLANKS))
