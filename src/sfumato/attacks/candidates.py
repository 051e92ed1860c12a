"""Which published row is a row of the table? The narrowest that hold it come first.

Source    Ours.
Claim     A row of the table lies in one of the boxes whose labels hold it. Boxes are filled in order of how many values
          they hold, fewest first: a box takes all rows for which no wider box is left, and of the others an equal share
          of each, until it has as many rows as were published there. `share` is how likely a row of a point lies in a
          box; at each point that a box holds the shares add up to 1. Where every point lies in one box they are 1.
Because   rows that agree in what is known are alike. A suppressed row holds everybody: it is left for those whom no
          other row is left for, and does not hide anybody in a class.
Checked   tests/claims/test_identity_attack.py::test_suppressed_rows_hide_nobody_in_a_class
          tests/claims/test_identity_attack.py::test_overlapping_boxes_worked_out_by_hand
Silent on rows of the table that were not published at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.estimate import View, holding_boxes

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def shares_in_boxes(view: View, points: np.ndarray, rows: np.ndarray) -> csr_matrix:
    """Return points x boxes: how likely one of the `rows[i]` rows of the table at point i lies in each box."""
    from scipy.sparse import csr_matrix

    point, box = holding_boxes(view, points)
    some = view.weight[box] > 0
    point, box = point[some], box[some]
    order = np.lexsort((_places(view)[box], point))
    point, box = point[order], box[order]
    return csr_matrix((_dealt(point, box, rows, view.weight), (point, box)), shape=(len(points), len(view.weight)))


def _places(view: View) -> np.ndarray:
    """The place of each box in the order of how many values its labels hold."""
    values = np.zeros(len(view.weight))
    for at, table in enumerate(view.tables):
        values += np.log(table.size[view.labels[:, at]])
    place = np.empty(len(values), np.int64)
    place[np.argsort(values.round(9), kind="stable")] = np.arange(len(values))
    return place


def _dealt(point: np.ndarray, box: np.ndarray, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the share of each pair of point and box; of each point its boxes are in order."""
    share, left = np.zeros(len(point)), np.ones(len(rows))
    undealt = np.arange(len(point))
    while len(undealt):
        at, of = point[undealt], box[undealt]
        differs = at[1:] != at[:-1]
        first, last = np.concatenate([[True], differs]), np.concatenate([differs, [True]])
        waits = np.bincount(of, weights=~first, minlength=len(weight)) > 0  # one of its points has a narrower box left
        now = ~waits[of]  # the narrowest of all boxes never waits
        at, of, last = at[now], of[now], last[now]
        mass = rows[at] * left[at]
        must = np.bincount(of[last], weights=mass[last], minlength=len(weight))
        may = np.bincount(of[~last], weights=mass[~last], minlength=len(weight))
        taken = np.divide(weight - must, may, where=may > 0, out=np.zeros(len(weight))).clip(0.0, 1.0)
        part = np.where(last, 1.0, taken[of])
        share[undealt[now]] = left[at] * part
        left[at] *= 1.0 - part
        undealt = undealt[~now]
    return share


def likeliest(share: csr_matrix, weight: np.ndarray) -> np.ndarray:
    """Return the box of each point in which a row is likeliest to be the right one, -1 where no box holds it."""
    point = np.repeat(np.arange(share.shape[0]), np.diff(share.indptr))
    order = np.lexsort((-share.data / weight[share.indices], point))
    found = np.full(share.shape[0], -1)
    found[point[order][::-1]] = share.indices[order][::-1]
    return found
