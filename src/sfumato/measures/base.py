"""What a measure returns: a number with its unit, its formula and the mark that it is confidential."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Hashable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from sfumato.counts import Counts, Table
from sfumato.release import Release

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure. Computed against the original, it is a statistic of the original: confidential."""

    value: float
    _: KW_ONLY
    unit: str
    formula: str
    interval: tuple[float, float] | None = None
    confidential: bool = True
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {
            "value": json_number(self.value),
            "unit": self.unit,
            "formula": self.formula,
            "interval": None if self.interval is None else [json_number(end) for end in self.interval],
            "confidential": self.confidential,
            "details": dict(self.details),
        }


class _Figure(Protocol):
    """What `MeasureResult` needs of its subclasses; they are frozen dataclasses."""

    @property
    def value(self) -> float: ...
    @property
    def unit(self) -> str: ...
    @property
    def formula(self) -> str: ...
    def details(self) -> dict[str, Any]: ...
    def measured(self) -> Measured: ...


class MeasureResult:
    """The base of what a measure finds: `value` with `unit` and `formula`; a subclass says which `details` go along."""

    __slots__ = ()

    def measured(self: _Figure) -> Measured:
        """Return the figure with its unit and formula."""
        interval = getattr(self, "interval", None)
        return Measured(self.value, unit=self.unit, formula=self.formula, interval=interval, details=self.details())

    def to_json(self: _Figure) -> dict[str, Any]:
        """Return a plain mapping."""
        return self.measured().to_json()


class Measure(Protocol):
    """A function of the table and a release of it; further parameters have defaults."""

    def __call__(self, table: Table, release: Release) -> Any:
        """Return a result with `measured()`, or a `Measured`."""
        ...


def worst_of(results: Mapping[str, R], cost: Callable[[R], Any]) -> R:
    """Return the result of the attribute that costs most, with the results of all attributes in `by_attribute`."""
    worst = max(results.values(), key=cost)
    found: R = replace(worst, by_attribute=dict(results))  # type: ignore[type-var]
    return found


def largest_first(values: np.ndarray) -> np.ndarray:
    """Return places by falling value; equal ones as they stand, even where last digits differ from machine to machine.

    >>> largest_first(np.array([0.25, 0.5 - 1e-16, 0.5])).tolist()
    [1, 2, 0]
    """
    return np.argsort(-np.round(values, 12), kind="stable")


def json_number(value: float) -> float | str:
    """Return a float as JSON may hold it: infinity and NaN as text."""
    return value if math.isfinite(value) else str(value)


# Memo cache of what is computed from a table once and used again: populations, the table as boxes. Weakly referenced.

Result = TypeVar("Result")
_KNOWN: dict[int, tuple[weakref.ref[Counts], dict[Hashable, Any]]] = {}


def remembered(counts: Counts, key: Hashable, make: Callable[[], Result]) -> Result:
    """Return what `make` gives, made once for these very counts (a table hands out the same object each time)."""
    place = id(counts)
    held = _KNOWN.get(place)
    if held is None or held[0]() is not counts:
        # The entry goes when the counts do, so that another object in the same place is never taken for them.
        held = (weakref.ref(counts, lambda _: _KNOWN.pop(place, None)), {})
        _KNOWN[place] = held
    if key not in held[1]:
        held[1][key] = make()
    return held[1][key]  # type: ignore[no-any-return]
