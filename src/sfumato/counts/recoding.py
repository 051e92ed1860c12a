"""Recodings: which label or group each row goes to. Plain arrays, no code, confidential unless a mechanism says not.

Source    Ours: a recoding is data that runs as a NumPy lookup or as joins in any engine.
Claim     `route` on arrays and `route_frame` on a frame of code columns give every row the same answer.
Because   both read the same arrays: a lookup is a join on the code, a walk down the tree is one join for each level,
          a quota is a join on the combination and the row's place among its equals.
Checked   tests/unit/counts/test_recoding.py::test_frames_agree_with_arrays
Silent on codes outside the domain, which a `Table` never holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import narwhals as nw
import numpy as np

from sfumato.counts.counts import packed
from sfumato.errors import ParameterError

__all__ = [
    "GROUP",
    "NODE",
    "BinaryWalk",
    "Cuts",
    "Quota",
    "Recoding",
    "RoutingTree",
    "binary_nodes",
    "join_each",
    "place_in_order",
    "row_ids",
    "row_numbers",
]


# Arrays and joins behind the recodings: binary walks, lookups in any engine, places among equals.

NODE = "__node__"
_ORDER = "__order__"


@dataclass(frozen=True)
class BinaryWalk:
    """Binary nodes: codes below `position` go left. `origin` is the node of the given tree a leaf stands for."""

    attribute: np.ndarray
    _: KW_ONLY
    position: np.ndarray
    left: np.ndarray
    right: np.ndarray
    origin: np.ndarray

    def levels(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield, level by level, the nodes rows may stand at: inner ones of the level, and leaves reached before."""
        level, done = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)
        while (self.attribute[level] >= 0).any():
            nodes = np.concatenate([level, done])
            inner = self.attribute[nodes] >= 0
            yield {
                NODE: nodes,
                "__attribute__": self.attribute[nodes].astype(np.int64),
                "__position__": self.position[nodes],
                "__left__": np.where(inner, self.left[nodes], nodes),
                "__right__": np.where(inner, self.right[nodes], nodes),
            }
            open_nodes = level[self.attribute[level] >= 0]
            done = np.concatenate([done, level[self.attribute[level] < 0]])
            level = np.concatenate([self.left[open_nodes], self.right[open_nodes]])


def binary_nodes(
    attribute: np.ndarray, offsets: np.ndarray, boundaries: np.ndarray, children: np.ndarray
) -> BinaryWalk:
    """Split nodes of many boundaries into balanced binary ones; a node with one boundary stays as it is."""
    count = len(attribute)
    cuts = np.diff(offsets)
    first_child = offsets[:-1] + np.concatenate([[0], np.cumsum(attribute >= 0)[:-1]])
    kind = list(attribute.tolist())
    position, left, right, origin = [0] * count, [0] * count, [0] * count, list(range(count))
    one = np.flatnonzero((attribute >= 0) & (cuts == 1))
    for at in one.tolist():
        position[at] = int(boundaries[offsets[at]])
        left[at], right[at] = int(children[first_child[at]]), int(children[first_child[at] + 1])
    for at in np.flatnonzero((attribute >= 0) & (cuts != 1)).tolist():
        stack = [(at, 0, int(cuts[at]))]  # (node, first boundary, after the last boundary)
        while stack:
            node, low, high = stack.pop()
            middle = (low + high) // 2
            if low == high:  # an inner node without a boundary: pass on to its only child
                position[node] = 0
                left[node] = right[node] = int(children[first_child[at]])
                continue
            position[node] = int(boundaries[offsets[at] + middle])
            sides = []
            for start, end in ((low, middle), (middle + 1, high)):
                if start == end:
                    sides.append(int(children[first_child[at] + start]))
                    continue
                kind.append(int(attribute[at]))
                position.append(0)
                left.append(0)
                right.append(0)
                origin.append(at)
                sides.append(len(kind) - 1)
                stack.append((len(kind) - 1, start, end))
            left[node], right[node] = sides
    arrays = {"position": position, "left": left, "right": right, "origin": origin}
    return BinaryWalk(np.asarray(kind, np.int64), **{key: np.asarray(value, np.int64) for key, value in arrays.items()})


def join_each(table: Any, lookup: Mapping[str, np.ndarray], on: Sequence[str]) -> Any:
    """Join a small table of arrays to a frame of any engine; rows of an eager frame keep their order."""
    backend = table.implementation
    lazy = isinstance(table, nw.LazyFrame)
    if lazy and not backend.is_polars():
        native = _relation(table, lookup)
    else:
        native = nw.from_dict({key: np.asarray(values) for key, values in lookup.items()}, backend=backend)
        native = native.lazy() if lazy else native
    types = table.collect_schema()
    native = native.with_columns(nw.col(name).cast(types[name]) for name in on)
    return table.join(native, on=list(on), how="left")


