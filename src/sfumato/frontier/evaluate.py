"""Make the releases of one mechanism and measure them. Runs in a worker process; what it returns is plain data."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from statistics import fmean
from typing import Any

from sfumato.claims.claim import described
from sfumato.counts import Table
from sfumato.errors import SfumatoError
from sfumato.frontier.axes import Axis
from sfumato.frontier.panel import panel_of
from sfumato.frontier.twins import published_digest
from sfumato.measures import Measured, proved_bound
from sfumato.measures.base import json_number
from sfumato.mechanisms import Mechanism
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.release import Release

__all__ = ["Task", "evaluated", "rehearsed"]


@dataclass(frozen=True, slots=True)
class Task:
    """What every worker is told once: the table, the two axes, how often to repeat what draws."""

    table: Table
    _: KW_ONLY
    privacy: Axis
    utility: Axis
    repeats: int
    seed: int
    panels: bool = True


def evaluated(task: Task, mechanism: Mechanism) -> dict[str, Any]:
    """Return everything the picture needs about one mechanism, or why there is nothing."""
    started = time.perf_counter()
    try:
        found = _measured(task, mechanism)
    except SfumatoError as error:
        return {"failed": str(error)}
    except Exception as error:  # noqa: BLE001  (one method's defect must not end the sweep; its text may quote a cell)
        return {"failed": f"unexpected {type(error).__name__} in this method"}
    return {**found, "seconds": round(time.perf_counter() - started, 3)}


def _measured(task: Task, mechanism: Mechanism) -> dict[str, Any]:
    first = rehearsed(task.table, mechanism, task.seed)
    drew = first.claim.rehearsal
    figures = [(task.privacy(task.table, first), task.utility(task.table, first))]
    for turn in range(1, task.repeats if drew else 1):
        again = rehearsed(task.table, mechanism, task.seed + turn)
        figures.append((task.privacy(task.table, again), task.utility(task.table, again)))
    privacy, utility = figures[0]
    for axis, taken in zip((task.privacy, task.utility), zip(*figures, strict=True), strict=True):
        if any(math.isnan(one.value) for one in taken):
            return {"failed": str(taken[0].details.get("not measured", f"{axis.name} has no value here"))}
    return {
        "failed": "",
        "privacy": [json_number(one.value) for one, _ in figures],
        "utility": [json_number(two.value) for _, two in figures],
        "axes": {"privacy": _said(privacy), "utility": _said(utility)},
        "attributes": {
            "privacy": _by_attribute([one for one, _ in figures]),
            "utility": _by_attribute([two for _, two in figures]),
        },
        "bound": proved_bound(first.claim),
        "drew": drew,
        "savable": first.savable,
        "form": first.form,
        "published": published_digest(first) if first.savable else "",
        "promise": str(first.claim.promise),
        "promises": described(first.claim.promise, first.claim.unit),
        "claim": first.claim.to_json(),
        "summary": first.summary().to_json(),
        "panel": panel_of(task.table, first, {task.privacy.name: privacy, task.utility.name: utility})
        if task.panels
        else {},
    }


def rehearsed(table: Table, mechanism: Mechanism, seed: int) -> Release:
    """Make a release with a known seed. It is never published: publishing draws anew."""
    return run(mechanism, gather(mechanism, table), Entropy.seeded(seed))


def _said(figure: Measured) -> dict[str, Any]:
    return {"unit": figure.unit, "formula": figure.formula}


def _by_attribute(figures: Sequence[Measured]) -> dict[str, Any]:
    """The figure of each attribute, a mean over runs, and which was the worst most often; nothing for one attribute."""
    each = [figure.details.get("by_attribute", {}) for figure in figures]
    if len(each[0]) < 2 or any(set(one) != set(each[0]) for one in each):
        return {}
    named = [str(figure.details["attribute"]) for figure in figures]
    worst = max(dict.fromkeys(named), key=named.count)
    means = {name: json_number(fmean(float(one[name]) for one in each)) for name in each[0]}
    return {"worst": worst, "each": means}
