"""One name for one population, one unit for one sum, and every limit leaves a trace."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from contextlib import closing

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st

import sfumato as sf
from sfumato.cli.main import app
from sfumato.commuting import read_flows
from sfumato.ledger import Cost, Ledger, population_key

ADD, ORIGIN = sf.Neighbours.ADD_OR_REMOVE_ONE, sf.Neighbours.ONE_ORIGIN
ONE = sf.Claim(sf.PureDP(1), neighbours=ADD, unit="person")
JOB = sf.Claim(sf.PureDP(1), neighbours=ORIGIN)


@pytest.fixture
def book(tmp_path):
    return Ledger(tmp_path / "ledger.db")


SPELLINGS = ["Adult 1994", "adult-1994 ", " ADULT_1994", "adult – 1994", unicodedata.normalize("NFD", "adült 1994")]


def test_spellings_of_a_population_share_one_budget(book):
    book.limit("Adult 1994", 1)
    for name in SPELLINGS[:4]:
        assert population_key(name) == "adult-1994"
    book.reserve(SPELLINGS[0], ONE, "m").spend()
    for name in SPELLINGS[1:4]:
        with pytest.raises(sf.BudgetExceeded):
            book.reserve(name, ONE, "m")
        assert book.totals(name).left == Cost(0)
        assert len(book.entries(name)) == 1
    assert book.populations() == ["adult-1994"]
    assert population_key(SPELLINGS[4]) == population_key("adült 1994") != "adult-1994"


@pytest.mark.parametrize("sign", ["\u200b", "\u00ad", "\0", "\ufeff", "\u200d", "\u2060", "\u202e", "\x7f"])
def test_a_character_nobody_sees_is_no_second_budget(book, sign):
    book.limit("Adult 1994", 1)
    book.reserve("Adult 1994", ONE, "m").spend()
    for name in (f"{sign}Adult 1994", f"Ad{sign}ult 1994", f"Adult{sign} {sign}1994{sign}"):
        assert population_key(name) == population_key("Adult\t1994") == "adult-1994"
        with pytest.raises(sf.BudgetExceeded):
            book.reserve(name, ONE, "m")
    assert book.populations() == ["adult-1994"]


@given(st.text(max_size=20), st.sampled_from([str.upper, str.lower, lambda text: f"  {text}\t", str.casefold]))
def test_a_key_is_its_own_key_and_spelling_does_not_change_it(name, change):
    assert population_key(population_key(name)) == population_key(name)
    if (
        unicodedata.normalize("NFKC", change(name)).casefold().strip()
        == unicodedata.normalize("NFKC", name).casefold().strip()
    ):
        assert population_key(change(name)) == population_key(name)


def as_first_format(path, *statements: str) -> None:
    """Make a ledger what the first version wrote: no seals, no units, no trace of limits."""
    with closing(sqlite3.connect(path)) as connection:
        for name in ("limits_stay", "limits_unchanged", "amounts_stay"):
            connection.execute(f"DROP TRIGGER {name}")
        for name in ("limit_set", "seal"):
            connection.execute(f"DROP TABLE {name}")
        for table, column in (("entry", "unit"), ("entry", "unsaved"), ("saved", "done"), ("saved", "manifest")):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        for statement in statements:
            connection.execute(statement)
        connection.execute("PRAGMA user_version = 1")
        connection.commit()


def test_an_older_ledger_with_two_spellings_counts_them_together(book, tmp_path):
    book.limit("adult-1994", 1)
    book.reserve("adult-1994", ONE, "m").spend()
    as_first_format(
        tmp_path / "ledger.db",
        "INSERT INTO population (name) VALUES ('Adult 1994')",
        "UPDATE entry SET population = 'Adult 1994'",
    )
    assert book.totals("adult-1994").left == Cost(0)
    with pytest.raises(sf.BudgetExceeded):
        book.reserve("adult-1994", ONE, "m")
    book.limit("ADULT 1994", 2)
    book.reserve("adult-1994", ONE, "m").spend()
    assert book.totals("adult 1994").combined == Cost(2)


def test_a_job_and_a_person_are_not_added_up(book):
    book.reserve("town", ONE, {"name": "diffgen"}).spend()
    with pytest.raises(sf.ParameterError, match="do not add up"):
        book.reserve("town", JOB, {"name": "synthesize", "unit": "job"})
    book.reserve("town jobs", JOB, {"name": "synthesize", "unit": "job"}).spend()
    book.reserve("town", sf.Claim(sf.PureDP(1), neighbours=ORIGIN), {"name": "synthesize", "unit": "person"}).spend()
    with pytest.raises(sf.ParameterError, match="do not add up"):  # nobody decided who a row is about
        book.reserve("town", sf.Claim(sf.PureDP(1), neighbours=ADD), {"name": "diffgen"})
    with pytest.raises(sf.ParameterError, match="mix units"):
        book.declare_parts("town", ["town jobs"])
    assert {entry.unit for entry in book.entries("town")} == {"person"}
    assert book.totals("town jobs").combined == Cost(1)


def test_every_limit_leaves_a_trace(book, tmp_path):
    book.limit("people", 1)
    book.limit("People", 3)
    book.limit("people", 2)
    assert [(str(one.cost), one.raised) for one in book.limits("people")] == [("1", False), ("3", True), ("2", False)]
    done = CliRunner().invoke(app, ["ledger", str(tmp_path / "ledger.db")])
    assert "raised from epsilon 1 to epsilon 3" in done.output
    answer = json.loads(CliRunner().invoke(app, ["ledger", str(tmp_path / "ledger.db"), "--json"]).output)
    assert [one["raised"] for one in answer["limits"]] == [False, True, False]
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        for change in ("DELETE FROM limit_set", "UPDATE limit_set SET epsilon = '1'"):
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute(change)


def test_a_ledger_of_the_first_format_is_read_and_goes_on(book, tmp_path):
    book.reserve("People", JOB, {"name": "synthesize", "unit": "job"}).spend()
    as_first_format(tmp_path / "ledger.db")
    assert [entry.unit for entry in book.entries()] == ["job"]
    with pytest.raises(sf.ParameterError, match="do not add up"):
        book.reserve("people", ONE, "diffgen")
    book.limit("people", 5)
    assert len(book.limits()) == 1


def test_synthesize_takes_a_population(tmp_path):
    data = sf.datasets.commuting(60, 200, 1)
    data.flows.write_csv(tmp_path / "od.csv")
    data.geography.write_csv(tmp_path / "blocks.csv")
    where = [str(tmp_path / "od.csv"), "--geography", str(tmp_path / "blocks.csv"), "--ledger", str(tmp_path / "l.db")]
    asked = ["--epsilon", "4.6", "--delta", "1e-5", "--population", "Town 2024", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["synthesize", *where, *asked])
    assert done.exit_code == 0, (done.output, done.exception)
    (entry,) = Ledger(tmp_path / "l.db").entries("town-2024")
    assert entry.unit == "job"


def test_a_cap_counts_the_count_column():
    geography = sf.commuting.Geography.read(
        pl.DataFrame({"code": ["a", "b"], "latitude": [0.0, 1.0], "longitude": [0.0, 1.0]})
    )
    frame = pl.DataFrame({"who": ["x", "y"], "work": ["a", "b"], "home": ["a", "a"], "count": [1, 3]})
    options = {"person": "who", "unit": "person", "cap": 1}
    with pytest.raises(sf.ReadError, match="1 person has two jobs or more at one destination"):
        read_flows(frame, geography, **options)
    assert read_flows(frame.with_columns(count=pl.lit(1)), geography, **options).table.rows == 2
    extra = pl.concat([frame.with_columns(count=pl.lit(1)), frame.with_columns(work=pl.lit("b"), count=pl.lit(0))])
    assert read_flows(extra, geography, **options).table.rows == 2
