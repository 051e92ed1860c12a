"""Labels as numbers: what each column says, and that unseen rows get the numbers of their label."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.estimate.features import exact_features, feature_columns, features, label_features, recodes, row_features
from sfumato.schema import Labels

SCHEMA = sf.Schema.parse(
    {
        "name": "clinic",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [20, 28]},
            "weight": {"role": "quasi", "kind": "numeric", "range": [0, 4], "missing": ["?"]},
            "city": {"role": "quasi", "hierarchy": {"N": ["a", "b"], "S": ["c", "d", "e"]}},
            "ill": {"role": "target", "values": ["yes", "no"]},
        },
    }
)


def table(rows: int = 60, seed: int = 1) -> Table:
    rng = np.random.default_rng(seed)
    return Table.from_codes(SCHEMA, np.column_stack([rng.integers(0, size, rows) for size in (8, 5, 5, 2)]))


@pytest.mark.parametrize(
    ("name", "intervals", "numbers"),
    [
        ("age", ((2, 3),), [2]),
        ("age", ((2, 6),), [3.5]),
        ("age", ((0, 8),), [3.5]),
        ("age", ((0, 1), (4, 6)), [3]),  # codes 0, 4, 5
        ("weight", ((1, 3),), [1.5, 0]),
        ("weight", ((4, 5),), [1.5, 1]),  # missing alone: the middle of the range, and all of it missing
        ("weight", ((0, 5),), [1.5, 0.2]),
        ("city", ((1, 2),), [0, 1, 0, 0, 0]),
        ("city", ((0, 2),), [0.5, 0.5, 0, 0, 0]),
        ("city", ((0, 1), (3, 5)), [1 / 3, 0, 0, 1 / 3, 1 / 3]),
        ("city", ((0, 5),), [0.2] * 5),
    ],
)
def test_the_numbers_of_a_label(name, intervals, numbers):
    made, _ = Labels.from_sets(SCHEMA[name], [intervals])
    assert label_features(made).tolist() == [pytest.approx(numbers)]


def test_columns_say_whose_they_are():
    columns = feature_columns(SCHEMA.quasi)
    assert columns.attribute.tolist() == [0, 1, 1, 2, 2, 2, 2, 2]
    assert columns.place.tolist() == [True, True, False, False, False, False, False, False]
    codes = table().codes()[:, :3]
    assert exact_features(SCHEMA, codes).shape == (60, 8)


def test_a_wide_nominal_attribute_takes_a_level_of_its_tree():
    groups = {f"g{g}": [f"v{g}-{v}" for v in range(20)] for g in range(30)}
    wide = sf.Schema.parse({"name": "t", "attribute": {"zip": {"role": "quasi", "hierarchy": groups}}})
    assert len(feature_columns(wide.quasi).attribute) == 30
    found = exact_features(wide, np.array([[0], [599]]))
    assert found.shape == (2, 30)
    assert found[:, [0, 29]].tolist() == [[1, 0], [0, 1]]


def test_a_wide_attribute_without_levels_says_nothing():
    flat = {"name": "t", "attribute": {"zip": {"role": "quasi", "values": [f"v{v}" for v in range(600)]}}}
    assert exact_features(sf.Schema.parse(flat), np.array([[0], [599]])).tolist() == [[1], [1]]


@pytest.mark.parametrize("mechanism", [sf.Mondrian(sf.KAnonymity(5)), sf.TopDown(5)], ids=["tree", "cuts"])
def test_unseen_rows_get_the_numbers_of_their_label(mechanism):
    release = sf.publish(table(), mechanism)
    unseen = table(seed=2).codes()[:, :3]
    assert recodes(release, SCHEMA)
    found = row_features(release, SCHEMA, unseen)
    boxes = features(release.boxes.tables, release.boxes.labels)
    known = {tuple(line) for line in boxes.tolist()}
    if release.mechanism["name"] == "mondrian":  # global cuts may meet where no box is
        assert {tuple(line) for line in found.tolist()} <= known
    for row, line in zip(unseen, found, strict=True):
        holding = [
            at
            for at, ids in enumerate(release.boxes.labels)
            if all(t.holds([c])[i, 0] for t, i, c in zip(release.boxes.tables, ids, row, strict=True))
        ]
        assert not holding or line.tolist() in boxes[holding].tolist()


def test_without_a_recoding_rows_stay_exact():
    unseen = table(seed=2).codes()[:, :3]
    own = table().with_roles(sensitive=[known.name for known in SCHEMA.carried])
    for mechanism in (sf.Raw(), sf.Bucketize(sf.TCloseness("0.3"))):
        release = sf.publish(own, mechanism)
        assert not recodes(release, SCHEMA)
        assert np.array_equal(row_features(release, SCHEMA, unseen), exact_features(SCHEMA, unseen))


def test_no_rows_and_no_attributes():
    assert exact_features(SCHEMA, np.zeros((0, 3), np.int32)).shape == (0, 8)
    assert features((), np.zeros((4, 0), np.int32)).shape == (4, 0)
