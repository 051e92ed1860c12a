"""Spark answers as the table in memory does: classic on two threads, and Connect on a Sail server.

The ordinary tier has one test of classic Spark, so that one Java machine is started; the rest runs on Sail.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.spark_sessions import Sail, frame_of, local, sail

import sfumato as sf
from sfumato.counts.derived import related_columns
from sfumato.counts.people_in_spark import _hashes, spark_people
from sfumato.engines import Parts
from sfumato.engines.batches import ArraysOfPeople, Batches, batches_of
from sfumato.engines.spark import SparkEngine, spark_engine
from sfumato.io import frames
from sfumato.io.spark import collected
from sfumato.schema import Schema

PLAIN = {
    "name": "visits",
    "source": "public",
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 90]},
        "weight": {"role": "quasi", "kind": "numeric", "range": ["0", "120"], "step": "0.5", "missing": "suppress"},
        "town": {"role": "quasi", "hierarchy": {"North": ["a", "b"], "South": ["c", "d"]}},
        "seen": {"role": "quasi", "kind": "date", "range": ["2020-01-01", "2024-01-01"], "missing": "category"},
        "ill": {"role": "sensitive", "values": ["flu", "cold", "asthma", "gout"]},
    },
}
KEYED = {**PLAIN, "person": "mrn"}
SCHEMA, OF_PEOPLE = Schema.parse(PLAIN), Schema.parse(KEYED)
CAPPED = Schema.parse({**KEYED, "rows_per_person": 2})


def engine_in(session, frame: pl.DataFrame, schema: Schema = SCHEMA):
    """The engine of a Spark frame of several partitions; raises what reading raises."""
    problems, engine = spark_engine(frame_of(session, frame).repartition(3), schema.published)
    if any(problems.values()):
        raise sf.ReadError(problem for found in problems.values() for problem in found)
    return engine


def people_in(session, frame: pl.DataFrame, schema: Schema):
    rules = {"cap": schema.cap, "exact": schema.person_exact}
    spread = frame_of(session, frame).repartition(3)
    problems, wrong, engine = spark_people(spread, schema.published, schema.person_columns, **rules)
    if wrong or any(problems.values()):
        raise sf.ReadError([*wrong, *(problem for found in problems.values() for problem in found)])
    return engine


def visits(rows: int, seed: int = 1) -> pl.DataFrame:
    """Rows of people, several each; some without a weight, some without a day."""
    rng = np.random.default_rng(seed)
    days = pl.Series(rng.integers(0, 1461, rows)).cast(pl.Int32) + 18262
    ill = np.where(rng.random(rows) < 0.5, rng.integers(0, 2, rows), rng.integers(0, 4, rows))
    return pl.DataFrame(
        {
            "mrn": [f"P{number:05d}" for number in rng.integers(0, max(rows // 2, 1), rows)],
            "age": rng.integers(0, 90, rows),
            "weight": pl.Series(rng.integers(0, 240, rows) / 2).scatter(np.arange(0, rows, 41), None),
            "town": pl.Series(["abcd"[at] for at in rng.integers(0, 4, rows)]),
            "seen": days.cast(pl.Date).scatter(np.arange(0, rows, 37), None),
            "ill": pl.Series([PLAIN["attribute"]["ill"]["values"][at] for at in ill]),
        }
    )


def some_parts() -> Parts:
    """Three parts, one of which is not asked for."""
    cut = {"position": [40, 0, 2, 0, 0], "left": [1, 0, 3, 0, 0], "right": [2, 0, 4, 0, 0]}
    arrays = {name: np.array(values) for name, values in cut.items()}
    return Parts(np.array([0, -1, 2, -1, -1]), **arrays, part=np.array([-1, 0, -1, 1, -1]), rows=(1, 1))


def whole_part(part: int, codes: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
    order = np.lexsort(codes.T[::-1])
    return {"codes": codes[order], "weights": weights[order], "part": np.array([part])}


def broken_work(part: int, codes: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
    raise ValueError(f"a cell of {part} is SECRET")


def in_order(lines) -> list:
    rows = zip(lines.part.tolist(), lines.codes.tolist(), lines.weight.tolist(), strict=True)
    return sorted(rows)


def pairs_in_order(found) -> list:
    columns = (found.part, found.first, found.second, found.weight)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def arrays_of(schema: Schema, frame: pl.DataFrame):
    table = sf.read(frame, schema)
    counts, members = table.counts(), table.members()
    if members is None:
        again = batches_of(counts.codes, counts.weights)
        return table, Batches(counts.names, sizes=counts.sizes, rows=counts.rows, again=again)
    stated = {"person": members.person, "line": members.line, "times": members.rows}
    return table, ArraysOfPeople.of(counts.names, counts.sizes, counts.codes, counts.weights, **stated)


def answers_agree(found, expected) -> None:
    """Every question of the protocol has the answer that arrays in memory give."""
    parts = some_parts()
    assert (found.names, found.sizes, found.rows) == (expected.names, expected.sizes, expected.rows)
    for asked in (None, parts):
        names = ["town", "ill"]
        assert in_order(found.counts(names, 10**6, asked)) == in_order(expected.counts(names, 10**6, asked))
    assert found.counts(["age"], 5) is None
    assert in_order(found.lines(parts)) == in_order(expected.lines(parts))
    wanted = [(0, 0), (0, 4), (3, 2)]
    ours, theirs = found.pairs(parts, wanted), expected.pairs(parts, wanted)
    for pair in wanted:
        assert pairs_in_order(ours[pair]) == pairs_in_order(theirs[pair])
    ours, theirs = (dict(engine.finish(parts, whole_part, 10**6)) for engine in (found, expected))
    assert sorted(ours) == sorted(theirs) == [0, 1]
    for part, arrays in theirs.items():
        for name, array in arrays.items():
            assert np.array_equal(ours[part][name], array)
            assert ours[part][name].dtype == array.dtype


def engine_agrees(session, rows: int) -> None:
    frame = visits(rows)
    table, expected = arrays_of(SCHEMA, frame)
    found = engine_in(session, frame)
    answers_agree(found, expected)
    assert found.left_out == table.left_out > 0


def people_agree(session, schema: Schema, rows: int) -> None:
    frame = visits(rows)
    table, expected = arrays_of(schema, frame)
    found = people_in(session, frame, schema)
    assert (found.rows, found.left_out, found.surplus) == (table.rows, table.left_out, table.surplus)
    assert found.people == expected.people == table.people
    parts = some_parts()
    assert in_order(found.lines(parts)) == in_order(expected.lines(parts))
    (ours, whole), (theirs, same) = found.shares(), expected.shares()
    assert whole == same
    assert in_order(ours.lines(parts)) == in_order(theirs.lines(parts))
    assert whose(found.members(parts)) == whose(expected.members(parts))


def whose(members) -> list:
    """The lines of each person, whatever people are numbered by."""
    of: dict[int, list] = {}
    rows = zip(members.person, members.part.tolist(), members.codes.tolist(), members.rows.tolist(), strict=True)
    for person, *line in rows:
        of.setdefault(int(person), []).append(line)
    return sorted(sorted(lines) for lines in of.values())


def test_keys_that_a_float_cannot_hold_are_refused_on_spark() -> None:
    rows = visits(40)
    for first, wrong in ((2.0**53, 39), (2.0**53 - 50, 0)):
        keys = pl.Series("mrn", [first + 2 * (at // 2) if first >= 2**53 else first + at for at in range(39)] + [7.0])
        frame = rows.with_columns(keys)
        if not wrong:
            assert people_in(sail(), frame, OF_PEOPLE).people == 39  # one row has no weight
            continue
        with pytest.raises(sf.ReadError) as caught:
            people_in(sail(), frame, OF_PEOPLE)
        assert [(problem.path, problem.rows) for problem in caught.value.problems] == [("person", wrong)]


def test_spark_and_sail_answer_as_arrays_do() -> None:
    engine_agrees(sail(), 400)


@pytest.mark.parametrize("schema", [OF_PEOPLE, CAPPED], ids=["all rows", "two rows each"])
def test_people_in_spark_are_those_in_memory(schema: Schema) -> None:
    people_agree(sail(), schema, 400)


def test_a_key_goes_to_one_bucket_whatever_stands_in_its_batch() -> None:
    """Else one person's rows of two batches would be counted as two people."""
    key = "12.03.1978"
    batches = [[key, "11.04.1980"], [key, "99.99.1999", "77.88.1999"], [key]]
    assert len({int(_hashes([pl.Series(batch)])[0]) for batch in batches}) == 1


