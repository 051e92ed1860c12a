"""Binomial counts with a rational probability, drawn exactly, 64 trials at a time.

Source    Bit-sliced comparison of a lazy real with a number (Knuth & Yao 1976); docs/theory/exact-sampling.md.
Claim     binomial(n, f) has P(k) = C(n, k) f^k (1-f)^(n-k) exactly, for f a rational in [0, 1].
Because   A trial succeeds when its V < f. Bit j of 64 trials is one word; a trial is decided at the
          first bit in which V and f differ. The bits of f come from whole-number division.
Checked   tests/claims/test_exact_sampling.py::test_bit_sliced_trials_over_all_words
          tests/claims/test_sampler_power.py::test_binomial_fits_its_pmf_and_no_other
Silent on timing: the number of words read depends on the words.
Cost      About 8 words for 64 trials; linear in the number of trials.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import ParameterError
from sfumato.exact import Number, index, rational
from sfumato.randomness.entropy import Entropy, Words

CHUNK = 1 << 15  # words of 64 trials in one go
ALL = np.uint64(2**64 - 1)


@overload
def binomial(n: int, f: Number, entropy: Entropy) -> int: ...
@overload
def binomial(n: NDArray[np.int64], f: Number, entropy: Entropy) -> NDArray[np.int64]: ...
def binomial(n: ArrayLike, f: Number, entropy: Entropy) -> int | NDArray[np.int64]:
    """Draw how many of `n` trials succeed, each with probability f; of each entry where n is an array.

    Order of the words: trials are numbered through, 64 to a word, lowest bit first, in chunks of 2^21
    trials; for each bit of f, one word for every group of 64 in which a trial is still open.
    """
    probability = _probability(f)
    trials = np.asarray(n)
    if trials.ndim == 0:
        index("n", n, least=0)
    if not np.issubdtype(trials.dtype, np.integer) and trials.size:
        raise ParameterError("n", str(trials.dtype), "must hold whole numbers")
    if trials.size and int(trials.min()) < 0:
        raise ParameterError("n", "negative entries", "must be at least 0")
    counts = _count(trials.astype(np.int64).ravel(), probability, entropy)
    return int(counts[0]) if trials.ndim == 0 else counts.reshape(trials.shape)


def binomial_pmf(n: int, f: Number, k: int) -> Fraction:
    """Return P(binomial(n, f) = k), an exact fraction."""
    probability, n, k = _probability(f), index("n", n, least=0), index("k", k, least=0)
    if k > n:
        return Fraction(0)
    return Fraction(math.comb(n, k)) * probability**k * (1 - probability) ** (n - k)


def _probability(f: Number) -> Fraction:
    probability = rational("f", f)
    if not 0 <= probability <= 1:
        raise ParameterError("f", f, "must lie in [0, 1]")
    return probability


def _count(trials: NDArray[np.int64], f: Fraction, entropy: Entropy) -> NDArray[np.int64]:
    """Return the successes of each entry, by the number of successes before each border."""
    if f in (0, 1) or not len(trials):
        return trials * int(f)
    borders = np.concatenate([[0], np.cumsum(trials)])
    before = np.zeros(len(borders), dtype=np.int64)
    total, seen = int(borders[-1]), 0
    for start in range(0, total, 64 * CHUNK):
        stop = min(start + 64 * CHUNK, total)
        slices = trial_words(-(-(stop - start) // 64), f, entropy)
        bits = np.unpackbits(slices.astype("<u8").view(np.uint8), bitorder="little")[: stop - start]
        running = np.concatenate([[0], np.cumsum(bits, dtype=np.int64)])
        inside = (borders > start) & (borders <= stop)
        before[inside] = seen + running[borders[inside] - start]
        seen += int(running[-1])
    return np.diff(before)


def trial_words(size: int, f: Fraction, entropy: Entropy) -> Words:
    """Return `size` words of 64 independent bits, each 1 with probability f, 0 < f < 1."""
    success, undecided = np.zeros(size, dtype=np.uint64), np.full(size, ALL)
    rest, live = f.numerator, np.arange(size)
    while len(live) and rest:  # rest = 0: the bits of f end, so an open V is at least f
        rest *= 2
        bit, rest = divmod(rest, f.denominator)
        drawn = entropy.words(len(live))
        if bit:
            success[live] |= undecided[live] & ~drawn
            undecided[live] &= drawn
        else:
            undecided[live] &= ~drawn
        live = live[undecided[live] != 0]
    return success
