"""Which efficient release to publish, with the reason in words.

Source    Li & Li, KDD 2009, sections 1 and 5.1: by the largest acceptable risk, or where the tradeoff is best. The
          formula of the knee is ours.
Claim     Only releases that keep the policy take part. Privacy limit: of the releases within it, the one with the best
          utility. Utility limit: of those that reach it, the one with the best privacy. Neither, or both: the
          smallest p + u, where p is the share of the way from Suppress to the table itself on the privacy axis, or on
          the worst of it and the axes that are attacks, u the share of the way back on the utility axis. A policy that
          names tables that must come out right has limits on both sides, since its floor on k says what privacy is
          needed: then of those with u at most 1/2, so that more privacy than that is not bought with most of the use,
          or, where there is none, the one with the best utility. Ties go to better privacy, then away from buckets,
          then to the order of the sweep. Buckets, which publish exact quasi-identifiers, take part only where
          `membership_public` says so. Where all that may be chosen have one utility figure, the best privacy decides,
          and the reason says that utility does not. No release that takes part is as good on all these axes and better
          on one.
Because   a sum of increasing shares is smallest where nothing is better on all, and what is better on all is no less
          useful; the two ends are the table's own, so other releases in the sweep do not move the scale.
Checked   tests/unit/frontiers/test_recommend.py::test_limits_are_kept_and_nothing_better_is_left
          tests/unit/frontiers/test_recommend.py::test_the_knee_by_hand
          tests/unit/frontiers/test_keeping_a_policy.py::test_tables_that_must_come_out_right_do_not_ask_for_more_privacy
          tests/unit/frontiers/test_recommend.py::test_a_utility_that_tells_nothing_apart_is_not_a_reason
          tests/unit/frontiers/test_recommend.py::test_buckets_are_recommended_only_where_membership_may_be_public
          tests/unit/frontiers/test_keeping_a_policy.py::test_the_recommendation_keeps_the_policy_and_nothing_better_is_left
Silent on what is acceptable: that is the steward's to say. The choice looks at the original, and no claim covers it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from sfumato.claims import Claim
from sfumato.counts import Table
from sfumato.errors import Infeasible, SfumatoError, count_of, in_percent, two_digits
from sfumato.estimate import measured_attributes
from sfumato.frontiers.axes import Axis, axis_words
from sfumato.frontiers.evaluate import Task, figures_of_release, rehearsed
from sfumato.frontiers.point import Point, Reference
from sfumato.frontiers.policy import Breach, Policy
from sfumato.frontiers.sweep import written_as
from sfumato.measures import js_divergence
from sfumato.mechanisms import Gathered, Mechanism, Plan, Raw, Suppress
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.release.manifest import COUNTED_FORMS
from sfumato.schema import Attribute, Schema

# Marks that give the axes a meaning on the steward's own table.
#
# Source    Li & Li, KDD 2009, section 5.1, "Interpretation of the privacy loss" and "of the utility loss"; 4.3 for
#           the two baselines.
# Claim     rarest, commonest: the privacy loss JS(Q, e_s) of a person whose value s is revealed, s the rarest or the
#           commonest value that occurs (of several sensitive attributes, that of the largest). Nobody's loss exceeds
#           the first. Suppress: the utility figure when every quasi-identifier is removed. The anchors of the knee are
#           the figures of Suppress and of the table itself.
# Because   JS(Q, .) is convex, so its largest value over distributions is at one of the corners e_s, and it falls as
#           q(s) grows.
# Checked   tests/unit/frontiers/test_references.py::test_adult_as_printed
#           tests/unit/frontiers/test_references.py::test_nobody_loses_more_than_the_rarest
# Silent on other measures of privacy loss than JS: they get no marks for revealed values.


@dataclass(frozen=True, slots=True)
class Anchors:
    """(privacy, utility) of publishing no quasi-identifier, and of publishing the table; NaN where not measured."""

    suppressed: tuple[float, float]
    _: KW_ONLY
    raw: tuple[float, float]


def anchors(task: Task) -> tuple[Anchors, dict[str, tuple[float, float]]]:
    """Measure the two ends that every table has, and where they lie on each further privacy axis."""
    suppressed, raw = _figures(task, Suppress()), _figures(task, Raw())
    ends = Anchors((suppressed["privacy"], suppressed["utility"]), raw=(raw["privacy"], raw["utility"]))
    others = {axis.name: (suppressed[axis.name], raw[axis.name]) for axis in task.others}
    return ends, {task.privacy.name: (suppressed["privacy"], raw["privacy"]), **others}


def references(task: Task, ends: Anchors) -> tuple[Reference, ...]:
    """Return the marks of both axes."""
    found: list[Reference] = []
    shown = next((axis for axis in (task.privacy, *task.others) if axis.measure == "privacy_loss"), None)
    if shown is not None:
        of_axis = {"axis": "privacy", "measure": shown.name}
        rarest, commonest, name = revealed(task.table)
        of = f" of {name}" if len(measured_attributes(task.table.schema)) > 1 else ""
        formula = "JS(Q, e_s): Q the overall distribution, e_s certainty of the value s, natural log"
        for which, value in (("rarest", rarest), ("commonest", commonest)):
            found.append(Reference(f"the {which} value{of} is revealed", value=value, formula=formula, **of_axis))
    if not math.isnan(ends.suppressed[1]):
        formula = f"{task.utility.name} of a release without quasi-identifiers"
        found.append(
            Reference("all quasi-identifiers removed", axis="utility", value=ends.suppressed[1], formula=formula)
        )
    return tuple(found)


def revealed(table: Table) -> tuple[float, float, str]:
    """Return the loss of a person whose value is revealed, if it is the rarest and if it is the commonest.

    Of several sensitive attributes the one with the largest such loss, which is named.
    """
    each = [(*_revealed(table, attribute), attribute.name) for attribute in measured_attributes(table.schema)]
    return max(each, key=lambda one: one[0])


def _revealed(table: Table, attribute: Attribute) -> tuple[float, float]:
    counts = table.counts([attribute.name]).histogram(attribute.name)
    if not counts.sum():
        return 0.0, 0.0
    share = counts / counts.sum()
    occurring = np.flatnonzero(counts)
    chosen = occurring[[counts[occurring].argmin(), counts[occurring].argmax()]]
    rarest, commonest = (js_divergence(share, np.eye(len(share))[code]) for code in chosen)
    return float(rarest), float(commonest)


def _figures(task: Task, mechanism: Mechanism) -> dict[str, float]:
    """The figures of an end, axis by axis; NaN where one cannot be had."""
    places = {"privacy": task.privacy, "utility": task.utility, **{axis.name: axis for axis in task.others}}
    try:
        release = rehearsed(task.table, mechanism, task.seed)
    except SfumatoError:
        return dict.fromkeys(places, math.nan)

    def figure(axis: Axis) -> float:
        try:
            return figures_of_release(task, mechanism, release, only=axis)["only"].value
        except SfumatoError:
            return math.nan

    return {place: figure(axis) for place, axis in places.items()}


# Why a release is recommended, what was left out, and what to mind: the words of a recommendation.

MEMBERSHIP = "membership is public: exact quasi-identifiers are published"
ASK = "--membership-public (in Python membership_public=True)"
_PROVED = (
    "The parameters were chosen on the data they will be used on; the proof does not cover that choice, and the "
    "release says so. To avoid this, fix them beforehand or on public data."
)
_CHECKED = (
    "The parameters were chosen on the data they will be used on. The claim can be checked on the published file "
    "whatever they are, but it does not cover what the choice itself tells. "
    "To avoid this, fix them beforehand or on public data."
)
_ESTIMATED = (
    "The parameters were chosen on the data they will be used on. The claim is an estimate and can be wrong, and it "
    "does not cover what the choice itself tells. To avoid this, fix them beforehand or on public data."
)


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis as the choice sees it: its name, whether less is better, and its two ends."""

    name: str
    _: KW_ONLY
    sign: int
    unit: str
    best: float
    worst: float
    of_table: bool = True  # its ends are those of the table, not those of the releases in the sweep

    def cost(self, value: float) -> float:
        """Return the figure with less as better."""
        return self.sign * value

    def share(self, value: float) -> float:
        """Return how far a figure is from the best end, 1 being the worst."""
        return (value - self.best) / (self.worst - self.best)

    def of_raw(self, value: float) -> str:
        """Say what share of the table's own privacy figure this is; nothing where that share would mean nothing.

        Not `share`: that counts from Suppress, so a release that an attack gains less on would have less than none.
        """
        if not self.of_table or self.sign < 0 or not self.worst > 0 or math.isnan(value):
            return ""
        return f"{in_percent(max(value, 0.0) / self.worst)} of the {self.words}"

    def of_suppressed(self, value: float) -> str:
        """Say how much of the use is lost, from the table as it is to one without quasi-identifiers."""
        share = in_percent(max(self.share(value), 0.0))
        if self.sign > 0 and self.best == 0:
            return f"{share} of the {self.words} of removing all quasi-identifiers"
        return f"{share} of the {self.words} that is lost by removing all quasi-identifiers"

    @property
    def usable(self) -> bool:
        """Whether both ends are known and apart."""
        return math.isfinite(self.best) and math.isfinite(self.worst) and self.best != self.worst

    @property
    def words(self) -> str:
        """The name as people read it."""
        return axis_words(self.name)


