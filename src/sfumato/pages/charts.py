"""How releases are drawn: a colour for each method, a shape for each kind of release, and how far the axes reach."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

COLOURS = 10  # of the page's style
_SHAPES = {"generalized": "circle", "buckets": "square", "cells": "diamond", "synthetic": "triangle"}
_PATHS = {
    "circle": "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0",
    "square": "M-4.5,-4.5h9v9h-9z",
    "diamond": "M0,-6L5,0L0,6L-5,0z",
    "triangle": "M0,-5.5L5.5,4.5H-5.5z",
    "cross": "M-2,-5.5h4v3.5h3.5v4h-3.5v3.5h-4v-3.5h-3.5v-4h3.5z",
}
# Fixed, so that a method has its colour in every report, whatever else is compared. The requirement beside k decides.
_FIXED = {
    "Mondrian, k-anonymity": 0,
    "Mondrian, l-diversity": 8,
    "Mondrian, t-closeness": 6,
    "Mondrian, semantic privacy": 3,
    "Bucketize, l-diversity": 4,
    "Bucketize, t-closeness": 1,
    "DiffGen": 2,
    "NoisyTable": 9,
    "Marginals": 5,
    "Anatomy": 4,
    "TopDown": 7,
    "Suppress": 7,
    "Raw": 5,
}
_FAR, _KEPT = 2, 0.7  # a point is far where it is beyond this many times what this share of the points reaches


def colour_of(family: str) -> str:
    """Return the colour of a method, the same in every report.

    >>> colour_of("Mondrian, k-anonymity & t-closeness") == colour_of("Mondrian, t-closeness")
    True
    """
    method, _, kinds = family.partition(", ")
    parts = [kind for kind in kinds.split(" & ") if kind]
    rest = [kind for kind in parts if kind != "k-anonymity"] or parts
    name = f"{method}, {rest[0].partition(' (')[0]}" if rest else method
    place = _FIXED.get(name, _FIXED.get(method))
    return f"c{sum(name.encode()) % COLOURS if place is None else place}"


def shape_of(form: str) -> dict[str, str]:
    """Return the shape of a kind of release, by its name and as a path."""
    shape = _SHAPES.get(form, "cross")
    return {"shape": shape, "path": _PATHS[shape]}


def legend_of(contents: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one entry for each way a release is drawn: method, colour, shape, hollow or not, and what to mind."""
    found: dict[str, dict[str, Any]] = {}
    for row in contents["plotted"]:
        entry = {"family": row["family"], "published": row["published"], **shape_of(row["form"])}
        found.setdefault(row["series"], {**entry, "hollow": row["noisy"], "colour": colour_of(row["family"])})
    return [{"series": name, **entry} for name, entry in found.items()]


def reach(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis: 0 (or the smallest, if below) to the largest, unless a few are far beyond the rest.

    Those are drawn at the edge, so that the others can be distinguished.

    >>> reach([0.1, 0.2, 0.3, 0.5, 9.0])
    (0.0, 0.53)
    """
    known = sorted(value for value in values if math.isfinite(value))
    if not known:
        return 0.0, 1.0
    low = min(known[0], 0.0)
    rest = known[math.ceil(len(known) * _KEPT) - 1]
    near = [value for value in known if value <= _FAR * rest] if rest > 0 else known
    high = 1.06 * near[-1]
    return (1.06 * low, round(high, 12)) if high > low else (low, low + 1.0)


def size_rows(sizes: Sequence[Mapping[str, int]]) -> list[dict[str, Any]]:
    """Return the bars of the sizes of groups, with their names and lengths."""
    most = max((one["groups"] for one in sizes), default=1)
    return [
        {**dict(one), "size": _range(one["low"], one["high"]), "width": round(100 * one["groups"] / most, 1)}
        for one in sizes
    ]


def _range(low: int, high: int) -> str:
    return f"{high:,}" if low == high else f"{low:,}-{high:,}"
