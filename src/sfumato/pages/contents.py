"""What the steward's report says, as plain data: the same for the page, the markdown and the JSON.

Numbers come in with the frontier and are only written out. The public report has its own contents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from sfumato.declare import plain_name
from sfumato.errors import count_of, in_percent, two_digits
from sfumato.frontiers import (
    CHOSEN,
    MEMBERSHIP,
    Breach,
    Frontier,
    Point,
    Recommendation,
    Spread,
    asked_of,
    attributes_of,
    axis_words,
    group_sizes,
    moved_words,
    name_together,
    price_of,
    sample_rows,
    side_by_side,
    typical_words,
)
from sfumato.frontiers.result import AxisMeasure
from sfumato.measures.utility import unbounded
from sfumato.mechanisms import Anatomy, Bucketize
from sfumato.pages.charts import colour_of, reach, shape_of, size_rows
from sfumato.pages.commands import publish_command
from sfumato.release import Release, published_frames
from sfumato.release.dictionary import MOVED
from sfumato.release.manifest import COUNTED_FORMS
from sfumato.release.redact import public_schema
from sfumato.schema import Schema
from sfumato.schema.fingerprints import nearly_records
from sfumato.visible import operand, shell_command

# How numbers and kinds of releases are written for people, the same in every report.

FORMS = {
    "generalized": "generalized rows",
    "buckets": "groups of exact rows",
    "cells": "noisy cells",
    "synthetic": "synthetic rows",
}
NOISY = "measured figure includes noise; see its proved bound"


def membership(form: str) -> str:
    """Say that anyone can tell who is in the table, for a form of which that is true; nothing for others."""
    return f"{MEMBERSHIP[0].upper()}{MEMBERSHIP[1:]}. Anyone can tell who is in the table." if form == "buckets" else ""


def published_as(form: str, *, noisy: bool, bound: bool) -> str:
    """Say what a release consists of, and what to mind when its mark is read."""
    said = [FORMS.get(form, form)]
    if form == "buckets":
        said.append(MEMBERSHIP)
    if noisy:  # a claim of approximate differential privacy proves no bound of this kind
        said.append(NOISY if bound else NOISY.partition(";")[0])
    return "; ".join(said)


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


def times(value: Any) -> str:
    """Write a ratio; nothing where there is none."""
    if value is None:
        return ""
    number = float(value)
    return "infinitely" if math.isinf(number) else f"{number:.3g} times"


# What the public report says, as plain data.
#
# It is a function of the sweep, the measures' names and the published release: nothing of it was computed from the
# original by anything but the release's own mechanism.

_GROUPS = 2  # whose second table is shown
_LINES = 24  # of the second table, at most


def public_contents(
    front: Frontier | None, release: Release | None, *, folder: str, membership_public: bool = False, contact: str = ""
) -> dict[str, Any]:
    """Return what anyone may see: what was published and, after a comparison, what was compared and how."""
    contents: dict[str, Any] = {"audience": "public", "confidential": False}
    if front is not None:
        left_out = not membership_public and (release is None or release.form != "buckets")
        contents |= {
            "table": front.table,
            "quasi": list(front.quasi),
            "carried": list(front.carried),
            "privacy": _public_axis(front.privacy),
            "utility": _public_axis(front.utility),
            "measures": [_public_axis(one) for one in (*front.axes, front.utility)],
            "compared": [{"label": point.label, "python": point.python} for point in front.points],
            "methods": _methods(front.points, left_out=left_out),
            "choosing": f"No claim covers {CHOSEN}.",
        }
    elif release is not None:
        contents |= {
            "table": release.schema.name,
            "quasi": [known.name for known in release.quasi],
            "carried": [known.name for known in release.carried],
            "compared": [],
        }
    return contents | {
        "release": None if release is None else _published(release),
        "check": shell_command(["sfumato", "verify", operand(folder)]),
        "contact": contact,
    }


def axis(measure: Any) -> dict[str, Any]:
    """Return what an axis shows, with its name in words."""
    unit = f", {measure.unit}" if measure.unit else ""
    title = f"{measure.words}{unit} ({'less' if measure.better == 'less' else 'more'} is better)"
    return {**measure.to_json(), "words": measure.words, "title": title}


def _public_axis(measure: AxisMeasure) -> dict[str, Any]:
    """As `axis`; without how many attributes a population names at most, since that depends on the original."""
    return axis(replace(measure, formula=unbounded(measure.formula)))


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
    """What the release itself shows: of a domain that was read off the data no more than its manifest states."""
    schema = public_schema(release)
    return {
        "method": str(release.mechanism.get("name", "")),
        "promise": str(release.claim.promise),
        "claim": release.claim.describe().splitlines(),
        "form": FORMS.get(release.form, release.form),
        "membership": membership(release.form),
        "summary": {name: f"{value:,.10g}" for name, value in _sizes(release).items()},
        **({"capped_by": release.schema.capped_by} if release.capped else {}),
        "sizes": size_rows(group_sizes(release)),
        "fingerprints": replace(release.fingerprints(), people=None).describe(),  # by no key
        "exposed": release.exposed().sentences() if release.form in ("generalized", "buckets") else [],
        "sample": (shown := sample_rows(release)),
        "groups": _second_table(release, shown),
        "columns": _columns(release, schema),
        "use": _use(release),
        "linked": _linked(release),
        "asked": asked_of(release, schema),
    }


_ROLES = {"quasi": "may be known to others", "sensitive": "to protect", "target": "to study"}


def _columns(release: Release, schema: Schema) -> list[dict[str, Any]]:
    """What each column holds, from the public schema and the release alone."""
    boxes = release.boxes
    listed = {
        table.attribute.name: [table.name(int(at)) for at in np.unique(np.asarray(boxes.labels)[:, place])]
        for place, table in enumerate(boxes.tables)
    }
    found: list[dict[str, Any]] = []
    for attribute in (*release.quasi, *(schema[known.name] for known in release.carried)):
        some = listed.get(attribute.name) or [attribute.text(code) for code in range(min(attribute.size, _VALUES))]
        many = len(listed[attribute.name]) if attribute.name in listed else attribute.size
        role = _ROLES.get(attribute.role, attribute.role)
        shown = {"name": attribute.name, "role": role, "values": some[:_VALUES], "more": max(0, many - _VALUES)}
        found.append(shown)
    return found


_VALUES = 6


def _linked(release: Release) -> bool:
    """Whether some group of buckets has one value only of a column beside: then each of its rows has it."""
    groups = release.groups
    return release.form == "buckets" and any(
        (np.diff(groups.histogram(known.name).indptr) == 1).any() for known in release.carried
    )


def _use(release: Release) -> list[str]:
    """How to read the file, by the kind of release."""
    said = {
        "generalized": "Each row stands for one row of the original. A range, a group of values or * means that the "
        "value lies somewhere in it; for estimates, take every value in it as equally likely.",
        "buckets": "The first table holds the quasi-identifiers as they are, with the number of a group. The second "
        "holds, for each group, how often each sensitive value occurs. "
        + (
            "Where a group has one value only, each of its rows has it; else it is not published which row has which."
            if _linked(release)
            else "Which row has which value is not published."
        ),
        "cells": "Counts are noisy: noise was added on purpose, and a small count may be nothing but noise. Add up "
        "many cells rather than reading one.",
        "synthetic": "Rows are drawn from a model, not copied from records. A row may still be the same as a person's, "
        "the likelier the larger epsilon is. Read tables and shares, not rows.",
    }
    if (noise := release.noise_lines) is not None:
        said["cells"] = f"At this epsilon counts are practically exact: {nearly_records(noise)}."
    moved = [attribute.name for attribute in (*release.quasi, *release.carried) if attribute.clamp]
    beyond = [f"{', '.join(moved)}: {MOVED}."] if moved else []
    return [said[release.form], *beyond] if release.form in said else beyond


def _sizes(release: Release) -> dict[str, Any]:
    """Return the size as the saved release states it: how many rows are missing only where the claim allows it."""
    found = release.summary().to_json()
    if release.claim.kind != "checked":  # rows may be left out, and how many is not published
        found.pop("suppressed")
    if release.capped:
        found["capped"] = release.capped
        found["most"] = release.schema.rows_per_person
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


# What the steward's report says of one release, as plain data: its figures, its panel, its mark, its command.


def release_contents(
    group: tuple[Point, ...],
    source: tuple[str, str],
    standing: Mapping[str, Any],
    words: tuple[str, str],
    breaks: Sequence[Breach] = (),
) -> dict[str, Any]:
    """Return what a panel shows, of points that are one release; `words` name the two axes, `breaks` the policy's."""
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
        "by_rows": point.by_rows,
        "fingerprints": panel.get("fingerprints", ""),
        "attributes": attributes_of(point, words),
        "ratios": {name: times(ratio) for name, ratio in panel.get("largest_ratios", {}).items()},
        "driven": panel.get("driven") if several else None,
        "misread": panel.get("misread") if several else None,
        "quantiles": {_quantile_name(share): figure(float(loss)) for share, loss in panel.get("quantiles", {}).items()},
        "drivers": [_driver(one) for one in panel.get("drivers", ())],
        "worst": [_population(one) for one in panel.get("worst_populations", ())],
        "populations": panel.get("populations"),
        "queries": list(panel.get("query_error", ())),
        "sample": panel.get("sample", {"columns": [], "rows": []}),
        "risks": {name: _risk(name, point) for name in point.risks},
        "attacks": [_attack(name, found) for name, found in point.attacks.items()],
        "rehearsal": point.rehearsal,
        "people": "" if point.people is None else f"{point.people:,}",
        "smallest": point.smallest,
        "at_least": point.at_least,
        "counted": point.counted,
        "price": price_of(point),
        "typical": dict(point.typical),
        "breaks": list(map(str, breaks)),
        "columns": [_column(one) for one in panel.get("columns", ())],
        "associations": _associations(panel.get("associations", ())),
        "identity": _identity(panel.get("identity", {}), point.counted),
        "classes": [
            {**one, "share": in_percent(one["share"]) if "share" in one else ""} for one in panel.get("classes", ())
        ],
        "beside": panel.get("beside", {"columns": [], "rows": []}),
        "command": command_of(point, source),
        "choice": choice_of(point),
        "python": f"sf.publish(table, {point.python})",
    }


