"""How well a score tells members from others: area under the curve, and hits at few false alarms.

Source    Fawcett, Pattern Recognition Letters 27, 2006; low false positive rates: Carlini et al., S&P 2022.
Claim     `auc` = P(member's score > other's) + P(equal) / 2. `hits_at(f)` is the largest share of members at or above a
          threshold that at most a share f of the others reach; it is not reported of fewer than 1 / f others.
Because   both are sums over the sorted distinct scores with their weights.
Checked   tests/unit/attacks/test_roc.py::test_equals_the_definition_over_pairs
Silent on thresholds chosen on the same people: at f = 1/1000 at least a few thousand others are needed.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from sfumato.attacks.base import joined_words, percent
from sfumato.measures.base import json_number

__all__ = ["FALSE_ALARMS", "Curve", "curve_of"]

FALSE_ALARMS = (1e-2, 1e-3)


@dataclass(frozen=True)
class Curve:
    """Members and others at or above each distinct score, highest first."""

    scores: np.ndarray
    _: KW_ONLY
    members: np.ndarray
    others: np.ndarray

    @property
    def auc(self) -> float:
        """Area under the curve; 1/2 says nothing."""
        members, others = self.members[-1], self.others[-1]
        if not members or not others:
            return float("nan")
        y, x = np.concatenate([[0], self.members]) / members, np.concatenate([[0], self.others]) / others
        return float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))

    def hits_at(self, false_alarms: float) -> float:
        """Return the share of members found at no more than this share of false alarms."""
        if not self.others[-1]:
            return float("nan")
        allowed = self.others <= false_alarms * self.others[-1]
        return float(self.members[allowed].max(initial=0) / max(1, self.members[-1]))

    def _few(self) -> dict[float, float]:
        """Hits at each small share of false alarms that this number of others can show."""
        return {rate: self.hits_at(rate) for rate in FALSE_ALARMS if self.others[-1] * rate >= 1}

    def figures(self) -> dict[str, float | str | None]:
        """Return the area and the hits at few false alarms by name; nothing where there are too few others."""
        few = self._few()
        return {
            "auc": json_number(self.auc),
            **{f"hits at {rate:g} false alarms": few.get(rate) for rate in FALSE_ALARMS},
        }

    def sentence(self) -> str:
        """Say how many members are found at few false alarms; nothing of too few others."""
        shares = [
            f"{percent(hits)} of them at 1 false alarm in {round(1 / rate):,}" for rate, hits in self._few().items()
        ]
        return f"It tells {joined_words(shares)} (area under the curve {self.auc:.3f})." if shares else ""

    def best(self) -> float:
        """Return the threshold from which on hits exceed false alarms most, the highest of equals."""
        gap = self.members / max(1, self.members[-1]) - self.others / max(1, self.others[-1])
        return float(self.scores[int(np.argmax(gap))])


def curve_of(members: np.ndarray, others: np.ndarray, *, member_weight: np.ndarray, other_weight: np.ndarray) -> Curve:
    """Return the curve of a score."""
    scores, places = np.unique(np.concatenate([members, others]), return_inverse=True)
    places = places.reshape(-1)
    inside = np.bincount(places[: len(members)], weights=member_weight, minlength=len(scores))
    outside = np.bincount(places[len(members) :], weights=other_weight, minlength=len(scores))
    return Curve(scores[::-1], members=np.cumsum(inside[::-1]), others=np.cumsum(outside[::-1]))
