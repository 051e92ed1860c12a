"""Classification: how well a learner trained on a release tells the class of people it has not seen.

Source    DiffGen paper (Mohammed, Chen, Fung & Yu, KDD 2011), section 5, Data Quality: CA on the release, BA on the raw
          training rows, LA with all predictors removed; test rows are recoded by the cuts of the release.
Claim     `accuracy` is the share of test rows whose class a learner predicts correctly that saw the release alone;
          `baseline` that of the same learner trained on the raw training rows and asked about the raw test rows;
          `lower_bound` that of always answering the class which is most frequent among the raw training rows.
          `interval` counts people where the test table names them, else rows, which it takes to be independent.
Because   the learner gets one line for each box and class, weighted by rows (a bucket's classes spread evenly over its
          boxes); the test rows reach it through the release's recoding and nothing else.
Checked   tests/claims/test_classification.py::test_the_tree_on_raw_adult_is_the_papers_baseline
          tests/claims/test_classification.py::test_the_lower_bound_on_adult
          tests/claims/test_classification.py::test_suppress_tells_no_more_than_the_lower_bound
          tests/claims/test_classification.py::test_testing_on_training_rows_is_caught
          tests/claims/test_classification.py::test_the_interval_covers_where_people_have_several_rows
          tests/claims/test_classification.py::test_people_in_both_parts_are_refused
Silent on people in both tables who are not seen to be: without a key, or with one row in one of two files. On other
          learners and on other splits (the interval is of the test rows drawn, not of the training rows). The
          predictors are the quasi-identifiers; a second carried attribute is not used. Accuracy on private test rows is
          a statistic of them: it is confidential and no claim of the release covers it.

On Adult (45,222 complete rows, 14 predictors) the paper prints BA 85.3 and LA 75.5. The majority class is 0.7522 of all
rows and 0.7543 of UCI's test file; neither prints as 75.5. A random third, as the paper tests on, has a share whose
standard deviation is 0.0029, so 0.755 is one deviation from 0.7522: what one drawn split gives. Averaged over ten
independent splits it would be three deviations away. So the figure is read as that of one split, and is not a target.
"""

from __future__ import annotations

import datetime as dt
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from sfumato.counts import Counts, Members, Table
from sfumato.errors import NotComparable, ParameterError, count_of
from sfumato.estimate import View, align, cells_of, exact_view
from sfumato.estimate.features import exact_features, feature_columns, features, row_features
from sfumato.exact import choice, whole
from sfumato.measures.base import MeasureResult, remembered
from sfumato.measures.learners import MODELS, ModelName, Predictor, TrainingLines, fit, majority
from sfumato.measures.proportions import by_person, wilson
from sfumato.mechanisms import Mechanism, Progress
from sfumato.mechanisms.base import run_on_part
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.schema import Attribute, Schema, Values, parse_label
from sfumato.schema.domain import decimal_or_none, value_text

# The class a learner is to tell: a carried attribute, or a declared binning of one.
#
# Source    DiffGen paper (Mohammed, Chen, Fung & Yu, KDD 2011), section 3: the class is one categorical attribute. A
#           binning is ours.
# Claim     Every code of the attribute is in exactly one class; missing values are a class of their own.
# Because   a number used as an edge must be the edge of a cell, and named bins must be disjoint and cover the domain.
# Checked   tests/unit/measures/test_target.py::test_edges_cut_a_numeric_attribute
#           tests/unit/measures/test_target.py::test_bins_that_overlap_or_leave_values_out_are_refused
# Silent on which classes make sense.

Bins = Sequence[Any]


@dataclass(frozen=True)
class Target:
    """`of_code[code]` is the class of each code of the attribute; `names` are the classes."""

    attribute: Attribute
    _: KW_ONLY
    of_code: np.ndarray
    names: tuple[str, ...]

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.names)


def target_of(schema: Schema, target: str | None, bins: Bins | None) -> Target:
    """Return the class: the attribute named, else the one in the role `target`.

    `bins` is a list of numbers (or dates) at which the attribute is cut, or a list of texts, each a label of the
    attribute (a value, a node of its tree, an interval), that together hold every value once.
    """
    attribute = _attribute(schema, target)
    if bins is None:
        return Target(attribute, of_code=np.arange(attribute.size), names=tuple(attribute.texts()))
    if isinstance(bins, str) or not len(bins):
        raise ParameterError("bins", bins or "nothing", "must be a list of edges or labels", hint="[30, 50]")
    if any(isinstance(part, str) for part in bins):
        return _named(attribute, [str(part) for part in bins])
    return _cut(attribute, bins)


