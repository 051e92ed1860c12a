"""Reads anyone's published table: ARX, another tool, a statistics office, an older release of ours.

Labels are understood as `schema.parse_label` says: `[20, 40[`, `20-40`, `>=40`, `*`, `{a, b}`, masks, names.
Rows are of one class where their texts are the same, not where they only mean the same: readers can tell them apart.
Bare days and numbers are read as the schema says that the table's file writes them, or ISO and with a point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.claims import Claim, Nothing
from sfumato.errors import ParameterError, Problem, ReleaseError, count_of
from sfumato.release.files import as_texts, distinct_texts, marked, opened, tally
from sfumato.release.from_text import TextReader, counts_of, rebuilt, suppressed_group, times_of
from sfumato.release.release import Release
from sfumato.schema import Attribute, Labels, Schema

__all__ = ["columns_of", "read", "refuse_no_counts"]

_COUNT = "\0count"


def read(source: Any, schema: Schema, *, groups: str | None = None, counts: str | None = None) -> Release:
    """Return the release that a CSV or Parquet file, or a frame, holds. It promises nothing.

    `groups` names the column of group numbers where sensitive values are linked to groups only, `counts` one that
    says for how many rows a line stands.
    Every label that cannot be read is listed at once.
    """
    typed, name = _opened(source)
    types = typed.collect_schema()
    lazy, present = as_texts(typed, name), types.names()
    if groups is not None and groups not in present:
        raise ParameterError("groups", groups, "is not a column of the table", hint="name the column of group numbers")
    columns = columns_of(schema, present)
    refuse_no_counts(counts, present, (*columns.values(), groups))
    if not any(attribute.name in columns for attribute in schema.quasi):
        hint = "columns are found by the attribute's name or its `column`"
        raise ReleaseError(f"{name} has no column of a quasi-identifier", hint=hint)
    schema, notes = _noted(schema, columns, present, (groups, counts))
    picked = lazy.select(
        *(pl.col(column).alias(attribute) for attribute, column in columns.items()),
        *([pl.col(groups).alias("\0group")] if groups is not None else []),
        *([pl.col(counts).alias(_COUNT)] if counts is not None else []),
    )
    rows = tally(picked, picked.collect_schema().names(), name)
    plain = frozenset(attribute for attribute, column in columns.items() if types[column].is_temporal())
    found = _release(schema, rows, columns, notes=notes, bucketed=groups is not None, plain=plain)
    return replace(found, source=Path(source)) if isinstance(source, str | PathLike) else found


def _opened(source: Any) -> tuple[pl.LazyFrame, str]:
    """Return a path or any frame, lazily, and what to call it."""
    if isinstance(source, str | PathLike):
        path = Path(source)
        if path.is_dir():
            raise ReleaseError(f"{path.name} is a folder", hint="Release.load reads a saved release")
        return opened(path), path.name
    if isinstance(source, pl.LazyFrame):
        return source, "table"
    import narwhals as nw

    try:
        frame = nw.from_native(source)
    except TypeError:
        kind = type(source).__name__
        raise ParameterError("source", kind, "must be a path or a frame", hint="CSV, Parquet, pandas, polars") from None
    eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    try:
        return eager.to_polars().lazy(), "table"
    except Exception:  # noqa: BLE001  (each library has its own error, and it quotes the cell)
        raise ReleaseError("the table has a column of mixed types", hint="make each one text, or one type") from None


def columns_of(schema: Schema, present: list[str]) -> dict[str, str]:
    """Return the column of each published attribute that the table has: by its name, else by its `column`."""
    found = {}
    for attribute in schema.published:
        for column in (attribute.name, attribute.column, marked(attribute.name)):
            if column in present:
                found[attribute.name] = column
                break
    return found


def refuse_no_counts(counts: str | None, present: Sequence[str], taken: Sequence[str | None]) -> None:
    """Raise where a column of counts is named that the table lacks, or that is one of its other columns."""
    if counts is not None and (counts not in present or counts in taken):
        hint = "name the column that says how many rows a line stands for"
        raise ParameterError("counts", counts, "is not a column of counts in the table", hint=hint)


def _noted(
    schema: Schema, columns: dict[str, str], present: list[str], known: tuple[str | None, ...]
) -> tuple[Schema, tuple[str, ...]]:
    """Say what the table lacks or has beside; a carried attribute it lacks is not part of the release."""
    notes = []
    attributes: list[Attribute] = []
    for attribute in schema.attributes:
        carried = attribute.role in ("sensitive", "target")
        absent = (carried or attribute.role == "quasi") and attribute.name not in columns
        if absent:
            notes.append(f"{attribute.name} is not in the table" + ("" if carried else ": read as *"))
        attributes.append(attribute.with_role("other") if absent and carried else attribute)
    extra = [column for column in present if column not in (*columns.values(), *known)]
    if extra:
        notes.append(f"columns not read: {', '.join(extra)}")
    return replace(schema, attributes=tuple(attributes)), tuple(notes)


def _release(
    schema: Schema,
    rows: pl.DataFrame,
    columns: dict[str, str],
    *,
    notes: tuple[str, ...],
    bucketed: bool,
    plain: frozenset[str],
) -> Release:
    reading = TextReader(foreign=True, plain=plain)
    labels = {
        attribute.name: reading.labels(attribute, rows[attribute.name])
        if attribute.name in columns
        else _suppressed_column(attribute, len(rows))
        for attribute in schema.quasi
    }
    codes = {attribute.name: reading.codes(attribute, rows[attribute.name]) for attribute in schema.carried}
    if reading.problems:
        raise _unread(reading.problems)
    times = times_of(rows)
    if _COUNT in rows.columns:
        counted = counts_of(rows[_COUNT], times)
        if counted is None:
            raise ReleaseError("the column of counts must hold whole numbers of at least 1", hint="name another column")
        times = counted
    group = distinct_texts(rows["\0group"])[1] if bucketed else None
    release = rebuilt(
        schema,
        boxes=(labels, times, group),
        carried=(codes, times, group),
        claim=Claim(Nothing()),
        form="buckets" if bucketed else "generalized",
        mechanism={"name": "foreign"},
        notes=(*notes, *reading.notes),
        savable=False,
    )
    # A table of nothing but * is one class; beside other classes such rows were suppressed.
    return replace(release, suppressed_group=suppressed_group(release)) if len(release.groups) > 1 else release


def _suppressed_column(attribute: Attribute, rows: int) -> tuple[Labels, np.ndarray]:
    table, _ = Labels.from_sets(attribute, [((0, attribute.size),)])
    return table, np.zeros(rows, np.int32)


def _unread(problems: list[Problem]) -> ReleaseError:
    count = sum(problem.count or 0 for problem in problems)
    return ReleaseError(
        f"{count_of(count, 'label')} of the table cannot be read with this schema",
        hint="each is listed under its attribute",
        problems=problems,
    )
