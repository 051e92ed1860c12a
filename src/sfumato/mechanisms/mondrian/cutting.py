"""Cutting a table of counts by Mondrian's kernel, and the release of the cut: what Mondrian, Bucketize and DLink share.

Suppressed rows stay as one group with every label `*` where they satisfy the requirement themselves, and are left out
where they do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sfumato.arrays import whole_sums
from sfumato.claims import AlphaK, Claim, KAnonymity, LDiversity, Requirement, split_linkability
from sfumato.counts import Counts, Members, RoutingTree
from sfumato.errors import Infeasible, ParameterError, count_of
from sfumato.kernels.conditions import LINK, SIZE, Condition, size as compiled_size
from sfumato.kernels.mondrian.layout import BOX, EXTREMES, SET, CutAttribute
from sfumato.kernels.mondrian.partition import CutTree, Partition, partition, partition_cost
from sfumato.mechanisms.conditions import compile_requirement, refuse_infeasible
from sfumato.mechanisms.dlink.population_model import Frequencies, compile_linkability, least_k, refuse_no_sensitive
from sfumato.mechanisms.people import declared, read_by, settled, shares, too_few_people
from sfumato.release import PlacedLines, Release, Residence, assemble
from sfumato.schema import Attribute, Days, Labels, Schema, Values
from sfumato.schema.labels import Intervals, merged

# Where a declared level of dates binds the cuts: between its units, never inside one.
#
# Source    Ours. A cut at a row's own day publishes that day as the end of an interval: somebody's birthday.
# Claim     Every end of a label of such an attribute is the first day of a unit of the lowest declared level.
# Because   the kernel is given units instead of days, and what it finds is written in days again by the public edges.
# Checked   tests/claims/test_date_levels.py::test_no_label_ends_inside_a_declared_unit
#           tests/claims/test_date_levels.py::test_days_without_levels_are_caught
# Silent on dates without declared levels, and on numbers: there an end may be a value that occurs.


def unit_edges(attribute: Attribute) -> np.ndarray | None:
    """Return the first code of each unit of the lowest declared level, then the first code after all known ones."""
    if not isinstance(attribute.domain, Days) or not attribute.declared_tree:
        return None
    tree, known = attribute.nodes, attribute.domain.size
    units = [int(tree.low[node]) for node in range(len(tree)) if not tree.children[node] and tree.low[node] < known]
    return np.array([*units, known], np.int64)


def in_units(codes: np.ndarray, edges: list[np.ndarray | None]) -> np.ndarray:
    """Write each attribute that has edges in units; what lies after the known codes, the missing one, comes last."""
    found = codes.copy()
    for at, ends in enumerate(edges):
        if ends is not None:
            found[:, at] = np.searchsorted(ends, codes[:, at], side="right") - 1
    return found


def in_codes(parts: Partition, edges: list[np.ndarray | None]) -> Partition:
    """Write boxes and cuts that were found in units in codes again."""
    low, high, cuts = parts.low.copy(), parts.high.copy(), parts.tree.child_low.copy()
    owner = np.repeat(parts.tree.attribute, parts.tree.child_count)
    place = np.repeat(parts.tree.child_first, parts.tree.child_count) + _within(parts.tree.child_count)
    for at, ends in enumerate(edges):
        if ends is None:
            continue
        wide = np.append(ends, ends[-1] + 1).astype(low.dtype)  # the missing code is one unit of one code
        low[:, at], high[:, at] = wide[low[:, at]], wide[high[:, at]]
        mine = place[owner == at]
        cuts[mine] = wide[cuts[mine]]
    return replace(parts, low=low, high=high, tree=replace(parts.tree, child_low=cuts))


def _within(counts: np.ndarray) -> np.ndarray:
    """0, 1, ... within each of the counts."""
    starts = np.cumsum(counts) - counts
    found: np.ndarray = np.arange(int(counts.sum())) - np.repeat(starts, counts)
    return found


# Which of several partitions to publish, where a requirement reads the sensitive column.
#
# Source    Ours (docs/theory/partition.md, docs/decisions/005-cuts-under-sensitive-requirements.md).
# Claim     The partition costs no more than what the rule `best` alone finds in the declared order of values.
# Because   that one is a candidate, and the cheapest of all is taken. The others are cut by `sparing`: in the declared
#           order, and, where a class is published as the set of its values, in an order in which neighbours differ as
#           much as possible in their sensitive values, so that they can share a class.
# Checked   tests/claims/test_mondrian_slack.py::test_what_is_published_costs_no_more_than_the_best_rule_alone
#           tests/claims/test_mondrian_slack.py::test_reordered_values_keep_tree_and_leaves_together
#           tests/claims/test_mondrian_slack.py::test_order_puts_values_together_that_make_up_the_table
# Silent on which candidate was taken, except that a release says where values were joined because they differ.

MOST_REORDERED = 256
"""Values of an attribute up to which they are put in another order: the search takes their square."""


def contrasting_order(
    axis: CutAttribute, codes: np.ndarray, sensitive: np.ndarray, weights: np.ndarray
) -> np.ndarray | None:
    """Return the codes in an order in which each two neighbours together are as near the whole table as possible.

    First the code that is farthest from it in rows; then, again and again, the one that comes nearest together with
    the last: the sum over sensitive codes of |count x N - n x overall|, divided by the rows of the two. Ties go to the
    lowest code. Missing stays last; None where nothing would change.
    """
    tables = []
    for column in sensitive.T:
        counts = np.zeros((axis.size, int(column.max(initial=0)) + 1), np.int64)
        np.add.at(counts, (codes, column), weights)
        tables.append(counts)
    return order_by_contrast(axis, tables)


def order_by_contrast(axis: CutAttribute, tables: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return the order of `contrasting_order`, from the counts of (code, sensitive code) in each sensitive column."""
    values = axis.size - axis.missing
    if not 2 < values <= MOST_REORDERED or not tables:
        return None
    own = tables[0].sum(axis=1)[:values]
    total = int(tables[0].sum())
    surplus = [counts[:values] * total - own[:, None] * counts.sum(axis=0) for counts in tables]
    left = [int(code) for code in np.flatnonzero(own)]
    found: list[int] = []
    while left:
        last = found[-1:]
        away = np.zeros(len(left))
        for part in surplus:
            together = part[left] + part[last].sum(axis=0)
            away += np.abs(together).astype(np.uint64).sum(axis=1).astype(np.float64)
        at = int(np.argmin(away / (own[left] + own[last].sum()))) if found else int(np.argmax(away))
        found.append(left.pop(at))
    order = np.array([*found, *np.flatnonzero(own == 0), *range(values, axis.size)], np.int64)
    return None if (np.diff(order) == 1).all() else order


