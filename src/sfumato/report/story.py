"""What the steward's report says, as plain data: the same for the page, the markdown and the JSON.

Numbers come in with the frontier and are only written out. The public report has its own story.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sfumato.errors import count_of
from sfumato.frontier import Frontier, Point, Recommendation
from sfumato.report.charts import size_rows
from sfumato.report.commands import publish_command
from sfumato.report.public_story import axis
from sfumato.report.wording import FORMS, around, figure, membership, published_as, spread, times

__all__ = ["Audience", "steward_story", "worst_of"]

Audience = Literal["steward", "public"]


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
        "privacy": axis(front.privacy),
        "utility": axis(front.utility),
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
        "bounds": [
            {"number": point.number, "label": point.label, "bound": figure(point.bound)}
            for point in made
            if point.bound is not None
        ],
        "command": command,
        "python": _sweep_python(front),
    }


def _figures(point: Point) -> dict[str, Any]:
    """Both figures of a point: mean and range together, and each alone."""
    found: dict[str, Any] = {"runs": len(point.privacy.values)}
    for name, values in (("privacy", point.privacy), ("utility", point.utility)):
        found |= {name: spread(values), f"{name}_mean": figure(values.mean), f"{name}_range": around(values)}
    return found


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _recommendation(chosen: Recommendation, source: tuple[str, str]) -> dict[str, Any]:
    point = chosen.point
    return {
        "number": point.number,
        "label": point.label,
        "reason": chosen.reason,
        "caution": chosen.caution,
        "promises": point.promises,
        "membership": membership(point.form),
        "worst": worst_of(point),
        "noisy": _noisy(point),
        **_figures(point),
        "bound": None if point.bound is None else figure(point.bound),
        "command": _command(point, source),
        "alternatives": [
            {
                "number": other.number,
                "label": other.label,
                "privacy": figure(other.privacy.mean),
                "utility": figure(other.utility.mean),
                "noisy": _noisy(other),
                "bound": None if other.bound is None else figure(other.bound),
                "membership": membership(other.form),
            }
            for other in chosen.alternatives
        ],
    }


def _noisy(point: Point) -> bool:
    """Whether the release was made under differential privacy: what is measured on it counts noise as loss."""
    return bool(point.claim.get("kind") == "proved")


def worst_of(point: Point) -> list[str]:
    """The worst that was found in a release: how far a belief grows, and a value that a group rules out."""
    said = []
    if grows := times(point.panel.get("largest_ratio")):
        said.append(f"The belief in one value grows up to {grows}.")
    out = [(driver, one) for driver in point.panel.get("drivers", ()) for one in driver["values"] if not one["here"]]
    if out:
        driver, one = max(out, key=lambda found: float(found[1]["overall"]))
        where = f"a group of {count_of(driver['records'], 'row')}"
        share = f"{float(one['overall']):.1%}".replace("%", " %")
        said.append(f"Some groups rule a value out: {one['value']} is 0 % of {where} and {share} of the table.")
    return said


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
        "membership": membership(point.form),
        "noisy": _noisy(point),
        **_figures(point),
        "bound": None if point.bound is None else figure(point.bound),
        "promises": point.promises,
        "kind": point.claim.get("kind", ""),
        "silent_on": list(point.claim.get("silent_on", ())),
        "summary": {name: f"{value:,.10g}" for name, value in point.summary.items()},
        "sizes": size_rows(panel.get("sizes", ())),
        "largest_ratio": times(panel.get("largest_ratio")),
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
                "ratio": times(shift["ratio"]),
            }
            for shift in driver["values"]
        ],
    }


def _population(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"where": dict(one["where"]), "rows": f"{one['rows']:,}", "loss": figure(float(one["loss"]))}


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
        "series": f"{point.family}, {point.form}{', noisy' if _noisy(point) else ''}",
        "noisy": _noisy(point),
        "published": published_as(point.form, noisy=_noisy(point), bound=point.bound is not None),
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
