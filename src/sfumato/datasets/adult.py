"""UCI Adult: the 45,222 complete rows as a frame, and blown up for tests of scale.

Source    Becker & Kohavi, Adult, UCI Machine Learning Repository, 1996, CC BY 4.0 (NOTICE says what was changed).
          Blow-up: DiffGen paper (Mohammed, Chen, Fung & Yu, KDD 2011), section 5, Scalability.
Claim     `data/adult.parquet` holds every row of adult.data (train) and adult.test (test) without a `?`, in file
          order; `blowup = n` gives n times as many rows, the originals first.
Because   the paper makes n - 1 variations of each record "by replacing some of the attribute values randomly from
          the same domain". It does not say how many: here each of the 14 attributes is replaced with probability
          1/4, and one drawn at random where none was, by a value drawn uniformly from those that occur in the
          column. The class label `income` and the split stay those of the record.
Checked   tests/unit/datasets/test_adult_data.py::test_rows_are_those_of_the_original_files
          tests/unit/datasets/test_adult_data.py::test_blowup_keeps_the_originals_and_varies_the_rest
Silent on how real a variation is: values are replaced one by one, so `education` and `education-num` part ways
          and attributes become less dependent. For tests of time and memory, not of utility.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

import numpy as np
import polars as pl

from sfumato.counts import Table, read
from sfumato.errors import ParameterError
from sfumato.schema import Schema

Split = Literal["all", "train", "test"]

ADULT_COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)

_DATA = Path(__file__).parent / "data"
ADULT_SCHEMA = _DATA / "adult.toml"

_VARIED = ADULT_COLUMNS[:-1]  # all but the class label
_REPLACED = 0.25


def adult_frame(split: Split = "all", blowup: int = 1, seed: int | None = None) -> pl.DataFrame:
    """Return Adult's 15 columns; `split` picks UCI's train or test rows, `blowup` adds variations of each row.

    Variation i of a row depends only on `seed` and i: a larger blow-up begins with the smaller one, and the
    train and test rows of a blow-up are those of `split="all"`. `seed=None` draws a new seed.
    """
    if split not in get_args(Split):
        raise ParameterError("split", split, 'must be "all", "train" or "test"')
    if blowup < 1:
        raise ParameterError("blowup", blowup, "must be 1 or above", hint="1 is the table as it is")
    if seed is not None and seed < 0:
        raise ParameterError("seed", seed, "must be 0 or above")
    original = pl.read_parquet(_DATA / "adult.parquet")
    wanted = pl.lit(value=True) if split == "all" else pl.col("split") == split
    # Each variation has its own child of the seed, so their number does not change what they are.
    streams = np.random.SeedSequence(seed).spawn(blowup - 1)
    parts = [original, *(_variation(original, np.random.Philox(stream)) for stream in streams)]
    return pl.concat([part.filter(wanted).select(ADULT_COLUMNS) for part in parts])


def _variation(original: pl.DataFrame, stream: np.random.Philox) -> pl.DataFrame:
    """Return every row once more with some of its values replaced."""
    rng = np.random.Generator(stream)
    rows = original.height
    replaced = rng.random((len(_VARIED), rows)) < _REPLACED
    forced = rng.integers(len(_VARIED), size=rows)
    untouched = np.flatnonzero(~np.any(replaced, axis=0))
    replaced[forced[untouched], untouched] = True
    columns = []
    for name, here in zip(_VARIED, replaced, strict=True):
        values = original[name].unique().sort()
        drawn = values.gather(rng.integers(values.len(), size=rows))
        columns.append(drawn.zip_with(pl.Series(here), original[name]).alias(name))
    return original.with_columns(columns)


def adult(split: Split = "all", *, blowup: int = 1, seed: int | None = None) -> Table:
    """Return UCI Adult's 45,222 complete rows (train 30,162, test 15,060), `blowup` times as many with variations."""
    return read(adult_frame(split, blowup, seed), Schema.load(ADULT_SCHEMA))
