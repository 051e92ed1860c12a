from __future__ import annotations

import pytest

from sfumato.schema import MISSING, Attribute, Missing, Schema


def attribute(**table):
    return Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", **table}}})["x"]


def test_missing_is_the_last_code_and_lies_directly_below_the_root():
    x = attribute(hierarchy={"X": ["a", "b"], "Y": ["c"]}, missing=["?"])
    assert (x.size, x.missing_code, x.values.size) == (4, 3, 3)
    assert x.texts() == ["a", "b", "c", MISSING]
    node = x.nodes.by_interval[3, 4]
    assert x.nodes.parent[node] == 0


def test_suppressed_missing_has_no_code():
    x = attribute(values=["a"], missing="suppress")
    assert (x.size, x.missing_code) == (1, None)
    assert attribute(values=["a"]).missing_code is None


@pytest.mark.parametrize(("kind", "ordered"), [("nominal", False), ("ordered", True)])
def test_ordered(kind, ordered):
    assert attribute(kind=kind, values=["a", "b"]).ordered is ordered


def test_no_domain_is_said_by_name():
    bare = Attribute("id", role="identifier")
    for part in ("values", "nodes", "size"):
        with pytest.raises(AssertionError, match="attribute id has no"):
            getattr(bare, part)
    assert bare.missing_code is None


@pytest.mark.parametrize(
    "table",
    [
        {"hierarchy": {"X": ["a", "b"], "Y": ["c"]}, "missing": "category"},
        {"values": ["a", "b"], "kind": "ordered"},
        {"kind": "numeric", "range": [0, 10], "step": "0.5", "missing": "suppress"},
        {"kind": "numeric", "range": [0, 100], "intervals": [5, 10], "missing": "category"},
        {"kind": "numeric", "edges": [0, 1, 10, 100]},
        {"kind": "date", "range": ["2020-01-01", "2021-01-01"], "dates": ["month"]},
        {"mask": {"length": 3}, "source": "data"},
        {"values": ["a", "b"], "missing": "category"},
    ],
)
def test_json_round_trip(table):
    x = attribute(**table)
    again = Attribute.from_json(x.to_json())
    assert again.to_json() == x.to_json()
    assert (again.domain, again.tree, again.missing_code) == (x.domain, x.tree, x.missing_code)
    assert (again.role, again.kind, again.source) == (x.role, x.kind, x.source)


def test_json_does_not_hold_the_texts_that_mean_missing():
    assert "?secret?" not in str(attribute(values=["a"], missing=["?secret?"]).to_json())


def test_roles_change_by_copy():
    x = attribute(values=["a"])
    assert x.with_role("sensitive").role == "sensitive"
    assert x.role == "quasi"
    assert Missing(("?",)).action == "category"
