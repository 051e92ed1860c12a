"""Semantic privacy (delta-disclosure): no value is much likelier, or much rarer, in a class than overall.

Source    Brickell & Shmatikov, KDD 2008, definition of delta-disclosure privacy; Li & Li, KDD 2009,
          section 5.1, who call it semantic privacy and do not state the logarithm (natural here).
Claim     |ln(p(s) / q(s))| < delta in every class, for every value s that occurs in the published rows.
          A value absent from a class has ln 0 and fails, unless absent="ignore". sides="one" bounds rises only.
          Keyed by person, p(s) and q(s) are the shares of people who have a row of the value.
Because   the ratio is taken from counts, n_s N / (n N_s), and its logarithm keeps the tolerance asked for.
Checked   tests/claims/test_requirements_oracle.py::test_equals_the_definition
          tests/claims/test_requirements_oracle.py::test_union_of_good_classes_is_good
          tests/claims/test_requirements_against_pycanon.py::test_pycanon_passes_over_absent_values
          tests/claims/test_people.py::test_requirements_equal_their_definitions_over_people
Silent on values that no published row has. With absent="ignore" on two sides a union of good classes may be
          bad (`monotone` is False): {0} together with [q e^-delta, q e^delta] is not convex.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from sfumato.claims.classes import BoolArray, Classes, Figure
from sfumato.claims.requirement import Requirement, Unit, shared_by
from sfumato.declare import Rational, declare, hold, parameter
from sfumato.exact import plain


@declare
class SemanticPrivacy(Requirement):
    """Every value's share in a class is within a factor e^delta of its overall share.

    Delta-disclosure is the same requirement, and `--delta` asks for it on the command line.

    `absent` says what a value that a class lacks does. By default it fails; with sides="one" only
    rises count, so by default it is ignored, and absent="fail" asks that no value is ruled out either.

    >>> str(sf.SemanticPrivacy("0.7"))
    'semantic-privacy(0.7)'
    """

    delta: Rational = parameter(
        "delta-disclosure (semantic privacy).", above=0, most=100, hint="try 1", example=1, grid=("1", "1.5", "2")
    )
    _: KW_ONLY
    sides: Literal["two", "one"] = parameter("delta-disclosure: bound both sides (default) or one.", default="two")
    absent: Literal["fail", "ignore"] | None = parameter(
        "delta-disclosure: values absent from a class (default: fail).", default=None
    )
    label: ClassVar[str] = "semantic-privacy"
    order: ClassVar[int] = 4
    reads_overall: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.absent is None:
            hold(self, absent="fail" if self.sides == "two" else "ignore")

    @property
    def monotone(self) -> bool:
        """Whether a union of classes that satisfy it always satisfies it."""
        return self.sides == "one" or self.absent == "fail"

    def satisfied(self, classes: Classes) -> BoolArray:
        """Decide each class of one block of non-empty classes."""
        answer: BoolArray = self._distances(classes) < float(self.delta) + classes.tolerance
        return answer

    def figure(self, classes: Classes) -> Figure:
        """Return the largest |ln(p / q)| of a class: infinity where an absent value fails."""
        return float(self._distances(classes).max())

    def _distances(self, classes: Classes) -> npt.NDArray[np.float64]:
        known = classes.published > 0
        counts, overall = classes.counts[:, known], classes.published[known]
        ratio = (counts / classes.members[:, None]) / (overall / classes.population)
        logs = np.log(ratio, out=np.zeros_like(ratio), where=counts > 0)
        logs = np.abs(logs) if self.sides == "two" else np.maximum(logs, 0.0)
        if self.absent == "fail":
            logs[counts == 0] = math.inf
        result: npt.NDArray[np.float64] = logs.max(axis=1)
        return result

    def describe(self, unit: Unit = "row") -> str:
        """Say in one plain sentence what is required, with the formula."""
        delta = plain(self.delta)
        two = self.sides == "two"
        formula = f"|ln(p / q)| < {delta}" if two else f"ln(p / q) < {delta}"
        change = "occurs more often or more rarely" if two else "occurs more often"
        if unit == "person":
            change = f"is that of a larger{' or smaller' if two else ''} share of the {shared_by(unit)}"
        absent = "must not occur" if self.absent == "fail" else "is passed over"
        return (
            f"In every class no sensitive value {change} than overall by a factor e^{delta} or more: "
            f"{formula}; a value that a class lacks altogether {absent}."
        )

    def __str__(self) -> str:
        notes = [plain(self.delta)]
        if self.sides == "one":
            notes.append("one-sided")
        if self.absent != ("fail" if self.sides == "two" else "ignore"):
            notes.append("absent ignored" if self.absent == "ignore" else "absent fails")
        return f"{self.label}({', '.join(notes)})"
