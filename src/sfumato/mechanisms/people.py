"""Counting people instead of rows, where a table is keyed by person and a person may have several rows.

Source    Ours.
Claim     Every class of the partition that `settled` returns satisfies the requirement in people, as in claims/.
Because   each leaf is checked with the exact numbers of distinct people, and a leaf that fails is joined with all of
          its parent's; what is left after no leaf fails is returned, and where the root itself fails nothing is. The
          guide only decides which cuts are tried: a person's shares over their rows sum to the same whole S, so that
          the shares of a class sum to at most S times its distinct people, and k S shares are k people.
Checked   tests/claims/test_people.py::test_every_class_holds_in_people
          tests/claims/test_people.py::test_a_mutant_that_counts_rows_is_caught
          tests/claims/test_people.py::test_shares_never_exceed_people
Silent on better partitions: the guide gives a person a part of a vote in each class that holds a row of theirs, so
          that classes may be larger than needed where the rows of a person differ in their quasi-identifiers. In
          people, l, t and the like are not closed under union: a failing root does not rule out every partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from sfumato.claims import MECHANISM_TOLERANCE, AlphaK, KAnonymity, Requirement
from sfumato.counts import Counts, Members
from sfumato.engines.grouping import shares_of
from sfumato.errors import Infeasible, count_of
from sfumato.kernels.mondrian.partition import CutTree, Partition
from sfumato.mechanisms.conditions import hint_for_k
from sfumato.release import DeclaredPeople, ground_of
from sfumato.schema import Attribute


def shares(members: Members, lines: int) -> tuple[np.ndarray, int]:
    """Return the weight of each line when every person has the same whole, and that whole.

    A person's whole is divided evenly among the person's lines, the remainder to the first of them.
    """
    return shares_of(members.person, members.line, lines)


def declared(
    members: Members,
    group: np.ndarray,
    groups: int,
    sensitive: Sequence[tuple[Attribute, np.ndarray]] = (),
) -> DeclaredPeople:
    """Count the distinct people of each group, and those with each value of some attributes.

    `group` has the group of each line of the counts (-1: none), `sensitive` the code of each line.
    """
    stays = group[members.line] >= 0
    person, line = members.person[stays], members.line[stays]
    home = group[line].astype(np.int64)
    classes = _distinct(person, home, groups)
    values, overall = {}, {}
    for attribute, codes in sensitive:
        code = codes[line].astype(np.int64)
        cells = np.unique(home * attribute.size + code)
        place = np.searchsorted(cells, home * attribute.size + code)
        values[attribute.name] = (
            cells // attribute.size,
            cells % attribute.size,
            _distinct(person, place, len(cells)),
        )
        overall[attribute.name] = _distinct(person, code, attribute.size)
    return DeclaredPeople(classes, everyone=len(np.unique(person)), values=values, overall=overall)


def _distinct(person: np.ndarray, place: np.ndarray, places: int) -> np.ndarray:
    """How many distinct people are at each place."""
    pairs = np.unique(person * max(places, 1) + place)
    found: np.ndarray = np.bincount(pairs % max(places, 1), minlength=places).astype(np.int64)
    return found


def read_by(requirement: Requirement, table: Counts) -> list[tuple[Attribute, np.ndarray]]:
    """Return the sensitive attributes that a requirement reads, with the code of each line."""
    if not requirement.reads_sensitive:
        return []
    return [(a, table.codes[:, table.names.index(a.name)]) for a in table.schema.sensitive]


def satisfied(
    requirement: Requirement,
    people: DeclaredPeople,
    sensitive: Sequence[Attribute],
    *,
    tolerance: float = MECHANISM_TOLERANCE,
) -> np.ndarray:
    """Whether each group satisfies the requirement in people, for every sensitive attribute."""
    good = np.ones(len(people.classes), bool)
    given: dict[str, Any] = {
        "people": people.classes,
        "everyone": people.everyone,
        "tolerance": tolerance,
    }
    for part in requirement.parts:
        if not part.reads_sensitive:
            good &= part.check(people.classes[:, None], None, **given)
            continue
        for attribute in sensitive:
            table, overall = people.histogram(attribute.name, attribute.size), people.overall[attribute.name]
            good &= part.check(table, overall, ground=ground_of(attribute), **given)
    return good


def satisfied_by_rows(
    requirement: Requirement,
    place: np.ndarray,
    weight: np.ndarray,
    number: int,
    held: Sequence[tuple[Attribute, np.ndarray]],
    rows_per_person: int,
) -> np.ndarray:
    """Whether each group satisfies the requirement, counted in rows; `place` is the group of each line."""
    good = np.ones(number, bool)
    size = np.bincount(place, weights=weight, minlength=number).astype(np.int64)
    for part in requirement.parts:
        if not part.reads_sensitive:
            good &= part.check(size[:, None], rows_per_person=rows_per_person)
            continue
        for attribute, codes in held:
            table = csr_matrix((weight, (place, codes)), shape=(number, attribute.size), dtype=np.int64)
            overall = np.asarray(table.sum(axis=0)).ravel()
            good &= part.check(table, overall, ground=ground_of(attribute), rows_per_person=rows_per_person)
    return good


def settled(table: Counts, members: Members, parts: Partition, requirement: Requirement) -> Partition:
    """Join leaves with their neighbours in the tree of cuts until every one satisfies the requirement in people."""
    tree = parts.tree
    parent = np.full(len(tree.attribute), -1, np.int64)
    for node in np.flatnonzero(tree.attribute >= 0):
        children = tree.child_node[tree.child_first[node] : tree.child_first[node] + tree.child_count[node]]
        parent[children[children >= 0]] = node
    node_of_leaf = np.empty(len(parts.weight), np.int64)
    node_of_leaf[tree.leaf[tree.leaf >= 0]] = np.flatnonzero(tree.leaf >= 0)
    at = node_of_leaf[parts.leaf]  # the node in which each line of the counts lies
    sensitive = read_by(requirement, table)
    closed = np.zeros(len(tree.attribute), bool)
    while True:
        nodes, place = np.unique(at, return_inverse=True)
        people = declared(members, place.reshape(-1), len(nodes), sensitive)
        good = satisfied(requirement, people, [attribute for attribute, _ in sensitive])
        failing = nodes[~good]
        if not len(failing):
            return parts if len(nodes) == len(parts.weight) else _joined(table, parts, at)
        if (parent[failing] < 0).any():
            raise too_few_people(requirement, members, sensitive)
        closed[parent[failing]] = True  # these nodes become leaves
        at = _lifted(at, parent, closed)


def _lifted(at: np.ndarray, parent: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    """Move each line to the highest node above it that is a leaf now; children stand after their parents."""
    top = np.arange(len(parent))
    for node in range(len(parent)):
        above = parent[node]
        if above >= 0 and (leaf[above] or top[above] != above):
            top[node] = top[above]
    found: np.ndarray = top[at]
    return found


def _joined(table: Counts, parts: Partition, at: np.ndarray) -> Partition:
    """Return the partition whose leaves are the nodes in which lines lie, boxes and tree of cuts included."""
    low, high = _boxes(parts, [attribute.size for attribute in table.schema.quasi])
    nodes, place = np.unique(at, return_inverse=True)
    keys = np.stack([low[nodes], high[nodes]], axis=2).reshape(len(nodes), -1)
    rank = np.lexsort(keys.T[::-1])
    number = np.empty(len(nodes), np.int32)
    number[rank] = np.arange(len(nodes), dtype=np.int32)
    leaf = number[place.reshape(-1)]
    tree = parts.tree
    attribute, child_count = tree.attribute.copy(), tree.child_count.copy()
    attribute[nodes], child_count[nodes] = -1, 0
    leaf_of_node = np.full(len(attribute), -1, np.int32)
    leaf_of_node[nodes] = number
    weight = np.zeros(len(nodes), np.int64)
    np.add.at(weight, leaf, table.weights)
    held = parts.held
    if held is not None:
        now = np.zeros(len(parts.weight), np.int64)
        now[parts.leaf] = leaf
        held = tuple(_joined_codes(now[old], codes) for old, codes in held)
    return replace(
        parts,
        held=held,
        low=low[nodes][rank],
        high=high[nodes][rank],
        weight=weight,
        leaf=leaf,
        tree=CutTree(
            attribute,
            child_first=tree.child_first,
            child_count=child_count,
            child_low=tree.child_low,
            child_node=tree.child_node,
            leaf=leaf_of_node,
        ),
    )


def _joined_codes(leaf: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair of a leaf and a code once, in order."""
    size = int(codes.max(initial=0)) + 1
    keys = np.unique(leaf * size + codes)
    return keys // size, keys % size


