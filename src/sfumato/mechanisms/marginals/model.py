"""The distribution that fits tables of some attributes and says no more, and rows drawn from it.

Source    Deming & Stephan 1940 (iterative proportional fitting); Jirousek & Preucil, Computational Statistics & Data
          Analysis 19, 1995 (on a junction tree). Shrinkage: James & Stein 1961, with a variance that follows the
          expected count. The use for noisy tables: McKenna, Sheldon & Miklau, ICML 2019.
Claim     none about privacy: everything here is a function of tables that carry noise already, and of public numbers.
Because   it sees no counts of the original table.
Checked   tests/unit/mechanisms/test_marginals_model.py::test_fitting_equals_fitting_of_the_full_joint
          tests/unit/mechanisms/test_marginals_model.py::test_rows_follow_the_model
          tests/unit/mechanisms/test_marginals_model.py::test_shrinking_helps_where_there_is_nothing_but_noise
Silent on how close the fit is where tables contradict each other: the last one that was fitted wins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Floats
from sfumato.randomness import Entropy
from sfumato.schema.workload import AttributeSet

# A junction tree over attributes: which tables hold the model together, and in which order they are visited.
#
# Source    Lauritzen & Spiegelhalter, JRSS B 50(2), 1988; greedy elimination by smallest table.
# Claim     Every set that was asked for lies in one clique, and the cliques that hold an attribute form a subtree.
# Because   elimination joins all neighbours of an attribute before it goes, so the cliques are those of a chordal
#           graph; a spanning tree of largest separators over them has the running intersection property.
# Checked   tests/unit/mechanisms/test_marginals_model.py::test_every_set_lies_in_a_clique_and_attributes_form_subtrees
# Silent on the smallest tree there is: elimination is greedy.


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


_TINY = 1e-300
_LEVELS = np.exp(np.linspace(-12, 6, 37))  # of the variance of a cell over a power of its expected count
_POWERS = (1.0, 1.5, 2.0)


def nearest_distribution(table: Floats, total: float) -> Floats:
    """Return the table without negative cells and with this sum that is nearest in squares.

    >>> nearest_distribution(np.array([4.0, -1.0, 3.0]), 5.0).tolist()
    [3.0, 0.0, 2.0]
    """
    ranked = np.sort(table, axis=None)[::-1]
    surplus = (np.cumsum(ranked) - total) / np.arange(1, ranked.size + 1)
    last = np.flatnonzero(ranked > surplus)
    level = surplus[last[-1]] if len(last) else surplus[-1]
    found: Floats = np.maximum(table - level, 0.0)
    return found


def shrunk(noisy: Floats, expected: Floats, variance: float) -> Floats:
    """Move noisy cells towards what was expected of them, the more the less the table says beyond its noise.

    A cell's truth is taken as normal around m, the expected count, with variance level m^power; level and power are
    those under which the noisy table is likeliest.
    """
    mean = np.maximum(expected, 0.0)
    distance = (noisy - mean) ** 2
    best, prior = math.inf, np.zeros_like(mean)
    for power in _POWERS:
        base = mean**power
        for level in _LEVELS:
            both = level * base + variance
            loss = float((np.log(both) + distance / both).sum())
            if loss < best:
                best, prior = loss, level * base
    return mean + (noisy - mean) * prior / (prior + variance)


class TreeModel:
    """Tables of the cliques of a junction tree; each sums to 1."""

    def __init__(self, sizes: Sequence[int], sets: Sequence[AttributeSet], ones: Sequence[Floats]) -> None:
        """Begin with independent attributes; `sets` will be fitted."""
        self.sizes = tuple(sizes)
        self.tree = junction_tree(sizes, sets)
        self.tables = [_product([ones[a] for a in clique]) for clique in self.tree.cliques]

    def fit(self, targets: Mapping[AttributeSet, Floats], sweeps: int) -> None:
        """Fit tables of attributes, larger sets first, walking the tree `sweeps` times."""
        homes: list[list[tuple[AttributeSet, Floats]]] = [[] for _ in self.tree.cliques]
        for attributes in sorted(targets, key=lambda s: (-len(s), s)):
            at = self.tree.home(attributes)
            assert at is not None
            homes[at].append((attributes, targets[attributes]))
        tour = self.tree.tour()
        for _ in range(sweeps):
            self._settle(0, homes[0])
            for source, goal in tour:
                down = self.tree.parent[goal] == source
                shared = self.tree.separator[goal if down else source]
                self._scale(goal, shared, self._project(source, shared))
                if down:
                    self._settle(goal, homes[goal])

    def marginal(self, attributes: AttributeSet) -> Floats | None:
        """Return the shares of a set that some clique holds, or None."""
        at = self.tree.home(attributes)
        return None if at is None else self._project(at, attributes)

    def _settle(self, at: int, homes: list[tuple[AttributeSet, Floats]]) -> None:
        for attributes, target in homes:
            self._scale(at, attributes, target)

    def _project(self, at: int, attributes: AttributeSet) -> Floats:
        found: Floats = self.tables[at].sum(axis=self._others(at, attributes))
        return found

    def _scale(self, at: int, attributes: AttributeSet, target: Floats) -> None:
        """Multiply a clique's table so that these attributes of it have the target table."""
        now = self.tables[at].sum(axis=self._others(at, attributes), keepdims=True)
        self.tables[at] *= np.divide(target.reshape(now.shape), now, out=np.zeros_like(now), where=now > _TINY)

    def _others(self, at: int, attributes: AttributeSet) -> tuple[int, ...]:
        return tuple(place for place, a in enumerate(self.tree.cliques[at]) if a not in attributes)

    def rows(self, number: int, entropy: Entropy) -> NDArray[np.int64]:
        """Draw rows down the tree: in each group of rows that agree so far, shares are met to within one row."""
        drawn = np.zeros((number, len(self.sizes)), np.int64)
        for at, clique in enumerate(self.tree.cliques):
            shared = self.tree.separator[at]
            fresh = [a for a in clique if a not in shared]
            given = math.prod(self.sizes[a] for a in shared)
            axes = [clique.index(a) for a in (*shared, *fresh)]
            shares = np.transpose(self.tables[at], axes).reshape(given, -1)
            group = np.zeros(number, np.int64)
            for a in shared:
                group = group * self.sizes[a] + drawn[:, a]
            value = drawn_given(shares, group, entropy)
            for a in reversed(fresh):
                value, drawn[:, a] = np.divmod(value, self.sizes[a])
        return drawn


def _product(ones: Sequence[Floats]) -> Floats:
    table = np.ones(())
    for one in ones:
        table = table[..., None] * one
    return table


def drawn_given(shares: Floats, group: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
    """Draw a column for every row by the shares of its group: evenly spaced points with one random start for a group.

    Within a group, which row gets which point is random.
    """
    number, width = len(group), shares.shape[1]
    if not number:
        return np.zeros(0, np.int64)
    total = shares.sum(axis=1, keepdims=True)
    even = np.full_like(shares, 1 / width)
    cumulative = np.cumsum(np.divide(shares, total, out=even, where=total > _TINY), axis=1)
    cumulative[:, -1] = 1.0
    order = np.lexsort((entropy.words(number), group))
    ranked = group[order]
    start = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    many = np.diff(np.append(start, number))
    rank = np.arange(number) - np.repeat(start, many)
    point = (rank + np.repeat(entropy.uniforms(len(start)), many)) / np.repeat(many, many)
    line = (np.arange(len(shares))[:, None] + cumulative).reshape(-1)
    found = np.clip(np.searchsorted(line, ranked + point, side="right") - ranked * width, 0, width - 1)
    values = np.empty(number, np.int64)
    values[order] = found
    return values
