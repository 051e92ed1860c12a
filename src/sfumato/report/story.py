"""What a report says, as plain data: the same for the page, the markdown and the JSON.

Numbers come in with the frontier and are only written out. The steward's story holds what was measured. The public
one is a function of the sweep, the measures' names and the published release: nothing of it was computed from the
original by anything but the release's own mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sfumato.frontier import CHOSEN, Frontier, Point, Recommendation, Spread, group_sizes, sample_rows
from sfumato.release import Release
from sfumato.report.charts import size_rows
from sfumato.report.commands import publish_command

__all__ = ["Audience", "public_story", "steward_story"]

Audience = Literal["steward", "public"]
FORMS = {
    "generalized": "generalized rows",
    "buckets": "groups of exact rows",
    "cells": "noisy cells",
    "synthetic": "synthetic rows",
}


def steward_story(
    front: Frontier, recommendation: Recommendation | None, *, command: str, source: tuple[str, str]
) -> dict[str, Any]:
    """Return everything the steward may see."""
    best = None if recommendation is None else recommendation.point.number
    made = [point for point in front.points if not point.failed]
    order = sorted(made, key=lambda point: (front.privacy.sign * point.privacy.mean, point.number))
    return {
        "audience": "steward",
        "confidential": True,
        "short": False,
        "table": front.table,
        "rows": f"{front.rows:,}",
        "quasi": list(front.quasi),
        "carried": list(front.carried),
        "privacy": _axis(front.privacy),
        "utility": _axis(front.utility),
        "repeats": front.repeats,
        "recommendation": None if recommendation is None else _recommendation(recommendation, source),
        "releases": [_release(point, source, recommended=point.number == best) for point in order],
        "efficient": [point.number for point in front.efficient],
        "failed": [{"label": point.label, "why": point.failed} for point in front.failed],
        "references": [
            {
                "name": mark.name,
                "axis": mark.axis,
                "number": _number(mark.value),
                "text": figure(mark.value),
                "formula": mark.formula,
            }
            for mark in front.references
        ],
        "plotted": [row for point in order if (row := _plotted(point, recommended=point.number == best))],
        "command": command,
        "python": _sweep_python(front),
    }


def public_story(front: Frontier, release: Release | None) -> dict[str, Any]:
    """Return what anyone may see: what was compared and how, and what was published."""
    return {
        "audience": "public",
        "confidential": False,
        "table": front.table,
        "quasi": list(front.quasi),
        "carried": list(front.carried),
        "privacy": _axis(front.privacy),
        "utility": _axis(front.utility),
        "compared": [{"label": point.label, "python": point.python} for point in front.points],
        "choosing": f"No claim covers {CHOSEN}.",
        "release": None if release is None else _published(release),
    }


def figure(value: float) -> str:
    """Write a number for people: four significant digits, no false zeros."""
    if math.isnan(value) or math.isinf(value):
        return str(value)
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return f"{value:.4g}"
    return f"{value:.2e}"


def spread(values: Spread) -> str:
    """Write a mean with the range of its runs."""
    return figure(values.mean) + (f" ({around(values)})" if around(values) else "")


def around(values: Spread) -> str:
    """Write the range of several runs, nothing for one."""
    runs = len(values.values)
    return f"{figure(values.low)} to {figure(values.high)}, {runs} runs" if runs > 1 else ""


def _figures(point: Point) -> dict[str, Any]:
    """Both figures of a point: mean and range together, and each alone."""
    found: dict[str, Any] = {"runs": len(point.privacy.values)}
    for name, values in (("privacy", point.privacy), ("utility", point.utility)):
        found |= {name: spread(values), f"{name}_mean": figure(values.mean), f"{name}_range": around(values)}
    return found


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _axis(measure: Any) -> dict[str, Any]:
    return {**measure.to_json(), "words": measure.name.replace("_", " ")}


def _recommendation(chosen: Recommendation, source: tuple[str, str]) -> dict[str, Any]:
    point = chosen.point
    return {
        "number": point.number,
        "label": point.label,
        "reason": chosen.reason,
        "caution": chosen.caution,
        "promises": point.promises,
        **_figures(point),
        "bound": None if point.bound is None else figure(point.bound),
        "command": _command(point, source),
        "alternatives": [
            {
                "number": other.number,
                "label": other.label,
                "privacy": figure(other.privacy.mean),
                "utility": figure(other.utility.mean),
            }
            for other in chosen.alternatives
        ],
    }


def _release(point: Point, source: tuple[str, str], *, recommended: bool) -> dict[str, Any]:
    panel = point.panel
    return {
        "number": point.number,
        "label": point.label,
        "family": point.family,
        "form": FORMS.get(point.form, point.form),
        "efficient": point.efficient,
        "recommended": recommended,
        "savable": point.savable,
        **_figures(point),
        "bound": None if point.bound is None else figure(point.bound),
        "promises": point.promises,
        "kind": point.claim.get("kind", ""),
        "silent_on": list(point.claim.get("silent_on", ())),
        "summary": {name: f"{value:,.10g}" for name, value in point.summary.items()},
        "sizes": size_rows(panel.get("sizes", ())),
        "largest_ratio": _ratio(panel.get("largest_ratio")),
        "quantiles": {_percent(share): figure(float(loss)) for share, loss in panel.get("quantiles", {}).items()},
        "drivers": [_driver(one) for one in panel.get("drivers", ())],
        "worst": [_population(one) for one in panel.get("worst_populations", ())],
        "populations": panel.get("populations"),
        "queries": list(panel.get("query_error", ())),
        "sample": panel.get("sample", {"columns": [], "rows": []}),
        "command": _command(point, source),
        "python": f"sf.publish(table, {point.python})",
    }


def _driver(driver: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "loss": figure(float(driver["loss"])),
        "records": f"{driver['records']:,}",
        "labels": dict(driver["labels"]),
        "boxes": f"{driver['boxes']:,}",
        "values": [
            {
                "value": shift["value"],
                "here": f"{shift['here']:.1%}",
                "overall": f"{shift['overall']:.2%}",
                "ratio": _ratio(shift["ratio"]),
            }
            for shift in driver["values"]
        ],
    }


def _population(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"where": dict(one["where"]), "rows": f"{one['rows']:,}", "loss": figure(float(one["loss"]))}


def _ratio(value: Any) -> str:
    if value is None:
        return ""
    number = float(value)
    return "infinitely" if math.isinf(number) else f"{number:.3g} times"


def _percent(share: str) -> str:
    return f"{float(share):.4g}" if share not in ("0.0", "1.0") else {"0.0": "smallest", "1.0": "largest"}[share]


def _plotted(point: Point, *, recommended: bool) -> dict[str, Any] | None:
    """One row of the scatter; a point at infinity has no place on it."""
    if not (math.isfinite(point.privacy.mean) and math.isfinite(point.utility.mean)):
        return None
    standing = "recommended" if recommended else "efficient" if point.efficient else "beaten by another release"
    return {
        "number": point.number,
        "label": point.label,
        "family": point.family,
        "form": point.form,
        "privacy": point.privacy.mean,
        "utility": point.utility.mean,
        "privacy_low": point.privacy.low,
        "privacy_high": point.privacy.high,
        "utility_low": point.utility.low,
        "utility_high": point.utility.high,
        "privacy_text": spread(point.privacy),
        "utility_text": spread(point.utility),
        "bound": point.bound,
        "bound_text": "none" if point.bound is None else f"at most {figure(point.bound)} nats",
        "classes": point.summary.get("classes", 0),
        "runs": len(point.privacy.values),
        "efficient": point.efficient,
        "recommended": recommended,
        "standing": standing,
    }


def _command(point: Point, source: tuple[str, str]) -> str:
    return publish_command(point.mechanism, *source) or f"sf.publish(table, {point.python})"


def _sweep_python(front: Frontier) -> str:
    lines: Sequence[str] = [f"    {point.python}," for point in front.points]
    options = (
        f'privacy="{front.privacy.name}", utility="{front.utility.name}", repeats={front.repeats}, seed={front.seed}'
    )
    return "\n".join(["front = sf.frontier(table, [", *lines, f"], {options})"])


def _published(release: Release) -> dict[str, Any]:
    """What the release itself shows."""
    return {
        "method": str(release.mechanism.get("name", "")),
        "promise": str(release.claim.promise),
        "claim": release.claim.describe().splitlines(),
        "form": FORMS.get(release.form, release.form),
        "summary": {name: f"{value:,.10g}" for name, value in release.summary().to_json().items()},
        "sizes": size_rows(group_sizes(release)),
        "sample": sample_rows(release),
    }
