"""What synthesis is compared with at the same epsilon: discrete Laplace noise on every pair, above a public threshold.

Source    Dwork, McSherry, Nissim & Smith, TCC 2006; threshold sampling: randomness.sparse_noise.
Claim     epsilon-DP when one unit's origin is replaced, for any public threshold; destinations are public.
Because   the replacement moves two cells by one each, and each cell has noise of ratio e^(-epsilon/2); what is done
          with the noisy counts afterwards reads nothing else.
Checked   tests/unit/commuting/test_laplace_flows.py::test_two_cells_share_epsilon
          tests/unit/commuting/test_laplace_flows.py::test_the_threshold_reads_public_numbers_only
Silent on totals: noisy counts of a destination do not add up to its public number of people.
Cost      O(pairs + pairs reported), whatever the number of cells.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.exact import Number, fraction
from sfumato.randomness import Entropy, sparse_noise

__all__ = ["laplace_flows", "laplace_threshold"]

Ints = NDArray[np.int64]
_FALSE = 0.05  # at most so many reported empty cells for each person


def laplace_threshold(cells: int, people: int, epsilon: Fraction) -> int:
    """Return the least count to report so that empty cells add at most one false pair for 20 people, on average."""
    ratio = math.exp(-float(epsilon) / 2)
    wanted = _FALSE * max(people, 1) * (1 + ratio) / cells
    return max(1, math.ceil(math.log(min(wanted, 1.0)) / math.log(ratio)))


def laplace_flows(
    pairs: tuple[Ints, Ints, Ints],
    origins: int,
    epsilon: Number,
    entropy: Entropy,
    *,
    threshold: int | None = None,
) -> tuple[Ints, Ints, Ints]:
    """Return noisy (destination, origin, people) of all pairs that reach the public threshold.

    Destinations are those of `pairs`; they and the number of people are public.
    """
    where, origin, people = pairs
    asked = fraction("epsilon", epsilon, above=0)
    destinations, at = np.unique(where, return_inverse=True)
    cells = int(destinations.size) * origins
    least = laplace_threshold(cells, int(people.sum()), asked) if threshold is None else threshold
    numbers, counts = sparse_noise(cells, (at.reshape(-1) * origins + origin, people), asked / 2, least, entropy)
    numbers = np.asarray(numbers, dtype=np.int64)
    return destinations[numbers // origins], numbers % origins, counts
