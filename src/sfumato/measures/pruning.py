"""Cost-complexity pruning: the nested subtrees of a decision tree and how each does on held-out rows.

Source    Breiman, Friedman, Olshen & Stone, Classification and Regression Trees, 1984, sections 3.3 and 3.4.
Claim     `weakest_links` gives every alpha at which the best subtree of R(T) + alpha |leaves| changes, and the loss on
          held-out rows of the subtree from that alpha on; the alphas are those of scikit-learn.
Because   the next subtree comes by collapsing the inner nodes of least g(t) = (R(t) - R(T_t)) / (|leaves of T_t| - 1);
          collapsing changes R, loss and leaves of the nodes above, and of no others.
Checked   tests/unit/measures/test_pruning.py::test_alphas_are_those_of_scikit_learn
          tests/unit/measures/test_pruning.py::test_losses_are_those_of_the_pruned_trees
Silent on which alpha is best for other rows: the least held-out loss is itself a little optimistic.
Cost      O(nodes x depth x log nodes): one tree is grown, instead of one for each alpha tried.
"""

from __future__ import annotations

import heapq

import numpy as np

__all__ = ["chosen_alpha", "weakest_links"]


def chosen_alpha(alphas: np.ndarray, losses: np.ndarray) -> float:
    """Return the alpha of least loss, the largest of several: the geometric middle of where its subtree is best."""
    at = len(losses) - 1 - int(np.argmin(losses[::-1]))
    if at == len(alphas) - 1:
        return float(alphas[at])
    return float(np.sqrt(alphas[at] * alphas[at + 1]))


def weakest_links(
    left: np.ndarray, right: np.ndarray, cost: np.ndarray, loss: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return alphas (0 first, ascending) and the loss of the subtree from each on.

    `left` and `right` are -1 at a leaf, and children come after their parents. `cost` is R(t), `loss` the held-out loss
    where t is made a leaf.
    """
    work = _Subtrees(left, right, cost, loss)
    alphas, losses = [0.0], [work.loss_below[0]]
    while work.heap:
        link, node, version = heapq.heappop(work.heap)
        if version != work.version[node]:
            continue
        work.collapse(node)
        if link > alphas[-1]:
            alphas.append(link)
            losses.append(work.loss_below[0])
        else:
            losses[-1] = work.loss_below[0]
    return np.array(alphas), np.array(losses)


class _Subtrees:
    """Cost, loss and leaves below each node, kept up to date while nodes collapse."""

    def __init__(self, left: np.ndarray, right: np.ndarray, cost: np.ndarray, loss: np.ndarray) -> None:
        self.left, self.right = left.tolist(), right.tolist()
        self.cost, self.loss = cost.tolist(), loss.tolist()
        self.cost_below, self.loss_below = list(self.cost), list(self.loss)
        count = len(self.left)
        self.leaves, self.parent, self.version = [1] * count, [-1] * count, [0] * count
        self.heap: list[tuple[float, int, int]] = []
        for node in range(count - 1, -1, -1):
            below = (self.left[node], self.right[node])
            if below[0] < 0:
                continue
            for child in below:
                self.parent[child] = node
            self.leaves[node] = sum(self.leaves[child] for child in below)
            self.cost_below[node] = sum(self.cost_below[child] for child in below)
            self.loss_below[node] = sum(self.loss_below[child] for child in below)
            self.heap.append((self._link(node), node, 0))
        heapq.heapify(self.heap)

    def _link(self, node: int) -> float:
        return float(self.cost[node] - self.cost_below[node]) / (self.leaves[node] - 1)

    def collapse(self, node: int) -> None:
        """Make a node a leaf."""
        self._forget(node)
        cost = self.cost[node] - self.cost_below[node]
        loss = self.loss[node] - self.loss_below[node]
        fewer = self.leaves[node] - 1
        at = node
        while at >= 0:
            self.cost_below[at] += cost
            self.loss_below[at] += loss
            self.leaves[at] -= fewer
            if at != node:
                self.version[at] += 1
                heapq.heappush(self.heap, (self._link(at), at, self.version[at]))
            at = self.parent[at]

    def _forget(self, node: int) -> None:
        """What stood in the heap for a node and the nodes below it no longer counts."""
        below = [node]
        while below:
            at = below.pop()
            self.version[at] = -1
            if self.left[at] >= 0:
                below += [self.left[at], self.right[at]]
                self.left[at] = self.right[at] = -1
