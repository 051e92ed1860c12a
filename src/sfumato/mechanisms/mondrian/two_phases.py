"""Mondrian on a table that is too large to hold: top cuts from summaries, then each part from its own lines.

Source    Ours (docs/decisions/009-two-phases.md); the cuts are those of `kernels.mondrian`.
Claim     The boxes, their order and their carried counts are those of the same table in memory.
Because   a rule reads a part through its counts alone, so that a cut decided from a summary is the cut decided from the
          rows; parts that fit are cut by the same kernel, from their own box and under the whole table's overall
          counts; costs of candidates are added up over the leaves in one order.
Checked   tests/claims/test_two_phases.py::test_two_phases_give_the_same_release
          tests/claims/test_two_phases.py::test_a_mutant_that_finishes_parts_from_the_whole_domain_is_caught
Silent on suppression and linkability, which are refused: they read more of a table than summaries hold.
Cost      one question to the engine for each level of top cuts, one fetch of every part for each candidate partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal

import numpy as np

from sfumato.claims import Requirement, split_linkability
from sfumato.counts import Counts, Members
from sfumato.counts.recoding import RoutingTree
from sfumato.engines import Engine, EngineOfPeople, PairCounts, Parts, binary_nodes
from sfumato.engines.grouping import group_codes
from sfumato.errors import Infeasible, ParameterError
from sfumato.io.read_errors import refused
from sfumato.kernels.conditions import SIZE, Condition, bind, size as compiled_size
from sfumato.kernels.mondrian.layout import CutAttribute, RowRecords, lay_out, whole_box
from sfumato.kernels.mondrian.partition import (
    NOBODY,
    RULES,
    UNIFORMITY_WEIGHT,
    CutTree,
    Inside,
    Partition,
    box_order,
    leaf_costs,
    partition,
    refuse_whole,
    total_cost,
)
from sfumato.kernels.mondrian.summary import Entries, PartCut, PartSummary, choose
from sfumato.mechanisms.conditions import compile_requirement, refuse_infeasible
from sfumato.mechanisms.mondrian.cutting import (
    CutRule,
    NominalCuts,
    cut_axes,
    in_codes,
    is_free,
    least_people,
    order_by_contrast,
    out_of_order,
    tree_recoding,
)
from sfumato.mechanisms.people import satisfied_by_rows, settled
from sfumato.schema import Schema

KernelRule = Literal["best", "sparing", "widest"]


@dataclass(frozen=True, slots=True)
class LargeTable:
    """A table in an engine, as cutting sees it: its axes, the units of dates, how many lines may be held at once.

    `weighed` is the engine whose weights are cut by (rows, or shares of people); `engine` has the rows.
    """

    engine: Engine
    _: KW_ONLY
    weighed: Engine
    schema: Schema
    axes: Sequence[CutAttribute]
    edges: Sequence[np.ndarray | None]
    limit: int

    @property
    def quasi(self) -> int:
        """How many quasi-identifiers there are: the first columns of the engine."""
        return len(self.axes)

    def one_way(self, names: Sequence[str]) -> list[np.ndarray]:
        """Return the weight of each code of some columns."""
        places = [self.engine.names.index(name) for name in names]
        found = self.weighed.pairs(Parts.whole(self.weighed.rows), [(at, at) for at in places])
        return [_dense(found[at, at], self.engine.sizes[at]) for at in places]

    def with_sensitive(self, at: int, sensitive: Sequence[int]) -> list[np.ndarray]:
        """Return the weight of each pair of a code of column `at` and one of each sensitive column."""
        wanted = [(at, other) for other in sensitive]
        found = self.weighed.pairs(Parts.whole(self.weighed.rows), wanted)
        tables = []
        for pair in wanted:
            table = np.zeros((self.engine.sizes[pair[0]], self.engine.sizes[pair[1]]), np.int64)
            np.add.at(table, (found[pair].first, found[pair].second), found[pair].weight)
            tables.append(table)
        return tables


def _dense(found: PairCounts, size: int) -> np.ndarray:
    table = np.zeros(size, np.int64)
    np.add.at(table, found.first, found.weight)
    return table


@dataclass(frozen=True, slots=True)
class _Places:
    """How codes are written while they are cut: dates in units, free attributes in another order."""

    edges: Sequence[np.ndarray | None]
    _: KW_ONLY
    orders: Sequence[np.ndarray | None]

    def of(self, at: int, codes: np.ndarray) -> np.ndarray:
        """Return the places of codes of attribute `at`."""
        ends, order = self.edges[at], self.orders[at]
        if ends is not None:
            codes = np.searchsorted(ends, codes, side="right") - 1
        return codes if order is None else np.argsort(order)[codes]

    def all(self, codes: np.ndarray) -> np.ndarray:
        """Return the places of rows of codes."""
        found = np.column_stack([self.of(at, codes[:, at]) for at in range(len(self.edges))])
        return np.ascontiguousarray(found.astype(np.int32))

    def back(self, parts: Partition) -> Partition:
        """Write boxes and cuts in codes again."""
        if any(order is not None for order in self.orders):
            parts = out_of_order(parts, self.orders)
        return in_codes(parts, list(self.edges))


@dataclass(frozen=True, slots=True)
class PartWork:
    """Finishes one part with the kernel that cuts tables in memory; plain values, so that a worker can have it."""

    axes: tuple[CutAttribute, ...]
    _: KW_ONLY
    places: _Places
    conditions: tuple[Condition, ...]
    rule: KernelRule
    rows: int
    overall: tuple[np.ndarray, ...]
    sensitive: tuple[int, ...]
    sensitive_sizes: tuple[int, ...]
    sizes: tuple[int, ...]
    boxes: tuple[RowRecords, ...]
    weights: tuple[int, ...]
    with_costs: bool
    with_held: bool

    def __call__(self, part: int, codes: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Return the part's boxes, cuts and carried counts."""
        if int(weights.sum()) != self.weights[part]:
            raise _changed()
        q = len(self.axes)
        order = np.lexsort(codes.T[::-1])  # leaves do not depend on it, but the order of nodes does
        codes, weights = codes[order], weights[order]
        table = self.places.all(codes[:, :q])
        found = partition(
            table,
            weights,
            self.axes,
            conditions=self.conditions,
            sensitive=np.ascontiguousarray(codes[:, list(self.sensitive)]),
            sensitive_sizes=self.sensitive_sizes,
            cut=self.rule,
            inside=Inside(self.rows, overall=list(self.overall), box=self.boxes[part]),
        )
        tree = found.tree
        answer: dict[str, np.ndarray] = {
            "low": found.low,
            "high": found.high,
            "weight": found.weight,
            "attribute": tree.attribute,
            "child_first": tree.child_first,
            "child_count": tree.child_count,
            "child_low": tree.child_low,
            "child_node": tree.child_node,
            "leaf": tree.leaf,
        }
        carried = [found.leaf, *(np.ascontiguousarray(codes[:, at]) for at in range(q, codes.shape[1]))]
        sizes = [len(found.weight), *self.sizes[q:]]
        answer["carried"], answer["carried_weight"] = group_codes(carried, sizes, rows=len(codes), weights=weights)
        if self.with_costs:
            answer["width"], answer["excess"] = leaf_costs(found, table, weights, self.axes)
        for at in range(q if self.with_held else 0):
            pair = [found.leaf, np.ascontiguousarray(codes[:, at])]
            answer[f"held {at}"] = group_codes(pair, [len(found.weight), self.sizes[at]], rows=len(codes))[0]
        return answer


