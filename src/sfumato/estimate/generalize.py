"""Rows the release was not made from, in the release's labels: `sf.apply`.

A row goes to the class of the region that holds it. Where the labels are tight, or the region held nobody, no published
label may hold the row: then it goes to the nearest class, and `*` is written where its label does not hold the value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.counts import Cuts, Quota, RoutingTree, Table
from sfumato.errors import NotComparable, ParameterError, SfumatoError
from sfumato.mechanisms import REGISTRY
from sfumato.release import Release
from sfumato.release.tables import GROUP, free_name
from sfumato.schema import ROOT, Attribute, Labels

if TYPE_CHECKING:
    import polars as pl

_WHICH = "those of topdown, diffgen and noisy-table, and in Python also of mondrian, bucketize and dlink,"


def generalize(release: Release, table: Table) -> pl.DataFrame:
    """Return the rows of a table in the release's labels, in the table's own order, with what it carries beside."""
    import polars as pl

    if table.schema.other_rules:
        rule = "was read with the schema saved with the release, which lacks rules by which its cells were read"
        raise ParameterError("table", table.schema.name, rule, hint="read it with the schema the release was made with")
    names = [attribute.name for attribute in release.quasi]
    columns = {}
    if release.form == "buckets" and isinstance(release.recoding, RoutingTree):
        group = release.recoding.route(table.codes(names))  # exact rows beside the group of the region that holds them
        exact = {a.name: _texts(a, table.codes([a.name])[:, 0]) for a in release.quasi}
        number = _added(GROUP, release)
        return pl.DataFrame({**exact, number: pl.Series(number, group, dtype=pl.Int64)})
    codes = table.codes(names)
    ids = label_ids(release, codes)
    for at, labels in enumerate(release.boxes.tables):
        outside = pl.Series(_gap(labels, ids[:, at], codes[:, at].astype(np.int64)) > 0)
        columns[names[at]] = _named(labels, ids[:, at]).set(outside, ROOT).alias(names[at])
    for attribute in table.schema.carried:
        columns[attribute.name] = _texts(attribute, table.codes([attribute.name])[:, 0])
    return pl.DataFrame(columns)


def mapping(release: Release) -> pl.DataFrame:
    """Return, for the steward only, which published labels each original combination of quasi-identifiers got.

    Confidential: it undoes the release. Known after `publish`, never saved with it.

    >>> table = sf.datasets.adult("test")
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50)))
    >>> sf.mapping(release).columns[:2]
    ['age', 'workclass']
    """
    import polars as pl

    home = release.residence
    if home is None:
        hint = "only a release just made by a method that generalizes or groups rows has one"
        raise ParameterError("release", release.schema.name, "does not know which row got which label", hint=hint)
    width = len(release.quasi)
    stays = home.group >= 0
    keys = np.column_stack([home.codes[stays][:, :width], home.group[stays]])
    lines, which = np.unique(keys, axis=0, return_inverse=True)
    rows = np.bincount(which.reshape(-1), weights=home.weight[stays], minlength=len(lines)).astype(np.int64)
    exact = {a.name: _texts(a, lines[:, at]) for at, a in enumerate(release.quasi)}
    if release.form == "buckets":
        labels = {_added(GROUP, release): pl.Series(GROUP, lines[:, width], dtype=pl.Int64)}
    else:
        box_of = np.empty(len(release.groups), np.int64)
        box_of[release.boxes.group] = np.arange(len(release.boxes))
        ids = release.boxes.labels[box_of[lines[:, width]]]
        tables = release.boxes.tables
        labels = {f"{t.attribute.name} published": _named(t, ids[:, at]) for at, t in enumerate(tables)}
    return pl.DataFrame({**exact, **labels, _added("rows", release): rows})


def _added(name: str, release: Release) -> str:
    """Return the name of a column we add, as the release itself has it: never that of an attribute."""
    return free_name(name, [attribute.name for attribute in (*release.quasi, *release.carried)])


def _texts(attribute: Attribute, codes: np.ndarray) -> pl.Series:
    """Write codes as texts, each that occurs once."""
    import polars as pl

    used, places = np.unique(codes, return_inverse=True)
    texts = [attribute.text(code) for code in used.tolist()]
    return pl.Series(attribute.name, texts, dtype=pl.String).gather(places.reshape(-1))


def _named(labels: Labels, ids: np.ndarray) -> pl.Series:
    """Write label ids as the public reads them, each that occurs once."""
    import polars as pl

    used, places = np.unique(ids, return_inverse=True)
    return pl.Series([labels.name(label) for label in used.tolist()], dtype=pl.String).gather(places.reshape(-1))


def label_ids(release: Release, codes: np.ndarray) -> np.ndarray:
    """Return the label id of each row for each quasi-identifier."""
    if release.recoding is None:
        raise _no_recoding(release)
    if isinstance(release.recoding, Cuts):
        return np.asarray(release.recoding.route(codes))
    if release.form == "buckets" or isinstance(release.recoding, Quota):
        raise _drawn(release)
    distinct, where = np.unique(codes, axis=0, return_inverse=True)
    box_of = np.empty(len(release.groups), np.int64)
    box_of[release.boxes.group] = np.arange(len(release.boxes))
    return np.asarray(release.boxes.labels[box_of[groups_of(release, distinct)]][where.reshape(-1)])


def _no_recoding(release: Release) -> SfumatoError:
    """Return why there is nothing to apply: it was not saved, it is drawn, or the method has none.

    A method declares in the class variable `recoding` whether it is "public", "confidential" or "drawn".
    """
    name = str(release.mechanism.get("name", ""))
    base = release.mechanism.get("base", {})
    method = str(base.get("name", "")) if name == "dlink" else name
    kind = getattr(REGISTRY[method], "recoding", "") if method in REGISTRY else ""
    if name == "dlink" and kind == "public":  # united classes are no longer those of the same cuts in all rows
        kind = ""
    if kind == "drawn":
        return _drawn(release)
    data = [attribute.name for attribute in release.quasi if attribute.source == "data"]
    hint = "apply it in Python to the release that sf.publish returned"
    if release.residence is not None or not kind or (kind == "public" and not data):
        rule, hint = f"a release by {name} has no recoding that new rows could be put through", f"{_WHICH} have one"
        if name == "foreign":
            rule = "was made by another tool: how its values were made coarser is not known"
    elif kind == "public":
        which = ", ".join(data)
        rule = f"its recoding was not saved, since it would show values of {which} that were read off the data"
        hint = f'{hint}; or declare what is publicly known, write source = "public" and publish again'
    else:
        rule = f"a recoding by {name} is confidential and never saved"
        hint = f"{hint}; topdown, diffgen and noisy-table save theirs"
    return ParameterError("release", release.schema.name, rule, hint=hint)


def _drawn(release: Release) -> NotComparable:
    name = release.mechanism.get("name", "this method")
    return NotComparable(f"{str(name).capitalize()} draws its groups at random, so it cannot be applied to new rows.")


def groups_of(release: Release, codes: np.ndarray) -> np.ndarray:
    """Return the group of each row: of the region that holds it if its labels do, else the nearest."""
    box_of = np.empty(len(release.groups), np.int64)
    box_of[release.boxes.group] = np.arange(len(release.boxes))
    group = release.recoding.route(codes).astype(np.int64)
    known = np.flatnonzero(group >= 0)
    away = _distance(release.boxes.tables, release.boxes.labels[box_of[group[known]]], codes[known])
    stray = np.concatenate([np.flatnonzero(group < 0), known[away > 0]])
    for row in stray:
        gaps = _distance(
            release.boxes.tables, release.boxes.labels, np.broadcast_to(codes[row], release.boxes.labels.shape)
        )
        if release.suppressed_group is not None and len(release.groups) > 1:
            gaps[release.boxes.group == release.suppressed_group] = np.inf  # `*` holds everything, and says nothing
        group[row] = release.boxes.group[int(np.argmin(gaps))]
    return np.asarray(group)


def _distance(tables: tuple[Labels, ...], labels: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Sum over attributes of how far a code lies outside its label: a share of the range, 1 for nominal values."""
    total = np.zeros(len(labels))
    for at, table in enumerate(tables):
        total += _gap(table, labels[:, at], codes[:, at].astype(np.int64))
    return total


def _gap(table: Labels, labels: np.ndarray, codes: np.ndarray) -> np.ndarray:
    attribute: Attribute = table.attribute
    held = np.zeros(len(labels), bool)
    below = np.full(len(labels), np.iinfo(np.int64).max // 4)
    most = int(np.diff(table.offsets).max(initial=0))
    for piece in range(most):  # labels are unions of few intervals
        at = table.offsets[labels] + piece
        real = at < table.offsets[labels + 1]
        at = np.minimum(at, len(table.starts) - 1)
        start, end = table.starts[at], table.ends[at] - 1
        gap = np.maximum(np.maximum(start - codes, codes - end), 0)
        held |= real & (gap == 0)
        below = np.where(real, np.minimum(below, gap), below)
    if not attribute.ordered:
        return np.where(held, 0.0, 1.0)
    outside = below / max(1, attribute.values.size - 1)
    if attribute.missing_code is not None:  # missing is next to nothing
        outside = np.where(~held & (codes == attribute.missing_code), 1.0, outside)
    return np.where(held, 0.0, outside)
