"""A point of the picture: one mechanism and what its releases measured."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from sfumato.errors import count_of
from sfumato.frontiers.sweep import family_of, label_of, python_of, written_as
from sfumato.measures.base import json_number
from sfumato.mechanisms import Mechanism


@dataclass(frozen=True, slots=True)
class Spread:
    """The figure of each run; `mean` is what is drawn and compared. A method that draws nothing has one run."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The average over runs."""
        return self.values[0] if len(self.values) == 1 else statistics.fmean(self.values)

    @property
    def low(self) -> float:
        """The smallest run."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The largest run."""
        return max(self.values)

    @property
    def deviation(self) -> float:
        """The sample standard deviation, 0 for one run."""
        finite = all(math.isfinite(value) for value in self.values)
        return statistics.stdev(self.values) if len(self.values) > 1 and finite else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {
            "mean": json_number(self.mean),
            "low": json_number(self.low),
            "high": json_number(self.high),
            "deviation": self.deviation,
            "runs": len(self.values),
        }


@dataclass(frozen=True, slots=True)
class Reference:
    """A mark that says what a number on an axis means on the steward's own table."""

    name: str
    _: KW_ONLY
    axis: str
    value: float
    formula: str
    measure: str = ""  # of several privacy axes the one it belongs to

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        value = json_number(self.value)
        return {"name": self.name, "axis": self.axis, "value": value, "formula": self.formula}


@dataclass(frozen=True)
class Point:
    """A mechanism with its place in the picture. Confidential: every figure is a statistic of the original.

    `bound` is what a differential privacy claim proves about the privacy loss. It is not a measurement, is drawn apart
    and takes no part in any comparison. Where there are several sensitive attributes, `attributes` names for each axis
    the one with the worst figure, which is the point's, and holds the figure of each. A point that could not be made
    or measured says why in `failed`.
    """

    mechanism: Mechanism
    _: KW_ONLY
    number: int
    privacy: Spread
    utility: Spread
    bound: float | None = None
    efficient: bool = False
    savable: bool = True
    drew: bool = False
    failed: str = ""
    form: str = ""
    claim: Mapping[str, Any] = field(default_factory=dict, repr=False)
    promise: str = ""
    promises: str = field(default="", repr=False)
    summary: Mapping[str, Any] = field(default_factory=dict, repr=False)
    panel: Mapping[str, Any] = field(default_factory=dict, repr=False)
    attributes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    published: str = field(default="", repr=False)  # a hash of the published tables, nothing where it is drawn
    alone: str = field(
        default="", repr=False
    )  # how many classes hold one person, and what to ask for; nothing where none does
    people: int | None = None  # in the smallest class, or rows (`counted`); None where no class holds records
    at_least: bool = field(default=False, repr=False)  # `people` is a lower bound: nothing says whose rows are whose
    risks: Mapping[str, Spread] = field(default_factory=dict, repr=False)  # every privacy axis, the point's own too
    attacks: Mapping[str, Any] = field(default_factory=dict, repr=False)  # what the attack of an axis found, in words
    answers: Mapping[str, Spread] = field(default_factory=dict, repr=False)  # error of the tables a policy asks for
    typical: Mapping[str, Any] = field(default_factory=dict, repr=False)  # how far off counts are, as people say it
    by_rows: bool = False  # its belief in a value counts rows, of which a person may have several
    populations: int | None = None  # over how many the utility figure is a mean, where it is one
    seconds: float = field(default=0.0, repr=False)
    confidential: bool = True

    @property
    def label(self) -> str:
        """Name and parameters."""
        return label_of(self.mechanism)

    @property
    def buckets(self) -> bool:
        """Whether everybody's exact quasi-identifiers would be published: who is in the table is then public."""
        return self.form == "buckets"

    @property
    def family(self) -> str:
        """The method and the kind of its requirement."""
        return family_of(self.mechanism)

    @property
    def python(self) -> str:
        """Python that makes the mechanism."""
        return python_of(self.mechanism)

    @property
    def counted(self) -> tuple[str, str]:
        """What its classes hold, one of it and several: people where the schema decides who they are, else rows."""
        return ("person", "people") if self.claim.get("unit") == "person" else ("row", "rows")

    @property
    def smallest(self) -> str:
        """What its smallest class holds, in words; nothing where no class holds records."""
        if self.people is None:
            return ""
        return f"{'at least ' if self.at_least else ''}{count_of(self.people, *self.counted)}"

    @property
    def rehearsal(self) -> str:
        """On what its attacks were made, in words; nothing where there were none."""
        if not self.attacks:
            return ""
        runs = len(self.privacy.values)
        first = f", in the first of {runs} draws (the figures are means of all)" if runs > 1 else ""
        return f"Measured on a rehearsal with half of the table{first}; the other half are the others."

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping; the bound stands apart from what was measured."""
        return {
            "number": self.number,
            "label": self.label,
            "family": self.family,
            "mechanism": written_as(self.mechanism),
            "python": self.python,
            "efficient": self.efficient,
            "privacy": self.privacy.to_json(),
            "utility": self.utility.to_json(),
            "risks": {name: one.to_json() for name, one in self.risks.items()},
            "attacks": dict(self.attacks),
            **({"rehearsal": self.rehearsal} if self.attacks else {}),
            "answers": {name: one.to_json() for name, one in self.answers.items()},
            "typical": dict(self.typical),
            **({} if self.populations is None else {"populations": self.populations}),
            "people": self.people,
            "counted": self.counted[1],
            **({"at_least": True} if self.at_least else {}),
            "attributes": dict(self.attributes),
            "proved_bound": self.bound,
            "drew": self.drew,
            "savable": self.savable,
            "failed": self.failed,
            "form": self.form,
            "membership_public": self.buckets,
            "promise": self.promise,
            "promises": self.promises,
            "claim": dict(self.claim),
            "summary": dict(self.summary),
            "panel": {name: part for name, part in self.panel.items() if name != "asked"},
            "confidential": self.confidential,
        }


def nothing_measured() -> Spread:
    """Return the spread of a point that has no figure."""
    return Spread((math.nan,))


# The efficient set: releases than which no other is as good on both axes and better on one.
#
# Source    Li & Li, KDD 2009, section 5.1 ("there does not exist another anonymized dataset with both lower privacy
#           loss and lower utility loss"), in the weak form: one strict inequality is enough to be beaten.
# Claim     A point is efficient exactly if no other has x <= and y <= with at least one of them strict. Points that
#           are equal on both axes are efficient together or not at all. A point without a number (NaN) never is.
# Because   in the order of x only a smaller y than all before can escape; of equal x only the smallest y; comparisons
#           are exact, so a tie is a tie.
# Checked   tests/claims/test_efficient_set.py::test_equals_all_pairs
#           tests/claims/test_efficient_set.py::test_wrong_mutants_are_caught
# Silent on how much better a point is, and on releases that were not tried.
# Cost      one sort.


def efficient_set(x: Sequence[float], y: Sequence[float]) -> list[bool]:
    """Return for each point whether it is efficient, where less is better on both axes."""
    found = [False] * len(x)
    placed = [at for at in range(len(x)) if not (math.isnan(x[at]) or math.isnan(y[at]))]
    best, last = math.inf, None
    unbeaten = True  # whether an infinite y may still be the best there is
    for at in sorted(placed, key=lambda at: (x[at], y[at])):
        if (x[at], y[at]) == last:
            found[at] = True
        elif y[at] < best or (unbeaten and y[at] == best):
            found[at] = True
            best, last, unbeaten = y[at], (x[at], y[at]), False
    return found
