"""Uniting the classes of a partition until each passes the linkability model: arrays in, a new release out.

Source    Sattar et al., the dLink paper, algorithm 1; distance of Li, Wong, Fu & Pei (KACA), DaWaK 2006.
Claim     every published class is a union of the base's classes under the closest label that holds both (a node of the
          tree for nominal attributes, an interval else), and passes the model with the share of THAT label. Classes
          that end with equal labels are one class, as on the file. At most the declared share is suppressed.
Because   the kernel joins labels and tests after each union; equal labels have equal boxes and more values together.
Checked   tests/claims/test_dlink_release.py::test_every_class_passes_with_its_published_label
          tests/claims/test_dlink_release.py::test_classes_are_unions_of_the_base
          tests/claims/test_dlink_release.py::test_suppression_is_bounded_and_never_everything
Silent on what the choice of unions tells about the rows.
Cost      kernels/merging.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from sfumato.errors import ParameterError
from sfumato.kernels.linkage import CELLS, Link
from sfumato.kernels.merging import GONE, JoinAxis, UnitedClasses, join_rules, new_index, unite
from sfumato.release import Release, Residence, assemble
from sfumato.schema import Attribute, Labels
from sfumato.schema.labels import Intervals

__all__ = ["UNIFORM_WEIGHT", "MergeDistance", "NominalLabels", "Partner", "United", "merge_classes", "united_release"]

Partner = Literal["failing", "all"]
NominalLabels = Literal["nodes", "leaves"]
MergeDistance = Literal["hierarchical", "uniform"]

UNIFORM_WEIGHT = 0.3  # as in Mondrian's `best`: what an even spread gets wrong, beside the width of labels
_WIDEST = 512  # codes up to which an attribute's spread is looked at


@dataclass(frozen=True, slots=True)
class United:
    """`into[g]` is the class that the base's group g ended in, GONE where suppressed."""

    into: np.ndarray
    _: KW_ONLY
    low: np.ndarray
    high: np.ndarray
    merged: np.ndarray  # classes made of several
    failing: int  # classes that failed before anything was united
    unions: int


def level_losses(parent: Sequence[int], beta: float = 1.0) -> list[float]:
    """What a node of a tree has lost by the weighted hierarchical distance: 1 at the root, 0 at the lowest level."""
    level = [1] * len(parent)
    for node, above in enumerate(parent):
        if above >= 0:
            level[node] = level[above] + 1
    steps = [1.0 / (j - 1) ** beta for j in range(2, max(level) + 1)]
    total = sum(steps)
    return [1.0 - sum(steps[: own - 1]) / total if total else 0.0 for own in level]


def axis_of(attribute: Attribute, *, nominal: NominalLabels, distance: MergeDistance) -> JoinAxis:
    """Return how labels of one attribute are joined."""
    missing = attribute.missing_code is not None
    if attribute.ordered or nominal == "leaves" or not attribute.declared_tree:
        return JoinAxis(attribute.size, missing=missing)
    tree = attribute.nodes
    kept = np.flatnonzero(tree.distinct)
    number = {int(node): at for at, node in enumerate(kept)}
    parent = []
    for node in kept:
        above = int(tree.parent[node])
        while above >= 0 and above not in number:
            above = int(tree.parent[above])
        parent.append(number[above] if above >= 0 else -1)
    low, high = tree.low[kept], tree.high[kept]
    if distance == "hierarchical":
        losses = level_losses(parent)
    else:
        losses = ((high - low - 1) / max(1, attribute.size - 1)).tolist()
    rows = zip(low.tolist(), high.tolist(), parent, losses, strict=True)
    return JoinAxis(attribute.size, missing=missing, nodes=tuple(rows))


