"""`Frontier`: the points, which of them are efficient, and what to publish. Confidential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from sfumato.errors import ParameterError, count_of
from sfumato.frontiers.axes import ATTACKED, axis_words
from sfumato.frontiers.point import Point, Reference, efficient_set
from sfumato.frontiers.policy import Breach, Policy
from sfumato.frontiers.recommend import Anchors, Recommendation, Scale, chosen, closest_of, recommended, scales
from sfumato.measures.base import json_number
from sfumato.mechanisms import Mechanism
from sfumato.visible import notebook


@dataclass(frozen=True, slots=True)
class AxisMeasure:
    """What an axis shows."""

    name: str
    _: KW_ONLY
    unit: str
    formula: str
    better: str

    @property
    def words(self) -> str:
        """The name as people read it."""
        return axis_words(self.name)

    @property
    def sign(self) -> int:
        """1 where less is better, -1 where more is."""
        return 1 if self.better == "less" else -1

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {"name": self.name, "unit": self.unit, "formula": self.formula, "better": self.better}


@dataclass(frozen=True)
class Frontier:
    """Releases of one table by their privacy and their utility. Every figure is a statistic of the original."""

    points: tuple[Point, ...] = field(repr=False)
    _: KW_ONLY
    privacy: AxisMeasure
    utility: AxisMeasure
    references: tuple[Reference, ...] = field(repr=False)
    anchors: Anchors = field(repr=False)
    table: str
    rows: int = field(repr=False)
    people: str = ""  # how many people these rows are about, in words; nothing where no key says it
    quasi: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()  # of the carried ones, those that no requirement protects
    others: tuple[AxisMeasure, ...] = ()  # further privacy axes; `on` puts one of them in the place of `privacy`
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False)  # Suppress and Raw on each
    policy: Policy = field(default_factory=Policy)
    truth: Mapping[str, Any] = field(default_factory=dict, repr=False)  # the table's counts, for the COUNT box
    repeats: int = 1
    seed: int = 0
    confidential: bool = True

    def __repr__(self) -> str:
        made = len(self.points) - len(self.failed)
        tried = "" if made == len(self.points) else f" of {len(self.points)} tried"
        size = f"{count_of(made, 'release')}{tried}, {len(self.efficient)} efficient"
        return f"<Frontier {self.table}: {size}, {self.privacy.name} against {self.utility.name}, confidential>"

    def _repr_html_(self) -> str:
        """Show the efficient releases in a notebook. Confidential."""
        rows = [(one.label, f"{one.privacy.mean:.4g}", f"{one.utility.mean:.4g}") for one in self.efficient]
        return notebook(repr(self), heads=("efficient release", self.privacy.words, self.utility.words), rows=rows)

    @property
    def efficient(self) -> tuple[Point, ...]:
        """Points than which no other is as good on both axes and better on one, from the most private on."""
        return self._from_private([point for point in self.points if point.efficient])

    @property
    def efficient_without_buckets(self) -> tuple[Point, ...]:
        """Points that would be efficient if no release published exact quasi-identifiers; none of these does."""
        rest = [point for point in self.points if not point.buckets]
        marked = with_efficient(rest, self.privacy, self.utility)
        return self._from_private([point for point, mark in zip(rest, marked, strict=True) if mark.efficient])

    def _from_private(self, points: list[Point]) -> tuple[Point, ...]:
        return tuple(sorted(points, key=lambda point: (self.privacy.sign * point.privacy.mean, point.number)))

    @property
    def compared(self) -> str:
        """How many releases were compared, and of how many that were asked for."""
        if not self.failed:
            return f"{count_of(len(self.points), 'release')} compared"
        made = len(self.points) - len(self.failed)
        asked = f"{count_of(len(self.points), 'release')} asked for"
        return f"{asked}: {made} compared, {len(self.failed)} not made or not measured"

    @property
    def failed(self) -> tuple[Point, ...]:
        """Mechanisms that could not be applied to this table, or measured; each says why."""
        return tuple(point for point in self.points if point.failed)

    @property
    def axes(self) -> tuple[AxisMeasure, ...]:
        """Every privacy axis, the one in use first."""
        return (self.privacy, *self.others)

    def on(self, name: str) -> Frontier:
        """Return the same releases with another privacy axis: efficient there, and so recommended."""
        if name == self.privacy.name:
            return self
        found = next((axis for axis in self.others if axis.name == name), None)
        if found is None:
            known = ", ".join(axis.name for axis in self.axes)
            raise ParameterError("axis", name, "was not measured for this frontier", hint=f"one of {known}")
        moved = [point if point.failed else _moved(point, name) for point in self.points]
        suppressed, raw = self.ends[name]
        return replace(
            self,
            points=with_efficient(moved, found, self.utility),
            privacy=found,
            others=tuple(axis for axis in self.axes if axis is not found),
            anchors=Anchors((suppressed, self.anchors.suppressed[1]), raw=(raw, self.anchors.raw[1])),
        )

    def _attacked(self) -> list[Scale]:
        """The further axes that are attacks, where both ends of the table are known."""
        found = [
            Scale(
                axis.name, sign=axis.sign, unit=axis.unit, best=self.ends[axis.name][0], worst=self.ends[axis.name][1]
            )
            for axis in self.others
            if axis.name in ATTACKED
        ]
        return [scale for scale in found if scale.usable]

    @property
    def marks(self) -> tuple[Reference, ...]:
        """The references of the axes in use."""
        return tuple(mark for mark in self.references if mark.measure in ("", self.privacy.name))

    def closest(
        self, policy: Policy | None = None, *, membership_public: bool = False
    ) -> tuple[Point, tuple[Breach, ...]]:
        """Return the release that is closest to keeping a policy, and the lines that it breaks."""
        open_to = [one for one in self.points if one.savable and not one.failed]
        kept = [one for one in open_to if membership_public or not one.buckets]
        return closest_of(kept, policy or self.policy)

    def recommend(
        self,
        policy: Policy | None = None,
        *,
        privacy_loss: float | None = None,
        utility_loss: float | None = None,
        membership_public: bool = False,
    ) -> Recommendation:
        """Choose among the releases that keep the policy: that of the frontier, unless another is given.

        Of those, by the largest acceptable privacy figure, by the required utility figure, or, without, by the knee. A
        policy that limits a risk is such a limit on privacy. One that names tables to answer has limits on both sides,
        since its floor on k says what privacy is needed: then it is the knee of those that kept half of their use.

        Buckets publish everybody's exact quasi-identifiers, so anyone can tell who is in the table. They are
        left out of the choice unless `membership_public=True` says that this is no secret.
        """
        measured = [point for point in self.points if not point.failed]
        axes = scales(self.anchors, self.privacy, self.utility, measured)
        limits = (privacy_loss, utility_loss)
        kept = self.policy if policy is None else policy
        return recommended(
            measured, axes, limits, membership_public=membership_public, policy=kept, attacked=self._attacked()
        )

    def chosen(self, point: Point | int) -> Mechanism:
        """Return the mechanism of a point to publish with: a proved claim will say how its parameters were chosen."""
        number = point if isinstance(point, int) else point.number
        for known in self.points:
            if known.number == number:
                return chosen(known.mechanism, proved=known.claim.get("kind") == "proved")
        raise ParameterError("point", number, "is not in this frontier", hint=f"1 to {len(self.points)}")

    def _broken(self, point: Point) -> list[str]:
        """Say which lines of the policy a release breaks."""
        return [] if point.failed else [str(line) for line in self.policy.breaches(point)]

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping with every point and the lines of the policy that it breaks."""
        ends = {"suppressed": self.anchors.suppressed, "raw": self.anchors.raw}
        return {
            "table": self.table,
            "rows": self.rows,
            **({"people": self.people} if self.people else {}),
            "quasi": list(self.quasi),
            "carried": list(self.carried),
            "targets": list(self.targets),
            "confidential": self.confidential,
            "privacy": self.privacy.to_json(),
            "utility": self.utility.to_json(),
            "others": [axis.to_json() for axis in self.others],
            "policy": self.policy.to_json(),
            "repeats": self.repeats,
            "seed": self.seed,
            "references": [reference.to_json() for reference in self.references],
            "ends": {name: [json_number(value) for value in pair] for name, pair in ends.items()},
            "efficient": [point.number for point in self.efficient],
            "efficient_without_buckets": [point.number for point in self.efficient_without_buckets],
            "points": [{**point.to_json(), "breaks": self._broken(point)} for point in self.points],
        }


def _moved(point: Point, name: str) -> Point:
    """Return a point with another privacy axis; its figures by attribute are those of the axis it had, and go."""
    utility = {axis: said for axis, said in point.attributes.items() if axis != "privacy"}
    return replace(point, privacy=point.risks[name], attributes=utility)


def with_efficient(points: list[Point], privacy: AxisMeasure, utility: AxisMeasure) -> tuple[Point, ...]:
    """Mark the efficient points."""
    x = [privacy.sign * point.privacy.mean for point in points]
    y = [utility.sign * point.utility.mean for point in points]
    marks = efficient_set(x, y)
    return tuple(replace(point, efficient=mark) for point, mark in zip(points, marks, strict=True))
