"""Regions: what a question about a population asks for, one set of codes for each attribute it constrains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sfumato.errors import NotComparable
from sfumato.estimate.alignment import View
from sfumato.estimate.scattered import Scattered
from sfumato.schema import Attribute, Labels, Schema
from sfumato.schema.labels import Intervals

ANY = -1  # the attribute is not constrained
_AT_ONCE = 16  # regions whose intervals are listed at a time


@dataclass(frozen=True)
class Regions:
    """Region i holds, for attribute j, the codes of label `ids[i, j]` of `tables[j]`, or any code (`ANY`)."""

    tables: tuple[Labels | Scattered, ...]
    _: KW_ONLY
    ids: np.ndarray

    def __post_init__(self) -> None:
        self.ids.setflags(write=False)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes a region may constrain."""
        return tuple(table.attribute for table in self.tables)

    @classmethod
    def of(cls, attributes: Sequence[Attribute], regions: Sequence[Mapping[str, Intervals]]) -> Regions:
        """Return regions given as intervals by attribute name; an attribute not named is not constrained."""
        tables, columns = [], []
        for attribute in attributes:
            here = [at for at, region in enumerate(regions) if attribute.name in region]
            table, ids = Labels.from_sets(attribute, [regions[at][attribute.name] for at in here])
            column = np.full(len(regions), ANY, np.int32)
            column[here] = ids
            tables.append(table)
            columns.append(column)
        stacked = np.column_stack(columns) if columns else np.zeros((len(regions), 0), np.int32)
        return cls(tuple(tables), ids=stacked)

    @classmethod
    def points(cls, attributes: Sequence[Attribute], codes: np.ndarray) -> Regions:
        """Return one region of single values for each row of codes."""
        tables, ids = Labels.exact(attributes, codes)
        return cls(tables, ids=ids)

    @classmethod
    def joined(cls, attributes: Sequence[Attribute], parts: Sequence[Regions]) -> Regions:
        """Return the regions of several, one after another."""
        tables: list[Labels | Scattered] = []
        columns = []
        for at, attribute in enumerate(attributes):
            held = [(part.tables[at], part.ids[:, at]) for part in parts]
            table, column = _joined(attribute, held)
            tables.append(table)
            columns.append(column)
        count = sum(len(part) for part in parts)
        return cls(tuple(tables), ids=np.column_stack(columns) if columns else np.zeros((count, 0), np.int32))

    def take(self, places: Any) -> Regions:
        """Return some of the regions."""
        return Regions(self.tables, ids=self.ids[places])

    def where(self, region: int) -> dict[str, Intervals]:
        """Return the intervals of one region by attribute name."""
        chosen = zip(self.tables, self.ids[region].tolist(), strict=True)
        return {table.attribute.name: table.intervals(at) for table, at in chosen if at != ANY}

    def flat(self) -> Iterator[np.ndarray]:
        """Yield lengths, starts and ends of all intervals, some regions at a time: equal for equal regions."""
        for start in range(0, len(self), _AT_ONCE):
            for table, ids in zip(self.tables, self.ids[start : start + _AT_ONCE].T, strict=True):
                constrained = ids != ANY
                some = table.take(ids[constrained])
                labels = some.labels if isinstance(some, Scattered) else some
                lengths = np.zeros(len(ids), np.int64)
                lengths[constrained] = np.diff(labels.offsets)
                yield lengths
                yield labels.starts.astype(np.int64)
                yield labels.ends.astype(np.int64)

    def to_json(self) -> list[dict[str, list[list[int]]]]:
        """Return each region as a plain mapping from attribute name to code intervals."""
        return [
            {name: [list(pair) for pair in intervals] for name, intervals in self.where(at).items()}
            for at in range(len(self))
        ]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]], schema: Schema, names: Sequence[str]) -> Regions:
        """Return the regions that `to_json` wrote, in the codes of the same schema."""
        regions = [
            {name: tuple((int(low), int(high)) for low, high in pairs) for name, pairs in region.items()}
            for region in data
        ]
        attributes = [schema[name] for name in names]
        for attribute in attributes:
            held = [region[attribute.name] for region in regions if attribute.name in region]
            if any(not 0 <= low < high <= attribute.size for pairs in held for low, high in pairs):
                raise NotComparable(f"attribute {attribute.name}: the regions are written in other codes.")
        return cls.of(attributes, regions)


