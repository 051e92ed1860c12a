"""A small table with something to hide, for sweeps that take moments."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.counts import Table
from sfumato.schema import Schema

SCHEMA = {
    "name": "clinic",
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [20, 60], "step": 1},
        "town": {"role": "quasi", "kind": "nominal", "hierarchy": {"North": ["a", "b"], "South": ["c", "d"]}},
        "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "cold", "asthma", "gout"]},
    },
}


def clinic_table(seed=3, rows=600):
    rng = np.random.default_rng(seed)
    age, town = rng.integers(0, 40, rows), rng.integers(0, 4, rows)
    ill = np.where(rng.random(rows) < 0.5, (age // 10 + town) % 4, rng.integers(0, 4, rows))
    return Table.from_codes(Schema.parse(SCHEMA), np.column_stack([age, town, ill]))


@pytest.fixture(scope="session")
def clinic():
    return clinic_table()


@pytest.fixture(scope="session")
def another_clinic():
    return clinic_table(seed=11, rows=500)
