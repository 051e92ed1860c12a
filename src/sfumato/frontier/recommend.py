"""Which efficient release to publish, with the reason in words.

Source    Li & Li, KDD 2009, sections 1 and 5.1: by the largest acceptable risk, or where the tradeoff is best. The
          formula of the knee is ours.
Claim     privacy limit: of the releases within it, the one with the best utility. utility limit: of those that reach
          it, the one with the best privacy. neither, or both: the smallest p + u, where p is the share of the way from
          Suppress to the table itself on the privacy axis, u the share of the way back on the utility axis. Ties go to
          better privacy, then to the order of the sweep. The answer is always an efficient point that may be saved.
Because   a sum of two increasing shares is smallest at an efficient point; the two ends are the table's own, so
          other releases in the sweep do not move the scale.
Checked   tests/unit/frontier/test_recommend.py::test_limits_are_kept_and_nothing_better_is_left
          tests/unit/frontier/test_recommend.py::test_the_knee_by_hand
Silent on what is acceptable: that is the steward's to say. The choice looks at the original, and no claim covers it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from sfumato.errors import Infeasible
from sfumato.frontier.chosen import chosen
from sfumato.frontier.point import Point
from sfumato.frontier.references import Anchors
from sfumato.mechanisms import Mechanism

__all__ = ["Recommendation", "Scale", "recommended", "scales"]

_PROVED = (
    "The parameters were chosen on the data they will be used on; the proof does not cover that choice, and the "
    "release says so. The clean way is to fix them beforehand, or on public data."
)
_CHECKED = (
    "The parameters were chosen on the data they will be used on. The claim can be checked on the published file "
    "whatever they are, but it does not cover what the choice itself tells. "
    "The clean way is to fix them beforehand, or on public data."
)
_BUCKETS = "Groups publish exact quasi-identifiers: anyone can tell who is in the table."


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis as the choice sees it: its name, whether less is better, and its two ends."""

    name: str
    _: KW_ONLY
    sign: int
    unit: str
    best: float
    worst: float

    def cost(self, value: float) -> float:
        """Return the figure with less as better."""
        return self.sign * value

    def share(self, value: float) -> float:
        """Return how far a figure is from the best end, 1 being the worst."""
        return (value - self.best) / (self.worst - self.best)

    @property
    def usable(self) -> bool:
        """Whether both ends are known and apart."""
        return math.isfinite(self.best) and math.isfinite(self.worst) and self.best != self.worst


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The point, why, and what choosing on the data means for the claim. `mechanism` is what to publish with."""

    point: Point
    _: KW_ONLY
    reason: str
    caution: str
    alternatives: tuple[Point, ...] = ()
    confidential: bool = True

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism; a differential privacy claim will say that its parameters were chosen on the data."""
        return chosen(self.point.mechanism, proved=self.point.claim.get("kind") == "proved")

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {
            "point": self.point.number,
            "label": self.point.label,
            "reason": self.reason,
            "caution": self.caution,
            "alternatives": [{"point": one.number, "label": one.label} for one in self.alternatives],
            "confidential": self.confidential,
        }

    def __str__(self) -> str:
        return f"{self.point.label}. {self.reason} {self.caution}"


def scales(ends: Anchors, privacy: Any, utility: Any, points: Sequence[Point]) -> tuple[Scale, Scale]:
    """Return both axes with the table's own ends; where those were not measured, the points' own."""
    made = []
    for at, axis in enumerate((privacy, utility)):
        best, worst = (ends.suppressed[at], ends.raw[at])[:: 1 if at == 0 else -1]
        scale = Scale(axis.name, sign=axis.sign, unit=axis.unit, best=best, worst=worst)
        if not scale.usable:
            found = [(point.privacy, point.utility)[at].mean * axis.sign for point in points] or [0.0]
            low, high = min(found) * axis.sign, max(found) * axis.sign
            scale = Scale(axis.name, sign=axis.sign, unit=axis.unit, best=low, worst=high)
        made.append(scale)
    return made[0], made[1]