def _joined(
    attribute: Attribute, parts: Sequence[tuple[Labels | Scattered, np.ndarray]]
) -> tuple[Labels | Scattered, np.ndarray]:
    """Return the sets that are used; those of one attribute are all held alike."""
    scattered = [(table, ids) for table, ids in parts if isinstance(table, Scattered)]
    if scattered:
        return Scattered.joined(attribute, scattered)
    return Labels.joined(attribute, [(table, ids) for table, ids in parts if isinstance(table, Labels)])


@dataclass(frozen=True)
class _Ends:
    """The distinct ends of some labels, rising, and where each interval starts and ends among them."""

    codes: np.ndarray
    _: KW_ONLY
    start: np.ndarray
    end: np.ndarray

    @classmethod
    def of(cls, labels: Labels) -> _Ends:
        codes, places = np.unique(np.concatenate([labels.starts, labels.ends]), return_inverse=True)
        start, end = np.split(places.reshape(-1), 2)
        return cls(codes, start=start, end=end)


def overlaps(labels: Labels, table: Labels | Scattered, used: np.ndarray, ends: _Ends | None = None) -> np.ndarray:
    """Return how many codes each label shares with each of the regions `used`: labels x regions.

    Counted at the ends of the labels, so that a region of many intervals costs no more memory than one of a single one.
    A caller with several questions sorts the ends once.
    """
    if not len(labels) or not len(used):
        return np.zeros((len(labels), len(used)), np.int64)
    ends = _Ends.of(labels) if ends is None else ends
    chosen = table if len(used) == len(table) else table.take(used)
    below = np.ascontiguousarray(chosen.below(ends.codes).T)
    inside = below[ends.end]
    inside -= below[ends.start]
    if len(inside) == len(labels):  # one interval each
        return np.asarray(inside)
    return np.asarray(np.add.reduceat(inside, labels.offsets[:-1], axis=0))


# The one estimator: how many rows with each carried value a reader expects in a region.
#
# Source    Li & Li, "On the tradeoff between privacy and utility in data publishing", KDD 2009, sections 4.2 and 6
#           (the uniform-distribution assumption); Xiao & Tao, Anatomy, VLDB 2006, for buckets.
# Claim     est(s | y) = sum over groups g of [sum over boxes b in g of weight_b cover_b(y)] H_g(s) / weight_g, where
#           cover_b(y) is the product over attributes of |label n y| / |label|, counted in codes of the public domain.
# Because   every value of a label is taken as equally likely, and every carried value of a group as equally likely to
#           belong to each of its boxes. The bracket is divided by weight_g before H_g enters: for boxes of single
#           values all factors are whole numbers, so a table read from itself gives its own counts exactly.
# Checked   tests/claims/test_estimator.py::test_equals_the_definition_in_fractions
#           tests/claims/test_estimator.py::test_the_table_read_from_itself_is_exact
#           tests/claims/test_estimator.py::test_wrong_mutants_are_caught
# Silent on how good the assumption is: that is what the measures are for. Groups without rows say nothing.
# Cost      boxes x regions x constrained attributes; points go through `person`, trees of regions through `walk`.

_ENTRIES = 2_000_000  # of a boxes x regions matrix held at a time


def estimate(view: View, regions: Regions) -> np.ndarray:
    """Return est(s | y), a regions x values matrix."""
    found = np.zeros((len(regions), view.values))
    for part, share in shares(view, regions):
        found[part] = (view.histogram.T @ share).T
    return found


