"""Shares and their intervals: what classification and every attack count with.

Source    Wilson, J. Am. Stat. Assoc. 22, 1927 (the score interval); Newcombe, Stat. Med. 17, 1998, method 10 (the
          difference of two shares from their score intervals); Clopper & Pearson, Biometrika 26, 1934 (the exact
          interval, for audits). Several trials of a person: Cochran, Sampling Techniques, 3rd ed. 1977, section 3.12
          (the variance of a ratio); Korn & Graubard, Survey Methodology 24, 1998 (the effective number of trials).
Claim     The interval of x successes in n trials holds every share p with |x/n - p| <= z sqrt(p (1 - p) / n); it lies
          in [0, 1], begins at 0 for x = 0, ends at 1 for x = n, and is [0, 1] for n = 0.
          `by_person` is such an interval for the number of independent trials that have the variance of the share
          between people; where everybody has one trial, it is that of n, but for the t quantile.
Because   the score test is inverted, so the spread is that of p, not of x/n: it does not vanish at 0 or at n.
Checked   tests/unit/measures/test_proportions.py::test_wilson_inverts_the_score_test
          tests/unit/measures/test_proportions.py::test_wilson_at_none_and_all
          tests/unit/measures/test_proportions.py::test_several_rows_of_a_person_are_no_trials_of_their_own
          tests/claims/test_composition_attack.py::test_interval_covers
          tests/claims/test_audit.py::test_clopper_pearson_covers
Silent on victims that share a class: their outcomes go together, so the true spread may be larger.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from sfumato.errors import ParameterError

LEVEL = 0.95


def wilson(successes: float, trials: float, level: float = LEVEL) -> tuple[float, float]:
    """Return the score interval of a share; sound for no success and for nothing but successes."""
    _refuse_impossible(successes, trials, level)
    if trials == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + level) / 2)
    rate, widen = successes / trials, z * z / trials
    middle = (rate + widen / 2) / (1 + widen)
    half = z / (1 + widen) * math.sqrt(rate * (1 - rate) / trials + widen / (4 * trials))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == trials else min(1.0, middle + half)
    return low, high


def clopper_pearson(successes: int, trials: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the exact interval of a share: each end fails with probability at most (1 - level) / 2.

    >>> clopper_pearson(0, 10)[0]
    0.0
    """
    from scipy.stats import beta

    _refuse_impossible(successes, trials, level)
    if trials < 1:
        raise ParameterError("trials", trials, "must be at least 1")
    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else float(beta.ppf(tail, successes, trials - successes + 1))
    high = 1.0 if successes == trials else float(beta.ppf(1 - tail, successes + 1, trials - successes))
    return low, high


def by_person(successes: np.ndarray, trials: np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of the share of all trials that succeed; each entry holds those of one person.

    >>> low, high = by_person(np.array([8, 0, 8, 8]), np.array([8, 8, 8, 8]))
    >>> low < wilson(24, 32)[0] and wilson(24, 32)[1] < high
    True
    """
    from scipy.stats import t

    people, total = len(trials), float(trials.sum())
    if people < 2:
        return 0.0, 1.0
    rate = float(successes.sum()) / total
    variance = people / (people - 1) * float(((successes - rate * trials) ** 2).sum()) / total**2
    independent = min(rate * (1 - rate) / variance, total) if variance > 0 else people
    independent *= (NormalDist().inv_cdf((1 + level) / 2) / float(t.ppf((1 + level) / 2, people - 1))) ** 2
    return wilson(rate * independent, independent, level)


def _refuse_impossible(successes: float, trials: float, level: float) -> None:
    if not 0 <= successes <= trials:
        raise ParameterError("successes", successes, f"must be in 0 .. {trials}")
    if not 0 < level < 1:
        raise ParameterError("level", level, "must be between 0 and 1", hint="try 0.95")


@dataclass(frozen=True, slots=True)
class Share:
    """How many of how many; expected, where an attacker picks at random among equals."""

    successes: float
    _: KW_ONLY
    trials: int

    @property
    def rate(self) -> float:
        """The share; NaN where there was no trial."""
        return self.successes / self.trials if self.trials else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % score interval."""
        return wilson(self.successes, self.trials)

    def __float__(self) -> float:
        return self.rate

    def __str__(self) -> str:
        if not self.trials:
            return "unknown (0 of 0)"
        low, high = self.interval
        counted = f"{self.successes:.1f}".removesuffix(".0")
        return f"{100 * self.rate:.2f} % ({100 * low:.2f} to {100 * high:.2f} %; {counted} of {self.trials})"

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        rate = self.rate if self.trials else None
        return {
            "rate": rate,
            "interval": list(self.interval),
            "successes": self.successes,
            "trials": self.trials,
        }


def difference(first: Share, second: Share) -> tuple[float, tuple[float, float]]:
    """Return first - second and its 95 % interval."""
    gap = first.rate - second.rate
    (low, high), (other_low, other_high) = first.interval, second.interval
    if not first.trials or not second.trials:
        return gap, (-1.0, 1.0)
    down = math.hypot(first.rate - low, other_high - second.rate)
    up = math.hypot(high - first.rate, second.rate - other_low)
    return gap, (max(-1.0, gap - down), min(1.0, gap + up))
