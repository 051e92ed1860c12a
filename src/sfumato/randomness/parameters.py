"""Read a number a caller gave as the exact rational it prints."""

from __future__ import annotations

import numbers
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex

import numpy as np

from sfumato.errors import ParameterError

__all__ = ["Exact", "exact", "read_epsilon", "read_size", "whole"]

# What a caller may write for an exact number; a float means the decimal it prints, so 0.1 is 1/10.
Exact = int | Fraction | Decimal | float | str

SMALLEST, LARGEST = Fraction(1, 10**12), Fraction(10**12)


def exact(name: str, value: object) -> Fraction:
    """Return `value` as a fraction; a float is read as its shortest decimal, a text as written."""
    number = None
    if not isinstance(value, bool) and isinstance(value, numbers.Real | Decimal | str):
        with suppress(ValueError, ZeroDivisionError, OverflowError):
            number = Fraction(value if isinstance(value, numbers.Rational | Decimal) else str(value))
    if number is None:
        raise ParameterError(
            name,
            value if isinstance(value, float | str) else type(value).__name__,
            "must be a finite number",
            hint="write it as 1/2, 0.5 or Fraction(1, 2)",
        )
    return number


def read_epsilon(value: object, name: str = "epsilon") -> Fraction:
    """Return epsilon as an exact fraction in the range the samplers are proved for."""
    epsilon = exact(name, value)
    if epsilon <= 0:
        raise ParameterError(name, value, "must be above 0", hint="try 1/2")
    if not SMALLEST <= epsilon <= LARGEST:
        raise ParameterError(name, value, "must lie between 1e-12 and 1e12", hint="try 1/2")
    return epsilon


def whole(name: str, value: object, *, least: int) -> int:
    """Return `value` as an int of at least `least`; floats and booleans are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, SupportsIndex):
        raise ParameterError(name, type(value).__name__, "must be a whole number")
    number = value.__index__()
    if number < least:
        raise ParameterError(name, number, f"must be at least {least}")
    return number


def read_size(value: object) -> int:
    """Return how many draws are asked for; none is allowed."""
    return whole("size", value, least=0)
