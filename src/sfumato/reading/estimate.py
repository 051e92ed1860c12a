"""The one estimator: how many rows with each carried value a reader expects in a region.

Source    Li & Li, "On the tradeoff between privacy and utility in data publishing", KDD 2009, sections 4.2 and 6
          (the uniform-distribution assumption); Xiao & Tao, Anatomy, VLDB 2006, for buckets.
Claim     est(s | y) = sum over groups g of [sum over boxes b in g of weight_b cover_b(y)] H_g(s) / weight_g, where
          cover_b(y) is the product over attributes of |label n y| / |label|, counted in codes of the public domain.
Because   every value of a label is taken as equally likely, and every carried value of a group as equally likely to
          belong to each of its boxes. The bracket is divided by weight_g before H_g enters: for boxes of single
          values all factors are whole numbers, so a table read from itself gives its own counts exactly.
Checked   tests/claims/test_estimator.py::test_equals_the_definition_in_fractions
          tests/claims/test_estimator.py::test_the_table_read_from_itself_is_exact
          tests/claims/test_estimator.py::test_wrong_twins_are_caught
Silent on how good the assumption is: that is what the measures are for. Groups without rows say nothing.
Cost      boxes x regions x constrained attributes; points go through `person`, trees of regions through `walk`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.reading.alignment import View
from sfumato.reading.regions import ANY, Regions, overlaps

__all__ = ["count", "estimate", "normalised", "shares"]

_ENTRIES = 2_000_000  # of a boxes x regions matrix held at a time


def estimate(view: View, regions: Regions) -> np.ndarray:
    """Return est(s | y), a regions x values matrix."""
    found = np.zeros((len(regions), view.values))
    for part, share in shares(view, regions):
        found[part] = (view.histogram.T @ share).T
    return found


def count(view: View, regions: Regions, values: np.ndarray) -> np.ndarray:
    """Return the expected number of rows in each region whose carried value is in `values` (regions x values)."""
    found = np.zeros(len(regions))
    for part, share in shares(view, regions):
        wanted = view.histogram @ values[part].T.astype(np.float64)
        found[part] = np.einsum("gr,gr->r", share, wanted)
    return found


def normalised(estimates: np.ndarray, overall: np.ndarray) -> np.ndarray:
    """Return each row as a distribution; a region of which the release says nothing gets the overall one.

    The divisor is the estimate's own sum, never the true support: a reader does not know that.
    """
    totals = estimates.sum(axis=1, keepdims=True)
    whole = overall.sum()
    fallback = overall / whole if whole else np.full(len(overall), 1 / max(len(overall), 1))
    return np.where(totals > 0, np.divide(estimates, totals, where=totals > 0, out=np.zeros_like(estimates)), fallback)


def shares(view: View, regions: Regions) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield, for some regions at a time, the share of each group's rows that lie in each: groups x regions."""
    if tuple(a.name for a in regions.attributes) != tuple(a.name for a in view.quasi):
        raise AssertionError("regions and view must speak of the same attributes in the same order")
    widest = max([len(view.weight), 1, *(len(table) for table in view.tables)])
    step = max(1, _ENTRIES // widest)
    for start in range(0, len(regions), step):
        part = slice(start, min(start + step, len(regions)))
        yield part, _by_group(view, _cover(view, regions, regions.ids[part]))


def _cover(view: View, regions: Regions, ids: np.ndarray) -> np.ndarray:
    """cover_b(y): boxes x regions."""
    cover = np.ones((len(view.weight), len(ids)))
    for at, (labels, table) in enumerate(zip(view.tables, regions.tables, strict=True)):
        used, places = np.unique(ids[:, at], return_inverse=True)
        if used.tolist() == [ANY]:
            continue
        free = int(used[0] == ANY)
        part = np.ones((len(labels), len(used)))
        part[:, free:] = overlaps(labels, table, used[free:]) / labels.size[:, None]
        cover *= part[:, places.reshape(-1)][view.labels[:, at]]
    return cover


def _by_group(view: View, cover: np.ndarray) -> np.ndarray:
    if view.one_box_each:
        some = view.group_weight > 0
        return cover * some[:, None]
    from scipy.sparse import csr_matrix

    boxes = np.arange(len(view.weight))
    sums = csr_matrix((view.weight.astype(np.float64), (view.group, boxes)), shape=(len(view.group_weight), len(boxes)))
    weight = view.group_weight[:, None].astype(np.float64)
    inside = np.asarray(sums @ cover)
    return np.asarray(np.divide(inside, weight, where=weight > 0, out=np.zeros_like(inside)))
