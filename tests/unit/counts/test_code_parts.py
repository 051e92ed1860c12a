"""Parts of codes are numbered only where enough of them may repeat, and in the order of their texts where it counts."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.counts import code_parts, row_groups, suspected_keys


def test_a_column_of_unique_codes_is_not_put_in_order(monkeypatch):
    """Each part of each code was ranked as a text: 0.8 s of a processor for each such column of 20,000 rows."""
    draw = np.random.default_rng(0)
    frame = pl.DataFrame({"age": draw.integers(18, 90, 2000), "town": draw.choice(list("abcdefgh"), 2000)})
    frame = frame.with_columns(
        code=pl.Series([f"{one:08x}-{two:06x}" for one, two in draw.integers(0, 2**24, (2000, 2))])
    )
    columns = {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
        "town": {"role": "quasi", "values": list("abcdefgh")},
        "code": {"role": "identifier"},
    }
    table = sf.read(frame, sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": columns}))
    ranked, numbered = [], code_parts.numbered
    for module in (code_parts, row_groups, suspected_keys):
        monkeypatch.setattr(module, "numbered", lambda text: ranked.append(1) or numbered(text))
    assert table.doubts.suspected_keys() == []
    assert len(ranked) <= len(frame.columns)


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_never_drops_a_part_that_repeats_enough(seed):
    draw = random.Random(seed)
    cells = [draw.choice([None, *map(str, range(draw.choice([3, 40, 95, 99])))]) for _ in range(100)]
    cells += [f"own {at}" for at in range(draw.randrange(2000))]
    text = pl.Series(cells, dtype=pl.String)
    shared = row_groups.RowGroups.of(code_parts.numbered(text))
    if shared.repeats(len(text), 1):
        assert code_parts._repeating(text, 1)


def test_a_code_in_which_few_repeat_is_dropped():
    assert not code_parts._repeating(pl.Series([str(at) for at in range(1000)]), 1)
    assert not code_parts._repeating(pl.Series(["a", "b"] * 500), suspected_keys._REPEATED)


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_numbered_in_the_order_of_their_texts(seed):
    draw = random.Random(seed)
    words = ["", *(draw.choice("0aZéß七") * draw.randrange(1, 4) for _ in range(12))]
    one, other = (pl.Series([draw.choice(words) or None for _ in range(60)], dtype=pl.String) for _ in range(2))
    found = code_parts._pairs_of(code_parts.numbered(one), code_parts.numbered(other))
    assert found.tolist() == code_parts.numbered(one + " " + other).tolist()


@pytest.mark.parametrize("values", [1, 5, 50, 500])
def test_numbers_tell_the_same_texts_apart(values):
    draw = random.Random(values)
    text = pl.Series([draw.choice([None, *(f"w{at}" for at in range(values))]) for _ in range(1000)], dtype=pl.String)
    ranks = text.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    assert code_parts.numbered(text).tolist() == ranks.tolist()
    grouped = code_parts.grouped(text)
    assert ((grouped == -1) == (ranks == -1)).all()
    assert len({*zip(grouped.tolist(), ranks.tolist(), strict=True)}) == len({*ranks.tolist()})


def test_texts_with_one_hash_are_still_told_apart(monkeypatch):
    text = pl.Series(["a", "b", None, "a"])
    monkeypatch.setattr(pl.Series, "hash", lambda self: pl.Series([7] * len(self), dtype=pl.UInt64))
    assert code_parts.grouped(text).tolist() == [0, 1, -1, 0]
