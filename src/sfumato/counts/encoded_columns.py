"""The encoded columns of one source, read once each and shared by every table over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from sfumato.counts.people import People, alike_problem, blank_problem, nines_problem, read_people, rounded_problem
from sfumato.counts.stray_rows import header_again, header_problems, merged_cells
from sfumato.engines import Engine
from sfumato.engines.batches import plain_texts, refuse_types
from sfumato.engines.large_tables import Opened, engine_of, is_large, spark_of, stream
from sfumato.errors import Problem, ReadError, count_of
from sfumato.io.decode_cell import ASK, too_large_for_a_float
from sfumato.io.dialect import guesses_of
from sfumato.io.encode import Encoded, exact_cells, first_look, may_have_no_value, settle, settle_objects, whole_floats
from sfumato.io.frames import ROWS
from sfumato.io.read_errors import DECODE, cell_problems, missing_columns, refuse_unread, refused
from sfumato.io.source import Source, empty_problems, guarded
from sfumato.limits import DRIVER_CELLS, HELD_ROWS
from sfumato.schema import Attribute, Grid, Values

_AGAIN = "\0again"
_BYTES = (bytes, bytearray, memoryview)


class EncodedColumns:
    """Codes by attribute name, in row order (in an engine that groups: one line for each combination)."""

    def __init__(self, source: Source | None, *, person: Sequence[str] = (), exact: bool = False) -> None:
        self.source = source
        self.file = source  # what keys of people are looked up in; rows taken from a table keep it
        self.person = tuple(person)
        self.exact = exact  # whether keys that differ only in how they are written are different people
        self.people: People | None = None
        self.repeats: dict[str, int] = {}  # the most rows that share a value, by column
        self.copies: list[Problem] | None = None  # rows that are copies of others; None: not looked for yet
        self.capped = False  # whether people's rows were limited before, so that no rule is applied twice
        self.name = "the table" if source is None else source.name
        self.blank = 0 if source is None else source.blank
        self.backend = "polars" if source is None else source.backend
        self.forms = () if source is None else tuple(file.form for file in source.files)
        self.columns: dict[str, np.ndarray] = {}
        self.weights: np.ndarray | None = None
        self.height = 0
        self.problems: dict[str, list[Problem]] = {}
        self.nobody: list[Problem] = []  # rows that repeat the header, or have no value
        self.driver_cells = DRIVER_CELLS
        self.engine: Engine | None = None  # has the rows where there are more combinations than that
        self.first: Source | None = None  # the first rows, of an engine that groups; else what they came from
        self.left_out = 0  # of such a table
        self.cap: int | None = None  # how many rows of a person are kept at most, where there is a limit
        self.wrong_keys: list[Problem] = []  # of such a table
        self.progress: Callable[[str], None] | None = None

    @property
    def data(self) -> Source | None:
        """What the rows came from; None for a table of codes."""
        return self.source or self.file

    @classmethod
    def of_codes(cls, columns: dict[str, np.ndarray], height: int) -> EncodedColumns:
        """Return the columns of rows that are codes already."""
        encoded = cls(None)
        encoded.columns, encoded.height = columns, height
        encoded.problems = {name: [] for name in columns}
        return encoded

    def __getstate__(self) -> dict[str, object]:
        """Pickle the codes only: the source may hold columns nobody publishes."""
        return {**self.__dict__, "source": None, "file": None, "first": None, "progress": None}

    def guesses(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return which properties of the files were guessed from rows, when these columns are read."""
        return guesses_of(self.forms, columns)

    def require(self, attributes: Sequence[Attribute]) -> list[Problem]:
        """Read what has not been read yet, in one pass; return everything wrong with the named attributes."""
        missing = self._missing_key()
        if missing:
            return missing
        if not attributes and not self.problems and self.source is not None and not self.person:
            self.height = self.source.height()
        keyless = bool(self.person) and self.people is None and self.engine is None and self.source is not None
        if keyless or any(attribute.name not in self.problems for attribute in attributes):
            if self.source is None:
                absent = [attribute for attribute in attributes if attribute.name not in self.problems]
                return missing_columns(absent, tuple(self.columns), guessed=False)
            assert self.source is not None
            self._read(self.source, attributes)
        return (
            self._key_problems()
            + self.nobody
            + [problem for attribute in attributes for problem in self.problems[attribute.name]]
        )

    def _key_problems(self) -> list[Problem]:
        """Return what is wrong with the keys of people."""
        if self.people is None:
            return self.wrong_keys
        alike = [] if self.exact else alike_problem(self.people.alike) + nines_problem(self.people.nines)
        rounded = rounded_problem(self.person, self.people.rounded)
        return blank_problem(self.person, self.people.blank, self.people.worded) + alike + rounded

    def _missing_key(self) -> list[Problem]:
        """Return a problem for each column of the person's key that the table lacks."""
        known = () if self.source is None else self.source.columns
        absent = [name for name in self.person if self.source is not None and name not in known]
        hint = f"the table has {count_of(len(known), 'column')}; name one of them in `person`"
        return [Problem("person", f"the column {name} is missing", hint, values=tuple(known)) for name in absent]

    def _read(self, source: Source, attributes: Sequence[Attribute]) -> None:
        wanted = [attribute for attribute in attributes if attribute.name not in self.problems]
        columns = set(source.columns)
        absent = [attribute for attribute in wanted if attribute.column_name not in columns]
        for problem, attribute in zip(
            missing_columns(absent, source.columns, guessed=source.guessed), absent, strict=True
        ):
            self.problems[attribute.name] = [problem]
        present = [attribute for attribute in wanted if attribute.column_name in columns]
        keys = self.person if self.people is None or source.grouped else ()
        if not present and not keys:
            return
        refuse_unread(source.unread, {**dict.fromkeys(keys, "person"), **{a.column_name: a.where for a in present}})
        if self._opened(source, present):
            return
        spark = spark_of(source)
        limit = self.driver_cells
        if self.person and spark is None:
            limit = max(limit, HELD_ROWS)
            if is_large(source) and source.height() > limit:
                raise _too_many_to_key(source, limit)
        read = _encode(source, present, keys, limit)
        if read is None and self.person:
            if spark is None:
                raise _too_many_to_key(source, limit)
            self._keep_people(spark, present)
            return
        if read is None:
            self._keep(engine_of(source, present))
            self.nobody = empty_problems(source, 0)
            return
        encoded, people, weights, height, again, empty = read
        if again or empty:
            self.nobody = (header_problems(source) if again else []) + (empty_problems(source, limit) if empty else [])
        if self.columns and height != self.height:
            raise refused(source.name, "has changed since it was first read", "read it again")
        self.weights, self.height = weights, height
        self.people = people or self.people
        for attribute, column in zip(present, encoded, strict=True):
            self.columns[attribute.name] = column.codes
            found = cell_problems(attribute, column.codes, weights, column.offending)
            self.problems[attribute.name] = merged_cells(source, attribute) + found

    def _opened(self, source: Source, attributes: Sequence[Attribute]) -> bool:
        """Read a file in batches where it has too many rows to hold; say whether it was."""
        if self.person or self.columns or not attributes or not is_large(source):
            return False
        found = stream(source, attributes, self.driver_cells, self.progress)
        self._keep(found)
        if found.empty:
            self.nobody = empty_problems(source)
        if found.codes is not None and found.weights is not None:
            self.weights, self.height = found.weights, len(found.weights)
            for at, attribute in enumerate(attributes):
                self.columns[attribute.name] = np.ascontiguousarray(found.codes[:, at])
        return True

    def _keep(self, found: Opened) -> None:
        """Keep what is known of a table whose rows are elsewhere."""
        self.problems |= found.problems
        self.engine, self.left_out = found.engine, found.left_out

    def _keep_people(self, frame: Any, attributes: Sequence[Attribute]) -> None:
        """Keep what is known of a table of people in Spark."""
        from sfumato.counts.people_in_spark import spark_people

        found, self.wrong_keys, engine = spark_people(frame, attributes, self.person, cap=self.cap, exact=self.exact)
        self._keep(Opened(found, engine=engine, left_out=engine.left_out))


