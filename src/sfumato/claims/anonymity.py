"""k-anonymity, and (alpha, k)-anonymity: classes large enough, and no value too frequent in one.

Source    Samarati & Sweeney 1998; Sweeney, k-anonymity, IJUFKS 10(5), 2002, definition 3.
          Wong, Li, Fu & Wang, (alpha, k)-anonymity, KDD 2006, asked for every sensitive value.
Claim     k: every class has at least k people. Where the table is keyed by person, k distinct people; else k x c
          rows, where a person may have c. alpha: moreover no sensitive value makes up more than a share alpha of its
          class; keyed by person, at most a share alpha of its people have a row of the value.
Because   integers decide: n >= k c (for k = 1 any row is enough, it is somebody's), and max n_s x denominator <= n x
          numerator of alpha.
Checked   tests/claims/test_requirements_against_pycanon.py::test_agrees_with_pycanon
          tests/claims/test_requirements_oracle.py::test_equals_the_definition
          tests/claims/test_people.py::test_requirements_equal_their_definitions_over_people
Silent on what the people of a class have in common: k says nothing of sensitive values. With fewer
          than c rows per person in a class, a class may hold more people than promised, never fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from fractions import Fraction
from typing import ClassVar

from sfumato.claims.classes import BoolArray, Classes, Figure, each_exactly, largest_ratio
from sfumato.claims.requirement import Found, Requirement, Unit, shared_by
from sfumato.declare import Rational, Whole, declare, parameter
from sfumato.errors import count_of
from sfumato.exact import plain


@declare
class KAnonymity(Requirement):
    """Every class has at least k people (k rows, where the schema does not decide who they are).

    >>> requirement = sf.KAnonymity(10) & sf.TCloseness("0.2")
    >>> str(requirement)
    'k-anonymity(10) & t-closeness(0.2)'
    """

    k: Whole = parameter(
        "k-anonymity: every class has at least k people (rows, where the schema names none).",
        least=1,
        hint="try 10",
        unit="people",
        example=10,
        grid=(5, 10, 50, 200, 1000),
    )
    label: ClassVar[str] = "k-anonymity"
    order: ClassVar[int] = 0
    reads_sensitive: ClassVar[bool] = False
    at_least: ClassVar[bool] = True

    @property
    def vacuous(self) -> bool:
        """Whether every table satisfies it."""
        return self.k == 1

    def satisfied(self, classes: Classes) -> BoolArray:
        """Decide each class of one block of non-empty classes."""
        answer: BoolArray = classes.members >= rows_for(self.k, classes.rows_per_person)
        return answer

    def figure(self, classes: Classes) -> Figure:
        """Return what the worst class of one block attains."""
        return max(1, int(classes.members.min()) // classes.rows_per_person)

    def describe(self, unit: Unit = "row") -> str:
        """Say in one plain sentence what is required, with the formula."""
        return f"Every class holds at least {_counted(self.k, unit)}: n >= {self.k}."

    def __str__(self) -> str:
        return f"{self.label}({self.k})"


def rows_for(k: int, rows_per_person: int) -> int:
    """Return how many rows a class needs for k people, where one may have so many; any row is somebody's."""
    return k * rows_per_person if k > 1 else 1


def _counted(number: int, unit: Unit) -> str:
    # Who is who is in no published file: by key or by row, people are what the publisher counted.
    people = f"{count_of(number, 'person', 'people')}, as the publisher counts them"
    return people if unit == "person" else count_of(number, "row")


def anonymity_parts(requirement: Requirement) -> tuple[Requirement, ...]:
    """Return the parts that promise k people with the same published quasi-identifiers."""
    return tuple(part for part in requirement.parts if isinstance(part, KAnonymity | AlphaK))


def shares_at_most(classes: Classes, limit: Fraction) -> BoolArray:
    """Whether in each class at most the share `limit` of the people have the most frequent value."""
    above, under = limit.numerator, limit.denominator
    answer: BoolArray = each_exactly(
        classes,
        max(above, under),
        lambda counts, sizes: counts.max(axis=1) * under <= sizes * above,
        shares=True,
    )
    return answer


@declare
class AlphaK(Requirement):
    """Every class has at least k people (or rows), and no sensitive value a share above alpha.

    >>> str(sf.AlphaK("0.5", k=10))
    'alpha-k-anonymity(0.5, 10)'
    """

    alpha: Rational = parameter(
        "With --k: (alpha, k)-anonymity, no value above the share alpha.",
        above=0,
        most=1,
        hint="try 1/2",
        unit="share",
        example=Fraction(1, 2),
    )
    _: KW_ONLY
    k: Whole = parameter("Every class has at least k people.", least=1, hint="try 10", unit="people", example=10)
    label: ClassVar[str] = "alpha-k-anonymity"
    order: ClassVar[int] = 1

    @property
    def vacuous(self) -> bool:
        """Whether every table satisfies it."""
        return self.k == 1 and self.alpha == 1

    def satisfied(self, classes: Classes) -> BoolArray:
        """Decide each class of one block of non-empty classes."""
        return KAnonymity(self.k).satisfied(classes) & shares_at_most(classes, self.alpha)

    def figure(self, classes: Classes) -> Figure:
        """Return the largest share of one value in one class."""
        return largest_ratio(classes.counts.max(axis=1), classes.members)

    def attained(self, worst: Callable[[Requirement], Figure | None]) -> Found:
        """Return (alpha, k) as attained."""
        return (worst(self), worst(KAnonymity(self.k)))

    def describe(self, unit: Unit = "row") -> str:
        """Say in one plain sentence what is required, with the formula."""
        return (
            f"Every class holds at least {_counted(self.k, unit)}, and no sensitive value is that of more than "
            f"{plain(self.alpha)} of the {shared_by(unit)}: n >= {self.k} and max p <= {plain(self.alpha)}."
        )

    def __str__(self) -> str:
        return f"{self.label}({plain(self.alpha)}, {self.k})"