def is_free(attribute: Attribute, axis: CutAttribute) -> bool:
    """Say whether an attribute's classes are sets of values that need not be neighbours."""
    return axis.label == SET and attribute.kind == "nominal" and not axis.nodes


def _cheapest(
    codes: np.ndarray,
    weights: np.ndarray,
    axes: list[CutAttribute],
    *,
    free: Sequence[bool],
    conditions: Sequence[Condition],
    sensitive: np.ndarray,
    cut: CutRule,
    **options: Any,
) -> Partition:
    """Cut by the rule; under a requirement that cuts use up also by `sparing`, then in other orders of free attributes.

    Of these the cheapest is kept, the first of several; `options` are those of `partition`.
    """
    options |= {"conditions": conditions, "sensitive": sensitive}
    first = partition(codes, weights, axes, cut=cut, **options)
    used_up = any(condition.operation not in (SIZE, LINK) for condition in conditions)
    if cut == "widest" or not used_up or len(first.weight) == 0:
        return first
    spared = partition(codes, weights, axes, cut="sparing", **options)
    cost = partition_cost(spared, codes, weights, axes)
    found, least = (spared, cost) if cost < (plain := partition_cost(first, codes, weights, axes)) else (first, plain)
    orders = [
        contrasting_order(axis, codes[:, at], sensitive, weights) if free[at] else None for at, axis in enumerate(axes)
    ]
    if any(order is not None for order in orders):
        places = in_order(codes, orders)
        joined = partition(places, weights, axes, cut="sparing", **options)
        if partition_cost(joined, places, weights, axes) < least:
            return out_of_order(joined, orders)
    return found


