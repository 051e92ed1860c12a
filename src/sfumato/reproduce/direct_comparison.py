"""Why privacy and utility are not subtracted: the direct comparison of section 3.1, run once each way.

Source    Li & Li, KDD 2009, section 3.1, on Brickell & Shmatikov, KDD 2008.
Claim     Privacy loss is what the adversary's accuracy at guessing the sensitive value gains over a benchmark, utility
          gain what the researcher's gains. Without neutral attributes both hold the same columns, learn the same way
          and tie exactly. With them the researcher's benchmark holds the neutral attributes, the adversary's does not.
Because   both readers are one learner with the same seed; only the columns they are given differ.
Checked   tests/unit/reproduce/test_verdicts.py::test_the_direct_comparison_ties_without_neutral_attributes
Silent on the data: the sign of the difference follows from how the benchmarks are defined.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.claims import TCloseness
from sfumato.counts import Table
from sfumato.datasets import adult
from sfumato.mechanisms import Mondrian
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.reading.features import row_features
from sfumato.reproduce.figures import Settings

__all__ = ["direct_comparison"]

_QUASI = ("age", "workclass", "education", "marital-status", "race", "sex")
_NEUTRAL = ("hours-per-week", "relationship", "income")
_LEAST = 0.002  # share of rows in a leaf


def direct_comparison(settings: Settings) -> dict[str, Any]:
    """Return privacy loss and utility gain of one release of Adult, without and with neutral attributes."""
    whole = adult().with_roles(quasi=(*_QUASI, *_NEUTRAL), sensitive="occupation", target=())
    order = Entropy.seeded(settings.seed).child("split").permutation(whole.rows)
    if settings.size == "tiny":
        order = order[:3000]
    cut = 2 * len(order) // 3
    parts = [whole.take(np.sort(order[:cut])), whole.take(np.sort(order[cut:]))]
    roles = [part.with_roles(quasi=_QUASI, sensitive="occupation", target=()) for part in parts]
    mechanism = Mondrian(TCloseness("0.2"))
    release = run(mechanism, gather(mechanism, roles[0]), Entropy.seeded(0))
    published = [row_features(release, roles[0].schema, part.codes(_QUASI)) for part in roles]
    neutral = [_columns(part) for part in parts]
    truth = [part.codes(("occupation",))[:, 0] for part in parts]
    nothing = [np.zeros((len(rows), 1)) for rows in truth]

    def accuracy(*columns: list[Any]) -> float:
        given = [np.hstack([np.asarray(block[at], np.float64) for block in columns]) for at in (0, 1)]
        return _accuracy(given[0], truth[0], given[1], truth[1])

    by_release, by_nothing = accuracy(published), accuracy(nothing)
    return {
        "without neutral attributes": {
            "privacy loss": by_release - by_nothing,
            "utility gain": accuracy(published) - accuracy(nothing),
        },
        "with neutral attributes": {
            "privacy loss": by_release - by_nothing,
            "utility gain": accuracy(published, neutral) - accuracy(neutral),
        },
        "accuracy": {
            "nothing": by_nothing,
            "release": by_release,
            "neutral": accuracy(neutral),
            "release and neutral": accuracy(published, neutral),
        },
        "neutral": list(_NEUTRAL),
    }


def _columns(part: Table) -> np.ndarray:
    """Neutral attributes: numbers as they are, one column for each value of the others."""
    codes = part.codes(_NEUTRAL)
    blocks = [codes[:, :1]]
    for at, size in ((1, 6), (2, 2)):
        blocks.append(codes[:, at : at + 1] == np.arange(size))
    return np.hstack(blocks)


def _accuracy(x: np.ndarray, y: np.ndarray, asked: np.ndarray, truth: np.ndarray) -> float:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=_LEAST, random_state=0)
    return float(np.mean(tree.fit(x, y).predict(asked) == truth))
