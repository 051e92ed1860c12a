"""The papers' own grids, and one to begin with.

Source    Li & Li, KDD 2009, section 5.1 (figure 2: k, l, t and delta; 2(b): buckets under l and t);
          Mohammed, Chen, Fung & Yu, KDD 2011, section 5 (figure 3: epsilon and number of specializations).
Claim     `tradeoff` holds the 32 generalizations of figure 2(a), `tradeoff-buckets` the 16 buckets of figure 2(b),
          `tradeoff-readings` semantic privacy in the readings the paper's axis does not settle.
Because   the values are those printed; t-closeness there is under JS, l-diversity is the largest share.
Checked   tests/unit/frontier/test_grid.py::test_the_papers_grids
Silent on the paper's Mondrian: it does not say how it cuts. Ours is `cut="best"`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from sfumato.claims import KAnonymity, LDiversity, Requirement, SemanticPrivacy, TCloseness
from sfumato.mechanisms import Bucketize, DiffGen, Mechanism, Mondrian

__all__ = ["PRESETS", "Preset"]

_K = (10, 50, 100, 200, 500, 1000, 2000, 5000)
_L = ("3", "3.5", "4", "4.25", "4.5", "4.75", "5", "5.5")
_T = ("0.075", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4")
_DELTA = ("1", "1.2", "1.4", "1.5", "1.7", "1.9", "2", "2.1")


@dataclass(frozen=True, slots=True)
class Preset:
    """A grid with a name: what it is, and how to make it."""

    about: str
    _: KW_ONLY
    mechanisms: Callable[[], tuple[Mechanism, ...]]


def _under(method: Any, kind: Callable[[Any], Requirement], values: tuple[Any, ...]) -> tuple[Mechanism, ...]:
    return tuple(method(kind(value)) for value in values)


def _one_sided(delta: Any) -> Requirement:
    return SemanticPrivacy(delta, sides="one")


def _absent_ignored(delta: Any) -> Requirement:
    return SemanticPrivacy(delta, absent="ignore")


def _tradeoff() -> tuple[Mechanism, ...]:
    return (
        *_under(Mondrian, KAnonymity, _K),
        *_under(Mondrian, LDiversity, _L),
        *_under(Mondrian, TCloseness, _T),
        *_under(Mondrian, SemanticPrivacy, _DELTA),
    )


def _buckets() -> tuple[Mechanism, ...]:
    return (*_under(Bucketize, LDiversity, _L), *_under(Bucketize, TCloseness, _T))


def _readings() -> tuple[Mechanism, ...]:
    return (*_under(Mondrian, _one_sided, _DELTA), *_under(Mondrian, _absent_ignored, _DELTA))


def _diffgen() -> tuple[Mechanism, ...]:
    return tuple(
        DiffGen(epsilon, specializations=h) for epsilon in ("0.1", "0.25", "0.5", "1") for h in (4, 7, 10, 13, 16)
    )


def _standard() -> tuple[Mechanism, ...]:
    return (
        *_under(Mondrian, KAnonymity, (5, 10, 50, 200, 1000)),
        *_under(Mondrian, LDiversity, (2, 3, 4, 5)),
        *_under(Mondrian, TCloseness, ("0.05", "0.1", "0.15", "0.2", "0.3")),
        *_under(Bucketize, TCloseness, ("0.05", "0.1", "0.15", "0.2", "0.3")),
        *(DiffGen(epsilon) for epsilon in ("0.5", "1", "2", "4")),
    )


PRESETS: dict[str, Preset] = {
    "standard": Preset("a first look: partitions, buckets and differential privacy", mechanisms=_standard),
    "tradeoff": Preset("Li & Li 2009, figure 2(a): Mondrian under k, l, t and delta", mechanisms=_tradeoff),
    "tradeoff-buckets": Preset("Li & Li 2009, figure 2(b): buckets under l and t", mechanisms=_buckets),
    "tradeoff-readings": Preset("semantic privacy in its other readings, same deltas", mechanisms=_readings),
    "diffgen": Preset("Mohammed et al. 2011, figure 3: DiffGen by epsilon and specializations", mechanisms=_diffgen),
}
