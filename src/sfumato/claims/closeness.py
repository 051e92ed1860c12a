"""t-closeness: the sensitive values of every class are distributed nearly as in all published rows.

Source    Li, Li & Venkatasubramanian, ICDE 2007, for the earth mover's distance.
          Li & Li, KDD 2009, section 5.1, for the Jensen-Shannon divergence (the default here).
Claim     every class has distance at most t. js: JS(P, Q) = (KL(P, M) + KL(Q, M)) / 2, M = (P + Q) / 2,
          natural logarithm, so at most ln 2; it is the divergence, not its square root.
          Keyed by person, the distribution is that of the distinct (person, value) pairs. Where somebody has several
          values, the share of people who have a value must moreover be within t of that share overall, value by value:
          js of (p, 1 - p) and (q, 1 - q), or |p - q| for emd.
Because   emd is decided in integers: spread x denominator <= numerator x scale x n x N. js keeps the
          tolerance asked for; P = Q is recognised in integers and then the divergence is 0.
Checked   tests/claims/test_requirements_against_pycanon.py::test_agrees_with_pycanon
          tests/claims/test_requirements_oracle.py::test_equals_the_definition
          tests/claims/test_people.py::test_requirements_equal_their_definitions_over_people
Silent on large relative changes of rare values: a share that rises from 0.0003 to 0.03 costs little.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from sfumato.claims.classes import BoolArray, Classes, Figure, each_exactly, largest_ratio
from sfumato.claims.requirement import Requirement, Unit, counted_once
from sfumato.declare import Rational, declare, parameter
from sfumato.exact import plain


@declare
class TCloseness(Requirement):
    """Every class is within t of the overall distribution.

    >>> str(sf.TCloseness("0.2"))
    't-closeness(0.2)'
    """

    t: Rational = parameter(
        "t-closeness to the overall distribution.",
        least=0,
        most=1,
        hint="try 0.2",
        example=Fraction(1, 5),
        grid=("0.05", "0.1", "0.15", "0.2", "0.3"),
    )
    _: KW_ONLY
    distance: Literal["js", "emd"] = parameter("Distance of t-closeness (default: js).", default="js")
    label: ClassVar[str] = "t-closeness"
    order: ClassVar[int] = 3
    reads_overall: ClassVar[bool] = True

    @property
    def vacuous(self) -> bool:
        """Whether every table satisfies it."""
        return self.t == 1 if self.distance == "emd" else float(self.t) >= math.log(2)

    def satisfied(self, classes: Classes) -> BoolArray:
        """Decide each class of one block of non-empty classes."""
        near = self._distributed(classes)
        return near & self._prevalent(classes) if classes.several else near

    def _prevalent(self, classes: Classes) -> BoolArray:
        """Whether each value's share of people is within t of its share overall."""
        answer: BoolArray
        if self.distance == "js":
            answer = prevalences(classes).max(axis=1) <= float(self.t) + classes.tolerance
            return answer | _same(classes, shares=True)
        left, right = self.t.denominator, self.t.numerator * classes.population
        answer = each_exactly(
            classes,
            max(left, 1) * classes.population,
            lambda counts, sizes: abs(_moves(classes, counts, sizes, shares=True)).max(axis=1) * left <= sizes * right,
            shares=True,
        )
        return answer

    def _distributed(self, classes: Classes) -> BoolArray:
        if self.distance == "js":
            near: BoolArray = divergences(classes) <= float(self.t) + classes.tolerance
            return near | _same(classes)
        scale = classes.ground.scale(classes.published)
        left, right = self.t.denominator, self.t.numerator * scale * classes.total
        answer: BoolArray = each_exactly(
            classes,
            left * scale * classes.total,  # spread <= scale x n x N, and t <= 1
            lambda counts, sizes: _spread(classes, counts, sizes) * left <= sizes * right,
        )
        return answer

    def figure(self, classes: Classes) -> Figure:
        """Return the largest distance of a class."""
        if self.distance == "js":
            furthest = float(divergences(classes).max())
            return max(furthest, float(prevalences(classes).max())) if classes.several else furthest
        scale = classes.ground.scale(classes.published) * classes.total
        work = each_exactly(classes, scale, lambda counts, sizes: _spread(classes, counts, sizes), dtype=object)
        found = largest_ratio(work, classes.sizes.astype(object) * scale)
        if not classes.several:
            return found
        moved = each_exactly(
            classes,
            classes.population,
            lambda counts, sizes: abs(_moves(classes, counts, sizes, shares=True)).max(axis=1),
            dtype=object,
            shares=True,
        )
        return max(found, largest_ratio(moved, classes.members.astype(object) * classes.population))

    def describe(self, unit: Unit = "row") -> str:
        """Say in one plain sentence what is required, with the formula."""
        if self.distance == "js":
            name, formula = (
                "Jensen-Shannon divergence",
                "JS(P, Q) = (KL(P, M) + KL(Q, M)) / 2, M = (P + Q) / 2, in nats",
            )
        else:
            name, formula = "earth mover's distance", "EMD(P, Q), between 0 and 1"
        whole = "the whole published table" if unit == "person" else "all published rows"
        return (
            f"In every class the sensitive values{counted_once(unit)} are distributed as in {whole}, up to a distance: "
            f"{name} at most {plain(self.t)}; {formula}."
        )

    def __str__(self) -> str:
        return f"{self.label}({plain(self.t)}{'' if self.distance == 'js' else ', emd'})"


def _moves(classes: Classes, counts: Any, sizes: Any, *, shares: bool = False) -> Any:
    """(P - Q) n N in whole numbers."""
    whole = classes.population if shares else classes.total
    return counts * whole - classes.published * sizes[:, None]


def _spread(classes: Classes, counts: Any, sizes: Any) -> Any:
    return classes.ground.spread(_moves(classes, counts, sizes), classes.published)


def _same(classes: Classes, *, shares: bool = False) -> BoolArray:
    """Whether P = Q exactly."""
    answer: BoolArray = each_exactly(
        classes,
        classes.total,
        lambda counts, sizes: (_moves(classes, counts, sizes, shares=shares) == 0).all(axis=1),
        shares=shares,
    )
    return answer


def prevalences(classes: Classes) -> npt.NDArray[np.float64]:
    """JS of (p, 1 - p) and (q, 1 - q) for each class and value, p and q the shares of people who have it, in nats."""
    p = classes.counts / classes.members[:, None]
    q = np.broadcast_to(classes.published / classes.population, p.shape)
    found = np.zeros(p.shape)
    for one, other in ((p, q), (1 - p, 1 - q)):
        middle = (one + other) / 2
        for part in (one, other):
            ratio = np.divide(part, middle, out=np.ones_like(middle), where=part > 0)
            found += part * np.log(ratio) / 2
    return found


def divergences(classes: Classes) -> npt.NDArray[np.float64]:
    """JS of each class to the overall distribution, in nats."""
    shares = classes.counts / classes.sizes[:, None]
    overall = classes.published / classes.total
    middle = (shares + overall) / 2
    return (_relative(shares, middle) + _relative(np.broadcast_to(overall, shares.shape), middle)) / 2


def _relative(shares: npt.NDArray[np.float64], to: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """KL(shares, to) of each row, with 0 ln 0 = 0; `to` is positive wherever `shares` is."""
    some = shares > 0
    ratio = np.divide(shares, to, out=np.ones_like(to), where=some)
    result: npt.NDArray[np.float64] = (shares * np.log(ratio)).sum(axis=1)
    return result
