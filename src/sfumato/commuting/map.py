"""The map page: one HTML file that asks the network for nothing. Prints what `commuting.map_data` found."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Ints
from sfumato.commuting.flows import Flows, counted
from sfumato.commuting.geography import Geography
from sfumato.commuting.measures import Pairs, pairs_of
from sfumato.commuting.synthesize import Synthesize
from sfumato.exact import whole
from sfumato.pages.page import embedded, javascript, page_style, rendered, template_text
from sfumato.release import Release
from sfumato.release.atomic import NewFile
from sfumato.version import __version__

_WORK, _HOME = "@c1", "@c0"  # colours of the page's style, which knows light and dark
_KINDS = {"synthetic": _HOME, "original": "@line"}
_CHOSEN = "datum.destination === chosen"
_LISTED = 25  # destinations in the list beside the map
_MAP = 560  # pixels, width and height of the map; the page makes it smaller where there is less space
_AREAS = (16.0, 220.0)  # square pixels, of one row and of most rows
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
    rows = f"{data.shown_rows:,} of {data.total_rows:,} {data.counted}"
    what = f"Homes of each destination ({where}): {shown}, {rows}."
    return rendered(
        "map.html.j2",
        data=data,
        what=what,
        version=__version__,
        sizes=_sizes(data),
        prior="" if data.prior is None else of_homes(data.prior, at_most=data.prior_at_most),
        named=[
            {"destination": one["destination"], "name": one["name"], "prior": one.get("prior", "")}
            for one in data.destinations
        ],
        listed=min(_LISTED, len(data.destinations)),
        style=page_style(),
        bundle=javascript(),
        fitting=template_text("map.js"),
        script=template_text("page.js"),
        charts=embedded(_held(data)),
    )


def _most(data: MapData) -> int:
    """Rows of the largest pair: the upper end of the scale of sizes, the same for every destination."""
    return max((people for line in data.pairs for people in line["people"]), default=0)


def _sizes(data: MapData) -> list[dict[str, Any]]:
    """Return the circles of the legend: one row, most rows, and the middle."""
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
    specs["map"]["params"] += [
        {"name": "zoom", "value": 1},
        {"name": "east", "value": 0},
        {"name": "south", "value": 0},
    ]
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
    """A bar of the map's scale, correct in the middle of the map."""
    mile = _pixels(data) / (_EARTH * math.cos(_middle(data)))
    miles = max((length for length in _LENGTHS if length * mile <= _MAP / 4), default=_LENGTHS[0])
    text = "format(datum.length / zoom, '.2~g') + (datum.length / zoom == 1 ? ' mile' : ' miles')"
    base = alt.Chart(alt.Data(values=[{"length": miles}])).transform_calculate(miles=text)
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
            tooltip=[alt.Tooltip("origin:N"), alt.Tooltip("people:Q", title=f"synthetic {data.counted}")],
        )
    )
    tooltips = [
        alt.Tooltip("name:N", title="destination"),
        alt.Tooltip("people:Q", title=f"{data.counted} (public)", format=","),
    ]
    tooltips += [alt.Tooltip("prior:N", title="drawn from the prior")] if data.prior is not None else []
    point = {"filled": True, "shape": "diamond", "color": _WORK, "clip": True}
    place = {"longitude": "lon:Q", "latitude": "lat:Q", "tooltip": tooltips}
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
            y=alt.Y("name:N", sort="-x", title=None, axis=alt.Axis(labelFontSize=10, ticks=False, labelLimit=220)),
            x=alt.X("people:Q", title=f"{data.counted} (public)", axis=alt.Axis(tickCount=4)),
            opacity=alt.condition(_CHOSEN, alt.value(1), alt.value(0.45)),
            tooltip=[
                alt.Tooltip("name:N", title="destination"),
                alt.Tooltip("people:Q", title=data.counted, format=","),
            ],
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
            x=alt.X("people:Q", title=data.counted, axis=alt.Axis(tickCount=4)),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=[_KINDS[kind] for kind in kinds]),
                legend=alt.Legend(title=None, orient="top", columns=2) if len(kinds) > 1 else None,
            ),
            tooltip=[
                "kind:N",
                alt.Tooltip("band:N", title="miles"),
                alt.Tooltip("people:Q", title=data.counted, format=","),
            ],
        )
        .properties(width="container", height=150)
    )


# What a map page shows: synthetic pairs of the largest destinations, points, county shapes, distance histograms.
#
# The public variant is a function of the release and the geography. Only with `original`, the steward's flows, does it
# hold anything else, and then it is marked confidential.

# County shapes of the United States, cut to the part a map shows. Data of the npm package us-atlas (see NOTICE).

_FILE = Path(__file__).parent / "data" / "us_counties.topo.json.gz"
Box = tuple[float, float, float, float]


@cache
def _atlas() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(gzip.decompress(_FILE.read_bytes()))
    return data