def _risk(name: str, point: Point) -> dict[str, Any]:
    """A figure of a privacy axis: as text, and as numbers to draw and to sort by."""
    values, interval = point.risks[name], point.attacks.get(name, {}).get("interval")
    ends = (values.low, values.high) if interval is None or len(values.values) > 1 else interval
    number = finite(values.mean)
    text = "not measured" if math.isnan(values.mean) else spread(values)
    written = {"text": text, "short": text.partition(" (")[0], "range": around(values)}
    return {"mean": number, "low": finite(float(ends[0])), "high": finite(float(ends[1])), **written}


def _chance(share: float) -> str:
    """Return a share as a percentage; of small ones one digit more, so that one in 200 is not written as none."""
    return f"{100 * share:.0f} %" if share >= 0.1 or not share else f"{100 * share:.2g} %"


def _attack(name: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """What an attack found, and the kinds of rows it exposes most."""
    exposed = [
        {
            "who": ", ".join(f"{column} {value}" for column, value in one["who"].items()),
            "number": f"{int(one['number']):,}",
            "chance": _chance(float(one["chance"])),
        }
        for one in found["who"]
    ]
    most = float(found["most_exposed"])
    return {
        "axis": name,
        "words": axis_words(name),
        "sentence": " ".join(filter(None, (found["sentence"], found.get("beside"), found.get("less")))),
        "counted": found.get("counted", "rows"),
        "tried": _tried(found.get("tried", {})),
        "stops": found["stops"],
        "notes": list(found["notes"]),
        "better_than_baseline": bool(found["better_than_baseline"]),
        "most_exposed": "" if math.isnan(most) else _chance(most),
        "who": exposed,
    }


def _tried(gains: Mapping[str, Any]) -> str:
    """Say which attacks were tried and what each gained, the strongest first."""
    if not gains:
        return ""
    ranked = sorted(gains, key=lambda name: -float(gains[name]))
    each = ", ".join(f"{name} {100 * float(gains[name]):.1f}" for name in ranked)
    return f"The strongest of {len(ranked)} attacks; gains in points: {each}."


def _column(one: Mapping[str, Any]) -> dict[str, Any]:
    """Bars of a column before and after: lengths in percent of the longest."""
    before, after = [list(map(float, one[side])) for side in ("before", "after")]
    most = max([*before, *after, 1.0])
    rows = [
        {
            "name": name,
            "before": f"{b:,.0f}",
            "after": f"{a:,.0f}",
            "wide_before": round(100 * b / most, 1),
            "wide_after": round(100 * a / most, 1),
        }
        for name, b, a in zip(one["bins"], before, after, strict=True)
    ]
    return {"name": one["name"], "role": one["role"], "moved": moved_words(one), "rows": rows}


def _associations(pairs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Associations of two columns, those that changed most first."""
    order = sorted(pairs, key=lambda one: -abs(float(one["after"]) - float(one["before"])))
    return [
        {
            "pair": " and ".join(one["pair"]),
            "before": f"{float(one['before']):.2f}",
            "after": f"{float(one['after']):.2f}",
            "wide_before": round(100 * float(one["before"]), 1),
            "wide_after": round(100 * float(one["after"]), 1),
        }
        for one in order
    ]


BY_PERSON = (
    "That is the chance of a reader who picks one of the people of the class at random; whoever picks one of its rows "
    "comes more often upon somebody with more rows than others."
)


def _identity(found: Mapping[str, Any], counted: tuple[str, str]) -> dict[str, Any]:
    """How likely a person's row is found, in percent."""
    if not found:
        return {}
    most = "at most " if found.get("at_most") else ""
    below = [f"{count_of(int(n), *counted)} in classes below {k}" for k, n in found["below"].items() if n]
    return {
        **({"by_person": BY_PERSON} if found.get("several_rows") else {}),
        "highest": f"{most}{100 * float(found['highest']):.3g} %",
        "average": f"{most}{two_digits(100 * float(found['average']))} %",
        "below": below,
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
                "here": in_percent(shift["here"], 1),
                "overall": in_percent(shift["overall"], 2),
                "ratio": times(shift["ratio"]),
            }
            for shift in driver["values"]
        ],
    }


