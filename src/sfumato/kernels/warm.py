"""Compile every kernel once into the cache: `python -m sfumato.kernels.warm`, before test workers start."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.anatomy import bucket_values
from sfumato.kernels.conditions import bind, size
from sfumato.kernels.dlink.merging import JoinAxis, UnitedClasses, join_rules, new_index, unite
from sfumato.kernels.dlink.score import no_link, score
from sfumato.kernels.mondrian.layout import CutAttribute, lay_out, whole_box
from sfumato.kernels.mondrian.partition import partition
from sfumato.kernels.mondrian.summary import PartSummary, choose
from sfumato.kernels.nearest import nearest


def warm() -> None:
    """Run each kernel on a tiny table."""
    codes = np.array([[0], [1]], np.int32)
    for cut in ("best", "widest"):
        partition(codes, np.array([1, 1]), [CutAttribute(2)], conditions=[size(1)], cut=cut)
    _choose_none()
    bucket_values(np.array([2, 2], np.int64), 2)
    one, zero = np.ones(1, np.int64), np.zeros(1, np.int64)
    nearest(np.zeros((1, 1), np.int64), np.zeros((1, 1), np.int64), one, one, zero, np.array([0, 1]), zero, one)
    _unite_nothing()


def _choose_none() -> None:
    """One code, which no rule can cut."""
    layout, one = lay_out([CutAttribute(1)]), np.ones(1, np.int64)
    summary = PartSummary([np.zeros(1, np.int32)], weights=[one], pairs={}, sensitive={})
    bound = bind([size(1)], [], 1)
    choose(summary, layout, [CutAttribute(1)], bound, box=whole_box(layout), rule=0, uniformity_weight=0.0)


def _unite_nothing() -> None:
    """Two classes of whom nothing is asked."""
    ints, floats = np.ones((2, 1), np.int64), np.zeros((2, 1))
    begin, one = np.zeros((2, 1), np.int64), np.ones(2, np.int64)
    classes = UnitedClasses(
        begin, ints, floats, np.ones(2), one, ints.copy(), begin[:, :0].copy(), one - 2, np.zeros(2)
    )
    score(no_link(), 1.0, one, np.zeros(0))
    unite(join_rules([JoinAxis(2)]), no_link(), classes, new_index(classes), 0.0, True, 0.0, 0)


if __name__ == "__main__":
    warm()
