"""Which efficient release to publish, with the reason in words.

Source    Li & Li, KDD 2009, sections 1 and 5.1: by the largest acceptable risk, or where the tradeoff is best. The
          formula of the knee is ours.
Claim     privacy limit: of the releases within it, the one with the best utility. utility limit: of those that reach
          it, the one with the best privacy. neither, or both: the smallest p + u, where p is the share of the way from
          Suppress to the table itself on the privacy axis, u the share of the way back on the utility axis. Ties go to
          better privacy, then away from buckets, then to the order of the sweep. Buckets, which publish exact
          quasi-identifiers, take part only where `membership_public` says so. The answer
          is efficient among the releases that take part.
Because   a sum of two increasing shares is smallest at an efficient point; the two ends are the table's own, so
          other releases in the sweep do not move the scale.
Checked   tests/unit/frontier/test_recommend.py::test_limits_are_kept_and_nothing_better_is_left
          tests/unit/frontier/test_recommend.py::test_the_knee_by_hand
          tests/unit/frontier/test_recommend.py::test_buckets_are_recommended_only_where_membership_may_be_public
Silent on what is acceptable: that is the steward's to say. The choice looks at the original, and no claim covers it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from sfumato.errors import Infeasible
from sfumato.frontier.chosen import chosen
from sfumato.frontier.point import Point
from sfumato.frontier.reasons import ASK, Scale, caution_of, limit_in_words, note_of, reason_of
from sfumato.frontier.references import Anchors
from sfumato.mechanisms import Mechanism

__all__ = ["Recommendation", "recommended", "scales"]

Limits = tuple[float | None, float | None]  # on privacy and on utility
Rank = Callable[[Point], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The point, why, and what choosing on the data means for the claim. `mechanism` is what to publish with.

    `left_out` holds the bucket releases that took no part, `bucket` the one that would have been recommended instead,
    and `note` says so; where a bucket release is recommended, `note` says that membership is public.
    """

    point: Point
    _: KW_ONLY
    reason: str
    caution: str
    note: str = ""
    alternatives: tuple[Point, ...] = ()
    membership_public: bool = False
    left_out: tuple[Point, ...] = ()
    bucket: Point | None = None
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
            "note": self.note,
            "caution": self.caution,
            "alternatives": [{"point": one.number, "label": one.label} for one in self.alternatives],
            "membership_public": self.membership_public,
            "left_out": [one.number for one in self.left_out],
            "bucket": None if self.bucket is None else {"point": self.bucket.number, "label": self.bucket.label},
            "confidential": self.confidential,
        }

    def __str__(self) -> str:
        return " ".join(filter(None, (f"{self.point.label}.", self.reason, self.note, self.caution)))


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
    points: Sequence[Point], axes: tuple[Scale, Scale], limits: Limits, *, membership_public: bool
) -> Recommendation:
    """Choose among the points that may be published."""
    publishable = [point for point in points if point.savable and not point.failed]
    taking_part = [point for point in publishable if membership_public or not point.buckets]
    left_out = [point for point in publishable if point.buckets and not membership_public]
    if not taking_part:
        raise _nothing(left_out)
    within = _within(taking_part, axes, limits)
    if not within:
        raise _unreachable(taking_part, axes, limits, buckets=bool(_within(left_out, axes, limits)))
    rank, why = _rule(axes, limits)
    best = min(within, key=rank)
    others = _within(left_out, axes, limits)
    bucket = min(others, key=rank) if others and rank(min(others, key=rank)) < rank(best) else None
    return Recommendation(
        best,
        reason=reason_of(best, why, axes, len(taking_part)),
        caution=caution_of(best),
        note=note_of(best, left_out, bucket, axes),
        alternatives=_other_methods(best, within, rank),
        membership_public=membership_public,
        left_out=tuple(left_out),
        bucket=bucket,
    )


def _rule(axes: tuple[Scale, Scale], limits: Limits) -> tuple[Rank, str]:
    """How releases are ranked under these limits, and how that is told."""
    (x, y), (privacy, utility) = axes, limits
    if privacy is not None and utility is None:
        return _by_utility(axes), f"has the best {y.words} of all releases with {limit_in_words(x, privacy)}"
    if utility is not None and privacy is None:
        return _by_privacy(axes), f"has the best {x.words} of all releases with {limit_in_words(y, utility)}"
    why = "lies at the knee, where what is given up on both sides together is least"
    if privacy is not None and utility is not None:
        why += f", among those with {limit_in_words(x, privacy)} and {limit_in_words(y, utility)}"
    return _knee(axes), why


def _within(points: Sequence[Point], axes: tuple[Scale, Scale], limits: Limits) -> list[Point]:
    """The points that keep both limits."""

    def keeps(point: Point) -> bool:
        figures = zip(axes, (point.privacy.mean, point.utility.mean), limits, strict=True)
        return all(limit is None or scale.cost(value) <= scale.cost(limit) for scale, value, limit in figures)

    return [point for point in points if keeps(point)]


def _by_utility(axes: tuple[Scale, Scale]) -> Rank:
    x, y = axes
    return lambda point: (y.cost(point.utility.mean), x.cost(point.privacy.mean), point.buckets, point.number)


def _by_privacy(axes: tuple[Scale, Scale]) -> Rank:
    x, y = axes
    return lambda point: (x.cost(point.privacy.mean), y.cost(point.utility.mean), point.buckets, point.number)


def _knee(axes: tuple[Scale, Scale]) -> Rank:
    x, y = axes

    def rank(point: Point) -> tuple[float, ...]:
        p = x.share(point.privacy.mean) if x.usable else 0.0
        u = y.share(point.utility.mean) if y.usable else 0.0
        return (p + u, x.cost(point.privacy.mean), point.buckets, point.number)

    return rank


def _other_methods(best: Point, within: Sequence[Point], rank: Rank) -> tuple[Point, ...]:
    """The best release of every other method, for a steward who can not use the first."""
    firsts: dict[str, Point] = {}
    for point in sorted(within, key=rank):
        firsts.setdefault(type(point.mechanism).__name__, point)
    return tuple(point for name, point in firsts.items() if name != type(best.mechanism).__name__)


def _nothing(buckets: Sequence[Point]) -> Infeasible:
    asked = "a recommendation"
    if not buckets:
        return Infeasible(asked, "none", "no release could be made and measured", hint="sweep other methods")
    why = (
        "only bucket releases could be made and measured, and they publish everybody's exact quasi-identifiers, "
        "so that anyone can tell who is in the table"
    )
    hint = f"sweep other methods, or, if that is no secret, ask for buckets with {ASK}"
    return Infeasible(asked, "none", why, hint=hint)


def _unreachable(points: Sequence[Point], axes: tuple[Scale, Scale], limits: Limits, *, buckets: bool) -> Infeasible:
    """Name what was asked and the best there is on the axis that fails first."""
    x, y = axes
    asked = [limit_in_words(scale, limit) for scale, limit in zip(axes, limits, strict=True) if limit is not None]
    private = _within(points, axes, (limits[0], None))
    if not private:
        best = min(points, key=_by_privacy(axes)).privacy.mean
    else:
        best = min(private, key=_by_utility(axes)).utility.mean
    why = f"no release of the sweep has it (best {(y if private else x).words} shown)"
    hint = "sweep stricter methods, or accept more"
    if buckets:
        why = why.replace("no release of the sweep", "no release of the sweep that keeps membership secret")
        hint += f"; a bucket release has it: if it is no secret who is in the table, ask for buckets with {ASK}"
    return Infeasible(" and ".join(asked), best, why, hint=hint)
