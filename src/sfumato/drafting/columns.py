"""What a file shows of each of its columns, taken in two aggregate passes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from typing import Any

import polars as pl

from sfumato.counts.unclear_cells import percent_rows
from sfumato.drafting.infer_formats import (
    PLAIN,
    Spelling,
    codes_among_words,
    codes_for_none,
    codes_of_questions,
    day_formats,
    number_forms,
    shorter_than_codes,
    spelling_beside,
    spelling_of,
    unclear_numbers,
)
from sfumato.errors import count_of
from sfumato.io.decode_cell import canonical_text
from sfumato.io.encode import cells_of, days_in, numbers_with_point, supported
from sfumato.io.excel import Sheet
from sfumato.io.frames import ROWS
from sfumato.io.read_errors import LAST_DIGITS_LOST, READ_AS_TEXT
from sfumato.io.source import Source, slices
from sfumato.io.stats_files import NO_LABELS, ScaleLabels
from sfumato.schema.answer_codes import maybe_no_answer
from sfumato.schema.attribute import KNOWN, MISSING
from sfumato.schema.checks import plain_spelling
from sfumato.schema.domain import decimal_or_none
from sfumato.schema.formats import PERCENT
from sfumato.schema.tree import ROOT
from sfumato.schema.word_hints import NO_VALUE, answers_like_none, meaning_none, means_none

LISTED = 10_000  # distinct values looked at one by one
_NO_DAYS = {  # that programs write where there is none: the first days of their calendars, and ends of centuries
    *(dt.date(year, 1, 1) for year in (1, 1753, 1800, 1900, 1901, 1970)),
    *(dt.date(1899, 12, day) for day in (30, 31)),
    *(dt.date(year, 12, 31) for year in (2099, 2100, 2999, 9998)),
}
_DAYS, _OFTEN, _FAR = 5, 3, 4  # days that can tell; times as frequent as any other; a quarter of what the others span
_OTHERS = 50  # distinct texts among numbers that are looked at


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One column: how many values, which, and whether they are numbers or days.

    `no_value` are the texts and numbers that are taken for no value by their look; `answers` those of `texts` that
    may be none as well, and for the values beside them are not taken for it; `rows_of` says how many rows have a text
    of either. `unread` are the texts that are no days or numbers in a column of these. `lost_digits` counts cells that
    are floats of 2^53 or more: such a column cannot be read as codes, so nothing else is said of it. `labels` are those
    that the file gives to single numbers; `percent` are the rows with a % beside the number and those without, where
    some cells have one; `usual_day` is a day that may stand for none, with its rows.
    """

    name: str
    _: KW_ONLY
    rows: int
    distinct: int
    nulls: int = 0
    texts: tuple[str, ...] | None = None
    no_value: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    rows_of: Mapping[str, int] = field(default_factory=dict, repr=False)
    numbers: tuple[Decimal, Decimal] | None = None
    whole: bool = False
    days: tuple[dt.date, dt.date] | None = None
    usual_day: tuple[dt.date, int] | None = None
    plain: bool = True
    lost_digits: int = 0
    percent: tuple[int, int] = (0, 0)
    unread: tuple[str, ...] = field(default=(), repr=False)
    spelling: Spelling = PLAIN
    labels: ScaleLabels = NO_LABELS

    @property
    def uniqueness(self) -> float:
        """Distinct values for each row that has one."""
        filled = self.rows - self.nulls
        return self.distinct / filled if filled else 0.0

    @property
    def blank(self) -> int:
        """Rows without a value: empty cells, and texts that are taken for no value."""
        return self.nulls + sum(self.rows_of.get(text, 0) for text in self.no_value)


