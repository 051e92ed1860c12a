"""How wrong a reader's answers to COUNT queries are, and how many stay the same.

Source    Li & Li, KDD 2009, section 5.2 (relative error); the dLink paper, section 6.2 and figure 7 (unchanged answers,
          its way to choose epsilon).
Claim     error = 100 x mean over queries of |estimate - answer| / answer. Bounded: the divisor is at least `sanity` x
          rows. Unchanged: the share of queries whose estimate, rounded to the nearest whole number, is the answer.
          Of several workloads, each about one attribute, the worst, whose attribute is named.
Because   queries are drawn once, with answers of at least 1, and none is ever left out for a release.
Checked   tests/claims/test_workloads.py::test_error_equals_the_definition
          tests/claims/test_workloads.py::test_raw_answers_exactly
          tests/claims/test_workloads.py::test_wrong_mutants_are_caught
Silent on which queries matter to anyone, and on answers of 0.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from sfumato.claims import Number, number_from_json, number_to_json, plain
from sfumato.counts import Counts, Table
from sfumato.errors import Infeasible, NotComparable, ParameterError
from sfumato.estimate import ANY, Regions, View, align, count, exact_view, expected_at, measured_attribute
from sfumato.estimate.scattered import Scattered, runs_of
from sfumato.exact import choice, fraction, whole
from sfumato.measures.base import MeasureResult, json_number, remembered, worst_of
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.schema import Attribute, Labels, Schema

# Random sets of values for queries: intervals of ordered attributes, any values of nominal ones.

_WIDE = 2000  # values above which rows of random words would not fit in memory
_SPARSE = 64  # an interval takes as many bits


def _values(attribute: Attribute) -> int:
    """Values a query may choose from: an interval of an ordered attribute never holds the missing code."""
    return attribute.values.size if attribute.ordered else attribute.size


def chosen_values(attribute: Attribute, parameters: tuple[int, Fraction, Literal["anatomy", "literal"]]) -> int:
    """Return how many values a query takes of an attribute: b of |A|, decided in whole numbers."""
    dimension, selectivity, reading = parameters
    size, power = _values(attribute), dimension + 1 if reading == "anatomy" else 1
    top, bottom = selectivity.numerator * size**power, selectivity.denominator
    low, high = 1, size
    while low < high:  # the least b with b^power / |A|^power >= selectivity
        middle = (low + high) // 2
        low, high = (low, middle) if middle**power * bottom >= top else (middle + 1, high)
    return low


def draw_ranges(
    attributes: Sequence[Attribute], sets: Sequence[int], dimension: int, size: int, entropy: Entropy
) -> tuple[Regions, Regions]:
    """Draw queries: `sets[j]` values of each of `dimension` attributes, and of the last, the sensitive one."""
    *quasi, wanted = attributes
    words = entropy.child("attributes").words(size * len(quasi)).reshape(size, len(quasi))
    taken = np.zeros((size, len(quasi)), bool)
    np.put_along_axis(taken, np.argsort(words, axis=1, kind="stable")[:, :dimension], values=True, axis=1)
    tables, ids = [], np.full(taken.shape, ANY, np.int32)
    for at, attribute in enumerate(quasi):
        here = np.flatnonzero(taken[:, at])
        tables.append(_draw(attribute, sets[at], len(here), entropy.child(f"values of {attribute.name}")))
        ids[here, at] = np.arange(len(here))
    values = _draw(wanted, sets[-1], size, entropy.child("sensitive values"))
    return Regions(tuple(tables), ids=ids), Regions((values,), ids=np.arange(size, dtype=np.int32)[:, None])


def _draw(attribute: Attribute, chosen: int, times: int, entropy: Entropy) -> Labels | Scattered:
    """Return one label for each draw: `chosen` values of the attribute."""
    size = _values(attribute)
    if attribute.ordered:
        starts = entropy.below_many(size - chosen + 1, times).astype(np.int64)
        return Labels(attribute, np.arange(times + 1, dtype=np.int64), starts, starts + chosen)
    if size > _WIDE and chosen > size // _SPARSE:
        bits = Scattered.empty(attribute, times)
        for row in bits:
            row[: -(-size // 8)] = np.packbits(entropy.subset(size, chosen))
        return Scattered(attribute, bits)
    if size > _WIDE:
        rows = [runs_of(entropy.subset(size, chosen).astype(np.int8)[None, :]) for _ in range(times)]
        lengths = np.array([len(starts) for _, starts, _ in rows], np.int64)
        starts = np.concatenate([row[1] for row in rows]) if rows else np.zeros(0, np.int64)
        ends = np.concatenate([row[2] for row in rows]) if rows else np.zeros(0, np.int64)
    else:
        order = np.argsort(entropy.words(times * size).reshape(times, size), axis=1, kind="stable")
        lengths, starts, ends = runs_of(_mask(order[:, :chosen], size))
    return Labels(attribute, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), starts, ends)


def _mask(chosen: np.ndarray, size: int) -> np.ndarray:
    mask = np.zeros((len(chosen), size), np.int8)
    np.put_along_axis(mask, chosen, values=1, axis=1)
    return mask


# COUNT queries, drawn once on a table and asked of every release of it.
#
# Source    Li & Li, KDD 2009, section 5.2; Xiao & Tao, Anatomy, VLDB 2006, section 6 (how selectivity is spread);
#           the dLink paper, section 6 (equality queries).
# Claim     range: each query constrains `dimension` quasi-identifiers drawn at random and the sensitive attribute,
#           each to b of its |A| values: b = ceil(|A| s^(1/(dimension + 1))) under the reading "anatomy", ceil(|A| s)
#           under "literal" (at least 1). Ordered attributes: an interval of b cells at a random place; nominal: b
#           random values. equality: one value for every quasi-identifier and the sensitive attribute.
#           Every query has a true answer of at least 1 on the table it was drawn on.
# Because   ranges with answer 0 are drawn again. Equality queries are drawn from the combinations that occur, each
#           equally likely: that is what drawing values at random until the answer is not 0 would give.
#           b is decided in whole numbers: the least b with b^(dimension + 1) >= s |A|^(dimension + 1).
# Checked   tests/claims/test_workloads.py::test_every_query_has_an_answer
#           tests/claims/test_workloads.py::test_anatomy_fractions
#           tests/claims/test_workloads.py::test_equality_draws_each_combination_equally_often
# Silent on queries with a true answer of 0: a release that invents people is not caught by them. Which queries have
#           an answer depends on the table, so a workload is confidential.

QueryKind = Literal["range", "equality"]
BucketReading = Literal["anatomy", "literal"]
_POINTS = 1 << 22  # of a points x values matrix held at a time


@dataclass(frozen=True)
class Workload:
    """Queries as regions of the quasi-identifiers and sets of sensitive values, in a schema's codes."""

    kind: QueryKind
    _: KW_ONLY
    attribute: str
    sizes: Mapping[str, int]
    dimension: int
    selectivity: Fraction | None
    reading: BucketReading | None
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
    kind: QueryKind = "range",
    reading: BucketReading = "anatomy",
    seed: int = 7,
    attribute: str | None = None,
) -> Workload:
    """Draw queries on a table. The same table, parameters and seed give the same queries.

    >>> table = sf.datasets.adult("test")
    >>> queries = sf.workload(table, dimension=2, selectivity="0.1", queries=20)
    >>> queries.attribute, len(queries)
    ('occupation', 20)
    """
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
    parameters: tuple[int, Fraction, BucketReading],
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
        found = np.flatnonzero(_counted(view, regions, values) > 0)[: number - have]
        kept.append((Regions.joined(quasi, [regions.take(found)]), Regions.joined([wanted], [values.take(found)])))
        del regions, values  # of a wide attribute they are large, and half of them are not kept
        drawn, batch, have = drawn + size, batch + 1, have + len(found)
    return Regions.joined(quasi, [one for one, _ in kept]), Regions.joined([wanted], [two for _, two in kept])


