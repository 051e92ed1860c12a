"""Cross-validation: the table is published anew inside each fold, so no test row ever reaches the mechanism.

Source    DiffGen paper (Mohammed, Chen, Fung & Yu, KDD 2011), section 5, Comparison: 10 runs of 10-fold
          cross-validation. Interval: Nadeau & Bengio, "Inference for the generalization error", Machine Learning 52,
          2003, section 3.2 (the corrected resampled t).
Claim     In every repeat each row is tested once, by a learner trained on a release of the other folds. `interval` is a
          95 % interval of the accuracy expected on unseen rows.
          Where the table is keyed by person, no person is in the training and in the test part.
Because   folds are a uniform permutation of rows (of people) cut into parts that differ by at most one. Training
          parts overlap, so the variance of the mean over J runs is taken as (1/J + test rows / training rows) s^2, not
          s^2 / J.
Checked   tests/claims/test_classification.py::test_publishing_never_sees_a_test_row
          tests/claims/test_classification.py::test_testing_on_training_rows_is_caught
Silent on the release of the whole table: it is made from more rows than any fold's. Each fold's release is made with a
          known seed and for measuring only; the figures are confidential.
Cost      folds x repeats releases, and as many learners twice: on the release and on the raw training rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from sfumato.claims.exact import choice, whole
from sfumato.counts import Table
from sfumato.errors import ParameterError
from sfumato.measures.base import Measured
from sfumato.measures.classification import Classification, classification
from sfumato.measures.learners import MODELS, Model
from sfumato.measures.target import Bins, target_of
from sfumato.mechanisms import Mechanism, Progress
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy

__all__ = ["CrossValidation", "cross_validate", "resampled_interval"]

_FORMULA = "mean over folds and repeats of the accuracy on the fold left out, published without it"


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """Means over `runs`, one run for each fold of each repeat."""

    accuracy: float
    _: KW_ONLY
    interval: tuple[float, float]
    baseline: float
    lower_bound: float
    model: Model
    folds: int
    repeats: int
    runs: tuple[Classification, ...] = field(repr=False)
    unit: str = "share of rows"
    formula: str = _FORMULA
    confidential: bool = True

    @property
    def value(self) -> float:
        """The mean accuracy."""
        return self.accuracy

    def measured(self) -> Measured:
        """Return the figure with its unit and formula."""
        details = {name: getattr(self, name) for name in ("baseline", "lower_bound", "model", "folds", "repeats")}
        return Measured(self.accuracy, unit=self.unit, formula=self.formula, interval=self.interval, details=details)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping; of each run its accuracy."""
        return {**self.measured().to_json(), "runs": [one.accuracy for one in self.runs]}


def cross_validate(
    table: Table,
    mechanism: Mechanism,
    *,
    folds: int = 10,
    repeats: int = 10,
    model: Model = "tree",
    target: str | None = None,
    bins: Bins | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> CrossValidation:
    """Publish all folds but one, train on that release, test on the fold left out; every fold, `repeats` times."""
    choice("model", model, MODELS)
    parts, times = whole("folds", folds, least=2), whole("repeats", repeats, least=1)
    if parts > (table.rows if table.people is None else table.people):
        counted = "rows" if table.people is None else "people"
        raise ParameterError("folds", parts, f"must not be above the number of {counted}", hint="try 2")
    target_of(table.schema, target, bins)
    entropy = Entropy.seeded(seed)
    runs: list[Classification] = []
    for place, test in _splits(table.rows, parts, times, entropy, table.persons()):
        inside = np.ones(table.rows, bool)
        inside[test] = False
        training = table.take(inside)
        release = run(mechanism, gather(mechanism, training), Entropy.seeded(seed).child(f"release {place}"))
        runs.append(
            classification(
                training, table.take(test), release, model=model, target=target, bins=bins, seed=seed + len(runs)
            )
        )
        if progress is not None:
            progress(len(runs) / (parts * times), place)
    accuracies = np.array([one.accuracy for one in runs])
    return CrossValidation(
        float(accuracies.mean()),
        interval=resampled_interval(accuracies, 1 / (parts - 1)),
        baseline=float(np.mean([one.baseline for one in runs])),
        lower_bound=float(np.mean([one.lower_bound for one in runs])),
        model=model,
        folds=parts,
        repeats=times,
        runs=tuple(runs),
    )


def resampled_interval(accuracies: np.ndarray, test_to_train: float) -> tuple[float, float]:
    """Return the 95 % interval of the mean of runs whose training parts overlap; cut to 0 .. 1."""
    from scipy.stats import t

    count, mean = len(accuracies), float(accuracies.mean())
    spread = math.sqrt((1 / count + test_to_train) * float(accuracies.var(ddof=1)))
    half = float(t.ppf(0.975, count - 1)) * spread
    return max(0.0, mean - half), min(1.0, mean + half)


def _splits(
    rows: int, folds: int, repeats: int, entropy: Entropy, persons: np.ndarray | None = None
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield a name for each fold and the places of its rows, in row order; the rows of a person stay together."""
    unit, owner = rows, None
    if persons is not None:
        known, place = np.unique(persons, return_inverse=True)
        unit, owner = len(known), place.reshape(-1)
    for repeat in range(1, repeats + 1):
        order = entropy.child(f"repeat {repeat}").permutation(unit)
        for fold, test in enumerate(np.array_split(order, folds), 1):
            places = np.sort(test) if owner is None else np.flatnonzero(np.isin(owner, test))
            yield f"repeat {repeat}, fold {fold}", places