def in_order(codes: np.ndarray, orders: Sequence[np.ndarray | None]) -> np.ndarray:
    """Write each attribute that has an order by the place of its code in it."""
    found = codes.copy()
    for at, order in enumerate(orders):
        if order is not None:
            found[:, at] = np.argsort(order)[codes[:, at]]
    return found


def out_of_order(parts: Partition, orders: Sequence[np.ndarray | None]) -> Partition:
    """Write boxes and cuts that were found in other orders in codes again: a side of a cut may be several intervals."""
    low, high, tree = parts.low.copy(), parts.high.copy(), parts.tree
    owner = np.repeat(np.arange(len(tree.attribute)), tree.child_count)
    place = np.repeat(tree.child_first, tree.child_count) + _within(tree.child_count)
    kept = np.ones(len(owner), bool)
    nodes, lows, children = [], [], []
    for at, order in enumerate(orders):
        if order is None:
            continue
        size, where = len(order), np.argsort(order)
        ends = low[:, at].copy(), high[:, at].copy()
        inside = (np.arange(size) >= ends[0][:, None]) & (np.arange(size) < ends[1][:, None])
        low[:, at] = np.where(inside, order, size).min(axis=1)
        high[:, at] = np.where(inside, order, -1).max(axis=1) + 1
        cuts = np.flatnonzero(tree.attribute == at)  # each is binary: such an attribute has no nodes
        kept &= tree.attribute[owner] != at
        begin = tree.child_first[cuts]
        right = where[None, :] >= tree.child_low[begin + 1][:, None]
        change = np.ones_like(right)
        change[:, 1:] = right[:, 1:] != right[:, :-1]
        number, code = np.nonzero(change)
        nodes.append(cuts[number])
        lows.append(code)
        children.append(tree.child_node[begin[number] + right[number, code]])
    node = np.concatenate([owner[kept], *nodes])
    child_low = np.concatenate([tree.child_low[place[kept]], *lows])
    child_node = np.concatenate([tree.child_node[place[kept]], *children])
    rank = np.argsort(node, kind="stable")  # within a node the intervals already rise
    count = np.bincount(node, minlength=len(tree.attribute)).astype(np.int64)
    cut_tree = replace(
        tree,
        child_first=np.cumsum(count) - count,
        child_count=count,
        child_low=child_low[rank].astype(np.int32),
        child_node=child_node[rank].astype(np.int64),
    )
    reordered = tuple(at for at, order in enumerate(orders) if order is not None)
    return replace(parts, low=low, high=high, tree=cut_tree, reordered=reordered)


CutRule = Literal["best", "widest"]
NominalCuts = Literal["leaves", "nodes"]


def cut_table(
    table: Counts,
    requirement: Requirement,
    *,
    cut: CutRule = "best",
    nominal: NominalCuts = "leaves",
    tight: bool = False,
    max_suppressed: Fraction = Fraction(0),
    levels: bool = False,
    members: Members | None = None,
) -> tuple[Partition, int]:
    """Partition the rows of a table of counts; return it and how many suppressed rows must be left out altogether.

    With `members`, who has which row, the requirement is counted in people: rows are weighed by shares of a person to
    find cuts, and leaves are joined until each satisfies it exactly (see `sfumato.mechanisms.people`).
    With `levels`, dates are cut between units of their lowest declared level only, and masks at their nodes.
    Once rows are left out, the overall distribution is that of the rows that stay, so the rest is cut anew.
    """
    schema = table.schema
    quasi, sensitive = schema.quasi, schema.sensitive
    checked, asked = split_linkability(requirement)
    if not quasi:
        hint = 'give a column role = "quasi"'
        raise ParameterError("quasi", "none", "a partition needs at least one quasi-identifier", hint=hint)
    if asked is not None:
        refuse_no_sensitive(sensitive)
    # A model of linkability counts days, so that beside it dates are cut anywhere.
    axes, edges = cut_axes(quasi, nominal=nominal, tight=tight, levels=levels, units=levels and asked is None)
    places = [table.names.index(attribute.name) for attribute in sensitive]
    if members is not None:
        options = _Options(axes, edges=edges, places=places, cut=cut)
        return _cut_by_people(table, requirement, members, options), 0
    stays = np.ones(len(table.weights), bool)
    left_out = 0
    while True:
        codes, weights = table.codes[stays], table.weights[stays]
        overall = [whole_sums(codes[:, at], weights, table.schema[table.names[at]].size) for at in places]
        rows = int(weights.sum())
        conditions: list[Condition] = []
        if checked is not None:
            if rows:
                refuse_infeasible(checked, sensitive, overall, rows, schema.rows_per_person)
            conditions += compile_requirement(checked, sensitive, overall, schema.rows_per_person)
        if asked is not None and rows:
            counted = Frequencies.of(quasi, sensitive, codes, weights, table.names)
            conditions.append(compile_linkability(asked, counted, k=least_k(checked, schema.rows_per_person)))
        found = _cheapest(
            in_units(np.ascontiguousarray(codes[:, : len(quasi)]), edges),
            weights,
            axes,
            free=[is_free(attribute, axis) for attribute, axis in zip(quasi, axes, strict=True)],
            conditions=conditions,
            sensitive=np.ascontiguousarray(codes[:, places]),
            sensitive_sizes=[attribute.size for attribute in sensitive],
            cut=cut,
            max_suppressed=Fraction(0) if left_out else max_suppressed,
        )
        if found.suppressed_holds:
            return _spread(in_codes(found, edges), stays), left_out
        left_out = found.suppressed
        stays[np.flatnonzero(stays)[found.leaf < 0]] = False


