"""Tiny tables for exact audits: two grids, one taxonomy, a class; and the paper's Table 1.a."""

from __future__ import annotations

import numpy as np

from sfumato.counts import Table
from sfumato.mechanisms.base import Gathered, gather
from sfumato.schema import Schema

TINY = {
    "name": "tiny",
    "source": "public",
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 4], "step": 1},
        "hours": {"role": "quasi", "kind": "numeric", "range": [0, 3], "step": 1},
        "job": {"role": "quasi", "kind": "nominal", "hierarchy": {"White": ["clerk", "boss"], "Blue": ["smith"]}},
        "pay": {"role": "target", "kind": "nominal", "values": ["low", "high"]},
    },
}
SIZES = (4, 3, 3, 2)

PAPER = {
    "name": "table-1a",
    "source": "public",
    "attribute": {
        "job": {
            "role": "quasi",
            "kind": "nominal",
            "hierarchy": {"Professional": ["Engineer", "Lawyer"], "Artist": ["Dancer", "Writer"]},
        },
        "age": {"role": "quasi", "kind": "numeric", "range": [18, 65], "step": 1},
        "class": {"role": "target", "kind": "nominal", "values": ["Y", "N"]},
    },
}
RECORDS = [
    ("Engineer", 34, "Y"), ("Lawyer", 50, "N"), ("Engineer", 38, "N"), ("Lawyer", 33, "Y"),
    ("Dancer", 20, "Y"), ("Writer", 37, "N"), ("Writer", 32, "Y"), ("Dancer", 25, "N"),
]  # fmt: skip


def tiny_schema(**changes) -> Schema:
    return Schema.parse({**TINY, **changes})


def gathered(mechanism, schema: Schema, rows) -> Gathered:
    """The counts a mechanism asks for, from rows of codes of the published attributes."""
    codes = np.array(rows, np.int64).reshape(len(rows), len(schema.published))
    return gather(mechanism, Table.from_codes(schema, codes))


def pair(mechanism, rows, extra, schema: Schema | None = None) -> tuple[Gathered, Gathered]:
    """A table and the same with one row more."""
    schema = schema or tiny_schema()
    return gathered(mechanism, schema, rows), gathered(mechanism, schema, [*rows, extra])


def random_pair(mechanism, seed: int, schema: Schema | None = None, most: int = 5) -> tuple[Gathered, Gathered]:
    rng = np.random.default_rng(seed)
    draw = lambda: tuple(int(rng.integers(size)) for size in SIZES)  # noqa: E731
    rows = [draw() for _ in range(int(rng.integers(most + 1)))]
    return pair(mechanism, rows, draw(), schema)


def paper_table() -> Table:
    import polars as pl

    from sfumato.counts import read

    return read(pl.DataFrame(RECORDS, schema=["job", "age", "class"], orient="row"), Schema.parse(PAPER))
