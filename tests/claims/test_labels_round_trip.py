"""Is it true that every label we write is read back to the same codes?

All kinds of attribute, and names chosen to be mistaken for something else: names on several levels, single-child
chains, names that look like intervals, unions, escapes, masks, numbers or dates.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sfumato.errors import SchemaError
from sfumato.schema import Attribute, Schema, label_name, parse_label

AWKWARD = [
    "a", "b", "a | b", "a |", "| b", "|", "a|b", "\\", "\\\\", "a\\", "\\| b", "a \\| b", "a | | b", "[1-2)", "[1, 2[",
    "1", "2", "1.0", "01", "-1", "1-2", "1..2", "..", "a..b", "a..", "..b", "{a, b}", "{a", "b}", ">=1", "2020",
    "2020-01", "2020-01-01", "1*", "**", "5**", "(known", "missing", "?", "é", "a b", "a;b", '"a"', "a\nb",
]  # fmt: skip
NAMES = st.sampled_from(AWKWARD) | st.text(alphabet="ab|\\ .*1-", min_size=1, max_size=5)
MISSING = st.sampled_from(
    [None, "category", "suppress", ["?"], ["", "NA", "1"], {"values": ["a"], "action": "category"}]
)


def build(table: dict[str, Any]) -> Attribute | None:
    """An attribute; None where the random table is not a sound one."""
    try:
        return Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", **table}}})["x"]
    except SchemaError:
        return None


@st.composite
def trees(draw: st.DrawFn, depth: int = 0) -> Any:
    if depth == 4 or draw(st.booleans()):
        return draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    return draw(st.dictionaries(NAMES, trees(depth=depth + 1), min_size=1, max_size=3))


@st.composite
def nominal(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["nominal", "ordered"]))
    if draw(st.booleans()):
        return {"kind": kind, "values": draw(st.lists(NAMES, min_size=1, max_size=8, unique_by=str.strip))}
    tree = draw(st.dictionaries(NAMES, trees(depth=1), min_size=1, max_size=4))
    return {"kind": kind, "hierarchy": _without_repeats(tree, set())}


def _without_repeats(tree: Any, seen: set[str]) -> Any:
    """The tree with each leaf once; a leaf seen before gets a number behind it."""
    if isinstance(tree, dict):
        return {name: _without_repeats(inner, seen) for name, inner in tree.items()}
    leaves = []
    for leaf in tree:
        fresh = leaf
        while fresh.strip() in seen:
            fresh += "0"
        seen.add(fresh.strip())
        leaves.append(fresh)
    return leaves


@st.composite
def grids(draw: st.DrawFn) -> dict[str, Any]:
    places = draw(st.integers(0, 4))
    unit = Decimal(1).scaleb(-places)
    step = draw(st.integers(1, 50)) * unit
    low = draw(st.integers(-1000, 1000)) * unit
    high = low + step * draw(st.integers(1, 60)) + draw(st.integers(0, 3)) * unit
    table: dict[str, Any] = {"kind": "numeric", "range": [str(low), str(high)], "step": str(step)}
    if draw(st.booleans()):
        width = step * draw(st.integers(1, 4))
        table["intervals"] = [str(width), str(width * draw(st.integers(2, 4)))]
    return table


@st.composite
def edges(draw: st.DrawFn) -> dict[str, Any]:
    points = draw(st.sets(st.decimals(-1000, 1000, places=2), min_size=2, max_size=30))
    return {"kind": "numeric", "edges": [str(point) for point in sorted(points)]}


@st.composite
def days(draw: st.DrawFn) -> dict[str, Any]:
    first = draw(st.dates(dt.date(1, 1, 1), dt.date(9990, 1, 1)))
    after = first + dt.timedelta(days=draw(st.integers(1, 900)))
    table: dict[str, Any] = {"kind": "date", "range": [first, after], "step": draw(st.sampled_from([1, 1, 7, 30]))}
    if draw(st.booleans()):
        levels = st.sampled_from(["week", "month", "quarter", "year", "decade"])
        table["dates"] = draw(st.lists(levels, min_size=1, max_size=3, unique=True))
    return table


@st.composite
def masks(draw: st.DrawFn) -> dict[str, Any]:
    mask = {"length": draw(st.integers(1, 3)), "from": draw(st.sampled_from(["left", "right"]))}
    return {"mask": {**mask, "alphabet": draw(st.sampled_from(["01", "0123", "a|\\", ".-1"]))}}


@st.composite
def labels(draw: st.DrawFn, tables: st.SearchStrategy[dict[str, Any]]) -> tuple[Attribute, tuple[tuple[int, int], ...]]:
    table = draw(tables)
    missing = draw(MISSING)
    attribute = build(table if missing is None else {**table, "missing": missing}) or build(table)
    if attribute is None:
        attribute = build({"kind": "nominal", "values": ["a", "b", "a | b"]})
        assert attribute is not None
    cuts = draw(st.sets(st.integers(0, attribute.size), min_size=2, max_size=8).filter(lambda x: len(x) >= 2))
    points = sorted(cuts)
    points = points[: len(points) // 2 * 2]
    return attribute, tuple(zip(points[::2], points[1::2], strict=True))


KINDS = {"nominal": nominal(), "grid": grids(), "edges": edges(), "days": days(), "mask": masks()}


def check(pair: tuple[Attribute, tuple[tuple[int, int], ...]]) -> None:
    attribute, intervals = pair
    name = label_name(attribute, intervals)
    assert parse_label(attribute, name) == intervals, name
    assert parse_label(attribute, f"  {name} ") == intervals


@pytest.mark.cells(2)
@pytest.mark.parametrize("kind", KINDS)
def test_every_label_reads_back(kind):
    @settings(max_examples=200, suppress_health_check=list(HealthCheck))
    @given(labels(KINDS[kind]))
    def run(pair):
        check(pair)

    run()


def test_a_code_of_a_mask_that_reads_as_missing_is_read_back():
    mask = {"length": 1, "from": "left", "alphabet": "a|\\"}
    attribute = build({"mask": mask, "missing": {"values": ["a"], "action": "category"}})
    check((attribute, ((0, 2),)))


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_every_label_reads_back_long(kind):
    @settings(max_examples=2000, suppress_health_check=list(HealthCheck))
    @given(labels(KINDS[kind]))
    def run(pair):
        check(pair)

    run()


NAMED: dict[str, dict[str, Any]] = {
    "a name on two levels": {"hierarchy": {"a": {"b": ["a", "c"]}, "d": ["b", "e"]}},
    "a chain of single children": {"hierarchy": {"a": {"b": {"c": ["d"]}}, "e": ["f", "g"]}},
    "a union that is also a name": {"values": ["a", "b", "a | b", "c"]},
    "bars at the ends": {"values": ["a |", "| b", "|", "c"]},
    "backslashes": {"values": ["\\", "a\\", "\\\\|", "a \\| b", "b"]},
    "a range that is also a value": {"kind": "ordered", "values": ["a", "b", "c", "a..b", "b..c"]},
    "numbers as names": {"hierarchy": {"1": ["2", "3"], "2": ["1", "4"]}},
    "numbers with a group called as a number": {"kind": "numeric", "hierarchy": {"2": ["1", "2.0"], "1": ["3", "4"]}},
    "a group called as a missing text": {"hierarchy": {"NA": ["Canada", "Cuba"], "EU": ["Malta"]}, "missing": ["NA"]},
    "a number that means missing": {"kind": "numeric", "range": [0, 6], "missing": ["3"]},
    "a day that means missing": {"kind": "date", "range": ["1900-01-01", "1900-01-06"], "missing": ["1900-01-01"]},
    "one value": {"values": ["a"]},
    "one value and missing": {"values": ["a"], "missing": ["?"]},
    "negative decimals": {"kind": "numeric", "range": ["-0.5", "0.1"], "step": "0.1"},
    "a grid under a hierarchy with lying names": {
        "kind": "numeric", "range": [0, 6], "hierarchy": {"[0-6)": ["0", "1"], "3": ["2", "3.0"], "1-2": ["4", "5"]},
    },
    "the last days there are": {"kind": "date", "range": ["9999-12-20", "9999-12-31"], "step": 7},
}  # fmt: skip


@pytest.mark.parametrize("shape", NAMED)
def test_every_union_of_a_named_shape_reads_back(shape):
    attribute = build(NAMED[shape])
    assert attribute is not None
    seen = {}
    for members in range(1, 2**attribute.size):
        codes = [code for code in range(attribute.size) if members >> code & 1]
        intervals = []
        for code in codes:
            if intervals and intervals[-1][1] == code:
                intervals[-1] = (intervals[-1][0], code + 1)
            else:
                intervals.append((code, code + 1))
        check((attribute, tuple(intervals)))
        seen[label_name(attribute, intervals)] = members
    assert len(seen) == 2**attribute.size - 1  # no two labels share a name


def test_a_reader_that_forgets_the_escape_is_caught():
    """The mutant: splitting at every bar misreads a name that holds one."""
    attribute = build(NAMED["a union that is also a name"])
    assert attribute is not None
    name = label_name(attribute, ((2, 3),))
    forgetful = {
        code for part in name.replace("\\", "").split(" | ") if (code := attribute.values.code(part)) is not None
    }
    assert forgetful == {0, 1}
    assert parse_label(attribute, name) == ((2, 3),)