def _relation(table: Any, lookup: Mapping[str, np.ndarray]) -> Any:
    """Return a lookup as a table of the database the frame lives in."""
    import pyarrow as pa

    arrow = pa.table({key: pa.array(values) for key, values in lookup.items()})
    if table.implementation.is_duckdb():  # on the relation's own connection: relations of two cannot be joined
        return nw.from_native(table.to_native().query("__unused__", "SELECT * FROM arrow"))
    return nw.from_native(arrow).lazy(backend=table.implementation)


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


def row_numbers(table: Any, order: str | None) -> tuple[Any, str, bool]:
    """Return the frame with a column that orders its rows, its name, and whether we added it."""
    if order is not None:
        return table, order, False
    if not table.implementation.is_polars():
        hint = "name a column that orders the rows"
        raise ParameterError("order", None, "is needed: a database has no row order", hint=hint)
    return nw.from_native(table.to_native().with_row_index(_ORDER)), _ORDER, True


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

    def route_frame(self, frame: Any) -> Any:
        """Replace the code columns of any frame by columns of label ids."""
        table = nw.from_native(frame)
        for name, labels in zip(self.names, self.labels, strict=True):
            lookup = {name: np.arange(len(labels), dtype=np.int64), f"{name}__label": labels.astype(np.int64)}
            table = join_each(table, lookup, [name]).drop(name).rename({f"{name}__label": name})
        return table.to_native()

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

    def route_frame(self, frame: Any) -> Any:
        """Add the column `group` to any frame that has the code columns."""
        table = nw.from_native(frame)
        walk = binary_nodes(self.attribute, self.offsets, self.boundaries, self.children)
        table = table.with_columns(nw.lit(0).cast(nw.Int64).alias(NODE))
        for nodes in walk.levels():
            table = join_each(table, nodes, [NODE])
            goes = nw.col("__left__")  # a leaf points to itself on both sides
            for at, name in enumerate(self.names):
                right = (nw.col("__attribute__") == at) & (nw.col(name) >= nw.col("__position__"))
                goes = nw.when(right).then(nw.col("__right__")).otherwise(goes)
            table = table.with_columns(goes.alias("__next__")).drop(NODE, *(key for key in nodes if key != NODE))
            table = table.rename({"__next__": NODE})
        groups = {NODE: np.arange(len(walk.origin)), GROUP: self.leaf[walk.origin].astype(np.int64)}
        return join_each(table, groups, [NODE]).drop(NODE).to_native()


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

    def _with_rest(self) -> dict[str, np.ndarray]:
        """The lines, and for each combination one that sends whoever comes too late to group -1."""
        lines = self._lines()
        codes = np.column_stack([lines[name] for name in self.names])
        last = np.ones(len(codes), dtype=bool)
        last[:-1] = (codes[1:] != codes[:-1]).any(axis=1)
        rest = {key: values[last] for key, values in lines.items()}
        many = int(last.sum())
        rest |= {GROUP: np.full(many, -1), "__start__": rest["__end__"], "__end__": np.full(many, 2**62)}
        return {key: np.concatenate([values, rest[key]]) for key, values in lines.items()}

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

    def route_frame(self, frame: Any, *, order: str | None = None) -> Any:
        """Add the column `group` to any frame of code columns; a lazy frame needs the column that orders its rows."""
        given = nw.from_native(frame)
        if isinstance(given, nw.DataFrame):
            codes = given.select(*self.names).to_numpy()
            rows = np.arange(len(codes)) if order is None else np.argsort(given[order].to_numpy(), kind="stable")
            group = np.empty(len(codes), dtype=np.int64)
            group[rows] = self.route(codes[rows])
            column = nw.new_series(GROUP, group, backend=given.implementation)
            return given.with_columns(column).to_native()
        table, order_name, own = row_numbers(given, order)
        count = nw.col(self.names[0]).cum_count().over(*self.names, order_by=order_name)
        table = table.with_columns((count.cast(nw.Int64) - 1).alias("__place__"))
        table = join_each(table, self._with_rest(), list(self.names))
        start, end, place = nw.col("__start__"), nw.col("__end__"), nw.col("__place__")
        table = table.filter(start.is_null() | ((start <= place) & (place < end)))
        table = table.with_columns(nw.col(GROUP).fill_null(-1).cast(nw.Int64))
        table = table.sort(order_name).drop("__place__", "__start__", "__end__", *([order_name] if own else []))
        return table.to_native()


Recoding = Cuts | RoutingTree | Quota