def merge_classes(
    release: Release,
    link: Link,
    *,
    partner: Partner,
    nominal: NominalLabels,
    distance: MergeDistance,
    max_suppressed: Fraction,
) -> United:
    """Unite the groups of a generalized release; the suppressed group is left as it is."""
    axes = [axis_of(attribute, nominal=nominal, distance=distance) for attribute in release.quasi]
    kept = np.arange(len(release.groups))
    if release.suppressed_group is not None:
        kept = np.delete(kept, release.suppressed_group)
    weight = UNIFORM_WEIGHT if distance == "uniform" else 0.0
    classes = _classes(release, link, axes, kept, uniform=distance == "uniform")
    rules = join_rules(axes)
    lost = len(axes) * (1.0 + weight)
    budget = int(max_suppressed * int(classes.rows.sum()))
    found = unite(rules, link, classes, new_index(classes), weight, partner == "failing", lost, budget)
    into = np.arange(len(release.groups))
    into[kept] = np.where(found.into == GONE, GONE, kept[np.maximum(found.into, 0)])
    low, high = release.boxes.low.copy(), release.boxes.high.copy()
    merged = np.zeros(len(release.groups), bool)
    merged[kept[found.first]] = True
    low[kept], high[kept] = classes.low, classes.high
    alive = np.flatnonzero(found.into == np.arange(len(kept)))
    if len(alive) == 1 and found.score[alive[0]] < link.alpha:
        # One class holds everybody and its interval is still short of `*`, which was found to pass.
        one = kept[alive[0]]
        low[one], high[one], merged[one] = 0, rules.size, True
    return United(into, low=low, high=high, merged=merged, failing=found.failed, unions=len(found.first))


def _classes(
    release: Release, link: Link, axes: Sequence[JoinAxis], kept: np.ndarray, *, uniform: bool
) -> UnitedClasses:
    boxes, many = release.boxes, len(kept)
    loss, mass = np.zeros((many, len(axes))), np.ones(many)
    for a, (attribute, table) in enumerate(zip(release.quasi, boxes.tables, strict=True)):
        ids = boxes.labels[kept, a]
        loss[:, a] = np.array([_label_loss(axes[a], table, label) for label in range(len(table))])[ids]
        if link.source == CELLS and (np.diff(table.offsets) > 1).any():
            rule = "needs labels that are intervals"
            raise ParameterError("population", attribute.name, rule, hint="a base without tight=True")
        mass *= _label_mass(link, a, table)[ids]
    counts = [release.groups.histogram(attribute.name).toarray() for attribute in release.schema.sensitive]
    codes, start, spread = _code_counts(release, kept) if uniform else _no_codes(many, len(axes))
    return UnitedClasses(
        low=boxes.low[kept],
        high=boxes.high[kept],
        loss=loss,
        mass=mass,
        rows=release.groups.weight[kept].astype(np.int64),
        counts=np.ascontiguousarray(np.hstack(counts)[kept], np.int64),
        codes=codes,
        code_start=start,
        spread=spread,
    )


def _label_loss(axis: JoinAxis, table: Labels, label: int) -> float:
    """Loss of a label of the base; one that is not a node has its share of the loss of the node above it."""
    codes = int(table.size[label])
    if not axis.nodes:
        return (codes - 1) / max(1, axis.size - 1)
    low, high = int(table.low[label]), int(table.high[label])
    holding = [node for node in axis.nodes if node[0] <= low and high <= node[1]]
    above = min(holding, key=lambda node: (node[1] - node[0], node[3]))
    width = above[1] - above[0]
    return above[3] if codes == width else above[3] * (codes - 1) / (width - 1)


def _label_mass(link: Link, a: int, table: Labels) -> np.ndarray:
    """Population share of each label: of the values it holds, not of its hull."""
    prefix = link.prefix[link.start[a] : link.start[a + 1]]
    return np.add.reduceat(prefix[table.ends] - prefix[table.starts], table.offsets[:-1])


