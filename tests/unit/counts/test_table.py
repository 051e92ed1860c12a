"""Tables and counts: what they hold, what they refuse, what they never print."""

from __future__ import annotations

import pickle

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from sfumato.counts import Counts, Table, check, read
from sfumato.engines.grouping import group_codes
from sfumato.errors import ParameterError, ReadError
from sfumato.io.frames import Grouped
from sfumato.schema import Schema

ATTRIBUTES = {
    "id": {"role": "identifier"},
    "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
    "sex": {"role": "quasi", "values": ["F", "M"]},
    "town": {"role": "other", "values": ["Bath", "Ulm"], "missing": "suppress"},
    "note": {"role": "other"},
    "job": {"role": "sensitive", "values": ["baker", "smith"], "missing": {"values": ["?"], "action": "suppress"}},
}
SCHEMA = Schema.parse({"name": "people", "attribute": ATTRIBUTES})
FRAME = pl.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "age": [30, 30, 40, 30],
        "sex": ["F", "F", "M", "F"],
        "town": ["Bath", None, "Ulm", "Ulm"],
        "job": ["smith", "smith", "baker", "?"],
    }
)


def test_counts_rows_and_rows_left_out() -> None:
    table = read(FRAME, SCHEMA)
    counts = table.counts()
    assert (table.rows, table.left_out) == (3, 1)
    assert counts.names == ("age", "sex", "job")
    assert counts.codes.tolist() == [[30, 0, 1], [40, 1, 0]]
    assert counts.weights.tolist() == [2, 1]
    assert counts.rows == 3
    assert counts.sizes == (100, 2, 2)
    assert table.counts("sex").weights.tolist() == [2, 1]
    assert table.counts(["job", "age"]).codes.tolist() == [[0, 40], [1, 30]]
    assert counts.histogram("job").tolist() == [1, 2]
    assert table.counts() is counts


def test_roles_can_change_and_rows_left_out_with_them() -> None:
    table = read(FRAME, SCHEMA)
    other = table.with_roles(quasi=["age", "town"])
    assert (other.rows, other.left_out) == (2, 2)
    assert other.counts().names == ("age", "town", "job")
    without = table.with_roles(sensitive=[])
    assert (without.rows, without.left_out) == (4, 0)
    assert table.rows == 3


def test_roles_can_change_in_a_database() -> None:
    table = read(duckdb.connect().from_arrow(FRAME.to_arrow()), SCHEMA)
    assert table.rows == 3
    assert table.with_roles(quasi=["town"]).counts() == read(FRAME, SCHEMA).with_roles(quasi=["town"]).counts()
    assert table.with_roles(quasi="age", sensitive=[]).counts().weights.tolist() == [3, 1]
    assert table.counts().rows == 3


def test_parts_of_a_table() -> None:
    table = read(FRAME, SCHEMA)
    assert table.codes().tolist() == [[30, 0, 1], [30, 0, 1], [40, 1, 0]]
    part = table.take(np.array([2, 0]))
    assert part.codes().tolist() == [[40, 1, 0], [30, 0, 1]]
    assert table.take(np.array([True, False, True])).rows == 2
    for twice in ([0, 0, 0], [2, -1]):  # one person would be several
        with pytest.raises(ParameterError, match="more than once"):
            table.take(np.array(twice))
    again = Table.from_codes(SCHEMA, table.codes())
    assert again.counts() == table.counts()
    with pytest.raises(ParameterError, match="outside"):
        Table.from_codes(SCHEMA, np.array([[100, 0, 0]]))
    with pytest.raises(ParameterError, match="columns"):
        Table.from_codes(SCHEMA, np.zeros((2, 2)))
    with pytest.raises(ParameterError, match="entries"):
        table.take(np.array([True]))
    with pytest.raises(ReadError, match="town is missing"):
        again.with_roles(quasi=["town"]).counts()


