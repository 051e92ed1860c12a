"""Small tables in which the success of an attack is known beforehand."""

from __future__ import annotations

import numpy as np

from sfumato.counts import Table
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.schema import Schema

PLANTED = Schema.parse(
    {
        "name": "planted",
        "source": "public",
        "rows": 1000,
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 300], "step": 1},
            "town": {"role": "quasi", "kind": "nominal", "values": [f"t{at}" for at in range(20)]},
            "ill": {"role": "sensitive", "kind": "nominal", "values": ["a", "b", "c", "d"]},
        },
    }
)


def planted(rows) -> Table:
    return Table.from_codes(PLANTED, np.array(rows, np.int64).reshape(-1, 3))


def made(table: Table, mechanism, seed: int = 0):
    return run(mechanism, gather(mechanism, table), Entropy.seeded(seed))


def drawn(seed: int, rows: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, 300, rows), rng.integers(0, 20, rows), rng.integers(0, 4, rows)])
