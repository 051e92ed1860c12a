"""Entropy that gives out listed words, so that a draw can be forced and every word of it enumerated."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

__all__ = ["Script"]


class Script:
    """A source that gives out listed words; LookupError when they are used up."""

    seeded = True

    def __init__(self, words: Iterable[int]) -> None:
        self.words = list(words)

    def read(self, count: int) -> np.ndarray:
        """Return the next words."""
        if len(self.words) < count:
            raise LookupError
        given, self.words = self.words[:count], self.words[count:]
        return np.array(given, dtype=np.uint64)
