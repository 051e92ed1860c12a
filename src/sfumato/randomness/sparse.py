"""Noise on every cell of a huge table, in time that follows the cells reported, not the cells there are.

Source    Cormode, Procopiuc, Srivastava & Tran, ICDT 2012 (threshold sampling of noisy zeros); law and
          proof: docs/theory/exact-sampling.md.
Claim     sparse_noise has exactly the law of: add independent discrete Laplace noise of ratio e^-epsilon to
          each of the N cells, empty ones included, and report those that reach the threshold.
Because   An empty cell reaches t with q = p^t/(1+p), p = e^-epsilon, and exceeds it by a geometric
          of ratio p. Cells that do so are the successes of N trials, found by their geometric gaps;
          hits on occupied cells are dropped, and these are noised directly, with the same threshold.
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
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.randomness.enclosure import context
from sfumato.randomness.entropy import Entropy
from sfumato.randomness.gaps import Hits, hit_rate
from sfumato.randomness.geometric import (
    DIGITS,
    discrete_laplace,
    discrete_laplace_pmf,
    discrete_laplace_tail,
    geometric,
)
from sfumato.randomness.parameters import Exact, read_epsilon, whole

__all__ = ["Cells", "sparse_noise", "sparse_noise_pmf"]

LARGEST_TABLE = 1 << 512
LARGEST_POWER = 10**15
MOST_HITS = 10_000_000

# Cell numbers with a whole number each: {cell: count}, or (cells, counts).
Cells = Mapping[int, int] | tuple[Sequence[int] | NDArray[Any], Sequence[int] | NDArray[Any]]


def sparse_noise(
    cells: int,
    occupied: Cells,
    epsilon: Exact,
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


def sparse_noise_pmf(cells: int, occupied: Cells, epsilon: Exact, threshold: int, outcome: Cells) -> Decimal:
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
    number = whole("cells", cells, least=1)
    if number > LARGEST_TABLE:
        raise ParameterError("cells", f"2^{number.bit_length() - 1} or more", "must be at most 2^512")
    if (threshold := whole("threshold", threshold, least=-(1 << 63))) < 1:
        raise ParameterError("threshold", threshold, "must be at least 1", hint="1 reports every positive count")
    if threshold * epsilon > LARGEST_POWER:
        raise ParameterError("threshold", threshold, "times epsilon must be at most 10^15")
    return number, threshold


def _read_cells(name: str, given: Cells, number: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
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