@dataclass(slots=True)
class _Top:
    """The tree of top cuts while it grows, in places; `whole` are leaves that were never fetched."""

    boxes: list[RowRecords]
    weight: list[int]
    attribute: list[int] = field(default_factory=lambda: [-1])
    children: list[list[tuple[int, int]]] = field(default_factory=lambda: [[]])  # (low, node)
    whole: dict[int, PartSummary] = field(default_factory=dict)
    fitting: list[int] = field(default_factory=list)

    def tree(self, leaf: Mapping[int, int]) -> CutTree:
        """Return the cuts; `leaf` numbers some nodes."""
        count = np.array([len(children) for children in self.children], np.int64)
        every = [child for children in self.children for child in children]
        return CutTree(
            np.array(self.attribute, np.int32),
            child_first=np.cumsum(count) - count,
            child_count=count,
            child_low=np.array([low for low, _ in every], np.int32),
            child_node=np.array([node for _, node in every], np.int64),
            leaf=np.array([leaf.get(node, -1) for node in range(len(self.attribute))], np.int32),
        )

    def parts(self, nodes: Sequence[int], places: _Places, names: tuple[str, ...], rows: Sequence[int]) -> Parts:
        """Return some nodes as parts that an engine can find by codes."""
        tree = self.tree({node: number for number, node in enumerate(nodes)})
        none, q = np.zeros((0, len(self.boxes[0])), np.int32), np.zeros(0, np.int64)
        shell = Partition(
            none, high=none, weight=q, leaf=q.astype(np.int32), tree=tree, suppressed=0, suppressed_holds=True
        )
        return parts_of(tree_recoding(places.back(shell).tree, names), rows)


