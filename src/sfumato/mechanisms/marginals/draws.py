"""What Marginals draws from the table: noisy tables and choices of a pair, each with what it costs.

Source    Dwork, McSherry, Nissim & Smith, TCC 2006 (Laplace); Canonne, Kamath & Steinke, arXiv 2004.00010 (discrete
          Gaussian, theorem 4); McKenna & Sheldon, arXiv 2010.12603 (permute-and-flip); Cesar & Rogers, ALT 2021, lemma
          3.2, and Bun & Steinke 2016 (the exponential mechanism of epsilon is epsilon^2/8-zCDP).
Claim     With at most c rows of a person, `table` costs its budget: epsilon for `Pure`, rho for `Concentrated`; and so
          does `choose`, for scores that one row moves by at most `sensitivity`.
Because   a row is in one cell of a table. c rows move it by at most c in sum and by at most c in length, all in one
          cell being the worst: discrete Laplace noise of rate epsilon/c, or Gaussian noise of variance c^2/(2 rho).
          Scores move by at most c sensitivity. sqrt(8 rho) is rounded down.
Checked   tests/claims/test_marginals.py::test_no_transcript_costs_more_than_epsilon
          tests/claims/test_marginals.py::test_every_mutant_is_caught
          tests/claims/test_marginals.py::test_concentrated_steps_cost_what_they_draw
          tests/claims/test_paid_steps.py::test_each_draw_of_marginals_is_made_by_its_own_sampler
Silent on whether scores have that sensitivity: see marginals.py.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.randomness import Entropy, discrete_gaussian, discrete_laplace, exponential_choice, permute_and_flip

Integers = NDArray[np.int64]
_SHARP = 10**15


class Draws(Protocol):
    """The two things that touch the table, and how large their noise is."""

    def table(self, counts: Integers, budget: Fraction) -> Integers:
        """Return the counts with noise."""
        ...

    def choose(self, scores: Integers, budget: Fraction, sensitivity: int) -> int:
        """Return the place of a large score."""
        ...

    def deviation(self, budget: Fraction) -> float:
        """Return the standard deviation of the noise on a cell of a table of this budget."""
        ...

    def mean_size(self, budget: Fraction) -> float:
        """Return by how much the noise moves a cell, on average."""
        ...


@dataclass(frozen=True)
class Pure:
    """Budgets are epsilons; a person has at most `person` rows."""

    entropy: Entropy | None
    _: KW_ONLY
    person: int

    def rate(self, budget: Fraction) -> Fraction:
        """Return the rate of the noise: e^-rate is the ratio of two neighbouring values."""
        return budget / self.person

    def table(self, counts: Integers, budget: Fraction) -> Integers:
        """Add discrete Laplace noise to every cell."""
        assert self.entropy is not None
        noise = discrete_laplace(self.rate(budget), counts.size, self.entropy.child("tables"))
        return counts + noise.reshape(counts.shape)

    def choose(self, scores: Integers, budget: Fraction, sensitivity: int) -> int:
        """Permute and flip."""
        assert self.entropy is not None
        return permute_and_flip(scores, budget, self.person * sensitivity, self.entropy.child("choices"))

    def deviation(self, budget: Fraction) -> float:
        """Return sqrt(2 p) / (1 - p), p = e^-rate."""
        rate = min(float(self.rate(budget)), 700.0)
        return math.sqrt(2 * math.exp(-rate)) / -math.expm1(-rate)

    def mean_size(self, budget: Fraction) -> float:
        """Return 2 p / (1 - p^2)."""
        rate = min(float(self.rate(budget)), 700.0)
        return 2 * math.exp(-rate) / -math.expm1(-2 * rate)


@dataclass(frozen=True)
class Concentrated:
    """Budgets are rhos of zero-concentrated differential privacy; a person has at most `person` rows."""

    entropy: Entropy | None
    _: KW_ONLY
    person: int

    def variance(self, budget: Fraction) -> Fraction:
        """Return the variance of the noise (that of the continuous law; the discrete one's is no larger)."""
        return Fraction(self.person**2) / (2 * budget)

    def epsilon(self, budget: Fraction) -> Fraction:
        """Return the epsilon of an exponential mechanism that costs this rho: sqrt(8 rho), rounded down."""
        return root_below(8 * budget)

    def table(self, counts: Integers, budget: Fraction) -> Integers:
        """Add discrete Gaussian noise to every cell."""
        assert self.entropy is not None
        noise = discrete_gaussian(self.variance(budget), counts.size, self.entropy.child("tables"))
        return counts + noise.reshape(counts.shape)

    def choose(self, scores: Integers, budget: Fraction, sensitivity: int) -> int:
        """Choose by the exponential mechanism: it costs a quarter of what permute-and-flip does in rho."""
        assert self.entropy is not None
        stream = self.entropy.child("choices")
        return exponential_choice(scores, self.epsilon(budget), self.person * sensitivity, stream)

    def deviation(self, budget: Fraction) -> float:
        """Return the standard deviation."""
        return math.sqrt(self.variance(budget))

    def mean_size(self, budget: Fraction) -> float:
        """Return sqrt(2 / pi) deviations."""
        return math.sqrt(2 / math.pi) * self.deviation(budget)


def root_below(value: Fraction) -> Fraction:
    """Return a rational at most the square root of a positive number, within one part in 10^15 or so.

    >>> root_below(Fraction(2)) ** 2 < 2, root_below(Fraction(9, 4))
    (True, Fraction(3, 2))
    """
    scale = _SHARP * max(1, math.isqrt(value.denominator // max(1, value.numerator)) + 1)
    return Fraction(math.isqrt(value.numerator * scale * scale // value.denominator), scale)
