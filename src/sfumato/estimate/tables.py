"""Tables of counts over public bins: as a reader estimates them from a release, and as the table itself has them.

Source    the one estimator, `estimate.regions` (Li & Li, KDD 2009, sections 4.2 and 6).
Claim     `ReadTables.counts(a, b, ...)` holds, for every cell of the columns' bins, the estimate of `regions` for that
          cell; `ExactTables.counts` the counts themselves. Bins are a function of the schema and cover each code once.
          `values_moved` is the total variation between a column's counts by value and what a reader expects of each.
Because   cover is a product over columns, so one labels x bins matrix for each column is enough for every table.
Checked   tests/unit/estimate/test_tables.py::test_a_cell_is_what_the_estimator_gives
          tests/unit/estimate/test_tables.py::test_the_table_itself_is_exact
          tests/unit/estimate/test_tables.py::test_bins_cover_every_code_once
          tests/unit/estimate/test_tables.py::test_values_moved_is_the_total_variation_of_single_values
Silent on how wrong an estimate is: compare both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.counts import Table
from sfumato.errors import ParameterError
from sfumato.estimate.alignment import aligned_codes, aligned_labels
from sfumato.estimate.regions import overlaps
from sfumato.release import Release
from sfumato.schema import Attribute, Labels, Schema, label_name
from sfumato.schema.domain import Grid

_ORDERED, _NOMINAL = 14, 40  # bins of a column, at most
_CELLS = 200_000  # of a table, at most
_ENTRIES = 2_000_000  # of a labels x cells matrix held at a time


@dataclass(frozen=True, slots=True)
class PublicBins:
    """A column cut into ranges of codes: bin i is `[edges[i], edges[i + 1])`."""

    attribute: Attribute
    _: KW_ONLY
    edges: tuple[int, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def labels(self) -> Labels:
        """The bins as labels of the attribute."""
        ends = np.array(self.edges, np.int64)
        return Labels(self.attribute, np.arange(len(self) + 1, dtype=np.int64), ends[:-1], ends[1:])

    @property
    def several(self) -> bool:
        """Whether some bin holds several codes."""
        return len(self) < self.edges[-1]

    def place(self, codes: np.ndarray) -> np.ndarray:
        """Return the bin of each code."""
        return np.searchsorted(np.array(self.edges[1:]), codes, side="right")


def bins_of(attribute: Attribute) -> PublicBins:
    """Return public bins: single values where there are few, else a level of the public tree, else even ranges."""
    size, missing = attribute.values.size, attribute.missing_code is not None
    inner = _inner(attribute, size)
    edges = (*inner, size, *([size + 1] if missing else []))
    names = [label_name(attribute, (pair,)) for pair in pairwise(edges)]
    if not attribute.ordered and not _level(attribute, size) and size > _NOMINAL:
        names[_NOMINAL - 1] = f"{size - _NOMINAL + 1} other values"
    return PublicBins(attribute, edges=edges, names=tuple(names))


def _inner(attribute: Attribute, size: int) -> tuple[int, ...]:
    """First code of each bin of values."""
    most = _ORDERED if attribute.ordered else _NOMINAL
    if size <= most:
        return tuple(range(size))
    if level := _level(attribute, size):
        return level
    if not attribute.ordered:
        return tuple(range(_NOMINAL))
    width = next(w for e in range(12) for w in (10**e, 2 * 10**e, 5 * 10**e) if -(-size // w) < _ORDERED)
    domain = attribute.values
    start = -int(domain.low / domain.step) % width if isinstance(domain, Grid) else width
    return (0, *range(start or width, size, width))


def _level(attribute: Attribute, size: int) -> tuple[int, ...]:
    """The deepest level of a declared tree with a readable number of nodes; nothing where none has."""
    if not attribute.declared_tree:
        return ()
    tree = attribute.nodes
    leaf = np.array([not below for below in tree.children])
    for depth in range(tree.height, 0, -1):
        cut = np.flatnonzero(((tree.depth == depth) | (leaf & (tree.depth < depth))) & (tree.low < size))
        if 3 <= len(cut) <= _ORDERED:
            return tuple(sorted(int(low) for low in tree.low[cut]))
    return ()


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """Rows by value of a column: `each[i]` for every code in `[edges[i], edges[i + 1])`, none outside."""

    edges: np.ndarray
    each: np.ndarray

    @classmethod
    def of(cls, starts: np.ndarray, ends: np.ndarray, each: np.ndarray) -> ValueCounts:
        """Return the sum of intervals of codes that have so many rows of each code."""
        edges, place = np.unique(np.concatenate([starts, ends]), return_inverse=True)
        steps = np.bincount(place.reshape(-1), weights=np.concatenate([each, -each]), minlength=len(edges))
        return cls(edges, np.clip(np.cumsum(steps)[:-1], 0, None))

    def rows(self) -> float:
        """Return how many rows there are."""
        return float((np.diff(self.edges) * self.each).sum())

    def at(self, codes: np.ndarray) -> np.ndarray:
        """Return the rows of each code."""
        place = np.searchsorted(self.edges, codes, side="right") - 1
        inside = (place >= 0) & (place < len(self.each))
        found: np.ndarray = np.where(inside, np.append(self.each, 0)[np.where(inside, place, 0)], 0)
        return found


def values_moved(exact: ExactTables, read: ReadTables, name: str) -> float:
    """Return the share of rows that a reader of the release counts under another value of a column."""
    before, after = exact.values[name], read.values[name]
    codes, rows = before.edges[:-1][before.each > 0], before.each[before.each > 0]
    shares = rows / max(rows.sum(), 1), after.at(codes) / max(after.rows(), 1)
    return round(float(np.clip(shares[0] - shares[1], 0, None).sum()), 12)


@dataclass(frozen=True)
class ExactTables:
    """The table's own counts. Confidential."""

    bins: Mapping[str, PublicBins]
    _: KW_ONLY
    places: Mapping[str, np.ndarray] = field(repr=False)
    weight: np.ndarray = field(repr=False)
    values: Mapping[str, ValueCounts] = field(default_factory=dict, repr=False)
    confidential: bool = True

    def counts(self, *names: str) -> np.ndarray:
        """Return how many rows are in each cell of the named columns."""
        shape = _shape(self.bins, names)
        cell = np.ravel_multi_index([self.places[name] for name in names], shape) if names else np.zeros(1, int)
        return np.bincount(cell, weights=self.weight, minlength=int(np.prod(shape))).reshape(shape)


