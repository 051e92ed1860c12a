"""What a composition attack found: shares, and a line for each victim.

Source    the dLink paper, definitions 2 and 3 and section 6 (accuracy of the attack).
Claim     rate = share of victims with exactly one value left. Below d: at least one and fewer than d left. Exposed:
          below d, and the true value is one of them. Right: exactly one left, and it is the true one. Guessed: the most
          likely value is the true one.
Because   someone who truly is in every release always keeps the true value, where counts are not noisy; where the true
          value is gone, or nothing is left, the attacker was wrong about the victim and has learnt nothing of them.
Checked   tests/claims/test_composition_attack.py::test_shares_equal_their_definitions
          tests/claims/test_composition_attack.py::test_alice_and_emu
Silent on victims who were given a wrong true value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from sfumato.attacks.base import Exposure, Gain, Whom
from sfumato.attacks.composing.narrowing import Narrowed
from sfumato.errors import NotComparable, count_of
from sfumato.measures.proportions import Share, difference
from sfumato.schema import Attribute
from sfumato.visible import visible

__all__ = ["Composition", "Records", "Tally", "tally"]

FORMULA = "share of victims with |intersection over releases of the values in the victim's classes| = 1"


@dataclass(frozen=True, slots=True)
class Tally:
    """Shares of victims. Those that need the true value are None where it is not known."""

    one: Share
    _: KW_ONLY
    below_d: Share
    nothing: Share
    unmatched: Share
    confidence: float
    right: Share | None = None
    exposed: Share | None = None
    guessed: Share | None = None

    @property
    def rate(self) -> float:
        """Share with exactly one value left."""
        return self.one.rate

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the rate."""
        return self.one.interval

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        names = ("one", "below_d", "nothing", "unmatched", "right", "exposed", "guessed")
        shares = {name: getattr(self, name) for name in names}
        found: dict[str, Any] = {name: None if share is None else share.to_json() for name, share in shares.items()}
        return {**found, "confidence": None if math.isnan(self.confidence) else self.confidence}


def tally(found: Narrowed, which: np.ndarray, truth: np.ndarray | None, d: int) -> Tally:
    """Count over all victims; `which` is the line of each in `found`."""
    left = found.left[which]
    below = (left >= 1) & (left < d)
    held = None if truth is None else found.held(which, truth)

    def share(of: np.ndarray) -> Share:
        return Share(int(of.sum()), trials=len(which))

    return Tally(
        share(left == 1),
        below_d=share(below),
        nothing=share(left == 0),
        unmatched=share(~found.matched[which]),
        confidence=float(found.posterior[which].mean()) if len(which) else math.nan,
        right=None if held is None else share((left == 1) & held),
        exposed=None if held is None else share(below & held),
        guessed=None if truth is None else share(found.guess[which] == truth),
    )


@dataclass(frozen=True)
class Records:
    """One line for each victim, in their order: confidential."""

    left: np.ndarray
    _: KW_ONLY
    guess: np.ndarray
    posterior: np.ndarray
    truth: np.ndarray | None
    held: np.ndarray | None
    attribute: Attribute
    narrowed: Narrowed = field(repr=False)
    which: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, found: Narrowed, which: np.ndarray, truth: np.ndarray | None, attribute: Attribute) -> Records:
        """Return the lines of all victims."""
        return cls(
            found.left[which],
            guess=found.guess[which],
            posterior=found.posterior[which],
            truth=truth,
            held=None if truth is None else found.held(which, truth),
            attribute=attribute,
            narrowed=found,
            which=which,
        )

    def __repr__(self) -> str:
        return f"Records({len(self)} victims, confidential)"

    def __len__(self) -> int:
        return len(self.left)

    def candidates(self, victim: int) -> tuple[str, ...]:
        """Return the values left to one victim."""
        bits = np.unpackbits(self.narrowed.values[self.which[victim]], count=self.attribute.size)
        return tuple(self.attribute.text(int(code)) for code in np.flatnonzero(bits))

    def guesses(self) -> list[str]:
        """Return the best guess for each victim in words."""
        texts = self.attribute.texts()
        return [texts[code] for code in self.guess.tolist()]


