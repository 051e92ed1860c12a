"""Names for the array types that many modules share, and sums of whole weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def whole_sums(key: NDArray[Any], weights: NDArray[Any], length: int) -> Ints:
    """Return the sum of the whole weights of each key 0 .. length - 1; in floats, exact below 2^53."""
    return np.bincount(key, weights=weights, minlength=length).astype(np.int64)
