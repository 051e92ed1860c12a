"""Compiled functions that only compiled code calls, wrapped so that a test can call them from Python."""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Floats, Ints
from sfumato.kernels.cache import compiled
from sfumato.kernels.conditions import Conditions, holds
from sfumato.kernels.dlink.merging import Joins, UnitedClasses, distance
from sfumato.kernels.dlink.score import together
from sfumato.kernels.mondrian.slack import spare

__all__ = ["all_present", "distance_between", "holds_compiled", "rows_to_spare"]


@compiled
def holds_compiled(c: Conditions, n: int, counts: Ints) -> bool:
    """`holds`: n rows, counts of all sensitive columns one after another."""
    return holds(c, n, counts, 1.0)


@compiled
def all_present(rhos: Floats, n: float) -> float:
    """`together` of all of at most 12 values."""
    return together(rhos, rhos.size, n)


@compiled
def distance_between(t: Joins, c: UnitedClasses, i: int, j: int, weight: float) -> float:
    """`distance` without a bound."""
    return distance(t, c, i, j, weight, np.inf)


@compiled
def rows_to_spare(c: Conditions, n: int, counts: Ints) -> float:
    """`spare`."""
    return spare(c, n, counts)
