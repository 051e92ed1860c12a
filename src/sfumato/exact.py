"""Exact parameters: what a caller writes becomes an `int` or a `Fraction`, and JSON keeps it so.

A float is read as the decimal it prints: 0.1 is 1/10, not 0.1000000000000000055.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from sfumato.errors import ParameterError
from sfumato.limits import DIGITS, EXPONENT, TERM_DIGITS

_TOO_LONG = f"has more than {TERM_DIGITS} digits above or below the line of its fraction"
_SHOWN = 60  # characters of a wrong number that a message repeats
_TERM_COMPUTED = TERM_DIGITS + 50  # digits of what is computed from one parameter: halves, thirds, parts of a budget
_PRINTED_EXACTLY = 2000  # digits up to which a sum is written as it is; Python writes no more than 4,300
_PRINTED = 30  # significant digits of a longer one

_A_NUMBER = "must be a number such as 2, 0.1 or 1/10"
_NUMBER = re.compile(r"[-+]?(?:\d+/\d+|(?:\d+\.?\d*|\.\d+)(?:[eE]([-+]?\d+))?)", re.ASCII)

Number: TypeAlias = int | float | Fraction | Decimal | str
"""What a parameter may be written as."""


def number_fault(text: str) -> str:
    """Return why a text is not a number that can be read exactly: a decimal or a fraction within the limits.

    >>> number_fault("1/3"), number_fault("1e-9")
    ('', '')
    >>> number_fault("2_0")
    'must be a number such as 2, 0.1 or 1/10'
    """
    if len(text) > DIGITS:
        return f"has more than {DIGITS} characters"
    written = _NUMBER.fullmatch(text.strip())
    if written is None:
        return _A_NUMBER
    if written[1] is not None and abs(int(written[1])) > EXPONENT:
        return f"has an exponent beyond {EXPONENT}"
    return ""


def fraction_of(text: str) -> Fraction | None:
    """Return the exact number a text writes, None where it is none or beyond the limits."""
    try:
        return None if number_fault(text) else Fraction(text.strip())
    except ZeroDivisionError:
        return None


def digits_beyond(value: Fraction, most: int) -> bool:
    """Whether a numerator or denominator has more than `most` digits, without writing either out."""
    return max(abs(value.numerator), value.denominator) >= int(10**most)


def decimal_of(text: str) -> Decimal | None:
    """Return the decimal a text writes, None where it is none or beyond the limits."""
    return None if number_fault(text) or "/" in text else Decimal(text.strip())


def fraction(
    name: str,
    value: Number,
    *,
    above: int | None = None,
    least: int | None = None,
    most: int | None = None,
    below: int | None = None,
    hint: str = "",
) -> Fraction:
    """Return `value` exactly, or say which rule the parameter `name` broke."""
    exact = _given(name, value, hint)
    rules = (
        (above, operator.gt, "above"),
        (least, operator.ge, "at least"),
        (most, operator.le, "at most"),
        (below, operator.lt, "below"),
    )
    for limit, keeps, word in rules:
        if limit is not None and not keeps(exact, limit):
            raise ParameterError(name, plain(exact), f"must be {word} {limit}", hint=hint)
    return exact


def whole(name: str, value: Number, *, least: int | None = None, most: int | None = None, hint: str = "") -> int:
    """Return `value` as an int of at least `least`; 10.0 is the whole number 10, 10.5 is refused."""
    exact = _given(name, value, hint, "must be a whole number")
    if exact.denominator != 1:
        raise ParameterError(name, plain(exact), "must be a whole number", hint=hint)
    return int(fraction(name, exact, least=least, most=most, hint=hint))


def choice(name: str, value: object, options: tuple[str, ...]) -> None:
    """Refuse a value outside a closed list."""
    if value not in options:
        raise ParameterError(name, value, f"must be one of {', '.join(options)}")


def _given(name: str, value: Number, hint: str, rule: str = _A_NUMBER) -> Fraction:
    """Return a parameter as written, within the allowed length; a Fraction may be longer: it may have been computed."""
    exact = _read(name, value, hint, rule)
    if not isinstance(value, Fraction) and digits_beyond(exact, TERM_DIGITS):
        raise ParameterError(name, "given", _TOO_LONG, hint=hint)
    return exact


def _read(name: str, value: object, hint: str, rule: str = _A_NUMBER) -> Fraction:
    exact = rational(name, value, hint=hint, rule=rule)
    if isinstance(value, (Fraction, int, np.integer)) and digits_beyond(exact, _TERM_COMPUTED):
        raise ParameterError(name, "given", _TOO_LONG, hint=hint)
    return exact


def rational(name: str, value: object, *, hint: str = "", rule: str = _A_NUMBER) -> Fraction:
    """Return a number exactly, to however many digits it was computed; `fraction` bounds what somebody may write."""
    if isinstance(value, (bool, np.bool_)):
        raise ParameterError(name, value, "must be a number", hint=hint)
    if isinstance(value, (Fraction, int, np.integer)):
        return Fraction(int(value) if isinstance(value, np.integer) else value)
    if isinstance(value, (float, np.floating, Decimal)):
        # str() of a NumPy scalar prints the shortest decimal of its own width, as Python's does.
        if not math.isfinite(value):
            raise ParameterError(name, value, "must be finite", hint=hint)
        value = str(value)
    if isinstance(value, str):
        if wrong := number_fault(value):
            raise ParameterError(name, value[:_SHOWN], rule if wrong == _A_NUMBER else wrong, hint=hint)
        if (read := fraction_of(value)) is not None:
            return read
    raise ParameterError(name, value, rule, hint=hint)


def index(name: str, value: object, *, least: int) -> int:
    """Return an int of at least `least` that is one already: floats, whole ones too, and booleans are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, SupportsIndex):
        raise ParameterError(name, type(value).__name__, "must be a whole number")
    number = value.__index__()
    if number < least:
        raise ParameterError(name, number, f"must be at least {least}")
    return number


