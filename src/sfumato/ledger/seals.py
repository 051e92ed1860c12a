"""Checksums of every row of the ledger, so that damage is noticed before it is believed.

Source    Ours: SHA-256 of each row, of each statement that made a table or trigger, and of all these together.
Claim     A row that was changed, added or removed since the last transaction is refused, and named.
Because   the seals of all rows are computed anew before anything is read, and compared with those that the last
          transaction wrote with its rows; a change of a row, of a seal or of their number makes them differ.
Checked   tests/claims/test_ledger_damage.py::test_no_flipped_bit_says_that_less_was_spent
          tests/claims/test_ledger_damage.py::test_a_ledger_without_seals_is_caught
          tests/unit/ledger/test_ledger_file.py::test_what_was_changed_behind_its_back_is_named
Silent on a person who changes rows and seals alike, or puts back an old copy of the whole file: seals are no
          signatures.
Cost      one pass over the file for each transaction: 20 ms for 300 entries on a busy machine.
"""

from __future__ import annotations

import hashlib
import sqlite3

from sfumato.errors import ParameterError

__all__ = ["check_seals", "seal"]

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
    hint = "put back a copy of the ledger that is whole; nothing was changed"
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