def _no_codes(many: int, attributes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros((many, 0), np.int64), np.full(attributes, -1, np.int64), np.zeros(many)


def _code_counts(release: Release, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How often each code occurs in each class, and how many rows an even spread over the label gets wrong."""
    home = release.residence
    if home is None:
        raise ParameterError("distance", "uniform", "needs a base that knows where rows landed")
    sizes = [attribute.size if attribute.size <= _WIDEST else 0 for attribute in release.quasi]
    start = np.where(np.array(sizes) > 0, np.cumsum([0, *sizes])[:-1], -1).astype(np.int64)
    place = np.full(len(release.groups) + 1, -1, np.int64)
    place[kept] = np.arange(len(kept))
    of_row = place[home.group]
    inside = of_row >= 0
    codes = np.zeros((len(kept), sum(sizes)), np.int64)
    spread = np.zeros(len(kept))
    for a, attribute in enumerate(release.quasi):
        if start[a] < 0:
            continue
        column = home.codes[inside, home.names.index(attribute.name)]
        np.add.at(codes, (of_row[inside], start[a] + column), home.weight[inside])
        own = codes[:, start[a] : start[a] + attribute.size]
        width = release.boxes.tables[a].size[release.boxes.labels[kept, a]]
        spread += np.maximum(0.0, own - (own.sum(axis=1) / width)[:, None]).sum(axis=1)
    return codes, start, spread


def united_release(
    base: Release, united: United, *, leave_out: bool, notes: tuple[str, ...]
) -> tuple[Release, np.ndarray]:
    """Return the release of the united classes and the new group of each of the base's (-1: left out)."""
    gone = united.into == GONE
    if base.suppressed_group is not None:
        gone[base.suppressed_group] = True
    alive = np.flatnonzero((united.into == np.arange(len(united.into))) & ~gone)
    with_root = bool(gone.any()) and not leave_out
    tables, columns = [], []
    for a, attribute in enumerate(base.quasi):
        labels, ids = _labels(attribute, base.boxes.tables[a], base.boxes.labels[:, a], united, alive, a, with_root)
        tables.append(labels)
        columns.append(ids)
    rows = np.column_stack(columns)
    distinct, number = np.unique(rows, axis=0, return_inverse=True)  # equal labels are one class on the file
    number = number.reshape(-1)
    group = np.full(len(united.into), -1, np.int64)
    group[alive] = number[: len(alive)]
    inside = ~gone
    group[inside] = group[united.into[inside]]
    if with_root:
        group[gone] = number[-1]
    carried, landed = base.groups.carried, group[base.groups.carried.group]
    stays = group >= 0
    lost = int(base.groups.weight[~stays].sum())
    release, order = assemble(
        base.schema,
        tables=tuple(tables),
        labels=distinct,
        weight=np.bincount(group[stays], weights=base.groups.weight[stays], minlength=len(distinct)).astype(np.int64),
        group=np.arange(len(distinct)),
        carried_group=landed[landed >= 0],
        carried_codes=carried.codes[landed >= 0],
        carried_weight=carried.weight[landed >= 0],
        suppressed_group=int(number[-1]) if with_root else None,
        left_out=(base.left_out or 0) + lost,
        claim=base.claim,
        notes=(*base.notes, *notes),
    )
    final = np.where(stays, order[np.maximum(group, 0)], -1)
    if base.residence is not None:
        home = base.residence
        moved = np.where(home.group >= 0, final[np.maximum(home.group, 0)], -1).astype(np.int32)
        release = replace(release, residence=Residence(home.names, home.codes, moved, home.weight))
    return release, final


def _labels(
    attribute: Attribute, table: Labels, ids: np.ndarray, united: United, alive: np.ndarray, a: int, with_root: bool
) -> tuple[Labels, np.ndarray]:
    """Untouched classes keep their label, sets included; united ones have the joined interval."""
    known = [table.intervals(label) for label in range(len(table))]
    sets: list[Intervals] = [
        ((int(united.low[g, a]), int(united.high[g, a])),) if united.merged[g] else known[ids[g]] for g in alive
    ]
    if with_root:
        sets.append(((0, attribute.size),))
    return Labels.from_sets(attribute, sets)
