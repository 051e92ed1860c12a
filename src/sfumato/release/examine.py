"""Counts the classes of a published table anew and holds them against a requirement. Part of `verify`.

Classes are rows with the same text in every quasi-identifier, or with the same group number; a blank cell is a
text of its own. Each sensitive attribute is looked at separately, over published rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from sfumato.claims import VERIFY_TOLERANCE, Ground, Requirement
from sfumato.errors import Problem, ReleaseError, count_of
from sfumato.release.files import DAMAGED, TIMES, distinct_texts, tally
from sfumato.release.ground import ground_of
from sfumato.release.parse import dense, single_code
from sfumato.release.verdict import Finding
from sfumato.schema import Attribute, Schema, parse_label

__all__ = ["Examined", "examine_bucket_tables", "examine_rows", "label_problems", "unsorted"]


_NUMBER = re.compile(r"0|[1-9]\d*", re.ASCII)

Texts: TypeAlias = tuple[list[str | None], np.ndarray]
"""The distinct texts of a column, and the place of each row's text among them."""


@dataclass(slots=True)
class Examined:
    """What was counted; `texts` holds the distinct texts of each attribute."""

    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    findings: tuple[Finding, ...] = ()
    classes: int | None = None
    rows: int | None = None
    offending: int = 0
    offending_rows: int = 0
    table_rows: dict[str, int] = field(default_factory=dict)
    texts: dict[str, list[str | None]] = field(default_factory=dict)


def examine_rows(
    schema: Schema,
    frame: pl.LazyFrame,
    columns: Mapping[str, str],
    asked: Requirement | None,
    *,
    groups: str | None = None,
) -> Examined:
    """Examine one table of rows; `columns` says where each attribute stands."""
    names = [*columns.values(), *([groups] if groups is not None else [])]
    rows = tally(frame, names, "data")
    read = {column: distinct_texts(rows[column]) for column in names}
    by = [groups] if groups is not None else [columns[a.name] for a in schema.quasi if a.name in columns]
    classes = dense([read[column][1] for column in by], len(rows))
    values = {a.name: read[columns[a.name]] for a in schema.carried if a.name in columns}
    times = rows[TIMES].to_numpy()
    examined = _weighed(schema, asked, classes, values, times)
    examined.texts = {name: read[column][0] for name, column in columns.items()}
    examined.table_rows = {"data": int(times.sum())}
    return examined


def examine_bucket_tables(
    schema: Schema, data: pl.LazyFrame, groups: pl.LazyFrame, asked: Requirement | None, *, group: str, count: str
) -> Examined:
    """Examine buckets: classes are the groups, what they carry stands in the second table, sizes must agree."""
    boxes = tally(data, data.collect_schema().names(), "data")
    held = tally(groups, groups.collect_schema().names(), "groups")
    counts = held[count].cast(pl.Int64, strict=False)
    times = held[TIMES].to_numpy()
    if counts.null_count() or (counts < 0).any():
        return Examined(problems=[Problem(count, "must hold whole numbers of rows, 0 or more")])
    numbers, places = distinct_texts(pl.concat([boxes[group].alias("group"), held[group].alias("group")]))
    here, there = places[: len(boxes)], places[len(boxes) :]
    weights = counts.to_numpy() * times
    total = int(places.max()) + 1 if len(places) else 0
    sizes = np.bincount(here, weights=boxes[TIMES].to_numpy(), minlength=total)
    carried = np.bincount(there, weights=weights, minlength=total)
    values = {attribute.name: distinct_texts(held[attribute.name]) for attribute in schema.carried}
    examined = _weighed(schema, asked, there, values, weights)
    if not all(number is not None and _NUMBER.fullmatch(number) for number in numbers):
        examined.problems.append(Problem(group, "must hold whole numbers, which say nothing about a group"))
    if (times > 1).any() or held.select(group, *values).is_duplicated().any():
        rule = "tells some values of a group on several lines, whose order could link them to people"
        examined.problems.append(Problem(count, rule, "publish the file as it was saved"))
    off = int((sizes != carried).sum())
    if off:
        examined.problems.append(
            Problem(group, f"{count_of(off, 'group has', 'groups have')} other sizes in the two tables", count=off)
        )
    examined.texts = {a.name: distinct_texts(boxes[a.name])[0] for a in schema.quasi}
    examined.texts |= {name: texts for name, (texts, _) in values.items()}
    examined.table_rows = {"data": int(boxes[TIMES].sum()), "groups": int(times.sum())}
    return examined


