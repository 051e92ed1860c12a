from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from tests.claims.planted_people import PLANTED, drawn

import sfumato as sf
from sfumato.cli.frontier import _gains
from sfumato.counts import Table
from sfumato.errors import Infeasible, two_digits
from sfumato.frontiers import AxisMeasure, Frontier, Point, Spread
from sfumato.frontiers.recommend import Anchors, Scale, _doubts, recommended, typical_words
from sfumato.frontiers.result import with_efficient
from sfumato.pages.contents import worst_findings
from sfumato.web.choosing import _more


def frontier_of(pairs, *, suppressed=(0.0, 1.0), raw=(1.0, 0.0), better="less", **extra):
    privacy = AxisMeasure("privacy_loss", unit="nats", formula="", better="less")
    utility = AxisMeasure("utility_loss", unit="nats", formula="", better=better)
    points = [
        Point(sf.Mondrian(sf.KAnonymity(at + 1)), number=at + 1, privacy=Spread((x,)), utility=Spread((y,)), **extra)
        for at, (x, y) in enumerate(pairs)
    ]
    return Frontier(
        with_efficient(points, privacy, utility),
        privacy=privacy,
        utility=utility,
        references=(),
        anchors=Anchors(suppressed, raw=raw),
        table="t",
        rows=1,
    )


SOME = [(0.05, 0.9), (0.1, 0.3), (0.2, 0.1), (0.2, 0.1), (0.25, 0.2), (0.8, 0.0)]
figures = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.9])


def test_no_figure_is_written_with_an_exponent():
    """A gain of 100 points was printed as 1e+02."""
    assert [two_digits(number) for number in (0.25, 7.5, 99.6, 100.0, 1234.0)] == ["0.25", "7.5", "100", "100", "1,234"]
    assert typical_words({"count": 10, "off": 10.0, "share": 1.0}) == "count of 10 is typically off by 10 (100 %)"
    assert _more(1.0) == "100 points more"


@given(st.lists(st.tuples(figures, figures), min_size=1, max_size=9), figures, figures)
def test_limits_are_kept_and_nothing_better_is_left(pairs, privacy, utility):
    front = frontier_of(pairs)
    both = {"privacy_loss": privacy, "utility_loss": utility}
    for limits in ({"privacy_loss": privacy}, {"utility_loss": utility}, both, {}):
        x, y = limits.get("privacy_loss", math.inf), limits.get("utility_loss", math.inf)
        within = [pair for pair in pairs if pair[0] <= x and pair[1] <= y]
        if not within:
            with pytest.raises(Infeasible):
                front.recommend(**limits)
            continue
        best = front.recommend(**limits).point
        got = (best.privacy.mean, best.utility.mean)
        assert best.efficient
        assert got in within
        if set(limits) == {"privacy_loss"}:
            assert got == min(within, key=lambda pair: (pair[1], pair[0]))
        elif set(limits) == {"utility_loss"}:
            assert got == min(within, key=lambda pair: (pair[0], pair[1]))
        else:
            assert sum(got) == min(sum(pair) for pair in within)


def test_the_knee_by_hand():
    # shares: .05+.9, .1+.3, .2+.1 (twice), .25+.2, .8: the least is .3, reached by points 3 and 4; the first is taken
    assert frontier_of(SOME).recommend().point.number == 3
    # with ends at (0, 2) and (0.4, 0): .125+.45, .25+.15, .5+.05, ...: point 2
    assert frontier_of(SOME, suppressed=(0.0, 2.0), raw=(0.4, 0.0)).recommend().point.number == 2


def test_other_releases_do_not_move_the_knee():
    chosen = frontier_of(SOME).recommend().point
    for left_out in itertools.combinations(SOME, 2):
        rest = [pair for pair in SOME if pair not in left_out]
        if (chosen.privacy.mean, chosen.utility.mean) in rest:
            best = frontier_of(rest).recommend().point
            assert (best.privacy.mean, best.utility.mean) == (0.2, 0.1)