def column_facts(source: Source, written: Mapping[str, Spelling] | None = None) -> list[ColumnFacts]:
    """Return the facts of every column of a source, in order.

    written     how some columns write their days and numbers, where a person has said it.
    """
    said = {**{name: PLAIN for name in source.columns if source.exact(name)}, **(written or {})}
    found = [facts for names, frame in slices(source, source.columns) for facts in _facts(source, names, frame, said)]
    listed = {one.name: one.texts for one in found if one.texts is not None and one.name not in said}
    shared = codes_of_questions(listed)
    found = [_without_codes(one, shared[one.name]) if one.name in shared else one for one in found]
    found = [
        replace(one, percent=percent_rows(source, one.name, form))
        if PERCENT in (form := one.spelling.numbers).units
        else one
        for one in found
    ]
    found = [one if one.days is None else replace(one, usual_day=_usual_day(source, one)) for one in found]
    doubtful = {one.name: [*one.no_value, *one.answers] for one in found if one.no_value or one.answers}
    rows = _rows_of(source, doubtful)
    return [replace(one, rows_of=rows[one.name]) if one.name in rows else one for one in found]


def _rows_of(source: Source, texts: Mapping[str, Sequence[str]]) -> dict[str, dict[str, int]]:
    """Count the rows of some texts of some columns; those of an engine that groups, column by column."""
    found: dict[str, dict[str, int]] = {name: {} for name in texts}
    weight = pl.col(ROWS) if source.grouped else pl.lit(1)
    parts = [[name] for name in texts] if source.grouped else [list(texts)] if texts else []
    for names, frame in (held for part in parts for held in slices(source, part)):
        types = source.types(frame)
        cells = [(name, text, here) for name in names for text, here in _has_text(name, types[name], texts[name])]
        counted = source.collect(
            frame.select(weight.filter(here).sum().alias(str(at)) for at, (*_, here) in enumerate(cells))
        )
        for (name, text, _), rows in zip(cells, counted.row(0), strict=True):
            found[name][text] = int(rows or 0)
    return found


def _usual_day(source: Source, column: ColumnFacts) -> tuple[dt.date, int] | None:
    """Return a day that may stand for none, with its rows: one that programs write so, or an end far from the others.

    A day that programs write is one if it is the first or the last of the column, or far more frequent than any other.
    Any other end has to be far more frequent, and far from the next day as well.
    """
    form = column.spelling.format
    if form is not None and "%d" not in form:
        return None
    frame = source.scan([column.name])
    dtype = source.types(frame)[column.name]
    if isinstance(dtype, pl.Date | pl.Datetime):
        day = pl.col(column.name).dt.date()
    else:
        text = cell_text(column.name, dtype)
        iso = days_in(text.str.slice(0, 10), None)
        day = (
            iso
            if form is None
            else pl.coalesce(days_in(text, form), pl.when(text.is_in([*column.spelling.typed])).then(iso))
        )
    weight = pl.col(ROWS).sum() if source.grouped else pl.len()
    counted = source.collect(frame.group_by(day.alias("day")).agg(weight.alias("n")).drop_nulls().sort("day"))
    counted = counted.filter(pl.col("day").is_between(dt.date.min, dt.date.max))  # damaged files hold any number
    days, rows = counted["day"].to_list(), counted["n"].to_list()
    if len(days) < _DAYS:
        return None
    top, second = sorted(rows)[:-3:-1]
    for at, near, other in ((0, 1, -1), (-1, -2, 0)):
        apart, span = abs(days[at] - days[near]), abs(days[near] - days[other])
        if days[at] in _NO_DAYS or (rows[at] == top >= _OFTEN * second and _FAR * apart > span):
            return days[at], int(rows[at])
    usual = rows.index(top)
    return (days[usual], int(top)) if days[usual] in _NO_DAYS and top >= _OFTEN * second else None


def _has_text(name: str, dtype: pl.DataType, texts: Sequence[str]) -> list[tuple[str, pl.Expr]]:
    """Ask of each cell whether it is one of some texts; numbers that are held as numbers are compared as such."""
    if not dtype.is_numeric():
        return [(text, cell_text(name, dtype) == text) for text in texts]
    numbers = [(text, decimal_or_none(text)) for text in texts]
    written = pl.col(name).cast(pl.String)  # inf is none of the numbers that a text may be
    return [(text, written == text if number is None else pl.col(name) == float(number)) for text, number in numbers]


def _without_codes(column: ColumnFacts, codes: Sequence[str]) -> ColumnFacts:
    """Return a column in which further texts are taken for no value."""
    known = sorted(text for text in (*(column.texts or ()), *column.no_value) if text not in codes)
    made = _from_texts(column.name, known, column.rows, column.distinct, column.nulls, None, labels=column.labels)
    return replace(made, no_value=(*made.no_value, *codes))


