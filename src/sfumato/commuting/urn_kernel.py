"""The Polya urn: m synthetic people of each destination, drawn exactly, one 64-bit word for each draw.

Source    Blackwell & MacQueen 1973 for the urn; Machanavajjhala et al., ICDE 2008, Algorithms 1 and 2.
Claim     From uniform words the labels of a destination have exactly the Dirichlet-multinomial law of
          (n_i + alpha_i) on the kept domain; the outcome is a function of the words, not of buffer sizes.
Because   draw t takes one of n q + p(kept) + t q equally likely units (alpha = p/q): a real person's, a prior
          unit, or an earlier draw; all integer, uniform numbers below T by rejection of words.
Checked   tests/claims/test_urn.py::test_the_law_of_the_urn_is_exactly_dirichlet_multinomial
          tests/claims/test_urn.py::test_kernel_and_reference_agree_word_for_word
Silent on totals above 2^62 (the caller refuses them), and on timing.
Cost      O(people + non-zero blocks) for each destination; one integer for each public block, once.

Blocks are *slots* 0..k-1, numbered so that each stratum (blocks of equal alpha and keep) is a range. The pairs
of a destination are sorted by slot. Blocks without people are exchangeable inside their stratum, so a kept
empty block is a number until it is first drawn; then it becomes a uniformly random empty slot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Ints
from sfumato.kernels.cache import compiled, inlined

__all__ = ["LARGEST_TOTAL", "kept_kernel", "urn_kernel"]

LARGEST_TOTAL = 2**62
WordArray = NDArray[np.uint64]


@inlined
def _ones(word: np.uint64) -> np.uint64:
    """Count the bits that are 1."""
    w = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    w = (w & np.uint64(0x3333333333333333)) + ((w >> np.uint64(2)) & np.uint64(0x3333333333333333))
    w = (w + (w >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.uint64((w * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inlined
def _first_at_least(values: Ints, low: int, high: int, wanted: int) -> int:
    """Return the first index in [low, high) whose value is at least `wanted`, or high."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _below(total: np.uint64, words: WordArray, at: int) -> tuple[Any, int]:
    """Return a uniform integer below `total` and the next position; -1 when the words ran out."""
    refuse = (np.uint64(0) - total) % total  # 2^64 mod total: below it a remainder would be too likely
    while at < words.size:
        word = words[at]
        at += 1
        if word >= refuse:
            return np.int64(word % total), at
    return -1, at


@compiled
def kept_kernel(empties: Ints, keep: Ints, bits: int, done: int, words: WordArray, kept: Ints) -> tuple[int, int]:
    """Fill kept[i] ~ Binomial(empties[i], keep[i] / 2^bits); return (items done, words used).

    Every empty block compares a uniform binary fraction with keep, all blocks one bit at a time; a bit settles
    half of those still undecided, so about empties / 32 words are used. An item whose words ran out is undone.
    """
    at = 0
    for item in range(done, empties.size):
        start, undecided, taken = at, empties[item], np.int64(0)
        if keep[item] == np.int64(1) << bits:
            kept[item] = undecided
            continue
        rest = keep[item]
        level = bits - 1
        while undecided > 0 and rest > 0:
            high = np.int64(0)
            for first in range(0, undecided, 64):
                if at >= words.size:
                    return item, start
                word = words[at]
                at += 1
                width = undecided - first
                if width < 64:
                    word = word & ((np.uint64(1) << np.uint64(width)) - np.uint64(1))
                high += np.int64(_ones(word))
            if rest >> level & 1:  # a 0 bit is below keep, a 1 bit is still equal
                taken += undecided - high
                undecided = high
                rest -= np.int64(1) << level
            else:  # a 1 bit is above keep, a 0 bit is still equal
                undecided -= high
            level -= 1
        kept[item] = taken
    return empties.size, at


@compiled
def urn_kernel(
    pairs: Ints,
    slots: Ints,
    people: Ints,
    strata: Ints,
    numerators: Ints,
    denominators: Ints,
    kept: Ints,
    places: Ints,
    scratch: Ints,
    destination: int,
    drawn: int,
    words: WordArray,
    out: Ints,
) -> tuple[int, int, int]:
    """Draw from where (destination, drawn) stands; return that position and the words used.

    pairs         pairs[d]:pairs[d+1] are destination d's entries of `slots`
    people        people in all entries up to and including each: a running sum over the whole file
    strata        stratum s is the slots strata[s]:strata[s+1]
    numerators    d x s: alpha = numerators / denominators[d]
    kept          d x s: how many empty blocks of the stratum take part
    places        out[places[d]:places[d+1]] are destination d's synthetic people
    scratch       3 x k, zeros at the first call, then left alone: slot taken by d, number given by d, to which slot
    A person whose words ran out is undone, so the next call starts with the unused words and goes on.
    """
    groups = strata.size - 1
    firsts = np.empty(groups + 1, np.int64)
    limits = np.empty(groups + 1, np.int64)
    at = 0
    for d in range(destination, pairs.size - 1):
        low, high, stamp, q = pairs[d], pairs[d + 1], np.int64(d + 1), denominators[d]
        before = people[low - 1] if low > 0 else np.int64(0)
        real = (people[high - 1] - before) * q if high > low else np.int64(0)
        for entry in range(low, high):
            scratch[0, slots[entry]] = stamp
        firsts[0] = low
        limits[0] = real
        for s in range(groups):  # limits: where in the urn the prior units of each stratum end
            firsts[s + 1] = _first_at_least(slots, firsts[s], high, strata[s + 1])
            limits[s + 1] = limits[s] + numerators[d, s] * (firsts[s + 1] - firsts[s] + kept[d, s])
        place = places[d]
        for t in range(drawn, places[d + 1] - place):
            start = at
            unit, at = _below(np.uint64(limits[groups] + t * q), words, at)
            if unit < 0:
                return d, t, start
            if unit < real:
                worker = before + unit // q
                out[place + t] = slots[_first_at_least(people, low, high, worker + 1)]
                continue
            if unit >= limits[groups]:
                out[place + t] = out[place + (unit - limits[groups]) // q]
                continue
            s = 0
            while unit >= limits[s + 1]:
                s += 1
            number = (unit - limits[s]) // numerators[d, s]
            occupied = firsts[s + 1] - firsts[s]
            if number < occupied:
                out[place + t] = slots[firsts[s] + number]
                continue
            number += strata[s] - occupied  # kept empty blocks of a stratum are numbered within its own range
            if scratch[1, number] != stamp:
                slot = -1
                while slot < 0 or scratch[0, slot] == stamp:
                    slot, at = _below(np.uint64(strata[s + 1] - strata[s]), words, at)
                    if slot < 0:
                        return d, t, start
                    slot += strata[s]
                scratch[0, slot] = stamp
                scratch[1, number] = stamp
                scratch[2, number] = slot
            out[place + t] = scratch[2, number]
        drawn = 0
    return pairs.size - 1, 0, at
