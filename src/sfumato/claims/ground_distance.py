"""Ground distance between sensitive values, for the earth mover's distance of t-closeness.

Source    Li, Li & Venkatasubramanian, t-closeness, ICDE 2007: equal, ordered and
          hierarchical ground distance.
Claim     EMD(P, Q) = spread / (scale x n x N), all integers, for a class of n rows among N.
Because   equal: half the L1 distance. Ordered: the sum of |cumulative difference| over m - 1 steps.
          Hierarchical: height(lowest common ancestor) / height is the path length in a tree whose edge
          above v has length (height(parent) - height(v)) / 2; on a tree the distance is the sum over
          edges of length x |mass that must cross|.
Checked   tests/claims/test_requirements_oracle.py::test_emd_is_the_cheapest_transport
          tests/claims/test_requirements_against_pycanon.py::test_agrees_with_pycanon
Silent on values that no published row has: ranks and m count the values that occur. A missing value
          has the rank of its code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.exact import choice


@dataclass(frozen=True, slots=True)
class Ground:
    """Equal, ordered or hierarchical distance; for the last, a tree whose leaves are the values.

    `parents[i]` is the parent of node i (-1 for the root), `leaves[code]` the node of a value.
    Build it with `Ground.equal()`, `Ground.ordered()` or `Ground.hierarchical(parents, leaves)`.
    """

    kind: Literal["equal", "ordered", "hierarchical"]
    parents: tuple[int, ...] = ()
    leaves: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        choice("ground", self.kind, ("equal", "ordered", "hierarchical"))
        if self.kind == "hierarchical":
            self._check_tree()

    @classmethod
    def equal(cls) -> Ground:
        """Every two values are 1 apart."""
        return cls("equal")

    @classmethod
    def ordered(cls) -> Ground:
        """Values of ranks i and j of m are |i - j| / (m - 1) apart."""
        return cls("ordered")

    @classmethod
    def hierarchical(cls, parents: Any, leaves: Any) -> Ground:
        """Values are height(lowest common ancestor) / height(tree) apart."""
        return cls("hierarchical", tuple(map(int, parents)), tuple(map(int, leaves)))

    def _check_tree(self) -> None:
        nodes = len(self.parents)
        if any(not -1 <= parent < nodes for parent in self.parents) or self.parents.count(-1) != 1:
            raise ParameterError("parents", f"{nodes} nodes", "must name one root (-1) and existing nodes")
        inner = set(self.parents) - {-1}
        if sorted(self.leaves) != [node for node in range(nodes) if node not in inner]:
            raise ParameterError("leaves", f"{len(self.leaves)} leaves", "must name each childless node once")
        self._upwards()

    def _upwards(self) -> list[int]:
        """Nodes ordered so that children come before parents."""
        waiting = [0] * len(self.parents)
        for parent in self.parents:
            if parent >= 0:
                waiting[parent] += 1
        order = list(self.leaves)
        for node in order:
            parent = self.parents[node]
            if parent >= 0:
                waiting[parent] -= 1
                if waiting[parent] == 0:
                    order.append(parent)
        if len(order) != len(self.parents):
            raise ParameterError("parents", f"{len(self.parents)} nodes", "must be a tree, without a circle")
        return order

    def heights(self) -> list[int]:
        """Height of every node: 0 for a leaf, one more than the highest child otherwise."""
        heights = [0] * len(self.parents)
        for node in self._upwards():
            parent = self.parents[node]
            if parent >= 0:
                heights[parent] = max(heights[parent], heights[node] + 1)
        return heights

    def scale(self, overall: npt.NDArray[np.int64]) -> int:
        """What `spread` must be divided by, beside n x N."""
        if self.kind == "ordered":
            return max(1, int(np.count_nonzero(overall)) - 1)
        if self.kind == "hierarchical":
            if len(self.leaves) != overall.size:
                rule = f"must have one leaf for each of {overall.size} values"
                raise ParameterError("ground", f"{len(self.leaves)} leaves", rule)
            return max(1, 2 * max(self.heights()))
        return 2

    def spread(self, moves: Any, overall: npt.NDArray[np.int64]) -> Any:
        """Work to move each row of `moves` (n_s N - N_s n, so rows sum to 0), in whole units."""
        if self.kind == "equal":
            return np.abs(moves).sum(axis=1)
        if self.kind == "ordered":
            return np.abs(np.cumsum(moves[:, overall > 0], axis=1)).sum(axis=1)
        heights = self.heights()
        crossing = np.zeros((moves.shape[0], len(self.parents)), dtype=moves.dtype)
        crossing[:, list(self.leaves)] = moves
        work = np.zeros(moves.shape[0], dtype=moves.dtype)
        for node in self._upwards():
            parent = self.parents[node]
            if parent >= 0:
                crossing[:, parent] += crossing[:, node]
                work += (heights[parent] - heights[node]) * np.abs(crossing[:, node])
        return work

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict; `Ground.from_json` reads it back."""
        if self.kind != "hierarchical":
            return {"kind": self.kind}
        return {"kind": self.kind, "parents": list(self.parents), "leaves": list(self.leaves)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Ground:
        """Return the ground distance that `to_json` wrote."""
        return cls(data["kind"], tuple(data.get("parents", ())), tuple(data.get("leaves", ())))
