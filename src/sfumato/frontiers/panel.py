"""What the report shows of one release, as plain data: sizes, columns and associations, and who is exposed.

Everything here but `group_sizes`, `sample_rows`, `star_shares` and `asked_of` is computed from the original and is
confidential.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.counts import Table
from sfumato.errors import SfumatoError, two_digits
from sfumato.estimate import (
    ExactTables,
    ReadTables,
    association,
    exact_tables,
    measured_attributes,
    read_tables,
    values_moved,
)
from sfumato.limits import PAIRED_COLUMNS
from sfumato.measures import Measured, Workload, measure, query_error, workload
from sfumato.measures.base import remembered
from sfumato.release import Release
from sfumato.schema import KNOWN, ROOT, Schema

SELECTIVITIES = ("0.01", "0.05", "0.1", "0.2")
QUERIES = 250
SAMPLE = 6


def panel_of(table: Table, release: Release, known: Mapping[str, Measured]) -> dict[str, Any]:
    """Return plain data; a part that cannot be had for this release is left out."""
    exact, read = tables_of(table, release)
    missing = [name for name in ("privacy_loss", "utility_loss") if name not in known]
    figures = {**known, **measure(table, release, missing)}
    privacy, utility = figures["privacy_loss"], figures["utility_loss"]
    return {
        "sizes": group_sizes(release),
        "driven": privacy.details.get("attribute"),
        "losses": dict(privacy.details.get("by_attribute", {})),
        "largest_ratios": dict(privacy.details.get("largest_ratios", {})),
        "misread": utility.details.get("attribute"),
        "drivers": list(privacy.details.get("drivers", ()))[:3],
        "largest_ratio": privacy.details.get("largest_ratio"),
        "quantiles": dict(privacy.details.get("quantiles", {})),
        "worst_populations": list(utility.details.get("worst", ()))[:5],
        "populations": utility.details.get("populations"),
        "query_error": _by_selectivity(table, release),
        "fingerprints": release.fingerprints().describe(),
        "sample": sample_rows(release) if release.savable else {"columns": [], "rows": []},
        "columns": columns_of(exact, read),
        "associations": associations_of(exact, read),
        "identity": identity_of(table, release),
        "classes": riskiest_classes(release),
        "beside": rows_beside(release) if release.savable else {"columns": [], "rows": []},
        "asked": asked_of(release) if release.savable else {},
    }


def group_sizes(release: Release) -> list[dict[str, int]]:
    """Return how many groups, and rows in them, have a size of low .. high (1, 2, 3-5, 6-10, 11-20, ...).

    The first begins with the smallest group there is: 3-5 would doubt a promise of 5.
    """
    weight = np.asarray(release.groups.weight)
    weight = weight[weight > 0]
    if not len(weight):
        return []
    ends = [step * 10**power for power in range(13) for step in (1, 2, 5)]
    place = np.searchsorted(ends, weight, side="left")
    groups = np.bincount(place, minlength=1)
    rows = np.bincount(place, weights=weight)
    first, last = int(place.min()), int(place.max())
    return [
        {
            "low": max(1 if at == 0 else int(ends[at - 1]) + 1, int(weight.min())),
            "high": int(ends[at]),
            "groups": int(groups[at]),
            "rows": int(rows[at]),
        }
        for at in range(first, last + 1)
    ]


def sample_rows(release: Release, number: int = SAMPLE) -> dict[str, Any]:
    """Return some published rows, evenly spaced in the order of publication."""
    frame = release.frames()["data"]
    if not frame.height:
        return {"columns": frame.columns, "rows": []}
    places = np.unique(np.linspace(0, frame.height - 1, number).astype(int))
    rows = frame[places.tolist()].rows()
    return {"columns": frame.columns, "rows": [[str(cell) for cell in row] for row in rows]}


def star_shares(release: Release) -> dict[str, float]:
    """Return for each column that others may know the share of published rows in which it says nothing.

    That is `*`, and `(known)`, which tells only that there is a value.
    """
    boxes = release.boxes
    rows = max(int(boxes.weight.sum()), 1)
    found = {}
    for at, labels in enumerate(boxes.tables):
        used, place = np.unique(boxes.labels[:, at], return_inverse=True)
        blank = np.array([labels.name(int(label)) in (ROOT, KNOWN) for label in used], dtype=bool)
        found[labels.attribute.name] = float(boxes.weight[blank[place.reshape(-1)]].sum() / rows) if len(used) else 0.0
    return found


def _by_selectivity(table: Table, release: Release) -> list[dict[str, Any]]:
    """Return the query error for small and large regions; the same queries for every release.

    Of several sensitive attributes the one answered worst, which is named.
    """
    found: list[dict[str, Any]] = []
    for selectivity in SELECTIVITIES:
        try:
            error = query_error(table, release, _queries(table, selectivity))
        except SfumatoError:
            continue
        found.append(
            {
                "selectivity": selectivity,
                "error": error.value,
                "median": error.median,
                "queries": error.queries,
                "attribute": error.attribute,
            }
        )
    return found


def _queries(table: Table, selectivity: str) -> list[Workload]:
    """Draw the queries of one selectivity about each sensitive attribute, once for a table."""
    names = [attribute.name for attribute in table.schema.quasi]

    def draw() -> list[Workload]:
        size = min(4, len(names))
        return [
            workload(table, dimension=size, selectivity=selectivity, queries=QUERIES, attribute=known.name)
            for known in measured_attributes(table.schema)
        ]

    return remembered(table.counts(names), ("panel", selectivity), draw)


# Counts before and after, over public bins.

_ENOUGH = 10  # a count below this is not called typical
_STEPS = [step * 10**power for power in range(12) for step in (1, 2, 5)]


def tables_of(table: Table, release: Release) -> tuple[ExactTables, ReadTables]:
    """Return the table's own counts, worked out once, and those a reader of the release expects."""
    exact: ExactTables = remembered(table.counts(), "exact tables", lambda: exact_tables(table))
    return exact, read_tables(release, table.schema)


