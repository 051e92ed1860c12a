from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sfumato.schema.tree import LEVELS_LIMIT, ROOT, Branch, Tree, branch_from_inline, branch_from_paths, grow


def paths(*lines: str) -> list[list[str]]:
    return [line.split(";") for line in lines]


def shape(branch: Branch) -> object:
    """The tree as nested pairs, to compare with a literal."""
    return (branch.name, [shape(child) for child in branch.children]) if branch.children else branch.name


def test_leaves_are_numbered_depth_first_and_nodes_are_intervals():
    root, problems = branch_from_paths(paths("a;X;*", "c;Y;*", "b;X;*", "d;*"), "here")
    tree, leaves = grow(root, missing="(missing)")
    assert problems == []
    assert leaves == ("a", "b", "c", "d")
    assert tree.names == (ROOT, "X", "a", "b", "Y", "c", "d", "(missing)")
    assert tree.low.tolist() == [0, 0, 0, 1, 2, 2, 3, 4]
    assert tree.high.tolist() == [5, 2, 1, 2, 3, 3, 4, 5]
    assert tree.parent.tolist() == [-1, 0, 1, 1, 0, 4, 0, 0]
    assert tree.depth.tolist() == [0, 1, 2, 2, 1, 2, 1, 1]
    assert tree.height == 2
    assert tree.children[0] == (1, 4, 6, 7)


def test_distinct_counts_a_chain_of_single_children_once():
    tree, _ = grow(branch_from_paths(paths("a;X;U;*", "b;Y;*"), "here")[0])
    assert [name for name, keep in zip(tree.names, tree.distinct, strict=True) if keep] == ["*", "U", "Y"]


def test_branching_has_each_chain_once():
    lines = ("a;X;U;*", "b;Y;*", "c;Z;V;*", "d;W;V;*", "e;W;V;*")
    tree = grow(branch_from_paths(paths(*lines), "here")[0], missing="?")[0].branching
    assert tree.names == ("*", "U", "Y", "V", "Z", "W", "d", "e", "?")
    assert tree.spans == (
        (0, 6, (1, 2, 3, 8)), (0, 1, ()), (1, 2, ()), (2, 5, (4, 5)), (2, 3, ()), (3, 5, (6, 7)), (3, 4, ()),
        (4, 5, ()), (5, 6, ()),
    )  # fmt: skip
    one, _ = grow(branch_from_paths(paths("a;X;*"), "here")[0])
    assert one.branching.spans == ((0, 1, ()),)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=14))
def test_branching_equals_a_walk_up_from_every_node(groups):
    lines = [f"v{at};c{c}{b}{a};b{b}{a};a{a};*" for at, (a, b, c) in enumerate(sorted(groups))]
    tree, _ = grow(branch_from_paths(paths(*lines), "here")[0])
    kept = [node for node in range(len(tree)) if tree.distinct[node]]
    parents = []
    for node in kept:
        above = int(tree.parent[node])
        while above >= 0 and above not in kept:
            above = int(tree.parent[above])
        parents.append(kept.index(above) if above >= 0 else -1)
    found = tree.branching
    assert found.parent.tolist() == parents
    assert found.low.tolist() == tree.low[kept].tolist()
    assert found.names == tuple(tree.names[node] for node in kept)


@pytest.mark.parametrize(("low", "high", "name"), [(0, 1, "a"), (0, 2, "X"), (1, 3, "*"), (2, 3, "c"), (0, 3, "*")])
def test_ancestor_is_the_deepest_node_that_holds_the_codes(low, high, name):
    tree, _ = grow(branch_from_paths(paths("a;X;*", "b;X;*", "c;Y;*"), "here")[0])
    assert tree.names[tree.ancestor(low, high)] == name


def test_ancestor_equals_a_search_of_all_nodes():
    lines = [f"{leaf};{leaf // 2}g;{leaf // 6}h;*" for leaf in range(17)]
    tree, leaves = grow(branch_from_paths(paths(*lines), "here")[0], missing="?")
    for low in range(len(leaves) + 1):
        for high in range(low + 1, len(leaves) + 2):
            holds = [n for n in range(len(tree)) if tree.low[n] <= low and high <= tree.high[n]]
            assert tree.ancestor(low, high) == max(holds, key=lambda n: tree.depth[n])


@pytest.mark.parametrize(
    "lines",
    [
        ("a;X;*", "b;*"),  # ragged
        ("a;X;*;", "b;*;*"),  # padded with the root
        ("a;X;*", "b;b;*"),  # padded with the value
        ("a;X", "b"),  # without a root
    ],
)
def test_ragged_and_padded_lines_mean_the_same_tree(lines):
    trimmed = [[cell for cell in line if cell] for line in paths(*lines)]
    root, problems = branch_from_paths(trimmed, "here")
    assert (shape(root), problems) == ((ROOT, [("X", ["a"]), "b"]), [])


def test_a_root_of_another_name_is_the_root():
    root, problems = branch_from_paths(paths("a;X;All", "b;Y;All"), "here")
    assert (shape(root), problems) == ((ROOT, [("X", ["a"]), ("Y", ["b"])]), [])


def test_a_value_named_as_its_group_stays_a_value():
    for lines in (("a;a;*", "c;a;*"), ("c;a;*", "a;*")):
        root, problems = branch_from_paths(paths(*lines), "here")
        assert (shape(root), problems) == ((ROOT, [("a", ["a", "c"])]), [])