@dataclass(frozen=True)
class ReadTables:
    """What a reader of a release expects in each cell.

    `inside` holds for each quasi-identifier, labels x bins, the share of each label that lies in each bin; `label` says
    which label each box has. `carried` holds the bin of each line of what groups carry.
    """

    bins: Mapping[str, PublicBins]
    _: KW_ONLY
    inside: Mapping[str, np.ndarray] = field(repr=False)
    label: Mapping[str, np.ndarray] = field(repr=False)
    weight: np.ndarray = field(repr=False)
    group: np.ndarray = field(repr=False)
    group_weight: np.ndarray = field(repr=False)
    carried: Mapping[str, np.ndarray] = field(repr=False)
    carried_group: np.ndarray = field(repr=False)
    carried_weight: np.ndarray = field(repr=False)
    values: Mapping[str, ValueCounts] = field(default_factory=dict, repr=False)

    def counts(self, *names: str) -> np.ndarray:
        """Return how many rows a reader expects in each cell of the named columns."""
        shape = _shape(self.bins, names)
        quasi = [name for name in names if name in self.inside]
        wanted = [name for name in names if name not in self.inside]
        if wanted and len(self.weight) != len(self.group_weight):
            order, found = [*quasi, *wanted], self._bucketed(quasi, wanted)
        else:
            order, found = self._boxed(quasi, wanted)
        table = np.asarray(found).reshape([len(self.bins[name]) for name in order])
        moved: np.ndarray = np.transpose(table, [order.index(name) for name in names]).reshape(shape)
        return moved

    def _boxed(self, quasi: Sequence[str], wanted: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Count where a group is one box: lines with a bin or a label in each column, equal labels read once."""
        box, weight = np.arange(len(self.weight)), self.weight
        if wanted:
            at = np.empty(len(self.group_weight), np.int64)
            at[self.group] = box
            box = at[self.carried_group]
            rows = self.group_weight[self.carried_group]
            weight = self.carried_weight * np.divide(self.weight[box], rows, where=rows > 0, out=np.zeros(len(box)))
        sharp = [name for name in quasi if self._sharp(name)]
        spread = [name for name in quasi if name not in sharp]
        places = [self.inside[name].argmax(axis=1)[self.label[name][box]] for name in sharp]
        places += [self.carried[name] for name in wanted]
        fixed = [*sharp, *wanted]
        sizes = [len(self.bins[name]) for name in fixed]
        cell = np.ravel_multi_index(places, sizes) if fixed else np.zeros(len(box), np.int64)
        width = int(np.prod(sizes))
        if not spread:
            return fixed, np.bincount(cell, weights=weight, minlength=width)
        labels, kind = np.unique(
            np.column_stack([self.label[name][box] for name in spread]), axis=0, return_inverse=True
        )
        return [*fixed, *spread], self._spread(spread, labels, (cell, kind.reshape(-1), weight), width)

    def _sharp(self, name: str) -> bool:
        """Whether every label of a column lies in one bin."""
        return bool((self.inside[name].max(axis=1) == 1).all())

    def _spread(
        self, names: Sequence[str], labels: np.ndarray, lines: tuple[np.ndarray, np.ndarray, np.ndarray], width: int
    ) -> np.ndarray:
        """Spread lines (cell of the other columns, kind of labels, weight) over the bins of these columns."""
        from scipy.sparse import csr_matrix

        cell, kind, weight = lines
        held = csr_matrix((weight, (cell, kind)), shape=(width, len(labels))).tocsc()
        cells = int(np.prod([len(self.bins[name]) for name in names]))
        found, step = np.zeros((width, cells)), max(1, _ENTRIES // cells)
        for start in range(0, len(labels), step):
            part = slice(start, start + step)
            columns = (self.inside[name][labels[part, at]] for at, name in enumerate(names))
            found += held[:, part] @ reduce(_crossed, columns)
        return found

    def _bucketed(self, quasi: Sequence[str], wanted: Sequence[str]) -> np.ndarray:
        """Count where a group holds several boxes: every value of a group belongs to each of its boxes alike."""
        from scipy.sparse import csr_matrix

        columns = (self.inside[name][self.label[name]] for name in quasi)
        inside = reduce(_crossed, columns, np.ones((len(self.weight), 1))) * self.weight[:, None]
        number, groups = np.arange(len(self.weight)), len(self.group_weight)
        share = csr_matrix((np.ones(len(number)), (self.group, number)), shape=(groups, len(number))) @ inside
        rows = self.group_weight[:, None].astype(np.float64)
        share = np.divide(share, rows, where=rows > 0, out=np.zeros_like(share))
        sizes = [len(self.bins[name]) for name in wanted]
        value = np.ravel_multi_index([self.carried[name] for name in wanted], sizes)
        held = csr_matrix((self.carried_weight, (self.carried_group, value)), shape=(groups, int(np.prod(sizes))))
        found: np.ndarray = np.asarray((held.T @ share).T)
        return found


def _crossed(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Every bin of one column with every bin of another, line by line."""
    return np.asarray((one[:, :, None] * other[:, None, :]).reshape(len(one), -1))


def _shape(bins: Mapping[str, PublicBins], names: Sequence[str]) -> tuple[int, ...]:
    unknown = [name for name in names if name not in bins]
    if unknown:
        raise ParameterError("names", unknown[0], "is not a published column", hint=f"one of {', '.join(bins)}")
    shape = tuple(len(bins[name]) for name in names)
    if int(np.prod(shape)) > _CELLS:
        raise ParameterError("names", " x ".join(names), f"has more than {_CELLS:,} cells", hint="name fewer columns")
    return shape


def exact_tables(table: Table) -> ExactTables:
    """Return the counts of the table's published columns, over their bins."""
    counts = table.counts()
    bins = {attribute.name: bins_of(attribute) for attribute in _published(table.schema)}
    places = {name: one.place(counts.column(name)) for name, one in bins.items()}
    values = {name: _by_code(counts.column(name), counts.weights) for name in bins}
    return ExactTables(bins, places=places, weight=counts.weights, values=values)


def _by_code(codes: np.ndarray, weight: np.ndarray) -> ValueCounts:
    found, place = np.unique(codes.astype(np.int64), return_inverse=True)
    return ValueCounts.of(found, found + 1, np.bincount(place.reshape(-1), weights=weight, minlength=len(found)))


def _by_label(table: Labels, label: np.ndarray, weight: np.ndarray) -> ValueCounts:
    """Every code of a label is taken to be as frequent as the others."""
    rows = np.bincount(label, weights=weight, minlength=len(table)) / table.size
    return ValueCounts.of(table.starts, table.ends, np.repeat(rows, np.diff(table.offsets)))


def read_tables(release: Release, schema: Schema | None = None) -> ReadTables:
    """Return what a reader takes from a release, over the bins of its own columns or of a schema it was made from."""
    read_by = schema or release.schema
    bins = {attribute.name: bins_of(attribute) for attribute in _published(read_by)}
    boxes, carried = release.boxes, release.groups.carried
    names = [known.name for known in carried.attributes]
    at = {table.attribute.name: place for place, table in enumerate(boxes.tables)}
    inside, label = {}, {}
    values: dict[str, ValueCounts] = {}
    weight = np.asarray(boxes.weight, np.float64)
    for name, one in bins.items():
        if name in at:
            table, label[name] = aligned_labels(one.attribute, boxes.tables[at[name]], boxes.labels[:, at[name]])
            inside[name] = overlaps(table, one.labels, np.arange(len(one))) / table.size[:, None]
            values[name] = _by_label(table, label[name], weight)
        elif name not in names:  # a column that the release does not publish may be anything
            inside[name] = (np.diff(np.array(one.edges)) / one.edges[-1])[None, :]
            label[name] = np.zeros(len(boxes), np.int32)
            size = one.edges[-1]
            values[name] = ValueCounts(np.array([0, size]), np.array([weight.sum() / size]))
    codes = {
        known.name: aligned_codes(bins[known.name].attribute, known, carried.codes[:, place])
        for place, known in enumerate(carried.attributes)
        if known.name in bins
    }
    values |= {name: _by_code(found, carried.weight) for name, found in codes.items()}
    return ReadTables(
        bins,
        inside=inside,
        label=label,
        weight=weight,
        group=boxes.group,
        group_weight=release.groups.weight,
        carried={name: bins[name].place(found) for name, found in codes.items()},
        carried_group=carried.group,
        carried_weight=carried.weight,
        values=values,
    )


def _published(schema: Schema) -> tuple[Attribute, ...]:
    return (*schema.quasi, *schema.carried)


def association(counts: np.ndarray) -> float:
    """Return Cramér's V of a two-way table: 0 where rows and columns are independent, 1 where one decides the other.

    >>> association(np.array([[5.0, 0.0], [0.0, 5.0]])), association(np.array([[2.0, 2.0], [3.0, 3.0]]))
    (1.0, 0.0)
    """
    table = np.clip(counts, 0, None)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    total = table.sum()
    if not total or min(table.shape) < 2:
        return 0.0
    expected: Any = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    squared = float((((table - expected) ** 2) / expected).sum()) / total
    return float(min(1.0, np.sqrt(squared / (min(table.shape) - 1))))
