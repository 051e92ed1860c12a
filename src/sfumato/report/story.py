"""What the steward's report says, as plain data: the same for the page, the markdown and the JSON.

Numbers come in with the frontier and are only written out. The public report has its own story.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sfumato.frontier import Frontier, Point, Recommendation, side_by_side
from sfumato.report.public_story import axis
from sfumato.report.release_story import (
    choice_of,
    command_of,
    figures_of,
    finite,
    noisy,
    plotted,
    release_story,
    worst_of,
)
from sfumato.report.wording import figure, membership

__all__ = ["Audience", "steward_story"]

Audience = Literal["steward", "public"]


def steward_story(
    front: Frontier,
    recommendation: Recommendation | None,
    *,
    command: str,
    source: tuple[str, str],
    without: str = "",
) -> dict[str, Any]:
    """Return everything the steward may see; `without` says why nothing is recommended."""
    best = None if recommendation is None else recommendation.point.number
    made = [point for point in front.points if not point.failed]
    order = sorted(made, key=lambda point: (front.privacy.sign * point.privacy.mean, point.number))
    groups = side_by_side(order)
    first = {point.number: group[0].number for group in groups for point in group}  # whose panel shows a point
    rest = _without_buckets(front, recommendation)
    words = (axis(front.privacy)["words"], axis(front.utility)["words"])
    standing = {group[0].number: _standing(group, best, rest) for group in groups}
    card = None if recommendation is None else _recommendation(recommendation, source, first)
    named = [] if card is None else [card, *card["alternatives"], card["bucket"]]
    linked = {one["number"] for one in named if one and one["number"]}
    linked |= {first[point.number] for point in made if point.bound is not None}
    return {
        "audience": "steward",
        "confidential": True,
        "short": False,
        "table": front.table,
        "rows": f"{front.rows:,}",
        "quasi": list(front.quasi),
        "protected": [name for name in front.carried if name not in front.targets],
        "targets": list(front.targets),
        "privacy": axis(front.privacy),
        "utility": axis(front.utility),
        "repeats": front.repeats,
        "measured": len(made),
        "recommendation": card,
        "without": without,
        "releases": [release_story(group, source, standing[group[0].number], words) for group in groups],
        "efficient": [point.number for point in front.efficient],
        "in_full": sorted({first[point.number] for point in front.efficient} | linked),  # where not all can be
        "without_buckets": sorted(rest),
        "failed": _failed(front.failed),
        "references": [
            {
                "name": mark.name,
                "axis": mark.axis,
                "number": finite(mark.value),
                "text": figure(mark.value),
                "formula": mark.formula,
            }
            for mark in front.references
        ],
        "plotted": [row for group in groups if (row := plotted(group, standing[group[0].number]))],
        "bounds": [
            {"number": first[point.number], "label": point.label, "bound": figure(point.bound)}
            for point in made
            if point.bound is not None
        ],
        "command": command,
        "python": _sweep_python(front),
    }


def _without_buckets(front: Frontier, recommendation: Recommendation | None) -> set[int]:
    """Releases that are efficient once buckets are left out; none where buckets took part or there are none."""
    took_part = recommendation is not None and recommendation.membership_public
    if took_part or not any(point.buckets for point in front.points):
        return set()
    return {point.number for point in front.efficient_without_buckets}


def _standing(group: tuple[Point, ...], best: int | None, rest: set[int]) -> dict[str, Any]:
    """How a release stands: recommended, efficient, beaten by buckets only, or beaten."""
    numbers = {point.number for point in group}
    found = {
        "efficient": group[0].efficient,
        "recommended": best in numbers,
        "without_buckets": bool(numbers & rest),
        "only_buckets_beat_it": bool(numbers & rest) and not group[0].efficient,
    }
    words = "efficient" if group[0].efficient else "beaten by another release"
    if found["only_buckets_beat_it"]:
        words = "beaten by buckets only"
    return {**found, "standing": f"recommended, {words}" if found["recommended"] else words}


def _failed(points: Sequence[Point]) -> list[dict[str, Any]]:
    """What could not be made, by reason: the first line and those that follow it."""
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(_reason(point), []).append(point)
    told = []
    for why, together in found.items():
        head, *more = (why if len(together) > 1 else together[0].failed).splitlines()
        told.append({"labels": [point.label for point in together], "why": head, "more": [m.strip() for m in more]})
    return told


def _reason(point: Point) -> str:
    """Why it failed, without the name of what was asked where the label says it: l = 4 and l = 5 fail alike."""
    asked, reached, why = point.failed.partition(" can not be reached: ")
    return f"can not be reached: {why}" if reached and asked in point.label else point.failed


def _recommendation(chosen: Recommendation, source: tuple[str, str], first: Mapping[int, int]) -> dict[str, Any]:
    point = chosen.point
    return {
        "number": first.get(point.number, point.number),
        "label": point.label,
        "reason": chosen.reason,
        "note": "" if point.buckets else chosen.note,  # of buckets it is said first, by `membership`
        "caution": chosen.caution,
        "promises": point.promises,
        "membership": membership(point.form),
        "membership_public": chosen.membership_public,
        "worst": worst_of(point),
        "noisy": noisy(point),
        **figures_of(point),
        "bound": None if point.bound is None else figure(point.bound),
        "command": command_of(point, source),
        "choice": choice_of(point),
        "bucket": None
        if chosen.bucket is None
        else {"number": first.get(chosen.bucket.number), "label": chosen.bucket.label},
        "alternatives": [
            {
                "number": first.get(other.number),
                "label": other.label,
                "privacy": figure(other.privacy.mean),
                "utility": figure(other.utility.mean),
                "noisy": noisy(other),
                "bound": None if other.bound is None else figure(other.bound),
                "membership": membership(other.form),
            }
            for other in chosen.alternatives
        ],
    }


def _sweep_python(front: Frontier) -> str:
    lines: Sequence[str] = [f"    {point.python}," for point in front.points]
    options = (
        f'privacy="{front.privacy.name}", utility="{front.utility.name}", repeats={front.repeats}, seed={front.seed}'
    )
    return "\n".join(["front = sf.frontier(table, [", *lines, f"], {options})"])