def _truth(counts: Counts, quasi: Sequence[Attribute], wanted: Attribute) -> View:
    names = [known.name for known in quasi]
    return remembered(counts, "exact view", lambda: exact_view(counts, names, wanted))


def _counted(view: View, regions: Regions, values: Regions) -> np.ndarray:
    """Return the expected number of rows in each region that have one of the values beside it.

    Of many values those alone are looked at that the view counts somewhere.
    """
    columns = np.arange(view.values)
    if view.values > _WIDE:
        columns = np.unique(view.histogram.indices).astype(np.int64)
        view = replace(view, histogram=view.histogram[:, columns])
    return count(view, regions, values.tables[0].holds(columns)[values.ids[:, 0]])


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
        return _counted(view, work.regions, work.values)
    codes = np.column_stack([t.low[ids] for t, ids in zip(work.regions.tables, work.regions.ids.T, strict=True)])
    value = work.values.tables[0].low[work.values.ids[:, 0]]
    found = np.zeros(len(codes))
    step = max(1, _POINTS // max(view.values, 1))
    for start in range(0, len(codes), step):
        part = slice(start, start + step)
        found[part] = expected_at(view, codes[part])[np.arange(len(codes[part])), value[part]]
    return found


SANITY = "0.001"


@dataclass(frozen=True)
class QueryError(MeasureResult):
    """`value` is the mean relative error in percent, `median` its median, `bounded` the mean with a sanity bound.

    Of several workloads `attribute` is the one answered worst; `by_attribute` holds each.
    """

    value: float
    _: KW_ONLY
    median: float
    bounded: float
    sanity: str
    queries: int
    kind: str
    attribute: str
    per_query: np.ndarray = field(repr=False)
    unit: str = "percent"
    formula: str = "100 x mean over queries of |estimate - answer| / answer"
    confidential: bool = True
    by_attribute: Mapping[str, QueryError] = field(default_factory=dict, repr=False)

    def details(self) -> dict[str, Any]:
        """Return what goes along with the figure."""
        kept = {"median": self.median, "bounded": self.bounded, "sanity": self.sanity, **_named(self)}
        return {**kept, "queries": self.queries, "kind": self.kind}


@dataclass(frozen=True, slots=True)
class UnchangedAnswers(MeasureResult):
    """`value` is the share of queries that a reader answers, after rounding, exactly as the table does.

    Of several workloads `attribute` is the one answered worst; `by_attribute` holds each.
    """

    value: float
    _: KW_ONLY
    unchanged: int
    queries: int
    kind: str
    attribute: str
    unit: str = "share"
    formula: str = "share of queries with floor(estimate + 1/2) = answer"
    confidential: bool = True
    by_attribute: Mapping[str, UnchangedAnswers] = field(default_factory=dict, repr=False)

    def details(self) -> dict[str, Any]:
        """Return what goes along with the figure."""
        return {"unchanged": self.unchanged, "queries": self.queries, "kind": self.kind, **_named(self)}


def query_error(
    table: Table, release: Release, work: Workload | Sequence[Workload], *, sanity: Number | None = None
) -> QueryError:
    """Return the mean relative error of a workload; `sanity` is a share of the rows (0.001 unless given).

    The workload must have been drawn on this table, or answer it without a zero. Of several workloads, each about one
    sensitive attribute, the worst is returned.

    >>> table = sf.datasets.adult("test")
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50)))
    >>> found = sf.query_error(table, release, sf.workload(table, queries=50))
    >>> found.value >= 0
    True
    """
    bound = fraction("sanity", SANITY if sanity is None else sanity, above=0, most=1, hint=f"try {SANITY}")
    return worst_of(
        {one.attribute: _error_of(table, release, one, bound) for one in _each(work)}, lambda one: one.value
    )


def _each(work: Workload | Sequence[Workload]) -> Sequence[Workload]:
    """The workloads, one for each attribute."""
    several = [work] if isinstance(work, Workload) else list(work)
    names = [one.attribute for one in several]
    if not names or len(set(names)) < len(names):
        raise ParameterError("work", f"{len(names)} workloads", "must be one workload, or one for each attribute")
    return several


def _named(found: QueryError | UnchangedAnswers) -> dict[str, Any]:
    values = {name: json_number(one.value) for name, one in found.by_attribute.items()}
    return {"attribute": found.attribute, "by_attribute": values}


def _error_of(table: Table, release: Release, work: Workload, bound: Fraction) -> QueryError:
    actual = answers(table, work)
    nothing = int((actual == 0).sum())
    if nothing:
        raise NotComparable(
            f"{nothing} of {len(work)} queries have the answer 0 on this table, so a relative error is not defined. "
            "Hint: draw the workload on this table."
        )
    off = np.abs(estimated(align(release, table.schema, work.attribute), work) - actual)
    relative = 100 * off / actual
    least = float(bound * table.rows)
    return QueryError(
        float(relative.mean()),
        median=float(np.median(relative)),
        bounded=float((100 * off / np.maximum(actual, least)).mean()),
        sanity=plain(bound),
        queries=len(work),
        kind=work.kind,
        attribute=work.attribute,
        per_query=relative,
    )


def unchanged_answers(table: Table, release: Release, work: Workload | Sequence[Workload]) -> UnchangedAnswers:
    """Return the share of queries whose rounded answer stays the same; of several workloads, the worst.

    >>> table = sf.datasets.adult("test")
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50)))
    >>> 0 <= sf.unchanged_answers(table, release, sf.workload(table, queries=50)).value <= 1
    True
    """
    return worst_of({one.attribute: _unchanged_of(table, release, one) for one in _each(work)}, lambda one: -one.value)


def _unchanged_of(table: Table, release: Release, work: Workload) -> UnchangedAnswers:
    actual = answers(table, work)
    found = np.floor(estimated(align(release, table.schema, work.attribute), work) + 0.5).astype(np.int64)
    same = int((found == actual).sum())
    return UnchangedAnswers(
        same / len(work), unchanged=same, queries=len(work), kind=work.kind, attribute=work.attribute
    )
