"""Public shapes of a prior: uniform, falling with distance, or like an older public table.

Shapes hold whole-number weights; `smallest_scale` finds the scale. Nothing here may see the confidential table:
a weight or a keep probability taken from it would be a release of its own that no certificate covers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.mechanisms.dirichlet_rules import Stratum

__all__ = ["distance_weights", "flow_weights", "scaled", "strata_of", "uniform_shape"]

Ints = NDArray[np.int64]


def uniform_shape(k: int, *, keep: Fraction = Fraction(1)) -> tuple[Stratum, ...]:
    """Return the shape in which all k public blocks weigh the same."""
    return (Stratum(Fraction(1), blocks=k, keep=keep),)


def distance_weights(distances: Sequence[float], bands: Sequence[float], weights: Sequence[int]) -> Ints:
    """Return each block's weight by its distance: weights[b] up to bands[b], the last weight beyond.

    Distances are public geography. Farther blocks must keep a weight of at least 1: a block without prior mass
    would prove that whoever is drawn there is real.
    """
    if len(weights) != len(bands) + 1 or any(b <= a for a, b in pairwise(bands)):
        raise ParameterError("bands", len(bands), "must rise, and be one fewer than the weights")
    if min(weights) < 1:
        raise ParameterError("weights", min(weights), "must be at least 1 everywhere")
    if any(not math.isfinite(d) or d < 0 for d in distances):
        raise ParameterError("distances", "bad", "must be finite and not negative")
    at = np.searchsorted(np.asarray(bands, dtype=np.float64), np.asarray(distances, dtype=np.float64))
    return np.asarray(weights, dtype=np.int64)[at]


def flow_weights(flows: Sequence[int], *, floor: int = 1, cap: int | None = None) -> Ints:
    """Return weights like an older public table: its counts, at least `floor`, at most `cap`.

    Each distinct weight is a stratum, so a cap keeps the certificate cheap.
    """
    if floor < 1:
        raise ParameterError("floor", floor, "must be at least 1: every public block needs some prior")
    counts = np.asarray(flows, dtype=np.int64)
    return np.clip(counts, floor, cap if cap is not None else max(floor, int(counts.max(initial=floor))))


def strata_of(weights: Ints, *, keep: Sequence[Fraction] | None = None) -> tuple[tuple[Stratum, ...], Ints]:
    """Return the strata of equal weight (and keep), and the slot of each block: strata are ranges of slots."""
    chances = [Fraction(1)] * weights.size if keep is None else list(keep)
    kinds = sorted(set(zip(weights.tolist(), chances, strict=True)))
    number = {kind: index for index, kind in enumerate(kinds)}
    of_block = np.array([number[kind] for kind in zip(weights.tolist(), chances, strict=True)], dtype=np.int64)
    order = np.argsort(of_block, kind="stable")
    slots = np.empty(weights.size, dtype=np.int64)
    slots[order] = np.arange(weights.size)
    sizes = np.bincount(of_block, minlength=len(kinds))
    strata = (Stratum(Fraction(w), blocks=int(b), keep=f) for (w, f), b in zip(kinds, sizes, strict=True))
    return tuple(strata), slots


def scaled(shape: Sequence[Stratum], scale: Fraction) -> tuple[Stratum, ...]:
    """Return the prior: the shape times a scale."""
    return tuple(Stratum(s.alpha * scale, blocks=s.blocks, keep=s.keep) for s in shape)
