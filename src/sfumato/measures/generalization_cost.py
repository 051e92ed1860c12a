"""What generalizing cost, by the classical metrics: class sizes, certainty penalty, precision, steps up the hierarchy.

Source    Bayardo & Agrawal, ICDE 2005 (discernibility); LeFevre et al., ICDE 2006 (average class size); Xu et al., KDD
          2006 (normalized certainty penalty); Sweeney, 2002 (precision). Cited as commonly defined.
Claim     Each figure is the formula it carries, over all rows of the table: published, suppressed and left out.
Because   labels and class sizes are published; a row that is left out counts like one with every label `*`.
Checked   tests/unit/measures/test_generalization_cost.py::test_by_hand
          tests/unit/measures/test_generalization_cost.py::test_suppress_and_raw_are_the_two_ends
          tests/unit/measures/test_generalization_cost.py::test_suppressed_and_left_out_rows_are_priced
          tests/unit/measures/test_generalization_cost.py::test_a_loaded_release_costs_what_it_cost_in_memory
Silent on how useful the rows are for any one question: these metrics look at labels, not at what was lost.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.counts import Table
from sfumato.estimate.alignment import aligned_labels
from sfumato.measures.base import Measured
from sfumato.release import Release
from sfumato.release.manifest import COUNTED_FORMS
from sfumato.schema import Labels


def discernibility(table: Table, release: Release) -> Measured:
    """Every row pays the size of its class; a suppressed or left-out row pays the size of the table."""
    sizes, lost, total = _classes(table, release)
    value = float((sizes.astype(float) ** 2).sum() + float(lost) * total)
    formula = "sum over classes of |E|^2, plus |D| for each suppressed row"
    return Measured(value, unit="row pairs", formula=formula, details={"per_row": value / max(1, total)})


def average_class_size(table: Table, release: Release) -> Measured:
    """Rows for each class; suppressed rows do not count as a class."""
    sizes, lost, _ = _classes(table, release)
    value = float(sizes.mean()) if len(sizes) else 0.0
    return Measured(value, unit="rows", formula="published rows / classes", details={"suppressed": lost})


def certainty_penalty(table: Table, release: Release) -> Measured:
    """The share of its domain that a label covers, a mean over rows and attributes: 0 exact, 1 nothing said."""
    by_attribute = _averaged(table, release, lambda labels: (labels.size - 1) / max(1, labels.attribute.size - 1))
    formula = "NCP = mean over rows and quasi-identifiers of (codes in the label - 1) / (codes of the domain - 1)"
    return Measured(_mean(by_attribute), unit="share", formula=formula, details=by_attribute)


def precision(table: Table, release: Release) -> Measured:
    """One minus the share of its hierarchy that a label has climbed, averaged: 1 exact, 0 nothing said."""
    by_attribute = _averaged(table, release, lambda labels: _steps(labels) / max(1, labels.attribute.nodes.height))
    formula = "Prec = 1 - mean over rows and quasi-identifiers of (steps up the hierarchy / its height)"
    details = {name: 1 - share for name, share in by_attribute.items()}
    return Measured(1 - _mean(by_attribute), unit="share", formula=formula, details=details)


def generalization_steps(table: Table, release: Release) -> Measured:
    """Steps from a value up to the lowest node that holds the label, summed over quasi-identifiers, a row's mean."""
    by_attribute = _averaged(table, release, _steps)
    formula = "mean over rows of the sum over quasi-identifiers of steps up the hierarchy"
    return Measured(float(sum(by_attribute.values())), unit="steps", formula=formula, details=by_attribute)


def _left_out(table: Table, release: Release) -> int:
    """Rows of the table that are not in the release, which need not say so; noisy and drawn rows are no rows of it."""
    stated = release.left_out or 0
    if release.form in COUNTED_FORMS:
        return stated
    return max(stated, table.rows + table.left_out - int(release.groups.weight.sum()))


def _classes(table: Table, release: Release) -> tuple[np.ndarray, int, int]:
    """Sizes of the classes, suppressed and left-out rows, all rows."""
    sizes, lost = release.groups.weight, _left_out(table, release)
    if release.suppressed_group is not None:
        lost += int(sizes[release.suppressed_group])
        sizes = np.delete(sizes, release.suppressed_group)
    return sizes, lost, int(sizes.sum()) + lost


def _averaged(table: Table, release: Release, cost: Callable[[Labels], np.ndarray]) -> dict[str, float]:
    """The mean cost of a row for each quasi-identifier; a left-out row has the root's.

    Levels and domains are those of the table's schema: a loaded release may know only a part of them.
    """
    weight, lost = release.boxes.weight, _left_out(table, release)
    total = max(1, int(weight.sum()) + lost)
    found = {}
    for at, own in enumerate(release.boxes.tables):
        labels, column = own, release.boxes.labels[:, at]
        if own.attribute.name in table.schema:
            labels, column = aligned_labels(table.schema[own.attribute.name], own, column)
        attribute = labels.attribute
        root = Labels.from_hulls(attribute, np.array([0]), np.array([attribute.size]))[0]
        paid = float((weight * cost(labels)[column]).sum()) + lost * float(cost(root)[0])
        found[attribute.name] = paid / total
    return found


def _mean(values: dict[str, float]) -> float:
    return float(np.mean(list(values.values()))) if values else 0.0


def _steps(labels: Labels) -> np.ndarray:
    """How far above the leaves the lowest node that holds each label stands; a single code is 0."""
    tree = labels.attribute.nodes
    nodes = [tree.ancestor(int(low), int(high)) for low, high in zip(labels.low, labels.high, strict=True)]
    above = tree.height - tree.depth[nodes]
    return np.where(labels.size == 1, 0, np.maximum(above, 1))