def _attribute(schema: Schema, target: str | None) -> Attribute:
    if target is None:
        if not schema.role("target"):
            hint = "name one: target=..., or table.with_roles(target=...)"
            raise ParameterError("target", "none", "no attribute has the role target", hint=hint)
        names = [known.name for known in schema.role("target")]
        if len(names) > 1:
            hint = f"name one: target=..., one of {', '.join(names)}"
            raise ParameterError("target", "none", f"{len(names)} attributes have the role target", hint=hint)
        return schema.role("target")[0]
    found = schema[target]
    if found not in schema.carried:
        hint = f"one of {', '.join(known.name for known in schema.carried) or 'none'}"
        raise ParameterError("target", target, "is neither sensitive nor target", hint=hint)
    return found


def _cut(attribute: Attribute, edges: Bins) -> Target:
    domain = attribute.values
    if isinstance(domain, Values):
        raise ParameterError("bins", "numbers", f"{attribute.name} has named values", hint="list labels instead")
    bounds = [0, *(_start(attribute, edge) for edge in edges), domain.size]
    if sorted(set(bounds)) != bounds:
        raise ParameterError("bins", len(edges), "must ascend and lie inside the range", hint="for instance [30, 50]")
    sets = [((low, high),) for low, high in pairwise(bounds)]
    return _classes(attribute, sets, [f"{domain.text(low)} to {domain.text(high - 1)}" for ((low, high),) in sets])


def _start(attribute: Attribute, edge: Any) -> int:
    """The cell that begins at an edge."""
    domain = attribute.values
    code = domain.code(value_text(edge))
    begins = None if code is None or isinstance(domain, Values) else domain.edge(code)
    given = edge if isinstance(edge, dt.date) else decimal_or_none(value_text(edge))
    if code is None or begins is None or begins != given:
        raise ParameterError("bins", edge, f"is not an edge of a cell of {attribute.name} inside its range")
    return code


def _named(attribute: Attribute, labels: list[str]) -> Target:
    sets = []
    for label in labels:
        found = parse_label(attribute, label)
        if found is None:
            hint = "a value, a node of its tree, or an interval"
            raise ParameterError("bins", label, f"is not a label of {attribute.name}", hint=hint)
        sets.append(found)
    return _classes(attribute, sets, labels)


def _classes(attribute: Attribute, sets: list[Any], names: list[str]) -> Target:
    of_code = np.full(attribute.size, -1)
    for number, intervals in enumerate(sets):
        for low, high in intervals:
            if (of_code[low:high] >= 0).any():
                raise ParameterError("bins", names[number], "shares values with a bin before it")
            of_code[low:high] = number
    if attribute.missing_code is not None and of_code[attribute.missing_code] < 0:
        of_code[attribute.missing_code] = len(names)
        names = [*names, attribute.text(attribute.missing_code)]
    left = int((of_code < 0).sum())
    if left:
        rule = f"leave {left} values of {attribute.name} without a class"
        raise ParameterError("bins", len(sets), rule, hint="add a bin for the rest")
    return Target(attribute, of_code=of_code, names=tuple(names))


_FORMULA = "share of test rows whose class a learner trained on the release predicts correctly"


@dataclass(frozen=True, slots=True)
class Classification(MeasureResult):
    """Shares of `rows` test rows predicted correctly; `interval` is the 95 % interval of `accuracy`.

    `interval_of` says what it counts: "people" where the test table names the person of each row, so that rows of one
    person are not taken for independent; else "rows", which are taken to be independent (Wilson).
    """

    accuracy: float
    _: KW_ONLY
    baseline: float
    lower_bound: float
    interval: tuple[float, float]
    model: ModelName
    target: str
    classes: int
    rows: int
    interval_of: Literal["people", "rows"] = "rows"
    unit: str = "share of rows"
    formula: str = _FORMULA
    confidential: bool = True

    @property
    def value(self) -> float:
        """The accuracy."""
        return self.accuracy

    def details(self) -> dict[str, Any]:
        """Return what goes along with the figure."""
        named = ("baseline", "lower_bound", "model", "target", "classes", "rows", "interval_of")
        return {name: getattr(self, name) for name in named}


