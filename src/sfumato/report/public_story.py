"""What the public report says, as plain data.

It is a function of the sweep, the measures' names and the published release: nothing of it was computed from the
original by anything but the release's own mechanism.
"""

from __future__ import annotations

from typing import Any

from sfumato.frontier import CHOSEN, Frontier, Point, group_sizes, sample_rows
from sfumato.mechanisms import Anatomy, Bucketize
from sfumato.release import Release, published_frames
from sfumato.report.charts import size_rows
from sfumato.report.wording import FORMS, MEMBERSHIP, membership
from sfumato.visible import operand, shell_command

__all__ = ["public_story"]

_GROUPS = 2  # whose second table is shown
_LINES = 24  # of the second table, at most


def public_story(
    front: Frontier, release: Release | None, *, folder: str, membership_public: bool = False
) -> dict[str, Any]:
    """Return what anyone may see: what was compared and how, and what was published."""
    left_out = not membership_public and (release is None or release.form != "buckets")
    return {
        "audience": "public",
        "confidential": False,
        "table": front.table,
        "quasi": list(front.quasi),
        "carried": list(front.carried),
        "privacy": axis(front.privacy),
        "utility": axis(front.utility),
        "compared": [{"label": point.label, "python": point.python} for point in front.points],
        "methods": _methods(front.points, left_out=left_out),
        "choosing": f"No claim covers {CHOSEN}.",
        "release": None if release is None else _published(release),
        "check": shell_command(["sfumato", "verify", operand(folder)]),
    }


def axis(measure: Any) -> dict[str, Any]:
    """Return what stands on an axis, with its name in words."""
    return {**measure.to_json(), "words": measure.name.replace("_", " ")}


def _methods(points: tuple[Point, ...], *, left_out: bool) -> list[dict[str, Any]]:
    """One line for each method: what was varied, and what to mind. By the method, never by what came out."""
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(point.family, []).append(point)
    said = f"{MEMBERSHIP}; left out of the recommendation" if left_out else MEMBERSHIP
    return [
        {
            "method": family,
            "varied": [_varied(point) for point in group],
            "mind": said if isinstance(group[0].mechanism, Anatomy | Bucketize) else "",
        }
        for family, group in found.items()
    ]


def _varied(point: Point) -> str:
    """Return a label without what the method's line says already: `10` of `Mondrian k-anonymity(10)`."""
    method, _, kind = point.family.partition(", ")
    rest = point.label.removeprefix(method).strip()
    inner = rest.removeprefix(f"{kind}(").removesuffix(")")
    return inner if kind and rest == f"{kind}({inner})" and "(" not in inner else rest


def _published(release: Release) -> dict[str, Any]:
    """What the release itself shows."""
    return {
        "method": str(release.mechanism.get("name", "")),
        "promise": str(release.claim.promise),
        "claim": release.claim.describe().splitlines(),
        "form": FORMS.get(release.form, release.form),
        "membership": membership(release.form),
        "summary": {name: f"{value:,.10g}" for name, value in _sizes(release).items()},
        "sizes": size_rows(group_sizes(release)),
        "fingerprints": release.fingerprints().describe(),
        "sample": (shown := sample_rows(release)),
        "groups": _second_table(release, shown),
    }


def _sizes(release: Release) -> dict[str, Any]:
    """Return the size as the saved release tells it: a number of rows left out only where the claim allows it."""
    found = release.summary().to_json()
    if release.claim.kind != "checked":
        found["suppressed"] -= release.left_out or 0
    if release.form == "cells":
        found.pop("suppressed")
    return found


def _second_table(release: Release, shown: dict[str, Any]) -> dict[str, Any]:
    """For buckets what the first groups among the shown rows carry: the other half of what was published."""
    tables = published_frames(release)
    if "groups" not in tables or not shown["rows"]:
        return {"columns": [], "rows": [], "of": []}
    frame = tables["groups"].distinct
    group = next(name for name in frame.columns if name in shown["columns"])
    place = shown["columns"].index(group)
    wanted = list(dict.fromkeys(row[place] for row in shown["rows"]))[:_GROUPS]
    rows = [[str(cell) for cell in row] for row in frame.rows()]
    at = frame.columns.index(group)
    kept = [row for name in wanted for row in rows if row[at] == name][:_LINES]
    return {"columns": frame.columns, "rows": kept, "of": list(dict.fromkeys(row[at] for row in kept))}
