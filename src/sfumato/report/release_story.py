"""What the steward's report says of one release, as plain data: its figures, its panel, its mark, its command."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sfumato.errors import count_of
from sfumato.frontier import Point, attributes_of, name_together
from sfumato.report.charts import size_rows
from sfumato.report.commands import publish_command
from sfumato.report.wording import FORMS, around, figure, membership, published_as, spread, times

__all__ = ["choice_of", "command_of", "figures_of", "finite", "noisy", "plotted", "release_story", "worst_of"]


def release_story(
    group: tuple[Point, ...], source: tuple[str, str], standing: Mapping[str, Any], words: tuple[str, str]
) -> dict[str, Any]:
    """Return what a panel shows, of points that are one release; `words` name the two axes."""
    point = group[0]
    panel = point.panel
    several = len(panel.get("losses", {})) > 1
    return {
        "number": point.number,
        "label": name_together(group),
        "family": point.family,
        "form": FORMS.get(point.form, point.form),
        **standing,
        "same": [
            {"label": other.label, "promises": other.promises, "command": command_of(other, source)}
            for other in group[1:]
        ],
        "savable": point.savable,
        "membership": membership(point.form),
        "noisy": noisy(point),
        **figures_of(point),
        "bound": None if point.bound is None else figure(point.bound),
        "promises": point.promises,
        "kind": point.claim.get("kind", ""),
        "silent_on": list(point.claim.get("silent_on", ())),
        "summary": {name: f"{value:,.10g}" for name, value in point.summary.items()},
        "sizes": size_rows(panel.get("sizes", ())),
        "largest_ratio": times(panel.get("largest_ratio")),
        "fingerprints": panel.get("fingerprints", ""),
        "attributes": attributes_of(point, words),
        "ratios": {name: times(ratio) for name, ratio in panel.get("largest_ratios", {}).items()},
        "driven": panel.get("driven") if several else None,
        "misread": panel.get("misread") if several else None,
        "quantiles": {_percent(share): figure(float(loss)) for share, loss in panel.get("quantiles", {}).items()},
        "drivers": [_driver(one) for one in panel.get("drivers", ())],
        "worst": [_population(one) for one in panel.get("worst_populations", ())],
        "populations": panel.get("populations"),
        "queries": list(panel.get("query_error", ())),
        "sample": panel.get("sample", {"columns": [], "rows": []}),
        "command": command_of(point, source),
        "choice": choice_of(point),
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


def plotted(group: tuple[Point, ...], standing: Mapping[str, Any]) -> dict[str, Any] | None:
    """One row of the scatter; a point at infinity has no place on it."""
    point = group[0]
    if not (math.isfinite(point.privacy.mean) and math.isfinite(point.utility.mean)):
        return None
    return {
        "number": point.number,
        "label": name_together(group),
        "family": point.family,
        "form": point.form,
        "series": f"{point.family}, {point.form}{', noisy' if noisy(point) else ''}",
        "noisy": noisy(point),
        "published": published_as(point.form, noisy=noisy(point), bound=point.bound is not None),
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
        **standing,
    }


def figures_of(point: Point) -> dict[str, Any]:
    """Both figures of a point: mean and range together, and each alone."""
    found: dict[str, Any] = {"runs": len(point.privacy.values)}
    for name, values in (("privacy", point.privacy), ("utility", point.utility)):
        found |= {name: spread(values), f"{name}_mean": figure(values.mean), f"{name}_range": around(values)}
    return found


def finite(value: float) -> float | None:
    """Return a number that can be drawn and written as JSON, None for others."""
    return value if math.isfinite(value) else None


def noisy(point: Point) -> bool:
    """Whether the release was made under differential privacy: what is measured on it counts noise as loss."""
    return bool(point.claim.get("kind") == "proved")


def worst_of(point: Point) -> list[str]:
    """The worst that was found in a release: how far a belief grows, and a value that a group rules out."""
    said = []
    ratios = {name: float(ratio) for name, ratio in point.panel.get("largest_ratios", {}).items()}
    of = f" of {max(ratios, key=lambda name: ratios[name])}" if len(ratios) > 1 else ""
    if grows := times(point.panel.get("largest_ratio")):
        said.append(f"The belief in one value{of} grows up to {grows}.")
    out = [(driver, one) for driver in point.panel.get("drivers", ()) for one in driver["values"] if not one["here"]]
    if out:
        driver, one = max(out, key=lambda found: float(found[1]["overall"]))
        where = f"a group of {count_of(driver['records'], 'row')}"
        share = f"{float(one['overall']):.1%}".replace("%", " %")
        about = f" of {point.panel['driven']}" if len(ratios) > 1 else ""
        said.append(f"Some groups rule a value{about} out: {one['value']} is 0 % of {where} and {share} of the table.")
    return said


def command_of(point: Point, source: tuple[str, str]) -> str:
    """Return the command that makes a release again, or Python where there is none."""
    return publish_command(point.mechanism, *source) or f"sf.publish(table, {point.python})"


def choice_of(point: Point) -> str:
    """What a release that is made by a command does not say of itself."""
    if not noisy(point) or publish_command(point.mechanism, "", "") is None:
        return ""
    return (
        "Made by this command, the release does not say that its parameters were chosen on this table; "
        f"sf.publish(table, front.chosen({point.number})) does."
    )
