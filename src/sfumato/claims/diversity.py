"""l-diversity in its four readings: probability, distinct, entropy and recursive.

Source    Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam, l-diversity, TKDD 1(1), 2007: entropy
          (definition 4.1), recursive (c, l) (definition 4.2), distinct. The probability reading, which
          Li & Li (KDD 2009, section 5.1) use, is max p <= 1/l; the "at least" printed there is a slip.
Claim     probability: no value has a share above 1/l. distinct: at least l values occur. entropy:
          H(p) >= ln l. recursive: r_1 < c (r_l + ... + r_m), r sorted from the largest.
          Keyed by person, probability: no value is that of more than 1/l of the people. The other three look at the
          distinct (person, value) pairs of a class, and, unless they ask for nothing, at two things more: no value is
          that of everybody in the class, and the class holds at least l people.
Because   the first, second and fourth are decided in integers. Entropy keeps the tolerance asked for;
          a class of at least l equally frequent values meets it exactly and is decided by counting.
Checked   tests/claims/test_requirements_against_pycanon.py::test_agrees_with_pycanon
          tests/claims/test_requirements_oracle.py::test_equals_the_definition
          tests/claims/test_people.py::test_requirements_equal_their_definitions_over_people
Silent on what the values mean (several may be alike), and on what the reader knew before. Where people have several
          values, distinct, entropy and recursive bound no prevalence: nearly everybody may have a value.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sfumato.claims.anonymity import shares_at_most
from sfumato.claims.classes import BoolArray, Classes, Figure, each_exactly, largest_ratio
from sfumato.claims.requirement import Requirement, Unit, counted_once, shared_by
from sfumato.declare import MaybeRational, Rational, declare, parameter
from sfumato.errors import ParameterError, count_of
from sfumato.exact import plain, whole

Reading: TypeAlias = Literal["probability", "distinct", "entropy", "recursive"]


@declare
class LDiversity(Requirement):
    """Every class holds sensitive values as varied as l equally frequent ones, in the reading `kind`.

    >>> str(sf.LDiversity(4, kind="distinct"))
    'distinct l-diversity(4)'
    """

    l: Rational = parameter(  # noqa: E741  (the literature's letter)
        "l-diversity of each sensitive attribute.",
        least=1,
        hint="try 3",
        unit="values",
        example=3,
        grid=(2, 3, 4, 5),
    )
    _: KW_ONLY
    kind: Reading = parameter(
        "Which l-diversity (default: probability).", default="probability", flag="l-kind", key="reading"
    )
    c: MaybeRational = parameter(
        "The constant c of recursive (c, l)-diversity.", default=None, above=0, hint="try 2", may_lack=True
    )
    label: ClassVar[str] = "l-diversity"
    order: ClassVar[int] = 2
    at_least: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.kind in {"distinct", "recursive"}:
            whole("l", self.l, hint="try 3")
        if (self.kind == "recursive") != (self.c is not None):
            raise ParameterError("c", self.c, "belongs to kind='recursive', which needs it", hint="try c=2")

    @property
    def vacuous(self) -> bool:
        """Whether every table satisfies it."""
        return self.l == 1 and (self.c is None or self.c > 1)

    def satisfied(self, classes: Classes) -> BoolArray:
        """Decide each class of one block of non-empty classes."""
        if self.kind == "probability":
            return shares_at_most(classes, 1 / self.l)
        if self.kind == "distinct":
            answer: BoolArray = np.count_nonzero(classes.counts, axis=1) >= int(self.l)
        elif self.kind == "entropy":
            answer = entropies(classes) >= math.log(self.l) - classes.tolerance
            answer = answer | self._evenly(classes)
        else:
            answer = self._recursive(classes, int(self.l))
        return answer if classes.people is None or self.vacuous else answer & self._among_people(classes)

    def _among_people(self, classes: Classes) -> BoolArray:
        """Whether no value is that of everybody and there are l people: where each has one value, it follows."""
        answer: BoolArray = (classes.counts.max(axis=1) < classes.members) & (classes.members >= math.ceil(self.l))
        return answer

    def _evenly(self, classes: Classes) -> BoolArray:
        """Whether at least l values occur, all equally often: H(p) = ln(number of values), no rounding."""
        values = np.count_nonzero(classes.counts, axis=1)
        answer: BoolArray = (classes.counts.max(axis=1) * values == classes.sizes) & (values >= math.ceil(self.l))
        return answer

    def _recursive(self, classes: Classes, level: int) -> BoolArray:
        assert self.c is not None
        above, under = self.c.numerator, self.c.denominator

        def below(counts: Any, _: Any) -> Any:
            ranked = np.sort(counts, axis=1)[:, ::-1]
            return ranked[:, 0] * under < ranked[:, level - 1 :].sum(axis=1) * above

        answer: BoolArray = each_exactly(classes, max(above, under), below)
        return answer

    def figure(self, classes: Classes) -> Figure:
        """Return the l that the worst class attains (recursive: for the c asked for)."""
        if self.kind == "probability":
            return 1 / largest_ratio(classes.counts.max(axis=1), classes.members)
        if self.kind == "recursive":
            return self._recursive_figure(classes)
        values = np.count_nonzero(classes.counts, axis=1)
        if classes.people is None:
            return int(values.min()) if self.kind == "distinct" else math.exp(entropies(classes).min())
        alike = classes.counts.max(axis=1) == classes.members  # a value that everybody has: no better than one value
        level = values if self.kind == "distinct" else np.exp(entropies(classes))
        worst = np.where(alike, 1, np.minimum(level, classes.members)).min()
        return int(worst) if self.kind == "distinct" else float(worst)

    def _recursive_figure(self, classes: Classes) -> int:
        most = classes.counts.shape[1]
        if classes.people is not None:
            alike = bool((classes.counts.max(axis=1) == classes.members).any())
            most = min(most, int(classes.members.min()), *([int(self.c is not None and self.c > 1)] if alike else []))
        level = 0
        while level < most and self._recursive(classes, level + 1).all():
            level += 1
        return level

    def describe(self, unit: Unit = "row") -> str:
        """Say in one plain sentence what is required, with the formula."""
        level = plain(self.l)
        if self.kind == "probability":
            # Rounded up, so that the sentence never says more than the formula beside it.
            share = f"1/{level}" if self.l.denominator == 1 else f"{plain(Fraction(math.ceil(1000 / self.l), 10))} %"
            whose = shared_by(unit)
            return f"In every class no sensitive value is that of more than {share} of the {whose}: max p <= 1/{level}."
        if self.kind == "distinct":
            return f"Every class holds at least {count_of(level, 'sensitive value', 'different sensitive values')}."
        if self.kind == "entropy":
            return (
                f"In every class the sensitive values{counted_once(unit)} are as mixed as {level} equally frequent "
                f"ones: -sum p ln p >= ln {level}."
            )
        return (
            f"In every class the most frequent of the sensitive values{counted_once(unit)} is rarer than "
            f"{plain(self.c or Fraction())} times all of them from the {_nth(int(self.l))}most frequent on together: "
            "r_1 < c (r_l + ... + r_m)."
        )

    def __str__(self) -> str:
        if self.kind == "recursive":
            return f"recursive {self.label}({plain(self.l)}, c={plain(self.c or Fraction())})"
        name = self.label if self.kind == "probability" else f"{self.kind} {self.label}"
        return f"{name}({plain(self.l)})"


def _nth(number: int) -> str:
    """Return the place of a value in the order of frequencies, with a blank behind it: nothing for the first."""
    if number == 1:
        return ""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending} "


def entropies(classes: Classes) -> npt.NDArray[np.float64]:
    """Entropy of each class in nats: -sum p ln p with 0 ln 0 = 0."""
    shares = classes.counts / classes.sizes[:, None]
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    result: npt.NDArray[np.float64] = -(shares * logs).sum(axis=1)
    return result
