"""Where a declared level of dates binds the cuts: between its units, never inside one.

Source    Ours. A cut at a row's own day publishes that day as the end of an interval: somebody's birthday.
Claim     Every end of a label of such an attribute is the first day of a unit of the lowest declared level.
Because   the kernel is given units instead of days, and what it finds is written in days again by the public edges.
Checked   tests/claims/test_date_levels.py::test_no_label_ends_inside_a_declared_unit
          tests/claims/test_date_levels.py::test_days_without_levels_are_caught
Silent on dates without declared levels, and on numbers: there an end may be a value that occurs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.kernels.mondrian import Partition
from sfumato.schema import Attribute, Days

__all__ = ["in_codes", "in_units", "unit_edges"]


def unit_edges(attribute: Attribute) -> np.ndarray | None:
    """Return the first code of each unit of the lowest declared level, then the first code after all known ones."""
    if not isinstance(attribute.domain, Days) or not attribute.declared_tree:
        return None
    tree, known = attribute.nodes, attribute.domain.size
    units = [int(tree.low[node]) for node in range(len(tree)) if not tree.children[node] and tree.low[node] < known]
    return np.array([*units, known], np.int64)


def in_units(codes: np.ndarray, edges: list[np.ndarray | None]) -> np.ndarray:
    """Write each attribute that has edges in units; what lies after the known codes, the missing one, comes last."""
    found = codes.copy()
    for at, ends in enumerate(edges):
        if ends is not None:
            found[:, at] = np.searchsorted(ends, codes[:, at], side="right") - 1
    return found


def in_codes(parts: Partition, edges: list[np.ndarray | None]) -> Partition:
    """Write boxes and cuts that were found in units in codes again."""
    low, high, cuts = parts.low.copy(), parts.high.copy(), parts.tree.child_low.copy()
    owner = np.repeat(parts.tree.attribute, parts.tree.child_count)
    place = np.repeat(parts.tree.child_first, parts.tree.child_count) + _within(parts.tree.child_count)
    for at, ends in enumerate(edges):
        if ends is None:
            continue
        wide = np.append(ends, ends[-1] + 1).astype(low.dtype)  # the missing code is one unit of one code
        low[:, at], high[:, at] = wide[low[:, at]], wide[high[:, at]]
        mine = place[owner == at]
        cuts[mine] = wide[cuts[mine]]
    return replace(parts, low=low, high=high, tree=replace(parts.tree, child_low=cuts))


def _within(counts: np.ndarray) -> np.ndarray:
    """0, 1, ... within each of the counts."""
    starts = np.cumsum(counts) - counts
    found: np.ndarray = np.arange(int(counts.sum())) - np.repeat(starts, counts)
    return found
