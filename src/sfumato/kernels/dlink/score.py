"""How probable it is that another release shares d sensitive values with a class: the compiled score of dLink.

Source    Sattar et al., the dLink paper, equations 1 to 6; docs/theory/composition.md (what is exact).
Claim     EXACT: the probability that the d most probable values of the class all occur among n independent draws, for
          each other release, multiplied. PRODUCT: the paper's product of single probabilities, which is never less.
          ROBUST: that at least d - 1 further values of the class occur among `draws` people, whatever their region.
          Each grows when classes are united.
Because   inclusion and exclusion over the 2^d subsets; presences of a multinomial are negatively associated, so the
          product is above the truth. For ROBUST, draws are shared out value by value, all terms positive. A union has
          more mass and more values, and the best d of more values are no worse.
Checked   tests/claims/test_dlink_model.py::test_compiled_score_equals_the_exact_enumeration
          tests/claims/test_dlink_model.py::test_score_grows_with_every_union
          tests/claims/test_dlink_model.py::test_mutants_are_caught
Silent on whether the population model is true. Sums of 2^d terms round by about 1e-12: a margin of 1e-9 is kept.
"""

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is not an `int` to mypy.

from __future__ import annotations

from math import exp, expm1, log1p
from typing import NamedTuple

import numpy as np

from sfumato.arrays import Floats, Ints
from sfumato.kernels.cache import compiled, inlined

EXACT, PRODUCT, ROBUST = range(3)
INDEPENDENT, OWN, CELLS = range(3)
"""Where the probability of (class, value) comes from: shares of labels times share of the value; the class's own share
of the table; or declared cells."""
LINK_MARGIN = 1e-9
MOST_D = 12


class Link(NamedTuple):
    """The population model and what is asked of each class. d = 0: nothing is asked."""

    offset: Ints  # sensitive column j: offset[j] .. offset[j + 1] of a class's counts
    share: Floats  # population share of each sensitive value, columns one after another
    ranked: Ints  # places in `share` by falling share, column by column
    sizes: Floats  # rows of each other release
    start: Ints  # attribute a's prefix sums: start[a] .. start[a + 1]
    prefix: Floats  # population share of the codes below each code; the last is 1
    cell_low: Ints  # cells x attributes
    cell_high: Ints
    cell_value: Ints
    cell_weight: Floats
    d: int
    alpha: float
    mode: int
    source: int
    draws: int  # ROBUST: other people in the class of the other release
    rows: int  # OWN: rows of the table


def no_link() -> Link:
    """Return a model that asks nothing."""
    ints, floats, table = np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 0), np.int64)
    first = np.zeros(1, np.int64)
    return Link(
        first, floats, ints, floats, first, floats, table, table, ints, floats, 0, 0.0, EXACT, INDEPENDENT, 0, 1
    )


@inlined
def _present(rho: float, n: float) -> float:
    """1 - (1 - rho)^n without losing small rho."""
    return 1.0 if rho >= 1.0 else -expm1(n * log1p(-rho))


@inlined
def together(rhos: Floats, d: int, n: float) -> float:
    """Probability that d values all occur among n draws: sum over subsets T of (-1)^|T| (1 - sum of T)^n."""
    product = 1.0
    for i in range(d):
        product *= _present(rhos[i], n)
    if product < 1e-9:  # terms would cancel to noise; both forms are far below any alpha
        return product
    sums = np.zeros(1 << d)
    total = 1.0
    for subset in range(1, 1 << d):
        low, bit, size, rest = subset & -subset, 0, 0, subset
        while low > 1:
            low >>= 1
            bit += 1
        while rest > 0:
            rest &= rest - 1
            size += 1
        sums[subset] = sums[subset & (subset - 1)] + rhos[bit]
        if sums[subset] < 1.0:
            term = exp(n * log1p(-sums[subset]))
            total += -term if size & 1 else term
    return min(max(total, 0.0), product)


