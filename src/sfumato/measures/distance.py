"""Distance of each group's distribution to the overall one: by JS, KL or earth mover's.

Source    Li & Li, KDD 2009, section 4.1 (JS); Li, Li & Venkatasubramanian, ICDE 2007 (EMD).
Claim     `distances` is, row by row, the formula that `DISTANCES` prints beside it.
Because   the three are computed by the functions of divergence.py and of t-closeness' own ground distance.
Checked   tests/claims/test_privacy_loss.py::test_equals_the_definition_record_by_record
          tests/claims/test_privacy_loss.py::test_other_distances
Silent on what a distance means for a person: two releases at the same distance may differ in whom they expose.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from sfumato.measures.divergence import js_rows, kl_rows, row_shares
from sfumato.release import ground_of
from sfumato.schema import Attribute

__all__ = ["DISTANCES", "Distance", "DistanceKind", "distances"]

Distance = Literal["js", "kl", "emd"]


@dataclass(frozen=True, slots=True)
class DistanceKind:
    """Unit and formula of a distance."""

    unit: str
    _: KW_ONLY
    formula: str


DISTANCES: dict[Distance, DistanceKind] = {
    "js": DistanceKind("nats", formula="JS(Q, P(t)) = (KL(Q, M) + KL(P(t), M)) / 2, M = (Q + P(t)) / 2, natural log"),
    "kl": DistanceKind("nats", formula="KL(P(t), Q) = sum p ln(p / q), 0 ln 0 = 0, infinite where q = 0 < p"),
    "emd": DistanceKind("", formula="EMD(P(t), Q), ground distance of t-closeness, between 0 and 1"),
}


def distances(distance: Distance, counts: np.ndarray, overall: np.ndarray, attribute: Attribute) -> np.ndarray:
    """Return the distance of each row of counts (none empty) to the overall counts."""
    if distance == "js":
        return js_rows(row_shares(counts), row_shares(overall))
    if distance == "kl":
        return kl_rows(row_shares(counts), row_shares(overall))
    return _emd(counts, overall, attribute)


def _emd(counts: np.ndarray, overall: np.ndarray, attribute: Attribute) -> np.ndarray:
    """Work / (scale n N), in whole numbers up to the last division."""
    ground = ground_of(attribute)
    total, sizes = int(overall.sum()), counts.sum(axis=1)
    large = total * int(sizes.max(initial=0)) * 4 * len(overall) ** 2 >= 1 << 62
    whole = object if large else np.int64
    occurring = overall + counts.sum(axis=0)  # a noisy release may show values the table lacks
    moves = counts.astype(whole) * total - overall.astype(whole) * sizes.astype(whole)[:, None]
    work = ground.spread(moves, occurring)
    scale = ground.scale(occurring)
    return np.array([int(w) / (scale * int(n) * total) for w, n in zip(work, sizes, strict=True)], np.float64)
