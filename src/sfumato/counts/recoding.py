"""Recodings: the label or group of each row. Plain arrays, no code, confidential unless a mechanism says otherwise.

Source    Ours: a recoding is data, not code: lookups, the nodes of a tree, or quotas.
Claim     `route` sends every row of codes to one label or group, the one that a walk by hand finds.
Because   a lookup is one index, every inner node sends each code to exactly one child, and a quota serves equal rows in
          row order until it is used up.
Checked   tests/unit/counts/test_recoding.py::test_a_walk_by_hand_ends_in_the_same_group
          tests/unit/counts/test_recoding.py::test_a_quota_serves_as_many_as_it_says
Silent on codes outside the domain, which a `Table` never holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sfumato.engines.grouping import packed
from sfumato.engines.parts import binary_nodes
from sfumato.errors import ParameterError


def row_ids(rows: np.ndarray) -> np.ndarray:
    """Return a number for each row, equal for equal rows and rising in lexicographic order."""
    sizes = [int(size) for size in rows.max(axis=0, initial=0) + 1]
    if rows.shape[1] and rows.min(initial=0) >= 0 and math.prod(sizes) < 1 << 62:
        keys = packed([rows[:, at] for at in range(rows.shape[1])], sizes)
        return np.unique(keys, return_inverse=True)[1].ravel()
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def place_in_order(keys: np.ndarray) -> np.ndarray:
    """Return how many equal keys stand before each: 0 for the first of its kind."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]])) if len(keys) else np.empty(0, int)
    lengths = np.diff(np.append(starts, len(keys)))
    place = np.empty(len(keys), dtype=np.int64)
    place[order] = np.arange(len(keys)) - np.repeat(starts, lengths)
    return place


GROUP = "group"


def _frozen(*arrays: np.ndarray) -> None:
    for array in arrays:
        array.setflags(write=False)


def _checked(codes: np.ndarray, columns: int) -> np.ndarray:
    codes = np.asarray(codes)
    if codes.ndim != 2 or codes.shape[1] != columns:
        raise ParameterError("codes", f"array of shape {codes.shape}", f"must have {columns} columns")
    return codes


@dataclass(frozen=True)
class Cuts:
    """A label for each code of each attribute: `labels[i][code]` is the label id (DiffGen, TopDown)."""

    names: tuple[str, ...]
    _: KW_ONLY
    labels: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.labels):
            raise ParameterError("labels", len(self.labels), f"must be one array for each of {len(self.names)} names")
        _frozen(*self.labels)

    def route(self, codes: np.ndarray) -> np.ndarray:
        """Return the label ids of rows of codes (n x q int32)."""
        codes = _checked(codes, len(self.names))
        found = np.empty(codes.shape, dtype=np.int32)
        for at, labels in enumerate(self.labels):
            found[:, at] = labels[codes[:, at]]
        return found

    def to_json(self) -> dict[str, Any]:
        """Return runs of equal labels, `[first code, label]`, and the number of codes, by attribute."""
        found = {}
        for name, labels in zip(self.names, self.labels, strict=True):
            starts = np.flatnonzero(np.diff(labels, prepend=labels[:1] - 1)) if len(labels) else labels
            found[name] = {"size": len(labels), "runs": np.column_stack([starts, labels[starts]]).tolist()}
        return {"cuts": found}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cuts:
        """Return the cuts that `to_json` wrote."""
        labels = []
        for part in data["cuts"].values():
            runs = np.asarray(part["runs"], dtype=np.int64).reshape(-1, 2)
            lengths = np.diff(np.append(runs[:, 0], part["size"]))
            labels.append(np.repeat(runs[:, 1], lengths).astype(np.int32))
        return cls(tuple(data["cuts"]), labels=tuple(labels))


