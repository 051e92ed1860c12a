"""Which of N cells are hit, each with the same small probability q: by the gaps between hits, exactly.

Source    Geometric skipping (Fan, Muller & Rezucha 1962); the split of a gap into blocks is ours,
          docs/theory/exact-sampling.md.
Claim     Each of the N cells is hit independently with probability q = p^t/(1+p), p = e^-epsilon, exactly.
Because   Gaps between successes are geometric with ratio s = 1 - q. A gap is B 2^k + R with B and R
          independent: B geometric with ratio s^(2^k), R in [0, 2^k) with P(R) ~ s^R, drawn by
          rejection from the uniform law. p is transcendental, so no comparison is an equality.
Checked   tests/claims/test_sparse_noise.py::test_gaps_have_their_law_at_every_scale
          tests/claims/test_sparse_noise.py::test_gap_words_nearest_their_thresholds
Silent on timing.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.randomness.enclosure import Rate, context
from sfumato.randomness.entropy import Entropy
from sfumato.randomness.refinement import at_least, floors

__all__ = ["Hits", "hit_rate", "miss_rate"]

NARROW = 1 << 42  # tables up to here are walked in int64
BATCH = 1 << 18
cache_of_parameters = lru_cache(maxsize=64)  # public parameters only, never data


@cache_of_parameters
def hit_rate(epsilon: Fraction, threshold: int, digits: int = 30) -> Decimal:
    """Return q = P(discrete Laplace >= threshold), threshold >= 1, with a relative error below 10^-digits."""
    power = epsilon * threshold
    work = context(digits + 5 + len(str(int(power))))
    p = work.exp(work.divide(Decimal(-epsilon.numerator), Decimal(epsilon.denominator)))
    reach = work.exp(work.divide(Decimal(-power.numerator), Decimal(power.denominator)))
    return work.divide(reach, work.add(Decimal(1), p))


@cache_of_parameters
def miss_rate(epsilon: Fraction, threshold: int) -> Rate:
    """Return r = -ln(1 - q) = q + q^2/2 + q^3/3 + ...; q is below 1/2, so the series halves at each term."""

    @cache_of_parameters
    def enclosure(digits: int) -> tuple[Decimal, Decimal]:
        q = hit_rate(epsilon, threshold, digits + 15)
        work = context(digits + 15)
        total, power, k = Decimal(0), q, 1
        end = work.multiply(q, Decimal((0, (1,), -(digits + 12))))
        while power > end:
            total = work.add(total, work.divide(power, Decimal(k)))
            power, k = work.multiply(power, q), k + 1
        # The tail is below 2 * end; some 4 * digits roundings of 10^-(digits + 14) each come on top.
        error = work.multiply(total, Decimal((0, (1,), -(digits + 8))))
        return work.subtract(total, error), work.add(total, error)

    return Rate(enclosure, near=float(enclosure(30)[0]))


@dataclass(frozen=True, slots=True)
class Hits:
    """The cells, of `cells` empty ones, whose noise reaches the threshold."""

    epsilon: Fraction
    _: KW_ONLY
    threshold: int
    cells: int

    def draw(self, entropy: Entropy) -> NDArray[Any]:
        """Return the cells hit, ascending: int64, or Python ints where there are more than 2^63 cells."""
        q, gaps = hit_rate(self.epsilon, self.threshold), Gaps.of(self)
        parts, last = [], -1
        while last < self.cells:
            batch = _batch(int(context(30).multiply(Decimal(self.cells - 1 - last), q)))
            steps = gaps.draw(batch, entropy)
            if self.cells <= NARROW:  # a step is below 2^44 and a batch at most 2^18 of them
                at = last + np.cumsum(steps + 1)
            else:
                walked = list(accumulate((step + 1 for step in steps.tolist()), initial=last))[1:]
                at = np.empty(batch, dtype=object)
                at[:] = walked
            last = int(at[-1])
            parts.append(at[at < self.cells])
        hits = np.concatenate(parts)
        return hits.astype(np.int64) if self.cells <= 1 << 63 else hits


def _batch(expected: int) -> int:
    """Return how many gaps to draw at once: enough to be done with all but surely, few if few are expected."""
    return min(BATCH, expected + 4 * math.isqrt(expected) + 8)


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps between hits, geometric with ratio e^-rate, as B 2^k + R; those past the last cell are cut."""

    rate: Rate
    _: KW_ONLY
    k: int
    most_blocks: int

    @classmethod
    def of(cls, hits: Hits) -> Gaps:
        """Choose k so that a block of 2^k cells has about 2^-10 hits, or holds the whole table."""
        rate = miss_rate(hits.epsilon, hits.threshold)
        most = hits.cells.bit_length()
        mean = context(30).divide(Decimal(1), rate.enclosure(30)[0])
        bits = int(mean).bit_length() if mean.adjusted() < most else most + 10
        k = min(most, max(0, bits - 10))
        return cls(rate, k=k, most_blocks=(hits.cells >> k) + 1)

    def draw(self, count: int, entropy: Entropy) -> NDArray[Any]:
        """Draw gaps, each cut where it is sure to lie past the last cell.

        Order of the words: those of B for all gaps; then R and its coin, for all, again for those refused.
        """
        blocks = floors(count, self.rate.times(1 << self.k), entropy, self.most_blocks)
        if self.k == 0:
            return blocks
        within = np.zeros(count, dtype=np.int64 if self.most_blocks << self.k < 1 << 61 else object)
        open_ = np.arange(count)
        while len(open_):
            drawn = entropy.below_many(1 << self.k, len(open_))
            coins = entropy.words(len(open_))
            within[open_] = drawn
            refused = ~at_least(coins, drawn.astype(np.float64) * self.rate.near, self._rates(drawn), entropy)
            open_ = open_[refused]
        return blocks.astype(within.dtype) * (1 << self.k) + within

    def _rates(self, within: NDArray[Any]) -> Any:
        return lambda i: self.rate.times(int(within[i])) if within[i] else None
