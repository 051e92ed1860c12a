"""A manifest whose recoding or numbers are not ours: refused with our own error, before anything large is made."""

from __future__ import annotations

import copy
import json
import time
import tracemalloc
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.schema import parse_label

SCHEMA = sf.Schema.parse(
    {
        "name": "small",
        "source": "public",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [20, 28]},
            "town": {"role": "quasi", "groups": {"west": ["Delft", "Leiden"], "east": ["Arnhem"]}},
            "grade": {"role": "quasi", "kind": "ordered", "values": ["low", "mid", "high"]},
            "pay": {"role": "sensitive", "values": ["no", "yes"]},
        },
    }
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    rows = {
        "age": [20 + at % 8 for at in range(300)],
        "town": [("Delft", "Leiden", "Arnhem")[at % 3] for at in range(300)],
        "grade": [("low", "mid", "high")[at % 3] for at in range(300)],
        "pay": [("no", "yes")[at // 3 % 2] for at in range(300)],
    }
    table = sf.read(pl.DataFrame(rows), SCHEMA)
    folder = tmp_path_factory.mktemp("made") / "out"
    sf.publish(table, sf.NoisyTable(1), allow_noise=True).save(folder, allow_unaccounted=True)
    return table, folder, json.loads((folder / "manifest.json").read_text("utf-8"))


def mangled(saved, path, value):
    """Write the manifest with one value exchanged, read it, and apply it: our own error, quickly, or nothing."""
    table, folder, manifest = saved
    found = copy.deepcopy(manifest)
    place = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (folder / "manifest.json").write_text(json.dumps(found), "utf-8")
    started = time.process_time()
    tracemalloc.start()
    try:
        sf.apply(sf.Release.load(folder), table)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
        assert peak < 200 << 20
        assert time.process_time() - started < 20


SIZE, RUNS, LABEL = ("recoding", "cuts", "town", "size"), ("recoding", "cuts", "town", "runs"), ("recoding", "labels")


@pytest.mark.parametrize("size", [600_000_000, 2**31, 2**62, 10**30, 4, 2, 0, -1, 3.0, True, "3", None])
def test_a_recoding_of_another_size_is_refused_before_it_is_made(saved, size):
    with pytest.raises(sf.ReleaseError):
        mangled(saved, SIZE, size)


@pytest.mark.parametrize(
    "runs",
    [
        [],
        [[0, 0], [1, 9]],
        [[0, 0], [0, 1]],
        [[1, 0]],
        [[0, 0.0]],
        [[False, 0]],
        [[0, -1]],
        [[0]],
        [0],
        "x",
        [[0, 2**70]],
    ],
)
def test_a_recoding_with_other_runs_is_refused(saved, runs):
    with pytest.raises(sf.ReleaseError):
        mangled(saved, RUNS, runs)


@pytest.mark.cells(6)
@pytest.mark.parametrize("name", ["age", "town", "grade"])
@pytest.mark.parametrize("sign", ["9", "*", ".", "9 | ", "[9-", "\\", "..", "a, "])
def test_a_label_of_two_million_characters_is_refused_at_once(saved, name, sign):
    with pytest.raises(sf.ReleaseError):
        mangled(saved, (*LABEL, name, 0), sign * (2_000_000 // len(sign)))


@pytest.mark.parametrize(
    "path", [("name",), ("population",), (*LABEL, "town", 0), ("notes", 0), ("claim", "silent_on", 0)]
)
def test_half_a_letter_is_refused(saved, path):
    with pytest.raises(sf.ReleaseError, match="is not JSON"):
        mangled(saved, path, "\ud800")


def test_a_whole_letter_written_as_a_pair_is_read(saved):
    mangled(saved, ("population",), "\U0001f600")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), True),
        (("format",), 1.0),
        (("claim", "promise", "epsilon"), 1.0),
        (("claim", "trace", 0, 1), 1.0),
        (("schema", "attributes", 1, "tree", "low", 0), False),
        (("schema", "attributes", 1, "tree", "high", 0), 3.0),
        (("schema", "attributes", 1, "tree", "high", 0), 3.5),
        (("schema", "attributes", 0, "domain", "cells"), 8.0),
        (("schema", "rows_per_person"), True),
        (("files", "data.parquet", "rows"), 1.0),
    ],
)
def test_a_float_or_a_flag_is_no_whole_number(saved, path, value):
    with pytest.raises(sf.ReleaseError):
        mangled(saved, path, value)


def test_the_release_as_it_was_saved_is_read(saved):
    mangled(saved, ("name",), "small")
    assert Path(saved[1]).is_dir()


@pytest.mark.parametrize("text", ["low..high", "mid..mid", "{low, mid}", "low | high", "*i*"])
def test_labels_of_ordered_values_are_read_as_before(text):
    assert parse_label(SCHEMA["grade"], text) is not None
