"""Parts of a table: the top cuts as a walk of binary nodes that any engine can follow.

Source    Ours: a cut tree as data (counts/recoding.py), its nodes of many children split into binary ones.
Claim     `Parts.of` and the SQL of `Parts.sql` give every row the same part.
Because   each is the same walk: an attribute, a position, the part at the end.
Checked   tests/unit/engines/test_parts.py::test_arrays_and_sql_give_the_same_parts
          tests/unit/engines/test_parts.py::test_a_long_chain_of_cuts_is_not_nested
Silent on codes outside the domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np


@dataclass(frozen=True)
class BinaryWalk:
    """Binary nodes: codes below `position` go left. `origin` is the node of the given tree a leaf stands for."""

    attribute: np.ndarray
    _: KW_ONLY
    position: np.ndarray
    left: np.ndarray
    right: np.ndarray
    origin: np.ndarray


def binary_nodes(
    attribute: np.ndarray, offsets: np.ndarray, boundaries: np.ndarray, children: np.ndarray
) -> BinaryWalk:
    """Split nodes of many boundaries into balanced binary ones; a node with one boundary stays as it is."""
    count = len(attribute)
    cuts = np.diff(offsets)
    first_child = offsets[:-1] + np.concatenate([[0], np.cumsum(attribute >= 0)[:-1]])
    kind = list(attribute.tolist())
    position, left, right, origin = [0] * count, [0] * count, [0] * count, list(range(count))
    one = np.flatnonzero((attribute >= 0) & (cuts == 1))
    for at in one.tolist():
        position[at] = int(boundaries[offsets[at]])
        left[at], right[at] = int(children[first_child[at]]), int(children[first_child[at] + 1])
    for at in np.flatnonzero((attribute >= 0) & (cuts != 1)).tolist():
        stack = [(at, 0, int(cuts[at]))]  # (node, first boundary, after the last boundary)
        while stack:
            node, low, high = stack.pop()
            middle = (low + high) // 2
            if low == high:  # an inner node without a boundary: pass on to its only child
                position[node] = 0
                left[node] = right[node] = int(children[first_child[at]])
                continue
            position[node] = int(boundaries[offsets[at] + middle])
            sides = []
            for start, end in ((low, middle), (middle + 1, high)):
                if start == end:
                    sides.append(int(children[first_child[at] + start]))
                    continue
                kind.append(int(attribute[at]))
                position.append(0)
                left.append(0)
                right.append(0)
                origin.append(at)
                sides.append(len(kind) - 1)
                stack.append((len(kind) - 1, start, end))
            left[node], right[node] = sides
    arrays = {"position": position, "left": left, "right": right, "origin": origin}
    return BinaryWalk(np.asarray(kind, np.int64), **{key: np.asarray(value, np.int64) for key, value in arrays.items()})


@dataclass(frozen=True, slots=True)
class Parts:
    """A walk from node 0: codes of column `attribute` below `position` go left; a leaf (attribute -1) names a `part`.

    A part of -1 is not asked for. `rows[p]` is the weight of part p where it is known, so that an engine can take
    several small parts at once. Columns are numbered as in `Engine.names`.
    """

    attribute: np.ndarray
    _: KW_ONLY
    position: np.ndarray
    left: np.ndarray
    right: np.ndarray
    part: np.ndarray
    rows: tuple[int, ...]

    @property
    def number(self) -> int:
        """How many parts there are."""
        return len(self.rows)

    @classmethod
    def whole(cls, rows: int) -> Parts:
        """Return the one part that is the whole table."""
        none = np.zeros(1, np.int64)
        return cls(np.full(1, -1, np.int64), position=none, left=none, right=none, part=none, rows=(rows,))

    def only(self, wanted: Sequence[int]) -> Parts:
        """Return some of the parts, numbered from 0 in the order named."""
        number = np.full(self.number + 1, -1, np.int64)  # the last place is that of -1
        number[list(wanted)] = np.arange(len(wanted))
        return Parts(
            self.attribute,
            position=self.position,
            left=self.left,
            right=self.right,
            part=np.where(self.attribute < 0, number[self.part], -1),
            rows=tuple(self.rows[part] for part in wanted),
        )

    def of(self, columns: Sequence[np.ndarray], length: int) -> np.ndarray:
        """Return the part of each row of codes (int32), -1 where it is not asked for."""
        found = np.full(length, -1, np.int32)
        asked = self._asked()
        waiting = [(0, np.arange(length))]
        while waiting:
            node, rows = waiting.pop()
            if self.attribute[node] < 0:
                found[rows] = self.part[node]
            elif asked[node]:
                below = columns[self.attribute[node]][rows] < self.position[node]
                waiting += [(int(self.left[node]), rows[below]), (int(self.right[node]), rows[~below])]
        return found

    def sql(self, columns: Sequence[str]) -> str:
        """Return a CASE expression over columns that hold codes (names as SQL has them), or a number.

        The side with more parts goes on in the same CASE: a chain of cuts, however long, is not nested, and a server
        that bounds the depth of an expression reads it.
        """
        return self._case(0, self._asked(), columns)

    def _case(self, node: int, asked: np.ndarray, columns: Sequence[str]) -> str:
        cases = []
        while self.attribute[node] >= 0 and asked[node]:
            left, right = int(self.left[node]), int(self.right[node])
            column, position = columns[self.attribute[node]], int(self.position[node])
            node = left if asked[left] > asked[right] else right
            if left != right:
                sign, other = (">=", right) if node == left else ("<", left)
                cases.append(f"WHEN {column} {sign} {position} THEN {self._case(other, asked, columns)}")
        last = int(self.part[node]) if self.attribute[node] < 0 else -1
        return f"CASE {' '.join(cases)} ELSE {last} END" if cases else str(last)

    def _asked(self) -> np.ndarray:
        """Return how many parts that are asked for lie below each node; two cuts may lead to one node."""
        number = np.zeros(len(self.attribute), np.int64)
        waiting, done = [0], set[int]()
        while waiting:
            node = waiting[-1]
            below = set() if self.attribute[node] < 0 else {int(self.left[node]), int(self.right[node])}
            if open_ := below - done:
                waiting += open_
                continue
            number[node] = sum(number[side] for side in below) if below else self.part[node] >= 0
            done.add(waiting.pop())
        return number
