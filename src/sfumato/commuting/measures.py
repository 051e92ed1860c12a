"""How well synthetic commuting patterns keep the real ones: distances, short commutes, false pairs, regional flows.

Source    Machanavajjhala et al., ICDE 2008, sec. VI: average commute distance by destination (figures 1-4).
Claim     Each figure is the stated average or share over all rows of the original and of the release, exactly as
          counted; rows whose origin is `elsewhere` have no distance and are left out of distances on both sides.
Because   averages are sums of count times distance over sums of counts, by destination.
Checked   tests/unit/commuting/test_commuting_measures.py::test_average_distances_by_hand
          tests/unit/commuting/test_commuting_measures.py::test_false_pairs_and_regional_flows_by_hand
Silent on privacy; every figure against the original is a statistic of it, hence confidential.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Floats, Ints
from sfumato.commuting.synthesize import Synthesize, laws_for
from sfumato.counts import Table
from sfumato.errors import NotComparable
from sfumato.measures.base import Measured
from sfumato.release import Release
from sfumato.schema import Schema

Pairs = tuple[Ints, Ints, Ints]
_WITHIN = 0.1


class Places(Protocol):
    """Public distances between codes, NaN where an origin has no place."""

    def miles(self, destinations: Ints, origins: Ints) -> Floats:
        """Return the distance of each pair of codes."""
        ...


def pairs_of(flows: Table | Release | Pairs) -> Pairs:
    """Return (destination, origin, people) of a table, of a release, or as given."""
    if isinstance(flows, tuple):
        return flows
    if isinstance(flows, Table):
        counts = flows.counts(("destination", "origin"))
        codes = counts.codes.astype(np.int64)
        return codes[:, 0], codes[:, 1], counts.weights
    names = [attribute.name for attribute in flows.quasi]
    if {"destination", "origin"} - set(names):
        raise NotComparable("the release has no destination and origin.")
    low = flows.boxes.low
    return low[:, names.index("destination")], low[:, names.index("origin")], flows.boxes.weight


@dataclass(frozen=True, eq=False)
class CommuteDistances:
    """Average commute distance by destination, original beside synthetic; NaN where nobody counts. Confidential."""

    destinations: Ints
    _: KW_ONLY
    people: Ints
    original: Floats
    synthetic: Floats

    @property
    def error(self) -> Floats:
        """(synthetic - original) / original, by destination."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return (self.synthetic - self.original) / self.original

    def by_size(self, edges: Sequence[int] = (1, 5, 10, 20, 50, 200)) -> list[dict[str, Any]]:
        """Return one line for each size of destination: averages, median error and the share within 10 %.

        All but the number of `destinations` are of those `compared`: with an original average above 0 and a synthetic.
        """
        lines = []
        for low, high in zip(edges, [*edges[1:], None], strict=True):
            inside = (self.people >= low) & ((self.people < high) if high is not None else True)
            usable = inside & np.isfinite(self.error)
            error = np.abs(self.error[usable])
            lines.append(
                {
                    "from": low,
                    "below": high,
                    "destinations": int(inside.sum()),
                    "compared": int(usable.sum()),
                    "original": _mean(self.original[usable]),
                    "synthetic": _mean(self.synthetic[usable]),
                    "median_error": float(np.median(error)) if error.size else None,
                    "within_10_percent": _mean(error <= _WITHIN),
                    "bias": _ratio(self.synthetic[usable], self.original[usable], self.people[usable]),
                }
            )
        return lines

    def measured(self) -> Measured:
        """Return the median relative error over destinations; `left_out` of these have none."""
        error = np.abs(self.error[np.isfinite(self.error)])
        return Measured(
            float(np.median(error)) if error.size else float("nan"),
            unit="share",
            formula="median of |synthetic - original| / original average commute distance, over destinations whose "
            "original average is above 0 and whose synthetic one is known",
            details={"by_size": self.by_size(), "left_out": int(self.error.size - error.size)},
        )


def commute_distances(
    original: Table | Pairs, release: Release | Pairs, places: Places, *, shorter_than: float | None = None
) -> CommuteDistances:
    """Return average commute distances of every destination of the original.

    `shorter_than` looks at short commutes only (figures 2 and 4): below a public distance such as the public median.
    """
    real, drawn = pairs_of(original), pairs_of(release)
    destinations, n = _totals(real)
    return CommuteDistances(
        destinations,
        people=n,
        original=_average(real, destinations, places, shorter_than),
        synthetic=_average(drawn, destinations, places, shorter_than),
    )


