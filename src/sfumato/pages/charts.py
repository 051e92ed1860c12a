"""Chart specifications, by Altair. Fonts and colours are the page's own: it fills in `@ink`, `@accent`, `@c0`, ..."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["COLOURS", "frontier_chart", "legend_of", "query_chart", "size_rows", "sizes_chart"]

COLOURS = 10  # of the page's style
_SHAPES = {"generalized": "circle", "buckets": "square", "cells": "diamond", "synthetic": "triangle-up"}
_PATHS = {
    "circle": "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0",
    "square": "M-4.5,-4.5h9v9h-9z",
    "diamond": "M0,-6L5,0L0,6L-5,0z",
    "triangle-up": "M0,-5.5L5.5,4.5H-5.5z",
    "cross": "M-2,-5.5h4v3.5h3.5v4h-3.5v3.5h-4v-3.5h-3.5v-4h3.5z",
}


def legend_of(story: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one entry for each way a release is drawn: method, colour, shape, hollow or not, and what to mind."""
    found: dict[str, dict[str, Any]] = {}
    for row in story["plotted"]:
        shape = _SHAPES.get(row["form"], "cross")
        entry = {"family": row["family"], "published": row["published"], "shape": shape, "path": _PATHS[shape]}
        found.setdefault(row["series"], {**entry, "hollow": row["noisy"], "colour": f"c{len(found) % COLOURS}"})
    return [{"series": name, **entry} for name, entry in found.items()]


