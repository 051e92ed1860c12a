"""What a manifest may say of an attribute whose domain was read off the data: only what the published labels say.

A public domain is stated as it is. Of any other, the reader gets a domain in which every published label can be
named and read back, made from the labels' own ends: no value, range or step that stands in no label.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.io.decode_cell import code_of
from sfumato.release.release import Release
from sfumato.release.tables import free_name
from sfumato.schema import (
    MISSING,
    ROOT,
    Attribute,
    Days,
    Domain,
    Edges,
    Grid,
    Schema,
    Tree,
    Values,
    label_name,
    parse_label,
)
from sfumato.schema.formats import PLAIN_NUMBERS
from sfumato.schema.from_toml import default_tree
from sfumato.schema.hierarchies import half_open, interval_name
from sfumato.schema.labels import Intervals, merged

_OTHER = "(other)"
_ANY = "(any)"
_ESCAPE = re.compile(r"\\([\\|])")
_Part = tuple[int, int]


def public_schema(release: Release) -> Schema:
    """Return the schema as a reader of the release may know it: published attributes only."""
    boxes, carried = release.boxes, release.groups.carried
    known = []
    for at, table in enumerate(boxes.tables):
        used = np.unique(boxes.labels[boxes.weight > 0, at])
        known.append(public_part(table.attribute, [table.intervals(int(label)) for label in used]))
    for at, attribute in enumerate(carried.attributes):
        codes = np.unique(carried.codes[:, at]).tolist()
        known.append(public_part(attribute, [((code, code + 1),) for code in codes], exact=True))
    nobodys: dict[str, Any] = {"not_person": (), "not_count": (), "copies_are_people": False}
    unsaid: dict[str, Any] = {"decide": (), "person_exact": False, **nobodys}
    return replace(release.schema, attributes=tuple(known), **unsaid)


def other_rules(schema: Schema) -> bool:
    """Whether a cell may be taken for another value by who reads it with the attributes of a manifest alone.

    These hold neither the texts that mean missing nor how numbers and days are written, nor the column's name in the
    file. A cell that cannot be read without a rule is refused then; one that can be is read as something else.
    """
    return schema.other_rules or any(map(_read_otherwise, schema.published))


def _read_otherwise(attribute: Attribute) -> bool:
    if attribute.column_name != attribute.name or attribute.format or attribute.numbers != PLAIN_NUMBERS:
        return True
    texts = attribute.missing.texts if attribute.missing else ()
    saved = replace(attribute, missing=None, other=None, same={})
    return any(code_of(saved, text) >= 0 for text in texts)


def public_part(attribute: Attribute, said: Iterable[Intervals], *, exact: bool = False) -> Attribute:
    """Return the attribute as the public may know it, when the labels `said` are published.

    With `exact` values are published as they are: the only value of a domain stands there by name, not as `*`.
    """
    if attribute.source != "data":
        return replace(attribute, decide=())
    size = attribute.values.size
    labels = [label for given in said if (label := _clipped(given, size))]
    groups: tuple[str, ...] = ()
    if exact and size == 1 and labels:
        domain, tree = attribute.values, None
    else:
        domain, tree, groups = _public_domain(attribute, [label for label in labels if label != ((0, size),)])
    missing = MISSING if attribute.missing_code is not None else None
    return replace(
        attribute,
        domain=domain,
        tree=tree or default_tree(domain, attribute.kind, missing),
        declared_tree=tree is not None,
        clamp=attribute.clamp and not isinstance(domain, Values),
        other=None,
        decide=(),
        unlisted=groups,
    )


def _clipped(label: Intervals, size: int) -> Intervals:
    """Remove the missing code."""
    return tuple((low, min(high, size)) for low, high in label if low < size)


def _public_domain(attribute: Attribute, labels: Sequence[Intervals]) -> tuple[Domain, Tree | None, tuple[str, ...]]:
    """Return domain and tree, and which of the domain's values are names of groups."""
    if not labels:
        return Values((_ANY,)), None, ()
    if isinstance(attribute.domain, Values):
        return _public_values(attribute, labels)
    parts = {part for label in labels for part in label}
    named = {piece: name for part in parts for piece, name in _names(attribute, part).items()}
    ends = sorted({end for part in (*parts, *named) for end in part})
    domain, place = _public_line(attribute.values, ends)
    if any(len(label) == 1 and (place[label[0][0]], place[label[0][1]]) == (0, domain.size) for label in labels):
        domain = _longer(domain)
    plain = (interval_name, half_open)  # names which the ends alone give
    nodes = [
        (place[low], place[high], name)
        for (low, high), name in named.items()
        if name not in [rule(attribute.values, low, high) for rule in plain]
    ]
    return domain, _tree(domain, nodes, attribute, leaves=False) if nodes else None, ()


