from __future__ import annotations

import json
import math

import numpy as np
import pytest

from sfumato.claims import Claim, Nothing
from sfumato.counts import Table
from sfumato.errors import ParameterError
from sfumato.measures import REGISTRY, Measured, measure
from sfumato.release import assemble
from sfumato.schema import Labels, Schema

SCHEMA = Schema.parse(
    {
        "name": "t",
        "attribute": {
            "x": {"role": "quasi", "kind": "numeric", "range": [0, 8], "step": 1},
            "s": {"role": "sensitive", "kind": "nominal", "values": ["u", "v"]},
        },
    }
)


def table_and_release(rows=12):
    codes = np.array([[at % 8, at % 2] for at in range(rows)]).reshape(-1, 2)
    labels, _ = Labels.from_hulls(SCHEMA["x"], np.array([0]), np.array([8]))
    release, _ = assemble(
        SCHEMA,
        tables=(labels,),
        labels=np.zeros((1, 1)),
        weight=np.array([12]),
        group=np.zeros(1),
        carried_group=np.zeros(2),
        carried_codes=np.array([[0], [1]]),
        carried_weight=np.array([6, 6]),
        claim=Claim(Nothing()),
    )
    return Table.from_codes(SCHEMA, codes), release


def test_every_measure_says_unit_formula_and_that_it_is_confidential():
    found = measure(*table_and_release())
    assert list(found) == list(REGISTRY)
    assert {"privacy_loss", "utility_loss", "query_error"} <= set(found)
    for name, one in found.items():
        assert isinstance(one, Measured), name
        assert one.confidential, name
        assert one.formula, name
        assert math.isfinite(one.value), (name, one.details)
        json.dumps(one.to_json(), allow_nan=False)
    assert found["privacy_loss"].value == 0.0


def test_one_that_can_not_be_taken_says_why():
    table, release = table_and_release(rows=0)
    found = measure(table, release, ["privacy_loss", "utility_loss"])
    assert all(math.isnan(one.value) for one in found.values())
    assert "no rows" in found["privacy_loss"].details["not measured"]
    json.dumps(found["utility_loss"].to_json(), allow_nan=False)


def test_an_unknown_name_is_refused():
    with pytest.raises(ParameterError, match="is not a measure"):
        measure(*table_and_release(), ["beauty"])