def frontier_chart(story: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scatter: points, spread, the efficient line, marks of the table, the choice.

    What a claim proves is no measurement and is not drawn on this axis; the page prints it below the picture.
    """
    import altair as alt

    # What is drawn last lies on top: the recommended release, then what buckets would cover.
    rows = sorted(story["plotted"], key=lambda row: (row["recommended"], row["without_buckets"]))
    x = alt.X("privacy:Q", title=_title(story["privacy"]), scale=alt.Scale(nice=True, zero=True))
    y = alt.Y("utility:Q", title=_title(story["utility"]), scale=alt.Scale(nice=True, zero=True))
    look = _look(alt, legend_of(story))
    data = alt.Data(values=rows)
    points = (
        alt.Chart(data)
        .mark_point(size=75, strokeWidth=1.8)
        .encode(
            x=x,
            y=y,
            **look,
            opacity=alt.condition(
                "datum.efficient || datum.noisy || datum.without_buckets || datum.recommended",
                alt.value(1),
                alt.value(0.5),
            ),
            tooltip=_tooltip(story),
        )
        .properties(name="points")
    )
    line = (
        alt.Chart(data)
        .transform_filter("datum.efficient")
        .mark_line(interpolate="step-after", color="@ink", opacity=0.7, strokeWidth=1.4, clip=True)
        .encode(x=x, y=y, order=alt.Order("privacy:Q"))
        .properties(name="efficient")
    )
    drawn = [row for row in rows if row["runs"] > 1]
    layers = [*_marks(story, alt), line]
    if any(row["only_buckets_beat_it"] for row in rows):
        look_apart = {"strokeDash": [5, 4], "color": "@ink", "opacity": 0.7, "strokeWidth": 1.4, "clip": True}
        apart = (
            alt.Chart(data).transform_filter("datum.without_buckets").mark_line(interpolate="step-after", **look_apart)
        )
        layers.append(apart.encode(x=x, y=y, order=alt.Order("privacy:Q")).properties(name="apart"))
    if drawn:
        across = alt.Chart(alt.Data(values=drawn)).mark_rule(strokeWidth=1.2, opacity=0.75)
        layers.append(across.encode(x="privacy_low:Q", x2="privacy_high:Q", y=y, stroke=look["stroke"]))
        layers.append(across.encode(x=x, y="utility_low:Q", y2="utility_high:Q", stroke=look["stroke"]))
    layers.append(points)
    chosen = [row for row in rows if row["recommended"]]
    if chosen:
        layers += _ring(alt, chosen, x, y)
    chart = alt.layer(*layers).properties(width="container", height=440)
    return _plain(chart.add_params(alt.param(name="wordx", value=16), alt.param(name="wordy", value=-16)))


def _look(alt: Any, legend: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Colour, shape and filling by series; the page writes the legend itself, so that it can be read at any width."""

    def by_series(channel: Any, values: list[str]) -> Any:
        names = [entry["series"] for entry in legend]
        return channel("series:N", scale=alt.Scale(domain=names, range=values), legend=None)

    return {
        "stroke": by_series(alt.Stroke, [f"@{entry['colour']}" for entry in legend]),
        "fill": by_series(alt.Fill, ["transparent" if entry["hollow"] else f"@{entry['colour']}" for entry in legend]),
        "shape": by_series(alt.Shape, [entry["shape"] for entry in legend]),
    }


def _ring(alt: Any, chosen: list[dict[str, Any]], x: Any, y: Any) -> list[Any]:
    """A ring around the recommended release, and the word."""
    ring = alt.Chart(alt.Data(values=chosen)).encode(x=x, y=y)
    look = {"size": 420, "filled": False, "shape": "circle", "color": "@accent", "strokeWidth": 2.2, "opacity": 1}
    moved = {"dx": alt.ExprRef("wordx"), "dy": alt.ExprRef("wordy")}  # the page moves it to where it covers no mark
    word = ring.mark_text(align="left", baseline="middle", color="@accent", fontSize=13, fontWeight=600, **moved)
    return [
        ring.mark_point(**look).properties(name="ring"),
        word.encode(text=alt.value("recommended")).properties(name="chosen"),
    ]


def _title(axis: Mapping[str, Any]) -> str:
    arrow = "less is better" if axis["better"] == "less" else "more is better"
    unit = f", {axis['unit']}" if axis["unit"] else ""
    return f"{axis['words']}{unit} ({arrow})"


def _tooltip(story: Mapping[str, Any]) -> list[Any]:
    import altair as alt

    bound = [alt.Tooltip("bound_text:N", title="proved bound")] if story["bounds"] else []
    return [
        alt.Tooltip("label:N", title="Release"),
        alt.Tooltip("privacy_text:N", title=story["privacy"]["words"]),
        alt.Tooltip("utility_text:N", title=story["utility"]["words"]),
        *bound,
        alt.Tooltip("published:N", title="published"),
        alt.Tooltip("classes:Q", title="groups", format=","),
        alt.Tooltip("standing:N", title="standing"),
    ]


def _marks(story: Mapping[str, Any], alt: Any) -> list[Any]:
    """Reference marks: what a number on an axis means on this table."""
    layers = []
    for axis in ("privacy", "utility"):
        here = [mark for mark in story["references"] if mark["axis"] == axis and mark["number"] is not None]
        if not here:
            continue
        base = alt.Chart(alt.Data(values=here))
        place = {"x": "number:Q"} if axis == "privacy" else {"y": "number:Q"}
        rule = base.mark_rule(strokeDash=[3, 4], strokeWidth=1, color="@line").encode(
            **place, tooltip=["name:N", "text:N"]
        )
        if axis == "privacy":
            name = base.mark_text(angle=270, align="right", baseline="bottom", dx=-4, dy=-4, fontSize=11, color="@soft")
            name = name.encode(**place, y=alt.value(26), text="name:N")  # below the other axis' names
        else:
            name = base.mark_text(align="left", baseline="bottom", dy=-4, fontSize=11, color="@soft")
            name = name.encode(**place, x=alt.value(6), text="name:N")
        layers += [rule, name]
    return layers


def sizes_chart() -> dict[str, Any]:
    """Return bars of groups by size; the page gives each release's own rows."""
    import altair as alt

    bars = (
        alt.Chart(alt.NamedData(name="rows"))
        .mark_bar(cornerRadiusEnd=2, size=11, color="@c0")
        .encode(
            y=alt.Y("size:N", title="rows in a group", sort=None, axis=alt.Axis(ticks=False, labelPadding=6)),
            x=alt.X("groups:Q", title="groups", axis=alt.Axis(tickCount=4, format="~s", labelFlush=True)),
            tooltip=[
                alt.Tooltip("size:N", title="rows in a group"),
                alt.Tooltip("groups:Q", format=","),
                alt.Tooltip("rows:Q", title="rows in all", format=","),
            ],
        )
        .properties(width="container", height=alt.Step(18))
    )
    return _plain(bars)


def query_chart() -> dict[str, Any]:
    """Return the error of COUNT queries by selectivity; the page gives each release's own rows."""
    import altair as alt

    base = alt.Chart(alt.NamedData(name="rows")).encode(
        x=alt.X("selectivity:N", title="selectivity of the query", sort=None, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("error:Q", title="mean error, percent", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=4)),
        tooltip=[
            alt.Tooltip("selectivity:N"),
            alt.Tooltip("error:Q", title="mean error, percent", format=".3~f"),
            alt.Tooltip("median:Q", title="median error, percent", format=".3~f"),
            alt.Tooltip("queries:Q"),
        ],
    )
    layers = alt.layer(
        base.mark_line(color="@c0", strokeWidth=1.6),
        base.mark_point(filled=True, size=50, color="@c0", opacity=1),
    )
    return _plain(layers.properties(width="container", height=150))


def _plain(chart: Any) -> dict[str, Any]:
    """The specification without Altair's own theme: the page brings its own."""
    spec: dict[str, Any] = chart.to_dict()
    spec.pop("config", None)
    return spec


def size_rows(sizes: Sequence[Mapping[str, int]]) -> list[dict[str, Any]]:
    """Return the rows of the sizes chart with their names."""
    return [{**dict(one), "size": _range(one["low"], one["high"])} for one in sizes]


def _range(low: int, high: int) -> str:
    return f"{high:,}" if low == high else f"{low:,}-{high:,}"
