"""Columns beside `person` that look like keys: of people not counted, of several rows a person, of other people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from sfumato.counts.counting_columns import counting_columns, crossed_counts
from sfumato.counts.key_spellings import key_texts
from sfumato.counts.people import read_people
from sfumato.counts.row_groups import FIRST_ROWS, within_first
from sfumato.counts.suspected_keys import agreeing_columns, key_hint, suspected_keys
from sfumato.errors import Problem
from sfumato.io.frames import KINDS, ROWS
from sfumato.io.source import Source
from sfumato.schema import Schema, Values
from sfumato.schema.free_text import HeldValues
from sfumato.schema.key_names import addresses, household_like, key_like, measure_like, people_word

_AGAIN = 20  # where fewer than one row in 20 shares its value, the column is not one of other people

_SHARED_KEYS = 5  # values that several people share make a column one of other people

_DIGITS, _BEFORE, _AFTER = (
    r"[0-9]{1,3}(?:[,.' ]?[0-9]{3})*",
    r"^(?:[A-Z]{3} ?|[^\w]{0,3})",
    r"(?: ?[A-Z]{3}|[^\w]{0,3})$",
)
_DECIMALS = rf"{_BEFORE}{_DIGITS}[.,][0-9]{{1,2}}{_AFTER}"
_NUMBER = rf"{_BEFORE}{_DIGITS}(?:[.,][0-9]{{1,2}})?{_AFTER}"
_OFTEN = 10  # rows a value, from which an identifier is more likely that of a clinic than of a person

_CODE_LENGTH, _KEYS_HELD, _KEYS_SHARE = 4, 3, 0.5  # characters of a key; keys among the values of another column

_APART = 10  # numbers for each key, below which a number may be a key by chance

_KEYS_READ = 1_000_000  # rows of a key column that are compared with other columns


def other_keys(source: Source, schema: Schema) -> list[str]:
    """Return the columns that look like keys of people and are not named in `person`."""
    said = {attribute.column_name: attribute for attribute in schema.attributes}
    found = []
    for column in source.columns:
        known = said.get(column)
        named = {column, known.name if known is not None else column}
        if named & {*schema.person} or any(map(household_like, named)):
            continue
        if any(map(key_like, named)) or (known is not None and known.role == "identifier"):
            found.append(column)
    return found


def with_keys(source: Source, schema: Schema, held: Mapping[str, HeldValues]) -> dict[str, HeldValues]:
    """Add to each listed column which of its values identify somebody in a column that is not published.

    Such as the number of a manager. Looked at are the columns of `person`, and identifiers of which most rows have a
    value of their own. A key has four characters or more and a digit; numbers only count where those of the key column
    are so far apart that hardly any number is one of them by chance.
    """
    codes = {
        name: {text for text in values.rows if len(text) >= _CODE_LENGTH and any(map(str.isdigit, text))}
        for name, values in held.items()
        if isinstance(schema[name].domain, Values) and not {name, schema[name].column_name} & {*schema.not_person}
    }
    wanted = sorted({code for some in codes.values() for code in some})
    keyed = [attribute for attribute in schema.role("identifier") if attribute.name not in schema.not_person]
    named = {*schema.person_columns, *(attribute.column_name for attribute in keyed)}
    named -= {*schema.not_person, *(attribute.column_name for attribute in schema.published)}
    found = dict(held)
    for column in source.columns if wanted else ():
        if column not in named:
            continue
        texts = key_texts(source.collect(source.scan([column]).head(_KEYS_READ))[column])
        if column not in schema.person_columns and 2 * texts.n_unique() <= len(texts):
            continue
        keys = set(texts.filter(texts.is_in(wanted)).to_list())
        if _dense(texts):
            keys = {key for key in keys if not key.isdecimal()}
        for name, some in codes.items():
            if len(some & keys) >= max(_KEYS_HELD, _KEYS_SHARE * len(held[name].rows)):
                found[name] = replace(held[name], keys=frozenset(some & keys), key_column=column)
    return found


def _dense(texts: pl.Series) -> bool:
    """Whether keys are numbers so close to each other that any number among them is one by chance."""
    numbers = texts.cast(pl.Int64, strict=False).drop_nulls().unique().to_numpy()
    return bool(len(numbers)) and int(numbers.max()) - int(numbers.min()) < _APART * len(numbers)


def keys_of_others(source: Source, schema: Schema) -> list[Problem]:
    """Return a problem for each column of keys that several people share: a row is also about a mother or a manager.

    A table keyed by children counts children: a class of five of them may hold two mothers.
    """
    person, found = list(schema.person_columns), []
    said = {attribute.column_name: attribute for attribute in schema.attributes}
    for column in other_keys(source, schema) if person else ():
        known = said.get(column)
        named = {column, known.name if known is not None else column}
        if named & {*schema.not_person} or not any(map(key_like, named)):
            continue
        keys = source.collect(source.scan([*person, column]).head(FIRST_ROWS))
        rows = pl.DataFrame([key_texts(keys[name]) for name in keys.columns]).drop_nulls()
        shared = rows.unique().group_by(column).len().filter(pl.col("len") > 1)
        among = rows.join(shared.select(column), on=column, how="semi").height
        if shared.height < _SHARED_KEYS or among * _AGAIN < rows.height:
            continue
        most = int(shared["len"].to_numpy().max())
        rule = (
            f"looks like the key of other people than {', '.join(schema.person)}: "
            f"{within_first(source, keys.height)}up to {most} of these share a value. Claims count the people "
            "that `person` names, and say nothing about the others"
        )
        hint = f'name them in `person` if the published columns describe them; not_person = ["{column}"] if nobody is'
        found.append(Problem(known.where if known is not None else column, rule, f"{hint} described by it"))
    return found


def keys_beside(source: Source, schema: Schema, *, rows_are_keys: bool) -> list[Problem]:
    """Return what is wrong where the declared `person` is a key of rows, of visits or of cards: a person may have more.

    To name a column that hardly repeats is to call each row a person. What tells otherwise by the rows tells it here.
    One row of each key is judged: that the rows of one key agree says nothing against it.
    """
    person = {*schema.person, *schema.person_columns}
    passed = tuple({*schema.not_person, *person})
    flat = replace(schema, person=(), person_exact=False, rows_per_person=1, rows_stated=True, not_person=passed)
    keys = ", ".join(schema.person)
    found, why = [], f"{keys}, which `person` names, hardly repeats"
    if rows_are_keys:
        found = counting_columns(source, flat) or crossed_counts(source, flat)
    else:
        why = f"one row of each {keys}, which `person` names, is compared"
    source = _one_row_of_each(source, schema)
    found = found or agreeing_columns(source, flat, source.columns) or suspected_keys(source, flat)
    return [
        replace(
            one,
            rule=one.rule.replace("rows_per_person is 1", why),
            hint="; ".join(part for part in one.hint.split("; ") if not part.startswith("rows_per_person")),
        )
        for one in found
    ]


def _one_row_of_each(source: Source, schema: Schema) -> Source:
    """Return the first rows of a table, one of each key in `person`."""
    frame = source.collect(source.scan(source.columns).head(FIRST_ROWS))
    people = read_people([frame[name] for name in schema.person_columns])
    once = frame.select(pl.exclude(pl.Object))[np.sort(np.unique(people.ids, return_index=True)[1])]
    return Source(source.name, columns=tuple(once.columns), frame=once.lazy())


def repeated_keys(source: Source, schema: Schema, known_rows: dict[str, int], rows: Source) -> list[Problem]:
    """Return a problem for each column that looks like a person's key and repeats more often than the schema says.

    Also for each that may say how many people a row stands for, where rows are called people.

    `known_rows` remembers how often columns repeat, so that each is read once; `rows` is the table as rows, or its
    first ones where an engine groups.
    """
    if schema.person:
        return []
    said = {attribute.column_name: attribute for attribute in schema.attributes}
    problems = counting_columns(source, schema) if schema.unit == "person" else []
    unknown = []
    reached = _addresses(rows)
    for column in source.columns:
        known = said.get(column)
        named = {column, known.name if known is not None else column}
        if named & set(schema.not_person):
            unknown.append(column)  # its rows may show a person all the same
            continue
        alike = column in reached or any(map(key_like, named))
        identifies = known is not None and known.role == "identifier"
        if not alike and not (identifies and not _measured(rows, column, named=any(map(measure_like, named)))):
            unknown.append(column)
            continue
        if column not in known_rows:
            known_rows[column], often = _most_rows(source, column)
            if often and not alike:  # rather the name of a place: its rows say whether it is
                known_rows[column] = 0
        most = known_rows[column]
        if not most:
            unknown.append(column)
        if most > schema.rows_per_person:
            undecided = "" if schema.rows_stated else ", which nobody has decided"
            rule = (
                f"looks like the key of a person and repeats: up to {most} rows have the same value, and "
                f"rows_per_person is {schema.rows_per_person}{undecided}"
            )
            hint = key_hint([column], published=known in schema.published)
            hint += "" if schema.rows_stated else ", or that nobody knows whom: promises then speak of rows"
            problems.append(Problem(known.where if known is not None else column, rule, hint, rows=most))
    return problems or agreeing_columns(rows, schema, sorted(unknown, key=lambda name: not people_word(name)))


def _measured(source: Source, column: str, *, named: bool) -> bool:
    """Whether most of the first cells are numbers with decimals, as amounts are: they repeat, and are nobody's key.

    Of a column `named` like an amount whole numbers are too.
    """
    cells = source.collect(source.scan([column]).head(FIRST_ROWS))[column].drop_nulls()
    if isinstance(cells.dtype, pl.String):
        return 2 * int(cells.str.strip_chars().str.contains(_NUMBER if named else _DECIMALS).sum()) > len(cells)
    if not cells.dtype.is_numeric() or named:
        return cells.dtype.is_numeric()
    numbers = cells.cast(pl.Float64)
    return 2 * int((numbers != numbers.floor()).sum()) > len(cells)


def _addresses(source: Source) -> set[str]:
    """Return the columns that hold e-mail or IP addresses or telephone numbers, whatever their names.

    Judged on the first rows.
    """
    texts = [name for name, kind in source.types(source.scan(source.columns)).items() if isinstance(kind, pl.String)]
    if not texts:
        return set()
    frame = source.collect(source.scan(texts).head(FIRST_ROWS))
    return {name for name in texts if addresses(key_texts(frame[name]).drop_nulls().unique())}


def _most_rows(source: Source, column: str) -> tuple[int, bool]:
    """Return the largest number of rows that share a value, and whether values have many rows on average.

    Cells without a value do not count.
    """
    if source.grouped:  # keys stay where they are
        spread = source.spread([column], known=True)
        most, kinds = int(spread[ROWS].max() or 0), int(spread[KINDS].sum())  # type: ignore[arg-type]
        return most, int((spread[ROWS] * spread[KINDS]).sum()) >= _OFTEN * kinds
    found = source.collect(source.scan([column]))
    counts = pl.DataFrame({"key": key_texts(found[column])}).drop_nulls("key").group_by("key").agg(pl.len().alias(ROWS))
    most, rows = int(counts[ROWS].max() or 0), int(counts[ROWS].sum())  # type: ignore[arg-type]
    return most, rows >= _OFTEN * counts.height