@dataclass(frozen=True)
class Composition:
    """All releases together (`tally`), each alone, people who are not in all, and guessing; `gain` compares them.

    Of several sensitive attributes `attribute` is the one given away most; `by_attribute` holds the attack on each.
    """

    tally: Tally
    _: KW_ONLY
    alone: tuple[Tally, ...]
    control: Tally | None
    baseline: Share | None
    records: Records
    d: int
    attribute: str
    reading: str
    prior: str
    whom: Whom
    notes: tuple[str, ...] = ()
    formula: str = FORMULA
    confidential: bool = True
    by_attribute: Mapping[str, Composition] = field(default_factory=dict, repr=False)

    @property
    def rate(self) -> float:
        """Share of victims with exactly one value left."""
        return self.tally.rate

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the rate."""
        return self.tally.interval

    @property
    def below_d(self) -> float:
        """Share of victims with at least one and fewer than d values left."""
        return self.tally.below_d.rate

    @property
    def confidence(self) -> float:
        """Mean over victims of the posterior of the best guess."""
        return self.tally.confidence

    @property
    def above_control(self) -> tuple[float, tuple[float, float]] | None:
        """How much more often the one value left is the true one than for the control, with its interval."""
        if self.control is None or self.tally.right is None or self.control.right is None:
            return None
        return difference(self.tally.right, self.control.right)

    @property
    def gain(self) -> Gain:
        """How much more often the best guess is right than for people who are not in all releases."""
        records, guessed = self.records, self.tally.guessed
        if guessed is None or self.baseline is None or records.truth is None:
            raise NotComparable(f"the victims' true {self.attribute} is not known, so that nothing can be judged.")
        success = records.guess == records.truth
        return Gain(
            "composition",
            axis="inference",
            targets=guessed,
            controls=None if self.control is None else self.control.guessed,
            baseline=self.baseline,
            records=Exposure(
                (),
                codes=np.zeros((len(records), 0), np.int64),
                weight=np.ones(len(records), np.int64),
                success=success,
                chance=np.where(success, records.posterior, 0.0),
            ),
            holds=f"knows the quasi-identifiers of {self.whom.many} in {count_of(len(self.alone), 'release')}",
            hit=f"guesses {self.attribute} of {{}} of them",
            miss=f"of {{}} of {self.whom.many} that are not in all",
            whom=self.whom,
            stops="classes that agree (dlink), one release instead of several, or differential privacy",
            attribute=self.attribute,
            notes=self.notes,
            details={
                "one value left": self.tally.one.to_json(),
                f"fewer than {self.d} left": self.tally.below_d.to_json(),
            },
            by_attribute={name: one.gain for name, one in self.by_attribute.items()}
            if len(self.by_attribute) > 1
            else {},
        )

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping without records."""
        return {
            "attack": "composition",
            "rate": None if math.isnan(self.rate) else self.rate,
            "interval": list(self.interval),
            "formula": self.formula,
            "attribute": self.attribute,
            "by_attribute": {name: one.to_json() for name, one in self.by_attribute.items()}
            if len(self.by_attribute) > 1
            else {},
            "d": self.d,
            "reading": self.reading,
            "prior": self.prior,
            "releases": len(self.alone),
            "together": self.tally.to_json(),
            "alone": [part.to_json() for part in self.alone],
            "control": None if self.control is None else self.control.to_json(),
            "baseline": None if self.baseline is None else self.baseline.to_json(),
            "notes": list(self.notes),
            "confidential": self.confidential,
        }

    def describe(self) -> str:
        """Say in plain words what the releases together give away."""
        size = f"{count_of(len(self.alone), 'release')}, {count_of(len(self.records), 'victim')}"
        lines = [
            f"Composition attack on {self.attribute}: {size}, classes found by {self.reading}.",
            f"Exactly one value left: {self.tally.one}.",
            f"Fewer than {self.d} left: {self.tally.below_d}.",
        ]
        if self.tally.right is not None and self.tally.exposed is not None:
            lines.append(f"One left and it is the true one: {_percent(self.tally.right)} %.")
            lines.append(f"Fewer than {self.d} left, the true one among them: {_percent(self.tally.exposed)} %.")
        lines += [
            f"Release {at} alone: one left to {_percent(part.one)} %, below {self.d} {_percent(part.below_d)} %."
            for at, part in enumerate(self.alone, 1)
        ]
        if self.control is not None:
            lines.append(
                f"{self.whom.many.capitalize()} that are not in all releases, one value left: {self.control.one}."
            )
            if self.control.right is not None:
                lines.append(f"For them it is the true one: {_percent(self.control.right)} %.")
        lines.append(f"Mean confidence of the best guess: {100 * self.confidence:.2f} %.")
        if self.tally.guessed is not None and self.baseline is not None:
            lines.append(f"Best guess right: {self.tally.guessed}; guessing the most frequent value: {self.baseline}.")
            if self.tally.guessed.rate <= self.baseline.rate:
                lines.append("The attack guesses no better than someone who has seen no class.")
        if len(self.by_attribute) > 1:
            lines.append(f"{self.attribute} is given away most of {count_of(len(self.by_attribute), 'attribute')}:")
            lines += [
                f"  {name}: one left to {_percent(one.tally.one)} %, below {self.d} {_percent(one.tally.below_d)} %."
                for name, one in self.by_attribute.items()
            ]
        lines.append("Confidential: computed from the original. One value left is certainty only for true members.")
        return "\n".join(map(visible, [*lines, *self.notes]))


def _percent(share: Share) -> str:
    return f"{100 * share.rate:.2f}"
