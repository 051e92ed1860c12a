"""What the compiled Mondrian loops share: the attributes, the moving rows, one part's counts.

Rows are moved inside one working array (codes, sensitive codes, row number), so a part is a stretch of
it and no level copies the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Ints
from sfumato.errors import ParameterError
from sfumato.kernels.cache import borrowing

BOX, SET, EXTREMES = range(3)
"""How a part is labelled: its box, the set of codes it holds, or their extremes."""

TREES, FIRST, ON, TOP = range(4)
"""Columns of `Scratch.wide`: where an attribute's trees begin (-1: it has none), how long one is, whether they are in
use, and the largest weight they hold."""
LOW, HIGH, SOME, COUNT, SUM, HEAVY = 4, 6, 8, 10, 12, 14
"""And, left then right: first and last code with rows, how many codes have rows, how many the trees hold, their sum;
where the codes that are too heavy for the trees begin and end."""

WIDE_FROM = 256
"""Codes in a part from which an attribute's excess is kept in trees instead of counted anew at every cut."""
WIDE_GAIN = 16
"""How many times the rows the counting must cost before it is."""
WEIGHTS = 1 << 16
"""Weights that a tree holds one by one."""
MOVING = 5
"""Place in `Scratch.cut` of the attribute whose codes move, where a part is a summary."""

Codes = npt.NDArray[np.int32]
RowRecords = npt.NDArray[np.void]

_ATTRIBUTE = (("codes", "i8"), ("label", "i8"), ("missing", "i8"), ("root", "i8"))
_NODE = (("low", "i8"), ("high", "i8"), ("child", "i8"), ("last_child", "i8"))
_SIDE = (("low", "i8"), ("high", "i8"), ("node", "i8"), ("least", "i8"), ("most", "i8"))


@dataclass(frozen=True, slots=True)
class CutAttribute:
    """One quasi-identifier: codes 0 to size - 1, how it may be cut and how a part is labelled.

    `nodes` is empty (cut between any two codes) or a tree: node 0 is the whole domain, each node is
    (low, high, its children's numbers), children lie in order side by side. With `missing` the last code
    means missing, and no label but the whole domain holds it beside a value.
    """

    size: int
    _: KW_ONLY
    label: int = BOX
    missing: bool = False
    nodes: tuple[tuple[int, int, tuple[int, ...]], ...] = ()


class Layout(NamedTuple):
    """The attributes as arrays; an attribute's `root` is its first node, -1 where any cut is possible."""

    attribute: RowRecords
    node: RowRecords
    child: Ints  # children of a node: child[node.child] .. child[node.last_child]


class Part(NamedTuple):
    """A stretch of the working rows. `box` has one entry per attribute.

    low, high: the box; node: the tree node it is; least, most: the extreme codes that occur.
    """

    rows: Codes
    weights: Codes
    box: RowRecords


class Scratch(NamedTuple):
    """Working arrays for one part's counts, reused by every part. Codes that occur lie one after another."""

    place: Codes  # rows x attributes: where in `whole` a row's code is counted
    order: Codes
    first: Ints  # attribute a's codes are first[a] .. first[a + 1]
    code: Codes
    occurs: Codes  # rows with a code
    whole: Codes  # weight of a code in the part
    left: Codes  # and on the left of a cut
    seen: Codes
    sensitive: Ints  # sensitive counts of the part, of the left, of the right, one after another
    cut: Ints  # attribute, position (-1: into children), suppressed side (-1: none); `WIDE_FROM`, `WIDE_GAIN`, `MOVING`
    wide: Ints  # attributes x columns: the trees of `mondrian_excess`
    trees: Ints
    heavy: Codes
    moves: Ints  # of a summary: where the moves of a code begin; empty where a part has rows
    to: Codes  # the place each move adds to; -1 - x: the sensitive count x
    moved: Codes  # and how much


