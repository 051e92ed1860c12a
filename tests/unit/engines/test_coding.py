"""Batches of rows are coded like the whole table."""

from __future__ import annotations

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.engines.batches import code_frame

SCHEMA = sf.Schema.parse(
    {
        "name": "batches",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "missing": ["?"]},
            "height": {"role": "quasi", "kind": "numeric", "range": ["0.5", "2.5"], "step": "0.1", "clamp": True},
            "sex": {"role": "quasi", "values": ["f", "m"], "same": {"f": ["w"]}},
            "ill": {"role": "sensitive", "values": ["flu", "none"]},
        },
    }
)
ROWS = {
    "age": ["12", " 13", "14.7", "?", "15", "99"],
    "height": ["1.70", "0.3", "2.49999999999999999", "1.1", "1,7", "9"],
    "sex": ["f", "w", "m", "f", "m", "F"],
    "ill": ["flu", "none", "flu", "none", "flu", "cough"],
}


def test_a_batch_is_coded_like_the_whole_file():
    frame = pl.DataFrame(ROWS)
    whole = [column.codes.tolist() for column in code_frame(SCHEMA.published, frame)]
    apart = [code_frame(SCHEMA.published, frame[at : at + 1]) for at in range(frame.height)]
    assert whole == [[int(row[at].codes[0]) for row in apart] for at in range(4)]
    good = frame.filter(pl.Series([True, True, True, True, False, False]))
    table = sf.read(good, SCHEMA)
    np.testing.assert_array_equal(table.codes(), np.column_stack([c.codes for c in code_frame(SCHEMA.published, good)]))
