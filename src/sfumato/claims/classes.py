"""Classes of a release as blocks of counts, and arithmetic on them that cannot overflow.

A requirement looks at many histograms (one row per class, one column per sensitive value) and
at the overall counts of the published rows. This module reads them in blocks of bounded memory
and offers the two exact operations which the requirements share.

Where a table is keyed by person, a histogram counts people: entry s of class E is n(E, s), the people with at least one
row of value s in E, and `people` says how many people n(E) a class holds. Then n(E) <= sum of n(E, s), with equality
where nobody has two values in the class. A share of a class is n(E, s) / n(E), the prevalence of s; a distribution over
values is n(E, s) over their sum. Where everybody has one value both are what they are for rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sfumato.claims.ground_distance import Ground
from sfumato.errors import ParameterError

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
    people: IntArray | None = None
    everyone: int | None = None

    @property
    def members(self) -> IntArray:
        """How many people each class holds; where no person is named, how many rows."""
        return self.sizes if self.people is None else self.people

    @property
    def population(self) -> int:
        """How many people the table holds; where no person is named, how many rows."""
        return self.total if self.everyone is None else self.everyone

    @property
    def several(self) -> bool:
        """Whether somebody has several values, so that prevalences do not follow from the distribution."""
        return self.everyone is not None and self.total > self.everyone

    @property
    def published(self) -> IntArray:
        """The overall counts; a requirement that compares with them cannot do without."""
        if self.overall is None:
            raise ParameterError("overall", None, "this requirement compares classes with the published rows")
        return self.overall

    @property
    def total(self) -> int:
        """Number of published rows; where people are counted, of (person, value) pairs."""
        return int(self.published.sum())


def read_classes(
    histograms: Any,
    overall: Any,
    *,
    ground: Ground | None,
    rows_per_person: int,
    tolerance: float,
    people: Any = None,
    everyone: int | None = None,
) -> tuple[int, Iterator[tuple[npt.NDArray[np.intp], Classes]]]:
    """Return the number of classes, and blocks of (row numbers, classes); empty classes are left out.

    `histograms` is a g x d integer matrix, dense or anything with `tocsr()`. One vector of counts
    is not a matrix: `holds` is for that. With `people`, one number for each class, histograms count people.
    """
    if rows_per_person < 1:
        raise ParameterError("rows_per_person", rows_per_person, "must be at least 1")
    sparse = hasattr(histograms, "tocsr")
    table: Any = histograms.tocsr() if sparse else np.asarray(histograms)
    if table.ndim != 2:
        raise ParameterError("histograms", f"{table.ndim} dimensions", "must be classes x values")
    _whole_counts("histograms", table.data if sparse else table)
    known = None if overall is None else _overall(overall, table.shape[1])
    held = None if people is None else _people(people, everyone, table.shape[0], known)
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
            each = None if held is None else held[start + some]
            if each is not None and (counts.max(axis=1, initial=0) > each).any():
                raise ParameterError("people", "fewer", "a class has more people with one value than people")
            if each is not None and (sizes < each).any():
                raise ParameterError("people", "more", "a class has people without a value")
            whole = None if each is None else everyone
            found = Classes(counts, sizes, known, ground or Ground.equal(), rows_per_person, tolerance, each, whole)
            yield start + some, found

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


def _people(people: Any, everyone: int | None, number: int, known: IntArray | None) -> IntArray:
    held = np.asarray(people)
    _whole_counts("people", held)
    if held.shape != (number,):
        raise ParameterError("people", f"shape {held.shape}", f"must be one number for each of {number} classes")
    if known is not None and (everyone is None or everyone < max(int(known.max(initial=0)), int(held.max(initial=0)))):
        raise ParameterError("everyone", everyone, "must be how many people the table holds")
    return held.astype(np.int64, copy=False)


def each_exactly(
    classes: Classes,
    multiplier: int,
    compute: Callable[[Any, Any], Any],
    *,
    dtype: type = bool,
    shares: bool = False,
) -> npt.NDArray[Any]:
    """Return `compute(counts, sizes)` for each class, in integers that do not overflow.

    `multiplier` bounds the computation: no intermediate exceeds size x multiplier. Classes for
    which that fits run in int64; the few large ones run the same expression in Python integers.
    `shares` gives it the people of each class instead of its size, so that counts / sizes are prevalences.
    """
    result: npt.NDArray[Any] = np.empty(classes.sizes.size, dtype=dtype)
    sizes = classes.members if shares else classes.sizes
    safe = sizes <= _FITS // max(1, multiplier)
    if safe.all():
        result[:] = compute(classes.counts, sizes) if safe.size else False
        return result
    if safe.any():
        result[safe] = compute(classes.counts[safe], sizes[safe])
    large = ~safe
    result[large] = compute(classes.counts[large].astype(object), sizes[large].astype(object))
    return result


def largest_ratio(numerators: npt.NDArray[Any], denominators: npt.NDArray[Any]) -> Fraction:
    """Return the largest numerator / denominator exactly; floats only shortlist the candidates."""
    rough = numerators.astype(float) / denominators.astype(float)
    near = rough >= rough.max() * (1 - 1e-9)
    pairs = set(zip(numerators[near].tolist(), denominators[near].tolist(), strict=True))
    return max(Fraction(int(above), int(under)) for above, under in pairs)