def plain(value: Fraction | float) -> str:
    """Write a number for people: `0.2` where a short decimal is exact, else `1/3`."""
    if not isinstance(value, Fraction):
        return str(value) if isinstance(value, int) else f"{value:.6g}"
    if value.denominator == 1:
        return str(value.numerator)
    for places in range(1, 13):
        scaled = value * 10**places
        if scaled.denominator == 1:
            digits = f"{abs(scaled.numerator):0{places + 1}d}"
            sign = "-" if value < 0 else ""
            return f"{sign}{digits[:-places]}.{digits[-places:]}"
    return str(value)


def printable(value: Fraction, *, up: bool) -> Fraction:
    """Return a number that can be written: itself, or, where it has thousands of digits, rounded up or down.

    >>> printable(Fraction(1, 3), up=True), printable(1 + Fraction(1, 10**2500), up=True) > 1
    (Fraction(1, 3), True)
    """
    if not digits_beyond(value, _PRINTED_EXACTLY):
        return value
    gap = value.denominator.bit_length() - abs(value.numerator).bit_length()
    scale = Fraction(10) ** (_PRINTED + gap * 30103 // 100_000)  # log10(2) = 0.30103
    return Fraction(math.ceil(value * scale) if up else math.floor(value * scale)) / scale


def number_to_json(value: Fraction | float) -> int | str | float:
    """Return an int, a fraction as text ("1/10"), or a measured float; infinity is the text "inf"."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else str(value)
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def number_from_json(name: str, value: Any) -> Fraction:
    """Return the exact number that `number_to_json` wrote; a JSON float is read as its decimal."""
    return _read(name, value, "")


def unknown_keys(data: Any, known: Any, path: str = "") -> Iterator[str]:
    """Yield the path of every key of `data`, at any depth, that is not in `known`: what was read, written again.

    >>> list(unknown_keys({"k": 5, "of": [{"l": 2, "note": "x"}]}, {"k": 5, "of": [{"l": 2}]}))
    ['of.note']
    """
    if isinstance(data, dict):
        for key, value in data.items():
            where = f"{path}.{key}" if path else str(key)
            if not isinstance(known, dict) or key not in known:
                yield where
            else:
                yield from unknown_keys(value, known[key], where)
    elif isinstance(data, list):
        for at, value in enumerate(data):
            if isinstance(value, dict | list):
                same = isinstance(known, list | tuple) and at < len(known)
                yield from unknown_keys(value, known[at] if same else None, path)


def mistyped(data: Any, known: Any) -> bool:
    """Whether a whole number or a flag of `known`, at any depth, stands in `data` as a number of another kind.

    >>> mistyped({"k": 5}, {"k": 5}), mistyped({"k": 5.0}, {"k": 5}), mistyped([True], [1])
    (False, True, True)
    """
    if isinstance(data, dict) and isinstance(known, dict):
        return any(mistyped(value, known[key]) for key, value in data.items() if key in known)
    if isinstance(data, list) and isinstance(known, list | tuple):
        return any(mistyped(value, same) for value, same in zip(data, known, strict=False))
    return isinstance(known, int) and isinstance(data, int | float) and type(data) is not type(known)