def _public_line(domain: Domain, ends: list[int]) -> tuple[Domain, dict[int, int]]:
    """Return the coarsest grid on which all ends lie, and the place of each end."""
    first = ends[0]
    unit = math.gcd(*(end - first for end in ends))
    if isinstance(domain, Grid) and domain.step != 1 and domain.step * unit == 1:
        unit = 1  # a cell of width 1 would be named like a whole number
    place = {end: (end - first) // unit for end in ends}
    size = (ends[-1] - first) // unit
    if isinstance(domain, Grid):
        return Grid(domain.edge(first), step=domain.step * unit, size=size), place
    if isinstance(domain, Days):
        return replace(domain, low=domain.edge(first), step=domain.step * unit, size=size), place
    assert isinstance(domain, Edges)
    return Edges(tuple(domain.edge(end) for end in ends)), {end: at for at, end in enumerate(ends)}


def _longer(domain: Domain) -> Domain:
    """Add a cell, so that a label which covers all published ones is not taken for `*`."""
    if isinstance(domain, Edges):
        return Edges((*domain.points, 2 * domain.points[-1] - domain.points[-2]))
    assert isinstance(domain, Grid | Days)
    return replace(domain, size=domain.size + 1)


def _public_values(attribute: Attribute, labels: Sequence[Intervals]) -> tuple[Domain, Tree | None, tuple[str, ...]]:
    """Return one value for each published name, the groups that hold several of them, and names of other groups."""
    named: dict[_Part, str] = {}
    spans: set[_Part] = set()
    for label in labels:
        spans |= set(label)
        if attribute.ordered:  # "a | c" says that something lies between
            spans |= {(before[1], after[0]) for before, after in pairwise(label)}
    for part in {part for label in labels for part in label}:
        named |= _names(attribute, part)
    ends = sorted({end for part in (*named, *spans) for end in part})
    cells = _inside(list(pairwise(ends)), spans)
    taken = set(named.values())
    names = [named.get(cell) or free_name(f"(part {at})", taken) for at, cell in enumerate(cells, 1)]
    starts = np.array([low for low, _ in cells])
    place = {end: int(np.searchsorted(starts, end)) for end in ends}
    if any(sum(place[high] - place[low] for low, high in label) == len(cells) for label in labels):
        names.append(free_name(_OTHER, names))
    domain = Values(tuple(names))
    nodes = [(place[low], place[high], name) for (low, high), name in named.items() if place[high] - place[low] > 1]
    wide = [named[low, high] for low, high in cells if high - low > 1 and (low, high) in named]
    groups = tuple(name for cell in cells if (name := named.get(cell)) and (name in wide or name in attribute.unlisted))
    return domain, _tree(domain, nodes, attribute, leaves=True) if nodes else None, groups


def _names(attribute: Attribute, part: _Part) -> dict[_Part, str]:
    """Return the parts of the published text of one interval: names of nodes, or of both ends."""
    text = label_name(attribute, [part])
    low, high = part
    listed = isinstance(attribute.domain, Values) and attribute.ordered
    if listed and high - low > 1 and text == interval_name(attribute.values, low, high):
        return {(code, code + 1): attribute.values.text(code) for code in (low, high - 1)}
    found = {}
    for piece in text.split(" | "):  # a bar inside a name is escaped
        intervals = parse_label(attribute, piece)
        if intervals is not None and len(intervals) == 1:
            found[intervals[0]] = _ESCAPE.sub(r"\1", piece)
    return found


def _inside(cells: Sequence[_Part], spans: Iterable[_Part]) -> list[_Part]:
    """Return the cells that some label holds (every span begins and ends with a cell)."""
    union = merged(spans)
    starts = [low for low, _ in union]
    return [cell for cell in cells if (at := bisect_right(starts, cell[0])) and cell[0] < union[at - 1][1]]


def _tree(domain: Domain, nodes: Sequence[tuple[int, int, str]], attribute: Attribute, *, leaves: bool) -> Tree:
    """Hang nested nodes below a root, in preorder; missing last."""
    size = domain.size
    held = {(low, high): name for low, high, name in nodes}
    if leaves:
        held |= {(code, code + 1): domain.text(code) for code in range(size)}
    extra = attribute.missing_code is not None
    known = [(0, size + extra, ROOT, -1)]
    way = [0]
    for (low, high), name in sorted(held.items(), key=lambda item: (item[0][0], -item[0][1])):
        while known[way[-1]][1] < high:
            way.pop()
        known.append((low, high, name, way[-1]))
        way.append(len(known) - 1)
    if extra:
        known.append((size, size + 1, MISSING, 0))
    lows, highs, names, parents = zip(*known, strict=True)
    return Tree.of(lows, highs, parents, names)