def columns_of(exact: ExactTables, read: ReadTables) -> list[dict[str, Any]]:
    """Each column's counts in the table and to a reader of the release; `moved` is the share of rows in other bins.

    Where bins hold several values, `values_moved` is the share of rows that a reader counts under other values.
    """
    found = []
    for name, bins in exact.bins.items():
        before, after = exact.counts(name), np.clip(read.counts(name), 0, None)
        shares = [one / max(one.sum(), 1) for one in (before, after)]
        found.append(
            {
                "name": name,
                "role": bins.attribute.role,
                "bins": list(bins.names),
                "before": [int(value) for value in before],
                "after": [round(float(value), 1) for value in after],
                "moved": float(np.abs(shares[0] - shares[1]).sum() / 2),
                **({"values_moved": values_moved(exact, read, name)} if bins.several else {}),
            }
        )
    return found


def moved_words(column: Mapping[str, Any]) -> str:
    """Say which share of the rows a reader counts under another value of a column, and in another of its ranges."""
    ranges, values = float(column["moved"]), column.get("values_moved")
    if values is None:
        return f"{two_digits(100 * ranges)} % of the rows are counted elsewhere"
    return (
        f"{two_digits(100 * ranges)} % of the rows are counted in another of these ranges, "
        f"{two_digits(100 * float(values))} % under another value"
    )


def paired_columns(exact: ExactTables) -> list[str]:
    """Return the columns whose two-way tables are counted: all, or the carried ones and the first others."""
    names = list(exact.bins)
    if len(names) <= PAIRED_COLUMNS:
        return names
    first = sorted(names, key=lambda name: exact.bins[name].attribute.role == "quasi")[:PAIRED_COLUMNS]
    return [name for name in names if name in set(first)]