def parts_of(tree: RoutingTree, rows: Sequence[int]) -> Parts:
    """Return the leaves of a tree as the parts of a table."""
    walk = binary_nodes(tree.attribute, tree.offsets, tree.boundaries, tree.children)
    part = np.where(walk.attribute < 0, tree.leaf[walk.origin], -1)
    return Parts(
        walk.attribute,
        position=walk.position,
        left=walk.left,
        right=walk.right,
        part=part.astype(np.int64),
        rows=tuple(int(row) for row in rows),
    )


@dataclass(frozen=True, slots=True)
class LeafPartition:
    """A partition whose lines are (leaf, carried codes): a compact table of counts, the partition of it, its cost.

    `top` are the parts that were finished, one by one.
    """

    table: Counts
    _: KW_ONLY
    parts: Partition
    cost: float
    top: Parts


def partition_large(
    large: LargeTable,
    conditions: Sequence[Condition],
    overall: Sequence[np.ndarray],
    *,
    rule: KernelRule,
    orders: Sequence[np.ndarray | None],
    with_costs: bool,
    with_held: bool,
) -> LeafPartition:
    """Cut a large table: level by level from summaries until every part fits, then each part by the kernel."""
    places = _Places(large.edges, orders=orders)
    names = [attribute.name for attribute in large.schema.sensitive]
    only_size = all(condition.operation == SIZE for condition in conditions)
    sensitive = [] if only_size else [large.engine.names.index(name) for name in names]
    bound_to = [] if only_size else [np.asarray(column, np.int64) for column in overall]
    rows = large.weighed.rows
    refuse_whole(conditions, bound_to, rows)
    layout, bound = lay_out(large.axes), bind(conditions, bound_to, rows)
    top = _Top([whole_box(layout)], [rows])
    level, here = [0], [large.engine.rows]
    while level:
        parts = top.parts(level, places, large.engine.names, here)
        summaries = _summaries(large, parts, places, sensitive, pairs=rule != "widest")
        added: list[int] = []
        for node, summary in zip(level, summaries, strict=True):
            cut = choose(
                summary,
                layout,
                large.axes,
                bound,
                box=top.boxes[node],
                rule=RULES[rule],
                uniformity_weight=UNIFORMITY_WEIGHT,
            )
            if cut is None:
                top.whole[node] = summary
            else:
                added += _cut_node(top, node, cut, summary, layout.node, layout.child)
        level, here = _too_large(large, top, places, added)
    return _finished(large, top, places, conditions, rule, sensitive, bound_to, with_costs, with_held)


def _cut_node(
    top: _Top, node: int, cut: PartCut, summary: PartSummary, nodes: RowRecords, child: np.ndarray
) -> list[int]:
    """Add the children of a cut to the tree; return those with rows."""
    a, box = cut.attribute, top.boxes[node]
    parent = int(box[a]["node"])
    if cut.position >= 0:
        sides = [(int(box[a]["low"]), cut.position, -1), (cut.position, int(box[a]["high"]), -1)]
    else:
        below = child[int(nodes[parent]["child"]) : int(nodes[parent]["last_child"])]
        sides = [(int(nodes[x]["low"]), int(nodes[x]["high"]), int(x)) for x in below]
    top.attribute[node] = a
    added = []
    for low, high, tree_node in sides:
        inside = (summary.codes[a] >= low) & (summary.codes[a] < high)
        weight = int(summary.weights[a][inside].sum())
        if not weight:
            top.children[node].append((low, NOBODY))
            continue
        side = box.copy()
        side[a]["low"], side[a]["high"], side[a]["node"] = low, high, tree_node
        number = len(top.attribute)
        top.children[node].append((low, number))
        top.boxes.append(side)
        top.weight.append(weight)
        top.attribute.append(-1)
        top.children.append([])
        added.append(number)
    return added