def _facts(
    source: Source, names: Sequence[str], frame: pl.LazyFrame, written: Mapping[str, Spelling]
) -> list[ColumnFacts]:
    types = source.types(frame)
    plain = [name for name in names if supported(types[name]) and name not in source.unread]
    counted = source.collect(
        frame.select(
            _rows_where(source).alias("rows"),
            *(_raw(name, types[name]).n_unique().alias(f"n{at}") for at, name in enumerate(plain)),
            *(_rows_where(source, _raw(name, types[name]).is_null()).alias(f"z{at}") for at, name in enumerate(plain)),
        )
    ).row(0, named=True)
    rows = source.same_rows(int(counted["rows"] or 0))
    distinct = {name: int(counted[f"n{at}"]) - (counted[f"z{at}"] > 0) for at, name in enumerate(plain)}
    nulls = {name: int(counted[f"z{at}"]) for at, name in enumerate(plain)}
    few = [name for name in plain if distinct[name] <= LISTED]
    many = [name for name in plain if distinct[name] > LISTED]
    listed = source.collect(frame.select(_raw(name, types[name]).unique().implode() for name in few)) if few else None
    facts = {}
    for name in few:
        assert listed is not None
        values = [canonical_text(value) for value in cells_of(listed[name][0])]
        known = sorted({text for text in values if text is not None})
        typed = _typed_days(source, name)
        labels = source.scale_labels(name)
        facts[name] = _from_texts(name, known, rows, len(known), nulls[name], written.get(name), typed, labels)
    for name in many:
        counted_as = {"rows": rows, "distinct": distinct[name], "nulls": nulls[name]}
        labels = source.scale_labels(name)
        facts[name] = _many(source, frame, name, types[name], written.get(name), labels=labels, **counted_as)
    found = [facts.get(name, _not_plain(source, name, rows)) for name in names]
    return [_readable(source, types[one.name], one) for one in found]


def _not_plain(source: Source, name: str, rows: int) -> ColumnFacts:
    """Return a column whose cells are no plain values, with the reason where the file gives one."""
    ask = f"kind: {'; '.join(source.unread[name])}, and draft again" if name in source.unread else ""
    return ColumnFacts(name, rows=rows, distinct=0, plain=False, spelling=Spelling(ask=(ask,)) if ask else PLAIN)


def _rows_where(source: Source, here: pl.Expr | None = None) -> pl.Expr:
    """Count all rows, or some; a line of an engine that groups stands for several."""
    if source.grouped:
        return (pl.col(ROWS) if here is None else pl.col(ROWS).filter(here)).sum()
    return pl.len() if here is None else here.sum()


def _typed_days(source: Source, name: str) -> frozenset[str]:
    """Return the texts of cells that a spreadsheet holds as days, without those that it holds as texts as well."""
    cells = source.frame.objects(name) if isinstance(source.frame, Sheet) else []
    days = {text for cell in cells if isinstance(cell, dt.date) and (text := canonical_text(cell)) is not None}
    return frozenset(days.difference(cell.strip() for cell in cells if isinstance(cell, str)) if days else ())


def _readable(source: Source, dtype: pl.DataType, column: ColumnFacts) -> ColumnFacts:
    """Return a column, without its values where reading would refuse some: large numbers that are held as floats."""
    if column.numbers is not None or column.days is not None or not (dtype.is_float() or isinstance(dtype, pl.String)):
        return column
    lost = source.lost_digits(column.name)
    if not lost:
        return column
    ask = f"kind: {count_of(lost, 'cell is a number', 'cells are numbers')} {LAST_DIGITS_LOST}; {READ_AS_TEXT}"
    none = ColumnFacts(column.name, rows=column.rows, distinct=column.distinct, nulls=column.nulls, plain=False)
    return replace(none, lost_digits=lost, spelling=Spelling(ask=(f"{ask}, and draft again",)))


def _raw(name: str, dtype: pl.DataType) -> pl.Expr:
    return pl.col(name).fill_nan(None) if dtype.is_float() else pl.col(name)


