"""Corrections of the odds that noisy cells give: one attribute after the other, each measured on what is still wrong.

Source    Boosting (Friedman, Hastie & Tibshirani, Annals of Statistics 28, 2000) with noisy sums; the table whose
          entries add up to one for each row is ours.
Claim     One row moves every table of `measured` by at most `UNITS` in L1, and every score of `left_over` by at most
          `UNITS`. Nothing else here reads data.
Because   given what was drawn before, the chance q that a model gives a row is one fixed function of that row, in
          whole units from 1 to UNITS - 1. A row adds UNITS - q to `above` or q to `below`, and the rest of UNITS to
          one entry of `settled`: non-negative whole numbers whose sum is UNITS. A score is a sum of |above - below|,
          of which one row moves one term by less than UNITS, up or down, less a public handicap.
Checked   tests/claims/test_target_rows.py::test_one_row_moves_a_correction_by_one_row_at_most
          tests/claims/test_target_rows.py::test_the_whole_mechanism_keeps_its_epsilon
          tests/unit/mechanisms/test_corrections.py
Silent on how good the corrections are. Odds are floats, made by + - * / and square roots and summed in a fixed order;
          they shape what already carries noise and decide no draw.
Cost      O(rows x attributes) for each correction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction

import numpy as np

from sfumato.mechanisms.diffgen.growth import Cut
from sfumato.mechanisms.diffgen.scores import Score
from sfumato.mechanisms.target_rows.row_model import CellLaw, positive, sum_in_order, whole_weights, with_values
from sfumato.randomness import Entropy

UNITS = 64  # of one row: chances are counted in these
STRATA = (0.1, 0.3, 0.5, 0.7)  # chances at which rows are divided into strata, to draw values
SPREAD = 0.15  # variance of a correction's log odds that is expected beforehand
MOST = 0.8  # of (above - below) / (above + below): no value multiplies the odds by more than 9
EXTREME = 500.0  # odds stay within 1/500 and 500
NOISE = Fraction(1, 10)  # of the noise that a value's entry carries, taken off a score
CLASS_UNITS = 1 << 20  # chances of the class of a drawn row
# What candidates are chosen by; |above - below| moves either way, so the score is not monotone.
RESIDUAL = Score("gain", sensitivity=UNITS, monotone=False, summed=None, minus_parent=True)


@dataclass(frozen=True)
class Correction:
    """One attribute: which value a code is, which label of the cut a value lies in, and what was learnt of it.

    `factor` is what a value multiplies the odds with; `weights` (values x strata) are whole numbers to draw it by.
    """

    at: int
    _: KW_ONLY
    value: np.ndarray  # of each code
    label: np.ndarray  # of each value
    factor: np.ndarray
    weights: np.ndarray
    rows: int  # that its noisy table has in all

    @property
    def entries(self) -> int:
        """How many noisy counts `rows` is the sum of: both tables of `measured`."""
        return self.weights.size + 2 * len(self.factor)


@dataclass(frozen=True)
class CorrectedModel:
    """Rows of two classes: a cell by the noisy counts, a value for each correction, then the class by the odds."""

    cells: CellLaw
    _: KW_ONLY
    classes: np.ndarray
    corrections: tuple[Correction, ...]
    rows: int  # how many are drawn: tables of corrections count them, too


def starting_odds(law: CellLaw, cells: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the odds of the second class in each of some cells."""
    weights = law.odds(cells, classes / sum_in_order(classes))
    return _kept(weights[:, 1] / np.maximum(weights[:, 0], 1e-300))


def corrected(odds: np.ndarray, correction: Correction, value: np.ndarray) -> np.ndarray:
    """Return the odds after a correction, for rows of some values."""
    return _kept(odds * correction.factor[value])