def _too_many_to_key(source: Source, limit: int) -> ReadError:
    """Return the error for a table keyed by person that would not fit: who has which row is known only here."""
    rule = (
        f"names the person of each row, and has {source.height():,} rows: which person has which row is held in this "
        f"process, for at most {limit:,} rows (in a database: distinct rows)"
    )
    hint = "read it with Spark, which counts people on its workers, or raise driver_cells (--driver-cells)"
    return refused(source.name, rule, hint)


def _encode(
    source: Source, attributes: Sequence[Attribute], person: Sequence[str] = (), limit: int | None = None
) -> tuple[list[Encoded], People | None, np.ndarray | None, int, bool, bool] | None:
    """Scan once for the codes and for who the rows are about, and once more for the cells the expressions ask about.

    Returned last is whether some row could be the header again, and whether one could have no value, by the columns
    that were read. None if an engine that groups has more than `limit` combinations.
    """
    columns = [attribute.column_name for attribute in attributes]
    keys = {f"\0person {at}": name for at, name in enumerate(person)}
    cells = {name: grid for name, grid in _grids(attributes).items() if name not in person}
    frame = source.scan([*columns, *(name for name in person if name not in columns)], cells, limit)
    refuse_types(attributes, source.types(frame), person)
    if source.grouped and limit is not None and int(source.collect(frame.select(pl.len())).item()) > limit:
        return None
    frame = frame.with_columns(pl.col(name).alias(key) for key, name in keys.items())
    frame = source.spelt(frame, attributes)
    types = source.types(frame)
    looks = {a.name: first_look(a, types[a.column_name], padded=source.padded) for a in attributes}
    extra = [pl.col(ROWS).cast(pl.Int64)] if source.grouped else []
    extra += [pl.col(key) for key in keys]
    again = header_again(columns, types)
    extra += [] if again is None else [again.alias(_AGAIN)]
    found = source.collect(frame.select(*looks.values(), *extra))
    weights = found[ROWS].to_numpy() if source.grouped else None
    height = found.height if source.grouped else source.same_rows(found.height)
    codes = {name: found[name].to_numpy() for name in looks}
    encoded = []
    for attribute in attributes:
        column = codes[attribute.name]
        listed = isinstance(attribute.values, Values)
        values = source.objects(attribute.column_name) if attribute.spelt or listed else None
        if values is not None and (attribute.spelt or any(map(too_large_for_a_float, values))):
            encoded.append(settle_objects(attribute, column, values))
            continue
        if not (column == ASK).any():
            encoded.append(Encoded(column, offending={}))
            continue
        leftover = source.collect(frame.filter(looks[attribute.name] == ASK).select(attribute.column_name)).to_series()
        asked = plain_texts(leftover)
        encoded.append(guarded(source.name, partial(settle, attribute, column, asked)))
    people = read_people([plain_texts(found[key].head(height)) for key in keys], weights) if keys else None
    if people is not None:
        objects = {key: source.objects(name) for key, name in keys.items()}
        _refuse_bytes({keys[key]: cells for key, cells in objects.items() if cells is not None})
        rounded = np.logical_or.reduce([_rounded(objects[key], found[key].head(height)) for key in keys])
        people = replace(people, rounded=int(rounded.sum() if weights is None else weights[rounded].sum()))
    repeats = again is not None and bool(found[_AGAIN].any())
    return encoded, people, weights, height, repeats, may_have_no_value(attributes, [one.codes for one in encoded])


