from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest

import sfumato as sf
from sfumato.ledger import Ledger, store as room

ONE = sf.Claim(sf.PureDP(1), neighbours=sf.Neighbours.ADD_OR_REMOVE_ONE, unit="person")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "led ger?#.db"  # a name that a URI would misread


def test_only_its_own_file_is_left(path):
    Ledger(path).reserve("people", ONE, "m").spend()
    assert [found.name for found in path.parent.iterdir()] == [path.name]
    assert len(Ledger(path).entries()) == 1


def test_a_commit_waits_for_the_disk(path):
    Ledger(path).limit("people", 1)
    with room.writing(path) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 3
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete"


@pytest.mark.parametrize(
    "order",
    [
        "DELETE FROM entry",
        "UPDATE entry SET epsilon = '0'",
        "UPDATE entry SET population = 'nobody'",
        "UPDATE entry SET state = 'refunded'",
        "UPDATE entry SET state = 'forgotten'",
    ],
)
def test_the_file_refuses_to_forget(path, order):
    Ledger(path).reserve("people", ONE, "m").spend()
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(order)
    assert Ledger(path).entries()[0].state == "spent"


def test_an_error_in_a_transaction_leaves_nothing(path):
    Ledger(path).limit("people", 1)

    def breaks_off():
        with room.writing(path) as connection:
            connection.execute("UPDATE population SET epsilon = '9'")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        breaks_off()
    total = Ledger(path).totals("people")
    assert total.limit is not None
    assert total.limit.epsilon == 1


def test_refuses_what_is_no_ledger(path, tmp_path):
    for read in (Ledger(path).entries, Ledger(path).populations):
        with pytest.raises(sf.ParameterError, match="no such ledger"):
            read()
    assert not path.exists()
    path.write_text("a text that is long enough to be no database at all " * 20)
    with pytest.raises(sf.ParameterError, match="is not a ledger"):
        Ledger(path).limit("people", 1)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE x (y)")
    for use in (Ledger(tmp_path / "other.db").entries, lambda: Ledger(tmp_path / "other.db").limit("people", 1)):
        with pytest.raises(sf.ParameterError) as caught:
            use()
        assert (caught.value.name, caught.value.value) == ("ledger", "other.db")
    with pytest.raises(sf.ParameterError, match="cannot be opened") as caught:
        Ledger(tmp_path / "missing" / "ledger.db").limit("people", 1)
    assert str(tmp_path) not in str(caught.value)


def test_an_empty_file_is_not_a_ledger(path):
    path.touch()
    for use in (Ledger(path).entries, lambda: Ledger(path).limit("people", 1), lambda: Ledger(path).populations()):
        with pytest.raises(sf.ParameterError, match="is empty: it is not a ledger"):
            use()
    assert path.stat().st_size == 0


def test_what_is_not_a_file_is_refused_at_once(path):
    os.mkfifo(path)
    for use in (Ledger(path).entries, lambda: Ledger(path).limit("people", 1)):
        with pytest.raises(sf.ParameterError, match="is not a file"):
            use()