def _too_large(large: LargeTable, top: _Top, places: _Places, added: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the parts with more rows than may be held, and their rows; those that fit are kept for the kernel."""
    if not added:
        return [], []
    rows = [top.weight[node] for node in added]
    if large.weighed is not large.engine:  # weights are shares of people: ask for the rows
        found = large.engine.pairs(top.parts(added, places, large.engine.names, rows), [(0, 0)])[0, 0]
        rows = [int(many) for many in np.bincount(found.part, weights=found.weight, minlength=len(added))]
    top.fitting += [node for node, many in zip(added, rows, strict=True) if many <= large.limit]
    too_large = [(node, many) for node, many in zip(added, rows, strict=True) if many > large.limit]
    return [node for node, _ in too_large], [many for _, many in too_large]


def _summaries(
    large: LargeTable, parts: Parts, places: _Places, sensitive: Sequence[int], *, pairs: bool
) -> list[PartSummary]:
    """Ask for the counts of all parts at once; return the summary of each, in places."""
    q = large.quasi
    between = [(a, b) for a in range(q) for b in range(a + 1, q)] if pairs else []
    with_sensitive = [(a, at) for a in range(q) for at in sensitive]
    found = large.weighed.pairs(parts, [*((a, a) for a in range(q)), *between, *with_sensitive])
    split = {pair: _by_part(counts, parts.number) for pair, counts in found.items()}
    made = []
    for number in range(parts.number):
        one = [_placed(places, a, None, split[a, a][number]) for a in range(q)]
        made.append(
            PartSummary(
                [codes.astype(np.int32) for codes, _, _ in one],
                weights=[weight for _, _, weight in one],
                pairs={(a, b): _placed(places, a, b, split[a, b][number]) for a, b in between},
                sensitive={
                    (a, j): _placed(places, a, None, split[a, at][number], both=True)
                    for a in range(q)
                    for j, at in enumerate(sensitive)
                },
            )
        )
    return made


def _by_part(counts: PairCounts, number: int) -> list[Entries]:
    order = np.argsort(counts.part, kind="stable")
    ends = np.searchsorted(counts.part[order], np.arange(number + 1))
    return [
        (counts.first[mine], counts.second[mine], counts.weight[mine])
        for mine in (order[ends[at] : ends[at + 1]] for at in range(number))
    ]


def _placed(places: _Places, a: int, b: int | None, entries: Entries, *, both: bool = False) -> Entries:
    """Write the codes of one pair in places and add up what became equal; without b, the second column stays."""
    first, second, weight = entries
    one = np.asarray(places.of(a, first), np.int64)
    other = np.asarray(second if both else one if b is None else places.of(b, second), np.int64)
    wide = int(other.max(initial=0)) + 1
    keys, where = np.unique(one * wide + other, return_inverse=True)
    total = np.zeros(len(keys), np.int64)
    np.add.at(total, where.reshape(-1), weight)
    return keys // wide, keys % wide, total


def _finished(
    large: LargeTable,
    top: _Top,
    places: _Places,
    conditions: Sequence[Condition],
    rule: KernelRule,
    sensitive: Sequence[int],
    overall: Sequence[np.ndarray],
    with_costs: bool,
    with_held: bool,
) -> LeafPartition:
    """Finish the parts that fit, and put all leaves together in the order of their boxes."""
    q, engine = large.quasi, large.weighed
    parts = top.parts(top.fitting, places, engine.names, [top.weight[node] for node in top.fitting])
    work = PartWork(
        tuple(large.axes),
        places=places,
        conditions=tuple(conditions),
        rule=rule,
        rows=engine.rows,
        overall=tuple(overall),
        sensitive=tuple(sensitive),
        sensitive_sizes=tuple(engine.sizes[at] for at in sensitive),
        sizes=engine.sizes,
        boxes=tuple(top.boxes[node] for node in top.fitting),
        weights=tuple(int(top.weight[node]) for node in top.fitting),
        with_costs=with_costs,
        with_held=with_held,
    )
    made = dict(engine.finish(parts, work, large.limit)) if top.fitting else {}
    pieces = [(node, made[number]) for number, node in enumerate(top.fitting)]
    pieces += _whole_parts(large, top, places, with_costs, with_held)
    pieces.sort(key=lambda piece: piece[0])
    low = np.concatenate([piece["low"] for _, piece in pieces])
    high = np.concatenate([piece["high"] for _, piece in pieces])
    weight = np.concatenate([piece["weight"] for _, piece in pieces])
    if int(weight.sum()) != engine.rows:
        raise _changed()
    rank = box_order(low, high)
    number = np.empty(len(rank), np.int32)
    number[rank] = np.arange(len(rank), dtype=np.int32)
    starts = np.cumsum([0, *(len(piece["weight"]) for _, piece in pieces)])
    tree = _grafted(top, pieces, [number[start:] for start in starts[:-1].tolist()])
    cost = 0.0
    if with_costs:
        width, excess = (np.concatenate([piece[name] for _, piece in pieces])[rank] for name in ("width", "excess"))
        cost = total_cost(weight[rank], width, excess, large.axes)
    held = None
    if with_held:
        held = tuple(
            _renumbered([piece[f"held {at}"] for _, piece in pieces], starts, number, large.engine.sizes[at])
            for at in range(q)
        )
    lines = [
        np.column_stack([number[start + piece["carried"][:, 0]], piece["carried"][:, 1:]])
        for start, (_, piece) in zip(starts.tolist(), pieces, strict=False)
    ]
    carried = np.concatenate(lines)
    leaf = np.ascontiguousarray(carried[:, 0]).astype(np.int32)
    codes = np.zeros((len(carried), len(engine.names)), np.int32)
    codes[:, q:] = carried[:, 1:]
    table = Counts(
        large.schema,
        names=engine.names,
        codes=codes,
        weights=np.concatenate([piece["carried_weight"] for _, piece in pieces]),
    )
    for at, column in zip(sensitive, overall, strict=True):
        counted = np.zeros(engine.sizes[at], np.int64)
        np.add.at(counted, codes[:, at], table.weights)
        if not np.array_equal(counted, column):
            raise _changed()
    found = Partition(
        low[rank],
        high=high[rank],
        weight=weight[rank],
        leaf=leaf,
        tree=tree,
        suppressed=0,
        suppressed_holds=True,
        held=held,
    )
    ends = sorted([*top.fitting, *top.whole])
    every = top.parts(ends, places, engine.names, [top.weight[node] for node in ends])
    return LeafPartition(table, parts=places.back(found), cost=cost, top=every)


def _refuse_unsatisfied(schema: Schema, requirement: Requirement, found: LeafPartition) -> None:
    """Raise where a leaf does not satisfy the requirement: cuts were decided from counts that are no longer true."""
    table, leaf = found.table, found.parts.leaf.astype(np.int64)
    held = [(a, table.codes[:, table.names.index(a.name)]) for a in schema.sensitive]
    good = satisfied_by_rows(requirement, leaf, table.weights, len(found.parts.weight), held, schema.rows_per_person)
    if not good.all():
        raise _changed()


def _changed() -> Exception:
    return refused("the table", "has changed since it was first read", "read it again")


def _renumbered(
    pairs: Sequence[np.ndarray], starts: np.ndarray, number: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return (leaf, code) pairs of all pieces in the order of the leaves."""
    leaf = np.concatenate([number[start + pair[:, 0]] for start, pair in zip(starts.tolist(), pairs, strict=False)])
    keys = np.sort(leaf.astype(np.int64) * size + np.concatenate([pair[:, 1] for pair in pairs]))
    return keys // size, keys % size


def _whole_parts(
    large: LargeTable, top: _Top, places: _Places, with_costs: bool, with_held: bool
) -> list[tuple[int, dict[str, np.ndarray]]]:
    """Return the leaves among the top cuts: too large to fetch, and no cut of them is allowed."""
    if not top.whole:
        return []
    nodes, q, engine = sorted(top.whole), large.quasi, large.weighed
    parts = top.parts(nodes, places, engine.names, [top.weight[node] for node in nodes])
    names = engine.names[q:]
    lines = engine.counts(names, engine.rows, parts)  # what the release carries of them: held in any case
    assert lines is not None
    held = {at: engine.pairs(parts, [(at, at)])[at, at] for at in (range(q) if with_held else ())}
    pieces = []
    for number, node in enumerate(nodes):
        box, mine, summary = top.boxes[node], lines.part == number, top.whole[node]
        low, high = (np.array([box[end]], np.int32).reshape(1, q) for end in ("low", "high"))
        none = np.zeros(1, np.int64)
        piece = {
            "low": low,
            "high": high,
            "weight": np.array([summary.weight]),
            "attribute": np.full(1, -1, np.int32),
            "child_first": none,
            "child_count": none,
            "child_low": none[:0].astype(np.int32),
            "child_node": none[:0],
            "leaf": np.zeros(1, np.int32),
            "carried": np.column_stack([np.zeros(int(mine.sum()), np.int32), lines.codes[mine]]),
            "carried_weight": lines.weight[mine],
        }
        if with_costs:
            piece["width"], piece["excess"] = _costs_of(summary, large.axes, low[0], high[0])
        for at, counts in held.items():
            codes = np.unique(counts.first[counts.part == number])
            piece[f"held {at}"] = np.column_stack([np.zeros(len(codes), np.int64), codes])
        pieces.append((node, piece))
    return pieces


def _costs_of(
    summary: PartSummary, axes: Sequence[CutAttribute], low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a leaf costs, from its one-way counts: as `leaf_costs` has it of rows."""
    width, excess = np.ones((1, len(axes)), np.int64), np.zeros((1, len(axes)), np.int64)
    for a, (codes, weights) in enumerate(zip(summary.codes, summary.weights, strict=True)):
        alone = Partition(
            low[None, a : a + 1],
            high=high[None, a : a + 1],
            weight=np.array([summary.weight]),
            leaf=np.zeros(len(codes), np.int32),
            tree=None,  # type: ignore[arg-type]
            suppressed=0,
            suppressed_holds=True,
        )
        wide, over = leaf_costs(alone, codes[:, None], weights, axes[a : a + 1])
        width[:, a], excess[:, a] = wide[:, 0], over[:, 0]
    return width, excess


def _grafted(
    top: _Top, pieces: Sequence[tuple[int, Mapping[str, np.ndarray]]], numbers: Sequence[np.ndarray]
) -> CutTree:
    """Return the whole tree: below each end of the top cuts the tree of its part, children after their parents."""
    trunk = top.tree({})
    attribute, count, leaf = [trunk.attribute.copy()], [trunk.child_count.copy()], [trunk.leaf.copy()]
    first = [trunk.child_first.copy()]
    lows, nodes = [trunk.child_low], [trunk.child_node]
    length, children = len(trunk.attribute), len(trunk.child_low)
    for (node, piece), number in zip(pieces, numbers, strict=True):
        numbered = np.where(piece["leaf"] >= 0, number[np.maximum(piece["leaf"], 0)], -1).astype(np.int32)
        attribute[0][node], leaf[0][node] = piece["attribute"][0], numbered[0]
        first[0][node], count[0][node] = piece["child_first"][0] + children, piece["child_count"][0]
        attribute.append(piece["attribute"][1:])
        first.append(piece["child_first"][1:] + children)
        count.append(piece["child_count"][1:])
        leaf.append(numbered[1:])
        lows.append(piece["child_low"])
        below = piece["child_node"]  # node x > 0 of a piece becomes length + x - 1
        nodes.append(np.where(below == NOBODY, NOBODY, below + length - 1))
        length += len(piece["attribute"]) - 1
        children += len(piece["child_low"])
    return CutTree(
        np.concatenate(attribute),
        child_first=np.concatenate(first),
        child_count=np.concatenate(count),
        child_low=np.concatenate(lows),
        child_node=np.concatenate(nodes),
        leaf=np.concatenate(leaf),
    )


@dataclass(frozen=True, slots=True)
class CutTable:
    """What cutting a large table gives: lines of (leaf, carried codes), the partition of them, who has which line."""

    table: Counts
    _: KW_ONLY
    parts: Partition
    members: Members | None = None


def cut_in_two_phases(
    engine: Engine,
    schema: Schema,
    requirement: Requirement,
    *,
    limit: int,
    cut: CutRule,
    nominal: NominalCuts,
    tight: bool,
    by_people: bool,
) -> CutTable:
    """Cut a table in an engine as `cut_table` cuts one in memory, dates between units of their declared level."""
    if split_linkability(requirement)[1] is not None:
        rule = "linkability is modelled on all distinct rows, and there are more than may be held"
        raise ParameterError("requirement", str(requirement), rule, hint="raise driver_cells, or ask for k, l and t")
    axes, edges = cut_axes(schema.quasi, nominal=nominal, tight=tight, levels=True, units=True)
    weighed, whole = engine, 1
    if by_people:
        assert isinstance(engine, EngineOfPeople)
        weighed, whole = engine.shares()
    large = LargeTable(engine, weighed=weighed, schema=schema, axes=axes, edges=edges, limit=limit)
    names = [attribute.name for attribute in schema.sensitive]
    overall = large.one_way(names)
    if not by_people:
        refuse_infeasible(requirement, schema.sensitive, overall, engine.rows, schema.rows_per_person)
        conditions = compile_requirement(requirement, schema.sensitive, overall, schema.rows_per_person)
        free = [is_free(attribute, axis) for attribute, axis in zip(schema.quasi, axes, strict=True)]
        found = _cheapest(large, conditions, overall, cut=cut, free=free, tight=tight)
        _refuse_unsatisfied(schema, requirement, found)
        return CutTable(found.table, parts=found.parts)
    most = max([1, *(least_people(part) for part in requirement.parts)])
    if weighed.rows < most * whole:
        why = "there are fewer people, counted over the whole table"
        raise Infeasible(requirement, weighed.rows // whole, why, hint="ask for less")
    sizes: list[Condition] = [compiled_size(most * whole)]
    full = [*sizes, *compile_requirement(requirement, schema.sensitive, overall, whole)]
    options = {"cut": cut, "free": [False] * len(axes), "tight": tight}
    try:
        found = _cheapest(large, full, overall, **options)  # type: ignore[arg-type]
    except Infeasible:  # shares are a guide: the requirement in people may hold where they fail
        found = _cheapest(large, sizes, overall, **options)  # type: ignore[arg-type]
    assert isinstance(engine, EngineOfPeople)
    return _settled_in_people(large, engine, found, requirement)


def _cheapest(
    large: LargeTable,
    conditions: Sequence[Condition],
    overall: Sequence[np.ndarray],
    *,
    cut: CutRule,
    free: Sequence[bool],
    tight: bool,
) -> LeafPartition:
    """Return the cheapest of the candidates that `cutting` tries on a table in memory, the first of several."""
    none: list[np.ndarray | None] = [None] * large.quasi
    used_up = cut != "widest" and any(condition.operation != SIZE for condition in conditions)

    def cut_by(rule: KernelRule, orders: Sequence[np.ndarray | None]) -> LeafPartition:
        return partition_large(
            large, conditions, overall, rule=rule, orders=orders, with_costs=used_up, with_held=tight
        )

    found = cut_by(cut, none)
    if not used_up:
        return found
    spared = cut_by("sparing", none)
    found = spared if spared.cost < found.cost else found
    places = [large.engine.names.index(attribute.name) for attribute in large.schema.sensitive]
    orders = [
        order_by_contrast(axis, large.with_sensitive(at, places)) if free[at] else None
        for at, axis in enumerate(large.axes)
    ]
    if any(order is not None for order in orders):
        joined = cut_by("sparing", orders)
        found = joined if joined.cost < found.cost else found
    return found


def _settled_in_people(
    large: LargeTable, engine: EngineOfPeople, found: LeafPartition, requirement: Requirement
) -> CutTable:
    """Count the people of every leaf, part by part, and join leaves until each satisfies the requirement in people."""
    q, names = large.quasi, large.engine.names
    tree = tree_recoding(found.parts.tree, names)
    person, columns, rows = [], [], []
    for number in range(found.top.number):
        here = engine.members(found.top.only([number]))
        leaf = tree.route(here.codes)
        person.append(here.person)
        columns.append(np.column_stack([leaf, here.codes[:, q:]]))
        rows.append(here.rows)
    lines, times = np.concatenate(columns), np.concatenate(rows)
    split = [np.ascontiguousarray(lines[:, at]) for at in range(lines.shape[1])]
    sizes = [len(found.parts.weight), *large.engine.sizes[q:]]
    members = Members.of(np.concatenate(person), split, sizes, times)
    kept, weights = group_codes(split, sizes, rows=len(times), weights=times)
    codes = np.zeros((len(kept), len(names)), np.int32)
    codes[:, q:] = kept[:, 1:]
    table = Counts(large.schema, names=names, codes=codes, weights=weights)
    leaf = np.ascontiguousarray(kept[:, 0]).astype(np.int32)
    weight = np.zeros(len(found.parts.weight), np.int64)
    np.add.at(weight, leaf, weights)
    parts = settled(table, members, replace(found.parts, leaf=leaf, weight=weight), requirement)
    return CutTable(table, parts=parts, members=members)
