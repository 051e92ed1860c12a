"""Make the releases of one mechanism and measure them. Runs in a worker process; what it returns is plain data."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from statistics import fmean
from typing import Any

import numpy as np

from sfumato.claims.claim import described
from sfumato.counts import Table
from sfumato.errors import SfumatoError
from sfumato.estimate import measured_attributes
from sfumato.frontiers.axes import Axis
from sfumato.frontiers.point import Point
from sfumato.measures import Measured, Workload, measure, proved_bound, query_error, workload
from sfumato.measures.base import json_number, remembered
from sfumato.mechanisms import Mechanism
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.release import Release, published_frames

__all__ = [
    "Task",
    "evaluated",
    "group_sizes",
    "name_together",
    "panel_of",
    "published_digest",
    "rehearsed",
    "sample_rows",
    "side_by_side",
]


# Points that are one and the same release: other parameters of a method, the same published table.


def published_digest(release: Release) -> str:
    """Return a hash of the published tables; nothing for a release that was drawn, which comes out otherwise anew."""
    if release.claim.rehearsal:
        return ""
    said = hashlib.sha256()
    for name, table in published_frames(release).items():
        said.update(f"{name}\n{table.distinct.write_csv()}".encode())
        said.update(table.times.tobytes())
    return said.hexdigest()[:32]


def side_by_side(points: Iterable[Point]) -> tuple[tuple[Point, ...], ...]:
    """Return the points in their order, those of one method that are the same release together."""
    found: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        alone = not point.published or bool(point.failed)
        key = (str(point.number),) if alone else (point.family, point.published)
        found.setdefault(key, []).append(point)
    return tuple(tuple(together) for together in found.values())


def name_together(points: tuple[Point, ...]) -> str:
    """Return one name for points that are the same release: `Mondrian k-anonymity(200), k-anonymity(1000)`."""
    first, *rest = points
    method = f"{type(first.mechanism).__name__} "
    return ", ".join([first.label, *(point.label.removeprefix(method) for point in rest)])


# What the report shows of one release: sizes of groups, what drives the risk, where readers err, some rows.

SELECTIVITIES = ("0.01", "0.05", "0.1", "0.2")
QUERIES = 250
SAMPLE = 6


def panel_of(table: Table, release: Release, known: Mapping[str, Measured]) -> dict[str, Any]:
    """Return plain data; a part that cannot be had for this release is left out."""
    missing = [name for name in ("privacy_loss", "utility_loss") if name not in known]
    figures = {**known, **measure(table, release, missing)}
    privacy, utility = figures["privacy_loss"], figures["utility_loss"]
    return {
        "sizes": group_sizes(release),
        "driven": privacy.details.get("attribute"),
        "losses": dict(privacy.details.get("by_attribute", {})),
        "largest_ratios": dict(privacy.details.get("largest_ratios", {})),
        "misread": utility.details.get("attribute"),
        "drivers": list(privacy.details.get("drivers", ()))[:3],
        "largest_ratio": privacy.details.get("largest_ratio"),
        "quantiles": dict(privacy.details.get("quantiles", {})),
        "worst_populations": list(utility.details.get("worst", ()))[:5],
        "populations": utility.details.get("populations"),
        "query_error": _by_selectivity(table, release),
        "fingerprints": release.fingerprints().describe(),
        "sample": sample_rows(release) if release.savable else {"columns": [], "rows": []},
    }


def group_sizes(release: Release) -> list[dict[str, int]]:
    """Return how many groups, and rows in them, have a size of low .. high (1, 2, 3-5, 6-10, 11-20, ...)."""
    weight = np.asarray(release.groups.weight)
    weight = weight[weight > 0]
    if not len(weight):
        return []
    ends = [step * 10**power for power in range(13) for step in (1, 2, 5)]
    place = np.searchsorted(ends, weight, side="left")
    groups = np.bincount(place, minlength=1)
    rows = np.bincount(place, weights=weight)
    first, last = int(place.min()), int(place.max())
    return [
        {
            "low": 1 if at == 0 else int(ends[at - 1]) + 1,
            "high": int(ends[at]),
            "groups": int(groups[at]),
            "rows": int(rows[at]),
        }
        for at in range(first, last + 1)
    ]


def sample_rows(release: Release, number: int = SAMPLE) -> dict[str, Any]:
    """Return some published rows, evenly spaced in the order of publication."""
    frame = release.frame()
    if not frame.height:
        return {"columns": frame.columns, "rows": []}
    places = np.unique(np.linspace(0, frame.height - 1, number).astype(int))
    rows = frame[places.tolist()].rows()
    return {"columns": frame.columns, "rows": [[str(cell) for cell in row] for row in rows]}


def _by_selectivity(table: Table, release: Release) -> list[dict[str, Any]]:
    """Return the query error for small and large regions; the same queries for every release.

    Of several sensitive attributes the one answered worst, which is named.
    """
    found: list[dict[str, Any]] = []
    for selectivity in SELECTIVITIES:
        try:
            error = query_error(table, release, _queries(table, selectivity))
        except SfumatoError:
            continue
        found.append(
            {
                "selectivity": selectivity,
                "error": error.value,
                "median": error.median,
                "queries": error.queries,
                "attribute": error.attribute,
            }
        )
    return found


def _queries(table: Table, selectivity: str) -> list[Workload]:
    """Draw the queries of one selectivity about each sensitive attribute, once for a table."""
    names = [attribute.name for attribute in table.schema.quasi]

    def draw() -> list[Workload]:
        size = min(4, len(names))
        return [
            workload(table, dimension=size, selectivity=selectivity, queries=QUERIES, attribute=known.name)
            for known in measured_attributes(table.schema)
        ]

    return remembered(table.counts(names), ("panel", selectivity), draw)


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
        "alone": first.exposed().alone() if first.form in ("generalized", "buckets") else "",
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
