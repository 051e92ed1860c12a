"""Tables of a database server: GROUP BY is sent to it, counts come back.

An address is `postgresql://user@host/database#table`, as libpq has it, and the table after `#`. It may hold a password,
so it is never kept in a name, an error, a log or a manifest: what is said of such a table is the table's name. All
statements of one call of the library are answered from one snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from typing import Any

import polars as pl

from sfumato.io.encode import CELL_MARGIN, exact_units
from sfumato.io.frames import KINDS, ROWS
from sfumato.io.read_errors import refused
from sfumato.schema import Grid

SCHEMES = ("postgresql://", "postgres://")
_PLAIN = {  # PostgreSQL's types that polars has as they are; every other is read as its text
    *("smallint", "integer", "bigint", "real", "double precision", "boolean", "date"),
    *("timestamp without time zone", "timestamp with time zone"),
}

_NEVER = {  # days later than any other that stand for infinity, by type
    "date": "5874897-12-31",
    "timestamp without time zone": "294000-01-01",
    "timestamp with time zone": "294000-01-01 00:00:00+00",
}


def sql_name(name: str) -> str:
    """Return a name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


_SESSION = (  # one snapshot for all statements, and texts of values that are exact and the same everywhere
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET extra_float_digits = 3",
    "SET DateStyle = 'ISO, YMD'",
    "SET TimeZone = 'UTC'",
    "SET standard_conforming_strings = on",
)


class Session:
    """One connection, opened at the first statement: until it is closed, every statement sees the table as it was then.

    `sf.read` and `sf.publish` close it when they end, because an open snapshot keeps the table from being changed by
    its owner. The address may hold a password, so a session is never copied to another process or written.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._connection: Any = None

    def __repr__(self) -> str:
        return "Session()"

    def __reduce__(self) -> Any:
        hint = "use workers=0, or raise driver_cells so that the counts are held"
        raise refused("the database", "a connection cannot be given to another process", hint)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def run(self, statement: str) -> pl.DataFrame:
        """Run one statement and return what it gives."""
        from adbc_driver_postgresql import dbapi

        try:
            if self._connection is None:
                self._connection = dbapi.connect(self._address)
                for setting in _SESSION:
                    with self._connection.cursor() as cursor:
                        cursor.execute(setting)
            with self._connection.cursor() as cursor:
                cursor.execute(statement)
                return pl.DataFrame(cursor.fetch_arrow_table())
        except BaseException:
            self.close()
            raise


def fetch(session: Session, statement: str) -> pl.DataFrame:
    """Run one statement: the only place from which anything is sent to a server."""
    return session.run(statement)


@dataclass(frozen=True, slots=True)
class SqlTable:
    """A table of a PostgreSQL server: it answers GROUP BY; rows are asked for once, the first ones alone."""

    name: str
    _: KW_ONLY
    table: str  # as SQL has it
    kinds: Mapping[str, str]  # PostgreSQL's type of each column
    session: Session = field(repr=False, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.kinds)

    def run(self, statement: str) -> pl.DataFrame:
        """Run one statement; what the server says of an error is not passed on, it may quote values."""
        try:
            return fetch(self.session, statement)
        except Exception as error:  # noqa: BLE001  (the driver's errors hold the address and values)
            problem = _unanswered(self.name, error)
        raise problem  # out here, so that not even its context is the driver's error

    def cell(self, name: str) -> str:
        """Return the SQL of a column's cells; texts are compared by their bytes."""
        kind = self.kinds[name]
        if kind in _NEVER:  # the driver would give infinity as a day long ago
            low, high = (f"CAST('{day}' AS {kind})" for day in ("4713-01-01 BC", _NEVER[kind]))
            x = sql_name(name)
            return f"CASE {x} WHEN 'infinity' THEN {high} WHEN '-infinity' THEN {low} ELSE {x} END"
        if kind in _PLAIN:
            return sql_name(name)
        return f'CAST({sql_name(name)} AS TEXT) COLLATE "C"'

    def exact(self, name: str) -> bool:
        """Whether a column holds exact numbers, which come as texts with a decimal point whatever files write."""
        return self.kinds[name] == "numeric"

    def rows(self, names: Sequence[str], cells: Mapping[str, Grid], limit: int | None = None) -> pl.DataFrame:
        """Return the distinct combinations of raw values and, in `ROWS`, how many rows have each.

        With a limit, at most one line more than it. Doubles of a column in `cells` become the middle of their cell.
        """
        middles = {name: self._middle(name, cells[name]) for name in names if name in cells and self._double(name)}
        chosen = [f"{middles.get(name, self.cell(name))} AS k{at}" for at, name in enumerate(names)]
        places = ", ".join(str(at + 1) for at in range(len(names)))
        query = f"SELECT {', '.join([*chosen, 'COUNT(*) AS n'])} FROM {self.table}"
        query += f" GROUP BY {places}" if names else ""
        query += f" LIMIT {limit + 1}" if limit is not None else ""
        found = self.run(query)
        found = found.rename(dict(zip(found.columns, [*names, ROWS], strict=True)))
        return found.with_columns(pl.col(ROWS).cast(pl.Int64))

    def first(self, names: Sequence[str], most: int) -> pl.DataFrame:
        """Return the raw values of the first rows, in the order in which the server has them."""
        chosen = ", ".join(f"{self.cell(name)} AS k{at}" for at, name in enumerate(names))
        found = self.run(f"SELECT {chosen} FROM {self.table} LIMIT {most}")
        return found.rename(dict(zip(found.columns, names, strict=True)))

    def height(self) -> int:
        """Return how many rows there are."""
        return int(self.run(f"SELECT COUNT(*) AS n FROM {self.table}")["n"].item())

    def spread(self, names: Sequence[str], *, known: bool) -> pl.DataFrame:
        """Return how many combinations of values (`KINDS`) have how many rows (`ROWS`); `known`: no empty cells."""
        listed = ", ".join(self._key(name) if known else self.cell(name) for name in names)
        filled = " AND ".join(f"NOT ({self._empty(name)})" for name in names) if known else "TRUE"
        lines = f"SELECT COUNT(*) AS n FROM {self.table} WHERE {filled} GROUP BY {listed}"
        found = self.run(f"SELECT n, COUNT(*) AS kinds FROM ({lines}) AS lines GROUP BY n")
        found = found.rename({"n": ROWS, "kinds": KINDS})
        return found.with_columns(pl.col(ROWS, KINDS).cast(pl.Int64))

    def empty(self, names: Sequence[str]) -> int:
        """Return how many rows have no value in any of the columns."""
        none = " AND ".join(f"({self._empty(name)})" for name in names)
        return int(self.run(f"SELECT COUNT(*) AS n FROM {self.table} WHERE {none}")["n"].item())

    def _key(self, name: str) -> str:
        """Return the SQL of cells as keys of people are compared: without blanks around them, and 7.0 as 7."""
        if self.kinds[name] in _PLAIN:
            return self.cell(name)
        bare = rf"regexp_replace({self.cell(name)}, '^\s+|\s+$', '', 'g')"
        return rf"regexp_replace({bare}, '^([+-]?[0-9]+)[.]0*$', '\1')"

    def _empty(self, name: str) -> str:
        """Return the condition that a cell has no value: a null, a blank text, not a number."""
        x, kind = sql_name(name), self.kinds[name]
        if kind in ("real", "double precision"):
            return f"{x} IS NULL OR {x} = 'NaN'"
        return f"{x} IS NULL" if kind in _PLAIN else rf"{x} IS NULL OR {self.cell(name)} ~ '^\s*$'"

    def _double(self, name: str) -> bool:
        return self.kinds[name] == "double precision"

    def _middle(self, name: str, grid: Grid) -> str:
        """Replace a number by the middle of its cell where that is certain (see `encode.cell_and_certainty`)."""
        x, unit = sql_name(name), Decimal(10) ** grid.decimals
        low, step = float(grid.low * unit), float(grid.step * unit)
        scaled = f"({x} * {float(unit)!r}::float8 + 0.5 - {low!r}::float8)"
        code = f"floor(({scaled} - {CELL_MARGIN!r}) / {step!r}::float8)"
        again = f"floor(({scaled} + {CELL_MARGIN!r}) / {step!r}::float8)"
        inside = f"{x} >= {float(grid.low)!r}::float8 AND {x} < {float(grid.high)!r}::float8 AND {code} = {again}"
        sure = f"{inside} AND {code} < {grid.size} AND abs({x}) < {exact_units(grid)!r}::float8"
        middle = f"({code} + 0.5) * {float(grid.step)!r}::float8 + {float(grid.low)!r}::float8"
        return f"CASE WHEN {sure} THEN {middle} ELSE {x} END"


