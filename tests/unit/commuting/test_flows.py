"""Flows as they come: LODES files, any two columns, units and caps; nothing confidential in messages."""

from __future__ import annotations

import gzip

import duckdb
import polars as pl
import pytest

import sfumato as sf
from sfumato.commuting import Geography, OlderFlows, read_flows

GEOGRAPHY = Geography.read(
    pl.DataFrame({"code": ["01", "02", "03"], "latitude": [41.0, 41.1, 41.2], "longitude": [-71.0] * 3})
)


def pairs(flows):
    return [tuple(int(value) for value in row) for row in zip(*flows.pairs, strict=True)]


def test_a_lodes_file_is_read_as_it_comes(tmp_path):
    file = tmp_path / "od.csv.gz"
    file.write_bytes(gzip.compress(b"w_geocode,h_geocode,S000,SA01\n01,02,3,1\n01,03,1,0\n02,02,2,2\n01,02,1,0\n"))
    flows = read_flows(file, GEOGRAPHY)
    assert pairs(flows) == [(0, 1, 4), (0, 2, 1), (1, 1, 2)]
    assert flows.table.rows == 7
    destinations, n = flows.sizes()
    assert (destinations.tolist(), n.tolist()) == ([0, 1], [5, 2])
    assert pairs(flows.only(destinations[1:])) == [(1, 1, 2)]


def test_any_two_columns_without_a_count():
    frame = pl.DataFrame({"office": ["01", "01", "02"], "house": ["02", "02", "01"]})
    flows = read_flows(frame, GEOGRAPHY, destination="office", origin="house")
    assert pairs(flows) == [(0, 1, 2), (1, 0, 1)]


def test_an_origin_that_is_not_listed_is_refused_or_elsewhere():
    frame = pl.DataFrame({"destination": ["01", "01"], "origin": ["77secret", "02"], "count": [5, 1]})
    with pytest.raises(sf.ReadError) as error:
        read_flows(frame, GEOGRAPHY)
    assert "77secret" not in str(error.value)
    assert "1 pair, of 5 jobs," in str(error.value)
    assert error.value.problems[0].rows is None  # one row of the frame stands for the five
    assert pairs(read_flows(frame, GEOGRAPHY, unknown="elsewhere")) == [(0, 1, 1), (0, 3, 5)]


def test_a_destination_that_is_not_listed_is_always_refused():
    frame = pl.DataFrame({"destination": ["88secret"], "origin": ["02"]})
    with pytest.raises(sf.ReadError, match="destination") as error:
        read_flows(frame, GEOGRAPHY, unknown="elsewhere")
    assert "88secret" not in str(error.value)


@pytest.mark.parametrize("count", ["-1", "two", "1.5", None])
def test_counts_must_be_whole(count):
    frame = pl.DataFrame({"destination": ["01"], "origin": ["02"], "count": [count]}, schema_overrides={"count": str})
    with pytest.raises(sf.ReadError, match="whole numbers"):
        read_flows(frame, GEOGRAPHY)


def test_places_must_be_given():
    frame = pl.DataFrame({"destination": ["01", "01"], "origin": ["02", None]})
    with pytest.raises(sf.ReadError, match="must not be empty"):
        read_flows(frame, GEOGRAPHY)


def test_a_person_needs_a_cap_and_a_job_has_none():
    frame = pl.DataFrame({"destination": ["01"], "origin": ["02"]})
    assert read_flows(frame, GEOGRAPHY).schema.rows_per_person == 1
    assert read_flows(frame, GEOGRAPHY, unit="person", cap=2).schema.rows_per_person == 2
    with pytest.raises(sf.ParameterError, match="cap"):
        read_flows(frame, GEOGRAPHY, unit="person")
    with pytest.raises(sf.ParameterError, match="cap"):
        read_flows(frame, GEOGRAPHY, cap=2)


@pytest.mark.parametrize(
    ("people", "destinations", "cap", "holds"),
    [
        (["x", "x", "y"], ["01", "02", "01"], 2, True),
        (["x", "x", "y"], ["01", "02", "01"], 1, False),  # two destinations
        (["x", "x", "y"], ["01", "01", "02"], 2, False),  # two rows at one: composition would not cover it
    ],
)
def test_a_declared_cap_is_checked_where_people_are_named(people, destinations, cap, holds):
    frame = pl.DataFrame({"who": people, "destination": destinations, "origin": ["03"] * 3})
    if holds:
        assert read_flows(frame, GEOGRAPHY, person="who", unit="person", cap=cap).table.rows == 3
        return
    with pytest.raises(sf.ReadError, match=r"1 person has (more than 1|two jobs or more at one) destination"):
        read_flows(frame, GEOGRAPHY, person="who", unit="person", cap=cap)


def test_flows_print_no_number():
    frame = pl.DataFrame({"destination": ["01"] * 12345, "origin": ["02"] * 12345})
    assert "12345" not in repr(read_flows(frame, GEOGRAPHY))


@pytest.mark.parametrize("engine", [lambda frame: frame, lambda frame: duckdb.from_arrow(frame.to_arrow())])
@pytest.mark.parametrize("bad", [{"count": "x"}, {"home": None}, {"who": None}], ids=str)
def test_problems_count_the_rows_of_the_file(engine, bad):
    """DuckDB gives equal rows as one line, and a line stands for several jobs: neither is a number of rows."""
    good = {"work": "01", "home": "02", "count": "5"}
    frame = pl.DataFrame([*[{**good, "who": "p", **bad}] * 6, {**good, "who": "q", "count": "1"}])
    options = {"destination": "work", "origin": "home", "person": "who", "unit": "person", "cap": 1}
    with pytest.raises(sf.ReadError) as error:
        read_flows(engine(frame), GEOGRAPHY, **options)
    assert error.value.problems[0].rows == 6
    if "who" in bad:
        assert "6 rows have no value in who" in str(error.value)


def test_problems_of_older_flows_count_the_rows_of_the_file():
    frame = pl.DataFrame({"w_tract": ["r"] * 7, "h_tract": ["s"] * 7, "count": [*"xxxxxx", "1"]})
    for data in (frame, duckdb.from_arrow(frame.to_arrow())):
        with pytest.raises(sf.ReadError) as error:
            OlderFlows.read(data, "tract")
        assert error.value.problems[0].rows == 6


@pytest.mark.parametrize("engine", [lambda frame: frame, lambda frame: duckdb.from_arrow(frame.to_arrow())])
def test_a_table_of_counts_is_not_read_as_one_of_jobs(engine):
    """DuckDB gives each count once, so that none seemed to repeat: 192 lines of 400 jobs were 192 jobs."""
    places = ["01", "02", "03"]
    lines = [{"work": work, "home": home, "zz": 1 + at % 3} for at, work in enumerate(places) for home in places]
    with pytest.raises(sf.ReadError, match="as in a table of counts"):
        read_flows(engine(pl.DataFrame(lines)), GEOGRAPHY, destination="work", origin="home")
