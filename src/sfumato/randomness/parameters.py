"""The ranges the samplers are proved for, and what is asked of them."""

from __future__ import annotations

from fractions import Fraction

from sfumato.errors import ParameterError
from sfumato.exact import index, rational

SMALLEST, LARGEST = Fraction(1, 10**12), Fraction(10**12)


def read_epsilon(value: object) -> Fraction:
    """Return epsilon as an exact fraction in the range the samplers are proved for."""
    epsilon = rational("epsilon", value, hint="try 1/2")
    if epsilon <= 0:
        raise ParameterError("epsilon", value, "must be above 0", hint="try 1/2")
    if not SMALLEST <= epsilon <= LARGEST:
        raise ParameterError("epsilon", value, "must lie between 1e-12 and 1e12", hint="try 1/2")
    return epsilon


def read_size(value: object) -> int:
    """Return the number of draws; zero is allowed."""
    return index("size", value, least=0)
