"""The readable reference of `conditions_check.holds`: exact fractions, one line per definition.

The claim and its tests are those of `conditions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import exp, expm1, log, log1p, prod

import numpy as np
import numpy.typing as npt

from sfumato.kernels.conditions import (
    DELTA,
    DISTINCT,
    EMD,
    ENTROPY,
    FREQUENCY,
    JS,
    LINK,
    RATIO,
    RECURSIVE,
    SIZE,
    Condition,
    GroundEdges,
)
from sfumato.kernels.linkage import EXACT, OWN, ROBUST, Link, further_values

__all__ = ["all_hold", "earth_mover", "jensen_shannon", "linkage_score", "one_holds", "presence_of_all"]


# The readable reference of `linkage.link_score`: one line for each definition, slowly.
#
# The claim and its tests are those of `linkage`.


def presence_of_all(rhos: Sequence[float], n: float, *, exact: bool = True) -> float:
    """Probability that all values occur among n draws: inclusion and exclusion, or the paper's product."""
    product = prod(1.0 if rho >= 1 else -expm1(n * log1p(-rho)) for rho in rhos)
    if not exact or product < 1e-9:
        return product
    total = 0.0
    for size in range(len(rhos) + 1):
        for subset in combinations(rhos, size):
            absent = sum(subset)
            total += (-1) ** size * (exp(n * log1p(-absent)) if absent < 1 else 0.0)
    return min(max(total, 0.0), product)


def linkage_score(link: Link, parts: Sequence[npt.ArrayLike], box: Sequence[tuple[int, int]] | None) -> float:
    """Score of a class with these counts of each sensitive column; no box is the whole domain."""
    mass = 1.0
    for a, (low, high) in enumerate(box or ()):
        if link.start.size > 1:
            mass *= float(link.prefix[link.start[a] + high] - link.prefix[link.start[a] + low])
    worst = 1.0
    for j, part in enumerate(parts):
        counts = np.asarray(part)
        share = link.share[link.offset[j] : link.offset[j + 1]]
        held = np.flatnonzero(counts)
        own = [counts[s] / link.rows if link.source == OWN else mass * share[s] for s in held]
        if len(held) < link.d:
            return 0.0
        if link.mode == ROBUST:
            rest = np.sort(share[held])[::-1][1:]
            if link.sizes.size == 1:
                worst = min(worst, further_values(np.ascontiguousarray(rest), link.d - 1, link.draws))
            else:
                worst = min(worst, presence_of_all(rest[: link.d - 1].tolist(), link.draws) ** link.sizes.size)
            continue
        best = sorted((float(rho) for rho in own), reverse=True)[: link.d]
        scores = (presence_of_all(best, float(n), exact=link.mode == EXACT) for n in link.sizes)
        worst = min(worst, prod(scores))
    return worst


Shares = list[Fraction]


def all_hold(
    conditions: Sequence[Condition],
    parts: Sequence[npt.ArrayLike],
    overall: Sequence[npt.ArrayLike],
    n: int,
    box: Sequence[tuple[int, int]] | None = None,
) -> bool:
    """Say whether a part of n rows, one array of counts per sensitive column, satisfies every condition.

    `box` is (low, high) for each attribute, None for the whole domain; only a LINK condition reads it.
    """
    for condition in conditions:
        if condition.operation == SIZE:
            held = n >= condition.count
        elif condition.operation == LINK:
            assert condition.link is not None
            held = linkage_score(condition.link, parts, box) >= condition.link.alpha
        else:
            held = one_holds(condition, parts[condition.sensitive], overall[condition.sensitive])
        if not held:
            return False
    return True


def one_holds(condition: Condition, part: npt.ArrayLike, overall: npt.ArrayLike) -> bool:
    """Say whether one condition on one sensitive column holds."""
    counts = [int(count) for count in np.asarray(part)]
    n, limit, p, q = sum(counts), condition.limit, _shares(counts), _shares(np.asarray(overall))
    falling = sorted(counts, reverse=True)
    match condition.operation:
        case code if code == DISTINCT:
            return sum(count > 0 for count in counts) >= condition.count
        case code if code == FREQUENCY:
            return falling[0] <= n * limit
        case code if code == ENTROPY:
            held = [count for count in counts if count]
            evenly = len(set(held)) == 1 and len(held) >= limit  # then the entropy is ln(codes), no rounding
            return evenly or -sum(float(x) * log(x) for x in p if x) >= condition.low
        case code if code == RECURSIVE:
            return falling[0] < limit * sum(falling[condition.count - 1 :])
        case code if code == JS:
            return p == q or jensen_shannon(p, q) <= condition.high
        case code if code == EMD:
            assert condition.ground is not None
            return earth_mover(p, q, condition.ground) <= limit
        case code if code == DELTA:
            return all(_discloses_little(condition, x, y) for x, y in zip(p, q, strict=True) if y)
        case code if code == RATIO:
            return all(x <= limit * y for x, y in zip(p, q, strict=True))
    raise AssertionError(condition.operation)


def jensen_shannon(p: Shares, q: Shares) -> float:
    """JS divergence in nats."""
    total = 0.0
    for x, y in zip(p, q, strict=True):
        middle = (x + y) / 2
        total += sum(float(share) * log(share / middle) for share in (x, y) if share) / 2
    return total


def earth_mover(p: Shares, q: Shares, ground: GroundEdges) -> Fraction:
    """Every edge carries the mass by which its two sides differ."""
    work = Fraction(0)
    for low, high, length in ground.edges:
        work += length * abs(sum(p[low:high], Fraction(0)) - sum(q[low:high], Fraction(0)))
    return work / ground.scale


def _discloses_little(condition: Condition, x: Fraction, y: Fraction) -> bool:
    if x == 0:
        return not condition.absent_fails
    return condition.low < float(x / y) < condition.high


def _shares(counts: npt.ArrayLike) -> Shares:
    whole = [int(count) for count in np.asarray(counts)]
    n = sum(whole)
    return [Fraction(count, n) if n else Fraction(0) for count in whole]
