"""Counting one part: which codes occur, how often, and the rows in the order of one attribute.

Only codes that occur take room, so a part of twenty rows costs twenty rows, however wide its domain.
"""

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is no `int` to mypy, and arrays are passed one by one because a compiled call with many
# arrays in a tuple costs more than the work it does.

from __future__ import annotations

import numpy as np

from sfumato.kernels.cache import inlined
from sfumato.kernels.mondrian_layout import Codes, Ints

__all__ = ["add_sensitive", "count_codes", "dense", "sort_rows"]


@inlined
def dense(span: int, rows: int) -> bool:
    """Say whether a table over the span costs no more than the rows do."""
    return span <= 4 * rows + 64


@inlined
def _sift(rows: Codes, order: Codes, a: int, root: int, end: int) -> None:
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and rows[order[child], a] < rows[order[child + 1], a]:
            child += 1
        if rows[order[root], a] >= rows[order[child], a]:
            return
        order[root], order[child] = order[child], order[root]
        root = child


@inlined
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


@inlined
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


@inlined
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


@inlined
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


@inlined
def add_sensitive(row: Codes, q: int, weight: int, offset: Ints, counts: Ints, start: int) -> None:
    """Add a row to the sensitive counts that begin at `start`."""
    for j in range(offset.size - 1):
        counts[start + offset[j] + row[q + j]] += weight
