"""Read words as real numbers, as far as a decision needs and no further.

Source    Knuth & Yao 1976 (lazy reals); theory in docs/theory/exact-sampling.md.
Claim     A word U stands for an unknown V, uniform in (U, U+1]/2^64. `floors` returns
          floor(-ln V / rate): the value is exact for every V the words read so far allow, and which
          words are read depends on the words alone, never on float64.
Because   Float64 decides only where its proved error leaves one answer. All else is decided exactly;
          a further word is appended to V only where the exact law splits the cell of V.
Checked   tests/claims/test_exact_sampling.py::test_forced_refinement_equals_the_fast_path
          tests/claims/test_exact_sampling.py::test_words_nearest_each_threshold
          tests/claims/test_exact_sampling.py::test_law_by_all_words_of_a_small_word_model
Silent on timing: a refined draw takes longer, with a probability that does not depend on any data.
Cost      One word and 0.04 us a draw; about 2^-42 / rate of the draws, and 2^-18, are refined.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.randomness.enclosure import LOG_ERROR, SMALLEST_WORD, Rate, floor_log_ratio, negative_log
from sfumato.randomness.entropy import Entropy, Words

WORD_BITS = 64
CHUNK = 1 << 16  # words in one go: temporary arrays stay in cache


def append_word(top: int, bits: int, entropy: Entropy) -> tuple[int, int]:
    """Halve the cell (top - 1, top]/2^bits 64 times: return the sub-cell that the next word picks."""
    return ((top - 1) << WORD_BITS) + entropy.word() + 1, bits + WORD_BITS


def settle(word: int, rate: Rate, entropy: Entropy, cap: int | None = None) -> int:
    """Return min(cap, floor(-ln V / rate)) for the V that begins with `word`, appending words as needed."""
    top, bits = word + 1, WORD_BITS
    while True:
        least = floor_log_ratio(top, bits, rate, cap)
        if least == cap:
            return least
        # V > (top - 1)/2^bits; for top = 1 that is 0, and the floor has no bound but the cap.
        most = cap if top == 1 else floor_log_ratio(top - 1, bits, rate, cap)
        if least == most:
            return least
        top, bits = append_word(top, bits, entropy)


def fast_floors(words: Words, rate: Rate, cap: int | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return floor(-ln V / rate) and which of them are certain."""
    if rate.near < 1e-300:
        return np.zeros(len(words), dtype=np.int64), np.zeros(len(words), dtype=np.bool_)
    x = negative_log(words) / rate.near
    d = 2 * LOG_ERROR / rate.near
    low, high = np.floor(x - d), np.floor(x + d)
    if cap is not None:
        low, high = np.minimum(low, float(cap)), np.minimum(high, float(cap))
    sure = (low == high) & (low >= 0) & (high < 2.0**53) & (words >= SMALLEST_WORD)
    return np.where(sure, low, 0).astype(np.int64), sure


def floors(size: int, rate: Rate, entropy: Entropy, cap: int | None = None) -> NDArray[np.int64]:
    """Draw `size` values of min(cap, floor(-ln V / rate)).

    Order of the words: one for each draw, then, draw by draw, those appended; in chunks of 2^16 draws.
    """
    values = np.empty(size, dtype=np.int64)
    for start in range(0, size, CHUNK):
        words = entropy.words(min(CHUNK, size - start))
        part = values[start : start + len(words)]
        part[:], sure = fast_floors(words, rate, cap)
        for i in np.flatnonzero(~sure):
            part[i] = settle(int(words[i]), rate, entropy, cap)
    return values


def at_least(
    words: Words, thresholds: NDArray[np.float64], rate_of: Callable[[int], Rate | None], entropy: Entropy
) -> NDArray[np.bool_]:
    """Return V <= e^-rate for each word; `thresholds` are the rates as floats, off by a factor 1 +- 2^-49.

    A sure word has -ln V below 13, where that factor means less than 2^-45. `rate_of(i)` gives the
    i-th rate exactly, or None where it is 0.
    """
    x = negative_log(words)
    holds = x >= thresholds
    sure = (np.abs(x - thresholds) > 2 * LOG_ERROR) & (words >= SMALLEST_WORD)
    for i in np.flatnonzero(~sure):
        rate = rate_of(int(i))
        holds[i] = rate is None or settle(int(words[i]), rate, entropy, 1) == 1
    return holds
