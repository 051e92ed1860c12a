"""The SQLite file: its tables, one transaction at a time, rows read into values.

Source    SQLite documentation: BEGIN IMMEDIATE (one writer), rollback journal with synchronous=EXTRA (a commit that
          returned survives a kill and a power cut).
Claim     What one `writing` block reads cannot change before it has written; it is kept whole or not at all.
Because   the write lock is taken before the first read. A connection lives as long as its block, so that neither
          threads nor processes share one. Triggers refuse to delete an entry or to change what it took. A new ledger
          is made beside its place and then named, so that a file of no bytes is never one. Every row is sealed
          (`seals`): what was damaged or removed since it was written is refused before anything is read from it.
Checked   tests/claims/test_ledger.py::test_two_processes_never_overspend
          tests/claims/test_ledger.py::test_a_ledger_that_checks_and_writes_apart_is_caught
          tests/unit/ledger/test_ledger_file.py::test_the_file_refuses_to_forget
          tests/claims/test_ledger_damage.py::test_no_flipped_bit_says_that_less_was_spent
          tests/unit/ledger/test_ledger_file.py::test_an_empty_file_is_not_a_ledger
Silent on file systems without working locks (some network drives), and on who may write the file: a person who can
          edit it with care, copy an old one back or delete it can spend twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from sfumato.claims import ConcentratedDP, Neighbours, number_from_json, promise_from_json
from sfumato.errors import ParameterError
from sfumato.ledger.composition import Charge, PopulationTree
from sfumato.ledger.cost import Cost
from sfumato.ledger.entry import Entry, LimitSet, population_key
from sfumato.release.atomic import Held, flush, name_new_file, partial_of, remove_stale

# Checksums of every row of the ledger, so that damage is noticed before it is believed.
#
# Source    Ours: SHA-256 of each row, of each statement that made a table or trigger, and of all these together.
# Claim     A row that was changed, added or removed since the last transaction is refused, and named.
# Because   the seals of all rows are computed anew before anything is read, and compared with those that the last
#           transaction wrote with its rows; a change of a row, of a seal or of their number makes them differ.
# Checked   tests/claims/test_ledger_damage.py::test_no_flipped_bit_says_that_less_was_spent
#           tests/claims/test_ledger_damage.py::test_a_ledger_without_seals_is_caught
#           tests/unit/ledger/test_ledger_file.py::test_what_was_changed_behind_its_back_is_named
# Silent on a person who changes rows and seals alike, or puts back an old copy of the whole file: seals are no
#           signatures.
# Cost      one pass over the file for each transaction: 20 ms for 300 entries on a busy machine.

_ALL = "all"


def seal(connection: sqlite3.Connection) -> None:
    """Write the seals of all rows as they are now."""
    current = _computed(connection)
    before = dict(connection.execute("SELECT what, sha256 FROM seal").fetchall())
    gone = [(what,) for what in before if what not in current]
    connection.executemany("DELETE FROM seal WHERE what = ?", gone)
    changed = [(what, sha) for what, sha in current.items() if before.get(what) != sha]
    connection.executemany("INSERT OR REPLACE INTO seal (what, sha256) VALUES (?, ?)", changed)


def check_seals(connection: sqlite3.Connection, name: str) -> None:
    """Refuse a ledger whose rows are not as the last transaction left them."""
    current = {what.encode(): sha.encode() for what, sha in _computed(connection).items()}
    cursor = _bytewise(connection)
    sealed = dict(cursor.execute("SELECT CAST(what AS BLOB), CAST(sha256 AS BLOB) FROM seal").fetchall())
    if current == sealed:
        return
    wrong = sorted((what for what in {*current, *sealed} if current.get(what) != sealed.get(what)), key=_rank)
    first = wrong[0].decode("utf-8", "replace")
    state = "is missing" if wrong[0] not in current else "is not as it was written"
    rule = f"is damaged, or was changed by hand: {first} {state}"
    hint = "restore an undamaged copy of the ledger; nothing was changed"
    raise ParameterError("ledger", name, rule, hint=hint)


def _rank(what: bytes) -> tuple[bool, bool, bytes]:
    """Entries first, the sum of all last."""
    return (not what.startswith(b"entry "), what == _ALL.encode(), what)


def _computed(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the seal of every row, statement and of all together."""
    cursor = _bytewise(connection)
    made = cursor.execute(
        "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(tbl_name AS BLOB), CAST(sql AS BLOB) FROM sqlite_master"
        " ORDER BY rowid"
    ).fetchall()
    found = {f"definition {_text(row[1])}": _sha(row) for row in made}
    for kind, table in ((_text(row[0]), _text(row[1])) for row in made):
        if kind != "table" or table == "seal" or table.startswith("sqlite_"):
            continue
        names = [_text(row[1]) for row in cursor.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()]
        columns = ", ".join(f"typeof({_quoted(one)}), CAST({_quoted(one)} AS BLOB)" for one in names)
        rows = cursor.execute(f"SELECT rowid, {columns} FROM {_quoted(table)} ORDER BY rowid")  # noqa: S608
        found.update({f"{table} {row[0]}": _sha(row) for row in rows})
    found[_ALL] = _sha(tuple(sorted(found.items())))
    return found


