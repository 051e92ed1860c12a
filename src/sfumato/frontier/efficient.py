"""The efficient set: releases than which no other is as good on both axes and better on one.

Source    Li & Li, KDD 2009, section 5.1 ("there does not exist another anonymized dataset with both lower privacy
          loss and lower utility loss"), in the weak form: one strict inequality is enough to be beaten.
Claim     A point is efficient exactly if no other has x <= and y <= with at least one of them strict. Points that are
          equal on both axes are efficient together or not at all. A point without a number (NaN) never is.
Because   in the order of x only a smaller y than all before can escape; of equal x only the smallest y; comparisons
          are exact, so a tie is a tie.
Checked   tests/claims/test_efficient_set.py::test_equals_all_pairs
          tests/claims/test_efficient_set.py::test_wrong_twins_are_caught
Silent on how much better a point is, and on releases that were not tried.
Cost      one sort.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["efficient_set"]


def efficient_set(x: Sequence[float], y: Sequence[float]) -> list[bool]:
    """Return for each point whether it is efficient, where less is better on both axes."""
    found = [False] * len(x)
    placed = [at for at in range(len(x)) if not (math.isnan(x[at]) or math.isnan(y[at]))]
    best, last = math.inf, None
    unbeaten = True  # whether an infinite y may still be the best there is
    for at in sorted(placed, key=lambda at: (x[at], y[at])):
        if (x[at], y[at]) == last:
            found[at] = True
        elif y[at] < best or (unbeaten and y[at] == best):
            found[at] = True
            best, last, unbeaten = y[at], (x[at], y[at]), False
    return found
