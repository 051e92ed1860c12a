"""Drawing the synthetic people of all destinations: shrink, draw from the urn, reject what is not good.

Source    Machanavajjhala et al., ICDE 2008, Algorithms 1 and 2 and sec. V-A.
Claim     Each destination's sample has the law its certificate was computed for: alpha, keep and gamma are used as
          the exact rationals given, and a rejected sample is drawn anew with a newly shrunk domain.
Because   the urn draws by integers; `good` decides by integers; destinations are independent.
Checked   tests/claims/test_urn.py::test_the_law_of_shrink_and_reject_is_the_law_certified
          tests/claims/test_urn.py::test_buffer_sizes_do_not_matter
Silent on where alpha, keep and gamma come from: they must be functions of public numbers only.
Cost      O(people + pairs), plus one word for each 32 empty blocks of a destination whose domain is shrunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Ints
from sfumato.commuting.bounds import Stratum
from sfumato.errors import ParameterError
from sfumato.kernels.cache import compiled, inlined

# gamma-Good: which synthetic samples the accept/reject method keeps, decided by integers.
#
# Source    Machanavajjhala et al., ICDE 2008, sec. V-A: gamma-Rep, gamma-Good, Lemma 5.2.
# Claim     `is_good` and `good` are true exactly when the sample lies in gamma-Rep of the original, or of an
#           original in which one person moved to another block.
# Because   a move can lift one block's limit and lowers one other's: at most one block may exceed its limit, it must
#           hold someone (0 to 1 lifts nothing), and someone must be able to leave elsewhere.
# Checked   tests/claims/test_urn.py::test_good_is_the_definition_by_brute_force
#           tests/claims/test_urn.py::test_rejecting_against_rep_is_caught
# Silent on how many samples were rejected: that number is a statistic of the original and is never kept.
# Cost      O(blocks with real or synthetic people); empty blocks are never looked at.

OriginCounts = Mapping[int, int] | Sequence[int]


def _entries(counts: OriginCounts) -> dict[int, int]:
    pairs = counts.items() if isinstance(counts, Mapping) else enumerate(counts)
    return {block: int(people) for block, people in pairs if people}


def _fraction(value: float | str | Fraction) -> Fraction:
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)


def is_good(
    synthetic: OriginCounts,
    original: OriginCounts,
    alpha: float | Fraction | Mapping[int, Fraction] | Sequence[Fraction],
    gamma: float | Fraction,
) -> bool:
    """Say whether a sample of one destination lies in gamma-Good of the original, by exact arithmetic.

    Counts are dense sequences or {block: people}; alpha is one number or one for each block.
    """
    m, n, slope = _entries(synthetic), _entries(original), _fraction(gamma)

    def limit(block: int, people: int) -> Fraction:
        prior = alpha[block] if isinstance(alpha, Mapping | Sequence) else alpha
        return slope * (_fraction(prior) + max(people, 0))

    over = [i for i, people in m.items() if people > limit(i, n.get(i, 0) - 1)]
    if len(over) != 1:
        return not over
    (i,) = over
    if i not in n or m[i] > limit(i, n[i]):
        return False
    return any(j != i and m.get(j, 0) <= limit(j, people - 2) for j, people in n.items())


def limits_of(alpha: Fraction, gamma: Fraction, most: int) -> Ints:
    """Return floor(gamma (alpha + y)) for y = 0, 1, ... until it reaches `most`, which no count exceeds.

    Counts are integers, so comparing with the floor is comparing with the limit.
    """
    top, bottom = gamma * alpha, gamma
    size = max(1, math.ceil((most - top) / bottom) + 1)
    return np.array([min(most, math.floor(top + bottom * y)) for y in range(size)], dtype=np.int64)


def _limits(tables: Sequence[Ints], kind: Ints, people: Ints) -> Ints:
    """Look up limits; `kind` names the table of each entry, `people` may be negative and is then 0."""
    found = np.empty(people.size, dtype=np.int64)
    sizes = np.array([table.size for table in tables], dtype=np.int64)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
    flat = np.concatenate(tables)
    found[:] = flat[starts[kind] + np.minimum(np.maximum(people, 0), sizes[kind] - 1)]
    return found


def good(
    destinations: int,
    tables: Sequence[Ints],
    original: tuple[Ints, Ints, Ints, Ints],
    synthetic: tuple[Ints, Ints, Ints, Ints],
) -> NDArray[np.bool_]:
    """Say for each destination whether its sample is gamma-Good.

    `original` and `synthetic` are (destination, kind, key, people) for the blocks that hold anyone; `key` is one
    number for each (destination, slot), rising; `kind` names the table (limits_of) of the block's prior.
    """
    d_n, kind_n, key_n, n = original
    d_m, kind_m, key_m, m = synthetic
    n_at_m, m_at_n = _matching(key_m, key_n, n), _matching(key_n, key_m, m)
    over = m > _limits(tables, kind_m, n_at_m - 1)
    violators = np.bincount(d_m[over], minlength=destinations)
    liftable = over & (n_at_m >= 1) & (m <= _limits(tables, kind_m, n_at_m))
    lifted = np.bincount(d_m[liftable], minlength=destinations)
    # a violator is over its limit already, so it is never the donor; `j != i` needs no test
    donors = np.bincount(d_n[m_at_n <= _limits(tables, kind_n, n - 2)], minlength=destinations)
    return np.asarray((violators == 0) | ((violators == 1) & (lifted == 1) & (donors >= 1)), dtype=np.bool_)


def _matching(wanted: Ints, keys: Ints, values: Ints) -> Ints:
    """Return values at the wanted keys (both rising), 0 where a key is absent."""
    if not keys.size:
        return np.zeros(wanted.size, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[at] == wanted, values[at], 0)


WordSource = Callable[[int], NDArray[np.uint64]]
KEEP_BITS = 24


def keep_probability(value: float | str | Fraction) -> Fraction:
    """Return the least multiple of 2^-24 at or above a probability: certify and sample with this one."""
    exact = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    if not 0 < exact <= 1:
        raise ParameterError("keep", value, "must be above 0 and at most 1")
    return Fraction(-(-exact.numerator * 2**KEEP_BITS // exact.denominator), 2**KEEP_BITS)


@dataclass(frozen=True, slots=True)
class UrnLaw:
    """How one destination is drawn: public strata in slot order, and gamma where samples are rejected."""

    strata: tuple[Stratum, ...]
    _: KW_ONLY
    m: int
    gamma: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Commuters:
    """People by (destination, slot), sorted by both, each pair once: pairs[d]:pairs[d+1] belong to destination d."""

    pairs: Ints
    _: KW_ONLY
    slots: Ints
    people: Ints

    def __post_init__(self) -> None:
        where = np.repeat(np.arange(self.pairs.size - 1), np.diff(self.pairs))
        same = np.diff(where) == 0
        if self.people.size != self.slots.size or self.pairs[-1] != self.slots.size:
            raise ParameterError("pairs", int(self.pairs[-1]), "must end at the number of pairs")
        if np.any(np.diff(self.slots)[same] <= 0):
            raise ParameterError("slots", "unsorted", "must rise within each destination, each pair once")
        if np.any(self.people < 1):
            raise ParameterError("people", "below 1", "must be at least 1 in every pair")

    def only(self, chosen: Ints) -> Commuters:
        """Return the chosen destinations, in the order given."""
        sizes = np.diff(self.pairs)[chosen]
        pairs = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        at = np.repeat(self.pairs[:-1][chosen] - pairs[:-1], sizes) + np.arange(pairs[-1])
        return Commuters(pairs, slots=self.slots[at], people=self.people[at])


def urn_sample(commuters: Commuters, laws: Sequence[UrnLaw], kinds: Ints, words: WordSource) -> tuple[Ints, Ints, Ints]:
    """Draw every destination d by laws[kinds[d]]; return (destination, slot, people), sorted, no zeros.

    All laws share the public slots: stratum s has the same number of blocks in each. `words(n)` returns n uniform
    64-bit words. How often a sample was rejected is not returned.
    """
    plan = _Plan.of(laws)
    plan.check(commuters, kinds)
    waiting = np.arange(kinds.size, dtype=np.int64)
    stream = _Stream(words)
    nobody = np.zeros(0, dtype=np.int64)
    found: list[tuple[Ints, Ints, Ints]] = [(nobody, nobody, nobody)]
    while waiting.size:
        part = commuters.only(waiting)
        drawn = _draw(plan, part, kinds[waiting], stream)
        accepted = _accepted(plan, part, kinds[waiting], drawn)
        keep = accepted[drawn[0]]
        found.append((waiting[drawn[0][keep]], drawn[1][keep], drawn[2][keep]))
        waiting = waiting[~accepted]
    where, slots, people = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((slots, where))
    return where[order], slots[order], people[order]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The laws as integer arrays: one row for each law, one column for each stratum."""

    laws: Sequence[UrnLaw]
    _: KW_ONLY
    strata: Ints
    numerators: Ints
    denominators: Ints
    keep: Ints
    m: Ints

    @classmethod
    def of(cls, laws: Sequence[UrnLaw]) -> _Plan:
        blocks = [tuple(s.blocks for s in law.strata) for law in laws]
        if len(set(blocks)) != 1:
            raise ParameterError("laws", len(set(blocks)), "must share one division of the public blocks")
        bottoms = [lcm(*(s.alpha.denominator for s in law.strata)) for law in laws]
        tops = [[int(s.alpha * q) for s in law.strata] for law, q in zip(laws, bottoms, strict=True)]
        keeps = [[s.keep * 2**KEEP_BITS for s in law.strata] for law in laws]
        if any(keep.denominator != 1 for row in keeps for keep in row):
            raise ParameterError("keep", "finer", "must be a multiple of 2^-24", hint="use keep_probability")
        _refuse_large(max(max(row) for row in tops), max(bottoms))
        return cls(
            laws,
            strata=np.concatenate([np.zeros(1, np.int64), np.cumsum(np.array(blocks[0], dtype=np.int64))]),
            numerators=np.array(tops, dtype=np.int64),
            denominators=np.array(bottoms, dtype=np.int64),
            keep=np.array([[int(keep) for keep in row] for row in keeps], dtype=np.int64),
            m=np.array([law.m for law in laws], dtype=np.int64),
        )

    def check(self, commuters: Commuters, kinds: Ints) -> None:
        """Refuse slots outside the domain and urns whose total leaves int64."""
        if kinds.size != commuters.pairs.size - 1:
            raise ParameterError("kinds", kinds.size, "must name one law for each destination")
        k = int(self.strata[-1])
        if commuters.slots.size and not 0 <= commuters.slots.min() <= commuters.slots.max() < k:
            raise ParameterError("slots", k, "must lie below the number of public blocks")
        running = np.concatenate([np.zeros(1, np.int64), np.cumsum(commuters.people)])
        n = np.diff(running[commuters.pairs])
        largest = np.zeros(len(self.laws), dtype=np.int64)
        np.maximum.at(largest, kinds, n)
        for law, row, q, people in zip(self.laws, self.numerators, self.denominators, largest, strict=True):
            prior = sum(int(p) * s.blocks for p, s in zip(row, law.strata, strict=True))
            _refuse_large((int(people) + law.m) * int(q) + prior)