def test_without_ends_the_points_give_the_scale():
    nothing = (math.nan, math.nan)
    assert frontier_of(SOME, suppressed=nothing, raw=nothing).recommend().point.efficient
    assert frontier_of([(0.5, 0.5)], suppressed=nothing, raw=nothing).recommend().point.number == 1


def test_more_is_better():
    front = frontier_of([(0.1, 0.6), (0.2, 0.8), (0.3, 0.7)], suppressed=(0, 0.5), raw=(1, 1), better="more")
    assert [point.number for point in front.efficient] == [1, 2]
    assert front.recommend(privacy_loss=0.3).point.number == 2
    assert front.recommend(utility_loss=0.55).point.number == 1
    assert front.recommend().point.number == 2  # .1 + .8, .2 + .4, .3 + .6
    with pytest.raises(Infeasible, match=r"at least 0\.9"):
        front.recommend(utility_loss=0.9)


def test_the_reason_names_the_figures_and_the_limit():
    said = frontier_of(SOME).recommend(privacy_loss=0.15)
    assert said.point.number == 2
    assert "privacy loss at most 0.15" in said.reason
    assert "0.1 nats" in said.reason
    assert "10 % of the privacy loss of publishing the table as it is" in said.reason
    assert "chosen on the data" in said.caution
    assert said.confidential


def test_a_utility_that_tells_nothing_apart_is_not_a_reason():
    """Ten releases had loss 0 over 2 populations; the coarsest was called the one that gives up least on both sides."""
    front = frontier_of([(0.3, 0.0), (0.1, 0.0), (0.2, 0.0)], populations=2)
    wrong = {1: 0.02, 2: 0.17, 3: 0.3}
    points = tuple(replace(one, typical={"count": 50, "off": 1, "share": wrong[one.number]}) for one in front.points)
    front = replace(front, points=points)
    for limits in ({}, {"privacy_loss": 0.25}, {"utility_loss": 0.5}):
        said = front.recommend(**limits)
        assert said.point.number == 2
        assert "knee" not in said.reason
        assert "of the utility loss" not in said.reason
        assert "it has the best privacy loss" in said.reason
        many, off = (2, "") if "privacy_loss" in limits else (3, "17 % in this one and by 2 % in Mondrian")
        assert f"Utility does not distinguish these releases: each of {many} has utility loss 0 nats" in said.reason
        assert off in said.reason
        assert "utility loss 0 nats over 2 populations" in said.reason
    told = frontier_of([(0.3, 0.0), (0.1, 0.1)], populations=1_200).recommend()
    assert "does not distinguish" not in told.reason
    assert "over 1,200 populations" in told.reason
    assert told.point.to_json()["populations"] == 1_200
    assert "does not distinguish" not in frontier_of([(0.3, 0.0)]).recommend().reason
    assert "populations" not in frontier_of([(0.3, 0.0)]).recommend().reason


def test_the_worst_attack_decides_where_utility_does_not():
    attacked = [{"inference": Spread((gain,))} for gain in (0.4, 0.1)]
    front = frontier_of([(0.1, 0.0), (0.2, 0.0)])
    axes = (Scale("privacy_loss", sign=1, unit="nats", best=0, worst=1), Scale("u", sign=1, unit="", best=0, worst=1))
    points = [replace(one, risks=risk) for one, risk in zip(front.points, attacked, strict=True)]
    worst = Scale("inference", sign=1, unit="", best=0, worst=1)
    said = recommended(points, axes, (None, None), membership_public=False, policy=front.policy, attacked=[worst])
    assert said.point.number == 2
    assert "it has the best privacy, by the worst of privacy loss, inference gain" in said.reason


def test_it_is_said_of_how_many_releases_k_is_not_asked():
    assert "k is not asked" not in frontier_of(SOME, people=7).recommend().reason
    said = "k is not asked of the 6 releases whose rows are noisy or synthetic."
    assert said in frontier_of(SOME, form="cells").recommend().reason
    assert "k is not asked" not in frontier_of(SOME, form="generalized").recommend().reason  # no class holds a row


