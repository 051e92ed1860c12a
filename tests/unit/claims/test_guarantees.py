from __future__ import annotations

import dataclasses
import json
import pickle
from fractions import Fraction

import pytest

from sfumato.claims import (
    GUARANTEES,
    ApproxDP,
    ConcentratedDP,
    KAnonymity,
    Linkable,
    Neighbours,
    Nothing,
    ProbabilisticDP,
    PureDP,
    promise_from_json,
)
from sfumato.errors import ParameterError

EVERY = [
    PureDP(0.1),
    ApproxDP(4.6, delta=1e-5),
    ProbabilisticDP("23/5", delta="1/100000"),
    Linkable(4, alpha=0.8, population="census 2000", other_rows=30_162, organisations=3, base=KAnonymity(10)),
    Linkable(4, alpha=0.8),
    Nothing(),
    ConcentratedDP("1/100", epsilon=1, delta=1e-5),
]


def test_every_registered_guarantee_is_tried():
    assert {promise.label for promise in EVERY} == set(GUARANTEES)


def test_values_are_exact_and_frozen():
    promise = ApproxDP(0.1, delta=1e-5)
    assert promise.epsilon == Fraction(1, 10)
    assert promise.delta == Fraction(1, 100_000)
    with pytest.raises(dataclasses.FrozenInstanceError):
        promise.epsilon = Fraction(1)


@pytest.mark.parametrize("promise", EVERY, ids=str)
def test_round_trip_through_json(promise):
    again = promise_from_json(json.loads(json.dumps(promise.to_json())))
    assert again == promise
    assert type(again) is type(promise)
    assert pickle.loads(pickle.dumps(promise)) == promise


def test_same_numbers_of_different_definitions_are_different_promises():
    assert ApproxDP(1, delta=0.1) != ProbabilisticDP(1, delta=0.1)
    assert ApproxDP(1, delta=0.1).to_json() != ProbabilisticDP(1, delta=0.1).to_json()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: PureDP(0), "epsilon"),
        (lambda: PureDP(-1), "epsilon"),
        (lambda: PureDP(float("inf")), "epsilon"),
        (lambda: ApproxDP(1, delta=0), "delta"),
        (lambda: ApproxDP(1, delta=1), "delta"),
        (lambda: ProbabilisticDP(1, delta=2), "delta"),
        (lambda: Linkable(0, alpha=0.8), "d"),
        (lambda: Linkable(2, alpha=0), "alpha"),
        (lambda: Linkable(2, alpha=1.2), "alpha"),
        (lambda: Linkable(2, alpha=0.5, organisations=1), "organisations"),
        (lambda: Linkable(2, alpha=0.5, other_rows=0), "other_rows"),
        (lambda: Linkable(2, alpha=0.5, base=PureDP(1)), "base"),
        (lambda: promise_from_json({"kind": "pure-dp"}), "epsilon"),
        (lambda: promise_from_json({"kind": "linkable", "d": 2}), "alpha"),
        (lambda: promise_from_json({"kind": "zero-knowledge"}), "kind"),
    ],
)
def test_bad_parameters_are_refused_by_name(make, name):
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.name == name


def test_linkable_says_that_it_is_an_estimate():
    text = EVERY[3].describe("person")
    assert "not a guarantee" in text
    assert "census 2000" in text
    assert "at least 10 people" in text


def test_descriptions_say_what_matters():
    assert "Pr[M(x) in S] <= e^epsilon Pr[M(y) in S]" in PureDP(1).describe()
    assert "+ delta" in ApproxDP(1, delta=0.1).describe()
    assert "not kept when the output is processed further" in ProbabilisticDP(1, delta=0.1).describe()
    assert "Nothing is promised" in Nothing().describe()
    assert str(PureDP(0.5)) == "pure-dp(0.5)"


def test_neighbours_have_fixed_names_and_sentences():
    assert {relation.name: relation.value for relation in Neighbours} == {
        "ADD_OR_REMOVE_ONE": "add-or-remove-one",
        "REPLACE_ONE": "replace-one",
        "ONE_ORIGIN": "one-origin",
    }
    sentences = [relation.describe() for relation in Neighbours]
    assert len(set(sentences)) == 3
    assert "all rows of that person" in Neighbours.ADD_OR_REMOVE_ONE.describe("person")
    assert "person" not in Neighbours.ADD_OR_REMOVE_ONE.describe()
    assert "Destinations" in Neighbours.ONE_ORIGIN.describe()