def classification(
    train: Table,
    test: Table,
    release_of_train: Release,
    *,
    model: ModelName = "tree",
    target: str | None = None,
    bins: Bins | None = None,
    seed: int = 0,
) -> Classification:
    """Train a learner on a release of `train`, ask it about the rows of `test`, which `train` must not hold.

    `target` is the class (default: the attribute in that role); `bins` cuts it into fewer classes. Of buckets, and of
    releases that were loaded without their recoding, the exact test rows are asked. Nobody whose rows are known to be
    in both tables may be asked about: a learner would know them already.

    >>> train, test = sf.datasets.adult("train"), sf.datasets.adult("test")
    >>> release = sf.publish(train, sf.Mondrian(sf.KAnonymity(50)))
    >>> found = sf.classification(train, test, release)
    >>> found.lower_bound < found.accuracy <= 1
    True
    """
    choice("model", model, MODELS)
    if train is test:
        raise ParameterError("test", "the training table", "must hold rows that were not published", hint="split first")
    if shared := train.people_shared(test):
        rule = f"holds rows of {count_of(shared, 'person', 'people')} who have rows in the training table"
        hint = "keep all rows of a person in one of them, as sf.holdout and sf.cross_validate do"
        raise ParameterError("test", test.schema.name, rule, hint=hint)
    goal = target_of(train.schema, target, bins)
    names = _predictors(train, test, goal)
    asked = test.counts((*names, goal.attribute.name))
    if not asked.rows:
        raise ParameterError("test", "no rows", "must hold at least one row")
    codes, truth = asked.codes[:, :-1], goal.of_code[asked.codes[:, -1]]
    view = align(release_of_train, train.schema, goal.attribute.name)
    learned = fit(model, training_lines(view, goal.of_code), seed=seed)
    known = train.counts((*names, goal.attribute.name))
    raw = _raw_learner(known, goal, model, seed)
    hit = learned(row_features(release_of_train, train.schema, codes)) == truth
    right, members = _weight(asked, hit), test.members(asked.names) if test.held else None
    return Classification(
        right / asked.rows,
        baseline=_weight(asked, raw(exact_features(train.schema, codes)) == truth) / asked.rows,
        lower_bound=_weight(asked, truth == majority(goal.of_code[known.codes[:, -1]], known.weights)) / asked.rows,
        interval=wilson(right, asked.rows) if members is None else by_person(*_of_people(members, hit)),
        model=model,
        target=goal.attribute.name,
        classes=goal.classes,
        rows=asked.rows,
        interval_of="rows" if members is None else "people",
    )