def lay_out(attributes: Sequence[CutAttribute]) -> Layout:
    """Return the attributes as arrays; refuse a tree that does not tile its domain."""
    table: list[tuple[int, ...]] = []
    nodes, child = [np.zeros(0, dtype=list(_NODE))], [np.zeros(0, np.int64)]
    offset = begin = 0
    for number, attribute in enumerate(attributes):
        if not 1 <= attribute.size < 2**31:
            raise ParameterError(f"attribute {number}", attribute.size, "needs 1 to 2^31 - 1 codes")
        table.append((attribute.size, attribute.label, attribute.missing, offset if attribute.nodes else -1))
        try:
            own, below = _tree(attribute.size, attribute.nodes)
        except _BrokenTreeError as error:
            raise ParameterError(f"attribute {number}", error.node, error.rule) from None
        own = own.copy()
        own["child"] += begin
        own["last_child"] += begin
        nodes.append(own)
        child.append(below + offset)
        offset, begin = offset + len(own), begin + len(below)
    return Layout(
        attribute=np.array(table, dtype=list(_ATTRIBUTE)), node=np.concatenate(nodes), child=np.concatenate(child)
    )


class _BrokenTreeError(ValueError):
    def __init__(self, node: int, rule: str) -> None:
        super().__init__(rule)
        self.node, self.rule = f"node {node}", rule


@lru_cache(maxsize=32)  # a sweep lays the same trees out for each release, and a code list may have 100,000 nodes
def _tree(size: int, nodes: tuple[tuple[int, int, tuple[int, ...]], ...]) -> tuple[RowRecords, Ints]:
    """Return the nodes of one attribute as arrays, numbered from 0, when they tile its domain."""
    if nodes and nodes[0][:2] != (0, size):
        raise _BrokenTreeError(0, "must be the whole domain")
    found: list[tuple[int, ...]] = []
    child: list[int] = []
    for place, (low, high, children) in enumerate(nodes):
        if any(not place < one < len(nodes) for one in children):
            raise _BrokenTreeError(place, "must come before its children")
        edges = [nodes[one][:2] for one in children]
        ends = [low, *(end for _, end in edges)]
        if children and (ends[:-1] != [begin for begin, _ in edges] or ends[-1] != high):
            raise _BrokenTreeError(place, "must be tiled by its children, in order")
        found.append((low, high, len(child), len(child) + len(children)))
        child.extend(children)
    return np.array(found, dtype=list(_NODE)), np.array(child, dtype=np.int64)


def whole_box(layout: Layout) -> RowRecords:
    """Return the box of a whole table: every code of every attribute, the root of every tree."""
    box = np.zeros(len(layout.attribute), dtype=list(_SIDE))
    box["high"], box["node"] = layout.attribute["codes"], layout.attribute["root"]
    return box


def scratch(attributes: Sequence[CutAttribute], rows: int, sensitive: int, weight: int) -> Scratch:
    """Return arrays for the counts of any part of a table with at most this many distinct rows and this weight."""
    wide = np.zeros((len(attributes), HEAVY + 2), dtype=np.int64)
    may = np.array([min(attribute.size, rows) >= WIDE_FROM for attribute in attributes])
    length = min(weight + 1, WEIGHTS)
    wide[:, TREES] = np.where(may, 4 * length * (np.cumsum(may) - 1), -1)
    wide[:, FIRST] = length
    flat = sum(min(attribute.size, rows) for attribute in attributes)
    dense = min(max(attribute.size for attribute in attributes), 4 * rows + 64)
    return Scratch(
        place=np.empty((rows, len(attributes)), dtype=np.int32),
        order=np.empty(rows, dtype=np.int32),
        first=np.zeros(len(attributes) + 1, dtype=np.int64),
        code=np.empty(flat, dtype=np.int32),
        occurs=np.zeros(flat, dtype=np.int32),
        whole=np.zeros(flat, dtype=np.int32),
        left=np.zeros(flat, dtype=np.int32),
        seen=np.zeros(dense, dtype=np.int32),
        sensitive=np.zeros(3 * sensitive, dtype=np.int64),
        cut=np.array([0, 0, 0, WIDE_FROM, WIDE_GAIN, 0], dtype=np.int64),
        wide=wide,
        trees=np.zeros(4 * length * int(may.sum()), dtype=np.int64),
        heavy=np.empty(flat if may.any() else 0, dtype=np.int32),
        moves=np.zeros(0, dtype=np.int64),
        to=np.zeros(0, dtype=np.int32),
        moved=np.zeros(0, dtype=np.int32),
    )


