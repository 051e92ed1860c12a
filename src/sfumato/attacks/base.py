"""What an attack is and what it returns: how often it succeeds on people in the table, and on people who are not.

Source    Giomi et al., "A unified framework for quantifying privacy risk in synthetic data", PoPETs 2023 (target,
          control, baseline); Pilgram et al., Patterns 2025 (membership and attribute disclosure, no similarity scores).
Claim     `value` is the rate on the targets minus the rate on the controls, people of the same population of whom the
          release knows nothing; `interval` is Newcombe's. `better_than_baseline` only where the 95 % interval of the
          rate on the targets above the baseline's lies above 0.
Because   what the attack finds out about a control is true of everybody like them; only what it finds out beyond
          that comes from the target's own row.
Checked   tests/unit/attacks/test_gain.py::test_the_gain_is_target_minus_control
          tests/unit/attacks/test_gain.py::test_an_attack_no_better_than_its_baseline_says_so
          tests/unit/attacks/test_gain.py::test_without_a_control_there_is_no_gain
Silent on attacks nobody wrote down: a small gain does not prove privacy. People who share a class succeed or fail
          together, so that the true spread may be larger than the interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from sfumato.counts import Table
from sfumato.errors import count_of
from sfumato.measures.base import json_number
from sfumato.measures.proportions import Share, difference
from sfumato.mechanisms import Progress
from sfumato.release import Release
from sfumato.visible import visible

Harm = Literal["identity", "inference", "membership"]
NOT_BETTER = "Not shown to beat a guess without the release"
PERCENTILE = 0.99  # of the records, by exposure: the most exposed


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What the attacker knows of a person, and what they want to know.

    `known` are quasi-identifiers, all of them unless named; `attribute` is the secret, every sensitive one unless
    named, and then the worst is shown. `population` is a list of people of whom the table is a part.
    """

    known: tuple[str, ...] | None = None
    _: KW_ONLY
    attribute: str | None = None
    population: Table | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether an attack can be run on a release; false where `why_not` says why it cannot."""

    why_not: str = ""

    def __bool__(self) -> bool:
        return not self.why_not


FITS = Fit()


@runtime_checkable
class Attack(Protocol):
    """A frozen value: what the attacker does is its class, how is its fields. Registered once, by its `name`.

    Three class variables are False unless an attack sets them: `several` works on two releases or more, taken
    together; `small_only` is too slow for a million rows; `compared` takes part in the frontier's axis of its harm,
    whose figure is the largest gain: it counts all people, and its success means the same as that of the others there.
    """

    name: ClassVar[str]
    axis: ClassVar[Harm]

    def fits(self, release: Release) -> Fit:
        """Say whether the attack has anything to work on."""
        ...

    def run(
        self,
        releases: Sequence[Release],
        knowledge: Knowledge,
        targets: Table,
        controls: Table | None = None,
        *,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Gain:
        """Attack people in the table and people who are not; the releases must not have seen the controls."""
        ...


@dataclass(frozen=True, slots=True)
class Whom:
    """What the targets of an attack are called: people only where each of them is a different person."""

    one: str
    _: KW_ONLY
    many: str
    others: str


PEOPLE = Whom("person", many="people", others="others")
ROWS = Whom("row", many="rows", others="other rows")
CELLS = Whom("cell", many="cells", others="cells of other rows")


@dataclass(frozen=True)
class Exposure:
    """A line for each kind of target: what is known of them, how many there are, and how the attack fared.

    `chance` is how likely the attacker holds the truth to be (1: certain and right). Confidential.
    """

    names: tuple[str, ...]
    _: KW_ONLY
    codes: np.ndarray = field(repr=False)
    weight: np.ndarray = field(repr=False)
    success: np.ndarray = field(repr=False)
    chance: np.ndarray = field(repr=False)

    def __repr__(self) -> str:
        return f"Exposure({len(self)} kinds of targets, confidential)"

    def __len__(self) -> int:
        return len(self.weight)

    def quantile(self, share: float = PERCENTILE) -> float:
        """Return the smallest chance that at least this share of the targets do not exceed."""
        if not len(self) or not self.weight.sum():
            return math.nan
        order = np.argsort(self.chance, kind="stable")
        upto = np.cumsum(self.weight[order])
        place = int(np.searchsorted(upto, share * upto[-1], side="left"))
        return float(self.chance[order[min(place, len(order) - 1)]])

    def worst(self, most: int = 10) -> np.ndarray:
        """Return the lines of the most exposed targets, worst first."""
        return np.lexsort((self.weight, -self.chance))[:most]


def joined_words(names: Sequence[str]) -> str:
    """Return names as a sentence lists them.

    >>> joined_words(["age", "sex", "town"])
    'age, sex and town'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def percent(share: float) -> str:
    """Return a share as people read it.

    >>> percent(0.3149), percent(0.31), percent(float("nan"))
    ('31.5 %', '31 %', 'unknown')
    """
    return "unknown" if math.isnan(share) else f"{_short(100 * share)} %"


