"""Candidates of a selection as whole numbers: how far below the best, and with which weight."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.randomness.approximation import exponential

__all__ = ["Candidates"]

LARGEST = 1 << 62  # of a gap kept as int64
LARGEST_WEIGHT = 1 << 100


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidate i has the share weight_i e^(-slope gap_i), gap_i >= 0; the best has gap 0.

    `gaps` and `weight` are int64 arrays where they fit, else arrays of Python ints; both exact.
    """

    gaps: NDArray[Any]
    _: KW_ONLY
    weight: NDArray[Any] | None
    slope: Fraction

    @classmethod
    def read(cls, scores: Any, slope: Fraction, weights: Any) -> Candidates:
        """Bring scores and weights to whole numbers; refuse what is not exact."""
        levels, unit = _integers("scores", scores)
        if not len(levels):
            raise ParameterError("scores", "empty", "must hold at least one candidate")
        weight = None if weights is None else _integers("weights", weights)[0]
        if weight is not None and len(weight) != len(levels):
            raise ParameterError("weights", len(weight), f"must be as many as there are scores, {len(levels)}")
        if weight is not None and min(weight.tolist()) <= 0:
            raise ParameterError("weights", "an entry", "must be above 0")
        return cls(levels.max() - levels, weight=weight, slope=slope / unit)

    def __len__(self) -> int:
        return len(self.gaps)

    def exponent(self, i: int) -> Fraction:
        """Return slope * gap_i."""
        return self.slope * int(self.gaps[i])

    def exponents(self) -> Iterator[Fraction]:
        """Yield slope * gap_i of all candidates."""
        return (self.slope * gap for gap in self.gaps.tolist())

    def weights(self) -> list[int]:
        """Return the weights as whole numbers."""
        return [1] * len(self) if self.weight is None else list(self.weight.tolist())

    def near(self) -> NDArray[np.float64]:
        """Return slope * gap_i as floats with a relative error of at most 2^-50 (far down: infinity)."""
        if self.gaps.dtype == object or not 1e-290 < self.slope < 1e290:
            return np.array([_float(exponent) for exponent in self.exponents()])
        return self.gaps.astype(np.float64) * _float(self.slope)

    def bracket(self, word: int) -> tuple[int, int]:
        """Return two numbers between which the candidate chosen by a V in (word, word+1]/2^64 lies.

        Every float below has a relative error under 2^-40 + n 2^-53, so any two thresholds, and V
        times the total, are compared with a margin of (2^-37 + n 2^-49) of the total.
        """
        n = len(self)
        if self.weight is not None and self.weight.dtype == object and max(self.weight.tolist()) > LARGEST_WEIGHT:
            return 0, n - 1
        depth = self.near()
        shares = np.where(depth <= 700, exponential(-np.minimum(depth, 700)), 0)
        if self.weight is not None:
            shares *= self.weight.astype(np.float64)
        cumulative = np.cumsum(shares)
        total = float(cumulative[-1])
        margin = total * (2.0**-37 + n * 2.0**-49)
        at = word * 2.0**-64 * total
        low, high = np.searchsorted(cumulative, [at - margin, at + margin])
        return min(int(low), n - 1), min(int(high), n - 1)

    def difference(self, numerator: int, bits: int, i: int) -> dict[Fraction, int]:
        """Return 2^bits * (numerator/2^bits * total - cumulative weight of 0..i) as {exponent: coefficient}."""
        terms: dict[int, int] = {}
        for j, (gap, weight) in enumerate(zip(self.gaps.tolist(), self.weights(), strict=True)):
            terms[gap] = terms.get(gap, 0) + weight * (numerator - ((1 << bits) if j <= i else 0))
        return {-self.slope * gap: coefficient for gap, coefficient in terms.items()}


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _integers(name: str, values: Sequence[Any] | NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return whole numbers and their common unit: values = whole numbers / unit."""
    if isinstance(values, np.ndarray):
        if values.ndim == 1 and np.issubdtype(values.dtype, np.integer) and _small(values):
            return values.astype(np.int64), 1
        values = values.tolist()
    if not isinstance(values, Sequence) or not all(_is_exact(value) for value in values):
        raise ParameterError(
            name,
            "entries",
            "must be a list of whole numbers or fractions",
            hint="round real scores first, with rounded_log2_sums, and let the sensitivity pay for it",
        )
    if all(type(value) is int for value in values):
        return _array(list(values)), 1
    rational = [Fraction(int(value) if isinstance(value, np.integer) else value) for value in values]
    unit = math.lcm(*(value.denominator for value in rational))
    whole = [value.numerator * (unit // value.denominator) for value in rational]
    return _array(whole), unit


def _array(whole: list[int]) -> NDArray[Any]:
    return np.array(whole, dtype=np.int64 if all(abs(v) < LARGEST // 2 for v in whole) else object)


def _small(values: NDArray[Any]) -> bool:
    return not len(values) or (int(values.min()) > -LARGEST // 2 and int(values.max()) < LARGEST // 2)


def _is_exact(value: object) -> bool:
    return isinstance(value, int | np.integer | Fraction) and not isinstance(value, bool | np.bool_)
