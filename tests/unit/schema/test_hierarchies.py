from __future__ import annotations

import datetime as dt
import time
from decimal import Decimal

import pytest

from sfumato.schema.domain import Days, Edges, Grid, Values
from sfumato.schema.hierarchies import calendar, dyadic, flat, masked, widths
from sfumato.schema.tree import ROOT, grow


def grid(low: int, size: int, step: str = "1") -> Grid:
    return Grid(Decimal(low), step=Decimal(step), size=size)


def level(tree, depth):
    return [name for name, at in zip(tree.names, tree.depth, strict=True) if at == depth]


def partitions(tree):
    """Every node is the disjoint union of its children."""
    for node, below in enumerate(tree.children):
        if below:
            starts, ends = [int(tree.low[c]) for c in below], [int(tree.high[c]) for c in below]
            assert starts[0] == tree.low[node]
            assert ends[-1] == tree.high[node]
            assert starts[1:] == ends[:-1]


def test_dyadic_halves_down_to_a_sixteenth():
    tree = dyadic(grid(0, 64), None)
    assert level(tree, 1) == ["[0-32)", "[32-64)"]
    assert len(level(tree, 4)) == 16
    assert tree.height == 4
    assert set((tree.high - tree.low)[tree.depth == 4].tolist()) == {4}
    partitions(tree)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 15, 17, 2**31 - 1])
def test_dyadic_of_any_size_partitions(size):
    tree = dyadic(grid(-7, size), "(missing)")
    partitions(tree)
    assert tree.high[0] == size + 1
    assert tree.names[-1] == "(missing)"


def test_dyadic_of_values_and_edges():
    assert level(dyadic(Values(("low", "mid", "high")), None), 1) == ["low", "mid..high"]
    assert level(dyadic(Edges(tuple(map(Decimal, (0, 1, 10, 100)))), None), 1) == ["[0-1)", "[1-100)"]


def test_widths_start_at_the_low_end_and_the_last_may_be_short():
    tree, problems = widths(grid(17, 26), [Decimal(10), Decimal(5)], "here", None)
    assert problems == []
    assert level(tree, 1) == ["[17-27)", "[27-37)", "[37-43)"]
    assert level(tree, 2) == ["[17-22)", "[22-27)", "[27-32)", "[32-37)", "[37-42)", "42"]
    partitions(tree)


def test_widths_on_decimal_steps_are_exact():
    tree, problems = widths(grid(0, 10, "0.1"), [Decimal("0.3")], "here", None)
    assert problems == []
    assert level(tree, 1) == ["[0-0.3)", "[0.3-0.6)", "[0.6-0.9)", "[0.9-1)"]


@pytest.mark.parametrize(
    ("cells", "given", "part"),
    [
        (grid(0, 10), ["0.5"], "not a multiple of the step"),
        (grid(0, 10), ["0"], "not a multiple of the step"),
        (grid(0, 10), ["-5"], "not a multiple of the step"),
        (grid(0, 100), ["5", "12"], "each width must be a multiple of the one before"),
        (grid(0, 2**31 - 1), ["1"], "more than can be listed"),
    ],
)
def test_widths_that_do_not_nest(cells, given, part):
    tree, problems = widths(cells, [Decimal(width) for width in given], "here", None)
    assert tree is None
    assert part in problems[0].rule


def test_a_width_beyond_the_range_splits_nothing_but_keeps_the_values_beside_missing():
    tree, _ = widths(grid(0, 5), [Decimal(10)], "here", "(missing)")
    assert tree is not None
    assert tree.names == (ROOT, "[0-5)", "(missing)")
    partitions(tree)


def test_a_width_given_many_times_counts_once():
    tree, _ = widths(grid(0, 20), [Decimal(5)] * 5000, "here", None)
    assert tree is not None
    assert len(tree) == 5


def test_calendar_names_whole_periods_and_shows_cut_ones():
    days = Days(dt.date(2019, 12, 15), step=1, size=(dt.date(2021, 1, 1) - dt.date(2019, 12, 15)).days)
    tree = calendar(days, ["month", "year", "quarter"], None)
    assert level(tree, 1) == ["[2019-12-15..2020-01-01)", "2020"]
    assert level(tree, 2) == ["2020-Q1", "2020-Q2", "2020-Q3", "2020-Q4"]
    assert level(tree, 3)[:2] == ["2020-01", "2020-02"]
    february = tree.names.index("2020-02")
    assert tree.high[february] - tree.low[february] == 29
    partitions(tree)


def test_calendar_weeks_are_cut_at_years():
    days = Days(dt.date(2020, 12, 21), step=1, size=28)
    tree = calendar(days, ["week", "year"], None)
    assert level(tree, 2) == [
        "[2020-12-21..2020-12-28)",
        "[2020-12-28..2021-01-01)",
        "[2021-01-01..2021-01-04)",
        "[2021-01-04..2021-01-11)",
        "[2021-01-11..2021-01-18)",
    ]


def test_calendar_of_a_century_is_fast():
    days = Days(dt.date(1900, 1, 1), step=1, size=36524)
    start = time.process_time()
    tree = calendar(days, ["month", "year", "decade"], "(missing)")
    assert time.process_time() - start < 2
    assert len(tree) == 1 + 10 + 100 + 1200 + 1
    partitions(tree)


def test_flat():
    tree = flat(2, ["a", "b"], "(missing)")
    assert tree.names == (ROOT, "a", "b", "(missing)")
    assert tree.high.tolist() == [3, 1, 2, 3]


@pytest.mark.parametrize(
    ("side", "above"),
    [
        ("right", ["50951", "5095*", "509**", "50***", "5****"]),
        ("left", ["50951", "*0951", "**951", "***51", "****1"]),
    ],
)
def test_masks_hide_one_more_character_each_level(side, above):
    root, problems = masked(["50951", "50952", "11111"], 5, side, "", "here")
    tree, _ = grow(root)
    way, node = [], tree.names.index("50951")
    while node:
        way.append(tree.names[node])
        node = int(tree.parent[node])
    assert (way, problems) == (above, [])
    partitions(tree)


def test_a_mask_without_values_spans_its_alphabet_once():
    root, _ = masked(None, 2, "right", "ba0b", "here")
    assert list(root.leaves()) == ["00", "0a", "0b", "a0", "aa", "ab", "b0", "ba", "bb"]


@pytest.mark.parametrize(
    ("values", "length", "alphabet", "part", "shown"),
    [
        (["123", "12", "1234"], 3, "", "2 values are not 3 characters long", ("12", "1234")),
        (["1*3"], 3, "", "1 value holds a star", ("1*3",)),
        (None, 64, "01", "more than can be listed", ()),
        (None, 2, "0*", "the alphabet holds a star", ()),
        (None, 2, "0 ", "the alphabet holds a star, a blank", ()),
    ],
)
def test_masks_that_can_not_be_built(values, length, alphabet, part, shown):
    _, problems = masked(values, length, "right", alphabet, "here")
    assert part in problems[0].rule
    assert problems[0].values == shown


def test_a_mask_of_a_hundred_thousand_leaves_is_fast():
    start = time.process_time()
    root, _ = masked(None, 5, "right", "0123456789", "here")
    tree, leaves = grow(root)
    assert time.process_time() - start < 2
    assert (len(leaves), len(tree)) == (100_000, 111_111)
