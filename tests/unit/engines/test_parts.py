"""Top cuts as a walk: NumPy and SQL agree."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
from hypothesis import given, settings, strategies as st

from sfumato.engines import Parts

NAMES = ("a", "b", "c")


@st.composite
def walks(draw):
    """A random walk of binary nodes over three columns of codes 0 to 9; some parts are not asked for."""
    attribute, position, left, right, part = [-1], [0], [0], [0], [0]
    leaves = [0]
    for _ in range(draw(st.integers(0, 6))):
        node = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        attribute[node], position[node] = draw(st.integers(0, 2)), draw(st.integers(0, 10))
        left[node], right[node] = len(attribute), len(attribute) + 1
        leaves += [len(attribute), len(attribute) + 1]
        for values, value in ((attribute, -1), (position, 0), (left, 0), (right, 0), (part, 0)):
            values += [value, value]
    asked = [leaf for leaf in leaves if draw(st.booleans())] or leaves[:1]
    for leaf in leaves:
        part[leaf] = asked.index(leaf) if leaf in asked else -1
    arrays = {"position": position, "left": left, "right": right, "part": part}
    return Parts(np.array(attribute), **{k: np.array(v) for k, v in arrays.items()}, rows=(1,) * len(asked))


def by_hand(parts: Parts, row) -> int:
    node = 0
    while parts.attribute[node] >= 0:
        below = row[parts.attribute[node]] < parts.position[node]
        node = parts.left[node] if below else parts.right[node]
    return int(parts.part[node])


@settings(max_examples=60, deadline=None)
@given(walks(), st.integers(0, 2**32 - 1))
def test_arrays_and_sql_give_the_same_parts(parts, seed):
    codes = np.random.default_rng(seed).integers(0, 10, (40, 3))
    expected = [by_hand(parts, row) for row in codes]
    assert parts.of(list(codes.T), len(codes)).tolist() == expected
    frame = pl.DataFrame(codes, schema=NAMES)  # noqa: F841  (DuckDB finds it by its name)
    rows = duckdb.sql(f"SELECT {parts.sql(NAMES)} AS part FROM frame").fetchall()
    assert [part for (part,) in rows] == expected


def test_some_of_the_parts_are_numbered_anew():
    parts = Parts(
        np.array([0, -1, 1, -1, -1]),
        position=np.array([5, 0, 3, 0, 0]),
        left=np.array([1, 0, 3, 0, 0]),
        right=np.array([2, 0, 4, 0, 0]),
        part=np.array([0, 0, 0, 1, 2]),
        rows=(4, 5, 6),
    )
    codes = np.array([[0, 0, 0], [9, 0, 0], [9, 9, 0]])
    assert parts.of(list(codes.T), 3).tolist() == [0, 1, 2]
    some = parts.only([2, 0])
    assert some.of(list(codes.T), 3).tolist() == [1, -1, 0]
    assert some.rows == (6, 4)


def test_a_long_chain_of_cuts_is_not_nested():
    """Each cut takes one code off: nested, 3,000 of them are more than Python, DuckDB or PostgreSQL read."""
    cuts = 3000
    inner = np.arange(0, 2 * cuts, 2)
    walk = {name: np.zeros(2 * cuts + 1, np.int64) for name in ("position", "left", "right", "part")}
    attribute = np.full(2 * cuts + 1, -1)
    attribute[inner], walk["position"][inner] = 0, np.arange(1, cuts + 1)
    walk["left"][inner], walk["right"][inner] = inner + 1, inner + 2
    walk["part"][inner + 1], walk["part"][-1] = np.arange(cuts), cuts
    parts = Parts(attribute, **walk, rows=(1,) * (cuts + 1))
    written = parts.sql(NAMES)
    assert written.count("CASE") == 1
    codes = np.array([0, 1, 1500, 2999, 3000, 3001])
    frame = pl.DataFrame({"a": codes})  # noqa: F841  (DuckDB finds it by its name)
    found = [part for (part,) in duckdb.sql(f"SELECT {written} AS part FROM frame").fetchall()]
    assert found == [0, 1, 1500, 2999, 3000, 3000]
    assert parts.of([codes], len(codes)).tolist() == found
    mirrored = Parts(attribute, **{**walk, "left": walk["right"], "right": walk["left"]}, rows=parts.rows)
    assert mirrored.sql(NAMES).count("CASE") == 1
