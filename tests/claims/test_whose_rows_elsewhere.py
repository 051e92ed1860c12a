"""Whose the rows of a database are: what is refused or warned of in memory is so where an engine groups, too.

Their first rows are read once for it; before, nothing was asked of them, and visits were published as people.
"""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pytest
from tests.claims.postgres import server
from tests.claims.test_engines_agree import load
from tests.spark_sessions import frame_of, sail

import sfumato as sf
from sfumato.counts.row_groups import FIRST_ROWS
from sfumato.io import database
from sfumato.io.source import Source, open_source

ATTRIBUTES = {
    "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
    "sex": {"role": "quasi", "values": ["f", "m"]},
    "town": {"role": "quasi", "values": list("ABCDE")},
    "ill": {"role": "sensitive", "values": ["flu", "asthma", "fracture", "migraine"]},
}
WHERE = ["duckdb", "duckdb, not held", "postgresql", "spark"]


def schema(**more) -> sf.Schema:
    return sf.Schema.parse(
        {"name": "visits", "rows_per_person": 1, "source": "public", "attribute": ATTRIBUTES, **more}
    )


def visits(most: int = 6) -> tuple[pl.DataFrame, np.ndarray]:
    """Rows of 300 people, one to `most` each, in no order, and whose each is."""
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(300), rng.integers(1, most + 1, 300))
    rng.shuffle(who)
    age, sex, town = rng.integers(20, 80, 300), rng.choice(["f", "m"], 300), rng.choice(list("ABCDE"), 300)
    ill = rng.choice(ATTRIBUTES["ill"]["values"], len(who))
    return pl.DataFrame({"age": age[who], "sex": sex[who], "town": town[who], "ill": ill}), who


def with_column(most: int = 6, **columns) -> pl.DataFrame:
    frame, who = visits(most)
    made = {name: [cell(place, person) for place, person in enumerate(who)] for name, cell in columns.items()}
    return frame.with_columns(pl.Series(name, cells) for name, cells in made.items())


def crossed() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    values = [range(20, 60), "fm", "ABCDE", ATTRIBUTES["ill"]["values"]]
    rows = [(age, sex, town, ill) for age in values[0] for sex in "fm" for town in "ABCDE" for ill in values[3]]
    frame = pl.DataFrame(rows, schema=["age", "sex", "town", "ill"], orient="row")
    return frame.with_columns(zz=pl.Series(rng.integers(1, 5, len(rows))))


REFUSED = {
    "a key that nothing names": (with_column(kz=lambda _, who: f"{who * 7919 % 100003:06d}"), schema()),
    "a key within a code": (with_column(file=lambda at, who: f"lab_{who:04d}_v{at}.pdf"), schema()),
    "addresses": (with_column(contact=lambda _, who: f"u{who}@example.org"), schema()),
    "a key of visits": (with_column(v=lambda at, who: f"P{100007 + who * 13}-{at:04d}"), schema(person="v")),
    "a rival key": (
        with_column(v=lambda at, _: f"{at * 7919 % 1000003}", patient_id=lambda _, who: f"p{who}"),
        schema(person="v"),
    ),
    "a table of counts": (crossed(), schema()),
}
WARNED = {
    "one key for two people": (with_column(1, pid=lambda _, who: f"k{who // 2}"), schema(person="pid")),
    "keys of others": (
        with_column(1, kid=lambda _, who: f"c{who}", mother_id=lambda _, who: f"m{who // 3}"),
        schema(person="kid"),
    ),
}


@pytest.fixture(scope="module")
def postgres():
    with server() as running:
        yield running


def read(where: str, frame: pl.DataFrame, described: sf.Schema, running) -> sf.Table:
    if where == "postgresql":
        return sf.read(load(running, frame, "visits"), described)
    if where == "spark":
        return sf.read(frame_of(sail(), frame), described)
    connection = duckdb.connect()
    connection.register("visits", frame.to_arrow())
    cells = {"driver_cells": 50} if "not held" in where else {}
    return sf.read(connection.table("visits"), described, **cells)


def refused(table: sf.Table, mechanism) -> set[str]:
    """The columns for which nothing is published; none where it is."""
    try:
        sf.publish(table, mechanism)
    except sf.SchemaError as error:
        return {problem.path for problem in error.problems}
    return set()


@pytest.mark.cells(8)
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_in_memory_is_refused_everywhere(case, where, postgres):
    frame, described = REFUSED[case]
    near, far = sf.read(frame, described), read(where, frame, described, postgres)
    expected = refused(near, sf.Mondrian(sf.KAnonymity(5)))
    assert expected
    assert refused(far, sf.Mondrian(sf.KAnonymity(5))) == expected
    assert {one.path for one in far.doubts.repeated_keys()} == {one.path for one in near.doubts.repeated_keys()}


def test_a_claim_for_each_person_is_refused_too():
    """People of a database with six rows each got six times epsilon."""
    frame, described = REFUSED["a key that nothing names"]
    assert refused(read("duckdb", frame, described, None), sf.NoisyTable(1)) == {"kz"}


@pytest.mark.cells(4)
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("case", WARNED)
def test_what_is_warned_of_in_memory_is_warned_of_everywhere(case, where, postgres):
    frame, described = WARNED[case]
    near, far = sf.read(frame, described), read(where, frame, described, postgres)
    expected = {(one.path, one.rule) for one in near.doubts.of_classes()}
    assert expected
    assert expected <= {(one.path, one.rule) for one in far.doubts.of_classes()}


def test_a_total_is_found_and_its_place_is_not_named(postgres):
    frame, _ = visits(1)
    last = pl.DataFrame({"age": [3], "sex": ["f"], "town": ["A"], "ill": ["flu"], "nr": ["Total"]})
    frame = pl.concat([frame.with_columns(nr=pl.Series([f"{at:04d}x" for at in range(frame.height)])), last])
    for where in ("duckdb", "postgresql"):
        (found,) = read(where, frame, schema(), postgres).doubts.stray()
        assert found.rows == 1
        assert found.rule.startswith("1 row looks like a total")


def test_it_says_when_these_are_not_all_rows(monkeypatch):
    for module in ("row_groups", "counting_columns", "other_keys", "doubts"):
        monkeypatch.setattr(f"sfumato.counts.{module}.FIRST_ROWS", 100)
    frame, described = WARNED["keys of others"]
    (found,) = (one for one in read("duckdb", frame, described, None).doubts.of_classes() if one.path == "mother_id")
    assert "in the first 100 rows" in found.rule


def test_rows_are_asked_for_once_and_are_few(postgres, monkeypatch):
    said, fetched = [], database.fetch
    monkeypatch.setattr(
        database, "fetch", lambda session, statement: said.append(statement) or fetched(session, statement)
    )
    frame, described = WARNED["keys of others"]
    table = read("postgresql", frame, described, postgres)
    sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    of_rows = [one for one in said if "COUNT(*)" not in one and "pg_attribute" not in one]
    assert len(of_rows) == 1
    assert of_rows[0].endswith(f"LIMIT {FIRST_ROWS}")


def test_a_mutant_that_asks_nothing_of_them_is_caught(monkeypatch):
    """As it was: an engine that groups had no rows to look at."""
    frame, described = REFUSED["a key that nothing names"]
    none = open_source(frame.clear())
    monkeypatch.setattr(Source, "first_rows", lambda *_: none)
    assert not refused(read("duckdb", frame, described, None), sf.Mondrian(sf.KAnonymity(5)))
