"""What is public in a choice beside its scores: its share of the budget, and what is taken off a score beforehand.

Source    Ours; docs/theory/diffgen.md, Handicaps. Permute-and-flip: McKenna & Sheldon, NeurIPS 2020.
Claim     Every number here is a function of the parameters, the schema and the choices made so far.
Because   nothing here takes data. A public number taken off a score changes neither how far one row moves it nor
          in which direction.
Checked   tests/claims/test_diffgen.py::test_the_whole_mechanism_keeps_its_epsilon
          tests/claims/test_audit.py::test_every_trap_has_a_twin_that_is_caught
          tests/unit/mechanisms/test_diffgen_parameters.py::test_handicaps_are_whole_and_public
Silent on whether the handicaps are the best ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from sfumato.mechanisms.diffgen_scores import Score
from sfumato.randomness.enclosure import context

__all__ = ["affordable", "for_new_cells", "for_ways", "shares"]

LEAST = 3  # specializations at epsilon 1/10 and below
FROM = Fraction(1, 10)
_DIGITS = context(40)  # not the caller's: the same handicap everywhere


def shares(many: int, ratio: Fraction) -> list[Fraction]:
    """Divide 1 among choices in order, each getting `ratio` times what the one before gets.

    >>> shares(3, Fraction(2))
    [Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)]
    """
    parts = [ratio**at for at in range(many)]
    return [part / sum(parts) for part in parts]


def affordable(epsilon: Fraction) -> int:
    """Return how many specializations an epsilon pays for: 3 at 1/10, one more each time it doubles.

    >>> [affordable(Fraction(e)) for e in ("0.05", "0.1", "0.25", "0.5", "1", "2")]
    [3, 3, 4, 5, 6, 7]
    """
    found = LEAST
    while epsilon >= 2 * FROM:
        epsilon, found = epsilon / 2, found + 1
    return found


def for_ways(ways: Sequence[int], epsilon: Fraction, score: Score) -> list[int]:
    """Return what each way to specialize a value is set back, so that a value with many ways counts as one.

    It is ln(ways) in units of the score: the best of m equal scores leads by about as much.
    """
    unit = score.sensitivity * (1 if score.monotone else 2) / epsilon
    return [math.floor(Fraction(Decimal(int(many)).ln(_DIGITS)) * unit) for many in ways]


def for_new_cells(borders: Sequence[np.ndarray], held: Sequence[int], price: Fraction, score: Score) -> list[int]:
    """Return what each value is set back for the cells it adds; `held` is how many cells its node has now."""
    return [
        math.floor(price * many * (ways.shape[1] - 2) * score.row) for ways, many in zip(borders, held, strict=True)
    ]
