"""The map page: one HTML file that asks the network for nothing. Prints what `commuting.map_data` found."""

from __future__ import annotations

import math
from os import PathLike
from typing import Any

from sfumato.commuting.map_data import MapData
from sfumato.pages.page import embedded, javascript, rendered, template_text
from sfumato.release.atomic import NewFile
from sfumato.version import __version__

__all__ = ["map_page", "write_map"]

_WORK, _HOME = "@c1", "@c0"  # colours of the page's style, which knows light and dark
_KINDS = {"synthetic": _HOME, "original": "@line"}
_CHOSEN = "datum.destination === chosen"
_LISTED = 25  # destinations in the list beside the map
_MAP = 560  # pixels, width and height of the map; the page makes it smaller where there is less room
_AREAS = (16.0, 220.0)  # square pixels, of one person and of most people
_EARTH = 3958.8  # miles, radius
_LENGTHS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # miles, of the scale


def write_map(data: MapData, file: str | PathLike[str] | NewFile) -> None:
    """Write the page; an existing file is not overwritten, and the steward's page is for the steward alone."""
    text = map_page(data)
    target = file if isinstance(file, NewFile) else NewFile(file, option="map", confidential=data.confidential)
    with target.filled() as out:
        out.write(text.encode("utf-8"))


def map_page(data: MapData) -> str:
    """Return the whole page as text."""
    where = "original beside synthetic" if data.confidential else "synthetic"
    few = f"the {len(data.destinations):,} largest of {data.total_destinations:,} destinations"
    shown = few if len(data.destinations) < data.total_destinations else f"all {data.total_destinations:,} destinations"
    people = f"{data.shown_people:,} of {data.total_people:,} people"
    what = f"Where the people of each destination live ({where}): {shown}, {people}."
    return rendered(
        "map.html.j2",
        data=data,
        what=what,
        version=__version__,
        sizes=_sizes(data),
        listed=min(_LISTED, len(data.destinations)),
        style=template_text("page.css"),
        bundle=javascript(),
        fitting=template_text("map.js"),
        script=template_text("page.js"),
        charts=embedded(_held(data)),
    )


def _most(data: MapData) -> int:
    """People of the largest pair: the upper end of the scale of sizes, the same for every destination."""
    return max((people for line in data.pairs for people in line["people"]), default=0)


