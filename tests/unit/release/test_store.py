"""Saving and loading: the same tables again, nothing that may not leave, nothing overwritten."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from sfumato.claims import Claim, KAnonymity, Nothing
from sfumato.counts.recoding import Cuts
from sfumato.errors import ParameterError, ReleaseError
from sfumato.release import Release, assemble, published_frames
from sfumato.release.store import finish
from sfumato.release.tables import PublishedTable
from sfumato.schema import Labels, Schema


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sets", [False, True])
def test_load_publishes_what_was_saved(tmp_path, make, form, seed, sets):
    release = make(8, seed=seed, sets=sets)
    release.save(tmp_path / "out", allow_fingerprints=True, format=form)
    again = Release.load(tmp_path / "out")
    assert again.frame().equals(release.frame())
    assert again.claim == release.claim
    assert again.schema.names == release.schema.names
    assert again.recoding is None
    assert again.residence is None
    assert again.summary() == release.summary()
    assert np.array_equal(again.boxes.low, release.boxes.low)
    assert np.array_equal(again.boxes.high, release.boxes.high)
    for attribute in ("grade", "illness"):
        assert (again.groups.histogram(attribute) != release.groups.histogram(attribute)).nnz == 0


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sets", [False, True])
def test_load_without_a_public_domain(tmp_path, make, schema_of_data, form, seed, sets):
    release = make(8, seed=seed, of=schema_of_data, sets=sets)
    release.save(tmp_path / "out", allow_fingerprints=True, format=form)
    assert Release.load(tmp_path / "out").frame().equals(release.frame())
    steward = Release.load(tmp_path / "out", schema=schema_of_data)
    assert steward.frame().equals(release.frame())
    assert steward.schema["job"] == schema_of_data["job"]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_buckets_come_back(tmp_path, make_buckets, form):
    release = make_buckets(12)
    release.save(tmp_path / "out", allow_fingerprints=True, format=form)
    again = Release.load(tmp_path / "out")
    assert {name: frame.shape for name, frame in again.frames().items()} == {
        name: frame.shape for name, frame in release.frames().items()
    }
    for name, frame in release.frames().items():
        assert again.frames()[name].equals(frame)
    assert np.array_equal(again.groups.weight, release.groups.weight)


def test_attributes_named_group_and_count(tmp_path):
    value = {"kind": "nominal", "values": ["a", "b"]}
    schema = Schema.parse(
        {"name": "t", "attribute": {"group": {**value, "role": "quasi"}, "count": {**value, "role": "sensitive"}}}
    )
    release, _ = assemble(
        schema,
        tables=(Labels.of_codes(schema["group"]),),
        labels=[[0], [1]],
        weight=[1, 2],
        group=[0, 0],
        carried_group=[0, 0],
        carried_codes=[[0], [1]],
        carried_weight=[2, 1],
        claim=Claim(KAnonymity(3)),
        form="buckets",
    )
    release.save(tmp_path / "out", allow_fingerprints=True)
    assert release.frames()["data"].columns == ["group", "group_"]
    assert release.frames()["groups"].columns == ["group_", "count", "count_"]
    assert Release.load(tmp_path / "out").frames()["groups"].equals(release.frames()["groups"])


def test_suppressed_group_and_left_out_come_back(tmp_path, schema):
    tables = tuple(Labels.from_sets(a, [((0, a.size),), ((0, 1),)])[0] for a in schema.quasi)
    whole = [next(i for i in range(2) if t.intervals(i) == ((0, t.attribute.size),)) for t in tables]
    release, _ = assemble(
        schema,
        tables=tables,
        labels=[whole, [1 - at for at in whole]],
        weight=[3, 5],
        group=[0, 1],
        carried_group=[0, 1],
        carried_codes=[[0, 0], [1, 1]],
        carried_weight=[3, 5],
        claim=Claim(KAnonymity(3)),
        suppressed_group=0,
        left_out=2,
    )
    release.save(tmp_path / "out", allow_fingerprints=True)
    again = Release.load(tmp_path / "out")
    assert again.summary() == release.summary()
    assert again.summary().suppressed == 5
    assert again.left_out == 2


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_awkward_names_come_back(tmp_path, form):
    names = ["plain", "a,b", 'say "x"', "two\nlines", "car\rriage", "x | y", "#no", "é ☂", "NA", "null", "'", "1;2"]
    schema = Schema.parse(
        {
            "name": "odd",
            "attribute": {
                "quasi one": {"role": "quasi", "kind": "nominal", "values": names},
                "s,2": {"role": "sensitive", "kind": "nominal", "values": names},
            },
        }
    )
    size = len(names)
    release, _ = assemble(
        schema,
        tables=(Labels.of_codes(schema["quasi one"]),),
        labels=np.arange(size)[:, None],
        weight=np.ones(size, np.int64),
        group=np.arange(size),
        carried_group=np.arange(size),
        carried_codes=np.arange(size)[:, None],
        carried_weight=np.ones(size, np.int64),
        claim=Claim(KAnonymity(1)),
    )
    release.save(tmp_path / "out", allow_fingerprints=True, format=form)
    assert Release.load(tmp_path / "out").frame().equals(release.frame())


def test_an_empty_release(tmp_path, make):
    release = make(0)
    for form in ("csv", "parquet"):
        release.save(tmp_path / form, allow_fingerprints=True, format=form)
        again = Release.load(tmp_path / form)
        assert again.rows == 0
        assert again.frame().columns == release.frame().columns


def test_refuses_what_may_not_leave(tmp_path, make):
    with pytest.raises(ReleaseError, match="never saved"):
        make(savable=False).save(tmp_path / "raw")
    with pytest.raises(ReleaseError, match="never saved"):
        make(claim=Claim(Nothing())).save(tmp_path / "raw")
    rehearsal = make(claim=Claim(KAnonymity(2), rehearsal=True))
    with pytest.raises(ReleaseError, match="rehearsal"):
        rehearsal.save(tmp_path / "raw")
    with pytest.raises(ParameterError, match="format"):
        make().save(tmp_path / "raw", format="ods")
    assert list(tmp_path.iterdir()) == []
    rehearsal.save(tmp_path / "stamped", allow_fingerprints=True, allow_rehearsal=True)
    assert Release.load(tmp_path / "stamped").claim.rehearsal is True


def test_load_refuses_a_changed_file(tmp_path, make):
    make().save(tmp_path / "out", allow_fingerprints=True, format="csv")
    file = tmp_path / "out" / "data.csv"
    file.write_text(file.read_text() + "x\n")
    with pytest.raises(ReleaseError, match="not the file that was saved"):
        Release.load(tmp_path / "out")
    file.unlink()
    with pytest.raises(ReleaseError, match="missing"):
        Release.load(tmp_path / "out")


def test_load_with_a_schema_of_another_table(tmp_path, make):
    make().save(tmp_path / "out", allow_fingerprints=True)
    other = Schema.parse({"name": "o", "attribute": {"x": {"role": "quasi", "kind": "nominal", "values": ["a"]}}})
    with pytest.raises(ReleaseError, match="another table") as caught:
        Release.load(tmp_path / "out", schema=other)
    assert len(caught.value.problems) == 5


def cut_release(schema, source):
    """Return a release by global cuts at 30 and 60 of which the middle one holds no row, and its recoding."""
    age = {"role": "quasi", "kind": "numeric", "range": [0, 90], "source": source}
    schema = Schema.parse({"name": "t", "attribute": {"age": age}})
    table, _ = Labels.from_hulls(schema["age"], np.array([0, 30, 60]), np.array([30, 60, 90]))
    release, _ = assemble(
        schema,
        tables=(table,),
        labels=[[0], [2]],
        weight=[4, 5],
        group=[0, 1],
        carried_group=[],
        carried_codes=np.zeros((0, 0)),
        carried_weight=[],
        claim=Claim(KAnonymity(4)),
    )
    return replace(release, recoding=Cuts(("age",), labels=(np.repeat(np.arange(3, dtype=np.int32), 30),)))


def test_a_public_recoding_comes_back_in_terms_of_the_loaded_labels(tmp_path, schema):
    cut_release(schema, "public").save(tmp_path / "out", allow_fingerprints=True)
    again = Release.load(tmp_path / "out")
    assert again.frame().to_series().to_list() == ["[0-30)"] * 4 + ["[60-90)"] * 5
    routed = again.recoding.route(np.array([[29], [30], [89]]))
    assert [again.boxes.tables[0].names[label] for label in routed[:, 0]] == ["[0-30)", "[30-60)", "[60-90)"]


def test_no_other_recoding_is_saved(tmp_path, schema, make):
    cut_release(schema, "data").save(tmp_path / "data", allow_fingerprints=True)
    make(recoding=object()).save(tmp_path / "tree", allow_fingerprints=True)
    for name in ("data", "tree"):
        assert "recoding" not in json.loads((tmp_path / name / "manifest.json").read_text())
        assert Release.load(tmp_path / name).recoding is None


def test_a_mangled_recoding_is_named(tmp_path, schema):
    cut_release(schema, "public").save(tmp_path / "out", allow_fingerprints=True)
    file = tmp_path / "out" / "manifest.json"
    manifest = json.loads(file.read_text())
    for broken in ({}, {"cuts": 3}, {"cuts": {"age": {"size": 3, "runs": [[0, 7]]}}, "labels": {"age": ["*"]}}):
        file.write_text(json.dumps({**manifest, "recoding": broken}))
        with pytest.raises(ReleaseError, match="recoding"):
            Release.load(tmp_path / "out")


def test_rows_are_streamed(tmp_path, make, monkeypatch):
    """The expanded table is never asked for, and no batch is larger than the batch size."""
    monkeypatch.setattr("sfumato.release.store._BATCH", 7)
    sizes = []
    batches = PublishedTable.batches

    def watched(self, size):
        for batch in batches(self, size):
            sizes.append(len(batch))
            yield batch

    monkeypatch.setattr(PublishedTable, "batches", watched)
    monkeypatch.setattr(PublishedTable, "expanded", lambda _: pytest.fail("expanded whole"))
    release = make(5)
    for form in ("csv", "parquet"):
        release.save(tmp_path / form, allow_fingerprints=True, format=form)
    assert max(sizes) == 7
    assert sum(sizes) == 2 * release.rows
    monkeypatch.undo()
    assert pl.read_parquet(tmp_path / "parquet" / "data.parquet").equals(release.frame())


def test_order_of_rows_is_a_function_of_content(make):
    release = make(6)
    flipped = replace(release, boxes=release.boxes)
    table = published_frames(flipped)["data"]
    assert table.expanded().equals(table.expanded().sort(table.distinct.columns))


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
@pytest.mark.parametrize("name", ["data.csv", "manifest.json", "more"])
def test_only_plain_files_are_finished(tmp_path, make, kind, name):
    make().save(tmp_path / "out", allow_fingerprints=True, format="csv")
    partial = (tmp_path / "out").rename(tmp_path / ".out.partial-4194305-0123456789ab")
    file = partial / name
    if file.exists():
        file.rename(tmp_path / "kept")
    if kind == "link":
        file.symlink_to(tmp_path / "kept")
    elif kind == "folder":
        file.mkdir()
    else:
        os.mkfifo(file)
    with pytest.raises(ReleaseError, match="is not a file of its own"):
        finish(partial)
    assert partial.is_dir()
    assert not (tmp_path / "out").exists()