def cut_axes(
    quasi: Sequence[Attribute], *, nominal: NominalCuts, tight: bool, levels: bool, units: bool
) -> tuple[list[CutAttribute], list[np.ndarray | None]]:
    """Return how each quasi-identifier is cut, and the first code of each unit of dates that are cut in units."""
    edges = [unit_edges(attribute) if units else None for attribute in quasi]
    # Codes under a mask are cut at its nodes, so that a label reads 50*** and does not list the codes between two.
    cuts: list[NominalCuts] = ["nodes" if levels and attribute.masked else nominal for attribute in quasi]
    axes = [
        _axis(attribute, ends, nominal=at, tight=tight) for attribute, ends, at in zip(quasi, edges, cuts, strict=True)
    ]
    return axes, edges


@dataclass(frozen=True, slots=True)
class _Options:
    axes: list[CutAttribute]
    _: KW_ONLY
    edges: list[np.ndarray | None]
    places: list[int]
    cut: CutRule


def _cut_by_people(table: Counts, requirement: Requirement, members: Members, options: _Options) -> Partition:
    """Cut under shares of people; where the shares fail as a whole, under class sizes alone; then settle exactly."""
    weights, whole = shares(members, len(table.weights))
    sensitive = table.schema.sensitive
    overall = [whole_sums(table.codes[:, at], weights, table.schema[table.names[at]].size) for at in options.places]
    least = [least_people(part) for part in requirement.parts]
    sizes: list[Condition] = [compiled_size(max([1, *least]) * whole)]
    full = [*sizes, *compile_requirement(requirement, sensitive, overall, whole)]
    if int(weights.sum()) and int(weights.sum()) < max([1, *least]) * whole:
        raise too_few_people(requirement, members)

    def cut_under(conditions: list[Condition]) -> Partition:
        return _cheapest(
            in_units(np.ascontiguousarray(table.codes[:, : len(table.schema.quasi)]), options.edges),
            weights,
            options.axes,
            free=[False] * len(options.axes),
            conditions=conditions,
            sensitive=np.ascontiguousarray(table.codes[:, options.places]),
            sensitive_sizes=[attribute.size for attribute in sensitive],
            cut=options.cut,
        )

    try:
        found = cut_under(full)
    except Infeasible:  # shares are a guide: the requirement in people may hold where they fail
        found = cut_under(sizes)
    found = in_codes(found, options.edges)
    rows = np.zeros(len(found.weight), np.int64)
    np.add.at(rows, found.leaf, table.weights)
    return settled(table, members, replace(found, weight=rows), requirement) if len(table.weights) else found


def least_people(part: Requirement) -> int:
    """How many people a class needs at least to satisfy a part."""
    match part:
        case KAnonymity() | AlphaK():
            return part.k
        case LDiversity():
            return math.ceil(part.l)
    return 1


