"""Anatomy's bucket creation on counts: which l sensitive values each group takes.

Source    Xiao & Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006, figure 3, lines 3-7.
Claim     Every group takes l different values, and what is left has at most one row of each of at most l - 1 values
          whenever no value has more than 1/l of the rows.
Because   each step takes one row of the l most frequent values, so that no count can fall behind (their property 1).
Checked   tests/claims/test_buckets.py::test_compiled_buckets_equal_the_reference
Silent on which people of a value go where: the mechanism draws that.
"""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Ints
from sfumato.kernels.cache import compiled


@compiled
def bucket_values(counts: Ints, l: int) -> Ints:  # noqa: E741
    """Return the values of each group (groups x l); ties go to the lower code. `counts` is used up to what is left."""
    groups = np.empty((counts.sum() // l, l), np.int64)
    made = 0
    while True:
        taken = np.zeros(len(counts), np.uint8)
        for slot in range(l):
            best = -1
            for value in range(len(counts)):
                if taken[value] == 0 and counts[value] > 0 and (best < 0 or counts[value] > counts[best]):
                    best = value
            if best < 0:
                return groups[:made].copy()
            taken[best] = 1
            groups[made, slot] = best
        for slot in range(l):
            counts[groups[made, slot]] -= 1
        made += 1
        if made == len(groups):
            return groups[:made].copy()
