"""TopDown: global cuts, specialized where that tells most about the class for the least loss of anonymity.

Source    Fung, Wang & Yu, "Top-down specialization for information and privacy preservation", ICDE 2005, sections 3
          and 4; the rival of the DiffGen paper's section 5.
Claim     Every published class has at least k people (rows, where the schema does not decide who they are).
Because   a specialization is taken only when every class it makes has at least k; the cuts are global, so classes are
          the distinct combinations of labels.
Checked   tests/claims/test_topdown.py::test_every_class_has_k
          tests/claims/test_topdown.py::test_the_cut_equals_a_slow_search
          tests/claims/test_topdown.py::test_a_mutant_that_forgets_the_small_classes_is_caught
Silent on what the people of one class have in common; on what a reader knows from elsewhere; on columns that are
          never cut because too few rows lack them (`Release.warnings` names these).
Cost      One-way counts for every score; one pass over the distinct rows below a node for its anonymity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sfumato.claims import Claim, KAnonymity, requirement_notes, rows_for
from sfumato.counts import Counts, Cuts, Table
from sfumato.counts.few_missing import few_missing
from sfumato.declare import Whole, declare, parameter, to_json
from sfumato.errors import Infeasible, ParameterError, Problem, count_of
from sfumato.mechanisms.base import Gathered, Plan, Stage
from sfumato.mechanisms.people import declared, shares
from sfumato.randomness import Entropy
from sfumato.release import Release, Residence, assemble
from sfumato.schema import Attribute, Labels, Schema

ROUNDING = 1e-12  # gains and scores closer than this are equal: then the schema's order decides


@declare
class TopDown:
    """Cut each attribute globally so that the target can still be predicted (top-down specialization).

    >>> table = sf.datasets.adult("test")
    >>> str(sf.publish(table, sf.TopDown(50)).claim)
    'k-anonymity(50) [checked]'
    """

    name: ClassVar[str] = "topdown"
    plain: ClassVar[str] = "The same coarser values in all rows, to predict one column"
    counts_people: ClassVar[bool] = True
    recoding: ClassVar[str] = "public"

    k: Whole = parameter(
        "Every class has at least k people (rows, where the schema does not decide who they are).",
        least=1,
        hint="try 5",
        unit="people",
        example=5,
        grid=(5, 10, 50, 200, 1000),
    )

    to_json = to_json

    def claim(self, schema: Schema) -> Claim:
        """Promise k-anonymity."""
        requirement = KAnonymity(self.k)
        notes = requirement_notes(requirement, schema)
        return Claim(requirement, silent_on=notes, unit=schema.unit)

    def needs(self, schema: Schema) -> list[tuple[str, ...]]:
        """Ask for the counts over all published attributes."""
        if not schema.role("target"):
            raise ParameterError(
                "target", "none", "TopDown needs a target to predict", hint='give a column role = "target"'
            )
        return [tuple(attribute.name for attribute in schema.published)]

    def plan(self, schema: Schema) -> Plan:
        """One stage; no budget is spent."""
        counted = "people" if schema.unit == "person" else "rows"
        does = f"specializes {len(schema.quasi)} attributes while every class keeps {self.k} {counted}"
        return Plan((Stage("specialize", does=does),))

    def uncuttable(self, table: Table, *, wrapped: bool) -> list[Problem]:
        """Name the columns that too few rows lack to be cut off: these stay whole in all rows."""
        return few_missing(table, self.k, everywhere=True)

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Specialize from the roots until no valid specialization gains anything."""
        schema, table = counts.schema, counts.published
        weighed, whole = table, schema.rows_per_person
        if counts.members is not None:  # a class of k wholes of shares holds k people
            weights, whole = shares(counts.members, len(table.weights))
            weighed = replace(table, weights=weights)
        least = rows_for(self.k, whole)
        rows = int(weighed.weights.sum())
        if 0 < rows < least:
            fewer = "people" if schema.unit == "person" else "rows"
            why = f"the table has fewer {fewer}"
            if counts.members is None and whole > 1:  # who has how many is not known
                why = f"the table has {count_of(rows, 'row')}, and one person may have {whole}"
            raise Infeasible(f"k-anonymity({self.k})", max(1, rows // whole), why)
        search = Specialization(weighed, least)
        while search.step():
            pass
        return _released(counts, table, search.cuts(), self.claim(schema), self.to_json())


def class_gain(child_class_counts: np.ndarray) -> float:
    """Information gain in bits: entropy of the class before minus the weighted entropy of the children."""
    table = np.asarray(child_class_counts, float)
    total = table.sum()
    if total == 0:
        return 0.0
    return float(_bits(table.sum(axis=0)) - _bits(table)) / float(total)


def _bits(counts: np.ndarray) -> float:
    """Sum over rows of n H(row): n log n minus the sum of c log c, in bits."""
    counts = np.atleast_2d(counts)
    totals = counts.sum(axis=1)
    return float(_xlogx(totals).sum() - _xlogx(counts).sum())


def _xlogx(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values * np.log2(np.where(values > 0, values, 1)), 0.0)


def anonymity_score(gain: float, before: int, after: int) -> float:
    """Information gain per anonymity loss: gain / (smallest class before - smallest class after + 1)."""
    return gain / (before - after + 1)


@dataclass(frozen=True, slots=True)
class _Node:
    """A label that may be specialized: an interval of codes of one attribute and its children."""

    attribute: int
    low: int
    high: int
    children: tuple[tuple[int, int], ...]
    gain: float


class Specialization:
    """The search state: the label of each row for each attribute, and the nodes that may be specialized."""

    def __init__(self, table: Counts, least: int) -> None:
        schema = table.schema
        self.table, self.least = table, least
        self.quasi = schema.quasi
        target = schema.role("target")[0]
        self.one_way = [
            _one_way(table, at, attribute.size, table.names.index(target.name), target.size)
            for at, attribute in enumerate(self.quasi)
        ]
        self.labels = [[(0, attribute.size)] for attribute in self.quasi]
        self.group = np.zeros(len(table.weights), np.int64)
        self.sizes = np.array([int(table.weights.sum())])
        self.open = [node for at in range(len(self.quasi)) if (node := self._node(at, 0, self.quasi[at].size))]

    def step(self) -> bool:
        """Take the valid specialization with the best score; False when there is none. Ties: schema order, lowest."""
        before = int(self.sizes.min())
        best: tuple[float, _Node, np.ndarray, np.ndarray] | None = None
        for node in list(self.open):
            group, sizes, smallest = self._tried(node)
            if smallest < self.least:
                self.open.remove(node)  # classes only get smaller: it can never become valid again
                continue
            score = anonymity_score(node.gain, before, min(before, smallest))
            if node.gain > ROUNDING and (best is None or score > best[0] + ROUNDING):
                best = (score, node, group, sizes)
        if best is None:
            return False
        _, node, self.group, self.sizes = best
        self.open.remove(node)
        place = self.labels[node.attribute]
        place.remove((node.low, node.high))
        place.extend(node.children)
        self.open += [new for low, high in node.children if (new := self._node(node.attribute, low, high))]
        self.open.sort(key=lambda known: (known.attribute, known.low))
        return True

    def _tried(self, node: _Node) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the groups and their sizes after a specialization, and the smallest new class."""
        codes = self.table.codes[:, node.attribute]
        inside = np.flatnonzero((codes >= node.low) & (codes < node.high))
        starts = np.array([low for low, _ in node.children])
        child = np.searchsorted(starts, codes[inside], side="right") - 1
        keys, fresh = np.unique(self.group[inside] * len(starts) + child, return_inverse=True)
        new = np.bincount(fresh.reshape(-1), weights=self.table.weights[inside], minlength=len(keys)).astype(np.int64)
        group = self.group.copy()
        group[inside] = len(self.sizes) + fresh.reshape(-1)
        kept, number = np.unique(group, return_inverse=True)
        sizes = np.concatenate([self.sizes, new])[kept]
        return number.reshape(-1), sizes, int(new.min()) if len(new) else int(self.sizes.min())

    def _node(self, at: int, low: int, high: int) -> _Node | None:
        """Return the node with its children: a tree's, or for numbers the split with the largest gain."""
        attribute, table = self.quasi[at], self.one_way[at]
        children = (
            _tree_children(attribute, low, high) if not _splits(attribute) else _best_split(attribute, table, low, high)
        )
        if len(children) < 2:
            return None
        return _Node(
            at, low, high, children, class_gain(np.array([table[start:end].sum(axis=0) for start, end in children]))
        )

    def cuts(self) -> list[list[tuple[int, int]]]:
        """The labels of each attribute, in code order."""
        return [sorted(labels) for labels in self.labels]


def _one_way(table: Counts, at: int, size: int, target: int, classes: int) -> np.ndarray:
    cells = table.codes[:, at].astype(np.int64) * classes + table.codes[:, target]
    return np.bincount(cells, weights=table.weights, minlength=size * classes).reshape(size, classes)


def _splits(attribute: Attribute) -> bool:
    """Numbers, ranks and days without a declared hierarchy are split in two where the gain is largest."""
    return attribute.ordered and not attribute.declared_tree


def _tree_children(attribute: Attribute, low: int, high: int) -> tuple[tuple[int, int], ...]:
    tree = attribute.nodes
    node = tree.by_interval.get((low, high))
    return () if node is None else tuple((int(tree.low[c]), int(tree.high[c])) for c in tree.children[node])


def _best_split(attribute: Attribute, table: np.ndarray, low: int, high: int) -> tuple[tuple[int, int], ...]:
    missing = attribute.missing_code
    if missing is not None and high == missing + 1:  # missing goes first: no label joins it with values
        return ((low, missing), (missing, high)) if low < missing else ()
    if high - low < 2:
        return ()
    below = np.cumsum(table[low:high], axis=0)[:-1]
    above = table[low:high].sum(axis=0) - below
    rest = np.array([_bits(np.stack(pair)) for pair in zip(below, above, strict=True)])
    at = low + 1 + int(np.flatnonzero(rest <= rest.min() + ROUNDING * max(1.0, float(table.sum())))[0])
    return ((low, at), (at, high))


def _released(
    counts: Gathered, table: Counts, cuts: Sequence[Sequence[tuple[int, int]]], claim: Claim, mechanism: dict[str, Any]
) -> Release:
    schema, width = counts.schema, len(counts.schema.quasi)
    tables, maps = [], []
    for attribute, labels in zip(schema.quasi, cuts, strict=True):
        low, high = (np.array(ends) for ends in zip(*labels, strict=True))
        tables.append(Labels.from_hulls(attribute, low, high)[0])
        maps.append(np.repeat(np.arange(len(labels)), high - low).astype(np.int32))
    recoding = Cuts(tuple(attribute.name for attribute in schema.quasi), labels=tuple(maps))
    ids = recoding.route(table.codes[:, :width])
    boxes, group = np.unique(ids, axis=0, return_inverse=True)
    group = group.reshape(-1)
    release, number = assemble(
        schema,
        tables=tuple(tables),
        labels=boxes,
        weight=np.bincount(group, weights=table.weights, minlength=len(boxes)).astype(np.int64),
        group=np.arange(len(boxes)),
        carried_group=group,
        carried_codes=table.codes[:, width:],
        carried_weight=table.weights,
        claim=claim,
        mechanism=mechanism,
        left_out=counts.left_out,
        people=None if counts.members is None else declared(counts.members, group, len(boxes)),
    )
    home = number[group].astype(np.int32) if len(number) else group.astype(np.int32)
    return replace(release, residence=Residence(table.names, table.codes, home, table.weights), recoding=recoding)