# Counting one part: which codes occur, how often, and the rows in the order of one attribute.
#
# Only codes that occur take room, so a part of twenty rows costs twenty rows, however wide its domain.

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is not an `int` to mypy, and arrays are passed one by one because a compiled call with
# many arrays in a tuple costs more than the work it does.


@borrowing
def dense(span: int, rows: int) -> bool:
    """Say whether a table over the span costs no more than the rows do."""
    return span <= 4 * rows + 64


@borrowing
def _sift(rows: Codes, order: Codes, a: int, root: int, end: int) -> None:
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and rows[order[child], a] < rows[order[child + 1], a]:
            child += 1
        if rows[order[root], a] >= rows[order[child], a]:
            return
        order[root], order[child] = order[child], order[root]
        root = child


@borrowing
def _heapsort(rows: Codes, order: Codes, a: int) -> None:
    """Put row numbers in the order of their codes; compiling `np.argsort` would take seconds."""
    m = rows.shape[0]
    for i in range(m):
        order[i] = i
    for turn in range(m // 2 + m):
        if turn < m // 2:
            root, end = m // 2 - 1 - turn, m
        else:
            root, end = 0, m - 1 - (turn - m // 2)
            order[0], order[end] = order[end], order[0]
        _sift(rows, order, a, root, end)


@borrowing
def _list_codes(
    rows: Codes, a: int, least: int, most: int, start: int, code: Codes, place: Codes, order: Codes, seen: Codes
) -> int:
    """Write the codes of attribute a that occur, rising, from `start` on, and each row's place; return the end."""
    m, span, end = rows.shape[0], most - least + 1, start
    if dense(span, m):
        for i in range(m):
            seen[rows[i, a] - least] = 1
        for at in range(span):
            if seen[at]:
                code[end] = least + at
                seen[at] = end
                end += 1
        for i in range(m):
            place[i, a] = seen[rows[i, a] - least]
        for at in range(span):
            seen[at] = 0
        return end
    _heapsort(rows, order, a)
    for at in range(m):
        i = order[at]
        if at == 0 or rows[i, a] != code[end - 1]:
            code[end] = rows[i, a]
            end += 1
        place[i, a] = end - 1
    return end


@borrowing
def count_codes(
    rows: Codes,
    weights: Codes,
    box: np.ndarray,
    first: Ints,
    code: Codes,
    place: Codes,
    order: Codes,
    seen: Codes,
    occurs: Codes,
    whole: Codes,
) -> None:
    """Fill a part's `first`, `code`, `place`, `occurs` (rows) and `whole` (weight)."""
    q = box.shape[0]
    for a in range(q):
        first[a + 1] = _list_codes(rows, a, box[a]["least"], box[a]["most"], first[a], code, place, order, seen)
    for at in range(first[q]):
        occurs[at] = 0
        whole[at] = 0
    for i in range(rows.shape[0]):
        for a in range(q):
            at = place[i, a]
            occurs[at] += np.int32(1)
            whole[at] += weights[i]


@borrowing
def sort_rows(place: Codes, m: int, a: int, begin: int, end: int, occurs: Codes, cursor: Codes, order: Codes) -> None:
    """Counting sort: `order` lists the rows by their code of attribute a. `cursor` is overwritten."""
    at = np.int32(0)
    for code in range(begin, end):
        cursor[code] = at
        at += occurs[code]
    for i in range(m):
        to = place[i, a]
        order[cursor[to]] = i
        cursor[to] += np.int32(1)


@borrowing
def add_sensitive(row: Codes, q: int, weight: int, offset: Ints, counts: Ints, start: int) -> None:
    """Add a row to the sensitive counts that begin at `start`."""
    for j in range(offset.size - 1):
        counts[start + offset[j] + row[q + j]] += weight
