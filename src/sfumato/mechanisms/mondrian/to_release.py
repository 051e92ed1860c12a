"""From a partition of the compact table to a release: labels, carried counts, recoding, residence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.claims import Claim
from sfumato.counts import Counts, Members, RoutingTree
from sfumato.errors import count_of
from sfumato.kernels.mondrian.partition import CutTree, Partition
from sfumato.mechanisms.mondrian.cutting import unit_edges
from sfumato.mechanisms.people import declared, read_by
from sfumato.release import Release, Residence, assemble
from sfumato.schema import Attribute, Labels, Schema, Values
from sfumato.schema.labels import Intervals, merged

__all__ = ["released", "tree_recoding"]

TIGHT = "labels are the values that occur in a class (sets, and the smallest and largest of numbers), read off the data"


def released(
    table: Counts,
    parts: Partition,
    *,
    tight: bool,
    left_out: int,
    suppressed_out: int,
    claim: Claim,
    mechanism: dict[str, Any],
    members: Members | None = None,
    in_two_phases: bool = False,
) -> Release:
    """Build the release of a partition. Rows with leaf -1 form the suppressed group, rows with -2 are left out.

    Of a table cut `in_two_phases` the lines are (leaf, carried codes): nobody knows which combination landed where.

    With `members`, who has which row, the people of each class are declared beside it.
    """
    schema, width = table.schema, len(table.schema.quasi)
    leaves = len(parts.weight)
    suppressed = leaves if (parts.leaf == -1).any() else None
    group = np.where(parts.leaf == -1, leaves, parts.leaf)
    stays = group >= 0
    tables, columns = [], []
    for at, attribute in enumerate(schema.quasi):
        labels, ids = labels_of(attribute, at, table, parts, tight=tight, with_root=suppressed is not None)
        tables.append(labels)
        columns.append(ids)
    weight = np.bincount(group[stays], weights=table.weights[stays], minlength=leaves).astype(np.int64)
    notes = (*((TIGHT,) if tight else ()), *_by_list(schema.quasi, parts), *_by_contrast(schema, parts))
    if suppressed_out:
        were = count_of(suppressed_out, "row was", "rows were")
        notes = (*notes, f"{were} left out: the requirement fails for them even together")
    people = None
    if members is not None:
        asked = claim.requirement
        people = declared(members, group, len(weight), [] if asked is None else read_by(asked, table))
    release, number = assemble(
        schema,
        people=people,
        tables=tuple(tables),
        labels=np.column_stack(columns) if columns else np.zeros((len(weight), 0), np.int32),
        weight=weight,
        group=np.arange(len(weight)),
        carried_group=group[stays],
        carried_codes=table.codes[stays][:, width:],
        carried_weight=table.weights[stays],
        suppressed_group=suppressed,
        left_out=left_out,
        claim=claim,
        mechanism=mechanism,
        notes=notes,
    )
    home = np.where(stays, number[np.maximum(group, 0)], -1).astype(np.int32)
    recoding = tree_recoding(parts.tree, tuple(a.name for a in schema.quasi)).with_groups(number)
    residence = None if in_two_phases else Residence(table.names, table.codes, home, table.weights)
    return replace(release, residence=residence, recoding=recoding)


def _by_list(quasi: Sequence[Attribute], parts: Partition) -> tuple[str, ...]:
    """Say of which attributes a class holds neighbours of a list that means nothing, such as the alphabet."""
    width = parts.high - parts.low
    joined = [
        attribute.name
        for at, attribute in enumerate(quasi)
        if at not in parts.reordered
        and attribute.grouped_by_list
        and ((width[:, at] > 1) & (width[:, at] < attribute.values.size)).any()
        and attribute.grouped_by_list
        and ((width[:, at] > 1) & (width[:, at] < attribute.values.size)).any()
    ]
    if not joined:
        return ()
    return (f"no groups are declared for {', '.join(joined)}: values in one cell are neighbours in a list, not alike",)


def _by_contrast(schema: Schema, parts: Partition) -> tuple[str, ...]:
    """Say of which attributes the values in one class were joined because they differ."""
    if not parts.reordered:
        return ()
    joined = ", ".join(schema.quasi[at].name for at in parts.reordered)
    carried = " and ".join(attribute.name for attribute in schema.sensitive)
    return (
        f"values of {joined} in one class were joined because they differ in {carried}, not because they are alike",
    )


def labels_of(
    attribute: Attribute, at: int, table: Counts, parts: Partition, *, tight: bool, with_root: bool
) -> tuple[Labels, np.ndarray]:
    """Return the distinct labels of one attribute and the label id of each leaf (the suppressed group last)."""
    low, high = parts.low[:, at].astype(np.int64), parts.high[:, at].astype(np.int64)
    if tight:
        held = (parts.leaf, table.codes[:, at]) if parts.held is None else parts.held[at]
        sets = _tight_sets(attribute, held[1], held[0], len(parts.weight))
        if (ends := unit_edges(attribute)) is not None:
            sets = [tuple(_whole_units(low, high, ends) for low, high in known) for known in sets]
        return Labels.from_sets(attribute, [*sets, ((0, attribute.size),)] if with_root else sets)
    if with_root:
        low, high = np.append(low, 0), np.append(high, attribute.size)
    return Labels.from_hulls(attribute, low, high)


def _tight_sets(attribute: Attribute, codes: np.ndarray, leaf: np.ndarray, leaves: int) -> list[Intervals]:
    """The codes that occur in each leaf: sets for listed values, extremes for numbers and days.

    A leaf with both values and missing keeps the whole domain: no label joins the two otherwise.
    """
    inside = leaf >= 0
    pairs = np.unique(leaf[inside].astype(np.int64) * attribute.size + codes[inside])
    owner, code = pairs // attribute.size, pairs % attribute.size
    bounds = np.searchsorted(owner, np.arange(leaves + 1))
    missing = attribute.missing_code
    found: list[Intervals] = []
    for number in range(leaves):
        held = code[bounds[number] : bounds[number + 1]]
        if missing is not None and held[-1] == missing and len(held) > 1:
            found.append(((0, attribute.size),))
        elif isinstance(attribute.domain, Values):
            found.append(merged((int(c), int(c) + 1) for c in held))
        else:
            found.append(((int(held[0]), int(held[-1]) + 1),))
    return found


def _whole_units(low: int, high: int, ends: np.ndarray) -> tuple[int, int]:
    """Widen an interval of days to whole units; the missing code and the whole domain stay."""
    if low >= ends[-1] or high > ends[-1]:
        return low, high
    first = int(np.searchsorted(ends, low, side="right")) - 1
    return int(ends[first]), int(ends[np.searchsorted(ends, high, side="left")])


def tree_recoding(tree: CutTree, names: tuple[str, ...]) -> RoutingTree:
    """Return the kernel's cut tree as a recoding; an interval without a row leads to a leaf of no group."""
    inner = np.flatnonzero(tree.attribute >= 0)
    sink = len(tree.attribute)
    count = tree.child_count[inner]
    counts = np.zeros(sink + 1, np.int64)
    counts[inner] = count - 1
    begins = np.cumsum(count) - count  # where the children of each cut node begin among all that are listed
    listed = np.arange(int(count.sum())) + np.repeat(tree.child_first[inner] - begins, count)
    first = np.zeros(len(listed), bool)
    first[begins] = True
    children = tree.child_node[listed]
    return RoutingTree(
        names,
        attribute=np.append(tree.attribute, -1).astype(np.int32),
        offsets=np.concatenate([[0], np.cumsum(counts)]),
        boundaries=tree.child_low[listed][~first].astype(np.int64),
        children=np.where(children < 0, sink, children).astype(np.int64),
        leaf=np.append(tree.leaf, -1).astype(np.int32),
    )