def test_a_database_groups_numbers_by_their_cells(monkeypatch) -> None:
    attributes = {"x": {"role": "quasi", "kind": "numeric", "range": ["-0.3", "1.2"], "step": "0.1", "clamp": True}}
    schema = Schema.parse({"name": "t", "attribute": attributes})
    frame = pl.DataFrame({"x": [*(k / 1000 for k in range(-300, 1200)), 0.29999995, -0.3000001, 1.2, 55.0]})
    lines = []
    rows = Grouped.rows
    monkeypatch.setattr(Grouped, "rows", lambda *given: lines.append(rows(*given)) or lines[-1])
    table = read(duckdb.connect().from_arrow(frame.to_arrow()), schema)
    assert table.counts() == read(frame, schema).counts()
    assert lines[0].height <= 15 + 4


def test_parts_of_a_database_table() -> None:
    table = read(duckdb.connect().from_arrow(FRAME.to_arrow()), SCHEMA)
    assert table.take(np.array([2])).codes().tolist() == [[40, 1, 0]]


def test_rows_of_a_database_come_in_one_order() -> None:
    """Each column was sorted by itself: row by row, the values of one person stood beside those of another."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "id": [f"P{at}" for at in rng.integers(0, 60, 200)],
            "age": rng.integers(0, 8, 200),
            "sex": rng.choice(["F", "M"], 200),
            "job": rng.choice(["baker", "smith"], 200),
        }
    )
    raw = {**ATTRIBUTES, "town": {"role": "identifier"}}
    schema = Schema.parse({"name": "people", "attribute": raw, "person": "id"})
    here, there = read(frame, schema), read(duckdb.connect().from_arrow(frame.to_arrow()), schema)

    def rows(table: Table, *order: list[str]) -> list[tuple[int, ...]]:
        parts = [table.codes(names) for names in order]
        return sorted(map(tuple, np.column_stack(parts).tolist()))

    assert (
        rows(there, ["age", "sex"], ["job"]) == rows(there, ["age", "sex", "job"]) == rows(here, ["age", "sex", "job"])
    )
    assert rows(there, ["job"], ["sex", "age"]) == rows(here, ["job", "sex", "age"])

    def sets(table: Table) -> list[list[tuple[int, ...]]]:
        persons, jobs = table.persons(), table.codes(["job", "age"])
        assert persons is not None
        return sorted(sorted(map(tuple, jobs[persons == who].tolist())) for who in np.unique(persons))

    assert sets(there) == sets(here)


def test_every_problem_at_once() -> None:
    bad = pl.DataFrame({"age": ["x", "-3", None, "30"], "sex": ["F", "Q", "Z", "Q"], "extra": [1, 2, 3, 4]})
    with pytest.raises(ReadError) as caught:
        read(bad, SCHEMA)
    found = {(p.path, p.rows, p.count, p.values) for p in caught.value.problems}
    names = ("age", "sex", "extra")
    assert found == {
        ("attribute.age", 1, 1, ("x",)),
        ("attribute.age", 1, 1, ("-3",)),
        ("attribute.age", 1, None, ()),
        ("attribute.sex", 3, 2, ("Q", "Z")),
        ("attribute.job", None, None, names),
    }
    assert caught.value.reveal()["attribute.sex"] == ("Q", "Z")
    assert "'Q'" not in str(caught.value)
    assert "-3" not in str(caught.value)
    assert {(p.path, p.rule) for p in check(bad, SCHEMA)} == {(p.path, p.rule) for p in caught.value.problems}


def test_problems_of_a_database_count_rows() -> None:
    bad = pl.DataFrame({"age": [1, 1, 200, 200, 200], "sex": ["F"] * 5, "job": ["smith"] * 5})
    problems = check(duckdb.connect().from_arrow(bad.to_arrow()), SCHEMA)
    assert [(p.path, p.rows, p.count) for p in problems] == [("attribute.age", 3, 1)]


def test_explicit_choices() -> None:
    given_attributes = {
        **ATTRIBUTES,
        "age": {**ATTRIBUTES["age"], "clamp": True},
        "sex": {**ATTRIBUTES["sex"], "other": "Other"},
    }
    schema = Schema.parse({"name": "people", "attribute": given_attributes})
    frame = pl.DataFrame({"age": [-5, 400], "sex": ["X", "F"], "job": ["baker", "smith"]})
    assert read(frame, schema).codes().tolist() == [[0, 2, 0], [99, 0, 1]]


def test_three_lines_dropped_from_a_hierarchy(tmp_path) -> None:
    lines = [f"{value};{'low' if at < 5 else 'high'};*" for at, value in enumerate("abcdefghij")]
    kept = [line for line in lines if line[0] not in "bdj"]
    (tmp_path / "grade.csv").write_text("\n".join(kept))
    (tmp_path / "s.toml").write_text('name = "t"\n[attribute.grade]\nrole = "quasi"\nhierarchy = "grade.csv"\n')
    problems = check(pl.DataFrame({"grade": list("abcdefghijbb")}), Schema.load(tmp_path / "s.toml"))
    assert len(problems) == 1
    assert problems[0].values == ("b", "d", "j")
    assert (problems[0].rows, problems[0].count) == (5, 3)
    assert "column grade" in problems[0].rule
    assert "hierarchy grade.csv" in problems[0].rule


def test_nothing_confidential_is_printed() -> None:
    table = read(FRAME, SCHEMA)
    for text in (repr(table), str(table), repr(table.counts()), str(table.counts())):
        assert "confidential" in text
        assert not any(secret in text for secret in ("30", "40", "smith", "baker", "array"))


def test_counts_can_not_be_changed() -> None:
    counts = read(FRAME, SCHEMA).counts()
    with pytest.raises(ValueError):
        counts.codes[0, 0] = 1
    with pytest.raises(ValueError):
        counts.weights[0] = 1


@pytest.mark.parametrize(
    ("names", "rule"),
    [(["id"], "identifier"), (["note"], "no domain"), (["age", "age"], "twice"), (["x"], "not in"), (["town"], "role")],
)
def test_names_are_checked(names, rule: str) -> None:
    with pytest.raises(ParameterError, match=rule):
        read(FRAME, SCHEMA).counts(names)


def test_counts_from_arrays_are_canonical() -> None:
    codes = np.array([[2, 1], [0, 0], [2, 1], [1, 1]])
    counts = Counts.from_arrays(SCHEMA, ["age", "sex"], codes, np.array([1, 2, 3, 0]))
    assert counts.codes.tolist() == [[0, 0], [2, 1]]
    assert counts.weights.tolist() == [2, 4]
    assert (counts.codes.dtype, counts.weights.dtype) == (np.int32, np.int64)
    for wrong in (np.array([[0, 5]]), np.array([[-1, 0]])):
        with pytest.raises(ParameterError):
            Counts.from_arrays(SCHEMA, ["age", "sex"], wrong, np.array([1]))
    with pytest.raises(ParameterError):
        Counts.from_arrays(SCHEMA, ["age", "sex"], codes, np.array([1, 2, 3]))
    with pytest.raises(ParameterError):
        Counts.from_arrays(SCHEMA, ["age", "sex"], codes, np.array([1, 2, 3, -1]))
    assert counts != counts.marginal(["age"])
    with pytest.raises(ParameterError, match="not among"):
        counts.column("job")


SIZES = st.sampled_from(
    [(3,), (3, 4), (2**31 - 1, 2**31 - 1), (2**31 - 1, 2**31 - 1, 7), (1000, 1000, 1000), (50_000, 200)]
)


@settings(max_examples=100)
@given(SIZES, st.integers(0, 40), st.booleans(), st.integers(0, 2**32 - 1))
def test_grouping_agrees_with_a_dictionary(sizes, rows: int, weighted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.choice(rng.integers(0, size, 3), rows).astype(np.int32) for size in sizes]
    weights = rng.integers(1, 1000, rows) if weighted else None
    expected: dict[tuple[int, ...], int] = {}
    for at in range(rows):
        row = tuple(int(column[at]) for column in columns)
        expected[row] = expected.get(row, 0) + (int(weights[at]) if weighted else 1)
    codes, sums = group_codes(columns, sizes, rows=rows, weights=weights)
    assert list(zip(map(tuple, codes.tolist()), sums.tolist(), strict=True)) == sorted(expected.items())
    assert codes.flags.c_contiguous


def test_no_attributes_at_all() -> None:
    counts = read(FRAME, SCHEMA).counts([])
    assert (counts.codes.shape, counts.weights.tolist()) == ((1, 0), [3])


@pytest.mark.parametrize("make", [pl.DataFrame.lazy, pl.DataFrame.to_pandas, pl.DataFrame.to_arrow])
def test_a_table_that_publishes_nothing_still_has_rows(make) -> None:
    schema = Schema.parse({"name": "t", "attribute": {"id": {"role": "identifier"}}})
    assert read(make(FRAME), schema).rows == 4
    assert read(duckdb.connect().from_arrow(FRAME.to_arrow()), schema).rows == 4


def test_a_pickled_table_holds_codes_only() -> None:
    table = read(FRAME, SCHEMA)
    raw = pickle.dumps(table)
    again = pickle.loads(raw)
    assert again._encoded.source is None
    assert again.counts() == table.counts()
    assert pickle.loads(pickle.dumps(table.counts())) == table.counts()


def test_a_changed_file_is_noticed(tmp_path) -> None:
    path = tmp_path / "t.csv"
    FRAME.write_csv(path)
    table = read(path, SCHEMA)
    FRAME.head(2).write_csv(path)
    with pytest.raises(ReadError, match="changed"):
        table.with_roles(quasi=["town"]).counts()


def test_rows_can_be_taken_after_a_change_of_roles():
    import sfumato as sf

    table = sf.datasets.adult().with_roles(quasi=["age", "hours-per-week"], sensitive="relationship", target=[])
    part = table.take(np.arange(10))
    assert part.counts().rows == 10


@pytest.mark.parametrize("cells", [[1067, 79102], [1067.0, 79102.0], ["1067", "79102"]], ids=["int", "float", "text"])
@pytest.mark.parametrize("keys", [{"mask": {"length": 5}}, {"values": ["01067", "79102"]}], ids=["mask", "values"])
def test_codes_that_lost_their_zeros_are_to_be_read_as_text(cells, keys) -> None:
    """Item 13: pandas drops leading zeros; the message says so, and does not propose to collect them in Other."""
    schema = Schema.parse({"name": "t", "attribute": {"zip": {"role": "quasi", **keys}}})
    for data in (pl.DataFrame({"zip": cells}), pl.DataFrame({"zip": cells}).to_pandas()):
        with pytest.raises(ReadError) as caught:
            read(data, schema)
        assert "dtype=str" in str(caught.value)
        assert "Other" not in str(caught.value)
        assert "1 of them is a code without the leading zeros" in str(caught.value)
        assert "1067" not in str(caught.value).replace("01067", "")


def test_booleans_declared_in_capitals_are_not_collected_as_other() -> None:
    """The hint `other = "Other"` would have made everybody Other."""
    schema = Schema.parse({"name": "t", "attribute": {"ill": {"role": "sensitive", "values": ["True", "False"]}}})
    with pytest.raises(ReadError) as caught:
        read(pl.DataFrame({"ill": [True, False, True]}), schema)
    (problem,) = caught.value.problems
    assert "2 of them differ from a declared one only in capital letters" in problem.rule
    assert "other" not in problem.hint
