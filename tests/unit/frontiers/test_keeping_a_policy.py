"""A policy: what a recommended release keeps, and what is said where nothing keeps it."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

import sfumato as sf
from sfumato.errors import Infeasible, ParameterError
from sfumato.frontiers import AxisMeasure, Frontier, Point, Policy, Spread, WantedTable
from sfumato.frontiers.recommend import Anchors
from sfumato.frontiers.result import with_efficient

figures = st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9])
people = st.sampled_from([None, 1, 4, 5, 11])
some_points = st.lists(st.tuples(figures, figures, people, figures, figures), min_size=1, max_size=8)


def point(number, privacy, utility, smallest=None, risk=0.0, error=0.0, **extra):
    return Point(
        sf.Mondrian(sf.KAnonymity(number + 1)),
        number=number,
        privacy=Spread((privacy,)),
        utility=Spread((utility,)),
        people=smallest,
        risks={"inference": Spread((risk,))},
        answers={"age x town": Spread((error,))},
        **extra,
    )


def front_of(points):
    privacy = AxisMeasure("privacy_loss", unit="nats", formula="", better="less")
    utility = AxisMeasure("utility_loss", unit="nats", formula="", better="less")
    ends = Anchors((0.0, 1.0), raw=(1.0, 0.0))
    made = with_efficient(points, privacy, utility)
    return Frontier(made, privacy=privacy, utility=utility, references=(), anchors=ends, table="t", rows=1)


@given(some_points, st.sampled_from([1, 5, 11]), figures, figures)
def test_a_release_is_kept_exactly_if_every_line_is(found, k, limit, within):
    policy = Policy(
        {"k": k}, at_most={"inference": str(limit)}, answer=[WantedTable(("age", "town"), within=Fraction(str(within)))]
    )
    for number, (x, y, smallest, risk, error) in enumerate(found, 1):
        kept = (smallest is None or smallest >= k) and risk <= limit and error <= within
        assert (policy.breaches(point(number, x, y, smallest, risk, error)) == ()) == kept


@given(some_points, st.sampled_from([{}, {"inference": "0.2"}]), st.sampled_from([(), ("age x town within 20 %",)]))
def test_the_recommendation_keeps_the_policy_and_nothing_better_is_left(found, at_most, answer):
    front = front_of([point(number, *one) for number, one in enumerate(found, 1)])
    policy = Policy(at_most=at_most, answer=answer)
    kept = [
        one
        for one in found
        if (one[2] is None or one[2] >= 5) and (not at_most or one[3] <= 0.2) and (not answer or one[4] <= 0.2)
    ]
    if not kept:
        with pytest.raises(Infeasible) as reported:
            front.recommend(policy)
        closest, broken = front.closest(policy)
        assert reported.value.best == closest.label
        assert broken
        assert all(str(line) in reported.value.why for line in broken)
        assert len(broken) == min(len(policy.breaches(one)) for one in front.points)
        return
    said = front.recommend(policy)
    got = (said.point.privacy.mean, said.point.utility.mean)
    assert not policy.breaches(said.point)
    assert said.policy == policy
    if at_most and not answer:
        assert got == min(((one[0], one[1]) for one in kept), key=lambda pair: (pair[1], pair[0]))
    elif not answer:
        assert sum(got) == pytest.approx(min(one[0] + one[1] for one in kept))
    elif useful := [one for one in kept if one[1] <= 0.5]:  # the ends are 0 and 1
        assert got[1] <= 0.5
        assert sum(got) == pytest.approx(min(one[0] + one[1] for one in useful))
    else:
        assert got[1] == min(one[1] for one in kept)


def test_tables_that_must_come_out_right_do_not_ask_for_more_privacy():
    """The floor says what privacy is needed: a release far above it was recommended for the best privacy."""
    front = front_of([point(1, 0.02, 0.99, 1000), point(2, 0.55, 0.5, 11), point(3, 0.1, 0.1, 4)])
    table = "age x town within 20 %"
    for limits in ({}, {"inference": "0.2"}):
        said = front.recommend(Policy({"k": 11}, at_most=limits, answer=table))
        assert said.point.number == 2
        assert "lies at the knee" in said.reason
        assert "among those that have not lost most of their use" in said.reason
    assert front.recommend(Policy({"k": 11}), utility_loss=0.99).point.number == 1  # only who asks for it
    lost = front_of([point(1, 0.0, 0.99, 1000), point(2, 0.6, 0.6, 11)])
    said = lost.recommend(Policy({"k": 11}, answer=table))
    assert said.point.number == 2
    assert "has the best utility loss of these, which have all lost most of their use" in said.reason


def test_classes_of_one_person_are_never_recommended(clinic):
    """Bare t-closeness leaves classes of one person: it is measured and drawn, and not recommended."""
    points = [sf.Mondrian(sf.TCloseness("0.6")), sf.Mondrian(sf.KAnonymity(60))]
    front = sf.frontier(clinic, points, workers=0, progress=False)
    bare, kept = front.points
    assert bare.people < 5 <= kept.people
    assert bare.utility.mean < kept.utility.mean
    for limits in ({}, {"utility_loss": 1.0}, {"privacy_loss": 9.0}):
        assert front.recommend(**limits).point is kept
    assert front.recommend(Policy({"k": 1}), privacy_loss=9.0).point is bare  # only who asks for it
    with pytest.raises(Infeasible) as reported:
        sf.frontier(clinic, points[:1], workers=0, progress=False).recommend()
    assert reported.value.best == bare.label


def test_k_says_nothing_of_noisy_cells(clinic):
    front = sf.frontier(clinic, [sf.DiffGen(1)], workers=0, progress=False, repeats=1)
    assert front.points[0].people is None
    assert front.recommend(Policy({"k": 100})).point.number == 1


def test_what_was_not_measured_is_an_error():
    front = front_of([point(1, 0.1, 0.1)])
    for policy in (Policy(at_most={"membership": "0.1"}), Policy(answer=["age x sex within 5 %"])):
        with pytest.raises(ParameterError) as reported:
            front.recommend(policy)
        assert reported.value.value in ("membership", "age x sex")


def test_the_price_is_stated_in_counts():
    typical = {"count": 200, "off": 6.1, "share": 0.0305, "cells": 40}
    said = front_of([point(1, 0.1, 0.1, 9, error=0.07, typical=typical)]).recommend()
    tables = "In tables of a quasi-identifier and another column"
    assert said.price.startswith(f"{tables} a count of 200 is typically off by 6.1 (3 %).")
    assert "Counts by age x town are off by 7 % on average." in said.price
    assert said.lost == ""
    assert said.price in str(said)


def test_a_release_that_lost_most_of_its_use_says_so():
    said = front_of([point(1, 0.1, 0.94, 9)]).recommend()
    assert "94 %" in said.lost
    assert said.lost in str(said)
    wrong = {"count": 200, "off": 160.0, "share": 0.8, "cells": 40}
    assert "80 %" in front_of([point(1, 0.1, 0.1, 9, typical=wrong)]).recommend().lost


def test_an_interval_beyond_the_limit_is_stated():
    attacks = {"inference": {"interval": [-0.01, 0.07]}}
    said = front_of([point(1, 0.1, 0.1, 9, risk=0.01, attacks=attacks)])
    assert "as large as 0.07" in said.recommend(Policy(at_most={"inference": "0.02"})).reason


def test_lines_are_read():
    policy = Policy({"k": 11}, at_most={"inference gain": "0.02"}, answer="age x sex x town within 2.5 %")
    assert policy.lines == ["k at least 11", "inference gain at most 0.02", "age x sex x town within 2.5 %"]
    assert policy.answers == (WantedTable(("age", "sex", "town"), within=Fraction(1, 40)),)
    assert WantedTable.read("age within 0.1") == WantedTable(("age",), within=Fraction(1, 10))
    assert policy.stated
    assert not Policy().stated
    assert Policy().lines == ["k at least 5"]
    assert policy.to_json()["at_least"] == {"k": 11}


@pytest.mark.parametrize(
    "wrong",
    [
        {"at_least": {"l": 3}},
        {"at_least": {"k": 0}},
        {"at_most": {"inference": -1}},
        {"answer": ["age and town"]},
        {"answer": ["age within 0 %"]},
    ],
)
def test_a_line_that_means_nothing_is_refused(wrong):
    with pytest.raises(ParameterError):
        Policy(**wrong)


def test_a_sweep_is_strengthened_with_k():
    sweep = [
        sf.Mondrian(sf.TCloseness("0.1")),
        sf.Mondrian(sf.KAnonymity(3)),
        sf.Mondrian(sf.KAnonymity(20)),
        sf.Mondrian(sf.AlphaK("0.5", k=20)),
        sf.Bucketize(sf.LDiversity(3)),
        sf.DiffGen(1),
        sf.Suppress(),
    ]
    stronger = Policy({"k": 11}).strengthened(sweep)
    assert stronger[0] == sf.Mondrian(sf.KAnonymity(11) & sf.TCloseness("0.1"))
    assert stronger[1] == sf.Mondrian(sf.KAnonymity(11))
    assert stronger[2:] == tuple(sweep[2:])  # buckets cannot promise k
    assert Policy({"k": 1}).strengthened(sweep) == tuple(sweep)


def test_tables_are_measured_and_the_table_itself_has_no_error(clinic):
    policy = Policy({"k": 1}, answer=["age x ill within 50 %"])
    points = [sf.Raw(), sf.Mondrian(sf.KAnonymity(5)), sf.Suppress()]
    front = sf.frontier(clinic, points, workers=0, progress=False, policy=policy)
    errors = [one.answers["age x ill"].mean for one in front.points]
    assert errors[0] == pytest.approx(0)
    assert 0 < errors[1] < errors[2]
    assert front.points[0].typical["off"] == pytest.approx(0)
    with pytest.raises(ParameterError) as reported:
        sf.frontier(clinic, points, workers=0, progress=False, policy=Policy(answer=["height within 5 %"]))
    assert reported.value.value == "height"


def test_another_axis_takes_the_place_of_the_first(clinic):
    points = [sf.Mondrian(sf.KAnonymity(20)), sf.DiffGen(1), sf.Suppress()]
    front = sf.frontier(clinic, points, privacy=["privacy_loss", "proved"], workers=0, progress=False, repeats=1)
    assert [axis.name for axis in front.axes] == ["privacy_loss", "proved"]
    other = front.on("proved")
    assert other.privacy.words == "proved bound"
    assert [one.privacy.mean for one in other.points] == pytest.approx([1, 0.46211715726, 1])  # tanh(1/2)
    assert [one.privacy for one in other.on("privacy_loss").points] == [one.privacy for one in front.points]
    assert other.on("privacy_loss").anchors == front.anchors
    assert front.marks
    assert [mark.axis for mark in other.marks] == ["utility"]
    with pytest.raises(ParameterError):
        front.on("identity")
