"""Arrays and joins behind the recodings: binary walks, lookups in any engine, places among equals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import narwhals as nw
import numpy as np

from sfumato.counts.grouping import packed
from sfumato.errors import ParameterError

__all__ = ["NODE", "Walk", "binary_nodes", "join_each", "place_in_order", "row_ids", "row_numbers"]

NODE = "__node__"
_ORDER = "__order__"


@dataclass(frozen=True)
class Walk:
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


def binary_nodes(attribute: np.ndarray, offsets: np.ndarray, boundaries: np.ndarray, children: np.ndarray) -> Walk:
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
    return Walk(np.asarray(kind, np.int64), **{key: np.asarray(value, np.int64) for key, value in arrays.items()})


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
    if table.implementation.is_duckdb():  # on the relation's own connection: relations of two can not be joined
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
