"""Basic beta-likeness: no sensitive value becomes much likelier in a class, relative to its overall share.

Source    Cao & Karras, Publishing microdata with a robust privacy guarantee, PVLDB 5(11), 2012:
          basic beta-likeness.
Claim     (p(s) - q(s)) / q(s) <= beta in every class, for every value s with p(s) > q(s).
          Keyed by person, p(s) and q(s) are the shares of people who have a row of the value.
Because   integers decide: n_s N <= (1 + beta) n N_s.
Checked   tests/claims/test_requirements_against_pycanon.py::test_agrees_with_pycanon
          tests/claims/test_requirements_oracle.py::test_equals_the_definition
          tests/claims/test_people.py::test_requirements_equal_their_definitions_over_people
Silent on values that become rarer or vanish from a class, and on the enhanced form, which also caps by -ln q.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from sfumato.claims.classes import BoolArray, Classes, Figure, each_exactly, largest_ratio
from sfumato.claims.requirement import Requirement, Unit, shared_by
from sfumato.declare import Rational, declare, parameter
from sfumato.exact import plain


@declare
class BetaLikeness(Requirement):
    """No sensitive value's share rises by more than beta times its overall share.

    >>> str(sf.BetaLikeness(2) & sf.KAnonymity(10))
    'k-anonymity(10) & beta-likeness(2)'
    """

    beta: Rational = parameter("beta-likeness.", above=0, hint="try 1", example=1, grid=(1, 2, 4))
    label: ClassVar[str] = "beta-likeness"
    order: ClassVar[int] = 5
    reads_overall: ClassVar[bool] = True

    def satisfied(self, classes: Classes) -> BoolArray:
        """Decide each class of one block of non-empty classes."""
        above, under = self.beta.numerator + self.beta.denominator, self.beta.denominator
        left, right = under * classes.population, above
        answer: BoolArray = each_exactly(
            classes,
            above * classes.population,
            lambda counts, sizes: (counts * left <= classes.published * sizes[:, None] * right).all(axis=1),
            shares=True,
        )
        return answer

    def figure(self, classes: Classes) -> Figure:
        """Return the largest relative rise of a share, exactly."""
        known = classes.published > 0
        rises = [
            largest_ratio(column, classes.members) * Fraction(classes.population, int(overall)) - 1
            for column, overall in zip(classes.counts[:, known].T, classes.published[known], strict=True)
        ]
        return max(rises)

    def describe(self, unit: Unit = "row") -> str:
        """Say in one plain sentence what is required, with the formula."""
        beta = plain(self.beta)
        return (
            f"In every class no sensitive value's share of the {shared_by(unit)} rises by more than {beta} times its "
            f"share of all of them: (p - q) / q <= {beta} wherever p > q."
        )

    def __str__(self) -> str:
        return f"{self.label}({plain(self.beta)})"
