"""How many combinations of labels specializations can lead to."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings, strategies as st

from sfumato.mechanisms.diffgen.growth import Node, by_splits, most_combinations, replaced, root_cut
from sfumato.schema import Schema

COLUMNS = {
    "flat": {"values": ["a", "b", "c", "d"]},
    "two": {"values": ["yes", "no"]},
    "deep": {"hierarchy": {"x": {"x1": ["p", "q", "r"], "x2": ["s"]}, "y": ["t", "u"], "z": ["v", "w", "k", "l"]}},
    "grid": {"kind": "numeric", "range": [0, 6], "step": 1},
    "gaps": {"kind": "numeric", "range": [0, 5], "step": 1, "missing": [""]},
}


def attributes(names):
    columns = {name: {"role": "quasi", **COLUMNS[name]} for name in names}
    return Schema.parse({"name": "t", "source": "public", "attribute": columns}).quasi


def ways(attribute, node):
    """All that a node can be replaced by."""
    if by_splits(attribute):
        return [node.split(int(at)) for at in node.splits()]
    return [below] if (below := node.children(attribute)) else []


def reached(quasi, steps):
    """Every product of numbers of labels after so many specializations or fewer, by walking all of them."""
    cuts = {tuple(root_cut(attribute) for attribute in quasi)}
    best = max(math.prod(map(len, cut)) for cut in cuts)
    for _ in range(steps):
        cuts = {
            (*cut[:at], replaced(cut[at], node, below), *cut[at + 1 :])
            for cut in cuts
            for at, attribute in enumerate(quasi)
            for node in cut[at]
            for below in ways(attribute, node)
        }
        best = max([best, *(math.prod(map(len, cut)) for cut in cuts)])
    return best


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([*COLUMNS]), min_size=1, max_size=3, unique=True), st.integers(0, 4))
def test_no_run_has_more_combinations(names, steps):
    quasi = attributes(names)
    assert reached(quasi, steps) <= most_combinations(quasi, steps) <= math.prod(a.size for a in quasi)


@pytest.mark.parametrize("steps", range(6))
def test_it_is_reached_where_nothing_lies_deep(steps):
    """Without a hierarchy every node may be specialized at once."""
    quasi = attributes(["flat", "two", "gaps"])
    assert reached(quasi, steps) == most_combinations(quasi, steps)


def test_nothing_to_specialize():
    assert most_combinations((), 5) == 1
    assert Node(0, high=1).splits().size == 0
