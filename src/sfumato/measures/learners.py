"""The four learners, each trained on weighted lines of numbers. scikit-learn, imported when first used.

Source    Tree: CART with entropy, pruned by cost-complexity on held-out rows (Breiman et al., 1984), in the place of
          C4.5 (Quinlan, 1993), which the DiffGen paper uses. Naive Bayes with ordered attributes in bins of equal
          weight (Yang & Webb, Machine Learning 74, 2009). Logistic regression (L2, C = 1); linear SVM (squared hinge,
          C = 1); both on columns of mean 0 and variance 1.
Claim     A line of weight w counts as w equal lines. The same lines, weights and seed give the same predictions. What
          is constant in the training lines never moves a prediction.
Because   each learner minimises sums over weighted lines; all randomness (the held-out third of the tree's pruning, the
          order in which ties are tried) comes from the seed; constant attributes are left out.
Checked   tests/unit/measures/test_learners.py::test_a_weight_counts_as_equal_lines
          tests/unit/measures/test_learners.py::test_the_seed_decides
          tests/claims/test_classification.py::test_the_tree_on_raw_adult_is_the_papers_baseline
Silent on what a better learner would do. The held-out third is thinned from the same published counts, so noise in a
          count is in both parts: on noisy counts the tree is pruned too little rather than too much.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from sfumato.estimate.features import Columns
from sfumato.exact import choice
from sfumato.randomness import Entropy

# Cost-complexity pruning: the nested subtrees of a decision tree and how each does on held-out rows.
#
# Source    Breiman, Friedman, Olshen & Stone, Classification and Regression Trees, 1984, sections 3.3 and 3.4.
# Claim     `weakest_links` gives every alpha at which the best subtree of R(T) + alpha |leaves| changes, and the loss
#           on held-out rows of the subtree from that alpha on; the alphas are those of scikit-learn.
# Because   the next subtree comes by collapsing the inner nodes of least g(t) = (R(t) - R(T_t)) / (|leaves of T_t| -
#           1); collapsing changes R, loss and leaves of the nodes above, and of no others.
# Checked   tests/unit/measures/test_pruning.py::test_alphas_are_those_of_scikit_learn
#           tests/unit/measures/test_pruning.py::test_losses_are_those_of_the_pruned_trees
# Silent on which alpha is best for other rows: the least held-out loss is itself a little optimistic.
# Cost      O(nodes x depth x log nodes): one tree is grown, instead of one for each alpha tried.


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


ModelName = Literal["tree", "bayes", "logistic", "svm"]
MODELS: tuple[ModelName, ...] = ("tree", "bayes", "logistic", "svm")
Predictor = Callable[[np.ndarray], np.ndarray]

_HELD_OUT = 1 / 3
_BINS = 16
_LEAST_LEAF = 2.0  # rows: C4.5 asks for two in at least two branches


@dataclass(frozen=True)
class TrainingLines:
    """What a learner is given: numbers, the class of each line and its weight in rows."""

    x: np.ndarray
    _: KW_ONLY
    y: np.ndarray
    weight: np.ndarray
    columns: Columns


def fit(model: ModelName, lines: TrainingLines, *, seed: int = 0) -> Predictor:
    """Train a learner; the predictor takes lines of the same columns and returns classes."""
    choice("model", model, MODELS)
    some = lines.weight > 0
    if not some.all():
        lines = TrainingLines(lines.x[some], y=lines.y[some], weight=lines.weight[some], columns=lines.columns)
    used = _varying(lines)
    if not used.any() or len(np.unique(lines.y)) < 2:
        return _constant(majority(lines.y, lines.weight))
    columns = Columns(lines.columns.attribute[used], lines.columns.place[used])
    taken = lines.x if used.all() else lines.x[:, used]
    learned = _LEARN[model](TrainingLines(taken, y=lines.y, weight=lines.weight, columns=columns), Entropy.seeded(seed))
    return learned if used.all() else lambda x: learned(x[:, used])


def majority(y: np.ndarray, weight: np.ndarray) -> int:
    """Return the heaviest class, the first of several; 0 where there is nothing to learn from."""
    return int(np.argmax(np.bincount(y, weights=weight))) if len(y) else 0


def _constant(answer: int) -> Predictor:
    return lambda x: np.full(len(x), answer)


def _varying(lines: TrainingLines) -> np.ndarray:
    """Columns of the attributes that differ between training lines."""
    if not len(lines.x):
        return np.zeros(lines.x.shape[1], bool)
    differs = (lines.x != lines.x[:1]).any(axis=0)
    return np.isin(lines.columns.attribute, lines.columns.attribute[differs])


# -- decision tree -------------------------------------------------------------------------


def _tree(lines: TrainingLines, entropy: Entropy) -> Predictor:
    """Grow on two thirds, choose how far to prune on the rest, grow again on all."""
    held = _thinned(lines.weight, entropy.child("held out"))
    state = entropy.child("ties").below(2**32)
    kept = lines.weight - held
    alpha = 0.0
    if kept.sum() >= 2 * _LEAST_LEAF and held.any():
        some, asked = kept > 0, held > 0
        grown = _grow(lines.x[some], lines.y[some], kept[some], state)
        alpha = chosen_alpha(*_links(grown, lines.x[asked], lines.y[asked], held[asked]))
    final = _grow(lines.x, lines.y, lines.weight, state, alpha)
    return lambda x: np.asarray(final.predict(x))


def _thinned(weight: np.ndarray, entropy: Entropy) -> np.ndarray:
    """Give each row to the held-out part with probability 1/3; a fraction of a row goes as a whole."""
    generator = np.random.Generator(np.random.PCG64(entropy.below(2**63)))
    rows = np.floor(weight)
    parts = weight - rows
    held = generator.binomial(rows.astype(np.int64), _HELD_OUT)
    return np.asarray(held + parts * (generator.random(len(weight)) < _HELD_OUT))


def _grow(x: np.ndarray, y: np.ndarray, weight: np.ndarray, state: int, alpha: float = 0.0) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    least = min(_LEAST_LEAF / float(weight.sum()), 0.5)
    tree = DecisionTreeClassifier(
        criterion="entropy", min_weight_fraction_leaf=least, ccp_alpha=alpha, random_state=state
    )
    return tree.fit(x, y, sample_weight=weight)


def _links(grown: Any, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pruning sequence of a grown tree with the held-out loss of each subtree."""
    tree = grown.tree_
    cost = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    answer = grown.classes_[np.argmax(tree.value[:, 0, :], axis=1)]
    classes = int(max(y.max(), grown.classes_.max())) + 1
    cells = grown.apply(x) * classes + y
    reached = np.bincount(cells, weights=weight, minlength=tree.node_count * classes).reshape(-1, classes)
    left, right = tree.children_left, tree.children_right
    for node in np.flatnonzero(left >= 0)[::-1]:  # children come after their parents
        reached[node] = reached[left[node]] + reached[right[node]]
    loss = reached.sum(axis=1) - reached[np.arange(len(answer)), answer]
    return weakest_links(left, right, cost, loss)


