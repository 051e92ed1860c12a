"""From boxes and carried counts to the rows the public reads, small first, expanded last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.release.declared_people import ALL, CLASS, PEOPLE, DeclaredPeople, people_columns
from sfumato.release.files import distinct_texts, marked, marked_frame

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.schema import Attribute

GROUP = "group"
COUNT = "count"


@dataclass(frozen=True)
class Column:
    """One published column: the place of each row's text in `texts`, or whole numbers if there are none."""

    name: str
    _: KW_ONLY
    ids: np.ndarray
    texts: pl.Series | None = None

    def at(self, places: np.ndarray) -> pl.Series:
        """Return the cells of the given rows."""
        if self.texts is None:
            return pl.Series(self.name, self.ids[places], dtype=pl.Int64)
        return self.texts.gather(self.ids[places]).alias(self.name)

    def marked(self) -> Column:
        """Return the column as it is written to CSV; each different text is marked once."""
        texts = None if self.texts is None else marked_frame(self.texts.to_frame("text")).to_series()
        return Column(marked(self.name), ids=self.ids, texts=texts)


@dataclass(frozen=True)
class PublishedTable:
    """Distinct published rows in order, and how often each occurs in the table."""

    columns: tuple[Column, ...]
    times: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def rows(self) -> int:
        """Rows after expansion."""
        return int(self.times.sum())

    def at(self, places: np.ndarray) -> pl.DataFrame:
        """Return the given distinct rows."""
        return pl.DataFrame([column.at(places) for column in self.columns])

    @property
    def distinct(self) -> pl.DataFrame:
        """The distinct rows."""
        return self.at(np.arange(len(self.times)))

    def counted(self, name: str) -> PublishedTable:
        """Return each distinct row once, with its count in a last column."""
        count = Column(name, ids=self.times)
        return PublishedTable((*self.columns, count), np.ones(len(self.times), np.int64))

    def expanded(self) -> pl.DataFrame:
        """Return one row for each record."""
        return self.at(np.repeat(np.arange(len(self.times)), self.times))

    def marked(self) -> PublishedTable:
        """Return the table as it is written to CSV (`marked_frame`)."""
        return PublishedTable(tuple(column.marked() for column in self.columns), self.times)

    def batches(self, size: int) -> Iterator[pl.DataFrame]:
        """Yield the expanded rows in order, about `size` at a time, so that a large table is never held whole."""
        ends = np.cumsum(self.times)
        total = int(ends[-1]) if len(ends) else 0
        for start in range(0, total, size):
            places = np.arange(start, min(start + size, total))
            yield self.at(np.searchsorted(ends, places, side="right"))


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """Return the name of a column we add; where an attribute has that name already, another."""
    names = set(taken)
    while wanted in names:
        wanted += "_"
    return wanted


def published_frames(release: Release, *, counts: bool = False) -> dict[str, PublishedTable]:
    """Return the public tables of a release: one, or for buckets the quasi-identifiers and what the groups carry.

    With `counts` each distinct row stands once, with its count beside it.
    """
    if release.form == "buckets":
        return {"data": _bucket_rows(release), "groups": _group_rows(release)}
    declared = {} if release.people is None else {PEOPLE: _people_rows(release, release.people)}
    rows = _joined_rows(release)
    data = rows.counted(free_name(COUNT, _published_names(release))) if counts else rows
    return {"data": data, **declared}


def _sorted(columns: Sequence[Column], times: np.ndarray) -> PublishedTable:
    """Sort by the published columns and join equal rows: the order says nothing but the content."""
    times = np.asarray(times, np.int64)
    keys = _packed([column.ids for column in columns])
    if not keys or not len(times):
        return PublishedTable(tuple(columns), times)
    order = np.lexsort(keys[::-1]) if len(keys) > 1 else np.argsort(keys[0])  # equal rows are joined: any order of them
    new = np.ones(len(order), bool)
    new[1:] = np.logical_or.reduce([key[order[1:]] != key[order[:-1]] for key in keys])
    starts = np.flatnonzero(new)
    kept = tuple(Column(column.name, ids=column.ids[order[starts]], texts=column.texts) for column in columns)
    return PublishedTable(kept, np.add.reduceat(times[order], starts))