def test_what_no_release_has_is_said_of_those_that_keep_the_policy():
    """The best shown is that of the releases that keep the policy; another of the sweep has what was asked for."""
    front = frontier_of([(0.5, 0.01), (0.1, 0.3)])
    small, large = front.points
    front = replace(front, points=(replace(small, people=2), replace(large, people=40)))
    with pytest.raises(Infeasible, match=r"no release .* keeps the policy \(k at least 5\) has it") as caught:
        front.recommend(utility_loss=0.1)
    assert caught.value.best == 0.3


def test_buckets_are_not_said_to_be_k_anonymous():
    front = frontier_of([(0.1, 0.1), (0.2, 0.2)])
    bucket, other = front.points
    front = replace(front, points=(replace(bucket, people=8, form="buckets"), replace(other, people=8)))
    assert "Of the 1 bucket release" in front.recommend(membership_public=True).reason
    assert "no bucket release is k-anonymous" in front.recommend(membership_public=True).reason
    assert "k-anonymous" not in front.recommend().reason


def test_attacks_say_what_they_were_made_on():
    one = frontier_of([(0.1, 0.1)], attacks={"inference": {"sentence": "An attacker guesses.", "interval": (0, 0)}})
    (point,) = one.points
    assert "half of the table" in point.rehearsal
    assert "draws" not in point.rehearsal
    assert point.to_json()["rehearsal"] == point.rehearsal
    assert _gains(point)[0] == point.rehearsal
    assert "the first of 3 draws" in replace(point, privacy=Spread((0.1, 0.2, 0.3))).rehearsal
    assert replace(point, attacks={}).rehearsal == ""


@pytest.mark.parametrize(("stated", "counted"), [(True, "people"), (False, "rows")])
def test_rows_are_not_called_people(stated, counted):
    rows = drawn(1, 120)
    table = Table.from_codes(replace(PLANTED, rows_per_person=1, rows_stated=stated), rows)
    assert table.schema.unit == ("person" if stated else "row")
    front = sf.frontier(
        table,
        [sf.Mondrian(sf.KAnonymity(10))],
        privacy=["inference", "membership", "identity"],
        policy=sf.Policy(at_most={"inference": "0.5"}),
        workers=0,
        progress=False,
        panels=False,
    )
    said = [axis.formula for axis in front.axes]
    (point,) = front.points
    attack = point.attacks["inference"]
    doubtful = replace(point, attacks={"inference": {**attack, "interval": (0.0, 0.9)}})
    said.append(_doubts(doubtful, front.policy))
    other = "rows" if counted == "people" else "people"
    assert f"share of {counted} in the table" in said[0]
    assert f"this many {counted} it may be as large as 0.9" in said[-1]
    assert not any(f"of {other}" in text or f"many {other}" in text for text in said)
    assert all("people" not in one for one in attack["who"])


@pytest.mark.parametrize(
    ("unit", "by_rows"), [({"rows_per_person": 1}, False), ({"rows_per_person": 3}, True), ({}, False)]
)
def test_a_belief_that_counts_rows_is_known_to(unit, by_rows):
    """It grew 1.25 times over rows and 1.219 times over people, where the release counts people."""
    table = Table.from_codes(replace(PLANTED, **{"rows_per_person": 1, **unit}), drawn(1, 120))
    assert sweep(table).points[0].by_rows is by_rows


