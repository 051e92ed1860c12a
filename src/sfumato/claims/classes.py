"""Classes of a release as blocks of counts, and arithmetic on them that can not overflow.

A requirement looks at many histograms (one row per class, one column per sensitive value) and
at the overall counts of the published rows. This module reads them in blocks of bounded memory
and offers the two exact operations which the requirements share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sfumato.claims.ground import Ground
from sfumato.errors import ParameterError

__all__ = [
    "MECHANISM_TOLERANCE",
    "VERIFY_TOLERANCE",
    "BoolArray",
    "Classes",
    "Figure",
    "IntArray",
    "each_exactly",
    "largest_ratio",
    "read_classes",
]

IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Figure: TypeAlias = int | float | Fraction

VERIFY_TOLERANCE: Final = 1e-12
"""js, entropy and delta are sums of logarithms: a verifier accepts what is within this of the limit."""
MECHANISM_TOLERANCE: Final = -1e-9
"""A mechanism keeps this far inside the limit, so that no verifier's rounding can disagree with it."""

_CELLS: Final = 2_000_000  # cells of one dense block: 16 MB of int64
_FITS: Final = 2**62  # products up to here are safe in int64, sign and one addition included


@dataclass(frozen=True, slots=True)
class Classes:
    """One block of classes that each hold at least one row."""

    counts: IntArray
    sizes: IntArray
    overall: IntArray | None
    ground: Ground
    rows_per_person: int
    tolerance: float

    @property
    def published(self) -> IntArray:
        """The overall counts; a requirement that compares with them can not do without."""
        if self.overall is None:
            raise ParameterError("overall", None, "this requirement compares classes with the published rows")
        return self.overall

    @property
    def total(self) -> int:
        """Number of published rows."""
        return int(self.published.sum())


def read_classes(
    histograms: Any,
    overall: Any,
    *,
    ground: Ground | None,
    rows_per_person: int,
    tolerance: float,
) -> tuple[int, Iterator[tuple[npt.NDArray[np.intp], Classes]]]:
    """Return the number of classes, and blocks of (row numbers, classes); empty classes are left out.

    `histograms` is a g x d integer matrix, dense or anything with `tocsr()`. One vector of counts
    is not a matrix: `holds` is for that.
    """
    if rows_per_person < 1:
        raise ParameterError("rows_per_person", rows_per_person, "must be at least 1")
    sparse = hasattr(histograms, "tocsr")
    table: Any = histograms.tocsr() if sparse else np.asarray(histograms)
    if table.ndim != 2:
        raise ParameterError("histograms", f"{table.ndim} dimensions", "must be classes x values")
    _whole_counts("histograms", table.data if sparse else table)
    known = None if overall is None else _overall(overall, table.shape[1])
    step = max(1, _CELLS // max(1, table.shape[1]))

    def blocks() -> Iterator[tuple[npt.NDArray[np.intp], Classes]]:
        for start in range(0, table.shape[0], step):
            part = table[start : start + step]
            dense = (part.toarray() if sparse else part).astype(np.int64, copy=False)
            sizes = dense.sum(axis=1)
            some = np.flatnonzero(sizes)
            counts, sizes = (dense, sizes) if some.size == sizes.size else (dense[some], sizes[some])
            if known is not None and counts[:, known == 0].any():
                raise ParameterError(
                    "overall", "0", "a class holds a value that the overall counts lack", hint="count published rows"
                )
            yield start + some, Classes(counts, sizes, known, ground or Ground.equal(), rows_per_person, tolerance)

    return int(table.shape[0]), blocks()


def _whole_counts(name: str, values: npt.NDArray[Any]) -> None:
    if values.size and not np.issubdtype(values.dtype, np.integer):
        raise ParameterError(name, values.dtype, "must hold whole numbers of rows")
    if values.size and values.min() < 0:
        raise ParameterError(name, "negative counts", "must hold counts of rows, 0 or more")


def _overall(overall: Any, width: int) -> IntArray:
    known = np.asarray(overall)
    _whole_counts("overall", known)
    if known.shape != (width,):
        raise ParameterError("overall", f"shape {known.shape}", f"must be one count for each of {width} values")
    return known.astype(np.int64, copy=False)


def each_exactly(
    classes: Classes,
    multiplier: int,
    compute: Callable[[Any, Any], Any],
    *,
    dtype: type = bool,
) -> npt.NDArray[Any]:
    """Return `compute(counts, sizes)` for each class, in integers that do not overflow.

    `multiplier` bounds the computation: no intermediate exceeds size x multiplier. Classes for
    which that fits run in int64; the few large ones run the same expression in Python integers.
    """
    result: npt.NDArray[Any] = np.empty(classes.sizes.size, dtype=dtype)
    safe = classes.sizes <= _FITS // max(1, multiplier)
    if safe.all():
        result[:] = compute(classes.counts, classes.sizes) if safe.size else False
        return result
    if safe.any():
        result[safe] = compute(classes.counts[safe], classes.sizes[safe])
    large = ~safe
    result[large] = compute(classes.counts[large].astype(object), classes.sizes[large].astype(object))
    return result


def largest_ratio(numerators: npt.NDArray[Any], denominators: npt.NDArray[Any]) -> Fraction:
    """Return the largest numerator / denominator exactly; floats only shortlist the candidates."""
    rough = numerators.astype(float) / denominators.astype(float)
    near = rough >= rough.max() * (1 - 1e-9)
    pairs = set(zip(numerators[near].tolist(), denominators[near].tolist(), strict=True))
    return max(Fraction(int(above), int(under)) for above, under in pairs)
