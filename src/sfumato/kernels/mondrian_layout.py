"""What the compiled Mondrian loops share: the attributes, the moving rows, one part's counts.

Rows are moved inside one working array (codes, sensitive codes, row number), so a part is a stretch of
it and no level copies the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.kernels.cache import inlined

__all__ = ["BOX", "EXTREMES", "SET", "Attribute", "Bounds", "Layout", "Part", "Scratch", "lay_out", "rank_codes", "scratch"]

BOX, SET, EXTREMES = range(3)
"""How a part is labelled: its box, the set of codes it holds, or their extremes."""

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Attribute:
    """One quasi-identifier: codes 0 to size - 1, how it may be cut and how a part is labelled.

    `nodes` is empty (cut between any two codes) or a tree: node 0 is the whole domain, each node is
    (low, high, its children's numbers), children lie in order side by side. With `missing` the last code means
    missing, and no label but the whole domain holds it beside a value.
    """

    size: int
    _: KW_ONLY
    label: int = BOX
    missing: bool = False
    nodes: tuple[tuple[int, int, tuple[int, ...]], ...] = ()


class Layout(NamedTuple):
    """The attributes as arrays. `root[a]` is the attribute's first node, -1 where any cut is possible."""

    size: Ints
    label: Ints
    missing: Ints
    root: Ints
    node_low: Ints
    node_high: Ints
    child_start: Ints
    child: Ints


class Part(NamedTuple):
    """A stretch of the working rows with its box; `low`, `high`, `node` have one entry per attribute."""

    rows: Codes
    weights: Codes
    low: Ints
    high: Ints
    node: Ints
    least: Ints  # smallest and largest code that occurs
    most: Ints


class Scratch(NamedTuple):
    """Room for one part's counts, reused by every part. Codes that occur lie one after another."""

    place: Codes  # rows x attributes: where in `whole` a row's code is counted
    order: Codes
    first: Ints  # attribute a's codes are first[a] .. first[a + 1]
    code: Codes
    occurs: Codes  # rows with a code
    whole: Codes  # weight of a code in the part, on the left, on the right
    left: Codes
    right: Codes
    seen: Codes
    sensitive: Ints  # 3 x sensitive codes: part, left, right
    cut: Ints  # attribute, position, suppressed side (-1 none)


def lay_out(attributes: Sequence[Attribute]) -> Layout:
    """Return the attributes as arrays; refuse a tree that does not tile its domain."""
    root, low, high, start, child = [], [], [], [0], []
    for number, attribute in enumerate(attributes):
        _check(number, attribute)
        root.append(len(low) if attribute.nodes else -1)
        offset = len(low)
        for node_low, node_high, children in attribute.nodes:
            low.append(node_low)
            high.append(node_high)
            child.extend(offset + one for one in children)
            start.append(len(child))
    return Layout(
        size=_ints([a.size for a in attributes]),
        label=_ints([a.label for a in attributes]),
        missing=_ints([a.missing for a in attributes]),
        root=_ints(root),
        node_low=_ints(low),
        node_high=_ints(high),
        child_start=_ints(start),
        child=_ints(child),
    )


def _ints(values: Sequence[int]) -> Ints:
    return np.asarray(values, dtype=np.int64)


def _check(number: int, attribute: Attribute) -> None:
    name = f"attribute {number}"
    if not 1 <= attribute.size < 2**31:
        raise ParameterError(name, attribute.size, "needs 1 to 2^31 - 1 codes")
    if attribute.nodes and attribute.nodes[0][:2] != (0, attribute.size):
        raise ParameterError(name, "node 0", "must be the whole domain")
    for place, (low, high, children) in enumerate(attribute.nodes):
        if any(not place < child < len(attribute.nodes) for child in children):
            raise ParameterError(name, f"node {place}", "must come before its children")
        edges = [attribute.nodes[child][:2] for child in children]
        ends = [low, *(end for _, end in edges)]
        if children and (ends[:-1] != [begin for begin, _ in edges] or ends[-1] != high):
            raise ParameterError(name, f"node {place}", "must be tiled by its children, in order")


def scratch(layout: Layout, rows: int, sensitive: int) -> Scratch:
    """Return room for the counts of any part of a table of so many rows."""
    sizes = np.minimum(layout.size, max(rows, 1))
    flat, attributes = int(sizes.sum()), layout.size.size
    dense = min(int(layout.size.max(initial=1)), 4 * rows + 64)
    return Scratch(
        place=np.empty((rows, attributes), dtype=np.int32),
        order=np.empty(rows, dtype=np.int32),
        first=np.zeros(attributes + 1, dtype=np.int64),
        code=np.empty(flat, dtype=np.int32),
        occurs=np.zeros(flat, dtype=np.int32),
        whole=np.zeros(flat, dtype=np.int32),
        left=np.zeros(flat, dtype=np.int32),
        right=np.zeros(flat, dtype=np.int32),
        seen=np.zeros(dense, dtype=np.int32),
        sensitive=np.zeros((3, sensitive), dtype=np.int64),
        cut=np.zeros(3, dtype=np.int64),
    )


@inlined
def _sift(s: Scratch, part: Part, a: int, root: int, end: int) -> None:
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and part.rows[s.order[child], a] < part.rows[s.order[child + 1], a]:
            child += 1
        if part.rows[s.order[root], a] >= part.rows[s.order[child], a]:
            return
        s.order[root], s.order[child] = s.order[child], s.order[root]
        root = child


@inlined
def _sort_codes(s: Scratch, part: Part, a: int) -> None:
    """Heapsort of row numbers by their code, for parts whose codes are few in a wide span."""
    m = part.rows.shape[0]
    for i in range(m):
        s.order[i] = i
    for root in range(m // 2, -1, -1):
        _sift(s, part, a, root, m)
    for end in range(m - 1, 0, -1):
        s.order[0], s.order[end] = s.order[end], s.order[0]
        _sift(s, part, a, 0, end)


@inlined
def _list_codes(s: Scratch, part: Part, a: int, start: int) -> int:
    """Write the codes of attribute a that occur, rising, from `start` on; return the end."""
    m, least = part.rows.shape[0], part.least[a]
    span = part.most[a] - least + 1
    end = start
    if span <= 4 * m + 64:
        for i in range(m):
            s.seen[part.rows[i, a] - least] = 1
        for code in range(span):
            if s.seen[code]:
                s.code[end] = least + code
                end += 1
                s.seen[code] = end - start  # its rank, from 1
        for i in range(m):
            s.place[i, a] = start + s.seen[part.rows[i, a] - least] - 1
        for code in range(span):
            s.seen[code] = 0
        return end
    _sort_codes(s, part, a)
    for at in range(m):
        i = s.order[at]
        if at == 0 or part.rows[i, a] != s.code[end - 1]:
            s.code[end] = part.rows[i, a]
            end += 1
        s.place[i, a] = end - 1
    return end


@inlined
def rank_codes(s: Scratch, part: Part) -> None:
    """Fill `first`, `code`, `place`, `occurs` and `whole` for a part."""
    m, q = part.rows.shape[0], part.low.size
    for a in range(q):
        s.first[a + 1] = _list_codes(s, part, a, s.first[a])
    for at in range(s.first[q]):
        s.occurs[at] = 0
        s.whole[at] = 0
    for i in range(m):
        for a in range(q):
            at = s.place[i, a]
            s.occurs[at] += 1
            s.whole[at] += part.weights[i]