def _spread(found: Partition, stays: np.ndarray) -> Partition:
    """Number the rows of the whole table again: -2 for those left out."""
    if stays.all():
        return found
    leaf = np.full(len(stays), -2, np.int32)
    leaf[stays] = found.leaf
    return Partition(
        found.low,
        high=found.high,
        weight=found.weight,
        leaf=leaf,
        tree=found.tree,
        suppressed=0,
        suppressed_holds=True,
        reordered=found.reordered,
    )


def _axis(attribute: Attribute, edges: np.ndarray | None, *, nominal: NominalCuts, tight: bool) -> CutAttribute:
    label = BOX
    if tight:
        label = SET if isinstance(attribute.domain, Values) else EXTREMES
    nodes = attribute.nodes.branching.spans if nominal == "nodes" and attribute.kind == "nominal" else ()
    missing = attribute.missing_code is not None
    size = attribute.size if edges is None else len(edges) - 1 + missing
    return CutAttribute(size, label=label, missing=missing, nodes=nodes)


TIGHT = "labels are the values that occur in a class (sets, and the smallest and largest of numbers), read off the data"


def released(
    table: Counts,
    parts: Partition,
    *,
    tight: bool,
    left_out: int,
    suppressed_out: int,
    claim: Claim,
    mechanism: dict[str, Any],
    members: Members | None = None,
    in_two_phases: bool = False,
) -> Release:
    """Build the release of a partition. Rows with leaf -1 form the suppressed group, rows with -2 are left out.

    Of a table cut `in_two_phases` the lines are (leaf, carried codes): nobody knows which combination landed where, but
    with `members` it is known whose carried codes did.

    With `members`, who has which row, the people of each class are declared beside it.
    """
    schema, width = table.schema, len(table.schema.quasi)
    leaves = len(parts.weight)
    suppressed = leaves if (parts.leaf == -1).any() else None
    group = np.where(parts.leaf == -1, leaves, parts.leaf)
    stays = group >= 0
    tables, columns = [], []
    for at, attribute in enumerate(schema.quasi):
        labels, ids = labels_of(attribute, at, table, parts, tight=tight, with_root=suppressed is not None)
        tables.append(labels)
        columns.append(ids)
    weight = whole_sums(group[stays], table.weights[stays], leaves)
    notes = (*((TIGHT,) if tight else ()), *_by_list(schema.quasi, parts), *_by_contrast(schema, parts))
    if suppressed_out:
        were = count_of(suppressed_out, "row was", "rows were")
        notes = (*notes, f"{were} left out: the requirement fails for them even together")
    people = None
    if members is not None:
        asked = claim.requirement
        people = declared(members, group, len(weight), [] if asked is None else read_by(asked, table))
    release, number = assemble(
        schema,
        people=people,
        tables=tuple(tables),
        labels=np.column_stack(columns) if columns else np.zeros((len(weight), 0), np.int32),
        weight=weight,
        group=np.arange(len(weight)),
        carried_group=group[stays],
        carried_codes=table.codes[stays][:, width:],
        carried_weight=table.weights[stays],
        suppressed_group=suppressed,
        left_out=left_out,
        claim=claim,
        mechanism=mechanism,
        notes=notes,
    )
    home = np.where(stays, number[np.maximum(group, 0)], -1).astype(np.int32)
    recoding = tree_recoding(parts.tree, tuple(a.name for a in schema.quasi)).with_groups(number)
    if not in_two_phases:
        residence = Residence(table.names, table.codes, home, table.weights)
        return replace(release, residence=residence, recoding=recoding)
    whose = None
    if members is not None:
        whose = PlacedLines(table.codes[:, width:], group=home, weight=table.weights, members=members)
    return replace(release, placed=whose, recoding=recoding)


def _by_list(quasi: Sequence[Attribute], parts: Partition) -> tuple[str, ...]:
    """Say of which attributes a class holds neighbours of a list that means nothing, such as the alphabet."""
    width = parts.high - parts.low
    joined = [
        attribute.name
        for at, attribute in enumerate(quasi)
        if at not in parts.reordered
        and attribute.grouped_by_list
        and ((width[:, at] > 1) & (width[:, at] < attribute.values.size)).any()
        and attribute.grouped_by_list
        and ((width[:, at] > 1) & (width[:, at] < attribute.values.size)).any()
    ]
    if not joined:
        return ()
    return (f"no groups are declared for {', '.join(joined)}: values in one cell are neighbours in a list, not alike",)