def associations_of(exact: ExactTables, read: ReadTables) -> list[dict[str, Any]]:
    """Cramér's V of every two of `paired_columns`, in the table and as a reader of the release computes it."""
    return [
        {
            "pair": [one, other],
            "before": round(association(exact.counts(one, other)), 4),
            "after": round(association(read.counts(one, other)), 4),
        }
        for one, other in combinations(paired_columns(exact), 2)
    ]


def _with_quasi(exact: ExactTables, paired: list[str]) -> Iterator[tuple[str, ...]]:
    """Every two columns of which one is a quasi-identifier; the first of the table, where none is among `paired`."""
    quasi = {name for name in exact.bins if exact.bins[name].attribute.role == "quasi"}
    if not quasi & {*paired}:
        paired = [*[name for name in exact.bins if name in quasi][:1], *paired]
    return (pair for pair in combinations(paired, 2) if quasi & {*pair})


def typical_count(exact: ExactTables, read: ReadTables) -> dict[str, Any]:
    """Say how far a typical count is off: the median relative error of cells of its size in tables of two columns.

    At least one of the two is a quasi-identifier: tables of carried columns alone are exact in most releases, and where
    there are many they would hide every error. Where there is no such table, others are taken, and `of` says which.
    The size is the same for every release of a table: the median cell of at least 10 rows, as 1, 2 or 5 times a power
    of 10; cells of half to twice that size are taken. Nothing where the table has none. Where there are more columns
    than are paired, `columns` says how many were. `ranges` says of an exact count that it is one of ranges of values:
    counts of the values themselves may be off.
    """
    paired = paired_columns(exact)
    pairs: list[tuple[str, ...]] = [*_with_quasi(exact, paired)]
    other = {} if pairs else {"of": "two columns" if len(paired) > 1 else "one column"}
    pairs = pairs or [*combinations(paired, 2)] or [(name,) for name in paired]
    true = np.concatenate([exact.counts(*pair).reshape(-1) for pair in pairs])
    large = true[true >= _ENOUGH]
    if not len(large):
        return {}
    size = min(_STEPS, key=lambda step: abs(np.log(step / np.median(large))))
    near = (true >= max(size / 2, 1)) & (true <= 2 * size)
    released = np.concatenate([read.counts(*pair).reshape(-1) for pair in pairs])
    wrong = np.abs(released[near] - true[near]) / true[near]
    share = float(np.median(wrong)) if len(wrong) else 0.0
    found = {"count": int(size), "off": share * size, "share": share, "cells": int(near.sum()), **other}
    if not share and any(exact.bins[name].several for pair in pairs for name in pair):
        found["ranges"] = True
    return found if len(paired) == len(exact.bins) else {**found, "columns": len(paired)}


# Who is exposed by the classes they are in.

_SHOWN, _SMALLEST = 5, 2  # classes in all, and those of them that are there for their size


def people_of(release: Release) -> np.ndarray | None:
    """Return how many people each class holds at least; None where rows of the release are not people."""
    if release.form not in ("generalized", "buckets"):
        return None
    if release.people is not None:
        return np.asarray(release.people.classes)
    return np.asarray(release.groups.weight) // release.schema.rows_per_person


def classes_of(release: Release) -> np.ndarray:
    """Return the numbers of the classes: groups with rows, the suppressed one left out."""
    kept = np.asarray(release.groups.weight) > 0
    if release.suppressed_group is not None:
        kept[release.suppressed_group] = False
    return np.flatnonzero(kept)


def is_lower_bound(release: Release) -> bool:
    """Whether `people_of` is a lower bound: a person may have several rows, and nothing says whose they are."""
    return release.people is None and release.schema.rows_per_person > 1


