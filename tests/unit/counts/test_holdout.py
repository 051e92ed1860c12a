"""Two parts of a table for attacks: one to publish, one as the control."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.errors import ParameterError
from sfumato.schema import Schema

SCHEMA = {
    "name": "visits",
    "source": "public",
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 40], "step": 1},
        "ward": {"role": "sensitive", "kind": "nominal", "values": ["a", "b"]},
    },
}


def table(rows: int) -> Table:
    codes = np.column_stack([np.arange(rows) % 40, np.arange(rows) % 2])
    return Table.from_codes(Schema.parse(SCHEMA), codes)


@pytest.mark.parametrize("share", [0.1, 0.5, 2 / 3, 0.999])
def test_every_row_is_in_one_part(share):
    whole = table(31)
    made_of, control = sf.holdout(whole, share, seed=4)
    assert control.rows == min(30, max(1, round(31 * share)))
    together = np.concatenate([made_of.codes(), control.codes()])
    assert sorted(map(tuple, together)) == sorted(map(tuple, whole.codes()))


def test_nobody_is_in_both_parts():
    schema = Schema.parse({**SCHEMA, "person": "id", "rows_per_person": 3})
    keys = [f"p{at // 3}" for at in range(60)]
    codes = np.column_stack([np.arange(60) % 40, np.arange(60) % 2])
    made_of, control = sf.holdout(Table.from_codes(schema, codes, people=keys), seed=2)
    assert made_of.people == control.people == 10
    assert not set(made_of.persons()) & set(control.persons())


def test_the_seed_decides():
    one, same, other = (sf.holdout(table(40), seed=seed)[0].codes().tolist() for seed in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize("share", [0, 1, -0.5, 2])
def test_a_part_of_nobody_is_refused(share):
    with pytest.raises(ParameterError) as caught:
        sf.holdout(table(10), share)
    assert caught.value.name == "share"