def test_a_worker_tells_no_cell() -> None:
    """An error on a worker says its kind: what other libraries quote of the rows stays there, in logs too."""
    server = Sail()
    found = engine_in(server.session(), visits(50))
    with pytest.raises(sf.ReadError) as error:
        list(found.finish(some_parts(), broken_work, 10**6))
    assert "SECRET" not in str(error.value)
    server.stop()
    assert "SECRET" not in server.log.read_text()


def test_cells_without_a_code_are_refused_as_in_a_file() -> None:
    frame = visits(60).with_columns(
        pl.when(pl.int_range(60) < 3).then(pl.lit("SECRET")).otherwise("town").alias("town"),
        pl.when(pl.int_range(60) < 2).then(999).otherwise("age").alias("age"),
    )
    with pytest.raises(sf.ReadError) as expected:
        sf.read(frame, SCHEMA)
    with pytest.raises(sf.ReadError) as found:
        engine_in(sail(), frame)
    assert [(p.path, p.rule, p.rows, p.values) for p in found.value.problems] == [
        (p.path, p.rule, p.rows, p.values) for p in expected.value.problems
    ]
    assert "SECRET" not in str(found.value)


@pytest.mark.parametrize(
    ("keys", "schema"),
    [
        (["", "P1", "P1"], OF_PEOPLE),
        (["unknown", "P1", "P2"], OF_PEOPLE),
        (["P-1", "p1", "P2"], OF_PEOPLE),
        (["1980-05-03", "1980-05-03 00:00:00", "1980-05-04"], OF_PEOPLE),
    ],
    ids=["no key", "a word", "written alike", "a day at midnight"],
)
def test_keys_are_refused_as_in_a_file(keys: list[str], schema: Schema) -> None:
    frame = visits(3).with_columns(pl.Series("mrn", keys), weight=1.0)
    with pytest.raises(sf.ReadError) as expected:
        sf.read(frame, schema)
    with pytest.raises(sf.ReadError) as found:
        people_in(sail(), frame, schema)
    assert [p.rule for p in found.value.problems] == [p.rule for p in expected.value.problems]


