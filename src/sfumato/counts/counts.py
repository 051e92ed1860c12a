"""`Counts`: how many rows share each combination of codes. Confidential."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from sfumato.engines.grouping import group_codes
from sfumato.errors import ParameterError
from sfumato.schema import Schema


def checked_names(schema: Schema, names: str | Sequence[str]) -> tuple[str, ...]:
    """Return attribute names that exist, have a domain and are named once."""
    wanted = (names,) if isinstance(names, str) else tuple(names)
    for at, name in enumerate(wanted):
        attribute = schema[name]
        if attribute.role == "identifier":
            raise ParameterError("names", name, "is an identifier", hint="identifiers are never read")
        if attribute.domain is None:
            raise ParameterError(
                "names", name, "has no domain in the schema", hint="declare its range, values or hierarchy"
            )
        if name in wanted[:at]:
            raise ParameterError("names", name, "is named twice", hint="name each attribute once")
    return wanted


@dataclass(frozen=True, eq=False)
class Counts:
    """Distinct rows of codes in lexicographic order with their weights. Confidential: prints no number.

    >>> table = sf.datasets.adult("test")
    >>> table.counts(["sex", "race"])
    Counts('adult', 2 attributes, confidential)
    """

    schema: Schema
    _: KW_ONLY
    names: tuple[str, ...]
    codes: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)

    def __post_init__(self) -> None:
        self.codes.setflags(write=False)
        self.weights.setflags(write=False)

    def __repr__(self) -> str:
        return f"Counts({self.schema.name!r}, {len(self.names)} attributes, confidential)"

    def __len__(self) -> int:
        return len(self.weights)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Counts)
            and self.names == other.names
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.weights, other.weights)
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def from_arrays(cls, schema: Schema, names: Sequence[str], codes: np.ndarray, weights: np.ndarray) -> Counts:
        """Return counts of any rows of codes: sorted, equal rows merged, weights of 0 dropped."""
        wanted = checked_names(schema, names)
        codes, weights = np.asarray(codes), np.asarray(weights)
        if codes.ndim != 2 or codes.shape != (len(weights), len(wanted)):
            rule = f"must be {len(weights)} rows of {len(wanted)} codes"
            raise ParameterError("codes", f"array of shape {codes.shape}", rule)
        if len(weights) and weights.min() < 0:
            raise ParameterError("weights", "some", "must be 0 or above")
        sizes = [schema[name].size for name in wanted]
        for at, name in enumerate(wanted):
            column = codes[:, at]
            if len(column) and (column.min() < 0 or column.max() >= sizes[at]):
                raise ParameterError("codes", name, f"has codes outside 0 .. {sizes[at] - 1}")
        kept = weights > 0
        columns = [np.ascontiguousarray(codes[kept, at]) for at in range(len(wanted))]
        found, sums = group_codes(columns, sizes, rows=int(kept.sum()), weights=weights[kept].astype(np.int64))
        return cls(schema, names=wanted, codes=found, weights=sums)

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return int(self.weights.sum())

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each attribute has, missing included."""
        return tuple(self.schema[name].size for name in self.names)

    def column(self, name: str) -> np.ndarray:
        """Return the codes of one attribute, one for each distinct row."""
        return np.ascontiguousarray(self.codes[:, self._place(name)])

    def marginal(self, names: str | Sequence[str]) -> Counts:
        """Return the counts of fewer attributes, in the order named."""
        wanted = (names,) if isinstance(names, str) else tuple(names)
        if wanted == self.names:
            return self
        checked_names(self.schema, wanted)
        columns = [self.column(name) for name in wanted]
        sizes = [self.schema[name].size for name in wanted]
        codes, weights = group_codes(columns, sizes, rows=len(self), weights=self.weights)
        return Counts(self.schema, names=wanted, codes=codes, weights=weights)

    def histogram(self, name: str) -> np.ndarray:
        """Return how many rows have each code of an attribute (int64, one for each code)."""
        table = np.zeros(self.schema[name].size, dtype=np.int64)
        np.add.at(table, self.codes[:, self._place(name)], self.weights)
        return table

    def _place(self, name: str) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            raise ParameterError(
                "names", name, "is not among the counted attributes", hint=f"one of {', '.join(self.names)}"
            ) from None
