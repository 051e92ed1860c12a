"""Adult through polars, pandas, pyarrow and duckdb: the same counts, code for code."""

import duckdb
import numpy as np
import pytest

import sfumato as sf
from sfumato.datasets import ADULT_SCHEMA, adult_frame


def engines() -> dict[str, object]:
    frame = adult_frame()
    arrow = frame.to_arrow()
    return {
        "polars lazy": frame.lazy(),
        "pandas": frame.to_pandas(),
        "pyarrow": arrow,
        "duckdb": duckdb.connect().from_arrow(arrow),
    }


@pytest.mark.parametrize("engine", ["polars lazy", "pandas", "pyarrow", "duckdb"])
def test_identical_counts(engine: str) -> None:
    wanted = sf.datasets.adult().counts()
    found = sf.read(engines()[engine], sf.Schema.load(ADULT_SCHEMA)).counts()
    np.testing.assert_array_equal(found.codes, wanted.codes)
    np.testing.assert_array_equal(found.weights, wanted.weights)
    assert (found.codes.dtype, found.weights.dtype) == (np.int32, np.int64)


def test_rows_and_shares() -> None:
    table = sf.datasets.adult()
    assert table.rows == 45_222
    occupation = table.schema["occupation"]
    shares = table.counts("occupation").histogram("occupation") / table.rows
    assert round(shares[occupation.values.code("Craft-repair")], 4) == 0.1331
    assert round(shares[occupation.values.code("Armed-Forces")], 4) == 0.0003
