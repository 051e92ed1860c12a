"""Keys of `person` that seem to stand for several people: their rows differ as those of one person do not.

Source    Ours.
Claim     A table is named only if at least five keys, or one in a hundred, have rows that differ in two
          quasi-identifiers that are neither numbers nor dates, in the day of birth, or in ages too far apart.
Because   a slip of the pen changes one part of a date or one cell; one person's ages are as far apart as the years
          of the file.
Checked   tests/claims/test_mixed_keys.py::test_a_key_of_several_people_is_warned_of
          tests/claims/test_mixed_keys.py::test_people_who_grow_older_and_slips_of_the_pen_are_not
          tests/claims/test_mixed_keys.py::test_a_declared_code_for_no_answer_is_not_another_year_of_birth
Silent on keys of which few stand for several people, and people who are alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from sfumato.counts.code_parts import numbered
from sfumato.counts.row_groups import AGREE, LOOKED_AT, FirstRows, RowGroups, first_rows, within_first
from sfumato.errors import Problem, count_of
from sfumato.io.source import Source
from sfumato.schema import Schema
from sfumato.schema.word_hints import AGE_WORDS, BIRTH_WORDS, SEX_WORDS, tokens

_DIFFERENT, _MIXED, _MIXED_SHARE = 2, 5, 0.01  # columns that differ; keys, or their share, that cannot be mistakes
_YEAR = r"^(?:\d{1,2}[-/. ]){0,2}((?:19|20)\d\d)(?:[-/. T]|$)"
_DAY_FIRST = r"^(\d{1,2})[-/. ]+(\d{1,2})[-/. ]+(\d{4})\b"
_PARTED = 0.2  # share of the keys that repeat, from which on they are those of families, or names that people share
_YEARS = 10  # that the ages of one person may be apart in a file without days


def mixed_keys(source: Source, schema: Schema) -> list[Problem]:
    """Return a problem where several keys of the declared `person` seem to stand for different people.

    By keys whose rows disagree in two quasi-identifiers that are neither numbers nor dates; a missing value agrees with
    every other, and so do two spellings of one value. Also by keys with several days of birth, or ages further apart
    than the days of the file. A few such keys are mistakes of a file.
    """
    person = list(schema.person_columns)
    stable = [a for a in schema.quasi if a.kind not in ("numeric", "date") and (a.column_name) not in person]
    quasi = [a.column_name for a in stable]
    others = [name for name in source.columns if name not in person][:LOOKED_AT]
    rows = first_rows(source, person, others, schema) if person else None
    if rows is None or not set(quasi) <= set(rows.codes):
        return []
    groups = rows.grouped(person)
    if not len(groups.sizes):
        return []
    differ = np.zeros(len(groups.sizes), np.int64)
    for attribute, name in zip(stable, quasi, strict=True):
        spelt = {other.lower(): value.lower() for other, value in attribute.same.items()}
        text = rows.texts[name].str.to_lowercase().replace(spelt)
        differ += _known_spread(groups, text) > 0
    keys = len(groups.first)
    by_columns = f"rows that differ in at least two of {', '.join(a.name for a in stable)}"
    found = {
        by_columns: differ >= _DIFFERENT,
        **_other_lives(rows, groups, [name for name in others if name in rows.codes]),
    }
    several = {what: int(which.sum()) for what, which in found.items()}
    shown = [what for what, many in several.items() if many >= _MIXED or many > _MIXED_SHARE * keys]
    if not shown:
        return []
    number = int(np.logical_or.reduce([found[what] for what in shown]).sum())
    rule = (
        f"{within_first(source, rows.height)}of {count_of(keys, 'key')} {count_of(number, 'has', 'have')} "
        f"{'; or '.join(shown)}: one key may stand for several people, who count as one"
    )
    hint = 'give each person a key of their own; a key that repeats in each place needs both, person = ["place", "key"]'
    if shown == [by_columns]:
        hint = f"if these columns describe visits or events, a person may have several values; otherwise {hint}"
    return [Problem(", ".join(schema.person), rule, hint, count=number)]


def parting_columns(
    source: Source, keys: Sequence[str], *, formats: Mapping[str, str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return for each column that may be a key the dates of birth and sexes in which many of its values differ.

    Such a column is no key of people. A slip of the pen parts few values, and a sex is compared by its first letter:
    `M` is `man`. `formats` says how columns write their days.
    """
    told = [name for name in source.columns if name not in keys and tokens(name) & (BIRTH_WORDS | SEX_WORDS)]
    rows = first_rows(source, told, keys, formats=formats)
    if rows is None:
        return {}
    found = {}
    for key in (name for name in keys if name in rows.codes):
        groups, parting = RowGroups.of(rows.codes[key]), []
        for name in told:
            text = rows.texts[name]
            text = text if tokens(name) & BIRTH_WORDS else text.str.slice(0, 1).str.to_lowercase()
            apart = int((_known_spread(groups, text) > 0).sum()) if len(groups.sizes) else 0
            if apart >= _MIXED and apart > _PARTED * len(groups.sizes):
                parting.append(name)
        if parting:
            found[key] = tuple(parting)
    return found


def _known_spread(groups: RowGroups, text: pl.Series) -> np.ndarray:
    """Return how far apart the values of a key are, numbered in their order; NaN where it has none."""
    column = numbered(text).astype(float)
    column[column < 0] = np.nan
    return groups.spread(column, known=True)


def _other_lives(rows: FirstRows, groups: RowGroups, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return which keys have days of birth that differ in two of year, month and day, or ages too far apart.

    A slip of the pen changes one of the three; a year of birth may be one off. One person's ages are as far apart as
    the years of the file at most, where it has any, and two more; ten years are allowed where it has none.
    """
    found: dict[str, np.ndarray] = {}
    born = [name for name in names if tokens(name) & BIRTH_WORDS]
    for name in born:
        # 1980-05-03 and 03.05.1980 are one day: the year first, whichever way it is written.
        turned = rows.texts[name].str.replace(_DAY_FIRST, "$3-$2-$1")
        parts = turned.str.extract_all(r"\d+")
        spread = [_known_spread(groups, parts.list.get(at, null_on_oob=True)) > 0 for at in range(3)]
        year = rows.number(name)
        with np.errstate(invalid="ignore"):
            apart = np.sum(spread, axis=0) >= _DIFFERENT if year is None else groups.spread(year, known=True) > 1
        found[f"different values of {name}"] = apart
    years = [
        float(np.ptp(number.to_numpy()))
        for name in names
        if name not in born
        for number in [rows.texts[name].str.extract(_YEAR, 1).cast(pl.Float64).drop_nulls()]
        if len(number) >= AGREE * (rows.height - rows.texts[name].null_count()) and len(number)
    ]
    most = max(years) + 2 if years else _YEARS
    for name in names:
        if tokens(name) & AGE_WORDS and name not in born and (age := rows.number(name)) is not None:
            with np.errstate(invalid="ignore"):
                found[f"values of {name} more than {most:.0f} years apart"] = groups.spread(age, known=True) > most
    return found
