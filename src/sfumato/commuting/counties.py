"""County shapes of the United States, cut to the part a map shows. Data of the npm package us-atlas (see NOTICE)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["county_shapes"]

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