@cache
def _arc_boxes() -> NDArray[np.float64]:
    """The box of each arc in degrees: west, south, east, north."""
    atlas = _atlas()
    scale, move = np.array(atlas["transform"]["scale"]), np.array(atlas["transform"]["translate"])
    boxes = np.empty((len(atlas["arcs"]), 4))
    for at, arc in enumerate(atlas["arcs"]):
        points = np.cumsum(np.array(arc), axis=0) * scale + move
        boxes[at] = [*points.min(axis=0), *points.max(axis=0)]
    return boxes


def _arcs(nested: Any) -> Iterator[int]:
    """Arc numbers of a geometry; ~i is arc i backwards."""
    if isinstance(nested, int):
        yield nested if nested >= 0 else ~nested
        return
    for part in nested:
        yield from _arcs(part)


def _renumbered(nested: Any, number: dict[int, int]) -> Any:
    if isinstance(nested, int):
        return number[nested] if nested >= 0 else ~number[~nested]
    return [_renumbered(part, number) for part in nested]


def county_shapes(box: Box) -> dict[str, Any]:
    """Return a TopoJSON of the counties that touch a box (west, south, east, north in degrees)."""
    atlas, boxes = _atlas(), _arc_boxes()
    west, south, east, north = box
    kept, used = [], set()
    for shape in atlas["objects"]["counties"]["geometries"]:
        arcs = sorted(set(_arcs(shape.get("arcs", []))))
        if not arcs:
            continue
        low, high = boxes[arcs][:, :2].min(axis=0), boxes[arcs][:, 2:].max(axis=0)
        if low[0] <= east and high[0] >= west and low[1] <= north and high[1] >= south:
            kept.append(shape)
            used.update(arcs)
    number = {arc: at for at, arc in enumerate(sorted(used))}
    shapes = [{**shape, "arcs": _renumbered(shape["arcs"], number)} for shape in kept]
    return {
        "type": "Topology",
        "transform": atlas["transform"],
        "objects": {"counties": {"type": "GeometryCollection", "geometries": shapes}},
        "arcs": [atlas["arcs"][arc] for arc in sorted(used)],
    }


BANDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
_NAMES = ("0-1", "1-2", "2-5", "5-10", "10-20", "20-50", "50+", "elsewhere")
_MARGIN = 0.04  # of the width, around the points
_REACH = 0.995  # share of the points that the map must hold


@dataclass(frozen=True)
class MapData:
    """Plain lists and mappings, ready for a page."""

    title: str
    _: KW_ONLY
    promise: str
    describes: tuple[str, ...]
    notes: tuple[str, ...]
    confidential: bool
    rehearsal: bool
    total_destinations: int
    total_rows: int
    shown_rows: int
    counted: str  # what rows are: jobs, or people where each has one
    counties: dict[str, Any] = field(repr=False)
    destinations: list[dict[str, Any]] = field(repr=False)
    origins: list[dict[str, Any]] = field(repr=False)
    pairs: list[dict[str, Any]] = field(repr=False)
    prior: float | None  # share of all origins that are drawn from the prior, where the method states it
    prior_at_most: bool  # the prior is shrunk: the shares are the largest there can be
    histogram: list[dict[str, Any]] = field(repr=False)
    box: tuple[float, float, float, float]  # west, south, east, north of what is shown
    bands: tuple[str, ...]


def map_data(
    release: Release,
    geography: Geography,
    *,
    original: Flows | None = None,
    most: int = 150_000,
    method: Synthesize | None = None,
) -> MapData:
    """Return what the map shows: the largest destinations, as many as have `most` pairs together.

    With `method`, the one the release was made by, also how many origins come from its prior: from public numbers.

    With `original` the distance histograms of the confidential flows stand beside the synthetic ones: the steward's
    variant, which must not be published.
    """
    drawn = pairs_of(release)
    shown, totals = _largest(drawn, whole("most", most, least=1))
    inside = np.isin(drawn[0], shown)
    where, origin, people = (column[inside] for column in drawn)
    placed = origin < len(geography)
    points = np.unique(origin[placed])
    box = _box(geography, np.union1d(points, shown))
    sources = {"synthetic": drawn}
    if original is not None:
        sources["original"] = original.pairs
    histogram = [line for kind, pairs in sources.items() for line in _histogram(kind, pairs, shown, geography)]
    used = {line["order"] for line in histogram}
    share: dict[int, float] = {}
    at_most = method is not None and method.shrinks
    if method is not None and totals:
        everywhere = np.array(list(totals), dtype=np.int64)
        many = np.array(list(totals.values()), dtype=np.int64)
        share = dict(zip(everywhere.tolist(), method.prior_shares(release.schema, everywhere, many), strict=True))
    return MapData(
        release.schema.name,
        promise=str(release.claim.promise),
        describes=tuple(release.claim.describe().splitlines()),
        notes=release.notes,
        confidential=original is not None,
        rehearsal=release.claim.rehearsal,
        total_destinations=len(totals),
        total_rows=int(drawn[2].sum()),
        shown_rows=int(people.sum()),
        counted=counted(release.claim.unit, release.schema.rows_per_person),
        counties=county_shapes(box),
        box=box,
        destinations=[
            {
                "destination": geography.codes[d],
                "name": geography.named(int(d)),
                "people": int(totals[int(d)]),
                **({"prior": of_homes(share[int(d)], at_most=at_most)} if share else {}),
                **_point(geography, d),
            }
            for d in shown
        ],
        origins=[{"at": int(o), "origin": geography.named(int(o)), **_point(geography, o)} for o in points],
        prior=sum(share[d] * totals[d] for d in totals) / max(sum(totals.values()), 1) if share else None,
        prior_at_most=at_most,
        pairs=_lists(geography, where[placed], origin[placed], people[placed]),
        histogram=histogram,
        bands=tuple(name for at, name in enumerate(_NAMES) if at in used),
    )


