"""The readable twin of `linkage.link_score`: one line for each definition, slowly.

The claim and its tests are those of `linkage`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import exp, expm1, log1p, prod

import numpy as np
import numpy.typing as npt

from sfumato.kernels.linkage import EXACT, OWN, ROBUST, Link, further_values

__all__ = ["linkage_score", "presence_of_all"]


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