def distance_shares(
    original: Table | Pairs, release: Release | Pairs, places: Places, bands: Sequence[float]
) -> dict[str, list[float]]:
    """Return the share of rows in each distance band, beyond the last and `elsewhere`, for both."""
    edges = np.asarray(bands, dtype=np.float64)
    result = {}
    for name, flows in (("original", original), ("synthetic", release)):
        where, origin, people = pairs_of(flows)
        miles = places.miles(where, origin)
        band = np.where(np.isnan(miles), edges.size + 1, np.searchsorted(edges, miles))
        shares = np.bincount(band, weights=people, minlength=edges.size + 2)
        result[name] = (shares / max(shares.sum(), 1)).tolist()
    return result


def fictitious_people(original: Table | Pairs, release: Release | Pairs) -> Measured:
    """Return the share of synthetic rows on pairs that the original does not have."""
    real, drawn = pairs_of(original), pairs_of(release)
    size = int(max(real[1].max(initial=0), drawn[1].max(initial=0))) + 1
    false = ~np.isin(drawn[0] * size + drawn[1], real[0] * size + real[1])
    people = int(drawn[2].sum())
    return Measured(
        float(drawn[2][false].sum() / people) if people else 0.0,
        unit="share",
        formula="synthetic rows whose (destination, origin) no row of the original has / synthetic rows",
        details={"pairs": float(false.mean()) if false.size else 0.0},
    )


def regional_flows(
    original: Table | Pairs, release: Release | Pairs, region_of_destination: Ints, region_of_origin: Ints
) -> Measured:
    """Return the total variation distance between the flows of public regions."""
    size = int(region_of_origin.max()) + 1
    found = []
    for flows in (original, release):
        where, origin, people = pairs_of(flows)
        keys = region_of_destination[where] * size + region_of_origin[origin]
        found.append((keys, people))
    every = np.unique(np.concatenate([keys for keys, _ in found]))
    shares = []
    for keys, people in found:
        flow = np.bincount(np.searchsorted(every, keys), weights=people, minlength=every.size)
        shares.append(flow / max(flow.sum(), 1.0))
    return Measured(
        float(np.abs(shares[0] - shares[1]).sum() / 2),
        unit="share",
        formula="1/2 sum over pairs of regions of |share of the synthetic flow - share of the original flow|",
        details={"pairs_of_regions": int(every.size)},
    )


def prior_people(mechanism: Synthesize, schema: Schema, destinations: Ints, n: Ints) -> Measured:
    """Return how many rows the prior adds to a destination on average, before and after shrinking. Public."""
    asked, origins = mechanism.asked, schema[mechanism.origin].size
    groups = mechanism.prior.groups(destinations)
    before, after, cells = np.zeros(n.size), np.zeros(n.size), np.zeros(n.size, dtype=np.int64)
    for group in np.unique(groups).tolist():
        members = np.flatnonzero(groups == group)
        view = mechanism.prior.cells(group, origins)
        laws, kinds = laws_for(view, n[members], asked)
        before[members] = np.array([float(law.added) for law in laws])[kinds]
        after[members] = np.array([float(law.added_after) for law in laws])[kinds]
        cells[members] = view.k
    return Measured(
        float(before.mean()) if n.size else 0.0,
        unit="rows",
        formula="mean over destinations of |alpha|, the prior sample size",
        confidential=False,
        details={
            "after_shrinking": float(after.mean()) if n.size else 0.0,
            "cells": [int(cells.min()), int(cells.max())] if n.size else [0, 0],
        },
    )


def _totals(pairs: Pairs) -> tuple[Ints, Ints]:
    destinations, at = np.unique(pairs[0], return_inverse=True)
    return destinations, np.bincount(at.reshape(-1), weights=pairs[2], minlength=destinations.size).astype(np.int64)


def _average(pairs: Pairs, destinations: Ints, places: Places, shorter_than: float | None) -> Floats:
    where, origin, people = pairs
    miles = places.miles(where, origin)
    use = np.isfinite(miles) & np.isin(where, destinations)
    if shorter_than is not None:
        use &= np.nan_to_num(miles, nan=np.inf) < shorter_than
    at = np.searchsorted(destinations, where[use])
    many = np.bincount(at, weights=people[use], minlength=destinations.size)
    total = np.bincount(at, weights=people[use] * miles[use], minlength=destinations.size)
    return np.where(many > 0, total / np.maximum(many, 1), np.nan)


def _mean(values: NDArray[Any]) -> float | None:
    return float(np.mean(values)) if values.size else None


def _ratio(synthetic: Floats, original: Floats, people: Ints) -> float | None:
    """Mean synthetic distance over mean original distance, weighted by people, minus 1."""
    base = float((original * people).sum())
    return float((synthetic * people).sum() / base - 1) if base else None