def test_a_belief_counts_rows_where_a_key_is_named():
    keyed = {
        "name": "visits",
        "source": "public",
        "person": "who",
        "attribute": {
            "who": {"role": "identifier"},
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 10]},
            "ill": {"role": "sensitive", "values": ["flu", "gout"]},
        },
    }
    codes = np.column_stack([np.arange(80) % 10, np.arange(80) // 3 % 2])
    whose = [f"v{at // 2}x" for at in range(80)]
    front = sweep(Table.from_codes(sf.Schema.parse(keyed), codes, people=whose), panels=True)
    assert front.points[0].by_rows
    assert "The belief in one value grows up to" in worst_findings(front.points[0])[0]
    assert worst_findings(front.points[0])[0].endswith(", counted in rows.")
    one = sf.Schema.parse(keyed | {"rows_per_person": 1})
    assert not sweep(Table.from_codes(one, codes, people=whose)).points[0].by_rows


def sweep(table, *, panels=False):
    front = sf.frontier(table, [sf.Mondrian(sf.KAnonymity(5))], workers=0, progress=False, panels=panels)
    assert not front.points[0].failed
    return front


def test_what_can_not_be_published_is_not_recommended(clinic):
    front = sf.frontier(clinic, [sf.Raw(), sf.Suppress()], workers=0, progress=False)
    assert all(point.efficient for point in front.points)
    assert front.recommend(utility_loss=1.0).point.label == "Suppress"
    with pytest.raises(Infeasible):
        front.recommend(utility_loss=0.0)
    with pytest.raises(Infeasible, match="no release could be made"):
        sf.frontier(clinic, [sf.Raw()], workers=0, progress=False).recommend()


def test_a_proved_claim_brings_its_own_caution():
    proved = frontier_of(SOME, claim={"kind": "proved"}, bound=0.03, drew=True).recommend()
    assert "the proof does not cover that choice" in proved.caution
    assert "proves a privacy loss of at most 0.03 nats for one row;" in proved.reason  # older claims count rows
    people = frontier_of(SOME, claim={"kind": "proved", "unit": "person"}, bound=0.03, drew=True).recommend()
    assert "nats for one person;" in people.reason
    assert type(proved.mechanism).__name__ == "Chosen"


def with_buckets(pairs, buckets):
    """A frontier in which the points of the given numbers are buckets."""
    front = frontier_of(pairs)
    return replace(
        front,
        points=tuple(replace(one, form="buckets" if one.number in buckets else "generalized") for one in front.points),
    )


numbers = st.sets(st.integers(1, 9))


@given(st.lists(st.tuples(figures, figures), min_size=1, max_size=9), numbers, figures)
@example([(0.1, 0.0), (0.0, 0.2), (0.0, 0.2)], {1}, 0.0)  # all but the bucket release have one utility
def test_buckets_are_recommended_only_where_membership_may_be_public(pairs, buckets, privacy):
    front = with_buckets(pairs, buckets)
    rest = [pair for at, pair in enumerate(pairs, 1) if at not in buckets]
    for limits in ({}, {"privacy_loss": privacy}):
        x = limits.get("privacy_loss", math.inf)
        if not any(pair[0] <= x for pair in rest):
            with pytest.raises(Infeasible) as answer:
                front.recommend(**limits)
            assert ("--membership-public" in str(answer.value)) == (not rest or any(pair[0] <= x for pair in pairs))
            continue
        said = front.recommend(**limits)
        alone = frontier_of(rest).recommend(**limits)  # the same choice as if nobody had swept buckets
        assert (said.point.privacy, said.point.utility) == (alone.point.privacy, alone.point.utility)
        assert said.point in front.efficient_without_buckets
        assert {one.number for one in said.left_out} == {one.number for one in front.points if one.buckets}
        free = front.recommend(**limits, membership_public=True)
        assert free.left_out == ()
        assert said.bucket == (free.point if free.point.buckets else None)
        assert ("A bucket release would lose less" in said.note) == free.point.buckets


def test_the_efficient_set_does_not_depend_on_what_is_left_out():
    front = with_buckets(SOME, {3, 4})
    assert [one.number for one in front.efficient] == [one.number for one in frontier_of(SOME).efficient]
    assert [one.number for one in front.efficient_without_buckets] == [1, 2, 5, 6]
    assert front.to_json()["efficient_without_buckets"] == [1, 2, 5, 6]


def test_what_is_left_out_is_stated_with_the_reason_the_price_and_how_to_ask():
    said = with_buckets(SOME, {3, 4}).recommend()
    assert said.point.number == 2
    assert said.note.startswith(
        "2 bucket releases were left out of this recommendation: they publish everybody's exact"
    )
    assert (
        "A bucket release would lose less utility: Mondrian k-anonymity(3) (privacy loss 0.2, utility loss 0.1)"
        in said.note
    )
    assert "ask for buckets with --membership-public (in Python membership_public=True)" in said.note
    assert said.note in str(said)
    assert said.to_json()["bucket"] == {"point": 3, "label": "Mondrian k-anonymity(3)"}
    beaten = with_buckets(SOME, {5}).recommend()
    assert beaten.note.startswith("1 bucket release was left out of this recommendation: it publishes")
    assert beaten.note.endswith("It would not have been recommended instead.")
    assert frontier_of(SOME).recommend().note == ""


def test_a_recommended_bucket_release_says_once_that_membership_is_public():
    said = frontier_of(SOME, form="buckets").recommend(membership_public=True)
    assert said.note.startswith("Membership is public")
    assert str(said).count("who is in the table") == 1
    with pytest.raises(Infeasible, match=r"only bucket releases could be made .* ask for buckets with"):
        frontier_of(SOME, form="buckets").recommend()


def test_alternatives_are_the_best_of_other_methods(clinic):
    points = sf.sweep(sf.sweep(sf.Mondrian, k=[5, 50]), sf.sweep(sf.Bucketize, t=["0.05", "0.2"]), sf.Suppress())
    front = sf.frontier(clinic, points, workers=0, progress=False)
    for public, kinds in ((False, ["Mondrian", "Suppress"]), (True, ["Bucketize", "Mondrian", "Suppress"])):
        said = front.recommend(membership_public=public)
        assert sorted(type(point.mechanism).__name__ for point in (said.point, *said.alternatives)) == kinds
        assert said.to_json()["alternatives"][0]["label"] == said.alternatives[0].label


@given(figures, figures, st.sampled_from([-0.05, 0.0, 0.09, 0.11, 0.5]))
def test_a_share_of_publishing_the_table_is_that_of_its_own_figure(suppressed, utility, gain):
    """Not counted from Suppress: a release that an attack gains less on would have a negative share."""
    said = frontier_of([(gain, utility)], suppressed=(suppressed, 1.0), raw=(1.0, 0.0)).recommend().reason
    assert f"That is {100 * max(gain, 0):.0f} % of the privacy loss of publishing the table as it is, and " in said


def test_shares_are_said_only_of_ends_that_were_measured():
    nothing = (math.nan, math.nan)
    assert "That is" not in frontier_of(SOME, suppressed=nothing, raw=nothing).recommend().reason
    assert "of publishing the table" not in frontier_of(SOME, raw=(0.0, 0.0)).recommend().reason
    lost = frontier_of([(0.1, 0.6)], suppressed=(0, 0.5), raw=(1, 1), better="more").recommend().reason
    assert "80 % of the utility loss that is lost by removing all quasi-identifiers" in lost


def test_the_caution_about_an_estimate_does_not_say_that_the_file_shows_it():
    said = frontier_of(SOME, claim={"kind": "estimate"}).recommend().caution
    assert "an estimate and can be wrong" in said
    assert "checked on the published file" not in said


def two_private_columns(role="sensitive"):
    """Pay follows age; illness does not."""
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 10], "step": 1},
        "ill": {"role": role, "kind": "nominal", "values": ["a", "b", "c"]},
        "pay": {"role": role, "kind": "nominal", "values": ["high", "low"]}}})  # fmt: skip
    codes = [(at % 10, at * at % 11 % 3, int(at % 10 < 7)) for at in range(400)]
    return Table.from_codes(schema, codes)


def test_figures_by_attribute_are_never_those_of_another_axis():
    """The inference gains of each attribute were printed as its privacy losses."""
    points = [sf.Mondrian(sf.KAnonymity(k)) for k in (5, 20)]
    front = sf.frontier(
        two_private_columns(), points, privacy=["inference", "privacy_loss"], workers=0, progress=False, panels=False
    )
    assert "The inference gain is the figure of" in front.recommend().reason
    moved = front.on("privacy_loss").recommend().reason
    assert "The privacy loss is the figure of" not in moved
    assert "The utility loss is the figure of" in moved


def test_targets_are_not_called_sensitive():
    points = [sf.Mondrian(sf.KAnonymity(5))]
    front = sf.frontier(two_private_columns("target"), points, workers=0, progress=False, panels=False)
    assert "the worst of 2 attributes:" in front.recommend().reason
