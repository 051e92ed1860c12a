"""What a map page shows: synthetic pairs of the largest destinations, points, county shapes, distance histograms.

The public variant is a function of the release and the geography. Only with `original`, the steward's flows, does it
hold anything else, and then it is marked confidential.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.claims.exact import whole
from sfumato.commuting.flows import Flows
from sfumato.commuting.geography import Geography
from sfumato.commuting.measures import Pairs, pairs_of
from sfumato.release import Release

__all__ = ["BANDS", "MapData", "county_shapes", "map_data"]


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


Ints = NDArray[np.int64]
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
    total_people: int
    shown_people: int
    counties: dict[str, Any] = field(repr=False)
    destinations: list[dict[str, Any]] = field(repr=False)
    origins: list[dict[str, Any]] = field(repr=False)
    pairs: list[dict[str, Any]] = field(repr=False)
    histogram: list[dict[str, Any]] = field(repr=False)
    box: tuple[float, float, float, float]  # west, south, east, north of what is shown
    bands: tuple[str, ...]


def map_data(release: Release, geography: Geography, *, original: Flows | None = None, most: int = 150_000) -> MapData:
    """Return what the map shows: the largest destinations, as many as have `most` pairs together.

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
    return MapData(
        release.schema.name,
        promise=str(release.claim.promise),
        describes=tuple(release.claim.describe().splitlines()),
        notes=release.notes,
        confidential=original is not None,
        rehearsal=release.claim.rehearsal,
        total_destinations=len(totals),
        total_people=int(drawn[2].sum()),
        shown_people=int(people.sum()),
        counties=county_shapes(box),
        box=box,
        destinations=[
            {"destination": geography.codes[d], "people": int(totals[int(d)]), **_point(geography, d)} for d in shown
        ],
        origins=[{"at": int(o), "origin": geography.codes[o], **_point(geography, o)} for o in points],
        pairs=_lists(geography, where[placed], origin[placed], people[placed]),
        histogram=histogram,
        bands=tuple(name for at, name in enumerate(_NAMES) if at in used),
    )


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