def _boxes(parts: Partition, sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the box of every node: the whole domain at the root, an interval of the parent's below a cut."""
    tree = parts.tree
    low = np.zeros((len(tree.attribute), len(sizes)), np.int32)
    high = np.tile(np.array(sizes, np.int32), (len(tree.attribute), 1))
    for node in np.flatnonzero(tree.attribute >= 0):
        cut, first, many = tree.attribute[node], tree.child_first[node], tree.child_count[node]
        for child in range(first, first + many):
            below = tree.child_node[child]
            if below >= 0:
                low[below], high[below] = low[node], high[node]
                low[below, cut] = tree.child_low[child]
                if child + 1 < first + many:
                    high[below, cut] = tree.child_low[child + 1]
    return low, high


def too_few_people(
    requirement: Requirement, members: Members, sensitive: Sequence[tuple[Attribute, np.ndarray]] = ()
) -> Infeasible:
    """Say what the whole table as one class attains: of k nothing is better, of the others a partition may be."""
    lines = int(members.line.max()) + 1
    people = declared(members, np.zeros(lines, np.int64), 1, sensitive)
    for part in requirement.parts:
        tables: list[Any] = [(people.classes[:, None], None, None, "")]
        if part.reads_sensitive and sensitive:
            tables = [
                (people.histogram(a.name, a.size), people.overall[a.name], ground_of(a), f" of {a.name}")
                for a, _ in sensitive
            ]
        for table, overall, ground, about in tables:
            given: dict[str, Any] = {"people": people.classes, "everyone": people.everyone, "ground": ground}
            if not part.check(table, overall, tolerance=MECHANISM_TOLERANCE, **given).all():
                best = part.found(table, overall, **given)
                if isinstance(part, KAnonymity | AlphaK) and people.everyone < part.k:
                    why = f"the table has {count_of(people.everyone, 'person', 'people')}"
                    return Infeasible(part, people.everyone, why, hint=hint_for_k(people.everyone))
                whole = f"the whole table as one class does not satisfy it{about}"
                why = f"counted in people, {whole}, and what was tried does not either"
                hint = "ask for less, or keep fewer rows of each person (rows_per_person = 1)"
                return Infeasible(part, best, why, hint=hint, proved=False)
    why = "no partition that was tried satisfies it, counted in people"
    return Infeasible(requirement, "none", why, proved=False)
