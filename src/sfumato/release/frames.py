"""From boxes and carried counts to the rows the public reads, small first, expanded last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.schema import Attribute

__all__ = ["COUNT", "GROUP", "PublishedTable", "free_name", "published_frames"]

GROUP = "group"
COUNT = "count"


@dataclass(frozen=True)
class PublishedTable:
    """Distinct published rows in order, and how often each stands in the table."""

    distinct: pl.DataFrame
    times: np.ndarray

    @property
    def rows(self) -> int:
        """Rows after expansion."""
        return int(self.times.sum())

    def expanded(self) -> pl.DataFrame:
        """Return one row for each record."""
        return self.distinct[np.repeat(np.arange(len(self.times)), self.times)]

    def batches(self, size: int) -> Iterator[pl.DataFrame]:
        """Yield the expanded rows in order, about `size` at a time, so that a large table is never held twice."""
        ends = np.cumsum(self.times)
        total = int(ends[-1]) if len(ends) else 0
        for start in range(0, total, size):
            places = np.arange(start, min(start + size, total))
            yield self.distinct[np.searchsorted(ends, places, side="right")]


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """Return the name of a column we add; where an attribute has that name already, another."""
    names = set(taken)
    while wanted in names:
        wanted += "_"
    return wanted


def published_frames(release: Release) -> dict[str, PublishedTable]:
    """Return the public tables of a release: one, or for buckets the quasi-identifiers and what the groups carry."""
    if release.form == "buckets":
        return {"data": _sorted(_bucket_rows(release)), "groups": _sorted(_group_rows(release))}
    return {"data": _sorted(_joined_rows(release))}


def _sorted(table: PublishedTable) -> PublishedTable:
    """Sort by the published columns and join equal rows: the order says nothing but the content."""
    if not table.distinct.width:
        return table
    frame = table.distinct.with_columns(pl.Series("\0times", table.times, dtype=pl.Int64))
    names = table.distinct.columns
    summed = frame.group_by(names).agg(pl.col("\0times").sum()).sort(names)
    return PublishedTable(summed.select(names), summed["\0times"].to_numpy())


def _label_columns(release: Release, box: np.ndarray) -> dict[str, pl.Series]:
    columns = {}
    for at, table in enumerate(release.boxes.tables):
        names = pl.Series(table.attribute.name, table.names, dtype=pl.String)
        columns[table.attribute.name] = names.gather(release.boxes.labels[box, at])
    return columns


def _code_columns(attributes: tuple[Attribute, ...], codes: np.ndarray) -> dict[str, pl.Series]:
    columns = {}
    for at, attribute in enumerate(attributes):
        used, places = np.unique(codes[:, at], return_inverse=True)
        names = pl.Series(attribute.name, [attribute.text(int(code)) for code in used], dtype=pl.String)
        columns[attribute.name] = names.gather(places)
    return columns


def _joined_rows(release: Release) -> PublishedTable:
    """One box a group: labels beside each carried combination."""
    carried = release.groups.carried
    if not carried.attributes:
        frame = pl.DataFrame(_label_columns(release, np.arange(len(release.boxes))))
        return PublishedTable(frame, release.boxes.weight)
    box_of = np.empty(len(release.groups), np.int64)
    box_of[release.boxes.group] = np.arange(len(release.boxes))
    columns = _label_columns(release, box_of[carried.group]) | _code_columns(carried.attributes, carried.codes)
    return PublishedTable(pl.DataFrame(columns), carried.weight)


def _published_names(release: Release) -> list[str]:
    return [attribute.name for attribute in (*release.quasi, *release.carried)]


def _bucket_rows(release: Release) -> PublishedTable:
    columns = _label_columns(release, np.arange(len(release.boxes)))
    group = free_name(GROUP, _published_names(release))
    columns[group] = pl.Series(group, release.boxes.group, dtype=pl.Int64)
    return PublishedTable(pl.DataFrame(columns), release.boxes.weight)


def _group_rows(release: Release) -> PublishedTable:
    carried, names = release.groups.carried, _published_names(release)
    group, count = free_name(GROUP, names), free_name(COUNT, names)
    columns = {group: pl.Series(group, carried.group, dtype=pl.Int64)}
    columns |= _code_columns(carried.attributes, carried.codes)
    columns[count] = pl.Series(count, carried.weight, dtype=pl.Int64)
    return PublishedTable(pl.DataFrame(columns), np.ones(len(carried), np.int64))
