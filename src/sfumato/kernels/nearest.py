"""Which boxes lie nearest to a point: a sum over attributes of how far the point's code lies outside the label.

Source    Gower, Biometrics 27, 1971 (nominal: 0 or 1; ordered: a share of the range), between a point and a box.
Claim     Returns every (point, box) pair at the least distance of its point; distances are whole numbers, so that
          ties are exact.
Because   all boxes are looked at twice, once for the least distance and once for who has it; an attribute is left
          unread only where the sum is already too large.
Checked   tests/claims/test_nearest_boxes.py::test_the_kernel_equals_the_definition
Silent on whether the distance means anything to a person.
Cost      points x boxes x attributes in the worst case; most boxes are left after one or two attributes.
"""

from __future__ import annotations

import numpy as np

from sfumato.arrays import Ints
from sfumato.kernels.cache import compiled

UNIT = 1 << 20  # of one attribute at most


@compiled
def _distance(
    point: Ints, labels: Ints, step: Ints, top: Ints, first: Ints, offsets: Ints, starts: Ints, ends: Ints, most: int
) -> int:
    """Sum of the gaps, or a number above `most` as soon as it is one.

    A step of 0 marks a nominal attribute. Codes from `top` on are missing: they lie on no line.
    """
    total = 0
    for at in range(len(point)):
        code = point[at]
        low = offsets[first[at] + labels[at]]
        high = offsets[first[at] + labels[at] + 1]
        gap = UNIT
        for piece in range(low, high):
            if starts[piece] <= code < ends[piece]:
                gap = 0
                break
            if step[at] > 0 and code < top[at] and starts[piece] < top[at]:
                away = starts[piece] - code if code < starts[piece] else code - ends[piece] + 1
                gap = min(gap, away * step[at])
        total += gap
        if total > most:
            return total
    return total


@compiled
def nearest(
    points: Ints, labels: Ints, step: Ints, top: Ints, first: Ints, offsets: Ints, starts: Ints, ends: Ints
) -> tuple[Ints, Ints, Ints]:
    """Return (point, box) of all nearest boxes, and the least distance of each point in `UNIT`s."""
    best = np.empty(len(points), np.int64)
    found = 0
    for at in range(len(points)):
        least, ties = UNIT * (points.shape[1] + 1), 0
        for box in range(len(labels)):
            away = _distance(points[at], labels[box], step, top, first, offsets, starts, ends, least)
            if away < least:
                least, ties = away, 1
            elif away == least:
                ties += 1
        best[at] = least
        found += ties
    who, which = np.empty(found, np.int64), np.empty(found, np.int64)
    found = 0
    for at in range(len(points)):
        for box in range(len(labels)):
            if _distance(points[at], labels[box], step, top, first, offsets, starts, ends, best[at]) == best[at]:
                who[found], which[found] = at, box
                found += 1
    return who, which, best
