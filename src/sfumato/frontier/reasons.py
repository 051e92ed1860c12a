"""Why a release is recommended, what was left out, and what to mind: the words of a recommendation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from sfumato.errors import count_of
from sfumato.frontier.point import Point

__all__ = ["ASK", "MEMBERSHIP", "Scale", "attributes_of", "caution_of", "limit_in_words", "note_of", "reason_of"]

MEMBERSHIP = "membership is public: exact quasi-identifiers are published"
ASK = "--membership-public (in Python membership_public=True)"
_PROVED = (
    "The parameters were chosen on the data they will be used on; the proof does not cover that choice, and the "
    "release says so. The clean way is to fix them beforehand, or on public data."
)
_CHECKED = (
    "The parameters were chosen on the data they will be used on. The claim can be checked on the published file "
    "whatever they are, but it does not cover what the choice itself tells. "
    "The clean way is to fix them beforehand, or on public data."
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

    @property
    def words(self) -> str:
        """The name as people read it."""
        return self.name.replace("_", " ")


def limit_in_words(scale: Scale, limit: float) -> str:
    """Return a limit on an axis."""
    return f"{scale.words} {'at most' if scale.sign > 0 else 'at least'} {limit:.4g}"


def reason_of(point: Point, why: str, axes: tuple[Scale, Scale], among: int) -> str:
    """Say why it is this one, with its figures and what they mean on this table."""
    x, y = axes
    figures = f"{x.words} {point.privacy.mean:.4g} {x.unit}, {y.words} {point.utility.mean:.4g} {y.unit}"
    said = [f"Of {count_of(among, 'release')} it {why}: {figures}."]
    said += attributes_of(point, (x.words, y.words))
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


def attributes_of(point: Point, words: tuple[str, str]) -> list[str]:
    """Say, for each axis, which of several sensitive attributes its figure is about, and the figure of each."""
    said = []
    for axis, name in zip(("privacy", "utility"), words, strict=True):
        if found := point.attributes.get(axis):
            each = ", ".join(f"{attribute} {float(value):.4g}" for attribute, value in found["each"].items())
            many = count_of(len(found["each"]), "sensitive attribute")
            runs = " (means over runs)" if len(point.privacy.values) > 1 else ""
            said.append(f"The {name} is that of {found['worst']}, the worst of {many}{runs}: {each}.")
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
    return f"{said} {offer} If it is no secret who is in the table, ask for buckets with {ASK}."


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
    return _PROVED if point.claim.get("kind") == "proved" else _CHECKED