def _sizes(data: MapData) -> list[dict[str, Any]]:
    """Return the circles of the legend: one person, most people, and the middle."""
    most = _most(data)
    low, high = _AREAS
    shown = sorted({1, (1 + most) // 2, most} - {0}) if most else []
    areas = [low + (high - low) * (people - 1) / max(most - 1, 1) for people in shown]
    return [{"people": people, "radius": math.sqrt(area / math.pi)} for people, area in zip(shown, areas, strict=True)]


def _held(data: MapData) -> dict[str, Any]:
    """Return the four charts and their rows; the page lays them out and tells each which destination is chosen.

    Rows are put in by name: Altair would check each of them against its schema.
    """
    import altair as alt

    first = data.destinations[0]["destination"] if data.destinations else ""
    charts = {"map": _map(alt, data), "list": _list(alt, data), "one": _bars(alt, data), "all": _bars(alt, data)}
    specs: dict[str, Any] = {name: chart.to_dict() for name, chart in charts.items()}
    for spec in specs.values():
        spec.pop("config", None)
        spec["params"] = [{"name": "chosen", "value": first}]
    for layer in specs["map"]["layer"]:
        if str(layer.get("name", "")).startswith("works"):
            layer["name"] = "works"  # Altair numbers the names of layers
    specs["map"]["datasets"] = {"pairs": data.pairs, "origins": data.origins, "destinations": data.destinations}
    specs["one"]["transform"] = [{"filter": _CHOSEN}]
    rows = {
        "list": data.destinations[:_LISTED],
        "one": [line for line in data.histogram if line["destination"] != "all"],
        "all": [line for line in data.histogram if line["destination"] == "all"],
    }
    return {"charts": specs, "rows": {"map": rows}}


def _height(latitude: float) -> float:
    return math.log(math.tan(math.pi / 4 + latitude / 2))


def _pixels(data: MapData) -> float:
    """Pixels to a radian in a Mercator projection that just holds the box of the points."""
    west, south, east, north = (math.radians(degrees) for degrees in data.box)
    return _MAP / max(east - west, _height(north) - _height(south), 1e-4)


def _middle(data: MapData) -> float:
    """Latitude of the middle of the map, in radians."""
    _, south, _, north = (math.radians(degrees) for degrees in data.box)
    return 2 * math.atan(math.exp((_height(south) + _height(north)) / 2)) - math.pi / 2


def _projection(alt: Any, data: MapData) -> Any:
    center = [(data.box[0] + data.box[2]) / 2, math.degrees(_middle(data))]
    return alt.Projection(type="mercator", scale=_pixels(data), center=center, translate=[_MAP / 2, _MAP / 2])


def _scale(alt: Any, data: MapData) -> list[Any]:
    """A bar that is so many miles long in the middle of the map."""
    mile = _pixels(data) / (_EARTH * math.cos(_middle(data)))
    miles = max((length for length in _LENGTHS if length * mile <= _MAP / 4), default=_LENGTHS[0])
    base = alt.Chart(alt.Data(values=[{"miles": f"{miles:g} miles" if miles != 1 else "1 mile"}]))
    left, low = 14.0, _MAP - 14.0
    bar = base.mark_rule(strokeWidth=3, color="@ink").encode(
        x=alt.value(left), x2=alt.value(left + miles * mile), y=alt.value(low)
    )
    text = base.mark_text(align="left", baseline="bottom", dy=-6, color="@ink", fontSize=12).encode(
        x=alt.value(left), y=alt.value(low), text="miles:N"
    )
    return [bar.properties(name="scale_bar"), text.properties(name="scale_text")]


def _map(alt: Any, data: MapData) -> Any:
    counties = alt.Data(values=data.counties, format=alt.DataFormat(type="topojson", feature="counties"))
    shape = {"fill": "@wash", "stroke": "@line", "strokeWidth": 0.7, "strokeOpacity": 0.6, "clip": True}
    land = alt.Chart(counties).mark_geoshape(**shape).encode(tooltip=alt.Tooltip("properties.name:N", title="county"))
    areas = alt.Scale(domain=[1, max(_most(data), 2)], range=list(_AREAS), zero=False, nice=False)
    homes = (
        alt.Chart(alt.NamedData("pairs"))
        .mark_circle(color=_HOME, opacity=0.6, clip=True)
        .transform_filter(_CHOSEN)
        .transform_flatten(["at", "people"])
        .transform_lookup(
            lookup="at", from_=alt.LookupData(alt.NamedData("origins"), key="at", fields=["lat", "lon", "origin"])
        )
        .encode(
            longitude="lon:Q",
            latitude="lat:Q",
            size=alt.Size("people:Q", scale=areas, legend=None),
            tooltip=[alt.Tooltip("origin:N"), alt.Tooltip("people:Q", title="synthetic people")],
        )
    )
    told = [alt.Tooltip("destination:N"), alt.Tooltip("people:Q", title="people (public)", format=",")]
    point = {"filled": True, "shape": "diamond", "color": _WORK, "clip": True}
    place = {"longitude": "lon:Q", "latitude": "lat:Q", "tooltip": told}
    works = (
        alt.Chart(alt.NamedData("destinations"), name="works")
        .mark_point(size=40, opacity=0.45, cursor="pointer", **point)
        .encode(**place)
    )
    chosen = (
        alt.Chart(alt.NamedData("destinations"))
        .mark_point(size=330, opacity=1, stroke="@ink", strokeWidth=1.5, **point)
        .transform_filter(_CHOSEN)
        .encode(**place)
    )
    layers = alt.layer(land, homes, *_scale(alt, data), works, chosen)  # what can be clicked lies above
    return layers.properties(width=_MAP, height=_MAP, projection=_projection(alt, data))


def _list(alt: Any, data: MapData) -> Any:
    return (
        alt.Chart(alt.NamedData("rows"), name="list")
        .mark_bar(cursor="pointer", color=_WORK)
        .encode(
            y=alt.Y("destination:N", sort="-x", title=None, axis=alt.Axis(labelFontSize=10, ticks=False)),
            x=alt.X("people:Q", title="people (public)", axis=alt.Axis(tickCount=4)),
            opacity=alt.condition(_CHOSEN, alt.value(1), alt.value(0.45)),
            tooltip=[alt.Tooltip("destination:N"), alt.Tooltip("people:Q", format=",")],
        )
        .properties(width="container", height=alt.Step(14))
    )


def _bars(alt: Any, data: MapData) -> Any:
    """Return a commute-distance histogram."""
    kinds = [kind for kind in _KINDS if any(line["kind"] == kind for line in data.histogram)]
    return (
        alt.Chart(alt.NamedData("rows"))
        .mark_bar()
        .encode(
            y=alt.Y(
                "band:N",
                sort=list(data.bands),
                title="miles",
                scale=alt.Scale(domain=list(data.bands), paddingInner=0.25),
                axis=alt.Axis(ticks=False),
            ),
            yOffset=alt.YOffset("kind:N", sort=kinds, scale=alt.Scale(domain=kinds)),
            x=alt.X("people:Q", title="people", axis=alt.Axis(tickCount=4)),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=[_KINDS[kind] for kind in kinds]),
                legend=alt.Legend(title=None, orient="top", columns=2) if len(kinds) > 1 else None,
            ),
            tooltip=["kind:N", alt.Tooltip("band:N", title="miles"), alt.Tooltip("people:Q", format=",")],
        )
        .properties(width="container", height=150)
    )
