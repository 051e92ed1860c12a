"""Classification: how well a learner trained on a release tells the class of people it has not seen.

Source    DiffGen paper (Mohammed, Chen, Fung & Yu, KDD 2011), section 5, Data Quality: CA on the release, BA on the raw
          training rows, LA with all predictors removed; test rows are recoded by the cuts of the release.
Claim     `accuracy` is the share of test rows whose class is told rightly by a learner that saw the release alone;
          `baseline` that of the same learner trained on the raw training rows and asked about the raw test rows;
          `lower_bound` that of always answering the class which is most frequent among the raw training rows.
Because   the learner gets one line for each box and class, weighted by rows (a bucket's classes spread evenly over its
          boxes); the test rows reach it through the release's recoding and nothing else.
Checked   tests/claims/test_classification.py::test_the_tree_on_raw_adult_is_the_papers_baseline
          tests/claims/test_classification.py::test_the_lower_bound_on_adult
          tests/claims/test_classification.py::test_suppress_tells_no_more_than_the_lower_bound
          tests/claims/test_classification.py::test_testing_on_training_rows_is_caught
Silent on other learners and on other splits (the interval is of the test rows drawn, not of the training rows). The
          predictors are the quasi-identifiers; a second carried attribute is not used. Accuracy on private test rows is
          a statistic of them: it is confidential and no claim of the release covers it.

On Adult (45,222 complete rows, 14 predictors) the paper prints BA 85.3 and LA 75.5. The majority class is 0.7522 of all
rows and 0.7543 of UCI's test file; neither prints as 75.5. A random third, as the paper tests on, has a share whose
standard deviation is 0.0029, so 0.755 is one deviation from 0.7522: what one drawn split gives. Averaged over ten
independent splits it would be three deviations away. So the figure is read as that of one split, and is no target.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sfumato.claims.exact import choice
from sfumato.counts import Counts, Table
from sfumato.errors import NotComparable, ParameterError
from sfumato.measures.base import Measured
from sfumato.measures.learners import MODELS, Lines, Model, Predictor, fit, majority
from sfumato.measures.memory import remembered
from sfumato.measures.shares import wilson
from sfumato.measures.target import Bins, Target, target_of
from sfumato.reading import View, align, cells_of, exact_view
from sfumato.reading.features import exact_features, feature_columns, features, row_features
from sfumato.release import Release

__all__ = ["Classification", "classification"]

_FORMULA = "share of test rows whose class a learner trained on the release tells rightly"


@dataclass(frozen=True, slots=True)
class Classification:
    """Shares of `rows` test rows told rightly; `interval` is the 95 % interval (Wilson) of `accuracy`."""

    accuracy: float
    _: KW_ONLY
    baseline: float
    lower_bound: float
    interval: tuple[float, float]
    model: Model
    target: str
    classes: int
    rows: int
    unit: str = "share of rows"
    formula: str = _FORMULA
    confidential: bool = True

    @property
    def value(self) -> float:
        """The accuracy."""
        return self.accuracy

    def measured(self) -> Measured:
        """Return the figure with its unit and formula."""
        named = ("baseline", "lower_bound", "model", "target", "classes", "rows")
        details = {name: getattr(self, name) for name in named}
        return Measured(self.accuracy, unit=self.unit, formula=self.formula, interval=self.interval, details=details)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return self.measured().to_json()


def classification(
    train: Table,
    test: Table,
    release_of_train: Release,
    *,
    model: Model = "tree",
    target: str | None = None,
    bins: Bins | None = None,
    seed: int = 0,
) -> Classification:
    """Train a learner on a release of `train`, ask it about the rows of `test`, which `train` must not hold.

    `target` is the class (default: the attribute in that role); `bins` cuts it into fewer classes. Of buckets, and of
    releases that were loaded without their recoding, the exact test rows are asked.
    """
    choice("model", model, MODELS)
    if train is test:
        raise ParameterError("test", "the training table", "must hold rows that were not published", hint="split first")
    goal = target_of(train.schema, target, bins)
    names = _predictors(train, test, goal)
    asked = test.counts((*names, goal.attribute.name))
    if not asked.rows:
        raise ParameterError("test", "no rows", "must hold at least one row")
    codes, truth = asked.codes[:, :-1], goal.of_code[asked.codes[:, -1]]
    learned = fit(model, _lines(align(release_of_train, train.schema, goal.attribute.name), goal), seed=seed)
    known = train.counts((*names, goal.attribute.name))
    raw = _raw_learner(known, goal, model, seed)
    right = _weight(asked, learned(row_features(release_of_train, train.schema, codes)) == truth)
    return Classification(
        right / asked.rows,
        baseline=_weight(asked, raw(exact_features(train.schema, codes)) == truth) / asked.rows,
        lower_bound=_weight(asked, truth == majority(goal.of_code[known.codes[:, -1]], known.weights)) / asked.rows,
        interval=wilson(right, asked.rows),
        model=model,
        target=goal.attribute.name,
        classes=goal.classes,
        rows=asked.rows,
    )


def _predictors(train: Table, test: Table, goal: Target) -> tuple[str, ...]:
    """Names of the quasi-identifiers; both tables must be in the same codes."""
    names = tuple(attribute.name for attribute in train.schema.quasi)
    for name in (*names, goal.attribute.name):
        if name not in test.schema or train.schema[name] != test.schema[name]:
            hint = "read both tables with one schema, or split one table with take()"
            raise NotComparable(f"attribute {name} differs between training and test table. Hint: {hint}.")
    return names


def _lines(view: View, goal: Target) -> Lines:
    cells = cells_of(view, ())
    return Lines(
        features(view.tables, cells.labels),
        y=goal.of_code[cells.value],
        weight=cells.mass,
        columns=feature_columns(view.quasi),
    )


def _raw_learner(known: Counts, goal: Target, model: Model, seed: int) -> Predictor:
    """Trained once for a table, however many releases of it are measured."""

    def train() -> Predictor:
        return fit(model, _lines(exact_view(known, known.names[:-1], goal.attribute), goal), seed=seed)

    return remembered(known, ("raw learner", model, seed, goal.of_code.tobytes()), train)


def _weight(counts: Counts, which: np.ndarray) -> int:
    return int(counts.weights[which].sum())
