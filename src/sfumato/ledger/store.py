"""The SQLite file: its tables, one transaction at a time, rows read into values.

Source    SQLite documentation: BEGIN IMMEDIATE (one writer), rollback journal with synchronous=EXTRA (a commit that
          returned survives a kill and a power cut).
Claim     What one `writing` block reads can not change before it has written; it is kept whole or not at all.
Because   the write lock is taken before the first read. A connection lives as long as its block, so that neither
          threads nor processes share one. Triggers refuse to delete an entry or to change what it took.
Checked   tests/claims/test_ledger.py::test_two_processes_never_overspend
          tests/claims/test_ledger.py::test_a_ledger_that_checks_and_writes_apart_is_caught
          tests/unit/ledger/test_ledger_file.py::test_the_file_refuses_to_forget
Silent on file systems without working locks (some network drives), and on who may write the file: a person who can
          edit, copy back or delete it can spend twice.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from sfumato.claims import Neighbours, number_from_json, promise_from_json
from sfumato.errors import ParameterError
from sfumato.ledger.composition import Charge, Tree
from sfumato.ledger.cost import Cost
from sfumato.ledger.entry import Entry

__all__ = ["WAIT_SECONDS", "read_charges", "read_entries", "read_entry", "read_tree", "reading", "writing"]

WAIT_SECONDS: Final = 60.0  # a transaction takes milliseconds: who waits longer waits for something stuck
APPLICATION: Final = 0x5F0A70  # marks a file as one of ours
FORMAT: Final = 1

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
    CHECK ((epsilon IS NULL) = (delta IS NULL) AND (epsilon IS NULL) = (neighbours IS NULL))
);
CREATE TABLE saved (
    entry INTEGER NOT NULL REFERENCES entry (number),
    name TEXT NOT NULL,
    saved_at TEXT NOT NULL
);
CREATE TRIGGER entries_stay BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'an entry is never deleted'); END;
CREATE TRIGGER amounts_stay BEFORE UPDATE OF number, population, neighbours, epsilon, delta, reserved_at ON entry
BEGIN SELECT RAISE(ABORT, 'what an entry took never changes'); END;
CREATE TRIGGER spent_stays BEFORE UPDATE OF state ON entry WHEN OLD.state = 'spent' AND NEW.state <> 'spent'
BEGIN SELECT RAISE(ABORT, 'what is spent stays spent'); END;
"""


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """One transaction that no other process can write beside; the file is made where there is none."""
    with _translated(path), closing(_open(path, "rwc")) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _prepare(connection, path)
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """One look at the ledger as it is between two transactions of others."""
    if not path.is_file():
        raise ParameterError("ledger", path.name, "there is no such ledger", hint="publish with it, or set a limit")
    # "rw" although nothing is written: what a killed process left half done is rolled back by whoever opens next.
    with _translated(path), closing(_open(path, "rw")) as connection:
        if not _is_ours(connection):  # a file that is empty yet
            _prepare_alone(connection, path)
        connection.execute("BEGIN")
        _prepare(connection, path)  # refuses what this version can not read
        yield connection
        connection.execute("ROLLBACK")


def _open(path: Path, mode: str) -> sqlite3.Connection:
    where = f"{path.as_uri()}?mode={mode}"
    connection = sqlite3.connect(where, uri=True, timeout=WAIT_SECONDS, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _is_ours(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION)


def _prepare_alone(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    _prepare(connection, path)
    connection.execute("COMMIT")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables in a new file; refuse a file that is something else."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if _is_ours(connection):
        if version != FORMAT:
            rule = f"has format {version}, this version reads {FORMAT}"
            raise ParameterError("ledger", path.name, rule, hint="use the version that wrote it")
        return
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise ParameterError("ledger", path.name, "is a database, but no ledger", hint="name another file")
    for statement in _statements():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _statements() -> Iterator[str]:
    """Give the statements one by one: `executescript` would commit behind our back."""
    pending = ""
    for line in _TABLES.splitlines(keepends=True):
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
            sqlite3.SQLITE_NOTADB: ("is no ledger", "name another file"),
            sqlite3.SQLITE_CANTOPEN: ("can not be opened", "name a file in a folder that exists, where you may write"),
            sqlite3.SQLITE_READONLY: ("can not be written", "see who may write the file and its folder"),
            sqlite3.SQLITE_FULL: ("can not be written: the disk is full", "make room; nothing was changed"),
        }
        rule, hint = rules.get(
            primary or -1, (f"can not be used ({type(error).__name__})", "see that the file is whole")
        )
        raise ParameterError("ledger", os.path.basename(path), rule, hint=hint) from error  # noqa: PTH119


def read_tree(connection: sqlite3.Connection) -> Tree:
    """Return all populations with their limits."""
    rows = connection.execute("SELECT name, part_of, epsilon, delta FROM population ORDER BY name").fetchall()
    limits = {row["name"]: _cost(row) for row in rows}
    return Tree(
        {row["name"]: row["part_of"] for row in rows},
        limits={name: limit for name, limit in limits.items() if limit is not None},
    )


def read_charges(connection: sqlite3.Connection) -> list[Charge]:
    """Return what counts against the populations: everything with an epsilon that was not refunded."""
    rows = connection.execute(
        "SELECT population, neighbours, epsilon, delta, count(*) AS times FROM entry"
        " WHERE state <> 'refunded' AND epsilon IS NOT NULL GROUP BY population, neighbours, epsilon, delta"
    ).fetchall()
    return [
        Charge(row["population"], neighbours=Neighbours(row["neighbours"]), cost=cost, times=row["times"])
        for row in rows
        if (cost := _cost(row)) is not None
    ]


def read_entry(connection: sqlite3.Connection, number: int) -> Entry:
    """Return one entry, without the folders it was saved in."""
    row = connection.execute("SELECT * FROM entry WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise ParameterError("entry", number, "is not in the ledger")
    return _entry(row, ())


def read_entries(connection: sqlite3.Connection, population: str | None = None) -> list[Entry]:
    """Return the entries, oldest first."""
    folders: dict[int, list[str]] = {}
    for number, name in connection.execute("SELECT entry, name FROM saved ORDER BY rowid"):
        folders.setdefault(number, []).append(name)
    rows = connection.execute(
        "SELECT * FROM entry WHERE ?1 IS NULL OR population = ?1 ORDER BY number", (population,)
    ).fetchall()
    return [_entry(row, tuple(folders.get(row["number"], ()))) for row in rows]


def _entry(row: sqlite3.Row, saved: tuple[str, ...]) -> Entry:
    return Entry(
        row["number"],
        population=row["population"],
        mechanism=json.loads(row["mechanism"]),
        promise=promise_from_json(json.loads(row["promise"])),
        neighbours=None if row["neighbours"] is None else Neighbours(row["neighbours"]),
        cost=_cost(row),
        state=row["state"],
        reserved_at=row["reserved_at"],
        settled_at=row["settled_at"],
        saved=saved,
        rehearsal=bool(row["rehearsal"]),
        note=row["note"],
    )


def _cost(row: sqlite3.Row) -> Cost | None:
    return (
        None
        if row["epsilon"] is None
        else Cost(number_from_json("epsilon", row["epsilon"]), delta=number_from_json("delta", row["delta"]))
    )
