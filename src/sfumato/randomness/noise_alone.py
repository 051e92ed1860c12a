"""The smallest count that a noisy table reports, and how many cells without anybody are expected to reach it.

Source    The discrete Laplace law (geometric.py), of which an empty cell's count is a draw.
Claim     `expected_noise` is the expected number of empty cells that are reported, were all cells empty.
Because   an empty cell reaches t with p^t / (1 + p), p = e^-epsilon.
Checked   tests/claims/test_noise_only.py::test_expected_noise_is_the_exact_law
          tests/claims/test_noise_only.py::test_expected_noise_is_what_is_drawn
Silent on the table: functions of public numbers alone.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Literal

__all__ = ["FALSE_CELLS", "RARELY", "Threshold", "expected_noise", "threshold_for"]

FALSE_CELLS = 10  # empty cells that noise alone may report, expected, under threshold="auto"
RARELY = 20  # a threshold with one false cell in 20 releases is called quiet
Threshold = int | Literal["auto"]


def threshold_for(cells: int, epsilon: Fraction, asked: Threshold) -> int:
    """Return the smallest count reported: as asked, or such that at most 10 empty cells are expected."""
    if asked != "auto":
        return asked
    # cells p^t <= FALSE_CELLS, p = e^-epsilon. Decimal, so that every platform finds the same number.
    surplus = Decimal(cells) / FALSE_CELLS
    if surplus <= 1:
        return 1
    return max(1, math.ceil(Fraction(surplus.ln()) / epsilon))


def expected_noise(cells: int, epsilon: Fraction, threshold: int | Fraction) -> tuple[float, float]:
    """Return how many cells without anybody are expected to be reported, and with how many rows in all.

    An empty cell reaches t with p^t / (1 + p) and then has t + 1 / (e^epsilon - 1) rows on average, p = e^-epsilon.
    Every cell is counted as empty, so that nothing of the table is revealed: an upper bound, of public numbers only.
    """
    rate = float(epsilon)
    # In logarithms: cells may be 2^512, and their share as small.
    log_found = math.log(cells) - float(threshold * epsilon) - math.log1p(math.exp(-rate))
    found = math.exp(log_found) if log_found < 700 else math.inf
    return found, found * (float(threshold) + (1 / math.expm1(rate) if rate < 700 else 0.0))
