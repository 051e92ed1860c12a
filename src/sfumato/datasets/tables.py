"""The bundled data as tables, read through their schemas like anyone's."""

from __future__ import annotations

from sfumato.counts import Table, read
from sfumato.datasets.adult import ADULT_SCHEMA, Split, adult_frame
from sfumato.datasets.census import CENSUS_SCHEMA, census_frame
from sfumato.schema import Schema

__all__ = ["adult", "census"]


def adult(split: Split = "all", *, blowup: int = 1, seed: int | None = None) -> Table:
    """Return UCI Adult's 45,222 complete rows (train 30,162, test 15,060), `blowup` times as many with variations."""
    return read(adult_frame(split, blowup, seed), Schema.load(ADULT_SCHEMA))


def census(rows: int, seed: int = 0) -> Table:
    """Return a generated census-like table; the same `rows` and `seed` give the same table everywhere."""
    return read(census_frame(rows, seed), Schema.load(CENSUS_SCHEMA))
