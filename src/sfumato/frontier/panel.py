"""What the report shows of one release: sizes of groups, what drives the risk, where readers err, some rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.counts import Table
from sfumato.errors import SfumatoError
from sfumato.measures import Measured, Workload, measure, query_error, workload
from sfumato.measures.memory import remembered
from sfumato.reading import measured_attributes
from sfumato.release import Release

__all__ = ["group_sizes", "panel_of", "sample_rows"]

SELECTIVITIES = ("0.01", "0.05", "0.1", "0.2")
QUERIES = 250
SAMPLE = 6


def panel_of(table: Table, release: Release, known: Mapping[str, Measured]) -> dict[str, Any]:
    """Return plain data; a part that can not be had for this release is left out."""
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
