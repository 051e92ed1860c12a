from __future__ import annotations

import dataclasses
import json
from fractions import Fraction

import pytest

from sfumato.claims import (
    ApproxDP,
    Claim,
    KAnonymity,
    LDiversity,
    Linkable,
    Neighbours,
    Nothing,
    ProbabilisticDP,
    PureDP,
    TCloseness,
)
from sfumato.errors import ParameterError

ONE = Neighbours.ADD_OR_REMOVE_ONE
DP = Claim(
    PureDP(1),
    neighbours=ONE,
    public_inputs=("domain of age", "domain of sex"),
    silent_on=("timing",),
    rehearsal=True,
    accounted=True,
    trace=(("cuts", "1/3"), ("counts", "2/3")),
)
EVERY = [
    DP,
    Claim(KAnonymity(10) & TCloseness(0.2), silent_on=("who the rows are about", "the rest")),
    Claim(ApproxDP(4.6, delta=1e-5), neighbours=Neighbours.ONE_ORIGIN),
    Claim(ProbabilisticDP(4.6, delta=1e-5), neighbours=Neighbours.REPLACE_ONE),
    Claim(Linkable(4, alpha=0.8, base=KAnonymity(10))),
    Claim(Nothing()),
]


@pytest.mark.parametrize("claim", EVERY, ids=str)
def test_round_trip_through_json(claim):
    again = Claim.from_json(json.loads(json.dumps(claim.to_json())))
    assert again == claim
    assert hash(again) == hash(claim)
    assert again.to_json() == claim.to_json()
    assert all(isinstance(spent, Fraction) for _, spent in again.trace)


def test_kind_follows_from_the_promise():
    kinds = ["proved", "checked", "proved", "proved", "estimate", "none"]
    assert [claim.kind for claim in EVERY] == kinds


def test_requirement_is_what_a_verifier_can_check():
    assert EVERY[1].requirement == KAnonymity(10) & TCloseness(0.2)
    assert EVERY[4].requirement == KAnonymity(10) & LDiversity(EVERY[4].promise.d, kind="distinct")
    assert Claim(Linkable(3, alpha=0.5)).requirement == LDiversity(3, kind="distinct")
    assert DP.requirement is None


def test_trace_must_sum_to_epsilon_exactly():
    third = [("a", "1/3"), ("b", "1/3"), ("c", "1/3")]
    assert Claim(PureDP(1), neighbours=ONE, trace=third).trace[0] == ("a", Fraction(1, 3))
    # 0.1 ten times is 1 exactly, though not in floats.
    assert len(Claim(PureDP(1), neighbours=ONE, trace=[("step", 0.1)] * 10).trace) == 10
    for wrong in (third[:2], [*third, ("d", "1/1000000000000")]):
        with pytest.raises(ParameterError, match="sum to epsilon = 1 exactly"):
            Claim(PureDP(1), neighbours=ONE, trace=wrong)
    with pytest.raises(ParameterError, match="at least 0"):
        Claim(PureDP(1), neighbours=ONE, trace=[("a", 2), ("b", -1)])


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Claim(PureDP(1)), "neighbours"),
        (lambda: Claim(PureDP(1), neighbours="replace-one"), "neighbours"),
        (lambda: Claim(KAnonymity(3), neighbours=ONE), "neighbours"),
        (lambda: Claim(KAnonymity(3), trace=[("a", 1)]), "trace"),
        (lambda: Claim("k=3"), "promise"),
        (lambda: Claim(KAnonymity(3), silent_on="timing"), "silent_on"),
        (lambda: Claim(KAnonymity(3), public_inputs=[3]), "public_inputs"),
        (lambda: Claim.from_json({"kind": "checked"}), "promise"),
        (lambda: Claim.from_json({**DP.to_json(), "neighbours": "friends"}), "neighbours"),
        (lambda: Claim.from_json({**DP.to_json(), "rehearsal": "false"}), "rehearsal"),
        (lambda: Claim.from_json({**EVERY[4].to_json(), "kind": "proved"}), "kind"),
        (lambda: Claim.from_json({**DP.to_json(), "promise": {"kind": "pure-dp", "epsilon": 2}}), "trace"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(make, name):
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.name == name


def test_frozen_and_replaceable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DP.rehearsal = False
    published = dataclasses.replace(DP, rehearsal=False)
    assert not published.rehearsal
    assert published.promise == DP.promise


def test_description_tells_the_whole_claim():
    text = DP.describe()
    for part in (
        "1-differential privacy",
        "presence of one row",
        "Taken as public: domain of age, domain of sex",
        "It does not cover: timing",
        "cuts 1/3, counts 2/3",
        "rehearsal",
        "entered in a ledger",
    ):
        assert part in text
    assert "not accounted" in EVERY[2].describe()
    assert "check it on the published file" in EVERY[1].describe()
    assert "can be wrong" in EVERY[4].describe()
    assert "rehearsal" in str(DP)
    assert "rehearsal" not in EVERY[1].describe()