@pytest.mark.parametrize(
    ("top", "beside", "found"),
    [
        ("000000", "P1", ("sign", "crowd")),
        ("000000", "000001", ("crowd",)),  # one of the numbers that are given out
        ("nobody", "P1", ("sign", "crowd")),
        ("P90007", "P1", ("crowd",)),
        ("xxxx", "P1", ("sign", "crowd")),
        ("P1", "P2", ()),
    ],
)
def test_a_key_of_everybody_without_one_is_found_on_workers(top: str, beside: str, found: tuple[str, ...]) -> None:
    """Else all of them were one person in Spark, and the same table in memory was refused."""
    rows = visits(400).with_columns(weight=1.0, seen=pl.date(2021, 1, 1))
    keys = pl.when(pl.int_range(400) < (60 if found else 1)).then(pl.lit(top)).otherwise("mrn")
    frame = rows.with_columns(mrn=keys.replace({rows["mrn"][200]: beside}))
    there = people_in(sail(), frame, OF_PEOPLE)
    here = sf.read(frame, OF_PEOPLE)
    assert ("sign" in found, "crowd" in found) == (there.filler > 0, there.crowd > 0)
    assert {60 for _ in found} == {one for one in (there.filler, there.crowd) if one}
    table = sf.read(frame_of(sail(), frame), OF_PEOPLE, driver_cells=50)
    for told in ("is counted as one person", "one sign again and again"):
        said = [
            [p.rule for p in (*one.doubts.suspected_keys(), *one.doubts.of_classes()) if told in p.rule]
            for one in (table, here)
        ]
        assert said[0] == said[1]
    if "sign" in found:
        with pytest.raises(sf.SchemaError, match="one sign again and again"):
            sf.publish(table, sf.Mondrian(k=3), seed=1)


# -- releases -----------------------------------------------------------------------------------


def same_release(found: sf.Release, expected: sf.Release) -> None:
    assert np.array_equal(found.boxes.labels, expected.boxes.labels)
    assert np.array_equal(found.boxes.weight, expected.boxes.weight)
    assert found.frame().equals(expected.frame())
    assert str(found.claim) == str(expected.claim)