def _refuse_bytes(keys: dict[str, Sequence[Any]]) -> None:
    """Raise where keys of people are bytes: b'17' and '17' would be two people."""
    held = {name: sum(isinstance(cell, _BYTES) for cell in cells) for name, cells in keys.items()}
    problems = [
        Problem("person", f"the column {name} holds bytes in {count_of(rows, 'row')}", DECODE, rows=rows)
        for name, rows in held.items()
        if rows
    ]
    if problems:
        raise ReadError(problems)


def _rounded(objects: Sequence[Any] | None, cells: pl.Series) -> np.ndarray:
    """Return which cells are floats that may have lost their last digits; `objects` where the cells were made texts."""
    if objects is not None:
        return np.array([too_large_for_a_float(cell) for cell in objects], bool)
    if not cells.dtype.is_float():
        return np.zeros(len(cells), bool)
    return (cells.cast(pl.Float64).abs() >= whole_floats(cells.dtype)).fill_null(value=False).to_numpy()


def _grids(attributes: Sequence[Attribute]) -> dict[str, Grid]:
    """Columns whose numbers an engine may replace by the middle of their cell: no number among them means missing."""
    return {
        attribute.column_name: attribute.values
        for attribute in attributes
        if isinstance(attribute.values, Grid)
        and exact_cells(attribute.values)
        and not (attribute.missing and attribute.missing.texts)
    }