def limit_in_words(scale: Scale, limit: float) -> str:
    """Return a limit on an axis."""
    return f"{scale.words} {'at most' if scale.sign > 0 else 'at least'} {limit:.4g}"


def reason_of(point: Point, why: str, axes: tuple[Scale, Scale], among: int, attacked: Sequence[Scale] = ()) -> str:
    """Say why it is this one, with its figures and what they mean on this table."""
    x, y = axes
    figures = f"{x.words} {point.privacy.mean:.4g} {x.unit}".strip()
    figures = f"{figures}, {y.words} {utility_words(point, y.unit)}"
    said = [f"Of {count_of(among, 'release')} it {why}: {figures}."]
    if point.alone:
        said.append(f"Mind that {point.alone}.")
    said += attributes_of(point, (x.words, y.words))
    said += _shares(point, x, y, attacked)
    if point.drew:
        said.append(f"It draws at random; the figures are means of {len(point.privacy.values)} rehearsals.")
    if point.bound is not None:
        said.append(
            f"Its claim proves a privacy loss of at most {point.bound:.4g} nats for one "
            f"{point.claim.get('unit', 'row')}; that is not a measurement and was not compared."
        )
    return " ".join(said)


def utility_words(point: Point, unit: str) -> str:
    """Return a utility figure with what it was measured on, where that is known."""
    said = f"{point.utility.mean:.4g} {unit}".strip()
    return said if point.populations is None else f"{said} over {count_of(f'{point.populations:,}', 'population')}"


