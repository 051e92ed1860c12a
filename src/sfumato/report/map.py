"""The map page: one HTML file that asks the network for nothing. Prints what `commuting.map_data` found."""

from __future__ import annotations

import html
import json
import math
import os
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato.commuting.map_data import MapData
from sfumato.errors import ReleaseError
from sfumato.report.charts import javascript

__all__ = ["map_page", "write_map"]

_INK, _LAND, _LINE = "#24313a", "#f4f1ea", "#c9c2b4"
_WORK, _HOME = "#b5462b", "#1f6f8b"
_KINDS = {"synthetic": _HOME, "original": "#9a9384"}
_LISTED = 25  # destinations in the list beside the map
_MAP = 620  # pixels, width and height of the map

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline';
 script-src 'unsafe-inline' 'unsafe-eval'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light; }}
body {{ margin: 0 auto; max-width: 1180px; padding: 1.5rem 1.25rem 3rem; background: #fff; color: {ink};
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }}
h1 {{ font-size: 1.5rem; margin: 0 0 .25rem; }}
p {{ margin: .3rem 0; max-width: 75ch; }}
.claim {{ display: inline-block; background: #e7f1f4; border-radius: 4px; padding: .1rem .5rem; }}
.warning {{ background: #fbe9e4; border-left: 4px solid {work}; padding: .5rem .75rem; margin: .75rem 0; }}
#map {{ margin: 1rem 0; overflow-x: auto; }}
details {{ margin: .5rem 0; }}
summary {{ cursor: pointer; font-weight: 600; }}
footer {{ margin-top: 1.5rem; font-size: .85rem; color: #5c666d; }}
</style>
<script>{bundle}</script>
</head>
<body>
<h1>{title}</h1>
{warnings}
<p><span class="claim">{promise}</span></p>
<p>{what}</p>
<p>Click a red point on the map, or a bar in the list, to choose a destination. Blue points are where its synthetic
people live; a larger point is more people.</p>
<div id="map" role="img" aria-label="{what}"></div>
<details open><summary>What is promised</summary>{claim}</details>
<details><summary>Figures of the method, all from public numbers</summary>{notes}</details>
<footer>County shapes: us-atlas (ISC licence), from the US Census Bureau's cartographic boundaries. Blocks and tracts
are shown as points. This page is complete: it loads nothing from elsewhere.</footer>
<script>
vegaEmbed("#map", {spec}, {{actions: false, renderer: "svg"}}).then(function (shown) {{
  window.sfumatoView = shown.view;
}});
</script>
</body>
</html>
"""


def write_map(data: MapData, file: str | PathLike[str]) -> None:
    """Write the page; an existing file is not overwritten."""
    target = Path(file)
    text = map_page(data)
    mode = 0o600 if data.confidential else 0o644  # the steward's page is for the steward
    try:
        with os.fdopen(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "w", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise ReleaseError(f"{target.name} exists already", hint="name a new file") from None
    except OSError as error:
        raise ReleaseError(f"{target.name} can not be written ({error.strerror})", hint="check the folder") from None


def map_page(data: MapData) -> str:
    """Return the whole page as text."""
    where = "original beside synthetic" if data.confidential else "synthetic"
    few = f"the {len(data.destinations):,} largest of {data.total_destinations:,} destinations"
    shown = few if len(data.destinations) < data.total_destinations else f"all {data.total_destinations:,} destinations"
    people = f"{data.shown_people:,} of {data.total_people:,} people"
    what = f"Where the people of each destination live ({where}): {shown}, {people}."
    return _PAGE.format(
        title=html.escape(f"Commuting patterns: {data.title}"),
        ink=_INK,
        work=_WORK,
        bundle=javascript(),
        warnings=_warnings(data),
        promise=html.escape(data.promise),
        what=html.escape(what),
        claim="".join(f"<p>{html.escape(line)}</p>" for line in data.describes),
        notes="".join(f"<p>{html.escape(note)}.</p>" for note in data.notes),
        spec=json.dumps(_spec(data), separators=(",", ":")).replace("<", "\\u003c"),
    )


def _warnings(data: MapData) -> str:
    texts = []
    if data.confidential:
        texts.append(
            "<strong>For the steward only.</strong> The histograms compare with the original data and are "
            "confidential. Do not publish this page."
        )
    if data.rehearsal:
        texts.append("<strong>Rehearsal.</strong> Made with a known seed; it protects nobody.")
    return "".join(f'<p class="warning">{text}</p>' for text in texts)


def _spec(data: MapData) -> dict[str, Any]:
    """Return the Vega-Lite specification: map, list of destinations, two histograms, one linked selection.

    Rows are put in afterwards, as named data: Altair would check each of them against its schema.
    """
    import altair as alt

    pick = alt.selection_point(name="pick", fields=["destination"], empty=False, toggle=False, on="click")
    beside = alt.vconcat(_list(alt, data, pick), _bars(alt, data, pick), _bars(alt, data, None), spacing=18)
    chart = (
        alt.hconcat(_map(alt, data, pick), beside.resolve_scale(color="independent"), spacing=24)
        .configure_view(stroke=None)
        .configure_axis(labelColor=_INK, titleColor=_INK, grid=False, titleFontWeight="normal")
        .configure_title(anchor="start", color=_INK, fontSize=14)
        .configure_legend(labelColor=_INK, titleColor=_INK)
    )
    spec: dict[str, Any] = chart.to_dict()
    for layer in spec["hconcat"][0]["layer"]:
        if str(layer.get("name", "")).startswith("works"):
            layer["name"] = "works"  # Altair numbers the names of layers; the selection is asked for by this one
    first = data.destinations[0]["destination"] if data.destinations else ""
    spec["params"] = [
        {
            "name": "pick",
            "select": {"type": "point", "fields": ["destination"], "toggle": False, "on": "click"},
            "value": [{"destination": first}],
            "views": ["works", "list"],
        }
    ]
    spec["datasets"] = {
        "pairs": data.pairs,
        "origins": data.origins,
        "destinations": data.destinations,
        "listed": data.destinations[:_LISTED],
        "histogram": data.histogram,
    }
    return spec


def _projection(alt: Any, data: MapData) -> Any:
    """Return a Mercator projection that just holds the box of the points."""
    west, south, east, north = (math.radians(degrees) for degrees in data.box)

    def height(latitude: float) -> float:
        return math.log(math.tan(math.pi / 4 + latitude / 2))

    low, high = height(south), height(north)
    scale = _MAP / max(east - west, high - low, 1e-4)
    middle = 2 * math.atan(math.exp((low + high) / 2)) - math.pi / 2
    center = [math.degrees((west + east) / 2), math.degrees(middle)]
    return alt.Projection(type="mercator", scale=scale, center=center, translate=[_MAP / 2, _MAP / 2])


def _map(alt: Any, data: MapData, pick: Any) -> Any:
    counties = alt.Data(values=data.counties, format=alt.DataFormat(type="topojson", feature="counties"))
    land = alt.Chart(counties).mark_geoshape(fill=_LAND, stroke=_LINE, strokeWidth=0.8, clip=True).encode(
        tooltip=alt.Tooltip("properties.name:N", title="county")
    )  # fmt: skip
    homes = (
        alt.Chart(alt.NamedData("pairs"))
        .mark_circle(color=_HOME, opacity=0.55, clip=True)
        .transform_filter(pick)
        .transform_flatten(["at", "people"])
        .transform_lookup(
            lookup="at", from_=alt.LookupData(alt.NamedData("origins"), key="at", fields=["lat", "lon", "origin"])
        )
        .encode(
            longitude="lon:Q",
            latitude="lat:Q",
            size=alt.Size("people:Q", scale=alt.Scale(range=[14, 220]), legend=None),
            tooltip=[alt.Tooltip("origin:N"), alt.Tooltip("people:Q", title="synthetic people")],
        )
    )
    told = [alt.Tooltip("destination:N"), alt.Tooltip("people:Q", title="people (public)", format=",")]
    point = {"filled": True, "shape": "diamond", "color": _WORK, "clip": True}
    place = {"longitude": "lon:Q", "latitude": "lat:Q", "tooltip": told}
    works = (
        alt.Chart(alt.NamedData("destinations"), name="works")
        .mark_point(size=40, opacity=0.4, cursor="pointer", **point)
        .encode(**place)
    )
    chosen = (
        alt.Chart(alt.NamedData("destinations"))
        .mark_point(size=330, opacity=1, stroke="white", strokeWidth=1.5, **point)
        .transform_filter(pick)
        .encode(**place)
    )
    layers = alt.layer(land, homes, works, chosen)  # what can be clicked lies above
    return layers.properties(width=_MAP, height=_MAP, projection=_projection(alt, data))


def _list(alt: Any, data: MapData, pick: Any) -> Any:
    title = f"Largest destinations (people, public): {min(_LISTED, len(data.destinations))} of {len(data.destinations)}"
    return (
        alt.Chart(alt.NamedData("listed"), title=title, name="list")
        .mark_bar(cursor="pointer")
        .encode(
            y=alt.Y("destination:N", sort="-x", title=None, axis=alt.Axis(labelFontSize=9, ticks=False)),
            x=alt.X("people:Q", title=None),
            color=alt.condition(pick, alt.value(_WORK), alt.value("#dcb7ab")),
            tooltip=[alt.Tooltip("destination:N"), alt.Tooltip("people:Q", format=",")],
        )
        .properties(width=300, height=alt.Step(11))
    )


def _bars(alt: Any, data: MapData, pick: Any | None) -> Any:
    """Return the commute-distance histogram of the chosen destination, or of all destinations together."""
    kinds = [kind for kind in _KINDS if any(line["kind"] == kind for line in data.histogram)]
    title = "Commute distance, chosen destination" if pick is not None else "Commute distance, all destinations"
    chart = (
        alt.Chart(alt.NamedData("histogram"), title=title)
        .mark_bar()
        .encode(
            x=alt.X(
                "band:N",
                sort=list(data.bands),
                title="miles",
                scale=alt.Scale(domain=list(data.bands), paddingInner=0.25),
                axis=alt.Axis(labelAngle=0, labelFontSize=9),
            ),
            xOffset=alt.XOffset("kind:N", sort=kinds, scale=alt.Scale(domain=kinds)),
            y=alt.Y("people:Q", title="people"),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=[_KINDS[kind] for kind in kinds]),
                legend=alt.Legend(title=None, orient="top") if len(kinds) > 1 else None,
            ),
            tooltip=["kind:N", alt.Tooltip("band:N", title="miles"), alt.Tooltip("people:Q", format=",")],
        )
        .properties(width=330, height=110)
    )
    return chart.transform_filter(pick) if pick is not None else chart.transform_filter("datum.destination === 'all'")
