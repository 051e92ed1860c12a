"""What a release must keep before it may be recommended, as its steward states it.

Source    ours; the floor on k follows the practice of statistical offices and health agencies (5 and 11 are common).
Claim     `breaches` is empty exactly if the release keeps every line: its smallest class holds at least k people (where
          it publishes records in classes; of buckets, its smallest group, whose quasi-identifiers are exact), every
          figure of `at_most` is at most its limit, and every table of `answer` has an error of at most its limit. A
          figure that was not measured is an error, never a line that is kept.
Because   each line is one comparison with a figure of the point.
Checked   tests/unit/frontiers/test_keeping_a_policy.py::test_a_release_is_kept_exactly_if_every_line_is
          tests/unit/frontiers/test_keeping_a_policy.py::test_what_was_not_measured_is_an_error
          tests/unit/frontiers/test_keeping_a_policy.py::test_classes_of_one_person_are_never_recommended
Silent on chance: a gain is an estimate, and its mean is compared. The recommendation says where its interval reaches
          beyond the limit. k says nothing of releases whose rows are not people (noisy cells, synthetic rows).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from sfumato.claims import AlphaK, KAnonymity, Number, Requirement, number_to_json, plain
from sfumato.errors import ParameterError, count_of
from sfumato.estimate import ExactTables, ReadTables
from sfumato.exact import fraction, whole
from sfumato.frontiers.axes import axis_words
from sfumato.frontiers.point import Point
from sfumato.frontiers.sweep import sweep
from sfumato.mechanisms import Mechanism

DEFAULT_K = 5
_ANSWER = re.compile(r"^(?P<columns>.+?)\s+within\s+(?P<limit>[0-9.]+)\s*(?P<percent>%|percent)?\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WantedTable:
    """A table of counts that readers must be able to take from the release, and how wrong it may be.

    The error is the sum of |estimate - count| over the cells, divided by the rows: the mean relative error of a cell,
    where a cell counts by its size. Columns with many values are taken in their public ranges.
    """

    columns: tuple[str, ...]
    _: KW_ONLY
    within: Fraction

    @classmethod
    def read(cls, text: str) -> WantedTable:
        """Read `age x region within 10 %`.

        >>> str(WantedTable.read("age x region within 10 %"))
        'age x region within 10 %'
        """
        found = _ANSWER.match(text)
        hint = "age x region within 10 %"
        if found is None:
            raise ParameterError("answer", text, "is not a table and a limit", hint=hint)
        columns = tuple(part.strip() for part in re.split(r"\s+x\s+", found["columns"]))
        limit = fraction("answer", found["limit"], above=0, hint=hint)
        return cls(columns, within=limit / 100 if found["percent"] else limit)

    @property
    def name(self) -> str:
        """The table as people write it."""
        return " x ".join(self.columns)

    def __str__(self) -> str:
        return f"{self.name} within {plain(self.within * 100)} %"


def answer_error(columns: Sequence[str], exact: ExactTables, read: ReadTables) -> float:
    """Return the sum over cells of |estimate - count| / rows: 0 for the table itself, up to 2."""
    true = exact.counts(*columns)
    return float(np.abs(read.counts(*columns) - true).sum() / max(true.sum(), 1))


@dataclass(frozen=True, slots=True)
class Breach:
    """A line of a policy that a release does not keep: what was asked, and what the release has."""

    line: str
    _: KW_ONLY
    asked: float
    found: float
    shown: str

    @property
    def excess(self) -> float:
        """How far from kept, as a share of what was asked: for finding the closest release."""
        return abs(self.found - self.asked) / max(abs(self.asked), 1e-9)

    def __str__(self) -> str:
        return f"{self.line}: it has {self.shown}"


@dataclass(frozen=True, slots=True)
class Policy:
    """Lines that a recommended release keeps. Without arguments: at least 5 people in every class.

    at_least   {"k": 11}: people in the smallest class (rows, where the schema does not decide who they are).
    at_most    {"inference": "0.02"}: the largest acceptable figure on an axis of the frontier.
    answer     ["age x region within 10 %"]: tables of counts that must come out right.

    >>> print(sf.Policy({"k": 11}, at_most={"inference": "0.02"}))
    k at least 11; inference gain at most 0.02
    """

    at_least: Mapping[str, Number] = field(default_factory=lambda: {"k": DEFAULT_K})
    _: KW_ONLY
    at_most: Mapping[str, Number] = field(default_factory=dict)
    answer: Sequence[str | WantedTable] = ()

    def __post_init__(self) -> None:
        for name in self.at_least:
            if name != "k":
                raise ParameterError("at_least", name, "is not known", hint='{"k": 11}')
        floor = {"k": whole("k", self.at_least.get("k", DEFAULT_K), least=1, hint="try 11")}
        limits = {_axis(name): fraction(name, limit, least=0, hint="try 0.02") for name, limit in self.at_most.items()}
        given = [self.answer] if isinstance(self.answer, str | WantedTable) else self.answer
        tables = tuple(one if isinstance(one, WantedTable) else WantedTable.read(one) for one in given)
        for name, value in (("at_least", floor), ("at_most", limits), ("answer", tables)):
            object.__setattr__(self, name, value)

    @property
    def k(self) -> int:
        """People that the smallest class holds at least."""
        return int(self.at_least["k"])

    @property
    def limits(self) -> dict[str, Fraction]:
        """The largest acceptable figure by axis."""
        return {name: Fraction(limit) for name, limit in self.at_most.items()}

    @property
    def answers(self) -> tuple[WantedTable, ...]:
        """The tables that must come out right."""
        return tuple(one for one in self.answer if isinstance(one, WantedTable))

    @property
    def stated(self) -> bool:
        """Whether it says more than the default."""
        return self != Policy()

    @property
    def lines(self) -> list[str]:
        """Each line as people read it."""
        at_most = [f"{axis_words(name)} at most {plain(limit)}" for name, limit in self.limits.items()]
        return [f"k at least {self.k}", *at_most, *map(str, self.answers)]

    def __str__(self) -> str:
        return "; ".join(self.lines)

    def breaches(self, point: Point) -> tuple[Breach, ...]:
        """Return the lines that a release does not keep."""
        found = []
        if point.people is not None and point.people < self.k:
            single, several = point.counted
            kind = "a group" if point.buckets else "a class"
            shown = f"{kind} of {f'one {single}' if point.people <= 1 else f'{point.people} {several}'}"
            if point.at_least:
                shown = f"{kind} of which no more than {count_of(point.people, single, several)} can be shown"
            line = f"k at least {self.k}"
            found.append(Breach(line, asked=self.k, found=point.people, shown=shown))
        for name, limit in self.limits.items():
            value = _figure(point, name)
            if not value <= float(limit):
                line = f"{axis_words(name)} at most {plain(limit)}"
                found.append(Breach(line, asked=float(limit), found=value, shown=f"{value:.3g}"))
        for answer in self.answers:
            if answer.name not in point.answers:
                raise _not_measured("answer", answer.name)
            error = point.answers[answer.name].mean
            if not error <= float(answer.within):
                shown = f"{100 * error:.3g} %"
                found.append(Breach(str(answer), asked=float(answer.within), found=error, shown=shown))
        return tuple(found)

    def strengthened(self, mechanisms: Iterable[Mechanism]) -> tuple[Mechanism, ...]:
        """Return the same sweep with k in every requirement that can hold it.

        A partition that does not keep k cannot be recommended; one that is asked for k as well may be.

        >>> import sfumato as sf
        >>> str(Policy({"k": 11}).strengthened([sf.Mondrian(sf.TCloseness("0.2"))])[0].requirement)
        'k-anonymity(11) & t-closeness(0.2)'
        """
        return sweep(*map(self._with_k, mechanisms))

    def _with_k(self, mechanism: Mechanism) -> Mechanism:
        asked = getattr(mechanism, "requirement", None)
        if not isinstance(asked, Requirement) or self.k == 1:
            return mechanism
        if any(isinstance(part, KAnonymity | AlphaK) and part.k >= self.k for part in asked.parts):
            return mechanism
        rest = [part for part in asked.parts if not isinstance(part, KAnonymity)]
        joined = reduce(and_, [KAnonymity(self.k), *rest])
        try:
            stronger: Mechanism = replace(mechanism, requirement=joined)  # type: ignore[type-var]
        except ParameterError:  # buckets, which cannot promise k
            return mechanism
        return stronger

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {
            "at_least": {"k": self.k},
            "at_most": {name: number_to_json(limit) for name, limit in self.limits.items()},
            "answer": [str(one) for one in self.answers],
        }


def _axis(name: str) -> str:
    """The name of an axis: `inference gain` and `inference` are one."""
    plainly = name.strip().lower().replace(" ", "_").replace("-", "_")
    return plainly.removesuffix("_gain").removesuffix("_risk") if plainly.endswith(("_gain", "_risk")) else plainly


def _figure(point: Point, name: str) -> float:
    if name not in point.risks:
        raise _not_measured("at_most", name)
    return point.risks[name].mean


def _not_measured(parameter: str, name: str) -> ParameterError:
    hint = "give the policy, or the axis, to frontier()"
    return ParameterError(parameter, name, "was not measured for this frontier", hint=hint)
