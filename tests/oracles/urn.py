"""The urn and the keeping of empty blocks, in plain Python: the reference of the kernels in `commuting.urn`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, permutations


class WordList:
    """Uniform integers from a list of 64-bit words, as the kernels take them. `used` says how many went."""

    def __init__(self, words: Sequence[int]) -> None:
        self.words, self.used = words, 0

    def word(self) -> int:
        """Return the next word."""
        self.used += 1
        return int(self.words[self.used - 1])

    def below(self, total: int) -> int:
        """Return a uniform integer below `total`: words that would favour small remainders are refused."""
        word = self.word()
        while word < 2**64 % total:
            word = self.word()
        return word % total


def kept_reference(empties: Sequence[int], keep: Sequence[int], bits: int, word: Callable[[], int]) -> list[int]:
    """Say what kept_kernel does, in plain Python."""
    result = []
    for count, threshold in zip(empties, keep, strict=True):
        if threshold == 2**bits:
            result.append(count)
            continue
        undecided, kept = count, 0
        for level in reversed(range(bits)):
            if not undecided or not threshold % 2 ** (level + 1):
                break
            widths = [min(64, undecided - first) for first in range(0, undecided, 64)]
            high = sum((word() % 2**width).bit_count() for width in widths)
            if threshold >> level & 1:
                kept, undecided = kept + undecided - high, high
            else:
                undecided -= high
        result.append(kept)
    return result


def urn_reference(
    counts: dict[int, int],
    strata: Sequence[int],
    numerators: Sequence[int],
    denominator: int,
    kept: Sequence[int],
    *,
    m: int,
    below: Callable[[int], int],
) -> list[int]:
    """Say what urn_kernel does for one destination (slot -> people), in plain Python; `below` may be anything."""
    workers = [slot for slot in sorted(counts) for _ in range(counts[slot])]
    groups = [range(*ends) for ends in pairwise(strata)]
    prior: list[tuple[int, range, int]] = []  # one entry a block that takes part: (slot or -1, its stratum, p)
    for group, p, extra in zip(groups, numerators, kept, strict=True):
        prior += [(slot, group, p) for slot in sorted(counts) if slot in group]
        prior += [(-1, group, p)] * extra
    units = [index for index, (_, _, p) in enumerate(prior) for _ in range(p)]
    given: dict[int, int] = {}
    people: list[int] = []
    for _ in range(m):
        unit = below((len(workers) + len(people)) * denominator + len(units))
        if unit < len(workers) * denominator:
            people.append(workers[unit // denominator])
        elif unit < len(workers) * denominator + len(units):
            index = units[unit - len(workers) * denominator]
            slot, group, _ = prior[index]
            if slot < 0 and index not in given:
                given[index] = _fresh(group, {*counts, *given.values()}, below)
            people.append(slot if slot >= 0 else given[index])
        else:
            people.append(people[(unit - len(workers) * denominator - len(units)) // denominator])
    return people


def _fresh(group: range, taken: set[int], below: Callable[[int], int]) -> int:
    """Return a uniformly random slot of the stratum that nobody has."""
    while True:
        slot = group.start + below(len(group))
        if slot not in taken:
            return slot


def one_person_moved(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every table of people by block that differs in one person's block."""
    for i, j in permutations(range(len(counts)), 2):
        if counts[i]:
            other = list(counts)
            other[i] -= 1
            other[j] += 1
            yield tuple(other)