def _bytewise(connection: sqlite3.Connection) -> sqlite3.Cursor:
    """Return a cursor of plain rows; every query casts texts to bytes, which may be damaged and no text any more."""
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sha(row: object) -> str:
    return hashlib.sha256(repr(row).encode()).hexdigest()


WAIT_SECONDS: Final = 60.0  # a transaction takes milliseconds: who waits longer waits for something stuck
P = ParamSpec("P")
T = TypeVar("T")
APPLICATION: Final = 0x5F0A70  # marks a file as one of ours
FORMAT: Final = 2
_BESIDE: Final = ("-journal", "-wal", "-shm")

# What every entry took and every limit that was set: none of it can be changed.
_LASTING: Final = """
CREATE TRIGGER amounts_stay BEFORE UPDATE OF number, population, neighbours, unit, epsilon, delta, reserved_at
ON entry
BEGIN SELECT RAISE(ABORT, 'what an entry took never changes'); END;
CREATE TABLE limit_set (
    population TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    delta TEXT NOT NULL,
    epsilon_before TEXT,
    delta_before TEXT,
    set_at TEXT NOT NULL
);
CREATE TRIGGER limits_stay BEFORE DELETE ON limit_set
BEGIN SELECT RAISE(ABORT, 'what a limit was is never deleted'); END;
CREATE TRIGGER limits_unchanged BEFORE UPDATE ON limit_set
BEGIN SELECT RAISE(ABORT, 'what a limit was never changes'); END;
"""
_TABLES: Final = """
CREATE TABLE population (
    name TEXT PRIMARY KEY NOT NULL,
    part_of TEXT REFERENCES population (name),
    epsilon TEXT,
    delta TEXT,
    CHECK ((epsilon IS NULL) = (delta IS NULL))
);
CREATE TABLE entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    population TEXT NOT NULL REFERENCES population (name),
    mechanism TEXT NOT NULL,
    promise TEXT NOT NULL,
    neighbours TEXT,
    epsilon TEXT,
    delta TEXT,
    state TEXT NOT NULL CHECK (state IN ('reserved', 'spent', 'refunded')),
    reserved_at TEXT NOT NULL,
    settled_at TEXT,
    rehearsal INTEGER NOT NULL DEFAULT 0,
    note TEXT NOT NULL DEFAULT '',
    unsaved TEXT NOT NULL DEFAULT '',
    unit TEXT NOT NULL DEFAULT 'person',
    CHECK ((epsilon IS NULL) = (delta IS NULL) AND (epsilon IS NULL) = (neighbours IS NULL))
);
CREATE TABLE saved (
    entry INTEGER NOT NULL REFERENCES entry (number),
    name TEXT NOT NULL,
    saved_at TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 1,
    manifest TEXT NOT NULL DEFAULT ''
);
CREATE TABLE seal (what TEXT PRIMARY KEY NOT NULL, sha256 TEXT NOT NULL);
CREATE TRIGGER entries_stay BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'an entry is never deleted'); END;
CREATE TRIGGER spent_stays BEFORE UPDATE OF state ON entry WHEN OLD.state = 'spent' AND NEW.state <> 'spent'
BEGIN SELECT RAISE(ABORT, 'what is spent stays spent'); END;
"""


