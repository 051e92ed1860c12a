"""Rows of a file that are not about anybody: the header again, totals, headings and notes.

A row that repeats the header is known by itself: every named cell of it is the name of its column, and it is refused.
That a row is a total, a heading or a note can only be guessed, from its words, its empty cells and its sums: such rows
are named by their place and never left out, and nothing that is published rests on the guess.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
import polars as pl

from sfumato.errors import Problem, count_of
from sfumato.io.encode import supported
from sfumato.io.excel import Sheet
from sfumato.io.frames import ROWS
from sfumato.io.source import Source
from sfumato.schema import Attribute, Schema
from sfumato.schema.word_hints import NO_VALUE, means_none

MERGED = "is filled only in the first row of each block, as merged cells are; the other rows have no value"

_FIRST = 20  # named columns by which rows are picked before they are compared as a whole
_LOOKED_AT = 200  # columns in which totals, headings and notes are looked for
_RARELY = 50  # at most one row in 50 is a heading or a note; where more have few cells, the table is sparse
_BEYOND = 5  # as many rows with few cells as would be, were each column's cells empty at random, are people
_OFTEN = 4  # at most one row in 4 is a total whose cells are mostly empty
_FEWEST, _ADDENDS = 5, 3  # rows from which a sum cannot be an accident, and the numbers that add up to it
_NEARLY = 1e-9
_ADDED, _ADDED_ROWS = 60, 200_000  # columns and rows of a file in which sums of some rows are looked for
_BY_CHANCE = 0.01  # expected rows of sums in a table of people, up to which a row is taken for one
_SHARED = 10  # rows for each value of a column of few values
_NO_WORD = r"^[^\pL]*\d[^\pL]*(?:T[\d:.]+Z?)?$"  # a number or a day
_ROW = "\0row"
_WORDS = (
    "total|totals|subtotal|sum|sums|totale|totali|totaal|totaux|totales|somme|soma|suma|summe|summen|"
    "zwischensumme|gesamt|insgesamt|gesamtsumme|endsumme|gesamtzahl|gesamtergebnis|endergebnis|anzahl|"
    "count|overall|average|mean|mittelwert|durchschnitt|moyenne|media|promedio|gemiddelde|subtotaal|eindtotaal|"
    "subtotale|subtotales|somma|sous-total|sous-totaux|ensemble|ergebnis|zwischenergebnis|teilergebnis|teilsumme|\u00d8"
)
_TOTAL = rf"(?i)^\s*(?:grand |sub[- ]|column |row )?(?:{_WORDS})(?: \(?[nN]\)?)?\s*[:=]?\s*$"
_ALL_OF = (  # All, Alle, Both sexes, Tous \u00e2ges, All regions: the word alone or before one or two others
    r"(?i)^\s*(?:all|alle|allen|aller|alles|both|beide|every|tous|toutes|todos|todas|tutti|tutte|ambos|entrambi|toute)"
    r"(?: +[\pL-]+){0,3}\s*$"
)
_PHRASE = rf"(?i)^\s*(?:{_WORDS})\b[\s:]+\S|\S[\s:,-]+(?:{_WORDS})\s*[:=]?\s*$"  # North total, Summe Nord


def _named(columns: Sequence[str]) -> list[str]:
    """Return the columns that a header names: not those that were numbered for want of a name."""
    return [name for at, name in enumerate(columns, 1) if name.strip() and name != f"column_{at}"]


def header_again(columns: Sequence[str], types: dict[str, pl.DataType]) -> pl.Expr | None:
    """Return an expression that is true of a row of these columns that could repeat the header; None if none could.

    It reads that row and the names of the columns. A column of numbers or days holds no names.
    """
    named = _named(columns)[:_FIRST]
    if not named or not all(isinstance(types[name], pl.String | pl.Categorical | pl.Enum) for name in named):
        return None
    same = [pl.col(name).cast(pl.String).str.strip_chars() == name.strip() for name in named]
    return pl.all_horizontal(same).fill_null(value=False)


def header_problems(source: Source) -> list[Problem]:
    """Return a problem where rows are the header again: every named cell is the name of its column."""
    if len(_named(source.columns)) < 2 or any(not file.form.header for file in source.files):
        return []
    frame = source.scan(source.columns)
    types = source.types(frame)
    again = header_again(source.columns, types)
    if again is None:
        return []
    picked = source.collect(frame.with_row_index(_ROW).filter(again))
    named = [name for name in _named(source.columns) if supported(types[name])]
    rows = [
        row for row in picked.iter_rows(named=True) if all(str(row[name]).strip() == name.strip() for name in named)
    ]
    if not rows:
        return []
    number = sum(row[ROWS] for row in rows) if source.grouped else len(rows)
    places = "" if source.grouped else f": {source.places([row[_ROW] for row in rows])}"
    rule = f"{count_of(number, 'row repeats', 'rows repeat')} the header{places}"
    return [Problem(source.name, rule, "delete the lines that are not about a person from the file", rows=number)]


@dataclass(frozen=True, slots=True)
class StrayRows:
    """Rows that look like totals, headings or notes: how many, and where they stand."""

    rows: int
    _: KW_ONLY
    places: str

    def __str__(self) -> str:
        looks = "looks like a total, a heading or a note" if self.rows == 1 else "look like totals, headings or notes"
        return f"{self.places} {looks}, and would be counted as {'a person' if self.rows == 1 else 'people'}"


def stray_rows(source: Source, quasi: Collection[str] = ()) -> StrayRows | None:
    """Return the rows that look like totals, headings or notes; None if none does.

    A row with a word such as Total, half of whose cells are empty or whose word stands in no other row; rows with
    such a word, alone or beside others (North total), half of whose cells are empty while most rows have more, or,
    where they are rare, that all have fewer cells than most rows; a row with nearly no cells in a table whose other
    rows have them; a last row of sums; a row with two words such as "All regions", or a rare one with one of these
    and a number above that of all other rows; a row most of whose numbers, three at least, are each the sum of the
    rows above it, from the same one on; a first row that reads as a second header; rare rows with at most one of
    the columns `quasi`, three at least, that most rows have. Rows with few cells are named only where there are more
    of them than answers that are missing here and there explain, and, where there are three columns `quasi`, only
    those with less than half of these.
    """
    frame = source.scan(source.columns[:_LOOKED_AT])
    types = source.types(frame)
    columns = [name for name in source.columns[:_LOOKED_AT] if supported(types[name])]
    if len(columns) < 2:
        return None
    texts = [name for name in columns if isinstance(types[name], pl.String)]
    words, phrases = ([pl.col(name).str.contains(form) for name in texts] for form in (_TOTAL, _PHRASE))
    known = [pl.col(name).is_not_null() for name in columns if name not in texts]
    known += [pl.col(name).str.strip_chars().fill_null("") != "" for name in texts]
    filled = pl.sum_horizontal(one.cast(pl.Int32) for one in known)
    whole = [pl.col(name).str.contains(_ALL_OF) for name in texts]
    word, phrase = (
        pl.any_horizontal(some).fill_null(value=False) if some else pl.lit(value=False) for some in (words, phrases)
    )
    either = [(one | other).fill_null(value=False).cast(pl.Int32) for one, other in zip(words, whole, strict=True)]
    every = pl.sum_horizontal(either) if either else pl.lit(0, pl.Int32)
    order = [name for name in columns if name not in texts] + texts
    wanted = [one.cast(pl.Int32) for name, one in zip(order, known, strict=True) if name in quasi]
    described = pl.sum_horizontal(wanted) if wanted else pl.lit(0, pl.Int32)
    asked = {"filled": filled, "word": word, "phrase": phrase, "every": every, "described": described}
    found = source.collect(frame.select(**asked).with_row_index(_ROW))
    few = pl.col("filled") <= max(1, len(columns) // 4)
    half = 2 * pl.col("filled") <= len(columns)
    named = found.filter("word")
    rows = set(named.filter(half if named.height > 1 else pl.lit(value=True))[_ROW].to_list())
    parts = found.filter(pl.col("word") | pl.col("phrase"))
    rare = 0 < parts.height * _RARELY <= found.height
    if rare and (parts["filled"] < found["filled"].median()).all():
        rows |= set(parts[_ROW].to_list())
    emptied = parts.filter(half)  # a subtotal for each small site: not rare, and most of its cells are empty
    if 0 < emptied.height * _OFTEN <= found.height and 2 * np.median(found["filled"].to_numpy()) > len(columns):
        rows |= set(emptied[_ROW].to_list())
    # Somebody who skipped a block of questions has few cells too, but is described as everybody else is.
    nobody = 2 * pl.col("described") < len(wanted) if len(wanted) > 2 else pl.lit(value=True)
    sparse = found.filter(few & nobody) if len(columns) > 2 else found.clear()
    bare = found.filter(pl.col("described") <= 1) if len(wanted) > 2 else found.clear()
    if bare.height and np.median(found["described"].to_numpy()) < len(wanted):
        bare = found.clear()
    for some, has, among in ((sparse, "filled", order), (bare, "described", [name for name in order if name in quasi])):
        if 0 < some.height * _RARELY <= found.height:
            empty = source.collect(
                frame.select((~one).mean().alias(name) for name, one in zip(order, known, strict=True) if name in among)
            ).row(0)
            rows |= set(some.filter(pl.col(has).is_in(_unusual(found[has].to_numpy(), empty)))[_ROW].to_list())
    if found.height >= _FIRST and _second_header(source, texts):
        rows.add(0)
    numbers = _numbers(source, columns[:_ADDED], types) if _FEWEST <= found.height <= _ADDED_ROWS else {}
    rows |= _whole_rows(found, numbers) | _block_sums(numbers)
    if found.height and _sums(source, columns, types, last=found.row(-1, named=True), width=len(columns)):
        rows.add(found.height - 1)
    return StrayRows(len(rows), places=source.places(sorted(rows))) if rows else None


def _unusual(filled: np.ndarray, empty: Sequence[float]) -> list[int]:
    """Return the numbers of filled cells that rows have more often than chance gives.

    `filled` is the number for each row, `empty` the share of rows in which each column is empty. A number is unusual if
    the rows with at most so many cells are `_BEYOND` times those expected if columns were empty independently of each
    other. Totals and notes raise these shares as well, but are rare, and so their product stays far below them.
    """
    chance = np.ones(1)  # of each number of filled cells
    for share in empty:
        chance = np.convolve(chance, [share, 1 - share])
    upto = np.cumsum(np.bincount(filled, minlength=len(chance)))
    return np.flatnonzero(upto > _BEYOND * len(filled) * np.cumsum(chance)).tolist()


def _second_header(source: Source, texts: Sequence[str]) -> bool:
    """Whether the first row holds labels, units or codes of the columns, or their names in another language.

    Nearly each of its cells is a value that no other row has. One at least is a word in a column of numbers or days,
    or three at least stand in columns in which all others share few values.
    """
    if not texts:
        return False
    top = source.collect(source.scan(texts).select(_filled(name).first() for name in texts)).row(0, named=True)
    firsts = {name: text for name, text in top.items() if text is not None}
    if not firsts:
        return False
    asked: list[pl.Expr] = []
    for name, first in firsts.items():
        cell = _filled(name)
        asked += [cell.count().alias(f"rows\0{name}"), (cell == first).sum().alias(f"again\0{name}")]
        asked += [cell.drop_nulls().n_unique().alias(f"values\0{name}")]
        asked += [cell.str.contains(_NO_WORD).sum().alias(f"plain\0{name}")]
    counted = source.collect(source.scan(list(firsts)).select(asked)).row(0, named=True)
    own, words, shared, repeated = 0, 0, 0, 0
    for name, first in firsts.items():
        rows = counted[f"rows\0{name}"] - 1  # the others
        if counted[f"again\0{name}"] > 1:
            repeated += 1
        elif rows:
            own += 1
            shared += (counted[f"values\0{name}"] - 1) * _SHARED <= rows
            is_word = any(map(str.isalpha, first)) and not (first in NO_VALUE or means_none(first))
            words += is_word and counted[f"plain\0{name}"] * 10 >= rows * 9
    return own >= 2 and repeated * 5 <= own and (words > 0 or (shared >= _ADDENDS and repeated == 0))


def _filled(name: str) -> pl.Expr:
    """Return a column of texts without blanks around them, null where nothing is left."""
    bare = pl.col(name).str.strip_chars()
    return pl.when(bare != "").then(bare)


def merged_columns(source: Source) -> list[str]:
    """Return the columns that stand only on the first row of each block, as merged cells of a spreadsheet are read.

    Most of their cells are blank, the first is not, and no two that are filled follow each other or say the same.
    """
    frame = source.scan(source.columns[:_LOOKED_AT])
    types = source.types(frame)
    names = [name for name in source.columns[:_LOOKED_AT] if isinstance(types[name], pl.String)]
    if not names:
        return []
    looks = source.collect(frame.select(_is_merged(_filled(name)).alias(name) for name in names))
    return [name for name in names if looks[name].item()]


def stray_problems(source: Source, schema: Schema) -> list[Problem]:
    """Return problems where rows are hidden or look like totals, headings or notes, or cells as if merged."""
    found = stray_rows(source, [attribute.column_name for attribute in schema.quasi])
    hint = "delete the lines that are not about a person from the file"
    named = [] if found is None else [Problem(source.name, str(found), hint, rows=found.rows)]
    merged = {*merged_columns(source)}
    fill = "fill its cells down in the spreadsheet, if they also apply to the rows below"
    cells = [Problem(known.where, MERGED, fill) for known in schema.published if known.column_name in merged]
    return hidden_rows(source) + named + cells


def hidden_rows(source: Source) -> list[Problem]:
    """Return a problem where rows of a sheet are hidden: they are read, although nobody sees them in it."""
    rows = source.frame.hidden if isinstance(source.frame, Sheet) else ()
    if not rows:
        return []
    listed = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
    many = count_of(len(rows), "row of the sheet is", "rows of the sheet are")
    rule = f"{many} hidden, and read as all others: {listed}"
    hint = "delete them from the sheet, or copy the visible rows to a new one, if a release is not to hold them"
    return [Problem(source.name, rule, hint, rows=len(rows))]


def merged_cells(source: Source, attribute: Attribute) -> list[Problem]:
    """Return a problem where cells of a column were merged in a spreadsheet: all but the first are empty in it."""
    cells = source.frame.merged_in(attribute.column_name) if isinstance(source.frame, Sheet) else []
    if not cells:
        return []
    listed = ", ".join(cells[:_FIRST]) + (f" and {len(cells) - _FIRST} more" if len(cells) > _FIRST else "")
    rule = f"has merged cells, of which only the first has a value: {listed}"
    return [Problem(attribute.where, rule, "unmerge them in the spreadsheet and fill in the value of each row")]


def _is_merged(cell: pl.Expr) -> pl.Expr:
    """Say whether most cells of a column are blank, and those that are not begin blocks of more than one row."""
    there = cell.is_not_null()
    follows = there & there.shift(1, fill_value=False)
    repeats = there & (cell == cell.forward_fill().shift(1)).fill_null(value=False)
    return there.first() & (there.sum() >= _ADDENDS) & (2 * there.sum() < pl.len()) & ~(follows | repeats).any()


def _numbers(source: Source, columns: Sequence[str], types: dict[str, pl.DataType]) -> dict[str, np.ndarray]:
    """Return the columns in which most cells are numbers; NaN for a cell that is not a number."""
    cast = [
        pl.col(name).cast(pl.Float64)
        if types[name].is_numeric()
        else pl.col(name).str.strip_chars().cast(pl.Float64, strict=False)
        for name in columns
        if types[name].is_numeric() or isinstance(types[name], pl.String)
    ]
    if not cast:
        return {}
    frame = source.collect(source.scan(columns).select(cast))
    found = {one.name: one.fill_null(float("nan")).to_numpy() for one in frame.iter_columns()}
    return {name: column for name, column in found.items() if 2 * int(np.isfinite(column).sum()) > len(column)}


def _whole_rows(found: pl.DataFrame, numbers: dict[str, np.ndarray]) -> set[int]:
    """Return the rows that speak of all regions, both sexes and the like.

    Two such words in a row, or one in a rare row in which a number is above that of every other row.
    """
    words = found["every"].to_numpy()
    rows = set(np.flatnonzero(words >= 2).tolist()) if 2 * int((words >= 2).sum()) <= len(words) else set()
    one = words > 0
    if 0 < int(one.sum()) * _RARELY <= len(words):
        for column in numbers.values():
            others = column[~one & np.isfinite(column)]
            most = others.max(initial=-np.inf)
            rows |= set(np.flatnonzero(one & np.isfinite(column) & (column > most)).tolist())
    return rows


def _block_sums(numbers: dict[str, np.ndarray]) -> set[int]:
    """Return the rows most of whose numbers, three at least, are sums of the rows directly above, from one row on.

    Sums of whole numbers below 2^53 are exact, so that the sum before the first addend is found among those of all
    beginnings of the file. Each sum has three addends other than 0. How often one column alone has such a sum tells how
    many rows would by chance: small numbers, as in questionnaires, often are sums. A column that mostly repeats
    one before it has the sums of that one, and so does not make chance less likely.
    """
    whole = [column for column in numbers.values() if _is_exact(column)]
    if len(whole) < _ADDENDS:
        return set()
    height = len(whole[0])
    agreeing, known = np.zeros((len(whole), height), bool), np.zeros(height, np.int64)
    first, last = np.zeros(height, np.int64), np.full(height, height, np.int64)  # where all blocks can begin
    for at, column in enumerate(whole):
        values = np.nan_to_num(column)
        before = np.concatenate([[0.0], np.cumsum(values)])
        wanted = before[:-1] - values
        low, high = np.searchsorted(before, wanted), np.searchsorted(before, wanted, side="right") - 1
        addends = np.concatenate([[0], np.cumsum(values != 0)])
        good = (values != 0) & (high >= low) & (addends[:-1] - addends[np.maximum(high, 0)] >= _ADDENDS)
        agreeing[at] = good
        known += values != 0
        first, last = np.where(good, np.maximum(first, low), first), np.where(good, np.minimum(last, high), last)
    agree = agreeing.sum(axis=0)
    rows = np.flatnonzero((agree >= _ADDENDS) & (2 * agree > known) & (first <= last))
    single = (agreeing.sum(axis=1) - agreeing[:, rows].sum(axis=1) + 1) / height  # what chance gives in one column
    single[_copies(whole)] = 1
    by_chance = [
        height * math.comb(int(known[row]), int(agree[row])) * float(single[agreeing[:, row]].prod()) for row in rows
    ]
    return {int(row) for row, chance in zip(rows, by_chance, strict=True) if chance <= _BY_CHANCE}


def _copies(columns: Sequence[np.ndarray]) -> list[int]:
    """Return which columns have the numbers of one before them in most of the rows in which both have one."""
    found = []
    for at, column in enumerate(columns):
        for before in columns[:at]:
            both = (np.nan_to_num(column) != 0) & (np.nan_to_num(before) != 0)
            if 2 * int((column == before)[both].sum()) > int(both.sum()):
                found.append(at)
                break
    return found


def _is_exact(column: np.ndarray) -> bool:
    """Whether a column holds whole numbers from 0 on, not all the same, that add up exactly."""
    known = column[np.isfinite(column)]
    if not len(known) or (known < 0).any() or (known != np.floor(known)).any() or known.max() == known.min():
        return False
    return float(known.sum()) < 2.0**53


def _sums(
    source: Source, columns: Sequence[str], types: dict[str, pl.DataType], *, last: dict[str, object], width: int
) -> bool:
    """True if numbers of the last row are the sums of those above: two of them, or one in a row with empty cells."""
    if int(last[_ROW]) + 1 < _FEWEST:  # type: ignore[call-overload]
        return False
    numbers = {name: pl.col(name) for name in columns if types[name].is_numeric()}
    numbers |= {
        name: pl.col(name).str.strip_chars().cast(pl.Float64, strict=False)
        for name in columns
        if isinstance(types[name], pl.String)
    }
    if not numbers:
        return False
    above = {name: value.cast(pl.Float64).slice(0, pl.len() - 1) for name, value in numbers.items()}
    found = source.collect(
        source.scan(list(numbers)).select(
            *(value.cast(pl.Float64).last().alias(f"l{at}") for at, value in enumerate(numbers.values())),
            *(value.sum().alias(f"s{at}") for at, value in enumerate(above.values())),
            *((value != 0).sum().alias(f"n{at}") for at, value in enumerate(above.values())),
        )
    ).row(0, named=True)
    agree = 0
    for at in range(len(numbers)):
        end, total = found[f"l{at}"], found[f"s{at}"]
        if end and found[f"n{at}"] >= _ADDENDS and abs(end - total) <= _NEARLY * abs(end):
            agree += 1
    return agree > 1 or (agree == 1 and (bool(last["word"]) or int(last["filled"]) < width))  # type: ignore[call-overload]