def identity_of(table: Table, release: Release) -> dict[str, Any]:
    """Return how likely it is to find a person's row: at worst, on average, and how many people are in small classes.

    For someone known to be in the table (the prosecutor): 1 / people of the class, of the smallest one where a person
    is in several. Where the people of a class are known at least only, chances are upper bounds (`at_most`), and who is
    in a small class is not known. Where people have several rows (`several_rows`), the chance is that of a reader who
    picks one of the people of the class at random, not one of its rows. Nothing where rows are not people.
    """
    people, kept = people_of(release), classes_of(release)
    if people is None or not len(kept) or release.form != "generalized":
        return {}
    sizes = np.maximum(people[kept], 1)
    each = _smallest_of_each(table, release, people)  # by person; else by class, as often as it holds people
    number = np.ones(len(each), np.int64) if each is not None else sizes
    each = sizes if each is None else each
    everyone = int(number.sum())
    unsure = is_lower_bound(release)
    small = {} if unsure else {str(k): int(number[each < k].sum()) for k in (2, 5, 11, 20)}
    average = float((number / each).sum()) / everyone
    found = {"highest": 1 / int(sizes.min()), "average": average, "people": everyone, "below": small}
    found |= {"several_rows": True} if release.people is not None else {}
    return {**found, "at_most": True} if unsure else found


