"""A public tree over the codes of one attribute: nodes are half-open code intervals with names.

Node 0 is the root `*`; nodes are in preorder, so children follow their parent and leaves are
numbered depth-first. A missing value is a code of its own, the last, directly below the root.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.errors import Problem, count_of
from sfumato.schema.domain import value_text

ROOT = "*"
LEVELS_LIMIT = 100
_ONE_PARENT = "give each value and each group one parent"
_OTHER_NAME = "give the group another name than what is in it"
_UNSET = -1


@dataclass(slots=True)
class Branch:
    """A named node while a tree is being read; no children means a leaf."""

    name: str
    children: list[Branch]

    def leaves(self) -> Iterator[str]:
        """Yield the leaf names depth-first."""
        stack = [self]
        while stack:
            branch = stack.pop()
            if branch.children:
                stack.extend(reversed(branch.children))
            else:
                yield branch.name


@dataclass(frozen=True)
class Tree:
    """Named intervals `[low, high)` of codes; `parent[0]` is -1."""

    low: np.ndarray
    high: np.ndarray
    parent: np.ndarray
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        for array in (self.low, self.high, self.parent):
            array.setflags(write=False)

    @classmethod
    def of(cls, low: Sequence[int], high: Sequence[int], parent: Sequence[int], names: Sequence[str]) -> Tree:
        """Return the tree of nodes given as lists."""
        return cls(np.array(low, np.int64), np.array(high, np.int64), np.array(parent, np.int64), tuple(names))

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.names, self.low.tobytes(), self.high.tobytes()))

    @cached_property
    def depth(self) -> np.ndarray:
        """Steps from the root, per node."""
        depth = np.zeros(len(self), dtype=np.int32)
        for node in range(1, len(self)):  # preorder: a parent stands before its children
            depth[node] = depth[self.parent[node]] + 1
        return depth

    @property
    def height(self) -> int:
        """Longest way from the root to a node."""
        return int(self.depth.max())

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Child nodes of each node, in code order."""
        found: list[list[int]] = [[] for _ in self.names]
        for node in range(1, len(self)):
            found[self.parent[node]].append(node)
        return tuple(tuple(nodes) for nodes in found)

    @cached_property
    def distinct(self) -> np.ndarray:
        """Nodes whose codes differ from their parent's: a chain of single children counts once."""
        keep = np.ones(len(self), dtype=bool)
        rest = self.parent[1:]
        keep[1:] = (self.low[1:] != self.low[rest]) | (self.high[1:] != self.high[rest])
        return keep

    @cached_property
    def branching(self) -> Tree:
        """The tree in which a chain of single children is one node, the first of them."""
        kept = np.flatnonzero(self.distinct)
        number = np.cumsum(self.distinct) - 1  # in preorder the rest of a chain has the number of its first node
        parent = np.where(kept == 0, -1, number[self.parent[kept]])
        return Tree(self.low[kept], self.high[kept], parent, tuple(self.names[node] for node in kept))

    @cached_property
    def spans(self) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
        """The nodes as (low, high, children)."""
        return tuple(zip(self.low.tolist(), self.high.tolist(), self.children, strict=True))

    @cached_property
    def by_interval(self) -> dict[tuple[int, int], int]:
        """The deepest node of each interval (the most precise name for the same codes)."""
        return {(int(low), int(high)): n for n, (low, high) in enumerate(zip(self.low, self.high, strict=True))}

    @cached_property
    def by_name(self) -> dict[str, tuple[int, ...]]:
        """Nodes with distinct intervals that carry a name."""
        found: dict[str, tuple[int, ...]] = {}
        several: dict[
            str, dict[tuple[int, int], int]
        ] = {}  # few: a dictionary for each of a million names is half a GB
        for node, name in enumerate(self.names):
            if found.setdefault(name, (node,)) == (node,):
                continue
            (first,) = found[name]
            nodes = several.setdefault(name, {(int(self.low[first]), int(self.high[first])): first})
            nodes[int(self.low[node]), int(self.high[node])] = node
        found.update((name, tuple(nodes.values())) for name, nodes in several.items())
        return found

    def ancestor(self, low: int, high: int) -> int:
        """Return the deepest node that holds all codes of `[low, high)`."""
        node = 0
        while True:
            below = self.children[node]
            at = bisect.bisect_right(below, low, key=self.low.__getitem__) - 1
            if at < 0 or high > self.high[below[at]] or low >= self.high[below[at]]:
                return node
            node = below[at]

    def to_json(self) -> dict[str, Any]:
        """Return the nodes as plain lists."""
        return {
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "parent": self.parent.tolist(),
            "names": list(self.names),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Tree:
        """Return the tree that `to_json` wrote."""
        return cls.of(data["low"], data["high"], data["parent"], data["names"])


def branch_from_paths(paths: Sequence[Sequence[str]], where: str) -> tuple[Branch, list[Problem]]:
    """Read leaf-first paths (`leaf, group, ..., *`); every inconsistency is a problem, none stops the reading.

    A name repeated along a line is padding. A value named as the group it is in becomes a leaf of that group.
    """
    root, faults = Branch(ROOT, []), _Faults()
    above: dict[tuple[int, str], str] = {}
    nodes: dict[tuple[str, ...], Branch] = {(): root}
    leaves: dict[tuple[str, ...], None] = {}
    top = _shared_top(paths)
    for path in paths:
        names = list(path)
        if any(name == "" for name in names):
            faults.empty += 1
            continue
        while len(names) > 1 and names[-1] in (ROOT, top):
            names.pop()
        steps = [name for at, name in enumerate(names) if at == 0 or name != names[at - 1]]
        repeated = [name for name, times in Counter(steps).items() if times > 1 or name == ROOT]
        if repeated:
            faults.cycles.update(dict.fromkeys(repeated))
            continue
        if len(steps) > LEVELS_LIMIT:
            faults.deep += 1
            continue
        parent = ROOT
        for level in range(len(names) - 1, -1, -1):
            name = names[level]
            if level + 1 < len(names) and names[level + 1] != name:
                parent = names[level + 1]
            if above.setdefault((level, name), parent) != parent:
                faults.two_parents[name] = None
        way = tuple(reversed(steps))
        leaves[way] = None
        _hang(nodes, way)
    for way in leaves:
        if nodes[way].children:
            nodes[way].children.insert(0, Branch(way[-1], []))
    problems = faults.problems(where)
    if not root.children and not problems:
        problems.append(Problem(where, "holds no values", "write one line for each value: value;group;*"))
    return root, problems


@dataclass(slots=True)
class _Faults:
    """What is wrong with a hierarchy, gathered while it is read."""

    empty: int = 0
    deep: int = 0
    forms: int = 0
    two_parents: dict[str, None] = field(default_factory=dict)
    cycles: dict[str, None] = field(default_factory=dict)
    empties: dict[str, None] = field(default_factory=dict)

    def problems(self, where: str) -> list[Problem]:
        """Return one problem for each kind of fault."""
        counted = (
            (self.empty, "has", "have", "an empty node", "name every level of every line, or end the line early"),
            (self.deep, "has", "have", f"more than {LEVELS_LIMIT} levels", "leave levels out"),
            (self.forms, "is", "are", "neither a value nor a group", "groups are tables, their values stand in a list"),
        )
        found = [
            Problem(where, f"{count_of(n, f'line or entry {one}', f'lines or entries {many}')} {rule}", hint, count=n)
            for n, one, many, rule, hint in counted
            if n
        ]
        named = (
            (self.two_parents, "value or group stands", "values or groups stand", "under two parents", _ONE_PARENT),
            (self.cycles, "name is its", "names are their", "own ancestor (a cycle)", _OTHER_NAME),
            (self.empties, "group is", "groups are", "empty", "list the group's values, or drop it"),
        )
        for names, one, many, rule, hint in named:
            if names:
                message = f"{count_of(len(names), one, many)} {rule}"
                found.append(Problem(where, message, hint, count=len(names), values=tuple(names)))
        return found


def _shared_top(paths: Sequence[Sequence[str]]) -> str:
    """Return the one name all lines end in, when they do (a root that is not written `*`)."""
    tops = {path[-1] for path in paths if len(path) > 1}
    return tops.pop() if len(tops) == 1 and all(len(path) > 1 for path in paths) else ROOT


def _hang(nodes: dict[tuple[str, ...], Branch], way: tuple[str, ...]) -> None:
    for end in range(1, len(way) + 1):
        if way[:end] not in nodes:
            branch = Branch(way[end - 1], [])
            nodes[way[: end - 1]].children.append(branch)
            nodes[way[:end]] = branch


def branch_from_inline(data: Any, where: str) -> tuple[Branch, list[Problem]]:
    """Read an inline tree: tables are groups, lists are leaves (or further tables)."""
    faults = _Faults()
    leaves: set[str] = set()
    groups: set[tuple[int, str]] = set()

    def add_leaf(value: Any) -> list[Branch]:
        if isinstance(value, Mapping | list):
            faults.forms += 1
            return []
        name = value_text(value)
        if name == "":
            faults.empty += 1
        if name in leaves:
            faults.two_parents[name] = None
        leaves.add(name)
        return [Branch(name, [])]

    def add_groups(table: Mapping[str, Any], way: tuple[str, ...]) -> list[Branch]:
        return [branch for key, inner in table.items() for branch in add_group(str(key).strip(), inner, way)]

    def add_group(name: str, content: Any, way: tuple[str, ...]) -> list[Branch]:
        if name in way:
            faults.cycles[name] = None
            return []
        if len(way) >= LEVELS_LIMIT:
            faults.deep += 1
            return []
        if name == "":
            faults.empty += 1
        if (len(way), name) in groups:
            faults.two_parents[name] = None
        groups.add((len(way), name))
        below = (*way, name)
        if isinstance(content, Mapping):
            children = add_groups(content, below)
        elif isinstance(content, list):
            children = [
                branch
                for item in content
                for branch in (add_groups(item, below) if isinstance(item, Mapping) else add_leaf(item))
            ]
        else:
            faults.forms += 1
            return []
        if not children:
            faults.empties[name] = None
        return [Branch(name, children)]

    read = add_group(ROOT, data, ())
    return (read[0] if read else Branch(ROOT, [])), faults.problems(where)


def grow(root: Branch, *, missing: str | None = None) -> tuple[Tree, tuple[str, ...]]:
    """Number the leaves depth-first; return the tree and the leaf names in code order."""
    low: list[int] = []
    high: list[int] = []
    parent: list[int] = []
    names: list[str] = []
    leaves: list[str] = []
    stack: list[tuple[Branch, int]] = [(root, _UNSET)]
    while stack:
        branch, above = stack.pop()
        node = len(names)
        names.append(branch.name)
        parent.append(above)
        low.append(len(leaves))
        high.append(len(leaves) + 1)
        if branch.children:
            stack.extend((child, node) for child in reversed(branch.children))
        else:
            leaves.append(branch.name)
    if missing is not None:
        names.append(missing)
        parent.append(0)
        low.append(len(leaves))
        high.append(len(leaves) + 1)
    for node in range(len(names) - 1, 0, -1):  # children stand after their parent
        above = parent[node]
        high[above] = max(high[above], high[node])
    return Tree.of(low, high, parent, names), tuple(leaves)
