"""Choose one candidate by its score: the exponential mechanism and permute-and-flip, exactly.

Source    McSherry & Talwar, FOCS 2007; McKenna & Sheldon, arXiv 2010.12603, algorithm 1 (permute-and-flip).
Claim     exponential_choice picks i with P(i) ~ weight_i e^(c score_i) exactly, c = epsilon/(2 sensitivity);
          permute_and_flip is exactly its algorithm with coins e^(c (score_i - best)). Both are
          epsilon-DP for scores that move by at most `sensitivity`. With monotone=True
          c = epsilon/sensitivity: epsilon-DP only if one record moves all scores in the same direction.
Because   The cumulative weights are sums of rational multiples of e^(rational), whose comparison with a
          word is decided exactly (enclosure.sign_of_exponentials). Monotone: numerator and
          normaliser move the same way, each by a factor of at most e^epsilon.
Checked   tests/claims/test_selection_claims.py::test_loss_never_exceeds_epsilon
          tests/claims/test_selection_claims.py::test_choice_at_words_nearest_each_threshold
          tests/claims/test_selection_claims.py::test_monotone_factor_is_refused_by_a_score_that_is_not
Silent on whether scores do have that sensitivity, on replacing a record where scores are monotone
          (twice the epsilon), and on timing.
Cost      One word and one pass over the candidates; permute-and-flip up to two words a candidate.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import ParameterError
from sfumato.exact import Number, rational
from sfumato.randomness.enclosure import Rate, context, exponential, natural_log, rational_rate, sign_of_exponentials
from sfumato.randomness.entropy import Entropy
from sfumato.randomness.geometric import DIGITS, exp_minus
from sfumato.randomness.parameters import read_epsilon
from sfumato.randomness.refinement import WORD_BITS, append_word, at_least

# Candidates of a selection as whole numbers: how far below the best, and with which weight.

LARGEST = 1 << 62  # of a gap kept as int64
LARGEST_WEIGHT = 1 << 100


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidate i has the share weight_i e^(-slope gap_i), gap_i >= 0; the best has gap 0.

    `gaps` and `weight` are int64 arrays where they fit, else arrays of Python ints; both exact.
    """

    gaps: NDArray[Any]
    _: KW_ONLY
    weight: NDArray[Any] | None
    slope: Fraction

    @classmethod
    def read(cls, scores: Any, slope: Fraction, weights: Any) -> Candidates:
        """Bring scores and weights to whole numbers; refuse what is not exact."""
        levels, unit = _integers("scores", scores)
        if not len(levels):
            raise ParameterError("scores", "empty", "must hold at least one candidate")
        weight = None if weights is None else _integers("weights", weights)[0]
        if weight is not None and len(weight) != len(levels):
            raise ParameterError("weights", len(weight), f"must have one weight for each of {len(levels)} scores")
        if weight is not None and min(weight.tolist()) <= 0:
            raise ParameterError("weights", "an entry", "must be above 0")
        return cls(levels.max() - levels, weight=weight, slope=slope / unit)

    def __len__(self) -> int:
        return len(self.gaps)

    def exponent(self, i: int) -> Fraction:
        """Return slope * gap_i."""
        return self.slope * int(self.gaps[i])

    def exponents(self) -> Iterator[Fraction]:
        """Yield slope * gap_i of all candidates."""
        return (self.slope * gap for gap in self.gaps.tolist())

    def weights(self) -> list[int]:
        """Return the weights as whole numbers."""
        return [1] * len(self) if self.weight is None else list(self.weight.tolist())

    def near(self) -> NDArray[np.float64]:
        """Return slope * gap_i as floats with a relative error of at most 2^-50 (far down: infinity)."""
        if self.gaps.dtype == object or not 1e-290 < self.slope < 1e290:
            return np.array([_float(exponent) for exponent in self.exponents()])
        return self.gaps.astype(np.float64) * _float(self.slope)

    def bracket(self, word: int) -> tuple[int, int]:
        """Return two numbers between which the candidate chosen by a V in (word, word+1]/2^64 lies.

        Every float below has a relative error under 2^-40 + n 2^-53, so any two thresholds, and V
        times the total, are compared with a margin of (2^-37 + n 2^-49) of the total.
        """
        n = len(self)
        if self.weight is not None and self.weight.dtype == object and max(self.weight.tolist()) > LARGEST_WEIGHT:
            return 0, n - 1
        depth = self.near()
        shares = np.where(depth <= 700, exponential(-np.minimum(depth, 700)), 0)
        if self.weight is not None:
            shares *= self.weight.astype(np.float64)
        cumulative = np.cumsum(shares)
        total = float(cumulative[-1])
        margin = total * (2.0**-37 + n * 2.0**-49)
        at = word * 2.0**-64 * total
        low, high = np.searchsorted(cumulative, [at - margin, at + margin])
        return min(int(low), n - 1), min(int(high), n - 1)

    def difference(self, numerator: int, bits: int, i: int) -> dict[Fraction, int]:
        """Return 2^bits * (numerator/2^bits * total - cumulative weight of 0..i) as {exponent: coefficient}."""
        terms: dict[int, int] = {}
        for j, (gap, weight) in enumerate(zip(self.gaps.tolist(), self.weights(), strict=True)):
            terms[gap] = terms.get(gap, 0) + weight * (numerator - ((1 << bits) if j <= i else 0))
        return {-self.slope * gap: coefficient for gap, coefficient in terms.items()}


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _integers(name: str, values: Sequence[Any] | NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return whole numbers and their common unit: values = whole numbers / unit."""
    if isinstance(values, np.ndarray):
        if values.ndim == 1 and np.issubdtype(values.dtype, np.integer) and _small(values):
            return values.astype(np.int64), 1
        values = values.tolist()
    if not isinstance(values, Sequence) or not all(_is_exact(value) for value in values):
        raise ParameterError(
            name,
            "entries",
            "must be a list of whole numbers or fractions",
            hint="round real scores first, with rounded_log2_sums, and let the sensitivity pay for it",
        )
    if all(type(value) is int for value in values):
        return _array(list(values)), 1
    rational = [Fraction(int(value) if isinstance(value, np.integer) else value) for value in values]
    unit = math.lcm(*(value.denominator for value in rational))
    whole = [value.numerator * (unit // value.denominator) for value in rational]
    return _array(whole), unit


def _array(whole: list[int]) -> NDArray[Any]:
    return np.array(whole, dtype=np.int64 if all(abs(v) < LARGEST // 2 for v in whole) else object)


def _small(values: NDArray[Any]) -> bool:
    return not len(values) or (int(values.min()) > -LARGEST // 2 and int(values.max()) < LARGEST // 2)


def _is_exact(value: object) -> bool:
    return isinstance(value, int | np.integer | Fraction) and not isinstance(value, bool | np.bool_)


FIRST_COINS = 64


def exponential_choice(
    scores: Sequence[int | Fraction] | NDArray[Any],
    epsilon: Number,
    sensitivity: Number,
    entropy: Entropy,
    *,
    monotone: bool = False,
    weights: Sequence[int | Fraction] | NDArray[Any] | None = None,
) -> int:
    """Return the number of the chosen candidate; `weights` is a base measure, such as run lengths."""
    candidates = Candidates.read(scores, _slope(epsilon, sensitivity, monotone=monotone), weights)
    word = entropy.word()
    low, high = candidates.bracket(word)
    return low if low == high else _settle(candidates, word, entropy, low, high)


def _settle(candidates: Candidates, word: int, entropy: Entropy, low: int, high: int) -> int:
    """Find the candidate between `low` and `high` exactly, appending words while their cell is split."""
    top, bits = word + 1, WORD_BITS
    while True:
        # V lies in (top - 1, top]/2^bits: the first candidate whose cumulative share reaches top/2^bits,
        # and the first whose share exceeds (top - 1)/2^bits.
        upper = _first(candidates, top, bits, low, high, exceed=False)
        lower = _first(candidates, top - 1, bits, low, upper, exceed=True)
        if lower == upper:
            return upper
        low, high = lower, upper
        top, bits = append_word(top, bits, entropy)


def _first(candidates: Candidates, numerator: int, bits: int, low: int, high: int, *, exceed: bool) -> int:
    """Return the first i in low..high with numerator/2^bits * total <= (or <) cumulative weight of 0..i."""

    def reached(i: int) -> bool:
        sign = sign_of_exponentials(candidates.difference(numerator, bits, i))
        return sign < 0 or (sign == 0 and not exceed)

    return low + bisect_left(range(low, high), True, key=reached)


def exponential_choice_pmf(
    scores: Sequence[int | Fraction] | NDArray[Any],
    epsilon: Number,
    sensitivity: Number,
    *,
    monotone: bool = False,
    weights: Sequence[int | Fraction] | NDArray[Any] | None = None,
) -> list[Decimal]:
    """Return the probability of each candidate to 50 digits (relative error below 10^-48)."""
    candidates = Candidates.read(scores, _slope(epsilon, sensitivity, monotone=monotone), weights)
    work = context(90)
    shares = [
        work.multiply(Decimal(weight), exp_minus(exponent))
        for weight, exponent in zip(candidates.weights(), candidates.exponents(), strict=True)
    ]
    total = Decimal(0)
    for share in shares:
        total = work.add(total, share)
    return [context(DIGITS).divide(share, total) for share in shares]


def permute_and_flip(
    scores: Sequence[int | Fraction] | NDArray[Any],
    epsilon: Number,
    sensitivity: Number,
    entropy: Entropy,
    *,
    monotone: bool = False,
) -> int:
    """Return the number of the chosen candidate: the first, in random order, whose coin comes up.

    Order of the words: those of the permutation; then coins in chunks of 64, 128, 256, ... candidates,
    each chunk followed by the words appended to its coins.
    """
    candidates = Candidates.read(scores, _slope(epsilon, sensitivity, monotone=monotone), None)
    order = entropy.permutation(len(candidates))
    start, length = 0, FIRST_COINS
    while True:  # the best candidate's coin has probability 1
        chosen = order[start : start + length]
        up = _coins(candidates, chosen, entropy)
        if up.any():
            return int(chosen[int(np.argmax(up))])
        start, length = start + length, 2 * length


def _coins(candidates: Candidates, chosen: NDArray[np.int64], entropy: Entropy) -> NDArray[np.bool_]:
    def rate_of(i: int) -> Rate | None:
        exponent = candidates.exponent(int(chosen[i]))
        return rational_rate(exponent) if exponent else None

    return at_least(entropy.words(len(chosen)), candidates.near()[chosen], rate_of, entropy)


def permute_and_flip_pmf(
    scores: Sequence[int | Fraction] | NDArray[Any],
    epsilon: Number,
    sensitivity: Number,
    *,
    monotone: bool = False,
) -> list[Decimal]:
    """Return the probability of each candidate to 50 digits (absolute error below 10^-48).

    P(i) = p_i times the integral over x in [0, 1] of the product over j != i of (1 - x p_j): candidate
    i comes up at a uniform time x, and none that came before did. Cost n^3: for tests and small lists.
    """
    candidates = Candidates.read(scores, _slope(epsilon, sensitivity, monotone=monotone), None)
    work = context(90 + 2 * len(candidates))  # coefficients grow like 2^n and alternate
    coins = [exp_minus(exponent, work.prec) for exponent in candidates.exponents()]
    found = []
    for i, coin in enumerate(coins):
        polynomial = [Decimal(1)]
        for p in coins[:i] + coins[i + 1 :]:
            shifted = [Decimal(0), *(work.multiply(p, c) for c in polynomial)]
            polynomial = [work.subtract(a, b) for a, b in zip([*polynomial, Decimal(0)], shifted, strict=True)]
        integral = Decimal(0)
        for power, coefficient in enumerate(polynomial, 1):
            integral = work.add(integral, work.divide(coefficient, Decimal(power)))
        found.append(context(DIGITS).multiply(coin, integral))
    return found


def _slope(epsilon: Number, sensitivity: Number, *, monotone: bool) -> Fraction:
    """Return c: what one unit of score adds to the exponent."""
    span = rational("sensitivity", sensitivity)
    if span <= 0:
        raise ParameterError("sensitivity", sensitivity, "must be above 0")
    return read_epsilon(epsilon) / (span if monotone else 2 * span)


# Real-valued scores (information gain, entropy) as whole multiples of 2^-20.
#
# Source    Mironov, CCS 2012 (why a float score must not reach a mechanism); docs/theory/diffgen.md for the score.
# Claim     rounded_log2_sums is a function of its whole-number arguments alone, the same on every
#           platform, and within 1/2 + 10^-30 steps of the real score; so a score of sensitivity s (a
#           multiple of 2^-20) has sensitivity s 2^20 + 1 after rounding, in steps.
# Because   The value is defined by correctly rounded decimal arithmetic with 70 digits; float64 answers
#           only where its error bound leaves that value no choice. Two roundings move a difference
#           by at most one step plus 2 * 10^-30, and it is a whole number.
# Checked   tests/unit/randomness/test_selection.py::test_fast_rounding_equals_decimal_rounding
#           tests/unit/randomness/test_selection.py::test_rounded_sensitivity_is_reached_and_never_exceeded
# Silent on the sensitivity of the real score itself.


STEPS = 1 << 20  # steps in one unit of score
LARGEST_ARGUMENT = 1 << 53


def rounded_log2_sums(coefficients: ArrayLike, arguments: ArrayLike, divisors: ArrayLike) -> NDArray[np.int64]:
    """Return sum_j coefficient_ij log2(argument_ij) / divisor_i in steps of 2^-20, half a step rounded up.

    Whole numbers throughout; a term with coefficient 0 counts 0 whatever its argument, a row of only
    such terms is 0 whatever its divisor (0 log 0 = 0, 0/0 = 0).
    """
    k, m, n = (np.asarray(part) for part in (coefficients, arguments, divisors))
    _check(k, m, n)
    k = k.astype(np.int64)
    m, n = np.where(k == 0, 1, m).astype(np.int64), np.where((k == 0).all(axis=1), 1, n).astype(np.int64)
    if k.size and (m.min() < 1 or m.max() > LARGEST_ARGUMENT or n.min() < 1):
        raise ParameterError("arguments", "an entry", "must lie in 1..2^53 where the coefficient is not 0")
    span = np.abs(k).sum(axis=1, dtype=np.float64) / n
    value = (k * natural_log(m.astype(np.float64))).sum(axis=1) / n * (STEPS / math.log(2))
    error = span * (k.shape[1] + 8) * 2.0**-25
    if np.abs(value).max(initial=0) > 2.0**52:
        raise ParameterError("coefficients", "a row", "gives a score above 2^32", hint="divide it by more")
    low, high = np.floor(value + 0.5 - error), np.floor(value + 0.5 + error)
    steps: NDArray[np.int64] = low.astype(np.int64)
    for i in np.flatnonzero(low != high):
        steps[i] = _decimal_steps(k[i].tolist(), m[i].tolist(), int(n[i]))
    return steps


def rounded_sensitivity(sensitivity: Number) -> int:
    """Return the sensitivity in steps that scores of this real sensitivity have after rounding."""
    span = rational("sensitivity", sensitivity)
    if span <= 0:
        raise ParameterError("sensitivity", sensitivity, "must be above 0")
    return math.ceil(span * STEPS) + 1


def _decimal_steps(coefficients: list[int], arguments: list[int], divisor: int) -> int:
    """Return the same by definition: 70 digits, every operation rounded correctly, terms in order."""
    work, total = context(70), Decimal(0)
    for k, m in zip(coefficients, arguments, strict=True):
        total = work.add(total, work.multiply(Decimal(k), Decimal(m).ln(work)))
    bits = work.divide(work.divide(total, Decimal(2).ln(work)), Decimal(divisor))
    steps = work.add(work.multiply(bits, Decimal(STEPS)), Decimal("0.5"))
    return int(steps.to_integral_value(rounding=ROUND_FLOOR))


def _check(k: NDArray[np.generic], m: NDArray[np.generic], n: NDArray[np.generic]) -> None:
    if k.ndim != 2 or k.shape != m.shape or n.shape != k.shape[:1]:
        raise ParameterError("coefficients", k.shape, "must be a table as large as arguments, with one divisor a row")
    if not all(np.issubdtype(part.dtype, np.integer) for part in (k, m, n)):
        raise ParameterError("coefficients", "entries", "must be whole numbers, as arguments and divisors")
