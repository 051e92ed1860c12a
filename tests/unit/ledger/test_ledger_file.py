from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

import sfumato as sf
from sfumato.ledger import Ledger
from sfumato.ledger import store as room

ONE = sf.Claim(sf.PureDP(1), neighbours=sf.Neighbours.ADD_OR_REMOVE_ONE)


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
    with pytest.raises(sf.ParameterError, match="is no ledger"):
        Ledger(path).limit("people", 1)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE x (y)")
    for use in (Ledger(tmp_path / "other.db").entries, lambda: Ledger(tmp_path / "other.db").limit("people", 1)):
        with pytest.raises(sf.ParameterError, match="no ledger"):
            use()
    with pytest.raises(sf.ParameterError, match="can not be opened") as caught:
        Ledger(tmp_path / "missing" / "ledger.db").limit("people", 1)
    assert str(tmp_path) not in str(caught.value)


def test_an_empty_file_becomes_a_ledger(path):
    path.touch()
    assert Ledger(path).entries() == []


def test_another_format_is_refused(path):
    Ledger(path).limit("people", 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")
    for use in (Ledger(path).entries, lambda: Ledger(path).limit("people", 2)):
        with pytest.raises(sf.ParameterError, match="format 2"):
            use()


def test_a_stuck_ledger_is_said_to_be_in_use(path, monkeypatch):
    Ledger(path).limit("people", 1)
    monkeypatch.setattr(room, "WAIT_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for use in (lambda: Ledger(path).reserve("people", ONE, "m"), Ledger(path).entries):
            with pytest.raises(sf.ParameterError, match="in use"):
                use()
    assert Ledger(path).entries() == []
