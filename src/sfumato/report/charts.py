"""Chart specifications, by Altair. Fonts and colours are the page's own: it fills in `@ink`, `@accent`, `@first`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

__all__ = ["frontier_chart", "javascript", "query_chart", "size_rows", "sizes_chart"]

_SHAPES = {"generalized": "circle", "buckets": "square", "cells": "diamond", "synthetic": "triangle-up"}


@cache
def javascript() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, taken from the installed vl-convert."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the stub knows no default
    return bundle.replace("</script", "<\\/script")


def frontier_chart(story: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scatter: points, spread, the efficient line, the bound apart, marks of the table, the choice."""
    import altair as alt

    rows: list[dict[str, Any]] = list(story["plotted"])
    x_title, y_title = (_title(story[axis]) for axis in ("privacy", "utility"))
    families = list(dict.fromkeys(row["family"] for row in rows))
    forms = list(dict.fromkeys(row["form"] for row in rows))
    x = alt.X("privacy:Q", title=x_title, scale=alt.Scale(nice=True, zero=True))
    y = alt.Y("utility:Q", title=y_title, scale=alt.Scale(nice=True, zero=True))
    colour = alt.Color("family:N", title="Method", sort=families, scale=alt.Scale(domain=families))
    shape = alt.Shape(
        "form:N", title="Form", scale=alt.Scale(domain=forms, range=[_SHAPES.get(form, "cross") for form in forms])
    )
    data = alt.Data(values=rows)
    points = (
        alt.Chart(data)
        .mark_point(filled=True, size=75)
        .encode(
            x=x,
            y=y,
            color=colour,
            shape=shape,
            opacity=alt.condition("datum.efficient", alt.value(1), alt.value(0.5)),
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
    if drawn:
        across = alt.Chart(alt.Data(values=drawn)).mark_rule(strokeWidth=1.2, opacity=0.75)
        layers.append(across.encode(x="privacy_low:Q", x2="privacy_high:Q", y=y, color=colour))
        layers.append(across.encode(x=x, y="utility_low:Q", y2="utility_high:Q", color=colour))
    bounds = [row for row in rows if row["bound"] is not None]
    if bounds:
        layers.append(
            alt.Chart(alt.Data(values=bounds))
            .mark_tick(orient="vertical", size=16, thickness=2)
            .encode(
                x="bound:Q",
                y=y,
                color=colour,
                tooltip=[
                    alt.Tooltip("label:N", title="Release"),
                    alt.Tooltip("bound_text:N", title="Proved bound (no measurement)"),
                ],
            )
            .properties(name="bounds")
        )
    layers.append(points)
    chosen = [row for row in rows if row["recommended"]]
    if chosen:
        ring = alt.Chart(alt.Data(values=chosen)).encode(x=x, y=y)
        layers.append(
            ring.mark_point(
                size=420, filled=False, shape="circle", color="@accent", strokeWidth=2.2, opacity=1
            ).properties(name="ring")
        )
        layers.append(
            ring.mark_text(align="left", dx=16, dy=-12, color="@accent", fontSize=13, fontWeight=600)
            .encode(text=alt.value("recommended"))
            .properties(name="chosen")
        )
    chart = alt.layer(*layers).properties(width="container", height=440)
    return _plain(chart)


def _title(axis: Mapping[str, Any]) -> str:
    arrow = "less is better" if axis["better"] == "less" else "more is better"
    unit = f", {axis['unit']}" if axis["unit"] else ""
    return f"{axis['words']}{unit} ({arrow})"


def _tooltip(story: Mapping[str, Any]) -> list[Any]:
    import altair as alt

    return [
        alt.Tooltip("label:N", title="Release"),
        alt.Tooltip("privacy_text:N", title=story["privacy"]["words"]),
        alt.Tooltip("utility_text:N", title=story["utility"]["words"]),
        alt.Tooltip("bound_text:N", title="proved bound"),
        alt.Tooltip("classes:Q", title="classes", format=","),
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
            name = name.encode(**place, y=alt.value(0), text="name:N")
        else:
            name = base.mark_text(align="center", baseline="bottom", dy=-4, fontSize=11, color="@soft")
            name = name.encode(**place, x=alt.value(alt.expr("width * 0.36")), text="name:N")
        layers += [rule, name]
    return layers


def sizes_chart() -> dict[str, Any]:
    """Return bars of groups by size; the page gives each release's own rows."""
    import altair as alt

    bars = (
        alt.Chart(alt.NamedData(name="rows"))
        .mark_bar(cornerRadiusEnd=2, size=22, color="@first")
        .encode(
            x=alt.X("size:N", title="rows in a group", sort=None, axis=alt.Axis(labelAngle=0, labelOverlap=True)),
            y=alt.Y("groups:Q", title="groups", axis=alt.Axis(tickCount=4, format="~s")),
            tooltip=[
                alt.Tooltip("size:N", title="rows in a group"),
                alt.Tooltip("groups:Q", format=","),
                alt.Tooltip("rows:Q", title="rows in all", format=","),
            ],
        )
        .properties(width="container", height=150)
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
        base.mark_line(color="@first", strokeWidth=1.6),
        base.mark_point(filled=True, size=50, color="@first", opacity=1),
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