def _kept(odds: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.clip(odds, 1 / EXTREME, EXTREME)
    return found


def units(odds: np.ndarray, many: int = UNITS) -> np.ndarray:
    """Return the chance of the second class in whole units, from 1 to `many` - 1.

    >>> units(np.array([0.0, 1.0, 1e9])).tolist()
    [1, 32, 63]
    """
    found: np.ndarray = np.clip(np.floor(odds / (1 + odds) * many + 0.5).astype(np.int64), 1, many - 1)
    return found


def _stratum(odds: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.searchsorted(np.array(STRATA), odds / (1 + odds), side="right")
    return found


def measured(
    value: np.ndarray, many: int, odds: np.ndarray, *, second: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how far the odds are off at each value, and the rest of each row: confidential, in units.

    The first (values x 2): `above`, what rows of the second class lack, and `below`, what the others have too much.
    Under odds that are right both are the same; the odds want to be multiplied by above / below. The second
    (values x strata) is `settled`, what remains of each row, so that both together count the rows at each value.
    """
    chance = units(odds)
    off = np.zeros((many, 2), np.int64)
    np.add.at(off, (value, np.where(second, 0, 1)), np.where(second, UNITS - chance, chance) * weight)
    settled = np.zeros((many, len(STRATA) + 1), np.int64)
    np.add.at(settled, (value, _stratum(odds)), np.where(second, chance, UNITS - chance) * weight)
    return off, settled


def left_over(value: np.ndarray, many: int, odds: np.ndarray, *, second: np.ndarray, weight: np.ndarray) -> int:
    """Return by how much the odds are off over all values of an attribute: confidential, in units."""
    chance = units(odds)
    off = np.zeros(many, np.int64)
    np.add.at(off, value, np.where(second, UNITS - chance, -chance) * weight)
    return int(np.abs(off).sum())


def handicap(many: int, doubt: float, rate: Fraction) -> int:
    """Return the handicap of an attribute of `many` values, in units: what chance and noise alone would show.

    `doubt` is the sum of chance x (1 - chance) over the rows, from noisy counts.
    """
    return math.floor(UNITS * 0.8 * math.sqrt(many * max(doubt, 0.0))) + math.floor(UNITS * NOISE * many / rate)


def doubt(law: CellLaw, classes: np.ndarray) -> float:
    """Return the sum of chance x (1 - chance) over the rows of noisy cells."""
    odds = starting_odds(law, law.where, classes)
    return sum_in_order(law.counts.sum(axis=1) * odds / ((1 + odds) * (1 + odds)))


def fitted_correction(
    at: int, borders: np.ndarray, cut: Cut, *, off: np.ndarray, settled: np.ndarray, rate: Fraction
) -> Correction:
    """Return the correction from its noisy tables; `rate` is the epsilon of one row.

    The distance of the factor from 1 is shrunk by the part that noise and chance explain: how large the noise is, is
    public. Values of a stratum are drawn by its noisy counts, drawn towards those of all strata.
    """
    noise = 1 / float(rate)
    above, below = off[:, 0] / UNITS, off[:, 1] / UNITS
    sure = np.maximum((above + below) / 2, 0.0)
    kept = sure * sure * SPREAD
    kept = kept / np.maximum(kept + sure + 4 * noise * noise, 1e-300)
    tilt = np.where(sure > 0, (above - below) / np.maximum(2 * sure, 1e-300), 0.0) * kept
    tilt = np.clip(tilt, -MOST, MOST)
    rows = (off.sum(axis=1) + settled.sum(axis=1)) / UNITS
    overall = positive(rows, max(sum_in_order(rows), 1.0))
    strength = 2 * len(rows) * noise / sum_in_order(overall)
    weights = []
    for one in settled.T:
        here = one / UNITS
        weights.append(positive(here, max(sum_in_order(here), 0.0)) + strength * overall)
    lows = np.array([node.low for node in cut], np.int64)
    return Correction(
        at,
        value=np.searchsorted(borders, np.arange(int(borders[-1])), side="right") - 1,
        label=np.searchsorted(lows, borders[:-1], side="right") - 1,
        factor=(1 + tilt) / (1 - tilt),
        weights=whole_weights(np.column_stack(weights)),
        rows=max(0, (int(off.sum()) + int(settled.sum())) // UNITS),
    )


def corrected_rows(
    model: CorrectedModel, radix: Sequence[int], entropy: Entropy
) -> tuple[list[np.ndarray], np.ndarray]:
    """Draw rows: a column of labels or values for each attribute, and the classes.

    Cells get their noisy counts less the same number each, so that they come to the rows. Values come in the
    proportions of their weights in each group of rows of one label and stratum; the class by systematic sampling along
    the rows in their order, so that rows that are alike have the classes that their odds say. Whole numbers throughout.
    """
    many = positive(model.cells.counts.sum(axis=1).astype(float), float(model.rows))
    many = np.floor(many + 0.5).astype(np.int64)
    cell = np.repeat(model.cells.where, many)
    odds = starting_odds(model.cells, cell, model.classes)
    columns: list[np.ndarray] = []
    rest = cell
    for size in reversed(radix):
        rest, inside = rest // size, rest % size
        columns.append(inside)
    columns.reverse()
    width = len(STRATA) + 1
    drawn = []
    for number, one in enumerate(model.corrections):
        key = columns[one.at] * width + _stratum(odds)
        values = with_values(one.weights, one.label, key, width, entropy.child(f"correction {number}"))
        columns[one.at] = values
        drawn.append(values)
        odds = corrected(odds, one, values)
    order = np.lexsort((*reversed(drawn), cell))
    chance = units(odds, CLASS_UNITS)[order]
    start = entropy.child("class").below(CLASS_UNITS)
    sums = np.cumsum(chance) + start
    label = np.empty(len(cell), np.int64)
    label[order] = sums // CLASS_UNITS - (sums - chance) // CLASS_UNITS
    return columns, label
