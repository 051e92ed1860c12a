"""Anatomy's bucket creation in four lines: the reference of `kernels.anatomy`."""

from __future__ import annotations

import numpy as np


def bucket_values_reference(counts: np.ndarray, l: int) -> np.ndarray:
    """Return the values of each group (groups x l); `counts` is used up to what is left."""
    groups = []
    while (counts > 0).sum() >= l:
        largest = np.argsort(-counts, kind="stable")[:l]
        counts[largest] -= 1
        groups.append(largest)
    return np.array(groups, np.int64).reshape(-1, l)
