"""Sets of codes without order, a bit for each code: a random half of 100,000 codes has no short list of intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.schema import Attribute, Labels
from sfumato.schema.labels import Intervals

_ONES = np.array([byte.bit_count() for byte in range(256)], np.uint8)
_FIRST = np.array([(0xFF00 >> bits) & 0xFF for bits in range(8)], np.uint8)  # masks of the first bits of a byte


@dataclass(frozen=True)
class Scattered:
    """Set i holds the codes whose bits are 1 in row i. Asked as `Labels` are, and a tenth of their size or less."""

    attribute: Attribute
    bits: np.ndarray

    def __post_init__(self) -> None:
        self.bits.setflags(write=False)

    def __len__(self) -> int:
        return len(self.bits)

    @classmethod
    def empty(cls, attribute: Attribute, sets: int) -> np.ndarray:
        """Return the bits of sets without codes, with room for the end of the last code."""
        return np.zeros((sets, attribute.size // 8 + 1), np.uint8)

    @classmethod
    def joined(
        cls, attribute: Attribute, parts: Sequence[tuple[Scattered, np.ndarray]]
    ) -> tuple[Scattered, np.ndarray]:
        """Return the sets that some ids of several tables use, and all ids in it; an id of -1 stays -1."""
        used = [np.unique(column[column >= 0]) for _, column in parts]
        if len(parts) == 1 and len(used[0]) == len(parts[0][0]):
            return parts[0]  # nothing is left out: a copy would be large
        bits, count, ids = cls.empty(attribute, sum(map(len, used))), 0, []
        for (table, column), here in zip(parts, used, strict=True):
            np.take(table.bits, here, axis=0, out=bits[count : count + len(here)])
            ids.append(np.where(column >= 0, np.searchsorted(here, column) + count, -1).astype(np.int32))
            count += len(here)
        return cls(attribute, bits), np.concatenate(ids)

    def take(self, sets: np.ndarray) -> Scattered:
        """Return some of the sets, in the order given."""
        return Scattered(self.attribute, self.bits[sets])

    @property
    def low(self) -> np.ndarray:
        """First code of each set."""
        return self.labels.low

    @property
    def labels(self) -> Labels:
        """The same sets as intervals."""
        lengths, starts, ends = runs_of(np.unpackbits(self.bits, axis=1, count=self.attribute.size).view(np.int8))
        return Labels(self.attribute, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), starts, ends)

    def intervals(self, at: int) -> Intervals:
        """Return the intervals of one set."""
        return self.take(np.array([at])).labels.intervals(0)

    def below(self, codes: np.ndarray) -> np.ndarray:
        """Return how many codes of each set lie below each of some codes: sets x codes."""
        codes = np.asarray(codes, np.int64)
        byte, first = codes >> 3, _FIRST[codes & 7]
        found = np.empty((len(self), len(codes)), np.int64)
        before = np.zeros(self.bits.shape[1] + 1, np.int64)
        for at, row in enumerate(self.bits):
            np.cumsum(_ONES[row], out=before[1:])
            found[at] = before[byte] + _ONES[row[byte] & first]
        return found

    def within(self, at: int, codes: np.ndarray) -> np.ndarray:
        """Whether one set holds each of some codes."""
        return np.asarray((self.bits[at, codes >> 3] >> (7 - (codes & 7)).astype(np.uint8)) & 1 > 0)

    def holds(self, codes: np.ndarray) -> np.ndarray:
        """Return a sets x codes matrix: does the set hold the code?"""
        return np.asarray((self.bits[:, codes >> 3] >> (7 - (codes & 7)).astype(np.uint8)) & 1 > 0)


def runs_of(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Runs of ones of each row: how many, where they start, where they end."""
    change = np.diff(mask, axis=1, prepend=0, append=0)
    row, starts = np.nonzero(change == 1)
    _, ends = np.nonzero(change == -1)
    narrow = np.int32 if mask.shape[1] < 2**31 - 1 else np.int64  # there may be millions of intervals
    return np.bincount(row, minlength=len(mask)), starts.astype(narrow), ends.astype(narrow)
