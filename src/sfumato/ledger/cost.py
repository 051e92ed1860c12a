"""What one release costs, and what it costs under a weaker neighbour relation.

Source    Dwork & Roth, The Algorithmic Foundations of Differential Privacy, 2014: theorem 3.16 (sums), theorem 2.2
          and its (epsilon, delta) form (two steps from x to z cost 2 epsilon and (1 + e^epsilon) delta).
          Machanavajjhala et al., ICDE 2008: probabilistic implies approximate with the same numbers. Bun & Steinke,
          TCC 2016: rho adds up (1.7), pure epsilon is epsilon^2/2-zCDP (1.4), two steps are 4 rho (1.9).
Claim     A release that costs c under its own relation costs at most `under(c, own, weaker)` under the weaker one.
Because   replacing a person is removing one and adding one: two steps. One origin moved is one person's rows
          changed. e^epsilon is rounded up to a rational; a delta above 1 says no more than 1. Where every release is
          pure or concentrated, rho is reported beside (epsilon, delta). Limits are kept by the sums alone: whoever may
          choose after each release which of the two is to hold can exceed delta (a limit is one filter, not two).
Checked   tests/unit/ledger/test_cost.py::test_replacing_a_person_is_two_steps
          tests/unit/ledger/test_cost.py::test_delta_of_two_steps_is_never_rounded_down
          tests/unit/ledger/test_concentrated_cost.py::test_rho_adds_up_and_is_lost_where_a_release_has_none
          tests/unit/ledger/test_concentrated_cost.py::test_two_filters_together_are_none
Silent on the way back: nothing follows from a weaker relation for a stronger one, and that is refused.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any, Final

from sfumato.claims import ApproxDP, Claim, ConcentratedDP, Neighbours, ProbabilisticDP, PureDP, plain, printable
from sfumato.claims.guarantees import epsilon_of
from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.exact import Number, fraction
from sfumato.randomness.enclosure import exp_enclosure

# Each relation protects less than the one before: a guarantee carries over to the right, never to the left.
FROM_STRONG_TO_WEAK: Final = (Neighbours.ADD_OR_REMOVE_ONE, Neighbours.REPLACE_ONE, Neighbours.ONE_ORIGIN)
DIGITS: Final = 12  # of e^epsilon, rounded up


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount of epsilon and delta; both exact.

    `rho` is what the same releases cost in concentrated privacy, None where one of them has no such guarantee. It
    is a second statement beside the first and no part of its equality.
    """

    epsilon: Fraction
    _: KW_ONLY
    delta: Fraction = Fraction(0)
    rho: Fraction | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.rho is None and self.delta == 0:  # pure
            object.__setattr__(self, "rho", self.epsilon**2 / 2)

    def __add__(self, other: Cost) -> Cost:
        rho = None if self.rho is None or other.rho is None else self.rho + other.rho
        return Cost._stated(self.epsilon + other.epsilon, self.delta + other.delta, rho)

    def times(self, number: int) -> Cost:
        """Return the cost of this number of equal releases."""
        rho = None if self.rho is None else number * self.rho
        return Cost._stated(number * self.epsilon, number * self.delta, rho)

    def most(self, other: Cost) -> Cost:
        """Return what covers both, epsilon, delta and rho each taken by itself."""
        rho = None if self.rho is None or other.rho is None else max(self.rho, other.rho)
        return Cost._stated(max(self.epsilon, other.epsilon), max(self.delta, other.delta), rho)

    def least(self, other: Cost) -> Cost:
        """Return what both leave, epsilon and delta each taken by itself."""
        return Cost(min(self.epsilon, other.epsilon), delta=min(self.delta, other.delta))

    def left_of(self, limit: Cost) -> Cost:
        """Return what the limit leaves where epsilon and delta are added up: nothing once either is overspent."""
        if not self.within(limit):
            return Cost(Fraction(0))
        return Cost(limit.epsilon - self.epsilon, delta=limit.delta - self.delta)

    def within(self, limit: Cost) -> bool:
        """Whether the limit is kept: neither sum is above it."""
        return self.epsilon <= limit.epsilon and self.delta <= limit.delta

    @property
    def concentrated(self) -> bool:
        """Whether rho says more than epsilon alone: a release with a delta is in it, and all have a rho."""
        return self.rho is not None and self.delta > 0

    def printable(self, *, up: bool = True) -> Cost:
        """Return an amount that can be written; sums of many long fractions are rounded, up or down."""
        rho = None if self.rho is None else printable(self.rho, up=up)
        return Cost._stated(printable(self.epsilon, up=up), printable(self.delta, up=up), rho)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping; exact numbers as text. Where privacy is concentrated, what rho implies too."""
        found = {"epsilon": str(self.epsilon), "delta": str(self.delta)}
        if self.rho is None or not self.concentrated:
            return found
        return {**found, "rho": str(self.rho), "epsilon_from_rho": str(self._implied())}

    def _implied(self) -> Fraction:
        """Return the epsilon that rho implies at the summed delta."""
        return Fraction(0) if self.rho is None or self.delta >= 1 else epsilon_of(self.rho, self.delta)

    @classmethod
    def _stated(cls, epsilon: Fraction, delta: Fraction, rho: Fraction | None) -> Cost:
        """Return a cost with this rho and no other: a sum without one gets none from its epsilon."""
        found = cls(epsilon, delta=delta, rho=rho)
        object.__setattr__(found, "rho", rho)
        return found

    def __str__(self) -> str:
        sums = plain(self.epsilon) if self.delta == 0 else f"{plain(self.epsilon)} (delta {plain(self.delta)})"
        if not self.concentrated:
            return sums
        return f"{sums}; by concentrated composition {float(self._implied()):.6g} (delta {plain(self.delta)})"


def cost_of(claim: Claim) -> Cost | None:
    """Return what a claim costs; None for a claim that is not differentially private."""
    promise = claim.promise
    if isinstance(promise, PureDP):
        return Cost(promise.epsilon)
    if isinstance(promise, ConcentratedDP):
        return Cost(promise.epsilon, delta=promise.delta, rho=promise.rho)
    if isinstance(promise, ApproxDP | ProbabilisticDP):
        return Cost(promise.epsilon, delta=promise.delta)
    return None


def weakest(relations: set[Neighbours]) -> Neighbours | None:
    """Return the one relation under which guarantees for all of these can be added up."""
    return max(relations, key=FROM_STRONG_TO_WEAK.index, default=None)


def under(cost: Cost, stated: Neighbours, relation: Neighbours) -> Cost:
    """Return what a cost stated for one relation comes to under another that protects less."""
    if FROM_STRONG_TO_WEAK.index(relation) < FROM_STRONG_TO_WEAK.index(stated):
        rule = f"nothing follows from {stated} for it"
        raise ParameterError("relation", relation, rule, hint="count in the weaker relation")
    if stated is relation or stated is not Neighbours.ADD_OR_REMOVE_ONE:
        return cost
    rho = None if cost.rho is None else 4 * cost.rho
    return Cost._stated(2 * cost.epsilon, _two_steps(cost), rho)  # noqa: SLF001  (part of this module)


def _two_steps(cost: Cost) -> Fraction:
    """(1 + e^epsilon) delta, rounded up; 1 where it is more."""
    one = Fraction(1)
    if cost.delta == 0:
        return cost.delta
    if cost.epsilon >= cost.delta.denominator.bit_length():  # e^epsilon > 2^epsilon >= 1 / delta
        return one
    digits = DIGITS + ceil(cost.epsilon) + 5
    below, _ = exp_enclosure(-cost.epsilon, digits)  # at least so many units of 10^-digits
    power = Fraction(ceil(Fraction(10 ** (digits + DIGITS), below)), 10**DIGITS)
    return min(one, (1 + power) * cost.delta)


# The budget of one mechanism, handed out stage by stage.
#
# Source    Dwork & Roth, The Algorithmic Foundations of Differential Privacy, 2014, theorem 3.16 (the parts add up).
# Claim     What is handed out never exceeds epsilon, and the trace sums to what was handed out, exactly.
# Because   amounts are Fractions; each is compared with what is left before it is handed out.
# Checked   tests/unit/ledger/test_budget.py::test_the_trace_sums_to_epsilon_exactly
#           tests/unit/ledger/test_budget.py::test_never_hands_out_more_than_there_is
# Silent on whether a stage really costs what it draws: each mechanism proves that beside its code.


class Budget:
    """An amount of epsilon to be drawn from, with a trace of who drew what.

    >>> budget = Budget("1")
    >>> half = budget.draw("cuts", "1/2")
    >>> budget.draw("counts", budget.rest())
    Fraction(1, 2)
    >>> budget.trace
    (('cuts', Fraction(1, 2)), ('counts', Fraction(1, 2)))
    """

    __slots__ = ("_drawn", "_epsilon")

    def __init__(self, epsilon: Number) -> None:
        self._epsilon = fraction("epsilon", epsilon, above=0, hint="try 1/2")  # or rho: it adds up alike
        self._drawn: list[tuple[str, Fraction]] = []

    @property
    def epsilon(self) -> Fraction:
        """The whole of it."""
        return self._epsilon

    @property
    def spent(self) -> Fraction:
        """What was drawn so far."""
        return sum((amount for _, amount in self._drawn), Fraction())

    @property
    def trace(self) -> tuple[tuple[str, Fraction], ...]:
        """Each stage with what it drew, in order: what `Claim(trace=...)` takes."""
        return tuple(self._drawn)

    def rest(self) -> Fraction:
        """Return what is left; nothing is drawn by asking."""
        return self._epsilon - self.spent

    def draw(self, stage: str, amount: Number) -> Fraction:
        """Return the amount and note who drew it; more than is left raises `BudgetExceeded`."""
        asked = fraction(f"budget of {stage}", amount, least=0)
        if asked > self.rest():
            raise BudgetExceeded(self.spent, asked, self._epsilon)
        self._drawn.append((stage, asked))
        return asked

    def __repr__(self) -> str:
        return f"Budget({self._epsilon}, {self.rest()} left)"
