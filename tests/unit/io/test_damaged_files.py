"""Damaged files are read or refused: nothing escapes, not even the panic of an engine, which is no Exception."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import random

import numpy as np
import polars as pl
import pytest

from sfumato.counts import check, read
from sfumato.drafting import draft
from sfumato.errors import ReadError, SfumatoError
from sfumato.io.source import guarded
from sfumato.release import Release
from sfumato.schema import Schema

SCHEMA = Schema.parse(
    {
        "name": "people",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "missing": "category"},
            "born": {"role": "quasi", "kind": "date", "range": ["1900-01-01", "2030-01-01"], "missing": "category"},
            "job": {"role": "sensitive", "values": ["baker", "smith"], "other": "smith", "missing": "category"},
        },
    }
)


def people(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "age": rng.integers(0, 100, rows),
            "born": [dt.date(1950, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 9000, rows)],
            "job": [("baker", "smith", None)[at] for at in rng.integers(0, 3, rows)],
        }
    )


def parquet(rows: int, **options) -> bytes:
    file = io.BytesIO()
    people(rows).write_parquet(file, **options)
    return file.getvalue()


def damaged(rng: random.Random, sound: bytes) -> bytes:
    """Flip, overwrite, cut or repeat some bytes; most often near the end, where the metadata is."""
    raw = bytearray(sound)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        at = rng.randrange(len(raw)) if rng.random() < 0.4 else len(raw) - 1 - rng.randrange(min(600, len(raw)))
        kind = rng.random()
        if kind < 0.4:
            raw[at] ^= 1 << rng.randrange(8)
        elif kind < 0.8:
            raw[at] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        elif kind < 0.9:
            del raw[at : at + rng.randrange(1, 9)]
        else:
            raw[at:at] = raw[at : at + rng.randrange(1, 9)]
        if len(raw) < 12:
            break
    return bytes(raw)


def attacked(folder, tries: int, seed: int) -> int:
    rng, refusals = random.Random(seed), 0
    sound = [parquet(50), parquet(300, compression="uncompressed"), parquet(40, compression="gzip", row_group_size=10)]
    path = folder / "t.parquet"
    for _ in range(tries):
        path.write_bytes(damaged(rng, rng.choice(sound)))
        for action in (lambda: read(path, SCHEMA), lambda: draft(path), lambda: Release.read(path, SCHEMA)):
            try:
                action()
            except SfumatoError:
                refusals += 1
        check(path, SCHEMA)
    return refusals


@pytest.mark.parametrize("beyond", [-8_400_000, 4_000_000])
def test_a_day_that_python_has_not_does_not_stop_a_draft(tmp_path, beyond) -> None:
    """The year -21011 in a damaged file raised a bare ValueError."""
    days = pl.Series("seen", [beyond, *range(40)], dtype=pl.Int32).cast(pl.Date)
    pl.DataFrame({"seen": days}).write_parquet(tmp_path / "t.parquet")
    assert "[attribute.seen]" in draft(tmp_path / "t.parquet")


def test_damaged_parquet_files_are_read_or_refused(tmp_path, capfd) -> None:
    assert attacked(tmp_path, 150, 1) > 50


@pytest.mark.full
def test_many_damaged_parquet_files_are_read_or_refused(tmp_path, capfd) -> None:
    assert attacked(tmp_path, 3_000, 2) > 1_000


def test_damaged_compressed_texts_are_read_or_refused(tmp_path) -> None:
    sound, rng, path = gzip.compress(people(200).write_csv().encode()), random.Random(3), tmp_path / "t.csv.gz"
    for _ in range(150):
        path.write_bytes(damaged(rng, sound))
        check(path, SCHEMA)


def test_a_panic_of_any_engine_is_a_read_error() -> None:
    """Each library written in Rust has a class of its own, and none of them is an Exception."""

    class PanicException(BaseException):
        pass

    def panic():
        raise PanicException("a cell")

    with pytest.raises(ReadError, match="the engine gave up") as caught:
        guarded("t.parquet", panic)
    assert "a cell" not in str(caught.value)
    with pytest.raises(KeyboardInterrupt):
        guarded("t.parquet", interrupted)


def interrupted() -> None:
    raise KeyboardInterrupt


def test_a_day_that_no_calendar_has_is_a_cell_like_any_other(tmp_path) -> None:
    """Polars panics when it writes such a day as a text; only its own row is wrong."""
    schema = Schema.parse(
        {"name": "t", "attribute": {"day": {"role": "quasi", "kind": "date", "range": ["2020-01-01", "2021-01-01"]}}}
    )
    days = pl.Series("day", [18_300, 2**31 - 1, -(2**31), 4_000_000], dtype=pl.Int32).cast(pl.Date)
    pl.DataFrame([days]).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(SfumatoError) as caught:
        read(tmp_path / "t.parquet", schema)
    assert [problem.rows for problem in caught.value.problems] == [3]