def _population(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"where": dict(one["where"]), "rows": f"{one['rows']:,}", "loss": figure(float(one["loss"]))}


def _quantile_name(share: str) -> str:
    return f"{float(share):.4g}" if share not in ("0.0", "1.0") else {"0.0": "smallest", "1.0": "largest"}[share]


def plotted(
    group: tuple[Point, ...], standing: Mapping[str, Any], breaks: Sequence[Breach] = ()
) -> dict[str, Any] | None:
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
        **shape_of(point.form),
        "colour": colour_of(point.family),
        "risks": {name: drawn for name in point.risks if (drawn := _risk(name, point))["mean"] is not None},
        "utility": {
            "mean": point.utility.mean,
            "low": point.utility.low,
            "high": point.utility.high,
            "text": spread(point.utility),
        },
        "people": point.smallest,
        "typical": typical_words(point.typical),
        "attacked": len(point.privacy.values) == 1,
        "breaks": "; ".join(map(str, breaks)),
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


def worst_findings(point: Point) -> list[str]:
    """The worst that was found in a release: how far a belief grows, and a value that a group rules out."""
    said = []
    ratios = {name: float(ratio) for name, ratio in point.panel.get("largest_ratios", {}).items()}
    of = f" of {max(ratios, key=lambda name: ratios[name])}" if len(ratios) > 1 else ""
    if grows := times(point.panel.get("largest_ratio")):
        rows = ", counted in rows" if point.by_rows else ""
        said.append(f"The belief in one value{of} grows up to {grows}{rows}.")
    out = [(driver, one) for driver in point.panel.get("drivers", ()) for one in driver["values"] if not one["here"]]
    if out and point.form not in COUNTED_FORMS:  # what is not in drawn rows is not ruled out
        driver, one = max(out, key=lambda found: float(found[1]["overall"]))
        where = f"a group of {count_of(driver['records'], 'row')}"
        share = in_percent(float(one["overall"]), 1)
        about = f" of {point.panel['driven']}" if len(ratios) > 1 else ""
        said.append(f"Some groups rule a value{about} out: {one['value']} is 0 % of {where} and {share} of the table.")
    return said


