"""The class: an attribute, or a binning of one that leaves nothing out and holds nothing twice."""

import datetime as dt

import pytest

import sfumato as sf
from sfumato.measures.classification import target_of

SCHEMA = sf.Schema.parse(
    {
        "name": "t",
        "attribute": {
            "x": {"role": "quasi", "values": ["a", "b"]},
            "age": {"role": "sensitive", "kind": "numeric", "range": [20, 30], "missing": ["?"]},
            "pay": {"role": "sensitive", "kind": "numeric", "range": [0, 2], "step": 0.5},
            "day": {"role": "sensitive", "kind": "date", "range": ["2020-01-01", "2020-01-11"]},
            "job": {"role": "target", "hierarchy": {"White": ["clerk", "boss"], "Blue": ["smith", "cook"]}},
        },
    }
)


def test_the_target_is_the_class_unless_another_is_named():
    found = target_of(SCHEMA, None, None)
    assert (found.attribute.name, found.names) == ("job", ("clerk", "boss", "smith", "cook"))
    assert target_of(SCHEMA, "age", None).classes == 11


def test_edges_cut_a_numeric_attribute():
    found = target_of(SCHEMA, "age", [23, 25.0])
    assert found.of_code.tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 3]
    assert found.names == ("20 to 22", "23 to 24", "25 to 29", "(missing)")
    assert target_of(SCHEMA, "pay", [0.5]).of_code.tolist() == [0, 1, 1, 1]
    assert target_of(SCHEMA, "day", [dt.date(2020, 1, 4)]).of_code.tolist() == [0] * 3 + [1] * 7


def test_labels_name_the_classes():
    assert target_of(SCHEMA, "job", ["Blue", "White"]).of_code.tolist() == [1, 1, 0, 0]
    assert target_of(SCHEMA, "job", ["Blue", "clerk", "boss"]).of_code.tolist() == [1, 2, 0, 0]
    assert target_of(SCHEMA, "age", ["[20-25)", "[25-30)"]).of_code.tolist() == [0] * 5 + [1] * 5 + [2]


@pytest.mark.parametrize(
    ("target", "bins", "rule"),
    [
        ("job", ["White", "boss", "Blue"], "shares values"),
        ("job", ["White"], "leave 2 values of job without a class"),
        ("job", ["White", "Green"], "is not a label"),
        ("job", [1], "has named values"),
        ("job", [], "list of edges"),
        ("job", "White", "list of edges"),
        ("age", [25, 23], "must ascend"),
        ("age", [20], "must ascend"),
        ("age", [40], "is not an edge"),
        ("age", [22.5], "is not an edge"),
        ("pay", [0.25], "is not an edge"),
        ("x", None, "neither sensitive nor target"),
    ],
)
def test_bins_that_overlap_or_leave_values_out_are_refused(target, bins, rule):
    with pytest.raises(sf.ParameterError, match=rule):
        target_of(SCHEMA, target, bins)


def test_no_target_at_all():
    with pytest.raises(sf.ParameterError, match="role target"):
        target_of(SCHEMA.with_roles(target=[]), None, None)