def _shares(point: Point, x: Scale, y: Scale, attacked: Sequence[Scale]) -> list[str]:
    """Say what the figures are beside those of the table as it is, and of one without quasi-identifiers."""
    risks = [x.of_raw(point.privacy.mean), *(scale.of_raw(point.risks[scale.name].mean) for scale in attacked)]
    most = ", ".join(filter(None, risks))
    parts = [f"{most} of publishing the table as it is"] if most else []
    parts += [y.of_suppressed(point.utility.mean)] if y.usable and y.of_table else []
    return [f"That is {', and '.join(parts)}."] if parts else []


LARGE_GAIN = 0.1  # of an attack that the policy says nothing about
MOST_OF_ITS_USE = 0.5  # of the way to a release without quasi-identifiers


def price_of(point: Point) -> str:
    """Say what the release costs in errors of counts, as readers meet them; nothing where it was not measured."""
    said = []
    if point.typical:
        text = typical_in_tables(point.typical)
        said.append(f"{text[0].upper()}{text[1:]}.")
        if "columns" in point.typical:
            said.append(f"These are the tables of {int(point.typical['columns'])} columns; the table has more.")
    for name, error in point.answers.items():
        said.append(f"Counts by {name} are off by {two_digits(100 * error.mean)} % on average.")
    return " ".join(said)


def typical_words(typical: Mapping[str, Any]) -> str:
    """Say of a typical count how far it is off; nothing where the table has none."""
    if not typical:
        return ""
    size, off = int(typical["count"]), float(typical["off"])
    wrong = f"off by {two_digits(off)} ({two_digits(100 * float(typical['share']))} %)" if off else "exact"
    wrong += " by ranges of values, not by single values" if typical.get("ranges") else ""
    return f"count of {size:,} is typically {wrong}"