# -- naive Bayes ---------------------------------------------------------------------------


def _bayes(lines: TrainingLines, _: Entropy) -> Predictor:
    """One multinomial for each attribute: log P(c) + sum over attributes and parts of share * log P(part | c)."""
    from sklearn.naive_bayes import MultinomialNB

    blocks: list[tuple[Predictor, Any]] = []
    for attribute in np.unique(lines.columns.attribute):
        here = np.flatnonzero(lines.columns.attribute == attribute)
        parts = _parts(here, lines)
        blocks.append((parts, MultinomialNB().fit(parts(lines.x), lines.y, sample_weight=lines.weight)))
    classes = blocks[0][1].classes_
    prior = blocks[0][1].class_log_prior_

    def predict(x: np.ndarray) -> np.ndarray:
        logs = sum((parts(x) @ block.feature_log_prob_.T for parts, block in blocks), prior)
        return np.asarray(classes[np.argmax(logs, axis=1)])

    return predict


def _parts(here: np.ndarray, lines: TrainingLines) -> Predictor:
    """The shares of one attribute: its own, or for a place on a line the bin in which it lies."""
    if not lines.columns.place[here[0]]:
        return lambda x: np.asarray(x[:, here], np.float64)
    edges = _edges(lines.x[:, here[0]], lines.weight)

    def parts(x: np.ndarray) -> np.ndarray:
        missing = x[:, here[1:]].astype(np.float64)  # no column, or one
        inside = np.zeros((len(x), len(edges) + 1))
        inside[np.arange(len(x)), np.searchsorted(edges, x[:, here[0]], side="left")] = 1
        return np.hstack([inside * (1 - missing.sum(axis=1, keepdims=True)), missing])

    return parts


def _edges(places: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Upper ends of bins of about equal weight; equal places are never separated."""
    order = np.argsort(places, kind="stable")
    running = np.cumsum(weight[order])
    at = np.searchsorted(running, running[-1] * np.arange(1, _BINS) / _BINS)
    edges = np.unique(places[order][at])
    return np.asarray(edges[edges < places.max()])


# -- linear --------------------------------------------------------------------------------


def _logistic(lines: TrainingLines, _: Entropy) -> Predictor:
    from sklearn.linear_model import LogisticRegression

    return _scaled(lines, LogisticRegression(max_iter=2000))


def _svm(lines: TrainingLines, entropy: Entropy) -> Predictor:
    from sklearn.svm import LinearSVC

    return _scaled(lines, LinearSVC(dual=False, max_iter=5000, random_state=entropy.child("svm").below(2**32)))


def _scaled(lines: TrainingLines, learner: Any) -> Predictor:
    mean = np.average(lines.x, axis=0, weights=lines.weight).astype(np.float64)
    spread = np.sqrt(np.average((lines.x - mean) ** 2, axis=0, weights=lines.weight))
    # A column that is constant here stays 0 for every row, whatever an unseen row has there.
    factor = np.divide(1.0, spread, where=spread > 1e-9, out=np.zeros_like(spread))
    learner.fit((lines.x - mean) * factor, lines.y, sample_weight=lines.weight)
    return lambda x: np.asarray(learner.predict((x - mean) * factor))


_LEARN: dict[ModelName, Callable[[TrainingLines, Entropy], Predictor]] = {
    "tree": _tree,
    "bayes": _bayes,
    "logistic": _logistic,
    "svm": _svm,
}
