"""Regions: what a question about a population asks for, one set of codes for each attribute it constrains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sfumato.errors import NotComparable
from sfumato.schema import Attribute, Labels, Schema
from sfumato.schema.naming import Intervals

__all__ = ["ANY", "Regions", "overlaps"]

ANY = -1  # the attribute is not constrained


@dataclass(frozen=True)
class Regions:
    """Region i holds, for attribute j, the codes of label `ids[i, j]` of `tables[j]`, or any code (`ANY`)."""

    tables: tuple[Labels, ...]
    _: KW_ONLY
    ids: np.ndarray

    def __post_init__(self) -> None:
        self.ids.setflags(write=False)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes a region may constrain."""
        return tuple(table.attribute for table in self.tables)

    @classmethod
    def of(cls, attributes: Sequence[Attribute], regions: Sequence[Mapping[str, Intervals]]) -> Regions:
        """Return regions given as intervals by attribute name; an attribute not named is not constrained."""
        tables, columns = [], []
        for attribute in attributes:
            here = [at for at, region in enumerate(regions) if attribute.name in region]
            table, ids = Labels.from_sets(attribute, [regions[at][attribute.name] for at in here])
            column = np.full(len(regions), ANY, np.int32)
            column[here] = ids
            tables.append(table)
            columns.append(column)
        stacked = np.column_stack(columns) if columns else np.zeros((len(regions), 0), np.int32)
        return cls(tuple(tables), ids=stacked)

    @classmethod
    def points(cls, attributes: Sequence[Attribute], codes: np.ndarray) -> Regions:
        """Return one region of single values for each row of codes."""
        tables, ids = Labels.exact(attributes, codes)
        return cls(tables, ids=ids)

    @classmethod
    def joined(cls, attributes: Sequence[Attribute], parts: Sequence[Regions]) -> Regions:
        """Return the regions of several, one after another."""
        tables, columns = [], []
        for at, attribute in enumerate(attributes):
            table, column = Labels.joined(attribute, [(part.tables[at], part.ids[:, at]) for part in parts])
            tables.append(table)
            columns.append(column)
        count = sum(len(part) for part in parts)
        return cls(tuple(tables), ids=np.column_stack(columns) if columns else np.zeros((count, 0), np.int32))

    def take(self, places: Any) -> Regions:
        """Return some of the regions."""
        return Regions(self.tables, ids=self.ids[places])

    def where(self, region: int) -> dict[str, Intervals]:
        """Return the intervals of one region by attribute name."""
        chosen = zip(self.tables, self.ids[region].tolist(), strict=True)
        return {table.attribute.name: table.intervals(at) for table, at in chosen if at != ANY}

    def flat(self) -> list[np.ndarray]:
        """Return lengths, starts and ends of all intervals, region by region: equal for equal regions."""
        found = []
        for table, ids in zip(self.tables, self.ids.T, strict=True):
            lengths = np.concatenate([np.diff(table.offsets), [0]])[ids]  # ANY is -1: the last, of no interval
            first = np.cumsum(lengths) - lengths
            total = int(lengths.sum())
            pieces = np.arange(total) + np.repeat(np.append(table.offsets[:-1], 0)[ids] - first, lengths)
            found += [
                lengths.astype(np.int64),
                table.starts[pieces].astype(np.int64),
                table.ends[pieces].astype(np.int64),
            ]
        return found

    def to_json(self) -> list[dict[str, list[list[int]]]]:
        """Return each region as a plain mapping from attribute name to code intervals."""
        return [
            {name: [list(pair) for pair in intervals] for name, intervals in self.where(at).items()}
            for at in range(len(self))
        ]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]], schema: Schema, names: Sequence[str]) -> Regions:
        """Return the regions that `to_json` wrote, in the codes of the same schema."""
        regions = [
            {name: tuple((int(low), int(high)) for low, high in pairs) for name, pairs in region.items()}
            for region in data
        ]
        attributes = [schema[name] for name in names]
        for attribute in attributes:
            held = [region[attribute.name] for region in regions if attribute.name in region]
            if any(not 0 <= low < high <= attribute.size for pairs in held for low, high in pairs):
                raise NotComparable(f"attribute {attribute.name}: the regions are written in other codes.")
        return cls.of(attributes, regions)


def overlaps(labels: Labels, table: Labels, used: np.ndarray) -> np.ndarray:
    """Return how many codes each label shares with each of the regions `used`: labels x regions.

    Counted at the ends of the labels, so that a region of many intervals costs no more room than one of a single one.
    """
    if not len(labels) or not len(used):
        return np.zeros((len(labels), len(used)), np.int64)
    ends, places = np.unique(np.concatenate([labels.starts, labels.ends]), return_inverse=True)
    chosen = table if len(used) == len(table) else table.take(used)
    below = chosen.below(ends).T
    start, end = np.split(places.reshape(-1), 2)
    return np.asarray(np.add.reduceat(below[end] - below[start], labels.offsets[:-1], axis=0))