def command_of(point: Point, source: tuple[str, str]) -> str:
    """Return the command that makes a release again, or Python where there is none."""
    return publish_command(point.mechanism, *source) or f"sf.publish(table, {point.python})"


def choice_of(point: Point) -> str:
    """State what a release made by the command omits about itself: that its parameters were chosen on this table."""
    if not noisy(point) or publish_command(point.mechanism, "", "") is None:
        return ""
    return (
        "Made by this command, the release does not say that its parameters were chosen on this table; "
        f"sf.publish(table, front.chosen({point.number})) does."
    )


Audience = Literal["steward", "public"]


def steward_contents(
    front: Frontier,
    recommendation: Recommendation | None,
    *,
    command: str,
    source: tuple[str, str],
    without: str = "",
    membership_public: bool = False,
) -> dict[str, Any]:
    """Return everything the steward may see; `without` says why nothing is recommended."""
    best = None if recommendation is None else recommendation.point.number
    made = [point for point in front.points if not point.failed]
    order = sorted(made, key=lambda point: (front.privacy.sign * point.privacy.mean, point.number))
    groups = side_by_side(order)
    first = {point.number: group[0].number for group in groups for point in group}  # whose panel shows a point
    rest = _without_buckets(front, recommendation)
    standing_of = {group[0].number: _standing(group, best, rest) for group in groups}
    words = (front.privacy.words, front.utility.words)
    policy = front.policy if recommendation is None else recommendation.policy
    public = recommendation is not None and recommendation.membership_public
    shown = [
        row for group in groups if (row := plotted(group, standing_of[group[0].number], policy.breaches(group[0])))
    ]
    card = None if recommendation is None else _recommendation(recommendation, source, first, words)
    named = [] if card is None else [card, *card["alternatives"], card["bucket"]]
    linked = {one["number"] for one in named if one and one["number"]}
    linked |= {first[point.number] for point in made if point.bound is not None}
    return {
        "audience": "steward",
        "confidential": True,
        "short": False,
        "table": front.table,
        "rows": f"{front.rows:,}",
        "people": front.people,
        "quasi": list(front.quasi),
        "protected": [name for name in front.carried if name not in front.targets],
        "targets": list(front.targets),
        "as_it_is": _as_it_is({point.form for point in made}),
        "privacy": axis(front.privacy),
        "utility": axis(front.utility),
        "repeats": front.repeats,
        "measured": len(made),
        "recommendation": card,
        "without": without,
        "releases": [
            release_contents(group, source, standing_of[group[0].number], words, policy.breaches(group[0]))
            for group in groups
        ],
        "policy": {"lines": policy.lines, "stated": policy.stated},
        "closest": _closest(front, first, membership_public) if recommendation is None and made else None,
        "axes": [_axis(front.on(one.name), shown, first, public) for one in front.axes],
        "truth": dict(front.truth),
        "asked": {} if best is None else dict(recommendation.point.panel.get("asked", {})) if recommendation else {},
        "reach": reach([row["utility"]["mean"] for row in shown]),
        "efficient": [point.number for point in front.efficient],
        "in_full": sorted({first[point.number] for point in front.efficient} | linked),  # where not all can be
        "without_buckets": sorted(rest),
        "failed": _failed(front.failed),
        "references": [
            {
                "name": mark.name,
                "axis": mark.axis,
                "words": axis_words(mark.measure) if mark.measure else front.utility.words,
                "number": finite(mark.value),
                "text": figure(mark.value),
                "formula": mark.formula,
            }
            for mark in front.references
        ],
        "plotted": shown,
        "bounds": [
            {"number": first[point.number], "label": point.label, "bound": figure(point.bound)}
            for point in made
            if point.bound is not None
        ],
        "command": command,
        "python": _sweep_python(front),
    }


