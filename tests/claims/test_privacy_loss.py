"""P_loss is the worst record's divergence from the overall distribution; the proved bound stands apart."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.claims.small_worlds import histograms, js_slowly, publish, random_release, shares, small_schema, small_table

from sfumato.claims import ApproxDP, Claim, KAnonymity, LDiversity, Neighbours, PureDP, TCloseness
from sfumato.counts import Table
from sfumato.errors import NotComparable, ParameterError
from sfumato.measures import dp_bound, js_divergence, membership_bound, privacy_loss, proved_bound
from sfumato.mechanisms.raw import Raw
from sfumato.mechanisms.suppress import Suppress

OCCUPATION = [314, 1331, 1063, 1196, 1323, 1329, 452, 657, 1225, 327, 512, 52, 216, 3]  # tradeoff, section 5.1
seeds = st.integers(0, 2**32 - 1)


def overall(table, attribute="ill"):
    return table.counts([attribute]).histogram(attribute).tolist()


@pytest.mark.parametrize("kind", ["classes", "buckets"])
@settings(max_examples=40)
@given(seed=seeds)
def test_equals_the_definition_record_by_record(kind, seed):
    table = small_table(seed)
    release, landed = random_release(table, seed, kind)
    q, groups = shares(overall(table)), histograms(release, "ill")
    slow = [js_slowly(q, shares(groups[g])) for g in landed.group.tolist()]
    for one in (release, replace(release, residence=landed)):
        found = privacy_loss(table, one)
        assert found.value == pytest.approx(max(slow), abs=1e-12)
        assert found.mean == pytest.approx(sum(slow) / len(slow), abs=1e-12)
        assert found.records.sum() == table.rows
        ranked = sorted(slow)
        for share in (0.0, 0.3, 0.5, 1.0):
            place = max(0, math.ceil(share * len(ranked)) - 1)
            assert found.quantile(share) == pytest.approx(ranked[place], abs=1e-12)


@settings(max_examples=40)
@given(seed=seeds)
def test_suppress_is_exactly_zero(seed):
    table = small_table(seed)
    found = privacy_loss(table, publish(table, Suppress()))
    assert found.value == 0.0
    assert (found.largest_ratio, found.smallest_ratio) == (1.0, 1.0)


def test_groups_with_the_overall_shares_are_exactly_zero():
    # 7 of 49 and 1 of 7: equal as fractions, and so as floats.
    rows = [[0, 0, 0, 0, 0]] * 1 + [[0, 0, 0, 1, 0]] * 6 + [[1, 0, 0, 0, 0]] * 6 + [[1, 0, 0, 1, 0]] * 36
    table = Table.from_codes(small_schema(), np.array(rows))
    assert privacy_loss(table, publish(table, Raw())).value == 0.0


def test_vectors_of_the_paper():
    """lili.js.armed, lili.js.craft, lili.js.armed.exact, lili.js.self, lili.delta.class1."""
    shown = np.eye(14)
    assert js_divergence(OCCUPATION, shown[13]) == pytest.approx(0.6917803988496988, abs=1e-12)
    assert js_divergence(OCCUPATION, shown[1]) == pytest.approx(0.4881442960345714, abs=1e-12)
    assert js_divergence(OCCUPATION, OCCUPATION) == 0.0
    # Class {x: 3, y: 2, z: 1} against Q = (0.4, 0.4, 0.2), so that the largest |ln p / q| is ln 1.25.
    rows = [[0, 0, 0, s, 0] for s, n in enumerate((3, 2, 1)) for _ in range(n)]
    rows += [[1, 0, 0, s, 0] for s, n in enumerate((1, 2, 1)) for _ in range(n)]
    table = Table.from_codes(small_schema(), np.array(rows))
    found = privacy_loss(table, publish(table, Raw()))
    group = int(np.flatnonzero(found.records == 6)[0])
    assert found.per_group[group] == pytest.approx(js_divergence([3, 2, 1], [4, 4, 2]))
    assert math.log(Fraction(3, 6) / Fraction(4, 10)) == pytest.approx(0.22314355131420976, abs=1e-12)
    assert found.largest_ratio == pytest.approx(1.25)
    assert found.smallest_ratio == pytest.approx(0.25 / 0.4)


def test_the_largest_feasible_l():
    """lili.l.max: 1 / max q = 7.513148."""
    table, all_rows = np.array([OCCUPATION]), np.array(OCCUPATION)
    assert LDiversity("7.5131").check(table, all_rows).all()
    assert not LDiversity("7.5132").check(table, all_rows).any()


def test_bound_vectors():
    """lili.dp_bound.1.0, .2.0, .4.0."""
    assert dp_bound(1) == pytest.approx(0.03029986198076591, abs=1e-12)
    assert dp_bound(2) == pytest.approx(0.11094407167172736, abs=1e-12)
    assert dp_bound(4) == pytest.approx(0.3278133254727377, abs=1e-12)
    assert dp_bound(0) == 0.0
    assert dp_bound("1e-6") == pytest.approx(1e-12 / 32, rel=1e-6)
    assert dp_bound(10**9) == pytest.approx(math.log(2))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_posterior_exceeds_the_bound_and_one_attains_it(epsilon):
    rng, bound = np.random.default_rng(5), dp_bound(epsilon)
    largest = 0.0
    for _ in range(4000):
        size = rng.integers(2, 7)
        prior = rng.dirichlet(np.full(size, rng.choice([0.2, 1, 5])))
        likelihood = np.exp(epsilon * (rng.random(size) if rng.random() < 0.5 else rng.integers(0, 2, size)))
        posterior = prior * likelihood
        if prior.sum() and posterior.sum():
            largest = max(largest, js_divergence(prior, posterior))
    grid = np.linspace(1e-6, 1 - 1e-6, 4001)
    two_levels = max(js_divergence([a, 1 - a], [a * math.exp(epsilon), 1 - a]) for a in grid)
    assert max(largest, two_levels) <= bound + 1e-12
    a = 1 / (1 + math.exp(epsilon / 2))
    assert js_divergence([a, 1 - a], [a * math.exp(epsilon), 1 - a]) == pytest.approx(bound, abs=1e-12)


def test_the_bound_doubles_for_add_or_remove_and_is_silent_elsewhere():
    claim = Claim(PureDP(1), neighbours=Neighbours.ADD_OR_REMOVE_ONE)
    assert proved_bound(claim) == dp_bound(2)
    assert proved_bound(Claim(PureDP(1), neighbours=Neighbours.REPLACE_ONE)) == dp_bound(1)
    assert proved_bound(Claim(ApproxDP(1, delta="1e-6"), neighbours=Neighbours.REPLACE_ONE)) is None
    assert proved_bound(Claim(KAnonymity(5))) is None


def test_measured_and_bound_are_never_mixed():
    """Trap 40: noise alone makes the measured loss larger than what the claim allows; both are shown as they are."""
    table = small_table(4, rows=24)
    raw = publish(table, Raw())
    noisy = replace(raw, claim=Claim(PureDP("1/100"), neighbours=Neighbours.REPLACE_ONE))
    found = privacy_loss(table, noisy)
    assert found.bound == dp_bound("1/100")
    assert found.value == privacy_loss(table, raw).value > found.bound
    assert privacy_loss(table, raw).bound is None


def test_residence_leaves_out_groups_that_hold_no_record():
    table = small_table(8, rows=20)
    release, landed = random_release(table, 8, "classes")
    all_groups = privacy_loss(table, release)
    worst = int(np.argmax(all_groups.per_group))
    moved = replace(landed, group=np.where(landed.group == worst, (worst + 1) % len(release.groups), landed.group))
    found = privacy_loss(table, replace(release, residence=moved))
    assert found.found_by == "residence"
    assert found.value == pytest.approx(np.delete(all_groups.per_group, worst).max())


def test_drivers_name_groups_and_values():
    table = small_table(13, rows=24)
    release, _ = random_release(table, 13, "classes")
    found = privacy_loss(table, release, drivers=2)
    first = found.drivers[0]
    assert first.loss == found.value
    assert len(found.drivers) == min(2, len(release.groups))
    assert set(first.labels) == {"job", "age", "town"}
    assert first.values[0].js_part == max(shift.js_part for shift in first.values)
    assert sum(shift.js_part for shift in first.values) <= first.loss + 1e-12
    json.dumps(found.to_json(), allow_nan=False)
    json.dumps(found.measured().to_json(), allow_nan=False)
    assert found.confidential
    assert found.measured().confidential


@pytest.mark.parametrize("kind", ["classes", "buckets", "noise"])
@settings(max_examples=25)
@given(seed=seeds)
def test_other_distances(kind, seed):
    table = small_table(seed)
    release, _ = random_release(table, seed, kind)
    q = overall(table)
    slow_kl, slow_emd = [0.0], [0.0]
    for g, counts in enumerate(histograms(release, "ill")):
        if not sum(counts) or not release.groups.weight[g]:
            continue
        p, pairs = shares(counts), list(zip(shares(counts), shares(q), strict=True))
        gone = any(a and not b for a, b in pairs)
        slow_kl.append(math.inf if gone else sum(float(a) * math.log(a / b) for a, b in pairs if a))
        slow_emd.append(float(sum(abs(a - b) for a, b in pairs) / 2))  # nominal without a hierarchy: equal distance
        assert sum(p) == 1
    assert privacy_loss(table, release, distance="kl").value == pytest.approx(max(slow_kl), abs=1e-12)
    assert privacy_loss(table, release, distance="emd").value == pytest.approx(max(slow_emd), abs=1e-12)


def test_emd_is_that_of_the_requirement():
    table = small_table(21, rows=24)
    release, _ = random_release(table, 21, "classes")
    found = privacy_loss(table, release, distance="emd", attribute="pay").value
    counts = release.groups.histogram("pay")
    requirement = TCloseness(Fraction(str(round(found, 9) + 1e-9)), distance="emd")
    tighter = TCloseness(Fraction(str(max(0.0, round(found, 9) - 1e-6))), distance="emd")
    from sfumato.release import ground_of

    ground = ground_of(table.schema["pay"])
    assert requirement.check(counts, np.array(overall(table, "pay")), ground=ground).all()
    assert not tighter.check(counts, np.array(overall(table, "pay")), ground=ground).all()


def test_wrong_mutants_are_caught():
    """Traps 28 (log2), 29 (square root), 30 (average): on these releases each gives another number."""
    different = {"log2": 0, "root": 0, "mean": 0}
    for seed in range(30):
        table = small_table(seed, rows=20)
        release, _ = random_release(table, seed, "classes")
        found = privacy_loss(table, release)
        if not found.value:
            continue
        different["log2"] += abs(found.value / math.log(2) - found.value) > 1e-6
        different["root"] += abs(math.sqrt(found.value) - found.value) > 1e-6
        different["mean"] += abs(found.mean - found.value) > 1e-6
    assert min(different.values()) >= 10


def test_rows_in_another_order_change_nothing():
    table = small_table(6, rows=24)
    again = Table.from_codes(table.schema, table.codes()[::-1])
    release, _ = random_release(table, 6, "buckets")
    assert privacy_loss(table, release).to_json() == privacy_loss(again, release).to_json()


def test_refusals_name_what_is_wrong():
    table = small_table(1)
    release = publish(table, Raw())
    with pytest.raises(ParameterError, match="distance"):
        privacy_loss(table, release, distance="euclid")
    with pytest.raises(NotComparable, match="neither sensitive nor target"):
        privacy_loss(table, release, attribute="age")
    with pytest.raises(NotComparable, match="carries none of ill"):
        privacy_loss(table, publish(table.with_roles(sensitive=[]), Raw()))
    empty = Table.from_codes(table.schema, np.zeros((0, 5), np.int32))
    with pytest.raises(NotComparable, match="no rows"):
        privacy_loss(empty, release)


@pytest.mark.parametrize("neighbours", [Neighbours.REPLACE_ONE, Neighbours.ONE_ORIGIN])
def test_a_claim_that_does_not_protect_who_took_part_bounds_no_membership(neighbours):
    """Its own words are that it is not protected; a bound of 0.46 was printed beside them."""
    claim = Claim(PureDP(1), neighbours=neighbours)
    assert "is not protected" in claim.describe()
    assert membership_bound(claim) == 1
    assert membership_bound(replace(claim, neighbours=Neighbours.ADD_OR_REMOVE_ONE)) == pytest.approx(math.tanh(1 / 2))