def _packed(columns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Pack columns of small numbers into few keys that sort alike: comparing texts would take ten times as long."""
    keys: list[np.ndarray] = []
    room = 0
    for column in columns:
        span = int(column.max()) + 1 if len(column) else 1
        if not keys or room * span >= 2**62:
            keys.append(column.astype(np.int64))
            room = span
        else:
            keys[-1] = keys[-1] * span + column
            room *= span
    return keys


def _text_column(name: str, texts: Sequence[str], ids: np.ndarray) -> Column:
    """Number texts in byte order, so that sorting numbers sorts texts."""
    distinct, places = distinct_texts(pl.Series(texts, dtype=pl.String))
    return Column(name, ids=places[ids], texts=pl.Series(distinct, dtype=pl.String))


def _label_columns(release: Release, box: np.ndarray) -> list[Column]:
    """Name the labels that occur: a table of labels may list a whole domain."""
    columns = []
    for at, table in enumerate(release.boxes.tables):
        used, places = _used(release.boxes.labels[:, at][box])
        names = [table.name(label) for label in used.tolist()]
        columns.append(_text_column(table.attribute.name, names, places))
    return columns


def _used(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the small numbers that occur, in order, and the place of each given one among them."""
    occurs = np.zeros(int(ids.max(initial=0)) + 1, bool)
    occurs[ids] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs, dtype=np.int32) - 1)[ids]


def _code_columns(attributes: tuple[Attribute, ...], codes: np.ndarray) -> list[Column]:
    columns = []
    for at, attribute in enumerate(attributes):
        used, places = _used(codes[:, at])
        columns.append(_text_column(attribute.name, [attribute.text(int(code)) for code in used], places))
    return columns


def _joined_rows(release: Release) -> PublishedTable:
    """One box a group: labels beside each carried combination."""
    carried = release.groups.carried
    if not carried.attributes:
        return _sorted(_label_columns(release, np.arange(len(release.boxes))), release.boxes.weight)
    box_of = np.empty(len(release.groups), np.int64)
    box_of[release.boxes.group] = np.arange(len(release.boxes))
    labels = _label_columns(release, box_of[carried.group])
    return _sorted([*labels, *_code_columns(carried.attributes, carried.codes)], carried.weight)


def _published_names(release: Release) -> list[str]:
    return [attribute.name for attribute in (*release.quasi, *release.carried)]


def _bucket_rows(release: Release) -> PublishedTable:
    labels = _label_columns(release, np.arange(len(release.boxes)))
    group = Column(free_name(GROUP, _published_names(release)), ids=release.boxes.group)
    return _sorted([*labels, group], release.boxes.weight)


def _group_rows(release: Release) -> PublishedTable:
    carried, names = release.groups.carried, _published_names(release)
    group = Column(free_name(GROUP, names), ids=carried.group)
    count = Column(free_name(COUNT, names), ids=carried.weight)
    columns = [group, *_code_columns(carried.attributes, carried.codes), count]
    return _sorted(columns, np.ones(len(carried), np.int64))


def _people_rows(release: Release, declared: DeclaredPeople) -> PublishedTable:
    """The declared people: of each class, of all, and of each sensitive value where the requirement reads it."""
    boxes = release.boxes
    box_of = np.empty(len(release.groups), np.int64)
    box_of[boxes.group] = np.arange(len(boxes))
    attributes = {attribute.name: attribute for attribute in release.carried}
    groups = [np.arange(len(declared.classes)), np.array([-1])]
    about, values, people = (
        [""] * (len(declared.classes) + 1),
        [""] * (len(declared.classes) + 1),
        [declared.classes, np.array([declared.everyone])],
    )
    for name, (group, code, many) in declared.values.items():
        some = np.flatnonzero(declared.overall[name])
        groups += [group, np.full(len(some), -1)]
        about += [name] * (len(group) + len(some))
        values += [attributes[name].text(int(c)) for c in (*code, *some)]
        people += [many, declared.overall[name][some]]
    owner = np.concatenate(groups).astype(np.int64)
    names = people_columns([table.attribute.name for table in boxes.tables])
    columns = [_text_column(names[0], [ALL, CLASS], (owner >= 0).astype(np.int64))]
    for at, table in enumerate(boxes.tables):
        ids = np.where(owner < 0, len(table.names), boxes.labels[box_of[np.maximum(owner, 0)], at] if len(boxes) else 0)
        columns.append(_text_column(names[1 + at], [*table.names, ""], ids))
    every = np.arange(len(owner))
    columns += [_text_column(names[-3], about, every), _text_column(names[-2], values, every)]
    columns.append(Column(names[-1], ids=np.concatenate(people).astype(np.int64)))
    return _sorted(columns, np.ones(len(owner), np.int64))