METHODS = {
    "k": (SCHEMA, sf.Mondrian(sf.KAnonymity(8))),
    "k and l": (SCHEMA, sf.Mondrian(sf.KAnonymity(8) & sf.LDiversity(2))),
    "k and t": (SCHEMA, sf.Mondrian(sf.KAnonymity(8) & sf.TCloseness("0.3"))),
    "people": (OF_PEOPLE, sf.Mondrian(sf.KAnonymity(8))),
    "two rows each": (CAPPED, sf.Mondrian(sf.KAnonymity(8) & sf.LDiversity(2))),
    "diffgen": (SCHEMA, sf.DiffGen(2, specializations=4)),
}


def released(table: sf.Table, mechanism, folder) -> sf.Release:
    """Publish with a seed and save; the folder must verify, unless it was drawn: then it is a rehearsal."""
    allowed = {"allow_rehearsal": True, "allow_fingerprints": True, "allow_noise": True, "allow_unaccounted": True}
    release = sf.publish(table, mechanism, seed=7, save_to=folder, allow_derived=True, **allowed)
    assert sf.verify(folder).holds is not release.claim.rehearsal
    return release


def released_alike(session, method: str, cells: int, folder) -> None:
    schema, mechanism = METHODS[method]
    frame = visits(500).drop("mrn") if schema is SCHEMA else visits(500)
    near = sf.read(frame, schema)
    far = sf.read(frame_of(session, frame), schema, driver_cells=cells)
    assert (far.rows, far.left_out, far.surplus, far.people) == (near.rows, near.left_out, near.surplus, near.people)
    assert far.held is (cells > 500)
    ours, theirs = far.fingerprints(), near.fingerprints()
    assert (ours.alone, ours.people, ours.people_alone) == (theirs.alone, theirs.people, theirs.people_alone)
    assert ours.people_alone_on_all == theirs.people_alone_on_all
    if method == "diffgen" and not far.held:  # it needs its columns counted together: fewer of them fit
        near, far = (table.with_roles(quasi=["town"], target="ill") for table in (near, far))
    assert {one.many for one in related_columns(far, [])} <= {"rows", "people"}  # of people in Spark it needed all rows
    expected = released(near, mechanism, folder / "memory")
    found = released(far, mechanism, folder / f"spark{cells}")
    same_release(found, expected)
    assert found.fingerprints().to_json() == expected.fingerprints().to_json()


@pytest.mark.cells(4)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cells", [10**6, 60], ids=["one phase", "two phases"])
def test_the_same_boxes_in_memory_and_on_spark(method: str, cells: int, tmp_path) -> None:
    released_alike(sail(), method, cells, tmp_path)