# What turns a ledger of format 1 into one of format 2; its rows are then sealed as they are found.
_UPGRADE: Final = """
ALTER TABLE entry ADD COLUMN unsaved TEXT NOT NULL DEFAULT '';
ALTER TABLE saved ADD COLUMN done INTEGER NOT NULL DEFAULT 1;
ALTER TABLE saved ADD COLUMN manifest TEXT NOT NULL DEFAULT '';
CREATE TABLE seal (what TEXT PRIMARY KEY NOT NULL, sha256 TEXT NOT NULL);
ALTER TABLE entry ADD COLUMN unit TEXT NOT NULL DEFAULT 'person';
UPDATE entry SET unit = json_extract(mechanism, '$.unit') WHERE json_extract(mechanism, '$.unit') IS NOT NULL;
DROP TRIGGER IF EXISTS amounts_stay;
"""


@contextmanager
def writing(path: Path, *, create: bool = True) -> Iterator[sqlite3.Connection]:
    """One transaction that no other process can write beside; with `create` the file is made where there is none."""
    with _translated(path):
        if create and not os.path.lexists(path):
            _create(path)
        _refuse_no_file(path)
        with closing(_open(path)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                if _format(connection, path) < FORMAT:
                    _upgrade(connection)
                else:
                    check_seals(connection, path.name)
                yield connection
                seal(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """One look at the ledger as it is between two transactions of others."""
    # Nothing is written, yet it is opened to be: what a killed process left half done is rolled back by the next.
    with _translated(path):
        _refuse_no_file(path)
        with closing(_open(path)) as connection:
            connection.execute("BEGIN")
            if _format(connection, path) == FORMAT:
                check_seals(connection, path.name)
                yield connection
            else:
                with closing(_connected(":memory:")) as upgraded:  # the file itself stays as it is
                    connection.backup(upgraded)
                    _upgrade(upgraded)
                    yield upgraded
            connection.execute("ROLLBACK")


def _refuse_no_file(path: Path) -> None:
    if not os.path.lexists(path):
        raise ParameterError("ledger", path.name, "there is no such ledger", hint="publish with it, or set a limit")
    # SQLite opens the journals beside a ledger as well, and would wait for a pipe.
    for file in (path, *(path.with_name(f"{path.name}{ending}") for ending in _BESIDE)):
        if os.path.lexists(file) and not stat.S_ISREG(file.lstat().st_mode):
            raise ParameterError("ledger", file.name, "is not a file", hint="name the file of the ledger itself")
    if path.stat().st_size == 0:
        hint = "restore a copy of the ledger; only if there never was one here, delete the file and start again"
        raise ParameterError("ledger", path.name, "is empty: it is not a ledger", hint=hint)


def _create(path: Path) -> None:
    """Make a new ledger beside its place, then name it; where another process was quicker, its ledger stands."""
    if not path.parent.is_dir():
        hint = "name a file in a folder that exists, where you may write"
        raise ParameterError("ledger", path.name, "cannot be opened", hint=hint)
    partial = partial_of(path)
    try:
        remove_stale(path.parent)
        partial.touch(0o666, exist_ok=False)
        held = Held(partial)
        try:
            with closing(_connected(str(partial))) as connection:
                connection.execute("PRAGMA journal_mode = OFF")  # a kill leaves a partial that nobody reads
                connection.execute("BEGIN IMMEDIATE")
                for statement in _statements(_TABLES + _LASTING):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                seal(connection)
                connection.execute("COMMIT")
            flush(partial)
            with suppress(FileExistsError):  # another process made it first
                name_new_file(partial, path)
            flush(path.parent)
        finally:
            held.release()
            partial.unlink(missing_ok=True)
    except OSError as error:
        hint = "name a file in a folder that exists, where you may write and the disk has free space"
        raise ParameterError("ledger", path.name, f"cannot be made ({error.strerror})", hint=hint) from None


def _open(path: Path) -> sqlite3.Connection:
    return _connected(f"{path.as_uri()}?mode=rw")


def _connected(where: str) -> sqlite3.Connection:
    connection = sqlite3.connect(where, uri=where.startswith("file:"), timeout=WAIT_SECONDS, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _format(connection: sqlite3.Connection, path: Path) -> int:
    """Return the format of a ledger; refuse a file that is something else, or that this version cannot read."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise ParameterError("ledger", path.name, "is a database, but not a ledger", hint="name another file")
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version not in (1, FORMAT):
        rule = f"has format {version}, this version reads 1 and {FORMAT}"
        raise ParameterError("ledger", path.name, rule, hint="use the version that wrote it")
    sealed = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'seal'").fetchone()[0]
    if bool(sealed) != (version == FORMAT) or connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        hint = "restore an undamaged copy; nothing was changed"
        raise ParameterError("ledger", path.name, "is damaged", hint=hint)
    return version


def _upgrade(connection: sqlite3.Connection) -> None:
    for statement in _statements(_UPGRADE + _LASTING):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _statements(script: str) -> Iterator[str]:
    """Give the statements one by one: `executescript` would commit behind our back."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Say what is wrong with the file in our words."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        rules = {
            sqlite3.SQLITE_BUSY: ("is in use by another process", "try again; nothing was changed"),
            sqlite3.SQLITE_NOTADB: ("is not a ledger", "name another file"),
            sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "name a file in a folder that exists, where you may write"),
            sqlite3.SQLITE_READONLY: ("cannot be written", "check who may write the file and its folder"),
            sqlite3.SQLITE_FULL: ("cannot be written: the disk is full", "free some disk space; nothing was changed"),
        }
        rule, hint = rules.get(
            primary or -1, (f"cannot be used ({type(error).__name__})", "check that the file is not damaged")
        )
        raise ParameterError("ledger", path.name, rule, hint=hint) from error
    except UnicodeEncodeError:
        hint = "write names and notes in UTF-8; nothing was changed"
        raise ParameterError("ledger", path.name, "holds text in UTF-8 only", hint=hint) from None
    except (_Unreadable, UnicodeDecodeError) as error:  # SQLite quotes damaged bytes in its own messages
        hint = "restore an undamaged copy; nothing was changed"
        raise ParameterError("ledger", path.name, "is damaged: a row cannot be read", hint=hint) from error


class _Unreadable(Exception):  # noqa: N818
    """A row that holds what was never written. Only a ledger of format 1 shows it: others have seals."""


def _read(function: Callable[P, T]) -> Callable[P, T]:
    @wraps(function)
    def read(*given: P.args, **named: P.kwargs) -> T:
        try:
            return function(*given, **named)
        except (ValueError, TypeError, KeyError, ZeroDivisionError, RecursionError) as error:
            raise _Unreadable from error

    return read


@_read
def read_tree(connection: sqlite3.Connection) -> PopulationTree:
    """Return all populations with their limits."""
    rows = connection.execute("SELECT name, part_of, epsilon, delta FROM population ORDER BY name").fetchall()
    parents: dict[str, str | None] = {}
    limits: dict[str, Cost] = {}
    for row in rows:  # older ledgers may hold one population under several spellings
        name = population_key(row["name"])
        parents[name] = parents.get(name) or (population_key(row["part_of"]) if row["part_of"] else None)
        if (limit := _cost(row)) is not None:
            limits[name] = limits[name].least(limit) if name in limits else limit
    return PopulationTree(parents, limits=limits)


def spellings(connection: sqlite3.Connection, population: str) -> list[str]:
    """Return the names under which the file holds a population: one, and those an older version wrote."""
    rows = connection.execute("SELECT name FROM population").fetchall()
    return [row["name"] for row in rows if population_key(row["name"]) == population]


def read_units(connection: sqlite3.Connection, populations: Iterable[str]) -> set[str]:
    """Return the units that entries with an epsilon protect, of some populations."""
    wanted = set(populations)
    rows = connection.execute(
        "SELECT DISTINCT population, unit FROM entry WHERE state <> 'refunded' AND epsilon IS NOT NULL"
    ).fetchall()
    return {row["unit"] for row in rows if population_key(row["population"]) in wanted}


def read_limits(connection: sqlite3.Connection, population: str | None = None) -> list[LimitSet]:
    """Return every limit that was ever set, oldest first."""
    rows = connection.execute("SELECT * FROM limit_set ORDER BY rowid").fetchall()
    return [
        LimitSet(
            population_key(row["population"]),
            cost=Cost(number_from_json("epsilon", row["epsilon"]), delta=number_from_json("delta", row["delta"])),
            before=None
            if row["epsilon_before"] is None
            else Cost(
                number_from_json("epsilon", row["epsilon_before"]), delta=number_from_json("delta", row["delta_before"])
            ),
            at=row["set_at"],
        )
        for row in rows
        if population is None or population_key(row["population"]) == population
    ]


@_read
def read_charges(connection: sqlite3.Connection) -> list[Charge]:
    """Return what counts against the populations: everything with an epsilon that was not refunded."""
    rows = connection.execute(
        "SELECT population, neighbours, epsilon, delta, promise, count(*) AS times FROM entry"
        " WHERE state <> 'refunded' AND epsilon IS NOT NULL GROUP BY population, neighbours, epsilon, delta, promise"
    ).fetchall()
    return [
        Charge(
            population_key(row["population"]), neighbours=Neighbours(row["neighbours"]), cost=cost, times=row["times"]
        )
        for row in rows
        if (cost := _cost(row)) is not None
    ]


@_read
def read_entry(connection: sqlite3.Connection, number: int) -> Entry:
    """Return one entry, without the folders it was saved in."""
    known = isinstance(number, int) and 0 <= number < 2**63
    row = connection.execute("SELECT * FROM entry WHERE number = ?", (number,)).fetchone() if known else None
    if row is None:
        raise ParameterError("entry", number, "is not in the ledger")
    return _entry(row, ())


@_read
def read_entries(connection: sqlite3.Connection, population: str | None = None) -> list[Entry]:
    """Return the entries, oldest first."""
    folders: dict[int, list[tuple[str, bool, str]]] = {}
    for number, name, done, manifest in connection.execute(
        "SELECT entry, name, done, manifest FROM saved ORDER BY rowid"
    ):
        folders.setdefault(number, []).append((name, bool(done), manifest))
    rows = connection.execute("SELECT * FROM entry ORDER BY number").fetchall()
    found = [_entry(row, tuple(folders.get(row["number"], ()))) for row in rows]
    return [entry for entry in found if population is None or entry.population == population]


def _entry(row: sqlite3.Row, folders: tuple[tuple[str, bool, str], ...]) -> Entry:
    return Entry(
        row["number"],
        population=population_key(row["population"]),
        mechanism=json.loads(row["mechanism"]),
        promise=promise_from_json(json.loads(row["promise"])),
        neighbours=None if row["neighbours"] is None else Neighbours(row["neighbours"]),
        cost=_cost(row),
        state=row["state"],
        reserved_at=row["reserved_at"],
        settled_at=row["settled_at"],
        saved=tuple(name for name, done, _ in folders if done),
        meant=tuple(name for name, done, _ in folders if not done),
        manifests={name: manifest for name, _, manifest in folders if manifest},
        unsaved=row["unsaved"],
        rehearsal=bool(row["rehearsal"]),
        note=row["note"],
        unit=row["unit"],
    )


def _cost(row: sqlite3.Row) -> Cost | None:
    """Read an amount; that of an entry knows its rho from the promise, whose numbers must be those of the entry."""
    if row["epsilon"] is None:
        return None
    cost = Cost(number_from_json("epsilon", row["epsilon"]), delta=number_from_json("delta", row["delta"]))
    promise = promise_from_json(json.loads(row["promise"])) if "promise" in row.keys() else None  # noqa: SIM118
    if not isinstance(promise, ConcentratedDP) or (promise.epsilon, promise.delta) != (cost.epsilon, cost.delta):
        return cost
    return replace(cost, rho=promise.rho)