def of_homes(share: float, *, at_most: bool = False) -> str:
    """Say how many homes come from the prior; `at_most`: the share is an upper bound, and is rounded up.

    >>> of_homes(0.884), of_homes(0.051), of_homes(0.004), of_homes(0.996)
    ('88 of 100 homes', '5 of 100 homes', 'fewer than 1 in 100 homes', 'nearly all homes')
    >>> of_homes(0.312, at_most=True)
    'at most 32 of 100 homes'
    """
    if share < 0.01:
        return "fewer than 1 in 100 homes"
    if at_most:
        return f"at most {math.ceil(100 * share)} of 100 homes"
    if share > 0.99:
        return "nearly all homes"
    return f"{round(100 * share)} of 100 homes"


def _largest(pairs: Pairs, most: int) -> tuple[Ints, dict[int, int]]:
    """Return the destinations with most people (totals are public) whose pairs fit, and all totals."""
    destinations, at = np.unique(pairs[0], return_inverse=True)
    people = np.bincount(at.reshape(-1), weights=pairs[2], minlength=destinations.size).astype(np.int64)
    many = np.bincount(at.reshape(-1), minlength=destinations.size)
    order = np.lexsort((destinations, -people))
    fits = max(1, int(np.searchsorted(np.cumsum(many[order]), most, side="right"))) if order.size else 0
    return destinations[order[:fits]], dict(zip(destinations.tolist(), people.tolist(), strict=True))


def _lists(geography: Geography, where: Ints, origin: Ints, people: Ints) -> list[dict[str, Any]]:
    """One line for each destination, its origins and people as lists: a fifth of the size of one line for each pair."""
    order = np.argsort(where, kind="stable")
    destinations, starts = np.unique(where[order], return_index=True)
    ends = [*starts[1:].tolist(), where.size]
    return [
        {
            "destination": geography.codes[d],
            "at": origin[order[low:high]].tolist(),
            "people": people[order[low:high]].tolist(),
        }
        for d, low, high in zip(destinations.tolist(), starts.tolist(), ends, strict=True)
    ]


def _point(geography: Geography, code: Any) -> dict[str, float]:
    at = int(code)
    return {"lat": round(float(geography.latitude[at]), 5), "lon": round(float(geography.longitude[at]), 5)}


def _box(geography: Geography, codes: Ints) -> tuple[float, float, float, float]:
    """Return the box of nearly all points: one far place would make the map useless."""
    if not codes.size:
        return (0.0, 0.0, 0.0, 0.0)
    low, high = (1 - _REACH) / 2, (1 + _REACH) / 2
    west, east = np.quantile(geography.longitude[codes], [low, high])
    south, north = np.quantile(geography.latitude[codes], [low, high])
    edge = _MARGIN * max(float(east - west), float(north - south), 0.1)
    return float(west) - edge, float(south) - edge, float(east) + edge, float(north) + edge


def _histogram(kind: str, pairs: Pairs, shown: Ints, geography: Geography) -> list[dict[str, Any]]:
    """People by distance band, for each shown destination and for all destinations together ("all")."""
    where, origin, people = pairs
    miles = geography.miles(where, origin)
    band = np.where(np.isnan(miles), len(BANDS) + 1, np.searchsorted(np.asarray(BANDS), miles, side="right"))
    lines = []
    overall = np.bincount(band, weights=people, minlength=len(_NAMES)).astype(np.int64)
    lines += [_line("all", at, kind, many) for at, many in enumerate(overall.tolist()) if many]
    order = np.sort(shown)
    inside = np.flatnonzero(np.isin(where, order))
    keys = np.searchsorted(order, where[inside]) * len(_NAMES) + band[inside]
    each = np.bincount(keys, weights=people[inside], minlength=order.size * len(_NAMES)).astype(np.int64)
    for key in np.flatnonzero(each).tolist():
        lines.append(_line(geography.codes[order[key // len(_NAMES)]], key % len(_NAMES), kind, int(each[key])))
    return lines


def _line(destination: str, band: int, kind: str, people: int) -> dict[str, Any]:
    return {"destination": destination, "band": _NAMES[band], "order": band, "kind": kind, "people": people}
