"""Exact parameters: what a caller writes becomes an `int` or a `Fraction`, and JSON keeps it so.

A float is read as the decimal it prints: 0.1 is 1/10, not 0.1000000000000000055.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from sfumato.errors import ParameterError
from sfumato.limits import fraction_of, number_fault

__all__ = [
    "Number",
    "choice",
    "fraction",
    "mistyped",
    "number_from_json",
    "number_to_json",
    "plain",
    "unknown_keys",
    "whole",
]

_SHOWN = 60  # characters of a wrong number that a message repeats

Number: TypeAlias = int | float | Fraction | Decimal | str
"""What a parameter may be written as."""


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
    exact = _read(name, value, hint)
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


def whole(name: str, value: Number, *, least: int, hint: str = "") -> int:
    """Return `value` as an int of at least `least`; 10.0 is the whole number 10, 10.5 is refused."""
    exact = _read(name, value, hint)
    if exact.denominator != 1:
        raise ParameterError(name, plain(exact), "must be a whole number", hint=hint)
    return int(fraction(name, exact, least=least, hint=hint))


def choice(name: str, value: object, options: tuple[str, ...]) -> None:
    """Refuse a value outside a closed list."""
    if value not in options:
        raise ParameterError(name, value, f"must be one of {', '.join(options)}")


def _read(name: str, value: object, hint: str) -> Fraction:
    if isinstance(value, (bool, np.bool_)):
        raise ParameterError(name, value, "must be a number", hint=hint)
    if isinstance(value, (Fraction, int)):
        return Fraction(value)
    if isinstance(value, np.integer):
        return Fraction(int(value))
    if isinstance(value, (float, np.floating, Decimal)):
        # str() of a NumPy scalar prints the shortest decimal of its own width, as Python's does.
        if not math.isfinite(value):
            raise ParameterError(name, value, "must be finite", hint=hint)
        value = str(value)
    if isinstance(value, str):
        if wrong := number_fault(value):
            raise ParameterError(name, value[:_SHOWN], wrong, hint=hint)
        if (exact := fraction_of(value)) is not None:
            return exact
    raise ParameterError(name, value, "must be a number such as 2, 0.1 or 1/10", hint=hint)


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
