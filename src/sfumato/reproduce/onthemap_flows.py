"""The two experiments of section VI on flows that are at hand: generated ones, or LODES files in a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.commuting import Flows, Geography, Shape, read_flows
from sfumato.datasets import commuting
from sfumato.errors import ParameterError
from sfumato.measures.commuting import commute_distances, prior_people
from sfumato.mechanisms import Synthesize
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.reproduce.figures import Settings

__all__ = ["LIMITS", "SHORT", "drawn"]

SHORT = 6.23  # miles: the median commute of the CTPP, as printed
LIMITS = {"generated": (200, 100), "LODES": (60, 30)}
_BANDS = (6.23, 13.1, 21.54)  # quartiles and the ninth decile, as printed
_KEEP = ("1", "0.5", "0.2", "0.0378")
_DESTINATIONS = 480  # the paper draws 120; with so few, some verdicts changed with the seed


def drawn(settings: Settings) -> Callable[[int], dict[str, Any]]:
    """Return a function that runs experiment 1 or 2 (0 or 1): average distances by destination."""
    kind = "generated" if settings.data is None else "LODES"
    flows = _generated(settings) if settings.data is None else _lodes(Path(settings.data))
    every, _ = flows.sizes()
    wanted = min(settings.pick(full=_DESTINATIONS, quick=_DESTINATIONS, tiny=12), len(every))
    order = Entropy.seeded(settings.seed).child("destinations").permutation(len(every))
    part = flows.only(np.sort(every[order[:wanted]]))

    def experiment(at: int) -> dict[str, Any]:
        shape = Shape(flows.geography, by="tract", bands=_BANDS, keep=_KEEP, max_distance=LIMITS[kind][at])
        mechanism = Synthesize("4.6", "1e-5", prior=shape)
        release = run(mechanism, gather(mechanism, part.table), Entropy.seeded(settings.seed).child(f"draw {at}"))
        found: dict[str, Any] = {"kind": kind, "claim": str(mechanism.claim(part.schema).promise)}
        for name, short in (("all", None), ("short", SHORT)):
            known = commute_distances(_within(part, LIMITS[kind][at]), release, flows.geography, shorter_than=short)
            both = np.isfinite(known.original) & np.isfinite(known.synthetic)
            found[name] = {
                "people": known.people[both].tolist(),
                "original": known.original[both].tolist(),
                "synthetic": known.synthetic[both].tolist(),
            }
        added = prior_people(mechanism, part.schema, *part.sizes())
        found["added"] = {"before": added.value, "after": added.details["after_shrinking"]}
        return found

    return experiment


def _within(part: Flows, limit: float) -> tuple[Any, Any, Any]:
    """Flows without pairs farther apart than the limit: the paper suppresses them on both sides."""
    where, origin, people = part.pairs
    near = np.nan_to_num(part.geography.miles(where, origin), nan=np.inf) <= limit
    return where[near], origin[near], people[near]


def _generated(settings: Settings) -> Flows:
    blocks, jobs = settings.pick(full=(233_726, 1_155_000), quick=(20_000, 100_000), tiny=(600, 3000))
    made = commuting(blocks, jobs, settings.seed, across=400.0)
    return read_flows(made.flows, Geography.read(made.geography))


def _lodes(folder: Path) -> Flows:
    """The main origin-destination file and the crosswalk of one state."""
    if not folder.is_dir():
        raise ParameterError(
            "data", folder.name, "must be a folder", hint="it holds *_od_main_*.csv.gz and *xwalk*.csv.gz"
        )
    flows, places = sorted(folder.glob("*od_main*")), sorted(folder.glob("*xwalk*"))
    if not flows or not places:
        raise ParameterError("data", folder.name, "must hold *_od_main_*.csv.gz and *xwalk*.csv.gz")
    return read_flows(str(flows[0]), Geography.read(str(places[0])))