def typical_in_tables(typical: Mapping[str, Any]) -> str:
    """Say which tables a typical count is one of, and how far it is off; nothing where the table has none."""
    tables = typical.get("of", "a quasi-identifier and another column")
    return f"in tables of {tables} a {typical_words(typical)}" if typical else ""


def _share_lost(point: Point, utility: Scale) -> float:
    """Return how far a release is on the way to one without quasi-identifiers."""
    return utility.share(point.utility.mean) if utility.usable else 0.0


def _lost(point: Point, utility: Scale, among: int) -> str:
    """Say so where a release has lost most of its use."""
    share = _share_lost(point, utility)
    wrong = float(point.typical.get("share", 0.0))
    if share <= MOST_OF_ITS_USE and wrong <= MOST_OF_ITS_USE:
        return ""
    how = f"it has {utility.of_suppressed(point.utility.mean)}"
    if not utility.of_table:
        how = f"by its {utility.words} it is {in_percent(share)} of the way from the best to the worst of the sweep"
    if share <= MOST_OF_ITS_USE:
        how = f"a typical count is off by {in_percent(wrong)}"
    only = "the only release that may be recommended" if among == 1 else f"the best of {among} that may be recommended"
    return f"It has lost most of its use: {how}. It is {only}; sweep other methods, or ask for less."


def _doubts(point: Point, policy: Policy) -> str:
    """Say where a gain is within its limit but its interval is not."""
    said = []
    for name, limit in policy.limits.items():
        found = point.attacks.get(name, {})
        high, counted = found.get("interval", (0.0, 0.0))[1], found.get("counted", "rows")
        if high > limit:
            said.append(
                f"The {axis_words(name)} is an estimate: with this many {counted} it may be as large as {high:.2g}."
            )
    stated = bool(policy.limits or policy.answers)
    free = [name for name in point.attacks if stated and name not in policy.limits]
    said += [
        f"Mind the {axis_words(name)} of {gain:.2g}, which the policy does not limit."
        for name in free
        if (gain := point.risks[name].mean) > LARGE_GAIN
    ]
    return " ".join(said)


def attributes_of(point: Point, words: tuple[str, str]) -> list[str]:
    """Say, for each axis, which of several sensitive attributes its figure is about, and the figure of each."""
    said = []
    for axis, name in zip(("privacy", "utility"), words, strict=True):
        if found := point.attributes.get(axis):
            each = ", ".join(f"{attribute} {float(value):.4g}" for attribute, value in found["each"].items())
            many = count_of(len(found["each"]), "attribute")
            runs = " (means over runs)" if len(point.privacy.values) > 1 else ""
            said.append(f"The {name} is the figure of {found['worst']}, the worst of {many}{runs}: {each}.")
    return said


def note_of(point: Point, left_out: Sequence[Point], bucket: Point | None, axes: tuple[Scale, Scale]) -> str:
    """Say what was left out, why, what it would have brought and how to ask for it; or that membership is public."""
    if point.buckets:
        return f"{MEMBERSHIP[0].upper()}{MEMBERSHIP[1:]}. Anyone can tell who is in the table."
    if not left_out:
        return ""
    one = len(left_out) == 1
    said = (
        f"{count_of(len(left_out), 'bucket release')} {'was' if one else 'were'} left out of this recommendation: "
        f"{'it publishes' if one else 'they publish'} everybody's exact quasi-identifiers, "
        "so that anyone can tell who is in the table."
    )
    if bucket is None:
        return f"{said} {'It would not' if one else 'None of them would'} have been recommended instead."
    figures = f"{axes[0].words} {bucket.privacy.mean:.4g}, {axes[1].words} {bucket.utility.mean:.4g}"
    offer = f"A bucket release would {_gain(point, bucket, axes)}: {bucket.label} ({figures})."
    return f"{said} {offer} If membership is not secret, ask for buckets with {ASK}."


def _gain(point: Point, bucket: Point, axes: tuple[Scale, Scale]) -> str:
    """In what the bucket release is better; it is in something, since it would have been recommended."""
    x, y = axes
    sides = ((y, point.utility.mean, bucket.utility.mean), (x, point.privacy.mean, bucket.privacy.mean))
    better = [scale for scale, here, there in sides if scale.cost(there) < scale.cost(here)]
    lost = [scale.words.removesuffix(" loss") for scale in better if scale.words.endswith(" loss")]
    if better and len(lost) == len(better):
        return f"lose less {' and less '.join(lost)}"
    return f"have the better {' and '.join(scale.words for scale in better) or 'figures'}"