def _of_people(members: Members, hit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many rows of each person are predicted correctly, and how many there are."""
    who = np.unique(members.person, return_inverse=True)[1].reshape(-1)
    return np.bincount(who, weights=members.rows * hit[members.line]), np.bincount(who, weights=members.rows)


def _predictors(train: Table, test: Table, goal: Target) -> tuple[str, ...]:
    """Names of the quasi-identifiers; both tables must be in the same codes."""
    names = tuple(attribute.name for attribute in train.schema.quasi)
    for name in (*names, goal.attribute.name):
        if name not in test.schema or train.schema[name] != test.schema[name]:
            hint = "read both tables with one schema, or split one table with take()"
            raise NotComparable(f"attribute {name} differs between training and test table. Hint: {hint}.")
    return names


def training_lines(view: View, of_code: np.ndarray) -> TrainingLines:
    """Return one line for each box and class of a release, `of_code` being the class of each carried code."""
    cells = cells_of(view, ())
    return TrainingLines(
        features(view.tables, cells.labels),
        y=of_code[cells.value],
        weight=cells.mass,
        columns=feature_columns(view.quasi),
    )


def _raw_learner(known: Counts, goal: Target, model: ModelName, seed: int) -> Predictor:
    """Trained once for a table, however many releases of it are measured."""

    def train() -> Predictor:
        return fit(model, training_lines(exact_view(known, known.names[:-1], goal.attribute), goal.of_code), seed=seed)

    return remembered(known, ("raw learner", model, seed, goal.of_code.tobytes()), train)


def _weight(counts: Counts, which: np.ndarray) -> int:
    return int(counts.weights[which].sum())


# Cross-validation: the table is published anew inside each fold, so no test row ever reaches the mechanism.
#
# Source    DiffGen paper (Mohammed, Chen, Fung & Yu, KDD 2011), section 5, Comparison: 10 runs of 10-fold
#           cross-validation. Interval: Nadeau & Bengio, "Inference for the generalization error", Machine Learning
#           52, 2003, section 3.2 (the corrected resampled t).
# Claim     In every repeat each row is tested once, by a learner trained on a release of the other folds. `interval`
#           is a 95 % interval of the accuracy expected on unseen rows.
#           Where the table is keyed by person, no person is in the training and in the test part; where it is not and
#           a person may have several rows, a warning says that people may be in both.
# Because   folds are a uniform permutation of rows (of people) cut into parts that differ by at most one. Training
#           parts overlap, so the variance of the mean over J runs is taken as (1/J + test rows / training rows) s^2,
#           not s^2 / J.
# Checked   tests/claims/test_classification.py::test_publishing_never_sees_a_test_row
#           tests/claims/test_classification.py::test_testing_on_training_rows_is_caught
# Silent on the release of the whole table: it is made from more rows than any fold's. Each fold's release is made
#           with a known seed and for measuring only; the figures are confidential.
# Cost      folds x repeats releases, and as many learners twice: on the release and on the raw training rows.

_CROSS_VALIDATED = "mean over folds and repeats of the accuracy on the fold left out, published without it"


_NO_KEY = (
    "rows_per_person = {most}, and the schema names no person: rows of one person may be in the training and in the "
    "test part, so that the accuracy may be too high and its interval too narrow. Name the column with their key: "
    'person = "..."'
)


@dataclass(frozen=True, slots=True)
class CrossValidation(MeasureResult):
    """Means over `runs`, one run for each fold of each repeat."""

    accuracy: float
    _: KW_ONLY
    interval: tuple[float, float]
    baseline: float
    lower_bound: float
    model: ModelName
    folds: int
    repeats: int
    runs: tuple[Classification, ...] = field(repr=False)
    unit: str = "share of rows"
    formula: str = _CROSS_VALIDATED
    confidential: bool = True

    @property
    def value(self) -> float:
        """The mean accuracy."""
        return self.accuracy

    def details(self) -> dict[str, Any]:
        """Return what goes along with the figure."""
        return {name: getattr(self, name) for name in ("baseline", "lower_bound", "model", "folds", "repeats")}

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping; of each run its accuracy."""
        return {**MeasureResult.to_json(self), "runs": [one.accuracy for one in self.runs]}


def cross_validate(
    table: Table,
    mechanism: Mechanism,
    *,
    folds: int = 10,
    repeats: int = 10,
    model: ModelName = "tree",
    target: str | None = None,
    bins: Bins | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> CrossValidation:
    """Publish all folds but one, train on that release, test on the fold left out; every fold, `repeats` times.

    >>> table = sf.datasets.adult("test")
    >>> found = sf.cross_validate(table, sf.Suppress(), folds=2, repeats=1)
    >>> len(found.runs)
    2
    """
    choice("model", model, MODELS)
    parts, times = whole("folds", folds, least=2), whole("repeats", repeats, least=1)
    if parts > (table.rows if table.people is None else table.people):
        counted = "rows" if table.people is None else "people"
        raise ParameterError("folds", parts, f"must not be above the number of {counted}", hint="try 2")
    target_of(table.schema, target, bins)
    if table.schema.rows_per_person > 1 and not table.schema.person:
        warnings.warn(_NO_KEY.format(most=table.schema.rows_per_person), UserWarning, stacklevel=2)
    entropy = Entropy.seeded(seed)
    runs: list[Classification] = []
    for place, test in _splits(table.rows, parts, times, entropy, table.persons()):
        inside = np.ones(table.rows, bool)
        inside[test] = False
        training = table.take(inside)
        seeded = Entropy.seeded(seed).child(f"release {place}")
        release = run_on_part(mechanism, training, seeded, which=f"the training rows of {place}")
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
