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

from bisect import bisect_left
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.randomness.candidates import Candidates
from sfumato.randomness.enclosure import Rate, context, rational_rate, sign_of_exponentials
from sfumato.randomness.entropy import Entropy
from sfumato.randomness.geometric import DIGITS, exp_minus
from sfumato.randomness.parameters import Exact, exact, read_epsilon
from sfumato.randomness.refinement import WORD_BITS, append_word, at_least

__all__ = ["exponential_choice", "exponential_choice_pmf", "permute_and_flip", "permute_and_flip_pmf"]

FIRST_COINS = 64


def exponential_choice(
    scores: Sequence[int | Fraction] | NDArray[Any],
    epsilon: Exact,
    sensitivity: Exact,
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
    epsilon: Exact,
    sensitivity: Exact,
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
    epsilon: Exact,
    sensitivity: Exact,
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
    epsilon: Exact,
    sensitivity: Exact,
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


def _slope(epsilon: Exact, sensitivity: Exact, *, monotone: bool) -> Fraction:
    """Return c: what one unit of score adds to the exponent."""
    span = exact("sensitivity", sensitivity)
    if span <= 0:
        raise ParameterError("sensitivity", sensitivity, "must be above 0")
    return read_epsilon(epsilon) / (span if monotone else 2 * span)