def _by_contrast(schema: Schema, parts: Partition) -> tuple[str, ...]:
    """Say of which attributes the values in one class were joined because they differ."""
    if not parts.reordered:
        return ()
    joined = ", ".join(schema.quasi[at].name for at in parts.reordered)
    carried = " and ".join(attribute.name for attribute in schema.sensitive)
    return (
        f"values of {joined} in one class were joined because they differ in {carried}, not because they are alike",
    )


def labels_of(
    attribute: Attribute, at: int, table: Counts, parts: Partition, *, tight: bool, with_root: bool
) -> tuple[Labels, np.ndarray]:
    """Return the distinct labels of one attribute and the label id of each leaf (the suppressed group last)."""
    low, high = parts.low[:, at].astype(np.int64), parts.high[:, at].astype(np.int64)
    if tight:
        held = (parts.leaf, table.codes[:, at]) if parts.held is None else parts.held[at]
        sets = _tight_sets(attribute, held[1], held[0], len(parts.weight))
        if (ends := unit_edges(attribute)) is not None:
            sets = [tuple(_whole_units(low, high, ends) for low, high in known) for known in sets]
        return Labels.from_sets(attribute, [*sets, ((0, attribute.size),)] if with_root else sets)
    if with_root:
        low, high = np.append(low, 0), np.append(high, attribute.size)
    return Labels.from_hulls(attribute, low, high)


def _tight_sets(attribute: Attribute, codes: np.ndarray, leaf: np.ndarray, leaves: int) -> list[Intervals]:
    """The codes that occur in each leaf: sets for listed values, extremes for numbers and days.

    A leaf with both values and missing keeps the whole domain: no label joins the two otherwise.
    """
    inside = leaf >= 0
    pairs = np.unique(leaf[inside].astype(np.int64) * attribute.size + codes[inside])
    owner, code = pairs // attribute.size, pairs % attribute.size
    bounds = np.searchsorted(owner, np.arange(leaves + 1))
    missing = attribute.missing_code
    found: list[Intervals] = []
    for number in range(leaves):
        held = code[bounds[number] : bounds[number + 1]]
        if missing is not None and held[-1] == missing and len(held) > 1:
            found.append(((0, attribute.size),))
        elif isinstance(attribute.domain, Values):
            found.append(merged((int(c), int(c) + 1) for c in held))
        else:
            found.append(((int(held[0]), int(held[-1]) + 1),))
    return found


def _whole_units(low: int, high: int, ends: np.ndarray) -> tuple[int, int]:
    """Widen an interval of days to whole units; the missing code and the whole domain stay."""
    if low >= ends[-1] or high > ends[-1]:
        return low, high
    first = int(np.searchsorted(ends, low, side="right")) - 1
    return int(ends[first]), int(ends[np.searchsorted(ends, high, side="left")])


def tree_recoding(tree: CutTree, names: tuple[str, ...]) -> RoutingTree:
    """Return the kernel's cut tree as a recoding; an interval without a row leads to a leaf of no group."""
    inner = np.flatnonzero(tree.attribute >= 0)
    sink = len(tree.attribute)
    count = tree.child_count[inner]
    counts = np.zeros(sink + 1, np.int64)
    counts[inner] = count - 1
    begins = np.cumsum(count) - count  # where the children of each cut node begin among all that are listed
    listed = np.arange(int(count.sum())) + np.repeat(tree.child_first[inner] - begins, count)
    first = np.zeros(len(listed), bool)
    first[begins] = True
    children = tree.child_node[listed]
    return RoutingTree(
        names,
        attribute=np.append(tree.attribute, -1).astype(np.int32),
        offsets=np.concatenate([[0], np.cumsum(counts)]),
        boundaries=tree.child_low[listed][~first].astype(np.int64),
        children=np.where(children < 0, sink, children).astype(np.int64),
        leaf=np.append(tree.leaf, -1).astype(np.int32),
    )
