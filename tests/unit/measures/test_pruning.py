"""The pruning sequence against scikit-learn, which grows one tree for each alpha."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from sfumato.measures.learners import _links, chosen_alpha, weakest_links


def world(seed: int, rows: int = 400):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 12, (rows, 4)).astype(np.float32)
    y = ((x[:, 0] > 5).astype(int) + (rng.random(rows) < 0.3)) % (2 + seed % 2)
    return x, y, rng.integers(1, 5, rows).astype(float)


def grown(x, y, weight, alpha=0.0):
    return DecisionTreeClassifier(criterion="entropy", random_state=3, ccp_alpha=alpha).fit(x, y, sample_weight=weight)


@pytest.mark.parametrize("seed", range(4))
def test_alphas_are_those_of_scikit_learn(seed):
    x, y, weight = world(seed)
    path = DecisionTreeClassifier(criterion="entropy", random_state=3).cost_complexity_pruning_path(
        x, y, sample_weight=weight
    )
    alphas, _ = _links(grown(x, y, weight), x, y, weight)
    theirs = np.maximum(path.ccp_alphas, 0)
    # Both list an alpha for each change; equal ones differ in the last bits only.
    assert np.abs(alphas[:, None] - theirs[None, :]).min(axis=0).max() < 1e-12
    assert np.abs(alphas[:, None] - theirs[None, :]).min(axis=1).max() < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_losses_are_those_of_the_pruned_trees(seed):
    x, y, weight = world(seed)
    held_x, held_y, held = world(seed + 100)
    held_y = np.minimum(held_y, y.max())
    alphas, losses = _links(grown(x, y, weight), held_x, held_y, held)
    distinct = np.flatnonzero(np.diff(alphas, append=np.inf) > 1e-9)
    assert len(distinct) > 10
    for at in distinct[:: max(1, len(distinct) // 12)]:
        above = alphas[at + 1] if at + 1 < len(alphas) else alphas[at] * 1.1
        tree = grown(x, y, weight, (alphas[at] + above) / 2)
        assert held[tree.predict(held_x) != held_y].sum() == pytest.approx(losses[at])


def test_a_tree_worked_by_hand():
    # 0 -> (1 -> (2, 3), 4): g(1) = (0.5 - 0.3) / 1, g(0) = (1 - 0.4) / 2; after 1 is gone g(0) = (1 - 0.6) / 1
    left, right = np.array([1, 2, -1, -1, -1]), np.array([4, 3, -1, -1, -1])
    cost, loss = np.array([1, 0.5, 0.1, 0.2, 0.1]), np.array([10, 2, 2, 1, 3.0])
    alphas, losses = weakest_links(left, right, cost, loss)
    assert alphas == pytest.approx([0, 0.2, 0.4])
    assert losses.tolist() == [6, 5, 10]
    assert chosen_alpha(alphas, losses) == pytest.approx(np.sqrt(0.2 * 0.4))


def test_of_equal_losses_the_smaller_tree_is_taken():
    assert chosen_alpha(np.array([0, 0.1, 0.4]), np.array([3.0, 2, 2])) == 0.4
    assert chosen_alpha(np.array([0.0]), np.array([3.0])) == 0


def test_a_single_leaf():
    alphas, losses = weakest_links(np.array([-1]), np.array([-1]), np.array([0.3]), np.array([2.0]))
    assert (alphas.tolist(), losses.tolist()) == ([0.0], [2.0])