def open_database(address: str) -> SqlTable:
    """Open `postgresql://...#table` or `...#schema.table`."""
    where, _, name = address.rpartition("#")
    if not where or not name or any(sign in name for sign in "@/:?"):
        hint = "postgresql://user@host/database#table; a # in a password is written %23"
        raise refused("the database", "no table is named after the last #", hint)
    try:
        import adbc_driver_postgresql  # noqa: F401
    except ModuleNotFoundError:
        raise refused(name, "needs the postgresql extra", "pip install 'sfumato[postgresql]'") from None
    shown = ".".join(sql_name(part) for part in name.split("."))
    session = Session(where)
    listing = SqlTable(name, table=shown, kinds={}, session=session)
    literal = "'" + shown.replace("'", "''") + "'"
    found = listing.run(
        "SELECT CAST(a.attname AS TEXT) AS name, pg_catalog.format_type(a.atttypid, NULL) AS kind "
        f"FROM pg_catalog.pg_attribute a WHERE a.attrelid = to_regclass({literal}) "
        "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
    )
    if not found.height:
        raise refused(name, "no such table, or none of its columns may be seen", "check its name and your rights")
    return SqlTable(name, table=shown, kinds=dict(found.iter_rows()), session=session)


def _unanswered(name: str, error: Any) -> Any:
    kind = type(error).__name__
    hint = (
        "check the address, that the server answers, and that you may read the table; then read it again. Nothing was "
        "written"
    )
    return refused(name, f"the database did not answer ({kind})", hint)
