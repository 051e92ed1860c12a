"""COUNT queries, drawn once on a table and asked of every release of it.

Source    Li & Li, KDD 2009, section 5.2; Xiao & Tao, Anatomy, VLDB 2006, section 6 (how selectivity is spread);
          the dLink paper, section 6 (equality queries).
Claim     range: each query constrains `dimension` quasi-identifiers drawn at random and the sensitive attribute,
          each to b of its |A| values: b = ceil(|A| s^(1/(dimension + 1))) under the reading "anatomy", ceil(|A| s)
          under "literal" (at least 1). Ordered attributes: an interval of b cells at a random place; nominal: b random
          values. equality: one value for every quasi-identifier and the sensitive attribute.
          Every query has a true answer of at least 1 on the table it was drawn on.
Because   ranges with answer 0 are drawn again. Equality queries are drawn from the combinations that occur, each
          equally likely: that is what drawing values at random until the answer is not 0 would give.
          b is decided in whole numbers: the least b with b^(dimension + 1) >= s |A|^(dimension + 1).
Checked   tests/claims/test_workloads.py::test_every_query_has_an_answer
          tests/claims/test_workloads.py::test_anatomy_fractions
          tests/claims/test_workloads.py::test_equality_draws_each_combination_equally_often
Silent on queries with a true answer of 0: a release that invents people is not caught by them. Which queries have an
          answer depends on the table, so a workload is confidential.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from sfumato.claims import Number, number_from_json, number_to_json
from sfumato.claims.exact import choice, fraction, whole
from sfumato.counts import Counts, Table
from sfumato.errors import Infeasible, NotComparable, ParameterError
from sfumato.measures.drawing import chosen_values, draw_ranges
from sfumato.measures.memory import remembered
from sfumato.randomness import Entropy
from sfumato.reading import Regions, View, count, exact_view, expected_at, measured_attribute
from sfumato.schema import Attribute, Schema

__all__ = ["Kind", "Reading", "Workload", "answers", "estimated", "workload"]

Kind = Literal["range", "equality"]
Reading = Literal["anatomy", "literal"]
_POINTS = 1 << 22  # of a points x values matrix held at a time


@dataclass(frozen=True)
class Workload:
    """Queries as regions of the quasi-identifiers and sets of sensitive values, in a schema's codes."""

    kind: Kind
    _: KW_ONLY
    attribute: str
    sizes: Mapping[str, int]
    dimension: int
    selectivity: Fraction | None
    reading: Reading | None
    seed: int
    regions: Regions = field(repr=False)
    values: Regions = field(repr=False)
    confidential: bool = True

    def __len__(self) -> int:
        return len(self.regions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def key(self) -> str:
        """A digest of all queries and parameters, for comparing and remembering."""
        said = [
            self.kind,
            self.attribute,
            dict(self.sizes),
            self.dimension,
            str(self.selectivity),
            self.reading,
            self.seed,
        ]
        digest = hashlib.blake2b(json.dumps(said).encode(), digest_size=16)
        for regions in (self.regions, self.values):
            for array in regions.flat():
                digest.update(array.tobytes())
        return digest.hexdigest()

    def fits(self, schema: Schema) -> None:
        """Raise unless the schema has the attributes, and the codes, in which the queries are written."""
        names = [attribute.name for attribute in schema.quasi]
        known = [name for name in self.sizes if name != self.attribute]
        carried = [attribute.name for attribute in schema.carried]
        if names != known or self.attribute not in carried:
            raise NotComparable("the workload asks about other attributes. Hint: draw one on this table.")
        wrong = [name for name, size in self.sizes.items() if schema[name].size != size]
        if wrong:
            raise NotComparable(f"the workload is written in other codes of {', '.join(wrong)}.")

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping; `Workload.from_json` reads it back with the table's schema."""
        return {
            "kind": self.kind,
            "attribute": self.attribute,
            "sizes": dict(self.sizes),
            "dimension": self.dimension,
            "selectivity": None if self.selectivity is None else number_to_json(self.selectivity),
            "reading": self.reading,
            "seed": self.seed,
            "confidential": self.confidential,
            "queries": [
                {"where": where, "values": wanted[self.attribute]}
                for where, wanted in zip(self.regions.to_json(), self.values.to_json(), strict=True)
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], schema: Schema) -> Workload:
        """Return the workload that `to_json` wrote."""
        name, sizes = data["attribute"], {key: int(size) for key, size in data["sizes"].items()}
        unknown = [key for key in sizes if key not in schema or schema[key].domain is None]
        if unknown:
            raise NotComparable(f"the workload asks about attributes the schema lacks: {', '.join(unknown)}.")
        names = [key for key in sizes if key != name]
        selectivity = data["selectivity"]
        return cls(
            data["kind"],
            attribute=name,
            sizes=sizes,
            dimension=int(data["dimension"]),
            selectivity=None if selectivity is None else Fraction(number_from_json("selectivity", selectivity)),
            reading=data["reading"],
            seed=int(data["seed"]),
            regions=Regions.from_json([query["where"] for query in data["queries"]], schema, names),
            values=Regions.from_json([{name: query["values"]} for query in data["queries"]], schema, [name]),
        )


def workload(
    table: Table,
    *,
    dimension: int = 4,
    selectivity: Number = 0.05,
    queries: int = 1000,
    kind: Kind = "range",
    reading: Reading = "anatomy",
    seed: int = 7,
    attribute: str | None = None,
) -> Workload:
    """Draw queries on a table. The same table, parameters and seed give the same queries."""
    choice("kind", kind, ("range", "equality"))
    choice("reading", reading, ("anatomy", "literal"))
    number = whole("queries", queries, least=1, hint="try 1000")
    wanted, quasi = measured_attribute(table.schema, attribute), table.schema.quasi
    if not quasi or not table.rows:
        raise ParameterError("table", table.schema.name, "has no rows or no quasi-identifiers")
    counts = table.counts([*(known.name for known in quasi), wanted.name])
    entropy = Entropy.seeded(seed).child("workload")
    sizes = {known.name: known.size for known in (*quasi, wanted)}
    if kind == "equality":
        codes = counts.codes[entropy.below_many(len(counts), number)].astype(np.int64)
        return Workload(
            kind,
            attribute=wanted.name,
            sizes=sizes,
            dimension=len(quasi),
            selectivity=None,
            reading=None,
            seed=seed,
            regions=Regions.points(quasi, codes[:, :-1]),
            values=Regions.points([wanted], codes[:, -1:]),
        )
    asked = whole("dimension", dimension, least=1)
    if asked > len(quasi):
        raise ParameterError("dimension", asked, f"is more than the {len(quasi)} quasi-identifiers")
    share = fraction("selectivity", selectivity, above=0, most=1, hint="try 0.05")
    regions, values = _drawn_ranges(counts, (*quasi, wanted), (asked, share, reading), number, entropy)
    return Workload(
        kind,
        attribute=wanted.name,
        sizes=sizes,
        dimension=asked,
        selectivity=share,
        reading=reading,
        seed=seed,
        regions=regions,
        values=values,
    )


def _drawn_ranges(
    counts: Counts,
    attributes: tuple[Attribute, ...],
    parameters: tuple[int, Fraction, Reading],
    number: int,
    entropy: Entropy,
) -> tuple[Regions, Regions]:
    """Draw until there are enough queries with an answer; batches, so that one pass answers many."""
    *quasi, wanted = attributes
    view = _truth(counts, quasi, wanted)
    sets = [chosen_values(attribute, parameters) for attribute in attributes]
    kept: list[tuple[Regions, Regions]] = []
    drawn, batch, have = 0, 0, 0
    while have < number:
        if drawn > 200 * number + 10_000:
            why = f"of {drawn} queries drawn, {have} have an answer that is not 0"
            raise Infeasible(f"{number} queries", have, why, hint="raise the selectivity or lower the dimension")
        size = min(5000, max(64, 2 * (number - have)))
        regions, values = draw_ranges(attributes, sets, parameters[0], size, entropy.child(f"batch {batch}"))
        found = np.flatnonzero(count(view, regions, _matrix(values)) > 0)[: number - have]
        kept.append((regions.take(found), values.take(found)))
        drawn, batch, have = drawn + size, batch + 1, have + len(found)
    return Regions.joined(quasi, [one for one, _ in kept]), Regions.joined([wanted], [two for _, two in kept])


def _truth(counts: Counts, quasi: Sequence[Attribute], wanted: Attribute) -> View:
    names = [known.name for known in quasi]
    return remembered(counts, "exact view", lambda: exact_view(counts, names, wanted))


def _matrix(values: Regions) -> np.ndarray:
    """Regions x values: which values each query counts."""
    table = values.tables[0]
    holds = table.holds(np.arange(table.attribute.size))
    return np.asarray(holds[values.ids[:, 0]])


def answers(table: Table, work: Workload) -> np.ndarray:
    """Return the true answers, worked out once for a table and a workload."""
    work.fits(table.schema)
    wanted, quasi = table.schema[work.attribute], table.schema.quasi
    counts = table.counts([*(known.name for known in quasi), wanted.name])
    return remembered(
        counts, ("answers", work.key), lambda: np.rint(estimated(_truth(counts, quasi, wanted), work)).astype(np.int64)
    )


def estimated(view: View, work: Workload) -> np.ndarray:
    """Return what a reader of the release answers to each query."""
    if work.kind == "range":
        return count(view, work.regions, _matrix(work.values))
    codes = np.column_stack([t.low[ids] for t, ids in zip(work.regions.tables, work.regions.ids.T, strict=True)])
    value = work.values.tables[0].low[work.values.ids[:, 0]]
    found = np.zeros(len(codes))
    step = max(1, _POINTS // max(view.values, 1))
    for start in range(0, len(codes), step):
        part = slice(start, start + step)
        found[part] = expected_at(view, codes[part])[np.arange(len(codes[part])), value[part]]
    return found