@dataclass(frozen=True)
class RoutingTree:
    """A walk from node 0: an inner node cuts one attribute at sorted boundaries, a leaf names a group (Mondrian).

    Node v: `attribute[v]` is -1 at a leaf. Its boundaries are `boundaries[offsets[v]:offsets[v + 1]]`; a code c goes to
    the child number (how many boundaries are <= c), and child j is `children[offsets[v] + v_inner + j]`, where v_inner
    counts the inner nodes before v (an inner node has one child more than boundaries). `leaf[v]` is its group or -1.
    """

    names: tuple[str, ...]
    _: KW_ONLY
    attribute: np.ndarray
    offsets: np.ndarray
    boundaries: np.ndarray
    children: np.ndarray
    leaf: np.ndarray

    def __post_init__(self) -> None:
        _frozen(self.attribute, self.offsets, self.boundaries, self.children, self.leaf)
        if len(self.children) != len(self.boundaries) + int((self.attribute >= 0).sum()):
            raise ParameterError("children", len(self.children), "must be one more than boundaries at each inner node")

    @classmethod
    def binary(
        cls,
        names: Sequence[str],
        *,
        attribute: np.ndarray,
        position: np.ndarray,
        left: np.ndarray,
        right: np.ndarray,
        leaf: np.ndarray,
    ) -> RoutingTree:
        """Return the tree of binary nodes: codes below `position` go left, others right; a leaf has attribute -1."""
        inner = np.asarray(attribute) >= 0
        offsets = np.concatenate([[0], np.cumsum(inner)]).astype(np.int64)
        children = np.column_stack([np.asarray(left)[inner], np.asarray(right)[inner]]).ravel()
        return cls(
            tuple(names),
            attribute=np.asarray(attribute, np.int32).copy(),
            offsets=offsets,
            boundaries=np.asarray(position)[inner].astype(np.int64),
            children=children.astype(np.int64),
            leaf=np.asarray(leaf, np.int32).copy(),
        )

    def with_groups(self, groups: np.ndarray) -> RoutingTree:
        """Return the same cuts with leaf group g renamed `groups[g]` (DLink merges leaves)."""
        leaf = np.append(np.asarray(groups, np.int64), -1)[self.leaf].astype(
            np.int32
        )  # -1 stays -1, also without groups
        return RoutingTree(
            self.names,
            attribute=self.attribute.copy(),
            offsets=self.offsets.copy(),
            boundaries=self.boundaries.copy(),
            children=self.children.copy(),
            leaf=leaf,
        )

    def route(self, codes: np.ndarray) -> np.ndarray:
        """Return the group of each row of codes (int32)."""
        codes = _checked(codes, len(self.names))
        walk = binary_nodes(self.attribute, self.offsets, self.boundaries, self.children)
        node = np.zeros(len(codes), dtype=np.int64)
        active = np.arange(len(codes)) if len(codes) and walk.attribute[0] >= 0 else np.empty(0, np.int64)
        while len(active):
            at = node[active]
            below = codes[active, walk.attribute[at]] < walk.position[at]
            node[active] = at = np.where(below, walk.left[at], walk.right[at])
            active = active[walk.attribute[at] >= 0]
        return np.asarray(self.leaf[walk.origin[node]])


@dataclass(frozen=True)
class Quota:
    """How many rows of each (quasi, carried) combination go to which group (Bucketize, Anatomy).

    Line i sends `quota[i]` rows with the codes `codes[i]` to `group[i]`; equal rows are served in row order.
    """

    names: tuple[str, ...]
    _: KW_ONLY
    codes: np.ndarray
    group: np.ndarray
    quota: np.ndarray

    def __post_init__(self) -> None:
        _checked(self.codes, len(self.names))
        _frozen(self.codes, self.group, self.quota)

    def _lines(self) -> dict[str, np.ndarray]:
        """The lines as a table: codes, the group and the half-open range of places it serves."""
        order = np.lexsort((self.group, *self.codes.T[::-1]))
        codes, quota = self.codes[order].astype(np.int64), self.quota[order].astype(np.int64)
        first = np.ones(len(codes), dtype=bool)
        first[1:] = (codes[1:] != codes[:-1]).any(axis=1)
        ends = np.cumsum(quota)
        before = np.repeat((ends - quota)[first], np.diff(np.append(np.flatnonzero(first), len(codes))))
        columns = {name: codes[:, at] for at, name in enumerate(self.names)}
        start = ends - quota - before
        group = self.group[order].astype(np.int64)
        return {**columns, GROUP: group, "__start__": start, "__end__": start + quota}

    def route(self, codes: np.ndarray) -> np.ndarray:
        """Return the group of each row of codes (int32); -1 where no quota is left."""
        codes = _checked(codes, len(self.names))
        lines = self._lines()
        if not len(self.quota):
            return np.full(len(codes), -1, dtype=np.int32)
        table = np.column_stack([lines[name] for name in self.names])
        which = row_ids(np.concatenate([table, codes]))
        line_of, row_of = which[: len(table)], which[len(table) :]
        place = place_in_order(row_of)
        # Lines are sorted by combination and start, so one search on (combination, place) finds the line.
        span = int(max(place.max(initial=0), lines["__end__"].max(initial=0))) + 1
        at = np.searchsorted(line_of * span + lines["__start__"], row_of * span + place, side="right") - 1
        known, at = at >= 0, np.maximum(at, 0)
        hit = known & (line_of[at] == row_of) & (place < lines["__end__"][at])
        return np.where(hit, lines[GROUP][at], -1).astype(np.int32)


Recoding = Cuts | RoutingTree | Quota