def _weighed(
    schema: Schema,
    asked: Requirement | None,
    classes: np.ndarray,
    values: Mapping[str, Texts],
    times: np.ndarray,
) -> Examined:
    """Hold every part of the requirement against every sensitive attribute."""
    number = int(classes.max()) + 1 if len(classes) else 0
    sizes = np.bincount(classes, weights=times, minlength=number).astype(np.int64)
    examined = Examined(classes=number, rows=int(sizes.sum()))
    if asked is None:
        return examined
    sensitive = [attribute for attribute in schema.sensitive if attribute.name in values]
    bad = np.zeros(number, bool)
    findings = []
    for part in asked.parts:
        if part.reads_sensitive and not sensitive:
            hint = 'publish the attribute, or give one the role "sensitive"'
            examined.problems.append(Problem(str(part), "needs a sensitive attribute, none is published", hint))
            continue
        for name, table, overall, ground in _histograms(part, sensitive, classes, values, times):
            given: dict[str, Any] = {"ground": ground, "rows_per_person": schema.rows_per_person}
            good = part.check(table, overall, tolerance=VERIFY_TOLERANCE, **given)
            found = part.found(table, overall, **given)
            bad |= ~good
            findings.append(
                Finding(part, attribute=name, found=found, holds=bool(good.all()), offending=int((~good).sum()))
            )
    examined.findings = tuple(findings)
    examined.offending, examined.offending_rows = int(bad.sum()), int(sizes[bad].sum())
    return examined


def _histograms(
    part: Requirement,
    sensitive: Sequence[Attribute],
    classes: np.ndarray,
    values: Mapping[str, Texts],
    times: np.ndarray,
) -> Iterator[tuple[str | None, Any, np.ndarray | None, Ground | None]]:
    """Yield what a part looks at: class sizes alone, or classes x values of each sensitive attribute."""
    number = int(classes.max()) + 1 if len(classes) else 0
    if not part.reads_sensitive:
        yield None, np.bincount(classes, weights=times, minlength=number).astype(np.int64)[:, None], None, None
        return
    from scipy.sparse import csr_matrix

    for attribute in sensitive:
        codes, width, ground = _value_codes(attribute, values[attribute.name])
        table = csr_matrix((times, (classes, codes)), shape=(number, width), dtype=np.int64)
        yield attribute.name, table, np.asarray(table.sum(axis=0)).ravel(), ground


def _value_codes(attribute: Attribute, read: Texts) -> tuple[np.ndarray, int, Ground]:
    """Number the values that occur, in the order of their codes and not of their texts; unknown ones stand last.

    Two spellings of one value (`3` and `3.0`, a blank and `(missing)`) are one value: else a class could look diverse.
    """
    distinct, places = read
    codes = [_code(attribute, text) for text in distinct]
    ground = ground_of(attribute)
    if ground.kind == "hierarchical" and all(code is not None for code in codes):
        whole = np.array(codes, dtype=np.int64)
        return whole[places] if len(whole) else whole, attribute.size, ground
    keys = [
        (code is None, code or 0, "" if code is not None else (text or "").strip())
        for code, text in zip(codes, distinct, strict=True)
    ]
    known = {key: at for at, key in enumerate(sorted(set(keys)))}
    rank = np.array([known[key] for key in keys], np.int64)
    ranked = rank[places] if len(rank) else rank
    return ranked, max(1, len(known)), Ground.equal() if ground.kind == "hierarchical" else ground


def _code(attribute: Attribute, text: str | None) -> int | None:
    if text is None or not text.strip():
        return attribute.missing_code
    return single_code(parse_label(attribute, text))


def label_problems(schema: Schema, texts: Mapping[str, list[str | None]], *, as_saved: bool = False) -> list[Problem]:
    """Return the attributes with texts that the schema can not understand.

    With `as_saved` values must stand there as we write them: a second spelling could mark people inside a class.
    """
    problems = []
    for attribute in schema.published:
        known = texts.get(attribute.name, [])
        if attribute.role == "quasi":
            wrong = [text for text in known if text is None or parse_label(attribute, text) is None]
            rule = "labels are not in the schema"
        else:
            codes = [(text, _code(attribute, text)) for text in known]
            wrong = [text for text, code in codes if code is None or (as_saved and attribute.text(code) != text)]
            rule = "values are not in the schema" + (", or not spelled as it does" if as_saved else "")
        if wrong:
            told = tuple(text or "" for text in wrong)
            problems.append(Problem(attribute.where, f"{len(wrong)} {rule}", count=len(wrong), values=told))
    return problems


def unsorted(frame: pl.LazyFrame, columns: Sequence[str], *, numbers: Sequence[str] = ()) -> bool:
    """True when some row should stand before the one above it."""
    falls: pl.Expr = pl.lit(value=False)
    for name in reversed(columns):
        here = pl.col(name).cast(pl.Int64, strict=False) if name in numbers else pl.col(name)
        above = here.shift(1)
        falls = (here < above) | ((here == above) & falls)
    try:
        found = frame.select(falls.fill_null(value=False).any()).collect(engine="streaming")
    except DAMAGED:
        raise ReleaseError("the table cannot be read", hint="check that the file is whole") from None
    return bool(found.item())