def _as_it_is(forms: set[str]) -> str:
    """Say how releases of these forms publish a target: noisy and synthetic ones not as it is."""
    if forms and forms <= set(COUNTED_FORMS):
        return "with noise, or drawn"
    return "as it is, but for noisy or synthetic releases" if forms & set(COUNTED_FORMS) else "as it is"


def _axis(
    front: Frontier, shown: Sequence[Mapping[str, Any]], first: Mapping[int, int], public: bool
) -> dict[str, Any]:
    """A privacy axis as it is drawn: its ends, its efficient releases, and its marks."""
    efficient = {first[point.number] for point in front.efficient}
    rest = set() if public else {first[point.number] for point in front.efficient_without_buckets}
    values = [row["risks"][front.privacy.name]["mean"] for row in shown if front.privacy.name in row["risks"]]
    marks = [mark for mark in front.marks if mark.axis == "privacy" and math.isfinite(mark.value)]
    return {
        **axis(front.privacy),
        "efficient": sorted(efficient),
        "apart": sorted(rest) if rest - efficient else [],
        "domain": reach(values),
        "marks": [{"name": mark.name, "number": mark.value} for mark in marks],
    }


def _closest(front: Frontier, first: Mapping[int, int], public: bool) -> dict[str, Any] | None:
    """The release that is closest to keeping the policy, where none keeps it."""
    try:
        point, broken = front.closest(membership_public=public)
    except ValueError:  # nothing could be published at all
        return None
    if not broken:
        return None
    return {
        "number": first[point.number],
        "label": point.label,
        "breaks": list(map(str, broken)),
        "price": price_of(point),
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
    if found["recommended"] and words.startswith("beaten by another"):
        words = "by the worst of several axes"  # on this one alone another release is better
    return {**found, "standing": f"recommended, {words}" if found["recommended"] else words}


def _failed(points: Sequence[Point]) -> list[dict[str, Any]]:
    """What could not be made, by reason: the first line and those that follow it."""
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(_reason(point), []).append(point)
    failures = []
    for why, together in found.items():
        head, *more = (why if len(together) > 1 else together[0].failed).splitlines()
        failures.append({"labels": [point.label for point in together], "why": head, "more": [m.strip() for m in more]})
    return failures


def _reason(point: Point) -> str:
    """Why it failed, without the name of what was asked where the label says it: l = 4 and l = 5 fail alike."""
    asked, reached, why = point.failed.partition(" cannot be reached: ")
    return f"cannot be reached: {why}" if reached and asked in point.label else point.failed


def _recommendation(
    chosen: Recommendation, source: tuple[str, str], first: Mapping[int, int], words: tuple[str, str]
) -> dict[str, Any]:
    point = chosen.point
    return {
        "number": first.get(point.number, point.number),
        "label": point.label,
        "plain": plain_name(point.mechanism),
        "reason": chosen.reason,
        "price": chosen.price,
        "lost": chosen.lost,
        "typical": dict(point.typical),
        "people": "" if point.people is None else f"{point.people:,}",
        "smallest": point.smallest,
        "at_least": point.at_least,
        "counted": point.counted,
        "attacks": [_attack(name, found) for name, found in point.attacks.items()],
        "rehearsal": point.rehearsal,
        "identity": _identity(point.panel.get("identity", {}), point.counted),
        "classes": [
            {**one, "share": in_percent(one["share"]) if "share" in one else ""}
            for one in point.panel.get("classes", ())[:3]
        ],
        "attributes": attributes_of(point, words),
        "note": "" if point.buckets else chosen.note,  # of buckets it is said first, by `membership`
        "caution": chosen.caution,
        "promises": point.promises,
        "membership": membership(point.form),
        "membership_public": chosen.membership_public,
        "worst": worst_findings(point),
        "noisy": noisy(point),
        **figures_of(point),
        "bound": None if point.bound is None else figure(point.bound),
        "bound_of": point.claim.get("unit", "row"),
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
    names = [axis.name for axis in front.axes]
    privacy = repr(names[0]) if len(names) == 1 else repr(names)
    options = f'privacy={privacy}, utility="{front.utility.name}", repeats={front.repeats}, seed={front.seed}'
    return "\n".join(["front = sf.frontier(table, [", *lines, f"], {options})"])
