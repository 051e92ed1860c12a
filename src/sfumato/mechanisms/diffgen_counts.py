"""Pay for the choice of h: how many of the specializations are kept.

Source    The DiffGen paper, section 5, leaves "a good value of h" open and lets the owner try several, which no budget
          covers. Selecting among nested prefixes by one exponential mechanism: docs/theory/diffgen.md.
Claim     The choice is epsilon-DP on top of what the specializations cost.
Because   a prefix is a function of choices already made; its score, the rows in the largest class of their cell less
          a public penalty, moves by 0 or 1 with one row, for all prefixes the same way.
Checked   tests/claims/test_diffgen.py::test_the_whole_mechanism_keeps_its_epsilon
          tests/claims/test_audit.py::test_every_trap_has_a_twin_that_is_caught
Silent on whether the penalty is the best one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sfumato.mechanisms.diffgen_cuts import Cut
from sfumato.mechanisms.diffgen_growth import Draw
from sfumato.mechanisms.diffgen_scores import score_of
from sfumato.mechanisms.noisy_cells import Cells, decoded, radices

__all__ = ["choose_prefix", "prefix_scores"]


def choose_prefix(
    finest: Cells, cuts: Sequence[tuple[Cut, ...]], epsilon: Fraction, later: Fraction, *, draw: Draw
) -> int:
    """Return the number of the chosen prefix; `later` is what the counts of a row will get."""
    return draw.choose(
        np.array(prefix_scores(finest, cuts, later), dtype=object), epsilon=epsilon, score=score_of("max", classes=2)
    )


def prefix_scores(finest: Cells, cuts: Sequence[tuple[Cut, ...]], later: Fraction) -> list[int]:
    """Rows in the largest class of their cell, less half the size of the noise for each cell there is."""
    width = len(finest.tables)
    columns = decoded(finest.where, radices(finest.schema, finest.tables))
    found = []
    for cut in cuts:
        coarse = []
        for at, nodes in enumerate(cut):
            lows = np.array([node.low for node in nodes])
            coarse.append(np.searchsorted(lows, finest.tables[at].low[columns[at]], side="right"))
        keys = np.column_stack([*coarse, *columns[width:]])
        correct = _largest_class(keys, width, finest.counts)
        found.append(correct - math.floor(math.prod(len(nodes) for nodes in cut) / (2 * later)))
    return found


def _largest_class(keys: np.ndarray, width: int, counts: np.ndarray) -> int:
    """Sum over cells of the largest count among their classes."""
    if not len(counts):
        return 0
    _, cell = np.unique(keys[:, :width], axis=0, return_inverse=True)
    rows, which = np.unique(np.column_stack([cell.ravel(), keys[:, width:]]), axis=0, return_inverse=True)
    sums = np.bincount(which.ravel(), weights=counts).astype(np.int64)
    best = np.zeros(int(rows[:, 0].max()) + 1, np.int64)
    np.maximum.at(best, rows[:, 0], sums)
    return int(best.sum())
