"""A junction tree over attributes: which tables hold the model together, and in which order they are visited.

Source    Lauritzen & Spiegelhalter, JRSS B 50(2), 1988; greedy elimination by smallest table.
Claim     Every set that was asked for lies in one clique, and the cliques that hold an attribute form a subtree.
Because   elimination joins all neighbours of an attribute before it goes, so the cliques are those of a chordal graph;
          a spanning tree of largest separators over them has the running intersection property.
Checked   tests/unit/mechanisms/test_marginals_model.py::test_every_set_lies_in_a_clique_and_attributes_form_subtrees
Silent on the smallest tree there is: elimination is greedy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass

from sfumato.schema.workload import AttributeSet

__all__ = ["AttributeSet", "JunctionTree", "junction_tree", "model_cells"]


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """Cliques in an order in which each comes after its parent; the first is the root, of parent -1."""

    cliques: tuple[AttributeSet, ...]
    _: KW_ONLY
    parent: tuple[int, ...]
    separator: tuple[AttributeSet, ...]

    def home(self, attributes: AttributeSet) -> int | None:
        """Return the first clique that holds all these attributes."""
        wanted = set(attributes)
        return next((at for at, clique in enumerate(self.cliques) if wanted <= set(clique)), None)

    def tour(self) -> list[tuple[int, int]]:
        """Return a walk from the root along every edge, forth and back: (from, to), a step for each."""
        children: list[list[int]] = [[] for _ in self.cliques]
        for at, above in enumerate(self.parent):
            if above >= 0:
                children[above].append(at)
        steps: list[tuple[int, int]] = []
        stack = [(child, False) for child in reversed(children[0])]
        while stack:
            at, done = stack.pop()
            if done:
                steps.append((at, self.parent[at]))
                continue
            steps.append((self.parent[at], at))
            stack.append((at, True))
            stack += [(child, False) for child in reversed(children[at])]
        return steps


def _eliminated(sizes: Sequence[int], sets: Iterable[AttributeSet]) -> list[AttributeSet]:
    """Return the cliques that eliminating the attributes one by one leaves, the one of the smallest table first."""
    near = [0] * len(sizes)  # the neighbours of each attribute, a bit for each: wide tables ask thousands of times
    for attributes in sets:
        together = sum(1 << a for a in attributes)
        for a in attributes:
            near[a] |= together & ~(1 << a)
    cells = [size * math.prod(sizes[b] for b in _bits(near[a])) for a, size in enumerate(sizes)]
    left, found = set(range(len(sizes))), list[int]()
    while left:
        chosen = min(left, key=lambda a: (cells[a], a))
        clique = near[chosen] | 1 << chosen
        if not any(clique & other == clique for other in found):
            found.append(clique)
        for a in _bits(near[chosen]):
            near[a] = (near[a] | near[chosen]) & ~(1 << a | 1 << chosen)
            cells[a] = sizes[a] * math.prod(sizes[b] for b in _bits(near[a]))
        left.remove(chosen)
    return [tuple(_bits(clique)) for clique in found]


def _bits(held: int) -> Iterator[int]:
    """Places of the bits that are set, ascending."""
    while held:
        yield (held & -held).bit_length() - 1
        held &= held - 1


def model_cells(sizes: Sequence[int], sets: Iterable[AttributeSet]) -> int:
    """Return how many cells the cliques have together."""
    return sum(math.prod(sizes[a] for a in clique) for clique in _eliminated(sizes, sets))


def junction_tree(sizes: Sequence[int], sets: Iterable[AttributeSet]) -> JunctionTree:
    """Return the tree; parts that share no attribute hang together by an empty separator."""
    waiting = sorted(_eliminated(sizes, sets), key=lambda c: (-math.prod(sizes[a] for a in c), c))
    cliques, parent, separator = [waiting.pop(0)], [-1], [AttributeSet()]
    while waiting:  # Prim: the largest separator to a clique that is in already
        _, at, new = min(
            (-len(set(clique) & set(old)), at, new)
            for new, clique in enumerate(waiting)
            for at, old in enumerate(cliques)
        )
        clique = waiting.pop(new)
        separator.append(tuple(sorted(set(clique) & set(cliques[at]))))
        cliques.append(clique)
        parent.append(at)
    return JunctionTree(tuple(cliques), parent=tuple(parent), separator=tuple(separator))
