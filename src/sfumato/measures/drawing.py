"""Random sets of values for queries: intervals of ordered attributes, any values of nominal ones."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

from sfumato.randomness import Entropy
from sfumato.reading import ANY, Regions
from sfumato.schema import Attribute, Labels

__all__ = ["chosen_values", "draw_ranges"]

_WIDE = 2000  # values above which rows of random words would not fit in memory


def _values(attribute: Attribute) -> int:
    """Values a query may choose from: an interval of an ordered attribute never holds the missing code."""
    return attribute.values.size if attribute.ordered else attribute.size


def chosen_values(attribute: Attribute, parameters: tuple[int, Fraction, Literal["anatomy", "literal"]]) -> int:
    """Return how many values a query takes of an attribute: b of |A|, decided in whole numbers."""
    dimension, selectivity, reading = parameters
    size, power = _values(attribute), dimension + 1 if reading == "anatomy" else 1
    top, bottom = selectivity.numerator * size**power, selectivity.denominator
    low, high = 1, size
    while low < high:  # the least b with b^power / |A|^power >= selectivity
        middle = (low + high) // 2
        low, high = (low, middle) if middle**power * bottom >= top else (middle + 1, high)
    return low


def draw_ranges(
    attributes: Sequence[Attribute], sets: Sequence[int], dimension: int, size: int, entropy: Entropy
) -> tuple[Regions, Regions]:
    """Draw queries: `sets[j]` values of each of `dimension` attributes, and of the last, the sensitive one."""
    *quasi, wanted = attributes
    words = entropy.child("attributes").words(size * len(quasi)).reshape(size, len(quasi))
    taken = np.zeros((size, len(quasi)), bool)
    np.put_along_axis(taken, np.argsort(words, axis=1, kind="stable")[:, :dimension], values=True, axis=1)
    tables, ids = [], np.full(taken.shape, ANY, np.int32)
    for at, attribute in enumerate(quasi):
        here = np.flatnonzero(taken[:, at])
        tables.append(_draw(attribute, sets[at], len(here), entropy.child(f"values of {attribute.name}")))
        ids[here, at] = np.arange(len(here))
    values = _draw(wanted, sets[-1], size, entropy.child("sensitive values"))
    return Regions(tuple(tables), ids=ids), Regions((values,), ids=np.arange(size, dtype=np.int32)[:, None])


def _draw(attribute: Attribute, chosen: int, times: int, entropy: Entropy) -> Labels:
    """Return one label for each draw: `chosen` values of the attribute."""
    size = _values(attribute)
    if attribute.ordered:
        starts = entropy.below_many(size - chosen + 1, times).astype(np.int64)
        return Labels(attribute, np.arange(times + 1, dtype=np.int64), starts, starts + chosen)
    if size > _WIDE:
        rows = [_intervals(entropy.subset(size, chosen).astype(np.int8)[None, :]) for _ in range(times)]
        lengths = np.array([len(starts) for _, starts, _ in rows], np.int64)
        starts = np.concatenate([row[1] for row in rows]) if rows else np.zeros(0, np.int64)
        ends = np.concatenate([row[2] for row in rows]) if rows else np.zeros(0, np.int64)
    else:
        order = np.argsort(entropy.words(times * size).reshape(times, size), axis=1, kind="stable")
        lengths, starts, ends = _intervals(_mask(order[:, :chosen], size))
    return Labels(attribute, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), starts, ends)


def _mask(chosen: np.ndarray, size: int) -> np.ndarray:
    mask = np.zeros((len(chosen), size), np.int8)
    np.put_along_axis(mask, chosen, values=1, axis=1)
    return mask


def _intervals(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Runs of ones of each row: how many, where they start, where they end."""
    change = np.diff(mask, axis=1, prepend=0, append=0)
    row, starts = np.nonzero(change == 1)
    _, ends = np.nonzero(change == -1)
    narrow = np.int32 if mask.shape[1] < 2**31 - 1 else np.int64  # there may be millions of intervals
    return np.bincount(row, minlength=len(mask)), starts.astype(narrow), ends.astype(narrow)
