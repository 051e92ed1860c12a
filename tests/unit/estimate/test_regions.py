from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import NotComparable
from sfumato.estimate import ANY, Regions
from sfumato.estimate.regions import overlaps
from sfumato.schema import Labels, Schema

SCHEMA = Schema.parse(
    {
        "name": "t",
        "attribute": {
            "x": {"role": "quasi", "kind": "numeric", "range": [0, 9], "step": 1},
            "y": {"role": "quasi", "kind": "nominal", "values": ["a", "b", "c"]},
        },
    }
)
GIVEN = [{"x": ((0, 2), (5, 6))}, {}, {"x": ((3, 9),), "y": ((1, 2),)}, {"y": ((0, 1), (2, 3))}]


def test_where_and_json_give_back_what_was_asked():
    regions = Regions.of(SCHEMA.quasi, GIVEN)
    assert [regions.where(at) for at in range(4)] == GIVEN
    again = Regions.from_json(regions.to_json(), SCHEMA, ["x", "y"])
    assert [again.where(at) for at in range(4)] == GIVEN
    assert regions.ids[1].tolist() == [ANY, ANY]
    assert [regions.take([2, 0]).where(at) for at in range(2)] == [GIVEN[2], GIVEN[0]]


def test_flat_is_equal_for_equal_regions_however_they_are_held():
    one, other = Regions.of(SCHEMA.quasi, GIVEN), Regions.of(SCHEMA.quasi, [*GIVEN, {"x": ((1, 2),)}]).take(slice(0, 4))
    assert one.tables[0].starts.tolist() != other.tables[0].starts.tolist()
    for mine, theirs in zip(one.flat(), other.flat(), strict=True):
        assert mine.tolist() == theirs.tolist()
    other = Regions.of(SCHEMA.quasi, [*GIVEN[:3], {"y": ((0, 2),)}])
    assert any(a.tolist() != b.tolist() for a, b in zip(one.flat(), other.flat(), strict=True))


def test_points():
    regions = Regions.points(SCHEMA.quasi, np.array([[4, 2], [0, 0]]))
    assert [regions.where(at) for at in range(2)] == [
        {"x": ((4, 5),), "y": ((2, 3),)},
        {"x": ((0, 1),), "y": ((0, 1),)},
    ]


def test_overlaps_of_unions():
    labels, _ = Labels.from_sets(SCHEMA["x"], [((0, 1), (4, 8)), ((2, 3),)])
    table = Regions.of(SCHEMA.quasi, GIVEN).tables[0]
    found = overlaps(labels, table, np.arange(len(table)))
    sets = [{c for low, high in table.intervals(r) for c in range(low, high)} for r in range(len(table))]
    held = [{c for low, high in labels.intervals(n) for c in range(low, high)} for n in range(2)]
    assert found.tolist() == [[len(label & region) for region in sets] for label in held]
    assert overlaps(labels, table, np.arange(0)).shape == (2, 0)


def test_other_codes_are_refused():
    with pytest.raises(NotComparable, match="attribute y"):
        Regions.from_json([{"y": [[0, 5]]}], SCHEMA, ["x", "y"])
