"""`Table`: rows read through their schema, held as codes. Confidential; the only way in for rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.counts.counts import Counts, checked_names
from sfumato.counts.derived import Derived, derived_columns
from sfumato.counts.doubts import Doubts
from sfumato.counts.encoded_columns import EncodedColumns
from sfumato.counts.other_keys import with_keys
from sfumato.counts.people import Members, People, read_people, rows_kept
from sfumato.counts.people_in_spark import SparkPeople
from sfumato.engines import Engine
from sfumato.engines.batches import ArraysOfPeople, Batches, batches_of
from sfumato.engines.grouping import group_codes
from sfumato.errors import ParameterError, Problem, ReadError
from sfumato.io.database import SqlTable
from sfumato.io.decode_cell import LEFT_OUT
from sfumato.io.dialect import refuse_guesses
from sfumato.io.source import open_source
from sfumato.limits import DRIVER_CELLS
from sfumato.schema import Attribute, Schema, Values
from sfumato.schema.fingerprints import FewRows, Fingerprints, lonely_people, lonely_rows, rows_of_few
from sfumato.schema.free_text import HeldValues
from sfumato.schema.word_hints import names_a_category
from sfumato.visible import notebook


def read(
    data: Any,
    schema: Schema,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | Sequence[str] | None = None,
    sheet: str | None = None,
    driver_cells: int = DRIVER_CELLS,
    engine: Any = None,
    progress: Callable[[str], None] | None = None,
) -> Table:
    """Read the published columns of a CSV, Parquet, Excel, SPSS, Stata or SAS file, a glob, or a frame.

    Raises one `ReadError` that names every column and rule in the way. `header` is True, False
    or the names of the columns; delimiter, encoding and header are found when not given. `sheet` names the sheet of an
    Excel file, which must be said where several hold values. `engine` is a session of Spark: the path, Parquet or CSV
    with a header line, is then read by it. `progress` is called with a word for each stage.

    `driver_cells` is how many distinct combinations of published values may be held at once. A table with more is
    counted where it is: Mondrian then finds its first cuts from summaries and the same classes as otherwise
    (docs/scale.md).

    >>> sf.read(sf.datasets.adult_frame("test"), sf.Schema.load(sf.datasets.ADULT_SCHEMA))
    Table('adult', 8 attributes, confidential)
    """
    if driver_cells < 1:
        raise ParameterError("driver_cells", driver_cells, "must be at least 1", hint=f"the default is {DRIVER_CELLS}")
    form = {"delimiter": delimiter, "encoding": encoding, "header": header, "sheet": sheet}
    table = _open(data, schema, driver_cells=driver_cells, progress=progress, engine=engine, **form)
    if progress is not None:
        progress("read")
    try:
        table.require()
    finally:
        table.close()
    return table


def check(
    data: Any,
    schema: Schema,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | Sequence[str] | None = None,
    sheet: str | None = None,
) -> list[Problem]:
    """Return every problem of the data against the schema, an empty list when `read` would read it.

    >>> sf.check(sf.datasets.adult_frame("test"), sf.Schema.load(sf.datasets.ADULT_SCHEMA))
    []
    """
    try:
        table = _open(data, schema, delimiter=delimiter, encoding=encoding, header=header, sheet=sheet)
        return table.check() or table.doubts.repeated_keys()
    except ReadError as error:
        return list(error.problems)


def _open(
    data: Any,
    schema: Schema,
    *,
    driver_cells: int = DRIVER_CELLS,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Table:
    if not isinstance(schema, Schema):
        raise ParameterError("schema", type(schema).__name__, "is not a Schema", hint="sf.Schema.load(path)")
    expected = [a.column_name for a in schema.attributes if a.role not in ("identifier", "other")]
    source = open_source(data, expected=expected, **options)
    encoded = EncodedColumns(source, person=schema.person_columns, exact=schema.person_exact)
    encoded.driver_cells, encoded.progress, encoded.cap = driver_cells, progress, schema.cap
    table = Table(schema, encoded)
    table.driver_cells = driver_cells
    return table


class Table:
    """Rows as codes of the schema's attributes. Prints a name and a number of attributes, nothing else.

    >>> table = sf.datasets.adult("test")
    >>> table, table.rows
    (Table('adult', 8 attributes, confidential), 15060)
    """

    __slots__ = (
        "_counts",
        "_derived",
        "_encoded",
        "_engine",
        "_kept",
        "_kept_weights",
        "_repeated",
        "_rows_of",
        "_surplus",
        "driver_cells",
        "schema",
    )

    def __init__(self, schema: Schema, encoded: EncodedColumns, *, rows_of: Schema | None = None) -> None:
        self.schema = schema
        self._encoded = encoded
        self._counts: dict[tuple[str, ...], Counts] = {}
        self._kept: np.ndarray | None = None
        self._kept_weights: np.ndarray | None = None
        self._surplus: int | None = None
        self._derived: list[Derived] | None = None
        self._repeated: list[list[Problem]] = []
        self._engine: Engine | None = None
        self._rows_of = rows_of or schema  # whose rules say which rows stay
        self.driver_cells = DRIVER_CELLS

    def __repr__(self) -> str:
        return f"Table({self.schema.name!r}, {len(self.schema.published)} attributes, confidential)"

    def _repr_html_(self) -> str:
        """Show the columns in a notebook, and no value of any row."""
        rows = [(known.name, known.role, known.kind, known.size) for known in self.schema.published]
        return notebook(repr(self), heads=("column", "role", "kind", "values it may have"), rows=rows)

    @classmethod
    def from_codes(
        cls,
        schema: Schema,
        codes: np.ndarray,
        names: Sequence[str] | None = None,
        *,
        people: Sequence[Any] | None = None,
    ) -> Table:
        """Return a table of encoded rows, one column for each of `names` (default: the published attributes).

        `people` holds the key of each row's person, where the schema names one.
        """
        return cls(schema, _coded(schema, codes, names, people))

    # -- what is asked of it ---------------------------------------------------------------

    @property
    def rows(self) -> int:
        """How many rows there are, those left out not counted."""
        external, weights = self._external(), self._weights()
        if external is not None:
            return external.rows
        return self._lines() if weights is None else int(weights.sum())

    @property
    def left_out(self) -> int:
        """How many rows are left out because a value is missing where the schema says `suppress`."""
        encoded = self._encoded
        if self._external() is not None:
            return encoded.left_out
        return (encoded.height if encoded.weights is None else int(encoded.weights.sum())) - self.rows - self.surplus

    @property
    def surplus(self) -> int:
        """How many rows are left out because their person has more than the schema's `rows_per_person`."""
        self._select()
        return self._surplus or 0

    @property
    def backend(self) -> str:
        """Whose frames the rows came from: "pandas", else "polars"; a release returns its own likewise."""
        return self._encoded.backend

    @property
    def people(self) -> int | None:
        """How many people the rows are about; None if the schema does not say who they are."""
        external = self._external()
        if isinstance(external, SparkPeople):
            return external.people
        ids = self._people()
        return None if ids is None else len(np.unique(ids))

    def people_shared(self, other: Table) -> int:
        """Return how many people are seen to have rows in both tables; 0 if the schema names no person.

        In parts of one table everybody is seen, in two files those who have several rows in each.
        """
        here, there = self._encoded.people, other._encoded.people
        mine, theirs = self._people(), other._people()
        if here is None or there is None or mine is None or theirs is None:
            return 0
        if here.digest is there.digest:
            return len(np.intersect1d(mine, theirs))
        keys, their_keys = here.digest[np.unique(mine)], there.digest[np.unique(theirs)]
        return len(np.intersect1d(keys[keys > 0], their_keys[their_keys > 0]))

    def persons(self) -> np.ndarray | None:
        """Return the number of each record's person, in the order of `codes()`; None if the schema names none."""
        if self.schema.person:
            self._require_held("who each row is about")
        ids = self._people()
        return None if ids is None else self._each_row(ids)

    def members(self, names: str | Sequence[str] | None = None) -> Members | None:
        """Return who has which line of `counts(names)`; None if the schema does not name a person."""
        if self.schema.person:
            self._require_held("who has which row")
        ids = self._people()
        if ids is None:
            return None
        wanted = self._names(names)
        sizes = [self.schema[name].size for name in wanted]
        return Members.of(ids, self._columns(wanted), sizes, self._weights())

    @property
    def rows_in(self) -> int:
        """How many rows the source has: rows, left out and surplus; of a text file as its lines count."""
        return self.rows + self.left_out + self.surplus

    @property
    def blank_lines(self) -> int:
        """How many lines of a file are empty, and therefore no rows."""
        return self._encoded.blank

    @property
    def guesses(self) -> tuple[str, ...]:
        """Which of encoding, delimiter and header were guessed from rows, so that one row could change them all."""
        return self._encoded.guesses([a.column_name for a in self.schema.published])

    def refuse_guesses(self) -> None:
        """Raise when one row could change how others are read: no differentially private claim holds then."""
        refuse_guesses(self._encoded.forms, [a.column_name for a in self.schema.published])

    def check(self) -> list[Problem]:
        """Return every problem of the published columns: absent, outside the domain, not numbers, no value."""
        try:
            return self._encoded.require(self.schema.published)
        except ReadError as error:
            return list(error.problems)

    @property
    def doubts(self) -> Doubts:
        """What makes it doubtful that rows are the people they are counted as, and what to read before publishing."""
        return Doubts(self, self._encoded, repeated=self._repeated)

    def fingerprints(self) -> Fingerprints:
        """Count who is unique on what is always published unchanged, and on all columns. Confidential."""
        carried = tuple(attribute.name for attribute in self.schema.carried)
        some, each = self.counts(carried) if carried else None, self.schema.rows_per_person
        external = self._external()
        every = self.counts() if external is None else None
        members = self.members() if external is None else None
        people = None if members is None else members.people
        on_all = None if members is None else lonely_people(members.person, members.line)
        members = self.members(carried) if carried and external is None else None
        alone = None if members is None else lonely_people(members.person, members.line)
        if isinstance(external, SparkPeople):
            people, on_all = external.people, external.lonely(external.names)
            alone = external.lonely(carried) if carried else None
        few: FewRows = {}
        if some is not None and not self.schema.person:
            few = rows_of_few(some.codes, some.weights, rows_each=each)
        return Fingerprints(
            self.rows,
            unchanged=carried,
            alone=0 if some is None else lonely_rows(some.codes, some.weights),
            alone_on_all=None if every is None else lonely_rows(every.codes, every.weights),
            people=people,
            people_alone=alone,
            people_alone_on_all=on_all,
            keyed_by=self.schema.keyed_by,
            intervals={attribute.name: attribute.intervals for attribute in self.schema.carried},
            **few,
        )

    def derived(self) -> list[Derived]:
        """Return the carried columns that follow from quasi-identifiers, or tell them. Confidential."""
        if self._derived is None:
            self._derived = derived_columns(self)
        return self._derived

    def close(self) -> None:
        """End the connection to a database, where there is one; the next question opens another."""
        frame = None if self._encoded.source is None else self._encoded.source.frame
        if isinstance(frame, SqlTable):
            frame.session.close()

    def held_values(self, names: Sequence[str], *, numbers: Collection[str] = ()) -> dict[str, HeldValues]:
        """Return how many rows and people have each value of the columns whose values are listed. Confidential.

        Of `numbers` also those with a range of numbers or days, each value named by its code.
        Without a `person`, somebody is taken to have as many rows as the schema says; in Spark, rows are counted.
        """
        found, external = {}, self._external()
        for name in names:
            domain = self.schema[name].domain
            if domain is None or not (isinstance(domain, Values) or name in numbers):
                continue
            counts = self.counts(name)
            people = -(-counts.weights // (1 if self.schema.person else self.schema.rows_per_person))
            members = self.members(name) if external is None else None
            if members is not None:
                people = np.bincount(members.line, minlength=len(counts))
            codes = counts.codes[:, 0].tolist()
            texts = [
                (domain.names[code] if isinstance(domain, Values) else str(code)) if code < domain.size else None
                for code in codes
            ]
            rows, held = (
                {text: many for text, many in zip(texts, numbers.tolist(), strict=True) if text is not None}
                for numbers in (counts.weights, people)
            )
            found[name] = HeldValues(rows, people=held, known=names_a_category(name))
        file = self.doubts.rows
        return found if self._encoded.source is None or file is None else with_keys(file, self.schema, found)

    def require(self) -> None:
        """Read what is not read yet; raise one `ReadError` with every problem."""
        problems = self._encoded.require(self.schema.published)
        if problems:
            raise ReadError(problems)

    def with_roles(
        self,
        *,
        quasi: str | Iterable[str] | None = None,
        sensitive: str | Iterable[str] | None = None,
        target: str | Iterable[str] | None = None,
    ) -> Table:
        """Return the table in other roles; a column named in none becomes `other` and is not published."""
        schema = self.schema.with_roles(quasi=quasi, sensitive=sensitive, target=target)
        grouped = self._encoded.weights is not None or self._encoded.engine is not None  # lines of these columns
        if not grouped:
            table = Table(schema, self._encoded)
            table.driver_cells = self.driver_cells
            return table
        return self._read_anew(schema)

    def known_by(self, names: Iterable[str]) -> Table:
        """Return the same rows with these columns as the quasi-identifiers, whatever their roles are.

        A row stays where a further column's rule would leave it out: it has no value there.
        """
        held = self._encoded.source is None  # rows that were taken from a table: no further column can be read
        names = [name for name in names if not held or name in self._encoded.columns]
        further = set(names) - {attribute.name for attribute in self.schema.published}
        if held or not further:
            return Table(self.schema.with_roles(quasi=names), self._encoded, rows_of=self._rows_of)
        attributes = tuple(_with_missing(a) if a.name in further else a for a in self.schema.attributes)
        schema = replace(self.schema, attributes=attributes).with_roles(quasi=names)
        return self._read_anew(schema, rows_of=self._rows_of)

    def _read_anew(self, schema: Schema, *, rows_of: Schema | None = None) -> Table:
        """Return the table by another schema: what was read of its columns is not used."""
        encoded = EncodedColumns(self._encoded.source, person=self._encoded.person, exact=self._encoded.exact)
        encoded.driver_cells, encoded.cap = self.driver_cells, self._encoded.cap
        table = Table(schema, encoded, rows_of=rows_of)
        table.driver_cells = self.driver_cells
        return table

    def counts(self, names: str | Sequence[str] | None = None) -> Counts:
        """Return how many rows share each combination of codes; `names` default to all published attributes."""
        wanted = self._names(names)
        if wanted not in self._counts:
            external = self._external()
            self._counts[wanted] = self._count(wanted) if external is None else self._count_in_engine(external, wanted)
        return self._counts[wanted]

    def codes(self, names: str | Sequence[str] | None = None) -> np.ndarray:
        """Return one row of int32 codes for each record, in file order.

        A database's rows come in the order of the codes of all published columns, whichever of them are requested.
        """
        self._require_held("each row")
        wanted = self._names(names)
        columns = self._columns(wanted)
        found = np.empty((len(columns[0]) if columns else self._lines(), len(wanted)), dtype=np.int32)
        for at, column in enumerate(columns):
            found[:, at] = column
        return self._each_row(found)

    def _each_row(self, lines: np.ndarray) -> np.ndarray:
        """Return what is known of each line as often as it has rows; in one order, whatever it is."""
        weights = self._weights()
        if weights is None:
            return lines
        columns = self._columns(self._names(None))
        order = np.lexsort(tuple(reversed(columns))) if columns else np.arange(len(lines))
        return np.repeat(lines[order], weights[order], axis=0)

    def take(self, rows: np.ndarray) -> Table:
        """Return the table of some rows, by their place (or a boolean mask), each at most once: it is somebody's."""
        self._require_held("a part of the rows")
        rows = np.asarray(rows)
        if rows.dtype == bool and rows.shape != (self.rows,):
            raise ParameterError("rows", f"mask of shape {rows.shape}", f"must have {self.rows} entries")
        if rows.dtype != bool and len(np.unique(rows % max(self.rows, 1))) < len(rows):
            hint = "take each row once: a person would count twice, and no promise about people would hold"
            raise ParameterError("rows", "an array", "names a row more than once", hint=hint)
        names = tuple(name for name in self.schema.names if name in self._encoded.columns)
        if self._encoded.weights is not None:
            names, ids = self._names(None), self.persons()
            keys = None if ids is None else ids[rows].tolist()
            encoded = _coded(self.schema, self.codes(names)[rows], names, keys)
            encoded.capped, encoded.file, encoded.repeats = True, self._encoded.file, self._encoded.repeats
            encoded.copies = self._encoded.copies
            return Table(self.schema, encoded)  # a database's rows are never guessed at
        # Columns read for other roles come along, so that the part can change roles too.
        columns = {name: column[rows] for name, column in zip(names, self._columns(names), strict=True)}
        height = int(rows.sum()) if rows.dtype == bool else len(rows)
        encoded = EncodedColumns.of_codes(columns, height)
        encoded.file, encoded.repeats, encoded.copies = self._encoded.file, self._encoded.repeats, self._encoded.copies
        encoded.name, encoded.forms, encoded.backend = self._encoded.name, self._encoded.forms, self._encoded.backend
        ids = self._people()
        if ids is not None and self._encoded.people is not None:
            encoded.person, encoded.capped = self._encoded.person, True
            encoded.people = People(ids[rows], digest=self._encoded.people.digest)
        encoded.problems = {name: self._encoded.problems[name] for name in names}
        return Table(self.schema, encoded)

    @property
    def engine(self) -> Engine | None:
        """Where the rows are counted when there are more distinct ones than `driver_cells`; else None."""
        external = self._external()
        if external is not None:
            return external
        if self._engine is None and self.rows > self.driver_cells and len(self.counts()) > self.driver_cells:
            self._engine = self._arrays()
        return self._engine

    @property
    def held(self) -> bool:
        """Whether rows, or their combinations, are held here; else `engine` counts them where they are."""
        return self._external() is None

    # -- private --------------------------------------------------------------------------

    def _external(self) -> Engine | None:
        """Return the engine that has the rows, where they are not held here."""
        self.require()
        return self._encoded.engine

    def _require_held(self, what: str) -> None:
        """Raise if something needs the rows, and they are not held here."""
        if self._external() is not None:
            rule = f"the table has more distinct combinations, and {what} needs them all at once"
            raise ParameterError("driver_cells", self.driver_cells, rule, hint="raise it, or publish fewer columns")

    def _arrays(self) -> Engine:
        """Return the rows in memory as an engine."""
        counts, members = self.counts(), self.members() if self.schema.several else None
        if members is None:
            again = batches_of(counts.codes, counts.weights)
            return Batches(counts.names, sizes=counts.sizes, rows=counts.rows, again=again)
        whose = {"person": members.person, "line": members.line, "times": members.rows}
        return ArraysOfPeople.of(counts.names, counts.sizes, counts.codes, counts.weights, **whose)

    def _names(self, names: str | Sequence[str] | None) -> tuple[str, ...]:
        published = tuple(attribute.name for attribute in self.schema.published)
        if names is None:
            return published
        wanted = checked_names(self.schema, names)
        for name in wanted:
            if name not in published:
                hint = "give it a role with table.with_roles(...)"
                raise ParameterError("names", name, f"is in the role {self.schema[name].role}", hint=hint)
        return wanted

    def _select(self) -> np.ndarray | None:
        """Places of the rows that stay, None when all do."""
        self.require()
        if self._encoded.engine is not None:
            self._surplus = getattr(self._encoded.engine, "surplus", 0)
        if self._surplus is None:
            leaving = [a.name for a in self._rows_of.published if a.missing and a.missing.action == "suppress"]
            gone = np.zeros(self._encoded.height, dtype=bool)
            for name in leaving:
                gone |= self._encoded.columns[name] == LEFT_OUT
            self._kept = np.flatnonzero(~gone) if gone.any() else None
            weights = self._encoded.weights
            self._kept_weights = weights if weights is None or self._kept is None else weights[self._kept]
            self._surplus = self._limit()
        return self._kept

    def _limit(self) -> int:
        """Keep at most the schema's number of rows of each person; return how many rows that leaves out."""
        people, most = self._encoded.people, self.schema.cap
        if people is None or most is None or self._encoded.capped:
            return 0
        kept, held = self._kept, self._kept_weights
        columns = [self._encoded.columns[a.name] for a in self._rows_of.published]
        columns = columns if kept is None else [column[kept] for column in columns]
        ids = people.ids if kept is None else people.ids[kept]
        stay = rows_kept(ids, people.digest, columns, held, most)
        before = len(stay) if held is None else int(held.sum())
        if int(stay.sum()) < before:
            some = stay > 0
            self._kept = np.flatnonzero(some) if kept is None else kept[some]
            self._kept_weights = None if held is None else stay[some]
        return before - int(stay.sum())

    def _people(self) -> np.ndarray | None:
        """The person of each line that stays."""
        kept, people = self._select(), self._encoded.people
        if people is None:
            return None
        return people.ids if kept is None else people.ids[kept]

    def _lines(self) -> int:
        kept = self._select()
        return self._encoded.height if kept is None else len(kept)

    def _columns(self, names: Sequence[str]) -> list[np.ndarray]:
        kept = self._select()
        columns = [self._encoded.columns[name] for name in names]
        return columns if kept is None else [column[kept] for column in columns]

    def _weights(self) -> np.ndarray | None:
        self._select()
        return self._kept_weights

    def _count_in_engine(self, engine: Engine, wanted: tuple[str, ...]) -> Counts:
        """Have the engine count some columns."""
        found = engine.counts(wanted, self.driver_cells)
        if found is None:
            self._require_held(f"counting {', '.join(wanted)} together")
        assert found is not None
        return Counts.from_arrays(self.schema, wanted, found.codes, found.weight)

    def _count(self, wanted: tuple[str, ...]) -> Counts:
        columns = self._columns(wanted)
        wider = [known for names, known in self._counts.items() if set(wanted) <= set(names)]
        smallest = min(wider, key=len, default=None)
        if smallest is not None and 2 * len(smallest) < self._lines():
            return smallest.marginal(wanted)
        sizes = [self.schema[name].size for name in wanted]
        codes, weights = group_codes(columns, sizes, rows=self._lines(), weights=self._weights())
        return Counts(self.schema, names=wanted, codes=codes, weights=weights)


def _with_missing(attribute: Attribute) -> Attribute:
    """Return an attribute of which a missing value is a category of its own."""
    missing = attribute.missing
    return attribute if missing is None else replace(attribute, missing=replace(missing, action="category"))


def _narrow(attribute: Attribute) -> Any:
    """The narrowest signed integer that holds the codes."""
    bits = max(8, 1 << math.ceil(math.log2(attribute.size.bit_length() + 1)))
    return np.dtype(f"int{min(bits, 32)}")


def _coded(
    schema: Schema, codes: np.ndarray, names: Sequence[str] | None, people: Sequence[Any] | None
) -> EncodedColumns:
    """Return the encoded rows, one column for each of `names`, and of the people they are about."""
    wanted = tuple(a.name for a in schema.published) if names is None else checked_names(schema, names)
    codes = np.asarray(codes)
    if codes.ndim != 2 or codes.shape[1] != len(wanted):
        raise ParameterError("codes", f"array of shape {codes.shape}", f"must have {len(wanted)} columns")
    columns = {}
    for at, name in enumerate(wanted):
        column = codes[:, at]
        if len(column) and (column.min() < 0 or column.max() >= schema[name].size):
            raise ParameterError("codes", name, f"has codes outside 0 .. {schema[name].size - 1}")
        columns[name] = np.ascontiguousarray(column.astype(_narrow(schema[name])))
    encoded = EncodedColumns.of_codes(columns, len(codes))
    if schema.person:
        if people is None or len(people) != len(codes):
            hint = "give one key for each row"
            raise ParameterError("people", "none", "the schema names a person, so each row needs one", hint=hint)
        encoded.person, encoded.exact = schema.person_columns, schema.person_exact
        encoded.people = read_people([pl.Series("person", list(people))])
    return encoded