def test_another_format_is_refused(path):
    Ledger(path).limit("people", 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    for use in (Ledger(path).entries, lambda: Ledger(path).limit("people", 2)):
        with pytest.raises(sf.ParameterError, match="format 99"):
            use()


@pytest.mark.parametrize(
    ("order", "named"),
    [
        ("UPDATE entry SET note = 'x' WHERE number = 2", "entry 2 is not as it was written"),
        ("DROP TRIGGER entries_stay; DELETE FROM entry WHERE number = 1", "entry 1 is missing"),
        ("DROP TRIGGER entries_stay; DELETE FROM entry WHERE number = 2", "entry 2 is missing"),
        ("DROP TRIGGER amounts_stay; UPDATE entry SET epsilon = '0' WHERE number = 1", "entry 1 is not"),
        ("DROP TRIGGER spent_stays", "definition spent_stays is missing"),
        ("UPDATE population SET epsilon = '9'", "population 1 is not"),
        ("DELETE FROM saved", "saved 1 is missing"),
        ("DELETE FROM seal", "entry 1 is not as it was written"),
        ("UPDATE seal SET sha256 = 'x' WHERE what = 'all'", "all is not"),
        ("PRAGMA user_version = 1", "is damaged"),
    ],
)
def test_what_was_changed_behind_its_back_is_named(path, order, named):
    book = Ledger(path)
    book.limit("people", 3)
    for _ in range(2):
        account = book.reserve("people", ONE, "m")
        account.spend()
        account.saved(path.parent / "out")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(order)
    before = path.read_bytes()
    for use in (book.entries, lambda: book.totals("people"), lambda: book.reserve("people", ONE, "m")):
        with pytest.raises(sf.ParameterError, match=named):
            use()
    assert path.read_bytes() == before


# The tables of format 1, as the first version wrote them.
FORMAT_1 = """
CREATE TABLE population (name TEXT PRIMARY KEY NOT NULL, part_of TEXT REFERENCES population (name), epsilon TEXT,
    delta TEXT, CHECK ((epsilon IS NULL) = (delta IS NULL)));
CREATE TABLE entry (number INTEGER PRIMARY KEY AUTOINCREMENT, population TEXT NOT NULL REFERENCES population (name),
    mechanism TEXT NOT NULL, promise TEXT NOT NULL, neighbours TEXT, epsilon TEXT, delta TEXT,
    state TEXT NOT NULL CHECK (state IN ('reserved', 'spent', 'refunded')), reserved_at TEXT NOT NULL, settled_at TEXT,
    rehearsal INTEGER NOT NULL DEFAULT 0, note TEXT NOT NULL DEFAULT '',
    CHECK ((epsilon IS NULL) = (delta IS NULL) AND (epsilon IS NULL) = (neighbours IS NULL)));
CREATE TABLE saved (entry INTEGER NOT NULL REFERENCES entry (number), name TEXT NOT NULL, saved_at TEXT NOT NULL);
INSERT INTO population VALUES ('people', NULL, '2', '0');
INSERT INTO entry VALUES (1, 'people', '{"name": "m"}', '{"kind": "pure-dp", "epsilon": "1"}', 'add-or-remove-one',
    '1', '0', 'spent', '2026-01-01T00:00:00+00:00', '2026-01-01T00:00:00+00:00', 0, '');
INSERT INTO saved VALUES (1, 'out', '2026-01-01T00:00:00+00:00');
PRAGMA application_id = 6228592;
PRAGMA user_version = 1;
"""


@pytest.fixture
def old(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FORMAT_1)
    return path


def test_a_ledger_of_the_first_format_is_read_as_it_is_and_upgraded_when_written(old):
    before = old.read_bytes()
    (entry,) = Ledger(old).entries()
    assert (entry.cost.epsilon, entry.saved, entry.unsaved) == (1, ("out",), "")
    assert Ledger(old).totals("people").left.epsilon == 1
    assert old.read_bytes() == before  # reading changes nothing
    Ledger(old).reserve("people", ONE, "m").spend()
    assert Ledger(old).totals("people").left.epsilon == 0
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        connection.execute("UPDATE entry SET note = 'x'")
        connection.commit()
    with pytest.raises(sf.ParameterError, match="entry 1 is not as it was written"):
        Ledger(old).entries()


@pytest.mark.parametrize(
    "change",
    ["mechanism = '{'", "promise = '[]'", "epsilon = 'x'", "epsilon = '1/0'", "neighbours = CAST(x'ff' AS TEXT)"],
)
def test_damage_in_an_old_ledger_is_a_message(old, change):
    with closing(sqlite3.connect(old)) as connection:
        connection.execute(f"UPDATE entry SET {change}")
        connection.commit()
    with pytest.raises(sf.SfumatoError):
        Ledger(old).entries()


def test_a_stuck_ledger_is_said_to_be_in_use(path, monkeypatch):
    Ledger(path).limit("people", 1)
    monkeypatch.setattr(room, "WAIT_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for use in (lambda: Ledger(path).reserve("people", ONE, "m"), Ledger(path).entries):
            with pytest.raises(sf.ParameterError, match="in use"):
                use()
    assert Ledger(path).entries() == []


ACTS = {
    "limit": lambda path: sf.Ledger(path).limit("p", 1),
    "entries": lambda path: sf.Ledger(path).entries(),
    "totals": lambda path: sf.Ledger(path).totals("p"),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("ending", ["", "-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "link", "loose link"])
def test_ledgers_that_are_no_plain_files_are_refused(tmp_path, kind, ending, act):
    """SQLite reads the journals beside a ledger too: a pipe there was waited for without end."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    sf.Ledger(elsewhere / "other.db").limit("p", 1)
    there = (elsewhere / "other.db").read_bytes()
    path = tmp_path / "here" / "l.db"
    path.parent.mkdir()
    if ending:
        sf.Ledger(path).limit("p", 1)
    file = path.with_name(path.name + ending)
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.symlink_to({"device": "/dev/zero", "link": elsewhere / "other.db"}.get(kind, elsewhere / "none.db"))
    with pytest.raises(sf.ParameterError, match=r"is not a file|is a link"):
        ACTS[act](path)
    assert (elsewhere / "other.db").read_bytes() == there
    assert [found.name for found in elsewhere.iterdir()] == ["other.db"]


def test_a_ledger_below_a_linked_folder_is_the_same_ledger(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "name").symlink_to(tmp_path / "real")
    sf.Ledger(tmp_path / "name" / "l.db").limit("p", 1)
    assert sf.Ledger(tmp_path / "real" / "l.db") == sf.Ledger(tmp_path / "name" / "l.db")
