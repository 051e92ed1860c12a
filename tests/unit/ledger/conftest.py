"""A table of six people and a mechanism that costs, draws and fails as it is asked to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.claims import Promise
from sfumato.mechanisms import Gathered, Plan
from sfumato.randomness import Entropy
from sfumato.release import Release

ADD = sf.Neighbours.ADD_OR_REMOVE_ONE


@dataclass(frozen=True)
class Costing:
    promise: Promise
    neighbours: sf.Neighbours | None = ADD
    fails: str = ""  # "before" or "after" the first draw
    draws: bool = True
    comes_out_as: Promise | None = None

    def claim(self, schema: sf.Schema) -> sf.Claim:
        return sf.Claim(self.promise, neighbours=self.neighbours)

    def needs(self, schema: sf.Schema) -> list[tuple[str, ...]]:
        return sf.Suppress().needs(schema)

    def plan(self, schema: sf.Schema) -> Plan:
        return Plan(())

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        if self.fails == "before":
            raise sf.Infeasible("this", "nothing", "it was asked to fail")
        if self.draws:
            entropy.child("noise").word()
        if self.fails == "after":
            raise RuntimeError("asked to fail")
        made = sf.Suppress().apply(counts, entropy)
        promise = self.comes_out_as or self.promise
        return replace(made, claim=sf.Claim(promise, neighbours=self.neighbours), mechanism=self.to_json())

    def to_json(self) -> dict[str, Any]:
        return {"name": "costing", "half": Fraction(1, 2), "seed": 7}


@pytest.fixture
def costing() -> type[Costing]:
    return Costing


@pytest.fixture
def table() -> sf.Table:
    schema = {
        "name": "clinic",
        "source": "public",
        "population": "patients",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
            "illness": {"role": "sensitive", "values": ["flu", "gout", "none"]},
        },
    }
    rows = {"age": [30, 31, 31, 60, 60, 99], "illness": ["flu", "flu", "gout", "none", "flu", "none"]}
    return sf.read(pl.DataFrame(rows), sf.Schema.parse(schema))