def _smallest_of_each(table: Table, release: Release, people: np.ndarray) -> np.ndarray | None:
    """Return how many people the smallest class of each person holds; None where no key tells them apart."""
    home = release.residence
    members = None if release.people is None or home is None else table.members(home.names)
    if home is None or members is None:
        return None
    group = home.group[members.line]
    stays = (group >= 0) & (group != (-1 if release.suppressed_group is None else release.suppressed_group))
    _, person = np.unique(members.person[stays], return_inverse=True)
    least = np.full(int(person.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, person, np.maximum(people[group[stays]], 1))
    return least


def riskiest_classes(release: Release) -> list[dict[str, Any]]:
    """The two smallest classes, then those in which one value of any sensitive column has the largest share.

    Of classes of one size the one with the larger share comes first, of equal shares the smaller one.
    """
    people, kept = people_of(release), classes_of(release)
    if people is None or not len(kept):
        return []
    sensitive = [known for known in release.carried if known.role == "sensitive"] or list(release.carried)
    top = np.zeros((len(kept), 0))
    held = {known.name: release.groups.histogram(known.name)[kept] for known in sensitive}
    if sensitive:
        weight = np.asarray(release.groups.weight)[kept]
        top = np.column_stack([np.asarray(one.max(axis=1).todense()).reshape(-1) / weight for one in held.values()])
    worst = top.max(axis=1) if top.shape[1] else np.zeros(len(kept))
    small = np.lexsort((kept, -worst, people[kept])).tolist()
    alike = np.lexsort((kept, people[kept], -worst)).tolist() if sensitive else small
    found = []
    for at in list(dict.fromkeys([*small[:_SMALLEST], *alike]))[:_SHOWN]:
        group = int(kept[at])
        said: dict[str, Any] = {"people": int(people[group]), "labels": _labels(release, group)}
        if sensitive:
            column = int(top[at].argmax())
            row = held[sensitive[column].name][at].toarray().reshape(-1)
            value = sensitive[column].text(int(row.argmax()))
            said |= {"column": sensitive[column].name, "value": value, "share": float(top[at, column])}
        found.append(said)
    return found


def _labels(release: Release, group: int) -> dict[str, str]:
    """The published labels of a class; of a bucket, whose rows are exact, nothing."""
    boxes = np.flatnonzero(release.boxes.group == group)
    if len(boxes) != 1:
        return {}
    row = release.boxes.labels[boxes[0]].tolist()
    return {table.attribute.name: table.name(at) for table, at in zip(release.boxes.tables, row, strict=True)}


def rows_beside(release: Release) -> dict[str, Any]:
    """Return some rows of the original beside what is published of them. Confidential: these are people's values."""
    home = release.residence
    if home is None or release.form not in ("generalized", "buckets"):
        return {"columns": [], "rows": []}
    quasi = [known for known in release.quasi if known.name in home.names]
    stays = np.flatnonzero(home.group >= 0)
    if not len(stays) or not quasi:
        return {"columns": [], "rows": []}
    people = people_of(release)
    rows = []
    for at in stays[np.unique(np.linspace(0, len(stays) - 1, SAMPLE).astype(int))].tolist():
        group = int(home.group[at])
        before = {known.name: known.text(int(home.codes[at, home.names.index(known.name)])) for known in quasi}
        labels = _labels(release, group) or before
        size = 0 if people is None else int(people[group])
        rows.append({"before": list(before.values()), "after": [labels[name] for name in before], "people": size})
    return {"columns": [known.name for known in quasi], "rows": rows}


# What a COUNT box needs: the estimator's own terms, over public bins. Of a release nothing but what is published.

_ASKED = 300_000  # numbers a box may hold
_CELLS = 2**53  # of the carried columns together, counted exactly by a script


def asked_of(release: Release, schema: Schema | None = None) -> dict[str, Any]:
    """Return boxes and groups over bins, so that a page can add up what a reader expects; nothing where too large.

    The bins are those of `schema`: the release's own unless given, which may know more than what is published.
    Labels that cover the bins alike are one, and so are boxes of one group (or of groups of one box) with equal labels.
    """
    read = read_tables(release, schema)
    names = [name for name in read.bins if name in read.inside]
    carried = [name for name in read.bins if name in read.carried]
    covers, columns = [], []
    for name in names:
        kinds, kind = np.unique(read.inside[name].round(9), axis=0, return_inverse=True)
        covers.append([[[int(at), float(row[at])] for at in np.flatnonzero(row)] for row in kinds])
        columns.append(kind.reshape(-1)[read.label[name]])
    single = len(read.group) == len(read.group_weight)
    keys = np.column_stack([*columns, np.zeros(len(read.weight), int) if single else read.group])
    lines, place = np.unique(keys, axis=0, return_inverse=True)
    place = place.reshape(-1)
    home = place[np.argsort(read.group)] if single else np.arange(len(read.group_weight))
    weight = np.bincount(place, weights=read.weight, minlength=len(lines))
    sizes = [len(read.bins[name]) for name in carried]
    if math.prod(sizes) > _CELLS:  # thirty questions of a survey: no script could tell the cells apart
        return {}
    held = np.zeros((0, 3), int)
    if carried:
        value = np.ravel_multi_index([read.carried[name] for name in carried], sizes)
        pairs, back = np.unique(np.column_stack([home[read.carried_group], value]), axis=0, return_inverse=True)
        counts = np.bincount(back.reshape(-1), weights=read.carried_weight, minlength=len(pairs))
        held = np.column_stack([pairs, counts]).astype(int)
    if lines.size + held.size > _ASKED:
        return {}
    group = np.arange(len(lines)) if single else lines[:, -1]
    total = np.bincount(group, weights=weight, minlength=int(group.max(initial=0)) + 1)
    return {
        "quasi": [{"name": name, "bins": list(read.bins[name].names)} for name in names],
        "carried": [{"name": name, "bins": list(read.bins[name].names)} for name in carried],
        "covers": covers,
        "boxes": lines[:, :-1].astype(int).tolist(),
        "weight": [_short(one) for one in weight],
        "group": group.astype(int).tolist(),
        "total": [_short(one) for one in total],
        "held": held.tolist(),
    }


def asked_truth(table: Table) -> dict[str, Any]:
    """Return the table's counts over the same bins. Confidential: with few people in a cell these are people."""
    exact: ExactTables = remembered(table.counts(), "exact tables", lambda: exact_tables(table))
    names = list(exact.bins)
    keys, place = np.unique(np.column_stack([exact.places[name] for name in names]), axis=0, return_inverse=True)
    counts = np.bincount(place.reshape(-1), weights=exact.weight, minlength=len(keys)).astype(int)
    if keys.size > _ASKED:
        return {}
    return {"names": names, "cells": keys.astype(int).tolist(), "counts": counts.tolist()}


def _short(value: float) -> float | int:
    return int(value) if float(value).is_integer() else round(float(value), 4)