def recommended(
    points: Sequence[Point],
    axes: tuple[Scale, Scale],
    privacy_limit: float | None,
    utility_limit: float | None,
) -> Recommendation:
    """Choose among the points that may be published."""
    x, y = axes
    open_to_choice = [point for point in points if point.savable and not point.failed]
    if not open_to_choice:
        raise Infeasible(
            "a recommendation", "none", "no release could be made and measured", hint="sweep other methods"
        )
    within = [point for point in open_to_choice if _keeps(point, axes, privacy_limit, utility_limit)]
    if not within:
        raise _unreachable(open_to_choice, axes, privacy_limit, utility_limit)
    if privacy_limit is not None and utility_limit is None:
        rank, why = _by_utility(axes), f"has the best {_words(y)} of all releases with {_limit(x, privacy_limit)}"
    elif utility_limit is not None and privacy_limit is None:
        rank, why = _by_privacy(axes), f"has the best {_words(x)} of all releases with {_limit(y, utility_limit)}"
    else:
        rank, why = _knee(axes), "lies at the knee, where what is given up on both sides together is least"
        if privacy_limit is not None and utility_limit is not None:
            why += f", among those with {_limit(x, privacy_limit)} and {_limit(y, utility_limit)}"
    best = min(within, key=rank)
    return Recommendation(
        best,
        reason=_reason(best, why, axes, len(open_to_choice)),
        caution=_caution(best),
        alternatives=_other_methods(best, within, rank),
    )


def _keeps(point: Point, axes: tuple[Scale, Scale], privacy_limit: float | None, utility_limit: float | None) -> bool:
    pairs = ((axes[0], point.privacy.mean, privacy_limit), (axes[1], point.utility.mean, utility_limit))
    return all(limit is None or scale.cost(value) <= scale.cost(limit) for scale, value, limit in pairs)


Rank = Callable[[Point], tuple[float, ...]]


def _by_utility(axes: tuple[Scale, Scale]) -> Rank:
    x, y = axes
    return lambda point: (y.cost(point.utility.mean), x.cost(point.privacy.mean), point.number)


def _by_privacy(axes: tuple[Scale, Scale]) -> Rank:
    x, y = axes
    return lambda point: (x.cost(point.privacy.mean), y.cost(point.utility.mean), point.number)


def _knee(axes: tuple[Scale, Scale]) -> Rank:
    x, y = axes

    def rank(point: Point) -> tuple[float, ...]:
        p = x.share(point.privacy.mean) if x.usable else 0.0
        u = y.share(point.utility.mean) if y.usable else 0.0
        return (p + u, x.cost(point.privacy.mean), point.number)

    return rank


def _words(scale: Scale) -> str:
    return scale.name.replace("_", " ")


def _limit(scale: Scale, limit: float) -> str:
    return f"{_words(scale)} {'at most' if scale.sign > 0 else 'at least'} {limit:.4g}"


def _reason(point: Point, why: str, axes: tuple[Scale, Scale], among: int) -> str:
    x, y = axes
    figures = f"{_words(x)} {point.privacy.mean:.4g} {x.unit}, {_words(y)} {point.utility.mean:.4g} {y.unit}"
    said = [f"Of {among} releases it {why}: {figures}."]
    if x.usable and y.usable:
        p, u = x.share(point.privacy.mean), y.share(point.utility.mean)
        said.append(
            f"That is {p:.0%} of the privacy loss of publishing the table as it is, "
            f"and {u:.0%} of the utility loss of removing all quasi-identifiers."
        )
    if point.drew:
        said.append(f"It draws at random; the figures are means of {len(point.privacy.values)} rehearsals.")
    if point.bound is not None:
        said.append(
            f"Its claim proves a privacy loss of at most {point.bound:.4g} nats; "
            "that is no measurement and was not compared."
        )
    return " ".join(said)


def _caution(point: Point) -> str:
    said = _PROVED if point.claim.get("kind") == "proved" else _CHECKED
    return f"{said} {_BUCKETS}" if point.form == "buckets" else said


def _other_methods(best: Point, within: Sequence[Point], rank: Rank) -> tuple[Point, ...]:
    """The best release of every other method, for a steward who can not use the first."""
    firsts: dict[str, Point] = {}
    for point in sorted(within, key=rank):
        firsts.setdefault(type(point.mechanism).__name__, point)
    return tuple(point for name, point in firsts.items() if name != type(best.mechanism).__name__)


def _unreachable(
    points: Sequence[Point], axes: tuple[Scale, Scale], privacy_limit: float | None, utility_limit: float | None
) -> Infeasible:
    x, y = axes
    asked = [_limit(scale, limit) for scale, limit in ((x, privacy_limit), (y, utility_limit)) if limit is not None]
    first = privacy_limit is not None and not any(_keeps(point, axes, privacy_limit, None) for point in points)
    if first:
        best = min(points, key=_by_privacy(axes)).privacy.mean
    elif privacy_limit is not None:
        kept = [point for point in points if _keeps(point, axes, privacy_limit, None)]
        best = min(kept, key=_by_utility(axes)).utility.mean
    else:
        best = min(points, key=_by_utility(axes)).utility.mean
    why = f"no release of the sweep has it (best {_words(x if first else y)} shown)"
    return Infeasible(" and ".join(asked), best, why, hint="sweep stricter methods, or accept more")
