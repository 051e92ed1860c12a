"""gamma-Good: which synthetic samples the accept/reject method keeps, decided by integers.

Source    Machanavajjhala et al., ICDE 2008, sec. V-A: gamma-Rep, gamma-Good, Lemma 5.2.
Claim     `is_good` and `good` are true exactly when the sample lies in gamma-Rep of the original, or of an
          original in which one person moved to another block.
Because   a move can lift one block's limit and lowers one other's: at most one block may exceed its limit, it must
          hold someone (0 to 1 lifts nothing), and someone must be able to leave elsewhere.
Checked   tests/claims/test_urn.py::test_good_is_the_definition_by_brute_force
          tests/claims/test_urn.py::test_rejecting_against_rep_is_caught
Silent on how many samples were rejected: that number is a statistic of the original and is never kept.
Cost      O(blocks with real or synthetic people); empty blocks are never looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["good", "is_good", "limits_of"]

Ints = NDArray[np.int64]
Counts = Mapping[int, int] | Sequence[int]


def _entries(counts: Counts) -> dict[int, int]:
    pairs = counts.items() if isinstance(counts, Mapping) else enumerate(counts)
    return {block: int(people) for block, people in pairs if people}


def _fraction(value: float | str | Fraction) -> Fraction:
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)


def is_good(
    synthetic: Counts,
    original: Counts,
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