def _filled(text: str, share: str) -> str:
    """Put a percentage in its place; names of columns before it may hold braces."""
    before, _, after = text.rpartition("{}")
    return f"{before}{share}{after}"


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0") if abs(number) >= 0.05 else "0"


@dataclass(frozen=True)
class Gain:
    """How well an attack did on what is in the table, on others, and against a guess without the release.

    `holds` says what the attacker has, `hit` and `miss` what they do, each with a place for a percentage, the last
    `{}`: "guesses diagnosis of {} of the people in the table", "of {} of others". `whom` says what the rates count.
    Of several sensitive attributes `attribute` is the one given away most, and `by_attribute` holds each. Computed
    from the original: confidential.
    """

    attack: str
    _: KW_ONLY
    axis: Harm
    targets: Share
    controls: Share | None
    baseline: Share
    records: Exposure = field(repr=False)
    holds: str
    hit: str
    miss: str
    stops: str
    whom: Whom
    attribute: str | None = None
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    by_attribute: Mapping[str, Gain] = field(default_factory=dict, repr=False)
    frequent: Share | None = None  # how often the most frequent value is right, said of everybody
    compared: str = ""  # what the guesses of `baseline` are, where they are not the most frequent value
    release: str = ""  # the one that was attacked, where several were given and they were not taken together
    within: str = ""  # what the guesses of `baseline` know of the release, where they are not made without it
    confidential: bool = True

    @property
    def value(self) -> float:
        """Rate on the targets minus rate on the controls; NaN where there are no controls, or nothing was tried."""
        return math.nan if self.controls is None else difference(self.targets, self.controls)[0]

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of `value` (Newcombe)."""
        return (-1.0, 1.0) if self.controls is None else difference(self.targets, self.controls)[1]

    @property
    def beyond(self) -> float:
        """What attacks, and the attributes of one, are ranked by: the gain; without controls rate minus baseline."""
        found = self.targets.rate - self.baseline.rate if self.controls is None else self.value
        return -math.inf if math.isnan(found) else found

    @property
    def rate(self) -> float:
        """Rate on the targets, which also says what is true of everybody."""
        return self.targets.rate

    @property
    def most_exposed(self) -> float:
        """The chance that the attacker gives the truth about the most exposed 1 % of the targets, at least."""
        return self.records.quantile()

    @property
    def better_than_baseline(self) -> bool:
        """Whether the attack beats a guess without the release by more than chance explains.

        An attacker who always says "in" says it of others as often: membership is measured against them. So is an
        attack whose baseline is a guess with a part of the release.
        """
        over = difference(self.targets, self.baseline)[1][0] > 0
        if self.within:
            return over and self.interval[0] > 0
        if self.axis == "membership" and self.controls is not None:
            return self.interval[0] > 0
        return over

    @property
    def sentence(self) -> str:
        """Say what the attacker gains."""
        if not self.targets.trials:
            return "It was not tried: there was nothing to try it on."
        said = f"An attacker who {self.holds} {_filled(self.hit, percent(self.targets.rate))}"
        if self.controls is None:
            return f"{said}. Without a control it is not known how much of it is true of everybody."
        if not self.controls.trials:
            return f"{said}. It was not tried on {self.whom.others}: how much is true of everybody is not known."
        low, high = self.interval
        points = f"{_short(100 * self.value)} points [{_short(100 * low)}, {_short(100 * high)}]"
        return f"{said} and {_filled(self.miss, percent(self.controls.rate))}: gain {points}."

    @property
    def beside(self) -> str:
        """Say how well one does without the release (or `within`), which a rate is to be read beside.

        Of membership controls say it.

        A guess of what stands out is compared with the same guesses (`baseline`), and can be right less often than
        whoever always says the most frequent value.
        """
        if not self.targets.trials or not (self.baseline if self.frequent is None else self.frequent).trials:
            return ""
        if self.frequent is not None:
            said = f"Always saying the most frequent {self.attribute} is right for {percent(self.frequent.rate)}."
            guess = f" The guess it is compared with, {self.compared}, is right for {percent(self.baseline.rate)}."
            return said + (guess if self.compared else "")
        if self.axis == "membership":
            return ""
        return f"{self._guess} is right for {percent(self.baseline.rate)}."

    @property
    def less(self) -> str:
        """Say how the other attributes fared, of which the sentence says nothing."""
        others = [(name, one) for name, one in self.by_attribute.items() if name != self.attribute]
        return f"Given away less: {'; '.join(f'{name} {one.figures}' for name, one in others)}." if others else ""

    @property
    def figures(self) -> str:
        """The rate, beside that on the controls, or without them that of a guess."""
        if not self.targets.trials:
            return "was not tried"
        beside = f"guess {percent(self.baseline.rate)}"
        if self.controls is not None and self.controls.trials:
            beside = f"{self.whom.others} {percent(self.controls.rate)}"
        return f"{percent(self.targets.rate)} ({beside})"

    @property
    def _guess(self) -> str:
        return f"A blind guess within {self.within}" if self.within else "A guess without the release"

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping without records."""
        return {
            "attack": self.attack,
            "axis": self.axis,
            "gain": None if math.isnan(self.value) else self.value,
            "interval": None if math.isnan(self.value) else list(self.interval),
            "targets": self.targets.to_json(),
            "controls": None if self.controls is None else self.controls.to_json(),
            "baseline": self.baseline.to_json(),
            "better_than_baseline": self.better_than_baseline,
            "most_exposed": json_number(self.most_exposed),
            "counted": self.whom.many,
            "attribute": self.attribute,
            "by_attribute": {name: one.to_json() for name, one in self.by_attribute.items()}
            if len(self.by_attribute) > 1
            else {},
            "sentence": self.sentence,
            "beside": self.beside,
            **({"less": self.less} if self.less else {}),
            "stops": self.stops,
            "notes": list(self.notes),
            "details": dict(self.details),
            "confidential": self.confidential,
            **({"release": self.release} if self.release else {}),
        }

    @property
    def name(self) -> str:
        """The attack, and which of several releases it is about."""
        return f"{self.attack}, {self.release}" if self.release else self.attack

    def describe(self) -> str:
        """Say in plain words what was found and what would stop it."""
        lines = [self.sentence, *([self.beside] if self.frequent is not None and self.beside else [])]
        if self.targets.trials:
            lines.append(f"{self._guess} succeeds on {self.baseline}.")
            if not self.better_than_baseline:
                which = "a guess without the release" if self.within else "that guess"
                lines.append(f"The attack is not shown to beat {which}: it says nothing for or against the release.")
        if not math.isnan(self.most_exposed):
            lines.append(f"The most exposed 1 % of the targets: given away with {percent(self.most_exposed)} or more.")
        if len(self.by_attribute) > 1:
            lines.append(f"{self.attribute} is given away most of {count_of(len(self.by_attribute), 'attribute')}:")
            lines += [f"  {name}: {one.sentence}" for name, one in self.by_attribute.items()]
        lines += [*self.notes, f"What would stop it: {self.stops}."]
        lines.append("Confidential: computed from the original.")
        return "\n".join(map(visible, lines))
