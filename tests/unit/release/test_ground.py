"""Which distance t-closeness uses for an attribute."""

from __future__ import annotations

from dataclasses import replace

from sfumato.claims import TCloseness
from sfumato.release import ground_of
from sfumato.schema import Schema


def by_tree(attribute):
    return replace(attribute, ground="hierarchical")


def test_by_kind(schema, schema_of_data):
    assert ground_of(schema["age"]).kind == "ordered"
    assert ground_of(schema["seen"]).kind == "ordered"
    assert ground_of(schema["grade"]).kind == "ordered"
    assert ground_of(by_tree(schema["illness"])).kind == "hierarchical"
    assert ground_of(by_tree(schema_of_data["illness"])).kind == "equal"  # its hierarchy is not published
    assert ground_of(replace(schema["illness"], ground="equal")).kind == "equal"
    flat = {"role": "sensitive", "kind": "nominal", "values": ["a", "b"]}
    assert ground_of(by_tree(Schema.parse({"name": "t", "attribute": {"x": flat}})["x"])).kind == "equal"


def test_hierarchical_distance_by_hand(schema):
    """flu to asthma is half the height apart, flu to ulcer the whole."""
    ground = ground_of(by_tree(schema["illness"]))
    near = TCloseness(1, distance="emd").found([[1, 0, 0, 0]], [1, 1, 0, 0], ground=ground)
    far = TCloseness(1, distance="emd").found([[1, 0, 0, 0]], [1, 0, 1, 0], ground=ground)
    assert (near, far) == (1 / 4, 1 / 2)


def test_missing_is_a_leaf_below_the_root(schema):
    ground = ground_of(by_tree(schema["job"]))
    assert len(ground.leaves) == schema["job"].size
    assert ground.parents[ground.leaves[-1]] == 0