def _refuse_large(*totals: int) -> None:
    if max(totals) > LARGEST_TOTAL:
        raise ParameterError(
            "alpha", "too fine", "would make an urn of more than 2^62 units", hint="use a smaller denominator"
        )


class _Stream:
    """Words left over from one call are the first of the next, so buffer sizes cannot change the outcome."""

    def __init__(self, words: WordSource) -> None:
        self.words, self.buffer, self.ask = words, np.zeros(0, dtype=np.uint64), 0

    def more(self, wanted: int) -> NDArray[np.uint64]:
        self.buffer = np.concatenate([self.buffer, self.words(max(wanted, 64))])
        return self.buffer

    def used(self, count: int) -> None:
        self.buffer = self.buffer[count:]


_BUFFER = 1 << 20  # words asked for at a time


def _kept(plan: _Plan, commuters: Commuters, kinds: Ints, stream: _Stream) -> Ints:
    """Algorithm 2: how many empty blocks of each stratum take part, destination by destination."""
    size, groups = kinds.size, plan.strata.size - 1
    where = np.repeat(np.arange(size), np.diff(commuters.pairs))
    group = np.searchsorted(plan.strata, commuters.slots, side="right") - 1
    occupied = np.bincount(where * groups + group, minlength=size * groups).astype(np.int64)
    empties = np.tile(np.diff(plan.strata), size) - occupied
    keep = np.ascontiguousarray(plan.keep[kinds]).reshape(-1)
    kept = np.zeros(size * groups, dtype=np.int64)
    done = 0
    while done < empties.size:
        before = done
        done, used = kept_kernel(empties, keep, KEEP_BITS, done, stream.buffer, kept)
        stream.used(used)
        if done < empties.size:
            # no progress: the largest item needs more words than one buffer holds
            stream.more(min(_BUFFER, int(empties.sum()) // 16 + 64) if done > before else int(empties.max()))
    return kept.reshape(size, groups)


def _draw(plan: _Plan, commuters: Commuters, kinds: Ints, stream: _Stream) -> tuple[Ints, Ints, Ints]:
    """Draw one sample for every destination; return (destination, slot, people), sorted."""
    kept = _kept(plan, commuters, kinds, stream)
    m = plan.m[kinds]
    places = np.concatenate([np.zeros(1, np.int64), np.cumsum(m)])
    out = np.zeros(int(places[-1]), dtype=np.int64)
    scratch = np.zeros((3, int(plan.strata[-1])), dtype=np.int64)
    running = np.cumsum(commuters.people)
    numerators, denominators = np.ascontiguousarray(plan.numerators[kinds]), plan.denominators[kinds]
    destination, drawn = 0, 0
    while destination < kinds.size:
        destination, drawn, used = urn_kernel(
            commuters.pairs, commuters.slots, running, plan.strata, numerators, denominators,
            kept, places, scratch, destination, drawn, stream.buffer, out,
        )  # fmt: skip
        stream.used(used)
        if destination < kinds.size:
            stream.more(min(_BUFFER, int(places[-1] - places[destination]) * 5 // 4))
    keys = np.repeat(np.arange(kinds.size, dtype=np.int64), m) * plan.strata[-1] + out
    unique, people = np.unique(keys, return_counts=True)
    return unique // plan.strata[-1], unique % plan.strata[-1], people.astype(np.int64)


def _accepted(plan: _Plan, commuters: Commuters, kinds: Ints, drawn: tuple[Ints, Ints, Ints]) -> NDArray[np.bool_]:
    """Say which destinations drew a sample in gamma-Good; those without gamma always did."""
    free = np.array([law.gamma is None for law in plan.laws])[kinds]
    if free.all():
        return free
    k, groups = int(plan.strata[-1]), plan.strata.size - 1
    tables = [
        np.array([law.m], dtype=np.int64) if law.gamma is None else limits_of(s.alpha, law.gamma, law.m)
        for law in plan.laws
        for s in law.strata
    ]

    def entries(where: Ints, slots: Ints, people: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        group = np.searchsorted(plan.strata, slots, side="right") - 1
        return where, kinds[where] * groups + group, where * k + slots, people

    where = np.repeat(np.arange(kinds.size, dtype=np.int64), np.diff(commuters.pairs))
    return free | good(kinds.size, tables, entries(where, commuters.slots, commuters.people), entries(*drawn))


# The Polya urn: m synthetic people of each destination, drawn exactly, one 64-bit word for each draw.
#
# Source    Blackwell & MacQueen 1973 for the urn; Machanavajjhala et al., ICDE 2008, Algorithms 1 and 2.
# Claim     From uniform words the labels of a destination have exactly the Dirichlet-multinomial law of
#           (n_i + alpha_i) on the kept domain; the outcome is a function of the words, not of buffer sizes.
# Because   draw t takes one of n q + p(kept) + t q equally likely units (alpha = p/q): a real person's, a prior
#           unit, or an earlier draw; all integer, uniform numbers below T by rejection of words.
# Checked   tests/claims/test_urn.py::test_the_law_of_the_urn_is_exactly_dirichlet_multinomial
#           tests/claims/test_urn.py::test_kernel_and_reference_agree_word_for_word
# Silent on totals above 2^62 (the caller refuses them), and on timing.
# Cost      O(people + non-zero blocks) for each destination; one integer for each public block, once.
#
# Blocks are *slots* 0..k-1, numbered so that each stratum (blocks of equal alpha and keep) is a range. The pairs
# of a destination are sorted by slot. Blocks without people are exchangeable inside their stratum, so a kept
# empty block is a number until it is first drawn; then it becomes a uniformly random empty slot.


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
