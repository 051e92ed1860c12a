"""What is published of a domain that was read off the data: enough to read every published label, and no more."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings, strategies as st

from sfumato.errors import Problem
from sfumato.release.manifest import _attribute as read_attribute
from sfumato.release.redact import public_part
from sfumato.schema import Attribute, Schema, label_name, parse_label
from sfumato.schema.labels import merged

KINDS = {
    "whole": {"kind": "numeric", "range": [10, 41]},
    "half": {"kind": "numeric", "range": [0, 9], "step": "0.5"},
    "tenth": {"kind": "numeric", "range": ["0.1", "2.1"], "step": "0.1", "missing": [""]},
    "edges": {"kind": "numeric", "edges": [0, 1, 10, 100, 1000, 5000]},
    "widths": {"kind": "numeric", "range": [0, 40], "intervals": [5, 10]},
    "named": {"kind": "numeric", "range": [0, 6], "hierarchy": {"young": [0, 1, 2], "old": [3, 4, 5]}},
    "days": {"kind": "date", "range": ["2020-01-01", "2020-04-01"], "missing": ["-"]},
    "months": {"kind": "date", "range": ["2020-01-01", "2021-03-01"], "dates": ["month", "year"]},
    "weeks": {"kind": "date", "range": ["2020-01-01", "2020-06-01"], "step": 7},
    "rank": {"kind": "ordered", "values": list("abcdefgh"), "missing": ["?"]},
    "rank tree": {"kind": "ordered", "hierarchy": {"first": ["a", "b", "c"], "last": ["d", "e"], "own": ["f"]}},
    "flat": {"kind": "nominal", "values": list("abcdefg")},
    "one": {"kind": "nominal", "values": ["a"]},
    "tree": {
        "kind": "nominal",
        "hierarchy": {
            "X": {"X1": ["a", "b"], "X2": ["c", "d", "e"]},
            "Y": {"Y1": ["f", "g"], "Y2": ["h"]},
            "X2b": ["i"],
        },
        "missing": ["?"],
    },
    "bars": {"kind": "nominal", "hierarchy": {"A | B": ["a | b", "a", "|"], "C\\": ["c\\", "\\| c", "..", "[1-2)"]}},
    "mask": {"kind": "nominal", "mask": {"length": 3, "alphabet": "012"}},
}


def attribute_of(kind: str, source: str = "data"):
    given = {**KINDS[kind], "role": "quasi", "source": source}
    return Schema.parse({"name": "t", "attribute": {"x": given}})["x"]


@st.composite
def published(draw, size: int):
    """Draw some labels: intervals and unions of intervals."""
    found = []
    for _ in range(draw(st.integers(1, 5))):
        ends = draw(st.lists(st.integers(0, size), min_size=2, max_size=4, unique=True))
        ends = sorted(ends)[: len(ends) // 2 * 2]
        found.append(merged(zip(ends[::2], ends[1::2], strict=True)))
    return found


@pytest.mark.cells(6)
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=100)
def test_every_published_label_is_read_and_named_again(kind, data):
    attribute = attribute_of(kind)
    labels = data.draw(published(attribute.size))
    answer = public_part(attribute, labels)
    back = [parse_label(answer, label_name(attribute, label)) for label in labels]
    for label, again in zip(labels, back, strict=True):
        assert again is not None
        assert label_name(answer, again) == label_name(attribute, label)
    for one, his in zip(labels, back, strict=True):  # distinct labels stay distinct, and in order
        for other, hers in zip(labels, back, strict=True):
            assert (his == hers) == (one == other)


def test_only_published_names_are_stated():
    answer = public_part(attribute_of("tree"), [((0, 2),), ((3, 4),)]).to_json()
    text = json.dumps(answer)
    assert '"X1"' in text
    assert '"d"' in text
    for hidden in ("a", "b", "c", "e", "f", "X", "X2", "Y"):
        assert f'"{hidden}"' not in text


def test_ends_and_step_are_those_of_the_labels():
    answer = public_part(attribute_of("whole"), [((5, 10),), ((10, 20),)]).to_json()["domain"]
    assert answer == {"low": "15", "step": "5", "cells": 3}
    edges = public_part(attribute_of("edges"), [((1, 3),)]).to_json()["domain"]
    assert edges["edges"][:2] == ["1", "100"]
    ranks = public_part(attribute_of("rank"), [((1, 6),)]).to_json()["domain"]["values"]
    assert {"b", "f"} <= set(ranks)
    assert not set("acdegh") & set(ranks)


def test_nothing_is_stated_where_all_is_suppressed():
    for kind in KINDS:
        attribute = attribute_of(kind)
        answer = public_part(attribute, [((0, attribute.size),)])
        assert answer.to_json()["domain"] == {"values": ["(any)"]}
        assert parse_label(answer, "*") == ((0, answer.size),)


def test_a_public_domain_is_stated_whole():
    attribute = attribute_of("tree", "public")
    assert public_part(attribute, [((0, 1),)]) == attribute


def named(domain, labels, **more):
    """What a manifest states of a column, read back: the names in it, and which of them are groups."""
    attribute = Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", "source": "data", **domain}}})["x"]
    back = Attribute.from_json(public_part(attribute, labels, **more).to_json())
    again = [parse_label(back, label_name(attribute, label)) for label in labels]
    assert public_part(back, [one for one in again if one is not None], **more).unlisted == back.unlisted
    return back.domain.names, back.unlisted


def test_names_of_groups_are_not_stated_as_values():
    tree = {"groups": {"coast": ["Aalst", "Boom"], "inland": ["Cuyk", "Dalen", "Ermelo"]}}
    coast, inland, cuyk = ((0, 2),), ((2, 5),), ((2, 3),)
    assert named(tree, [coast, inland]) == (("coast", "inland"), ("coast", "inland"))
    assert named(tree, [coast, cuyk, inland])[1] == ("coast",)  # inland is stated with what it holds: Cuyk, and others
    assert named(tree, [((0, 1),), ((1, 2),), ((2, 5),)]) == (("Aalst", "Boom", "inland"), ("inland",))
    assert named(tree, [((0, 1),)], exact=True)[1] == ()
    assert named({"kind": "ordered", "values": list("abcdef")}, [((0, 3),), ((4, 6),)])[1] == ()
    assert named(KINDS["rank tree"], [((0, 3),), ((5, 6),)])[1] == ("first",)


@pytest.mark.cells(6)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "kind" in KINDS[kind] and KINDS[kind]["kind"] == "nominal"])
@given(data=st.data())
@settings(max_examples=60)
def test_what_is_stated_as_a_group_holds_several_values(kind, data):
    attribute = attribute_of(kind)
    answer = public_part(attribute, data.draw(published(attribute.size)))
    nodes, single = attribute.nodes, {attribute.text(code) for code in range(attribute.size)}
    held = {name: int(high - low) for name, low, high in zip(nodes.names, nodes.low, nodes.high, strict=True)}
    for name in answer.unlisted:
        assert held[name] > 1
        assert name not in single
    stated = set(answer.domain.names) - set(answer.unlisted)
    assert all(name in single or re.fullmatch(r"\((part \d+|other|any)\)_*", name) for name in stated)


@pytest.mark.parametrize("wrong", [["nowhere"], ["a", "a"], "a", 5, [["a"]], {"a": 1}])
def test_names_of_groups_that_are_not_listed_are_refused(wrong):
    known = public_part(attribute_of("flat"), [((0, 1),), ((1, 2),)]).to_json()
    problems: list[Problem] = []
    assert read_attribute(0, {**known, "groups": ["a"], "levels": "values"}, problems) is not None
    assert read_attribute(0, {**known, "groups": wrong, "levels": "values"}, problems) is None
    assert len(problems) == 1
