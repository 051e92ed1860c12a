"""Compile every kernel once into the cache: `python -m sfumato.kernels.warm`, before test workers start."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.anatomy import bucket_values
from sfumato.kernels.conditions import size
from sfumato.kernels.mondrian import partition
from sfumato.kernels.mondrian_layout import Attribute

__all__ = ["warm"]


def warm() -> None:
    """Run each kernel on a tiny table."""
    codes = np.array([[0], [1]], np.int32)
    for cut in ("best", "widest"):
        partition(codes, np.array([1, 1]), [Attribute(2)], conditions=[size(1)], cut=cut)
    bucket_values(np.array([2, 2], np.int64), 2)


if __name__ == "__main__":
    warm()
