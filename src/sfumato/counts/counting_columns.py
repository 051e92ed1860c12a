"""Columns that may say how many people a row stands for: by their names, or as in a cross table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import polars as pl

from sfumato.counts.key_spellings import key_texts
from sfumato.counts.row_groups import FIRST_ROWS, within_first
from sfumato.errors import Problem
from sfumato.io.encode import supported
from sfumato.io.source import Source
from sfumato.schema import Schema
from sfumato.schema.word_hints import holds_counts, named_like_counts
from sfumato.visible import visible

_NO_CHANCE = 20  # chance is exp(-20) at most
_OFTEN = 10  # rows a value, from which a column has few values


def counting_columns(source: Source, schema: Schema) -> list[Problem]:
    """Return a problem for each column that may say how many people a row stands for, where rows are counted.

    By its name, where its cells are whole numbers and not all 1. `not_count` says that it counts something else.
    """
    if schema.person:
        return []
    each, if_person = _as_counted(schema)
    said = {attribute.column_name: attribute for attribute in schema.attributes}
    found = []
    for column in source.columns:
        known = said.get(column)
        named = {column, known.name if known is not None else column}
        if named & schema.nobodys_count or not any(map(named_like_counts, named)):
            continue
        texts = key_texts(source.collect(source.scan([column]))[column]).drop_nulls().unique()
        if holds_counts(column, texts.to_list()):
            rule = f"may be the number of people a row stands for, and each row is counted as one{each}"
            hint = (
                "write a row for each person (none for 0) and remove the column; "
                f'not_count = ["{column}"] if {if_person}it counts something else'
            )
            found.append(Problem(known.where if known is not None else column, rule, hint))
    return found


def _as_counted(schema: Schema) -> tuple[str, str]:
    """Return the words for what each row is counted as, and for what has to be so if a column counts nobody."""
    return (" person", "each row is one person and ") if schema.unit == "person" else ("", "")


def crossed_counts(source: Source, schema: Schema) -> list[Problem]:
    """Return a problem for a column of whole numbers beside combinations that never occur twice, as in a cross table.

    Of n people in P combinations two agree unless chance, at most exp(-n^2 / 2P), has it otherwise. Judged on the first
    rows, by the published columns and, where rows agree in these, by unpublished ones of few values too. `not_count`
    says that it counts something else.
    """
    if schema.person or schema.rows_per_person > 1:
        return []
    each, if_person = _as_counted(schema)
    published = {attribute.column_name: attribute for attribute in schema.published}
    named = {attribute.column_name: attribute.name for attribute in schema.attributes}
    frame = source.collect(source.scan(source.columns).head(FIRST_ROWS))
    values = {name: frame[name].n_unique() for name in frame.columns if supported(frame[name].dtype)}
    for column in values:
        if {column, named.get(column, column)} & schema.nobodys_count:
            continue
        if column in published and published[column].role == "quasi":
            continue
        others = [name for name in published if name != column and name in frame.columns]
        if not others or not all(name in values for name in others):
            continue
        texts = key_texts(frame[column]).drop_nulls()
        if texts.n_unique() == len(texts) or not holds_counts(column, texts.unique().to_list()):
            continue
        beside = _telling_apart(frame, values, others, column)
        if beside is not None:
            also = f" and in {', '.join(map(visible, beside))}" if beside else ""
            rule = (
                f"holds whole numbers, and {within_first(source, frame.height)}no two rows agree in the other "
                f"published columns{also}, as in a table of counts: each row is counted as one{each}"
            )
            hint = (
                "write a row for each person (none for 0) and remove the column; "
                f'not_count = ["{column}"] if {if_person}it counts something else'
            )
            where = published[column].where if column in published else column
            return [Problem(where, rule, hint)]
    return []


def _telling_apart(
    frame: pl.DataFrame, values: Mapping[str, int], columns: Sequence[str], counted: str
) -> list[str] | None:
    """Return what must be added to `columns` so that no two rows agree; None where they do, or may differ by chance.

    Columns of fewest values are added first, and only those with `_OFTEN` rows a value or more.
    """
    cells, rows = math.prod(values[name] for name in columns), frame.height
    if rows**2 <= 2 * cells * _NO_CHANCE:
        return None
    if frame.select(columns).n_unique() == rows:
        return []
    free = [name for name in values if name != counted and name not in columns and 1 < values[name] <= rows / _OFTEN]
    added: list[str] = []
    for name in sorted(free, key=values.__getitem__):
        cells *= values[name]
        if rows**2 <= 2 * cells * _NO_CHANCE:
            return None
        added.append(name)
        if frame.select(*columns, *added).n_unique() == rows:
            for one in [*added]:
                rest = [other for other in added if other != one]
                if frame.select(*columns, *rest).n_unique() == rows:
                    added = rest
            return added
    return None