def test_padding_at_different_levels_is_not_a_second_parent():
    root, problems = branch_from_paths(paths("a;A;A;*", "b;A;*"), "here")
    assert (shape(root), problems) == ((ROOT, [("A", ["a", "b"])]), [])


@pytest.mark.parametrize(
    ("lines", "rule", "values"),
    [
        (("a;X;*", "a;Y;*", "b;X;*", "b;Y;*"), "2 values or groups stand under two parents", ("a", "b")),
        (("a;X;U;*", "b;X;V;*"), "1 value or group stands under two parents", ("X",)),
        (("a;X;a;*",), "1 name is its own ancestor (a cycle)", ("a",)),
        (("a;*;X;*",), "1 name is its own ancestor (a cycle)", ("*",)),
        (("a;;*", ";X;*"), "2 lines or entries have an empty node", ()),
        ((), "holds no values", ()),
    ],
)
def test_each_inconsistency_of_paths_is_named(lines, rule, values):
    _, problems = branch_from_paths(paths(*lines), "here")
    assert [(p.path, p.rule, p.values) for p in problems] == [("here", rule, values)]
    assert all(p.hint for p in problems)


def test_all_inconsistencies_are_named_at_once():
    _, problems = branch_from_paths(paths("a;X;*", "a;Y;*", "b;X;b;*", "c;;*"), "here")
    assert [p.rule.partition(" ")[2] for p in problems] == [
        "line or entry has an empty node",
        "value or group stands under two parents",
        "name is its own ancestor (a cycle)",
    ]


def test_more_levels_than_the_limit():
    deep = [str(level) for level in range(LEVELS_LIMIT)]
    assert branch_from_paths([[*deep, ROOT]], "here")[1] == []
    _, problems = branch_from_paths([[*deep, "one more", ROOT]], "here")
    assert f"more than {LEVELS_LIMIT} levels" in problems[0].rule


def test_inline_tables_are_groups_and_lists_are_leaves():
    data = {"X": {"Y": ["a", 1], "Z": [True]}, "W": [0.5, {"V": ["b"]}, 2.0]}
    root, problems = branch_from_inline(data, "here")
    expected = (ROOT, [("X", [("Y", ["a", "1"]), ("Z", ["true"])]), ("W", ["0.5", ("V", ["b"]), "2"])])
    assert (shape(root), problems) == (expected, [])


@pytest.mark.parametrize(
    ("data", "rule", "values"),
    [
        ({"X": ["a"], "Y": ["a"]}, "1 value or group stands under two parents", ("a",)),
        ({"X": {"G": ["a"]}, "Y": {"G": ["b"]}}, "1 value or group stands under two parents", ("G",)),
        ({"X": ["a"], "Y": []}, "1 group is empty", ("Y",)),
        ({}, "1 group is empty", ("*",)),
        ({"X": "abc", "Y": ["a"]}, "1 line or entry is neither a value nor a group", ()),
        ({"X": 5, "Y": ["a"]}, "1 line or entry is neither a value nor a group", ()),
        ({"X": ["b", ["a"]]}, "1 line or entry is neither a value nor a group", ()),
        ({"X": ["", "a"]}, "1 line or entry has an empty node", ()),
        ({"": ["a"]}, "1 line or entry has an empty node", ()),
    ],
)
def test_each_inconsistency_of_an_inline_tree_is_named(data, rule, values):
    _, problems = branch_from_inline(data, "here")
    assert [(p.rule, p.values) for p in problems] == [(rule, values)]


def test_an_inline_cycle_and_an_inline_tree_without_end():
    _, problems = branch_from_inline({"X": {"Y": {"X": ["a"]}, "Z": ["b"]}}, "here")
    assert ("1 name is its own ancestor (a cycle)", ("X",)) in [(p.rule, p.values) for p in problems]
    data: object = ["a"]
    for level in range(3000):
        data = {str(level): data}
    _, problems = branch_from_inline(data, "here")
    assert any("levels" in p.rule for p in problems)


def test_json_round_trip_and_equality():
    tree, _ = grow(branch_from_paths(paths("a;X;*", "b;X;*", "c;Y;*"), "here")[0])
    again = Tree.from_json(tree.to_json())
    assert again == tree
    assert hash(again) == hash(tree)
    assert tree != grow(branch_from_paths(paths("a;X;*", "b;X;*", "c;Z;*"), "here")[0])[0]


def test_arrays_can_not_be_written():
    tree, _ = grow(Branch(ROOT, [Branch("a", [])]))
    with pytest.raises(ValueError, match="read-only"):
        tree.low[0] = 7
    assert tree.low.dtype == np.int64


def test_by_name_lists_one_node_for_each_set_of_codes():
    tree, _ = grow(branch_from_inline({"a": {"b": ["a", "c"]}, "d": ["b"]}, "here")[0])
    assert len(tree.by_name["a"]) == 2
    assert len(tree.by_name["b"]) == 2
    assert tree.names[tree.by_interval[0, 2]] == "b"  # the deepest of the chain


def test_names_that_stand_once_take_little_memory():
    """A dictionary was made for each name: half a GB for the million nodes of a mask of six digits."""
    size = 20_000
    low, names = [0, *range(size)], [ROOT, *map(str, range(size))]
    tree = Tree.of(low, [size, *range(1, size + 1)], [-1] + [0] * size, names)
    tracemalloc.start()
    held = tree.by_name
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held["7"] == (8,)
    assert taken < 250 * size
