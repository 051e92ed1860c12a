"""How well a tree learnt from a release of Adult tells the income of people it has not seen.

Source    Mohammed, Chen, Fung & Yu, KDD 2011, section 5, Data Quality and Comparison.
Claim     CA is the share of test rows told rightly by a tree that saw the release alone; the test rows are recoded by
          the release's own cuts. BA is that of the same tree on the raw rows, LA that of always telling
          the larger class.
Because   the learner is one function for all; it gets one weighted line for each published cell and class.
Checked   tests/unit/reproduce/test_verdicts.py::test_tree_on_raw_adult
Silent on C4.5, which the paper uses: the tree here is CART with entropy and at least 0.2 % of the rows in a leaf, since
          pruning by held-out rows takes a minute on the noisy cells of h = 16. `sf.classification` prunes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.counts import Table
from sfumato.datasets import ADULT_COLUMNS, adult
from sfumato.mechanisms import Mechanism
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.reading import align, cells_of
from sfumato.reading.features import exact_features, features, row_features
from sfumato.release import Release

__all__ = ["PREDICTORS", "adult_income", "raw_accuracy", "release_accuracy", "split"]

PREDICTORS = tuple(name for name in ADULT_COLUMNS if name != "income")
_LEAST = 0.002


def adult_income(**options: Any) -> Table:
    """Return Adult with all 14 predictors and the income as class."""
    return adult(**options).with_roles(quasi=PREDICTORS, sensitive=(), target="income")


def split(table: Table, seed: int, *, folds: int = 3, fold: int = 0) -> tuple[Table, Table]:
    """Return training and test rows: fold `fold` of a seeded permutation is for testing."""
    order = Entropy.seeded(seed).child("split").permutation(table.rows)
    test = np.array_split(order, folds)[fold]
    inside = np.ones(table.rows, bool)
    inside[test] = False
    return table.take(inside), table.take(np.sort(test))


def release_accuracy(train: Table, test: Table, mechanism: Mechanism, *, seed: int) -> float:
    """Publish the training rows, learn from the release, ask about the test rows."""
    release = run(mechanism, gather(mechanism, train), Entropy.seeded(seed).child("release"))
    view = align(release, train.schema, "income")
    cells = cells_of(view, ())
    some = cells.mass > 0
    tree = _learned(features(view.tables, cells.labels)[some], cells.value[some], cells.mass[some])
    return _right(tree, _asked(release, test), test)


def raw_accuracy(train: Table, test: Table) -> dict[str, float]:
    """Return BA and LA of one split."""
    truth = train.codes(("income",))[:, 0]
    tree = _learned(exact_features(train.schema, train.codes(PREDICTORS)), truth, np.ones(train.rows))
    larger = int(np.argmax(np.bincount(truth)))
    lower = float(np.mean(test.codes(("income",))[:, 0] == larger))
    return {"BA": _right(tree, exact_features(train.schema, test.codes(PREDICTORS)), test), "LA": lower}


def _asked(release: Release, test: Table) -> np.ndarray:
    return row_features(release, test.schema, test.codes(PREDICTORS))


def _learned(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    if not len(y):  # every count was below the threshold: nothing was published
        x, y, weight = np.zeros((1, x.shape[1])), np.zeros(1, int), np.ones(1)
    tree = DecisionTreeClassifier(criterion="entropy", min_weight_fraction_leaf=_LEAST, random_state=0)
    return tree.fit(np.asarray(x, np.float32), y, sample_weight=weight)


def _right(tree: Any, x: np.ndarray, test: Table) -> float:
    return float(np.mean(tree.predict(np.asarray(x, np.float32)) == test.codes(("income",))[:, 0]))