def caution_of(point: Point) -> str:
    """Say what choosing on the data means for the claim."""
    return {"proved": _PROVED, "estimate": _ESTIMATED}.get(str(point.claim.get("kind")), _CHECKED)


# A mechanism whose parameters were chosen by looking at the data it will publish.
#
# A frontier is computed from the original. Which point is picked depends on it, and no claim covers that choice. A
# differential privacy claim would be read as covering everything, so the release says that it does not.

CHOSEN = (
    "the choice of the parameters, which were picked on a frontier computed from the same table "
    "(to avoid this, fix them beforehand or on public data)"
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The same mechanism with one more silence in its claim."""

    mechanism: Mechanism

    def claim(self, schema: Schema) -> Claim:
        """Promise what the mechanism promises, and say what it does not cover."""
        return _data_dependent(self.mechanism.claim(schema))

    def needs(self, schema: Schema) -> list[tuple[str, ...]]:
        """Ask for what the mechanism needs."""
        return self.mechanism.needs(schema)

    def plan(self, schema: Schema) -> Plan:
        """Return the mechanism's plan."""
        return self.mechanism.plan(schema)

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Make the release under the fuller claim."""
        release = self.mechanism.apply(counts, entropy)
        return replace(release, claim=_data_dependent(release.claim or self.mechanism.claim(counts.schema)))

    def to_json(self) -> dict[str, Any]:
        """Return the mechanism's own name and parameters."""
        return written_as(self.mechanism)


def chosen(mechanism: Mechanism, *, proved: bool) -> Mechanism:
    """Return the mechanism to publish with, where its parameters were picked on a frontier of the same table."""
    return Chosen(mechanism) if proved and not isinstance(mechanism, Chosen) else mechanism


def _data_dependent(claim: Claim) -> Claim:
    silences = claim.silent_on if CHOSEN in claim.silent_on else (*claim.silent_on, CHOSEN)
    return replace(claim, silent_on=silences)


Limits = tuple[float | None, float | None]  # on privacy and on utility
Rank = Callable[[Point], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The point, why, and what choosing on the data means for the claim. `mechanism` is what to publish with.

    It keeps `policy`. `price` is what it costs in errors of counts; `lost` says so where it lost most of its use.
    `left_out` holds the bucket releases that took no part, `bucket` the one that would have been recommended instead,
    and `note` says so; where a bucket release is recommended, `note` says that membership is public.
    """

    point: Point
    _: KW_ONLY
    reason: str
    caution: str
    note: str = ""
    price: str = ""
    lost: str = ""
    policy: Policy = field(default_factory=Policy)
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
            "number": self.point.number,
            "label": self.point.label,
            "reason": self.reason,
            "price": self.price,
            "lost": self.lost,
            "policy": self.policy.to_json(),
            "note": self.note,
            "caution": self.caution,
            "alternatives": [{"point": one.number, "label": one.label} for one in self.alternatives],
            "membership_public": self.membership_public,
            "left_out": [one.number for one in self.left_out],
            "bucket": None if self.bucket is None else {"point": self.bucket.number, "label": self.bucket.label},
            "confidential": self.confidential,
        }

    def __str__(self) -> str:
        said = (f"{self.point.label}.", self.reason, self.price, self.lost, self.note, self.caution)
        return " ".join(filter(None, said))


def scales(ends: Anchors, privacy: Any, utility: Any, points: Sequence[Point]) -> tuple[Scale, Scale]:
    """Return both axes with the table's own ends; where those were not measured, the points' own."""
    made = []
    for at, axis in enumerate((privacy, utility)):
        best, worst = (ends.suppressed[at], ends.raw[at])[:: 1 if at == 0 else -1]
        scale = Scale(axis.name, sign=axis.sign, unit=axis.unit, best=best, worst=worst)
        if not scale.usable:
            found = [(point.privacy, point.utility)[at].mean * axis.sign for point in points] or [0.0]
            low, high = min(found) * axis.sign, max(found) * axis.sign
            scale = Scale(axis.name, sign=axis.sign, unit=axis.unit, best=low, worst=high, of_table=False)
        made.append(scale)
    return made[0], made[1]


def recommended(
    points: Sequence[Point],
    axes: tuple[Scale, Scale],
    limits: Limits,
    *,
    membership_public: bool,
    policy: Policy,
    attacked: Sequence[Scale] = (),
) -> Recommendation:
    """Choose among the points that may be published and keep the policy; `attacked` are further axes of attacks."""
    publishable = [point for point in points if point.savable and not point.failed]
    open_to = [point for point in publishable if membership_public or not point.buckets]
    left_out = [point for point in publishable if point.buckets and not membership_public]
    if not open_to:
        raise _nothing(left_out)
    taking_part = [point for point in open_to if not policy.breaches(point)]
    if not taking_part:
        raise _not_kept(open_to, policy)
    within = _within(taking_part, axes, limits)
    buckets = _within([point for point in left_out if not policy.breaches(point)], axes, limits)
    if not within:
        raise _unreachable(taking_part, axes, limits, policy, buckets=bool(buckets))
    alike = _alike(within)
    rank, why = _rule(within, axes, limits, policy, attacked, alike=alike)
    best = min(within, key=rank)
    # By the rule of all of them: beside buckets, releases that are alike may differ.
    every = [*within, *buckets]
    free = min(every, key=_rule(every, axes, limits, policy, attacked, alike=_alike(every))[0])
    bucket = free if free.buckets and not best.buckets else None
    x, y = axes
    shown = (x, replace(y, of_table=False)) if alike else axes  # a share of the use lost would tell nothing
    reason = reason_of(best, why, shown, len(taking_part), attacked)
    kept = _kept_words(policy, taking_part, len(open_to))
    doubts = _doubts(best, policy)
    return Recommendation(
        best,
        reason=" ".join(filter(None, (kept, _alike_words(best, within, y) if alike else "", reason, doubts))),
        caution=caution_of(best),
        note=note_of(best, left_out, bucket, axes),
        price=price_of(best),
        lost=_lost(best, axes[1], len(within)),
        policy=policy,
        alternatives=_other_methods(best, within, rank),
        membership_public=membership_public,
        left_out=tuple(left_out),
        bucket=bucket,
    )


def _kept_words(policy: Policy, kept: Sequence[Point], among: int) -> str:
    """Say how many releases keep the policy, which policy, and for how many of them k means nothing."""
    which = "policy" if policy.stated else "default policy"
    verb = "keeps" if len(kept) == 1 else "keep"
    said = f"{len(kept)} of {count_of(among, 'release')} {verb} the {which} ({policy})."
    unasked = sum(point.form in COUNTED_FORMS for point in kept)
    if unasked:
        said += f" k is not asked of the {count_of(unasked, 'release')} whose rows are noisy or synthetic."
    if buckets := [point for point in kept if point.buckets]:
        many = count_of(len(buckets), "bucket release")
        said += (
            f" Of the {many} k is asked of the groups that share their values: quasi-identifiers are exact there, and "
            "no bucket release is k-anonymous."
        )
    return said


def closest_of(points: Sequence[Point], policy: Policy) -> tuple[Point, tuple[Breach, ...]]:
    """Return the point that breaks fewest lines, and those by the smallest share of what was asked."""
    broken = [(point, policy.breaches(point)) for point in points]
    return min(broken, key=lambda one: (len(one[1]), sum(line.excess for line in one[1]), one[0].number))


def _not_kept(points: Sequence[Point], policy: Policy) -> Infeasible:
    closest, broken = closest_of(points, policy)
    lines = "; ".join(map(str, broken))
    many = count_of(len(points), "release")
    why = f"nothing is good enough. Of {many} none keeps the policy; the closest breaks this: {lines}"
    hint = "sweep stricter methods or other kinds of releases, or change the policy"
    return Infeasible(str(policy), closest.label, why, hint=hint)


def _rule(
    within: Sequence[Point],
    axes: tuple[Scale, Scale],
    limits: Limits,
    policy: Policy,
    attacked: Sequence[Scale] = (),
    *,
    alike: bool = False,
) -> tuple[Rank, str]:
    """How releases are ranked under these limits, and how that is put into words; `alike` by utility, by privacy."""
    (x, y), (privacy, utility) = axes, limits
    private = privacy is not None or bool(policy.limits)
    useful = utility is not None
    asked = [limit_in_words(scale, limit) for scale, limit in zip(axes, limits, strict=True) if limit is not None]
    among = f"of all releases with {' and '.join(asked)}" if asked else "of these"
    if alike and (private or useful or not attacked):
        return _by_privacy(axes), f"has the best {x.words} {among if asked else ''}".strip()
    if private and not useful and not policy.answers:
        return _by_utility(axes), f"has the best {y.words} {among}"
    if useful and not private:
        return _by_privacy(axes), f"has the best {x.words} {among}"
    lost = [bool(policy.answers) and _share_lost(point, y) > MOST_OF_ITS_USE for point in within]
    knee = _knee(axes, attacked, useful=bool(policy.answers))
    if alike:
        names = ", ".join(scale.words for scale in (x, *attacked))
        return knee, f"has the best privacy{f' {among}' if asked else ''}, by the worst of {names}"
    if all(lost):
        return knee, f"has the best {y.words} {among}, which have all lost most of their use"
    why = "lies at the knee, the compromise that gives up least on both sides together"
    if attacked:
        names = ", ".join(scale.words for scale in (x, *attacked))
        why += f" (privacy by the worst of {names})"
    those = [f"with {' and '.join(asked)}"] if asked else []
    those += ["that have not lost most of their use"] if any(lost) else []
    return knee, f"{why}, among those {' '.join(those)}" if those else why


def _alike_words(best: Point, within: Sequence[Point], utility: Scale) -> str:
    """Say that the utility axis tells nothing apart, and how far counts are off where that differs."""
    figure = utility_words(best, utility.unit)
    said = f"Utility does not distinguish these releases: each of {len(within)} has {utility.words} {figure}."
    wrong = {point.number: float(point.typical["share"]) for point in within if "share" in point.typical}
    finest = min(within, key=lambda point: (wrong.get(point.number, math.inf), point.number))
    if best.number in wrong and wrong[finest.number] < wrong[best.number]:
        here, there = (f"{two_digits(100 * wrong[point.number])} %" for point in (best, finest))
        said += f" A typical count is off by {here} in this one and by {there} in {finest.label}."
    return f'{said} Another measure may: --utility workload_error (in Python utility="workload_error").'


def _alike(points: Sequence[Point]) -> bool:
    """Whether there are several releases, and utility is the same in all."""
    return len(points) > 1 and len({point.utility.mean for point in points}) == 1


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


def _knee(axes: tuple[Scale, Scale], attacked: Sequence[Scale] = (), *, useful: bool = False) -> Rank:
    """By p + u; where a release has to be `useful`, one that has lost most of its use comes last, by what it lost."""
    x, y = axes

    def rank(point: Point) -> tuple[float, ...]:
        p = x.share(point.privacy.mean) if x.usable else 0.0
        p = max([p, *(scale.share(point.risks[scale.name].mean) for scale in attacked)])
        u = _share_lost(point, y)
        both = math.inf if math.isnan(p) else p + u
        lost = useful and u > MOST_OF_ITS_USE
        return (lost, u if lost else both, x.cost(point.privacy.mean), point.buckets, point.number)

    return rank


def _other_methods(best: Point, within: Sequence[Point], rank: Rank) -> tuple[Point, ...]:
    """The best release of every other method, for a steward who cannot use the first."""
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


def _unreachable(
    points: Sequence[Point], axes: tuple[Scale, Scale], limits: Limits, policy: Policy, *, buckets: bool
) -> Infeasible:
    """Name what was asked and the best there is on the axis that fails first."""
    x, y = axes
    asked = [limit_in_words(scale, limit) for scale, limit in zip(axes, limits, strict=True) if limit is not None]
    private = _within(points, axes, (limits[0], None))
    if not private:
        best = min(points, key=_by_privacy(axes)).privacy.mean
    else:
        best = min(private, key=_by_utility(axes)).utility.mean
    which = f"no release of the sweep that keeps the policy ({policy})"
    if buckets:
        which += " and keeps membership secret"
    why = f"{which} has it (their best {(y if private else x).words} shown)"
    hint = "sweep stricter methods, or accept more"
    if buckets:
        hint += f"; a bucket release has it: if it is no secret who is in the table, ask for buckets with {ASK}"
    return Infeasible(" and ".join(asked), best, why, hint=hint)
