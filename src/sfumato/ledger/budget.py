"""The budget of one mechanism, handed out stage by stage.

Source    Dwork & Roth, The Algorithmic Foundations of Differential Privacy, 2014, theorem 3.16 (the parts add up).
Claim     What is handed out never exceeds epsilon, and the trace sums to what was handed out, exactly.
Because   amounts are Fractions; each is compared with what is left before it is handed out.
Checked   tests/unit/ledger/test_budget.py::test_the_trace_sums_to_epsilon_exactly
          tests/unit/ledger/test_budget.py::test_never_hands_out_more_than_there_is
Silent on whether a stage really costs what it draws: each mechanism proves that beside its code.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.claims.exact import Number, fraction
from sfumato.errors import BudgetExceeded

__all__ = ["Budget"]


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
        self._epsilon = fraction("epsilon", epsilon, above=0, hint="try 1/2")
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
