"""Noise on every cell of a huge table, in time that follows the cells reported, not the cells there are.

Source    Cormode, Procopiuc, Srivastava & Tran, ICDT 2012 (threshold sampling of noisy zeros); law and
          proof: docs/theory/exact-sampling.md.
Claim     sparse_noise has exactly the law of: add independent discrete Laplace noise of ratio e^-epsilon to
          each of the N cells, empty ones included, and report those that reach the threshold.
Because   An empty cell reaches t with q = p^t/(1+p), p = e^-epsilon, and exceeds it by a geometric
          of ratio p. Cells that do so are the successes of N trials, found by their geometric gaps;
          hits on occupied cells are dropped, and these get noise directly, with the same threshold.
Checked   tests/claims/test_sparse_noise.py::test_pmf_is_the_law_of_noising_every_cell
          tests/claims/test_sparse_noise.py::test_sampler_fits_the_exact_law_and_no_other
          tests/claims/test_sparse_noise.py::test_gaps_have_their_law_at_every_scale
Silent on timing, which follows the number of hits and of occupied cells; on the choice of the
          threshold, which must be public, as N and epsilon are.
Cost      O(N q + occupied), about 0.2 us a hit for N below 2^42 and 0.5 us above, N up to 2^512.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.exact import Number, index
from sfumato.randomness.enclosure import Rate, context
from sfumato.randomness.entropy import Entropy
from sfumato.randomness.geometric import (
    DIGITS,
    discrete_laplace,
    discrete_laplace_pmf,
    discrete_laplace_tail,
    geometric,
)
from sfumato.randomness.parameters import read_epsilon
from sfumato.randomness.refinement import at_least, floors

# Which of N cells are hit, each with the same small probability q: by the gaps between hits, exactly.
#
# Source    Geometric skipping (Fan, Muller & Rezucha 1962); the split of a gap into blocks is ours,
#           docs/theory/exact-sampling.md.
# Claim     Each of the N cells is hit independently with probability q = p^t/(1+p), p = e^-epsilon, exactly.
# Because   Gaps between successes are geometric with ratio s = 1 - q. A gap is B 2^k + R with B and R
#           independent: B geometric with ratio s^(2^k), R in [0, 2^k) with P(R) ~ s^R, drawn by
#           rejection from the uniform law. p is transcendental, so no comparison is an equality.
# Checked   tests/claims/test_sparse_noise.py::test_gaps_have_their_law_at_every_scale
#           tests/claims/test_sparse_noise.py::test_gap_words_nearest_their_thresholds
# Silent on timing.

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


LARGEST_TABLE = 1 << 512
LARGEST_POWER = 10**15
MOST_HITS = 10_000_000

# Cell numbers with a whole number each: {cell: count}, or (cells, counts).
OccupiedCells = Mapping[int, int] | tuple[Sequence[int] | NDArray[Any], Sequence[int] | NDArray[Any]]


def sparse_noise(
    cells: int,
    occupied: OccupiedCells,
    epsilon: Number,
    threshold: int,
    entropy: Entropy,
    *,
    most: int = MOST_HITS,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the numbers of all cells whose noisy count reaches the threshold, ascending, and those counts.

    `cells` is how many there are (0..cells-1), `occupied` the true counts of those that are not
    empty. Cell numbers are int64, or Python ints where `cells` is above 2^63. More than about
    `most` noisy cells, by the public parameters alone, are refused before anything is drawn.
    Order of the words: gaps, excesses of the hits, noise of the occupied cells by cell number.
    """
    rate = read_epsilon(epsilon)
    number, threshold = _public(cells, threshold, rate)
    where, counts = _read_cells("occupied", occupied, number)
    q = hit_rate(rate, threshold)
    if context(30).multiply(Decimal(number), q) > most:
        enough = math.floor(Fraction(context(20).ln(Decimal(number // most + 1))) / rate) + 1
        raise ParameterError(
            "threshold",
            threshold,
            f"would let noise alone report more than {most} cells",
            hint=f"{enough} is enough",
        )
    hits = Hits(rate, threshold=threshold, cells=number).draw(entropy)
    values = threshold + geometric(rate, len(hits), entropy)  # of all hits, so that no draw depends on data
    noisy = counts + discrete_laplace(rate, len(counts), entropy)
    free = ~np.isin(hits, where) if hits.dtype != object else _outside(hits, where)
    kept = noisy >= threshold
    found = np.concatenate([hits[free], where[kept]])
    order = np.argsort(found, kind="stable")
    return found[order], np.concatenate([values[free], noisy[kept]])[order]


def sparse_noise_pmf(
    cells: int, occupied: OccupiedCells, epsilon: Number, threshold: int, outcome: OccupiedCells
) -> Decimal:
    """Return the probability that exactly the cells and counts of `outcome` are reported.

    The law of noising every cell, written as a product over the cells, to about 45 digits; it knows nothing
    of gaps. Cost: one factor for each occupied or reported cell.
    """
    rate = read_epsilon(epsilon)
    number, threshold = _public(cells, threshold, rate)
    truth = dict(zip(*(part.tolist() for part in _read_cells("occupied", occupied, number)), strict=True))
    reported = dict(zip(*(part.tolist() for part in _read_cells("outcome", outcome, number)), strict=True))
    work = context(DIGITS + 10)
    empty = number - len(truth.keys() | reported.keys())
    probability = work.power(discrete_laplace_tail(rate, 1 - threshold), Decimal(empty))
    for cell, value in reported.items():
        chance = discrete_laplace_pmf(rate, value - truth.get(cell, 0)) if value >= threshold else Decimal(0)
        probability = work.multiply(probability, chance)
    for cell in truth.keys() - reported.keys():  # P(X < t) = P(X >= 1 - t)
        probability = work.multiply(probability, discrete_laplace_tail(rate, 1 - (threshold - truth[cell])))
    return context(DIGITS).plus(probability)


def _public(cells: int, threshold: int, epsilon: Fraction) -> tuple[int, int]:
    number = index("cells", cells, least=1)
    if number > LARGEST_TABLE:
        raise ParameterError("cells", f"2^{number.bit_length() - 1} or more", "must be at most 2^512")
    if (threshold := index("threshold", threshold, least=-(1 << 63))) < 1:
        raise ParameterError("threshold", threshold, "must be at least 1", hint="1 reports every positive count")
    if threshold * epsilon > LARGEST_POWER:
        raise ParameterError("threshold", threshold, "times epsilon must be at most 10^15")
    return number, threshold


def _read_cells(name: str, given: OccupiedCells, number: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return cell numbers, ascending, and their counts; refuse what is not whole, distinct, in range."""
    if isinstance(given, Mapping):
        given = (list(given.keys()), list(given.values()))
    where, counts = (list(part.tolist() if isinstance(part, np.ndarray) else part) for part in given)
    if len(where) != len(counts):
        raise ParameterError(name, f"{len(where)} cells", f"must have as many counts, not {len(counts)}")
    if not all(isinstance(v, int | np.integer) for v in (*where, *counts)):
        raise ParameterError(name, f"{len(where)} cells", "must hold whole numbers only")
    if len(set(where)) != len(where):
        raise ParameterError(name, f"{len(where)} cells", "must name each cell once")
    if where and not 0 <= min(where) <= max(where) < number:
        raise ParameterError(name, f"{len(where)} cells", "must lie in 0..cells-1")
    if counts and not 0 <= min(counts) <= max(counts) < 1 << 62:
        raise ParameterError(name, f"{len(where)} cells", "must have counts of at least 0, below 2^62")
    order = sorted(range(len(where)), key=where.__getitem__)
    kind = np.int64 if number <= 1 << 63 else object
    sorted_cells = np.empty(len(where), dtype=kind)
    sorted_cells[:] = [where[i] for i in order]
    return sorted_cells, np.array([counts[i] for i in order], dtype=np.int64)


def _outside(hits: NDArray[Any], where: NDArray[Any]) -> NDArray[np.bool_]:
    taken = set(where.tolist())
    return np.array([hit not in taken for hit in hits.tolist()], dtype=np.bool_)


# The smallest count that a noisy table reports, and how many cells without anybody are expected to reach it.
#
# Source    The discrete Laplace law (geometric.py), of which an empty cell's count is a draw.
# Claim     `expected_noise` is the expected number of empty cells that are reported, were all cells empty.
# Because   an empty cell reaches t with p^t / (1 + p), p = e^-epsilon.
# Checked   tests/claims/test_noise_only.py::test_expected_noise_is_the_exact_law
#           tests/claims/test_noise_only.py::test_expected_noise_is_what_is_drawn
# Silent on the table: functions of public numbers alone.

FALSE_CELLS = 10  # empty cells that noise alone may report, expected, under threshold="auto"
RARELY = 20  # a threshold with one false cell in 20 releases is called quiet
Threshold = int | Literal["auto"]


def threshold_for(cells: int, epsilon: Fraction, asked: Threshold) -> int:
    """Return the smallest count reported: as asked, or such that at most 10 empty cells are expected."""
    if asked != "auto":
        return asked
    # cells p^t <= FALSE_CELLS, p = e^-epsilon. Decimal, so that every platform finds the same number.
    surplus = Decimal(cells) / FALSE_CELLS
    if surplus <= 1:
        return 1
    return max(1, math.ceil(Fraction(surplus.ln()) / epsilon))


def expected_noise(cells: int, epsilon: Fraction, threshold: int | Fraction) -> tuple[float, float]:
    """Return how many cells without anybody are expected to be reported, and with how many rows in all.

    An empty cell reaches t with p^t / (1 + p) and then has t + 1 / (e^epsilon - 1) rows on average, p = e^-epsilon.
    Every cell is counted as empty, so that nothing of the table is revealed: an upper bound, of public numbers only.
    """
    rate = float(epsilon)
    # In logarithms: cells may be 2^512, and their share as small.
    log_found = math.log(cells) - float(threshold * epsilon) - math.log1p(math.exp(-rate))
    found = math.exp(log_found) if log_found < 700 else math.inf
    return found, found * (float(threshold) + (1 / math.expm1(rate) if rate < 700 else 0.0))
