"""The distinct labels of one attribute in one release: each a sorted union of half-open code intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.schema.attribute import Attribute
from sfumato.schema.naming import Intervals, label_name

__all__ = ["Labels"]


@dataclass(frozen=True)
class Labels:
    """Label i is the union of `[starts[j], ends[j])` for j in `offsets[i] .. offsets[i + 1] - 1`."""

    attribute: Attribute
    offsets: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.offsets, self.starts, self.ends):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def from_hulls(cls, attribute: Attribute, low: np.ndarray, high: np.ndarray) -> tuple[Labels, np.ndarray]:
        """Return the distinct intervals, in order, and the label id of each given one."""
        span = np.int64(attribute.size) + 1
        keys, ids = np.unique(np.asarray(low, np.int64) * span + np.asarray(high, np.int64), return_inverse=True)
        labels = cls(attribute, np.arange(len(keys) + 1), keys // span, keys % span)
        return labels, ids.astype(np.int32)

    @classmethod
    def from_sets(cls, attribute: Attribute, sets: Sequence[Intervals]) -> tuple[Labels, np.ndarray]:
        """Return the distinct labels, in order of their codes, and the label id of each given one."""
        distinct = sorted(set(sets))
        place = {intervals: at for at, intervals in enumerate(distinct)}
        lengths = np.array([len(intervals) for intervals in distinct], dtype=np.int64)
        flat = np.array([pair for intervals in distinct for pair in intervals], dtype=np.int64).reshape(-1, 2)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        labels = cls(attribute, offsets, flat[:, 0].copy(), flat[:, 1].copy())
        return labels, np.array([place[intervals] for intervals in sets], dtype=np.int32)

    @classmethod
    def of_codes(cls, attribute: Attribute) -> Labels:
        """One label for each code: what an exact column publishes."""
        codes = np.arange(attribute.size, dtype=np.int64)
        return cls(attribute, np.arange(attribute.size + 1, dtype=np.int64), codes, codes + 1)

    @classmethod
    def exact(cls, attributes: Sequence[Attribute], codes: np.ndarray) -> tuple[tuple[Labels, ...], np.ndarray]:
        """Return one label for each code that occurs, by attribute, and the label ids of rows of codes."""
        found = [cls.from_hulls(one, codes[:, at], codes[:, at] + 1) for at, one in enumerate(attributes)]
        ids = np.empty((len(codes), len(found)), np.int32)
        for at, (_, column) in enumerate(found):
            ids[:, at] = column.reshape(-1)
        return tuple(labels for labels, _ in found), ids

    @classmethod
    def joined(cls, attribute: Attribute, parts: Sequence[tuple[Labels, np.ndarray]]) -> tuple[Labels, np.ndarray]:
        """Return the labels that some ids of several tables use, and all ids in it; an id of -1 stays -1."""
        taken, ids, count = [], [], 0
        for table, column in parts:
            used, places = np.unique(column[column >= 0], return_inverse=True)
            taken.append(table.take(used))
            numbered = np.full(len(column), -1, np.int32)
            numbered[column >= 0] = places.reshape(-1) + count
            ids.append(numbered)
            count += len(used)
        none = np.zeros(0, np.int64)
        lengths = np.concatenate([none, *(np.diff(table.offsets) for table in taken)])
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        starts = np.concatenate([table.starts for table in taken]) if taken else none
        ends = np.concatenate([table.ends for table in taken]) if taken else none
        return cls(attribute, offsets, starts, ends), np.concatenate([none.astype(np.int32), *ids])

    def intervals(self, label: int) -> Intervals:
        """Return the intervals of one label."""
        part = slice(int(self.offsets[label]), int(self.offsets[label + 1]))
        return tuple(zip(self.starts[part].tolist(), self.ends[part].tolist(), strict=True))

    @cached_property
    def size(self) -> np.ndarray:
        """How many codes each label holds."""
        return np.add.reduceat(self.ends - self.starts, self.offsets[:-1]) if len(self) else np.zeros(0, np.int64)

    @cached_property
    def low(self) -> np.ndarray:
        """First code of each label."""
        return np.asarray(self.starts[self.offsets[:-1]])

    @cached_property
    def high(self) -> np.ndarray:
        """Code after the last of each label."""
        return np.asarray(self.ends[self.offsets[1:] - 1])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the public reads."""
        return tuple(label_name(self.attribute, self.intervals(label)) for label in range(len(self)))

    def name(self, label: int) -> str:
        """What the public reads of one label; `names` would write out all of them."""
        return label_name(self.attribute, self.intervals(label))

    def take(self, labels: np.ndarray) -> Labels:
        """Return the table of some of the labels, in the order given."""
        lengths = np.diff(self.offsets)[labels]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        pieces = np.repeat(self.offsets[:-1][labels] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Labels(self.attribute, offsets, self.starts[pieces], self.ends[pieces])

    def below(self, codes: np.ndarray) -> np.ndarray:
        """Return how many codes of each label lie below each of some codes: labels x codes."""
        codes = np.asarray(codes, np.int64)
        found = np.empty((len(self), len(codes)), np.int64)
        single = len(self.starts) == len(self)
        for label in range(0 if single else len(self)):
            first, last = int(self.offsets[label]), int(self.offsets[label + 1])
            starts, ends = self.starts[first:last], self.ends[first:last]  # rising
            begun = np.searchsorted(starts, codes, side="right")
            at = np.maximum(begun - 1, 0)
            before = np.cumsum(ends - starts, dtype=np.int64) - (ends - starts)
            found[label] = np.where(begun > 0, before[at] + np.minimum(codes, ends[at]) - starts[at], 0)
        if single:
            np.subtract(codes[None, :], self.starts[:, None], out=found)
            np.minimum(found, (self.ends - self.starts)[:, None], out=found)
            np.maximum(found, 0, out=found)
        return found

    def overlap(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return |label n [low, high)| as a labels x intervals matrix of code counts."""
        found = self.below(high)
        found -= self.below(low)
        return found

    def coverage(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return |label n [low, high)| / |label|: the share of a label a region holds under the uniform reading."""
        return np.asarray(self.overlap(low, high) / self.size[:, None])

    def holds(self, codes: np.ndarray) -> np.ndarray:
        """Return a labels x codes matrix: does the label hold the code?"""
        codes = np.asarray(codes, np.int64)
        return self.overlap(codes, codes + 1) > 0