@inlined
def _further(shares: Floats, values: int, least: int, draws: int) -> float:
    """Probability that at least `least` of the values occur among `draws` draws.

    state[j, r]: j values seen so far (`least` means that many or more), r draws left for later values.
    """
    state, after = np.zeros((least + 1, draws + 1)), np.zeros((least + 1, draws + 1))
    state[0, draws] = 1.0
    left = 1.0
    for v in range(values):
        p = 1.0 if shares[v] >= left else shares[v] / left
        after[:] = 0.0
        for j in range(least + 1):
            more = min(j + 1, least)
            for r in range(draws + 1):
                if state[j, r] == 0.0:
                    continue
                if p >= 1.0:
                    after[more if r > 0 else j, 0] += state[j, r]
                    continue
                term = state[j, r] * exp(r * log1p(-p))
                after[j, r] += term
                for t in range(1, r + 1):
                    term *= (r - t + 1) / t * (p / (1.0 - p))
                    after[more, r - t] += term
        state, after = after, state
        left = max(left - shares[v], 0.0)
    return min(state[least].sum(), 1.0)


@inlined
def _rho(k: Link, mass: float, counts: Ints, cells: Floats, at: int) -> float:
    if k.source == OWN:
        return counts[at] / k.rows
    return cells[at] if k.source == CELLS else mass * k.share[at]


@inlined
def _best(k: Link, mass: float, counts: Ints, cells: Floats, j: int, rhos: Floats) -> int:
    """Write the d largest probabilities of values that occur in the class, falling; return how many there are."""
    found = 0
    for place in range(k.offset[j], k.offset[j + 1]):
        at = k.ranked[place]
        if counts[at] == 0:
            continue
        own = _rho(k, mass, counts, cells, at)
        if found == k.d and own <= rhos[found - 1]:
            continue
        spot = found if found < k.d else k.d - 1
        while spot > 0 and rhos[spot - 1] < own:
            rhos[spot] = rhos[spot - 1]
            spot -= 1
        rhos[spot] = own
        found = min(found + 1, k.d)
        if k.source == INDEPENDENT and found == k.d:
            break  # the most frequent come first
    return found


@inlined
def _robust(k: Link, counts: Ints, j: int) -> float:
    """The victim may have the most frequent value of the class, so the others must be found among the rest."""
    shares = np.zeros(k.offset[j + 1] - k.offset[j])
    values, first = 0, True
    for place in range(k.offset[j], k.offset[j + 1]):
        at = k.ranked[place]
        if counts[at] > 0:
            if not first:
                shares[values] = k.share[at]
                values += 1
            first = False
    if values < k.d - 1:
        return 0.0
    if k.sizes.size == 1:
        return _further(shares, values, k.d - 1, k.draws)
    # Several others must share the same values: the most frequent ones in all of them, a lower bound.
    all_of_them, total = together(shares, k.d - 1, float(k.draws)), 1.0
    for _ in range(k.sizes.size):
        total *= all_of_them
    return total


@inlined
def link_score(k: Link, mass: float, counts: Ints, cells: Floats) -> float:
    """Return the probability that is asked to be alpha, of the worst sensitive column; 0 with fewer than d values."""
    worst = 1.0
    rhos = np.zeros(MOST_D)
    for j in range(k.offset.size - 1):
        if k.mode == ROBUST:
            worst = min(worst, _robust(k, counts, j))
            continue
        if _best(k, mass, counts, cells, j, rhos) < k.d:
            return 0.0
        total = 1.0
        for y in range(k.sizes.size):
            if k.mode == EXACT:
                total *= together(rhos, k.d, k.sizes[y])
            else:
                for i in range(k.d):
                    total *= _present(rhos[i], k.sizes[y])
        worst = min(worst, total)
    return worst


@inlined
def box_mass(k: Link, a: int, low: int, high: int) -> float:
    """Population share of the codes low <= code < high of attribute a."""
    return k.prefix[k.start[a] + high] - k.prefix[k.start[a] + low]


@compiled
def score(k: Link, mass: float, counts: Ints, cells: Floats) -> float:
    """`link_score` for a caller in Python."""
    return link_score(k, mass, counts, cells)


@compiled
def further_values(shares: Floats, least: int, draws: int) -> float:
    """Probability that at least `least` of the values with these shares occur among `draws` draws."""
    return _further(shares, shares.size, least, draws)