def cell_text(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return the text of each cell of a column, without the blanks around it."""
    column = _raw(name, dtype)
    return column.str.strip_chars() if isinstance(dtype, pl.String) else column.cast(pl.String)


def _from_texts(
    name: str,
    known: list[str],
    rows: int,
    distinct: int,
    nulls: int,
    written: Spelling | None,
    typed: frozenset[str] = frozenset(),
    labels: ScaleLabels = NO_LABELS,
) -> ColumnFacts:
    known = [text for text in known if text not in labels.none]
    answers = answers_like_none(known)
    no_value = [text for text in known if text in NO_VALUE and text not in answers]
    texts = [text for text in known if text not in no_value]
    words = meaning_none(texts)
    words = words if len(words) < len(texts) else []
    texts = [text for text in texts if text not in words]
    spelling = spelling_beside(typed, texts) if written is None else replace(written, typed=typed)
    kept = [text for text in texts if text not in spelling.strays]
    doubtful = list(spelling.strays)
    days = {text: day for text in kept if (day := spelling.day(text)) is not None}
    if kept and len(days) == len(kept):
        no_value += [text for text in kept if days[text] == dt.date.max]  # how many programs write "no end"
        kept = [text for text in kept if days[text] != dt.date.max]
    else:
        days = {}
    numbers = {text: number for text in kept if (number := spelling.number(text)) is not None}
    numeric = bool(kept) and len(numbers) == len(kept) and all(abs(number) < 10**15 for number in numbers.values())
    if not numeric and not days:
        doubtful = list(shorter_than_codes(texts) or codes_among_words(texts))
        kept = [text for text in texts if text not in doubtful]
        gone, back = _to_one_side(kept, [*no_value, *words])
        kept = sorted({*kept, *back} - gone)
        no_value, words = ([text for text in held if text not in back] for held in (no_value, [*words, *sorted(gone)]))
        answers |= back
    elif numeric and not days:
        codes = sorted({*codes_for_none(numbers), *shorter_than_codes(kept)})
        doubtful += codes
        kept = [text for text in kept if text not in codes]
    if not days:
        answers |= {*maybe_no_answer(kept)}
    facts = ColumnFacts(
        name,
        rows=rows,
        distinct=distinct,
        nulls=nulls,
        texts=tuple(kept),
        no_value=(*no_value, *words, *doubtful, *labels.none),
        answers=tuple(text for text in kept if text in answers),
        unread=(*spelling.strays, *spelling.unread),
        spelling=spelling,
        labels=labels,
    )
    if days and kept:
        return replace(facts, days=(min(days[text] for text in kept), max(days[text] for text in kept)))
    if not numeric:
        return facts
    found = [numbers[text] for text in kept]
    whole = all(number == number.to_integral_value() for number in found)
    return replace(facts, numbers=(min(found), max(found)), whole=whole)


def _to_one_side(values: Sequence[str], none: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return which values mean no value after all, and which texts for no value are values, with those spelt alike.

    `None` and `none` are one text. Spellings of a word or sign for no value go with it; others are values: what nobody
    decided is not called missing.
    """
    spelt: dict[str, list[str]] = {}
    for text in none:
        if text not in ("", ROOT, MISSING, KNOWN):
            spelt.setdefault(plain_spelling(text), []).append(text)
    alike = {text: held for text in values if (held := spelt.get(plain_spelling(text)))} if spelt else {}
    gone = {
        text for text, held in alike.items() if any(means_none(one) or not any(map(str.isalnum, one)) for one in held)
    }
    gone = gone if len(gone) < len(values) else set()
    return gone, {one for text, held in alike.items() if text not in gone for one in (text, *held)}


def _ends(frame: pl.LazyFrame, name: str, dtype: pl.DataType, spelling: Spelling = PLAIN) -> pl.LazyFrame:
    """Ask for the ends of a column with too many values to list, as numbers and as days."""
    text = cell_text(name, dtype)
    number = numbers_with_point(text, spelling.numbers)
    x = _raw(name, dtype).cast(pl.Float64) if dtype.is_numeric() else number.cast(pl.Float64, strict=False)
    x = pl.when(x.is_finite()).then(x)
    day: pl.Expr
    if isinstance(dtype, pl.Date | pl.Datetime):
        day = pl.col(name).dt.date()
        day = pl.when(day.is_between(dt.date.min, dt.date.max)).then(day)
    else:
        day = days_in(text.str.slice(0, 10) if spelling.format is None else text, spelling.format)
    return frame.select(
        low=x.min(),
        high=x.max(),
        whole=(x == x.floor()).all(),
        zeros=text.str.contains(r"^0\d").any(),
        others=text.filter(x.is_null()).drop_nulls().unique().sort().head(_OTHERS).implode(),
        marked=text.filter(text.str.contains(r"[.,]") & x.is_not_null()).unique().sort().head(_OTHERS).implode(),
        unclear=text.filter(text.str.contains(r"[.,]") & x.is_not_null())
        .str.contains(r"^[^0-9]*[0-9]{1,3}[.,][0-9]{3}[^0-9]*$")
        .all(),
        first=day.min(),
        last=day.max(),
        no_days=text.filter(day.is_null()).drop_nulls().unique().sort().head(_OTHERS).implode(),
    )


def _from_ends(name: str, found: dict[str, Any], spelling: Spelling = PLAIN, **facts: Any) -> ColumnFacts:
    labelled = facts["labels"].none
    others, no_days = (
        tuple(text for text in found[key] if text is not None and text not in labelled) for key in ("others", "no_days")
    )
    bounded = found["low"] is not None and max(abs(found["low"]), abs(found["high"])) < 10**15
    if bounded and not found["zeros"] and len(others) < _OTHERS and all(map(_none, others)):
        ends = (Decimal(repr(found["low"])), Decimal(repr(found["high"])))
        whole = bool(found["whole"])
        ask: tuple[str, ...] = ()
        if found["marked"] and found["unclear"]:
            marked = [text for text in found["marked"] if text is not None]
            ask = unclear_numbers([spelling.numbers, *number_forms(marked)], marked)
        spelling = replace(spelling, ask=ask)
        return ColumnFacts(name, numbers=ends, whole=whole, no_value=(*others, *labelled), spelling=spelling, **facts)
    if found["first"] is not None and all(map(_none, no_days)) and found["last"].year < dt.MAXYEAR:
        days = (found["first"], found["last"])
        return ColumnFacts(name, days=days, no_value=(*no_days, *labelled), spelling=spelling, **facts)
    for what, texts in (("numbers", others), ("dates year-month-day", no_days)):
        odd = tuple(text for text in texts if not _none(text))
        if odd and len(texts) < _OTHERS and not found["zeros"]:
            kinds = f"{count_of(len(odd), 'value')} are"
            question = f"kind: all but {kinds} {what}; correct those and draft again"
            return ColumnFacts(name, unread=odd, spelling=Spelling(ask=(question,)), **facts)
    return ColumnFacts(name, **facts)


def _many(
    source: Source, frame: pl.LazyFrame, name: str, dtype: pl.DataType, written: Spelling | None, **facts: Any
) -> ColumnFacts:
    """Describe a column with too many values to list; where it is not plain, as a few of its texts suggest."""
    found = source.collect(_ends(frame, name, dtype, written or PLAIN)).row(0, named=True)
    made = _from_ends(name, found, written or PLAIN, **facts)
    if source.exact(name):
        return replace(made, spelling=PLAIN)
    if written or made.numbers is not None or made.days is not None or not isinstance(dtype, pl.String):
        return made
    labelled = source.scale_labels(name).none
    sample = [text for text in found["others"] if text is not None and not _none(text) and text not in labelled]
    look = spelling_of(sample)
    tried = [Spelling(form) for form in day_formats(sample) if form]
    tried += [Spelling(numbers=form) for form in number_forms(sample) if not form.plain]
    fits = []
    for spelling in tried:
        again = source.collect(_ends(frame, name, dtype, spelling)).row(0, named=True)
        other = _from_ends(name, again, spelling, **facts)
        if other.numbers is not None or other.days is not None:
            fits.append(other)
    if len(fits) > 1 and fits[0].days is not None:
        return replace(fits[0], spelling=look)
    if fits:
        return fits[0]
    return made if made.unread else replace(made, spelling=Spelling(ask=look.ask))


def _none(text: str) -> bool:
    return text in NO_VALUE or means_none(text)