def count(view: View, regions: Regions, values: np.ndarray) -> np.ndarray:
    """Return the expected number of rows in each region whose carried value is in `values` (regions x values)."""
    found = np.zeros(len(regions))
    if _single_values(view):
        for at in range(len(regions)):
            found[at] = (view.histogram @ values[at].astype(np.float64))[_inside(view, regions, at)].sum()
        return found
    for part, share in shares(view, regions):
        wanted = view.histogram @ values[part].T.astype(np.float64)
        found[part] = np.einsum("gr,gr->r", share, wanted)
    return found


def _single_values(view: View) -> bool:
    """Whether every box is one value of each attribute, as in the table itself: it lies in a region or it does not."""
    return view.one_box_each and all((t.size == 1).all() and (np.diff(t.low) > 0).all() for t in view.tables)


def _inside(view: View, regions: Regions, region: int) -> np.ndarray:
    """Which boxes of single values lie in a region."""
    found = np.ones(len(view.weight), bool)
    for at, (labels, table) in enumerate(zip(view.tables, regions.tables, strict=True)):
        wanted = int(regions.ids[region, at])
        if wanted == ANY:
            continue
        found &= table.within(wanted, labels.low)[view.labels[:, at]]
    return found


def normalised(estimates: np.ndarray, overall: np.ndarray) -> np.ndarray:
    """Return each row as a distribution; a region of which the release says nothing gets the overall one.

    The divisor is the estimate's own sum, never the true support: a reader does not know that.
    """
    totals = estimates.sum(axis=1, keepdims=True)
    whole = overall.sum()
    fallback = overall / whole if whole else np.full(len(overall), 1 / max(len(overall), 1))
    return np.where(totals > 0, np.divide(estimates, totals, where=totals > 0, out=np.zeros_like(estimates)), fallback)


def ratio(rows: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Return rows / of, 0 where there are none; all of the rows is exactly 1."""
    return np.asarray(np.divide(rows, of, where=of > 0, out=np.zeros(len(rows))))


def shares(view: View, regions: Regions) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield, for some regions at a time, the share of each group's rows that lie in each: groups x regions."""
    if tuple(a.name for a in regions.attributes) != tuple(a.name for a in view.quasi):
        raise AssertionError("regions and view must speak of the same attributes in the same order")
    widest = max([len(view.weight), 1, *(len(table) for table in view.tables)])
    step, ends = max(1, _ENTRIES // widest), dict[int, _Ends]()
    for start in range(0, len(regions), step):
        part = slice(start, min(start + step, len(regions)))
        yield part, _by_group(view, _cover(view, regions, regions.ids[part], ends))


def _cover(view: View, regions: Regions, ids: np.ndarray, ends: dict[int, _Ends]) -> np.ndarray:
    """cover_b(y): boxes x regions. `ends` keeps what was sorted for an attribute."""
    cover = np.ones((len(view.weight), len(ids)))
    for at, (labels, table) in enumerate(zip(view.tables, regions.tables, strict=True)):
        used, places = np.unique(ids[:, at], return_inverse=True)
        if used.tolist() == [ANY]:
            continue
        free = int(used[0] == ANY)
        part = np.ones((len(labels), len(used)))
        if at not in ends:
            ends[at] = _Ends.of(labels)
        part[:, free:] = overlaps(labels, table, used[free:], ends[at]) / labels.size[:, None]
        cover *= part[:, places.reshape(-1)][view.labels[:, at]]
    return cover


def _by_group(view: View, cover: np.ndarray) -> np.ndarray:
    if view.one_box_each:
        some = view.group_weight > 0
        return cover * some[:, None]
    from scipy.sparse import csr_matrix

    boxes = np.arange(len(view.weight))
    sums = csr_matrix((view.weight.astype(np.float64), (view.group, boxes)), shape=(len(view.group_weight), len(boxes)))
    weight = view.group_weight[:, None].astype(np.float64)
    inside = np.asarray(sums @ cover)
    return np.asarray(np.divide(inside, weight, where=weight > 0, out=np.zeros_like(inside)))
