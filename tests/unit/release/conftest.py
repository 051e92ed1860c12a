"""A small table with every kind of attribute, and releases of it built by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.claims import Claim, KAnonymity
from sfumato.release import Release, assemble
from sfumato.schema import Labels, Schema

SCHEMA: dict[str, Any] = {
    "name": "clinic",
    "source": "public",
    "attribute": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "step": 1},
        "job": {
            "role": "quasi",
            "kind": "nominal",
            "hierarchy": {"Clerical": ["Typist", "Teller"], "Manual": ["Mason", "Miner", "Smith"]},
            "missing": ["?"],
            "ground": "hierarchical",
        },
        "seen": {"role": "quasi", "kind": "date", "range": ["2020-01-01", "2022-01-01"], "dates": ["month", "year"]},
        "grade": {"role": "sensitive", "kind": "ordered", "values": ["low", "mid", "high"]},
        "illness": {
            "role": "sensitive",
            "kind": "nominal",
            "hierarchy": {"Lung": ["flu", "asthma"], "Gut": ["ulcer", "colitis, acute"]},
            "ground": "hierarchical",
        },
    },
}


@pytest.fixture
def schema() -> Schema:
    return Schema.parse(SCHEMA)


@pytest.fixture
def make(schema):
    """Return a builder: random intervals over every quasi-identifier, random carried values."""

    def build(
        groups: int = 6, *, seed: int = 0, rows: int = 12, of: Schema | None = None, sets: bool = False, **rest: Any
    ) -> Release:
        rng = np.random.default_rng(seed)
        used = of or schema
        tables, ids = [], []
        for attribute in used.quasi:
            found = []
            for _ in range(groups):
                low, high = sorted(rng.choice(attribute.size + 1, 2, replace=False).tolist())
                label = [(low, high)]
                if sets and high + 1 < attribute.size:
                    label.append((attribute.size - 1, attribute.size))
                found.append(tuple(label))
            table, places = Labels.from_sets(attribute, found)
            tables.append(table)
            ids.append(places)
        group = np.repeat(np.arange(groups), rows)
        codes = np.column_stack([rng.integers(0, a.size, groups * rows) for a in used.carried])
        rest.setdefault("claim", Claim(KAnonymity(1)))
        rest.setdefault("mechanism", {"name": "by hand"})
        release, _ = assemble(
            used,
            tables=tuple(tables),
            labels=np.column_stack(ids),
            weight=np.full(groups, rows),
            group=np.arange(groups),
            carried_group=group,
            carried_codes=codes,
            carried_weight=np.ones(groups * rows, np.int64),
            **rest,
        )
        return release

    return build


@pytest.fixture
def make_buckets(schema):
    """Return a builder of exact boxes, several to a group."""

    def build(groups: int = 4, *, seed: int = 0, of: Schema | None = None, **rest: Any) -> Release:
        rng = np.random.default_rng(seed)
        used = of or schema
        boxes = groups * 3
        labels = np.column_stack([rng.integers(0, a.size, boxes) for a in used.quasi])
        group = np.repeat(np.arange(groups), 3)
        weight = rng.integers(1, 4, boxes)
        of_row = np.repeat(group, weight)
        rest.setdefault("claim", Claim(KAnonymity(3)))
        release, _ = assemble(
            used,
            tables=tuple(Labels.of_codes(a) for a in used.quasi),
            labels=labels,
            weight=weight,
            group=group,
            carried_group=of_row,
            carried_codes=np.column_stack([rng.integers(0, a.size, len(of_row)) for a in used.carried]),
            carried_weight=np.ones(len(of_row), np.int64),
            form="buckets",
            **rest,
        )
        return release

    return build


def data_sourced(names: tuple[str, ...]) -> Schema:
    """Return the schema with some domains marked as read off the data."""
    attributes = {
        name: ({**given, "source": "data"} if name in names else given) for name, given in SCHEMA["attribute"].items()
    }
    return Schema.parse({**SCHEMA, "attribute": attributes})


@pytest.fixture
def schema_of_data() -> Schema:
    return data_sourced(("age", "job", "seen", "grade", "illness"))