@pytest.mark.full
def test_classic_spark_gives_the_same_boxes(tmp_path) -> None:
    """The one test of the ordinary tier that starts a Java machine."""
    released_alike(local(), "k and l", 60, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cells", [10**6, 60], ids=["one phase", "two phases"])
def test_classic_spark_gives_the_same_boxes_by_every_method(method: str, cells: int, tmp_path) -> None:
    released_alike(local(), method, cells, tmp_path)


@pytest.mark.full
def test_classic_spark_answers_as_arrays_do() -> None:
    engine_agrees(local(), 400)
    for schema in (OF_PEOPLE, CAPPED):
        people_agree(local(), schema, 400)


# -- what is stopped in the middle ---------------------------------------------------------------


@pytest.mark.parametrize("job", range(3))
def test_a_server_that_stops_leaves_no_folder_and_spends_nothing(job: int, tmp_path, monkeypatch) -> None:
    """The server is stopped before the first, the second, ... job of a publication."""
    server, done = Sail(), []
    ledger = tmp_path / "ledger.db"
    real = frames.collected

    def stopping(frame):
        if len(done) == job:
            server.stop()
        done.append(frame)
        return real(frame)

    frame = frame_of(server.session(), visits(120))
    monkeypatch.setattr(frames, "collected", stopping)
    before = {path.name for path in tmp_path.iterdir()}
    failed = None
    try:
        table = sf.read(frame, CAPPED)
        sf.publish(table, sf.NoisyTable(2), ledger=ledger, save_to=tmp_path / "out", allow_noise=True)
    except sf.SfumatoError as error:
        failed = str(error)
    finally:
        server.stop()
    entries = [entry.state for entry in sf.Ledger(ledger).entries()] if ledger.exists() else []
    if failed is None:  # all that was needed had been counted: the release is whole and paid for
        assert len(done) <= job
        assert sf.verify(tmp_path / "out").holds
        assert entries == ["spent"]
    else:
        assert len(done) == job + 1
        assert "cannot be read" in failed
        assert {path.name for path in tmp_path.iterdir()} - before <= {"ledger.db"}
        assert "spent" not in entries


@dataclass(frozen=True)
class Killed:
    """Work whose process is killed: once, where there is a place to remember it, else every time."""

    work: object
    once: str | None

    def __call__(self, part: int, codes: np.ndarray, weights: np.ndarray):
        if self.once is None or not Path(self.once).exists():
            if self.once is not None:
                Path(self.once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.work(part, codes, weights)


@pytest.mark.full
@pytest.mark.parametrize("once", [True, False], ids=["once", "always"])
def test_a_worker_that_is_killed(once: bool, tmp_path, monkeypatch) -> None:
    """Killed once, its task is run again and the release is the same; killed always, nothing is left."""
    frame, mechanism = visits(500).drop("mrn"), sf.Mondrian(sf.KAnonymity(8))
    real = SparkEngine.finish
    mark = str(tmp_path / "killed") if once else None
    monkeypatch.setattr(
        SparkEngine, "finish", lambda self, parts, work, limit: real(self, parts, Killed(work, mark), limit)
    )
    table = sf.read(frame_of(local(), frame), SCHEMA, driver_cells=60)
    ledger, out = tmp_path / "ledger.db", tmp_path / "out"
    if once:
        found = sf.publish(table, mechanism, ledger=ledger, save_to=out, allow_fingerprints=True)
        assert Path(str(mark)).exists()
        same_release(found, sf.publish(sf.read(frame, SCHEMA), mechanism))
        assert sf.verify(out).holds
        return
    with pytest.raises(sf.ReadError, match="cannot be read"):
        sf.publish(table, mechanism, ledger=ledger, save_to=out, allow_fingerprints=True)
    assert {path.name for path in tmp_path.iterdir()} <= {"ledger.db"}
    assert "spent" not in [entry.state for entry in sf.Ledger(ledger).entries()]


@pytest.mark.full
def test_a_file_that_was_written_anew_is_read_anew(tmp_path) -> None:
    """Spark keeps coded lines by their plan and took the new file for the old: people who had left were published."""
    path, whole = tmp_path / "rows.parquet", visits(400).drop("mrn")
    for rows in (400, 200, 300):
        whole.head(rows).write_parquet(path)
        table = sf.read(path, SCHEMA, engine=local(), driver_cells=20)
        assert int(table.counts("town").weights.sum()) == len(whole.head(rows).drop_nulls("weight"))


# -- releases in Spark ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def a_release() -> sf.Release:
    return sf.publish(sf.read(visits(300).drop("mrn"), SCHEMA), sf.Mondrian(sf.KAnonymity(8)))


def test_a_release_is_a_frame_of_spark_when_asked(a_release) -> None:
    found = collected(a_release.frame(engine=sail()))
    expected = a_release.frame()
    assert found.columns == expected.columns
    assert found.sort(pl.all()).equals(expected.sort(pl.all()))
    with pytest.raises(sf.ParameterError, match="is not a session of Spark"):
        a_release.frame(engine="spark")


@pytest.mark.parametrize("form", ["parquet", "csv", "xlsx"])
def test_a_worker_writes_the_same_folder(form: str, a_release, tmp_path) -> None:
    a_release.save(tmp_path / "here", format=form, allow_fingerprints=True)
    a_release.save(tmp_path / "there", format=form, allow_fingerprints=True, engine=sail())
    names = sorted(path.name for path in (tmp_path / "here").iterdir())
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == names
    for name in names:
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes(), name
    assert sf.verify(tmp_path / "there").holds


def test_a_folder_that_spark_cannot_write_is_not_there(a_release, tmp_path) -> None:
    server = Sail()
    session = server.session()
    server.stop()
    with pytest.raises(sf.ReleaseError, match="was not written by Spark"):
        a_release.save(tmp_path / "out", allow_fingerprints=True, engine=session)
    assert list(tmp_path.iterdir()) == []
    a_release.save(tmp_path / "out", allow_fingerprints=True)
    assert sf.verify(tmp_path / "out").holds
