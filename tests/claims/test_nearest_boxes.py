"""The boxes nearest to a point, and what is inferred of people no box holds."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.estimate import align, by_nearest, inferred
from sfumato.schema import Schema

SCHEMA = Schema.parse(
    {
        "name": "near",
        "source": "public",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 11], "step": 1, "missing": {"values": ["?"]}},
            "job": {"role": "quasi", "kind": "nominal", "values": ["a", "b", "c"]},
            "ill": {"role": "sensitive", "kind": "nominal", "values": ["x", "y", "z"]},
        },
    }
)
MISSING = SCHEMA["age"].missing_code


def slow_distance(view, box, point):
    total = 0.0
    for at, table in enumerate(view.tables):
        attribute, code = table.attribute, int(point[at])
        gaps = []
        for low, high in table.intervals(int(view.labels[box, at])):
            if low <= code < high:
                gaps.append(0.0)
            elif attribute.ordered and code < attribute.values.size and low < attribute.values.size:
                away = low - code if code < low else code - high + 1
                gaps.append(min(1.0, away / (attribute.values.size - 1)))
            else:
                gaps.append(1.0)
        total += min(gaps)
    return total


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mechanism", [sf.Raw(), sf.Mondrian(sf.KAnonymity(3)), sf.Anatomy(2)])
def test_the_kernel_equals_the_definition(seed, mechanism):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, SCHEMA["age"].size, 40), rng.integers(0, 2, 40), rng.integers(0, 3, 40)])
    release = sf.publish(Table.from_codes(SCHEMA, rows), mechanism, seed=seed)
    view = align(release, SCHEMA, "ill")
    points = np.array([[a, j] for a in range(SCHEMA["age"].size) for j in range(3)])
    found = by_nearest(view, points).tocoo()
    pairs = {(int(p), int(g)) for p, g in zip(found.row, found.col, strict=True)}
    expected = set()
    for at, point in enumerate(points):
        away = [slow_distance(view, box, point) for box in range(len(view.weight))]
        expected |= {(at, int(view.group[box])) for box in range(len(away)) if away[box] <= min(away) + 1e-5}
    assert pairs == expected


def test_somebody_no_box_holds_is_read_off_the_nearest():
    rows = np.array([[0, 0, 0], [0, 0, 0], [9, 0, 1], [9, 0, 1]])
    view = align(sf.publish(Table.from_codes(SCHEMA, rows), sf.Raw()), SCHEMA, "ill")
    found, held = inferred(view, np.array([[0, 0], [2, 0], [7, 0], [MISSING, 0]]))
    assert held.tolist() == [True, False, False, False]
    assert found[:, :2].tolist() == [[1, 0], [1, 0], [0, 1], [0.5, 0.5]]  # a missing age is as far from all
