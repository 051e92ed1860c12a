"""Marks that give the axes a meaning on the steward's own table.

Source    Li & Li, KDD 2009, section 5.1, "Interpretation of the privacy loss" and "of the utility loss"; 4.3 for the
          two baselines.
Claim     rarest, commonest: the privacy loss JS(Q, e_s) of a person whose value s is revealed, s the rarest or the
          commonest value that occurs (of several sensitive attributes, that of the largest). Nobody's loss exceeds the
          first. Suppress: the utility figure when every
          quasi-identifier is removed. The anchors of the knee are the figures of Suppress and of the table itself.
Because   JS(Q, .) is convex, so its largest value over distributions is at one of the corners e_s, and it falls as q(s)
          grows.
Checked   tests/unit/frontier/test_references.py::test_adult_as_printed
          tests/unit/frontier/test_references.py::test_nobody_loses_more_than_the_rarest
Silent on other measures of privacy loss than JS: they get no marks for revealed values.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from sfumato.counts import Table
from sfumato.errors import SfumatoError
from sfumato.frontier.axes import Axis
from sfumato.frontier.evaluate import Task, rehearsed
from sfumato.frontier.point import Reference
from sfumato.measures import js_divergence
from sfumato.mechanisms import Mechanism, Raw, Suppress
from sfumato.reading import measured_attributes
from sfumato.schema import Attribute

__all__ = ["Anchors", "anchors", "references", "revealed"]


@dataclass(frozen=True, slots=True)
class Anchors:
    """(privacy, utility) of publishing no quasi-identifier, and of publishing the table; NaN where not measured."""

    suppressed: tuple[float, float]
    _: KW_ONLY
    raw: tuple[float, float]


def anchors(task: Task) -> Anchors:
    """Measure the two ends that every table has."""
    return Anchors(_both(task, Suppress()), raw=_both(task, Raw()))


def references(task: Task, ends: Anchors) -> tuple[Reference, ...]:
    """Return the marks of both axes."""
    found: list[Reference] = []
    if task.privacy.measure == "privacy_loss":
        rarest, commonest, name = revealed(task.table)
        of = f" of {name}" if len(measured_attributes(task.table.schema)) > 1 else ""
        formula = "JS(Q, e_s): Q the overall distribution, e_s certainty of the value s, natural log"
        found.append(Reference(f"the rarest value{of} is revealed", axis="privacy", value=rarest, formula=formula))
        found.append(
            Reference(f"the commonest value{of} is revealed", axis="privacy", value=commonest, formula=formula)
        )
    if not math.isnan(ends.suppressed[1]):
        formula = f"{task.utility.name} of a release without quasi-identifiers"
        found.append(
            Reference("all quasi-identifiers removed", axis="utility", value=ends.suppressed[1], formula=formula)
        )
    return tuple(found)


def revealed(table: Table) -> tuple[float, float, str]:
    """Return the loss of a person whose value is revealed, if it is the rarest and if it is the commonest.

    Of several sensitive attributes the one with the largest such loss, which is named.
    """
    each = [(*_revealed(table, attribute), attribute.name) for attribute in measured_attributes(table.schema)]
    return max(each, key=lambda one: one[0])


def _revealed(table: Table, attribute: Attribute) -> tuple[float, float]:
    counts = table.counts([attribute.name]).histogram(attribute.name)
    if not counts.sum():
        return 0.0, 0.0
    share = counts / counts.sum()
    occurring = np.flatnonzero(counts)
    chosen = occurring[[counts[occurring].argmin(), counts[occurring].argmax()]]
    rarest, commonest = (js_divergence(share, np.eye(len(share))[code]) for code in chosen)
    return float(rarest), float(commonest)


def _both(task: Task, mechanism: Mechanism) -> tuple[float, float]:
    try:
        release = rehearsed(task.table, mechanism, task.seed)
    except SfumatoError:
        return math.nan, math.nan

    def figure(axis: Axis) -> float:
        try:
            return axis(task.table, release).value
        except SfumatoError:
            return math.nan

    return figure(task.privacy), figure(task.utility)
