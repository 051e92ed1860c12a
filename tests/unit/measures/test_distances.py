from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.claims import Claim, Nothing
from sfumato.counts import Table
from sfumato.errors import NotComparable
from sfumato.measures import histogram_distance, reconstruction_distance
from sfumato.release import assemble
from sfumato.schema import Labels, Schema

SCHEMA = Schema.parse(
    {
        "name": "t",
        "attribute": {
            "x": {"role": "quasi", "kind": "numeric", "range": [0, 6], "step": 1},
            "y": {"role": "quasi", "kind": "nominal", "values": ["a", "b"]},
            "s": {"role": "sensitive", "kind": "nominal", "values": ["u", "v", "w"]},
        },
    }
)
TABLE = Table.from_codes(SCHEMA, np.array([[0, 0, 0], [1, 0, 0], [1, 1, 1], [4, 1, 1], [5, 1, 2]]))


def released(boxes, carried):
    """Boxes as (x low, x high, y low, y high, rows), all in one group; carried as counts."""
    boxes = np.array(boxes)
    x, xs = Labels.from_hulls(SCHEMA["x"], boxes[:, 0], boxes[:, 1])
    y, ys = Labels.from_hulls(SCHEMA["y"], boxes[:, 2], boxes[:, 3])
    return assemble(
        SCHEMA,
        tables=(x, y),
        labels=np.column_stack([xs, ys]),
        weight=boxes[:, 4],
        group=np.arange(len(boxes)),
        carried_group=np.zeros(len(carried), int),
        carried_codes=np.arange(len(carried))[:, None],
        carried_weight=np.array(carried),
        claim=Claim(Nothing()),
    )[0]


def test_histogram_by_hand():
    found = histogram_distance(TABLE, released([(0, 6, 0, 2, 8)], [4, 2, 2]))
    # Table: 2, 2, 1 of 5; release: 4, 2, 2 of 8.
    assert found.value == pytest.approx(0.4 * math.log(0.8) + 0.4 * math.log(1.6) + 0.2 * math.log(0.8))
    assert found.city_block == pytest.approx(0.1 + 0.15 + 0.05)
    assert found.rows_apart == 2 + 0 + 1
    assert histogram_distance(TABLE, released([(0, 6, 0, 2, 4)], [3, 1, 0])).value == math.inf
    assert found.confidential


def test_reconstruction_equals_the_definition():
    boxes = [(0, 2, 0, 2, 3), (2, 6, 1, 2, 2), (0, 6, 0, 2, 1)]
    found = reconstruction_distance(TABLE, released(boxes, [1, 1, 1]))
    slow = 0.0
    rows = [tuple(row[:2]) for row in TABLE.codes().tolist()]
    for x, y in itertools.product(range(6), range(2)):
        p = Fraction(rows.count((x, y)), 5)
        r = sum(Fraction(w, (xh - xl) * (yh - yl)) for xl, xh, yl, yh, w in boxes if xl <= x < xh and yl <= y < yh) / 6
        slow += float(p) * math.log(p / r) if p else 0.0
    assert found.value == pytest.approx(slow, abs=1e-12)
    assert found.uncovered == 0.0
    assert found.covered_value == pytest.approx(slow, abs=1e-12)


def test_what_no_box_holds_is_infinitely_far_and_counted():
    found = reconstruction_distance(TABLE, released([(0, 2, 0, 2, 3)], [1, 1, 1]))
    assert found.value == math.inf
    assert found.uncovered == pytest.approx(0.4)
    # The three rows inside are spread 1/3 each; the box gives each of its four cells 1/4.
    assert found.covered_value == pytest.approx(math.log(4 / 3))
    assert found.to_json()["value"] == "inf"


def test_empty_is_refused():
    empty = Table.from_codes(SCHEMA, np.zeros((0, 3), int))
    release = released([(0, 6, 0, 2, 4)], [3, 1, 0])
    for function in (histogram_distance, reconstruction_distance):
        with pytest.raises(NotComparable, match="no rows"):
            function(empty, release)
