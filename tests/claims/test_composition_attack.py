"""The composition attack equals its definition: brute force over all boxes, in fractions."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.claims.paper_tables import (
    TABLE_1A,
    TABLE_1B,
    TABLE_2A,
    TABLE_2B,
    TABLE_3A,
    TABLE_3B,
    VALUES,
    noisy,
    paper_schema,
    people,
    published,
    with_homes,
)
from tests.claims.small_worlds import random_release, small_schema, small_table

from sfumato.attacks import Gain, composition, draw_samples, wilson
from sfumato.attacks.composing.narrowing import LOCAL_ROWS, by_label
from sfumato.claims import Claim, KAnonymity, Nothing
from sfumato.counts import Table
from sfumato.datasets import adult
from sfumato.errors import NotComparable, ParameterError
from sfumato.estimate import align
from sfumato.mechanisms import Anatomy, Mondrian
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.release import assemble
from sfumato.schema import Labels, Schema

seeds = st.integers(0, 2**32 - 1)
KINDS = ("classes", "buckets", "noise")
PRIORS = ("local", "overall", "uniform")

# -- the slow attack ------------------------------------------------------------------------


def groups_by_label(release, known):
    """{group: density} of the boxes whose labels hold all known codes. Box by box."""
    found = {}
    boxes = release.boxes
    for b in range(len(boxes)):
        density = Fraction(int(boxes.weight[b]))
        for at, table in enumerate(boxes.tables):
            label = {c for low, high in table.intervals(int(boxes.labels[b, at])) for c in range(low, high)}
            density = density / len(label) if known[at] in label else Fraction(0)
        if density:
            g = int(boxes.group[b])
            found[g] = found.get(g, 0) + density / int(release.groups.weight[g])
    return found


def groups_by_residence(release, known, value):
    found = {}
    width = len(release.quasi)
    landed = release.residence
    for row, g, weight in zip(landed.codes, landed.group, landed.weight, strict=True):
        if row[:width].tolist() == list(known) and row[width] == value:
            found[int(g)] = found.get(int(g), 0) + Fraction(int(weight), int(release.groups.weight[g]))
    return found


def attack_slowly(releases, known, value, reading, prior):
    """(values left, posterior) of one victim from the definitions."""
    histograms = [release.groups.histogram("ill").toarray().tolist() for release in releases]
    overall = [sum(row[s] for h in histograms for row in h) for s in range(4)]
    p = [Fraction(count, sum(overall)) for count in overall]
    left, counts = {s for s in range(4) if overall[s]}, []
    for release, h in zip(releases, histograms, strict=True):
        homes = groups_by_label(release, known) if reading == "label" else groups_by_residence(release, known, value)
        allowed = {s for g in homes for s in range(4) if h[g][s] > 0}
        if allowed:
            left &= allowed
            whole = sum(homes.values())
            counts.append([sum(share * h[g][s] for g, share in homes.items()) / whole for s in range(4)])
    belief = p
    if left and counts:
        belief = [Fraction(math.prod(n[s] for n in counts)) if s in left else Fraction(0) for s in range(4)]
        for i in range(1, len(counts)):
            local = [max(sum(n[s] for n in counts) - i, Fraction(0)) + LOCAL_ROWS * p[s] for s in range(4)]
            divisor = {"uniform": [Fraction(1)] * 4, "overall": p, "local": local}[prior]
            belief = [b / q if b else b for b, q in zip(belief, divisor, strict=True)]
    total = sum(belief)
    return left, [b / total for b in belief]


def releases_of(seed, kinds):
    """Releases of one small table, with their residence where they have one."""
    table = small_table(seed)
    found = []
    for at, kind in enumerate(kinds):
        release, landed = random_release(table, seed + at, kind)
        found.append(replace(release, residence=landed))
    return table, found


@settings(max_examples=60)
@given(seeds, st.lists(st.sampled_from(KINDS), min_size=1, max_size=3), st.sampled_from(PRIORS))
def test_equals_the_slow_attack(seed, kinds, prior):
    table, releases = releases_of(seed, kinds)
    if not sum(release.groups.histogram("ill").sum() for release in releases):
        return
    check_against_slow(releases, table, "label", prior)
    if "noise" not in kinds:
        check_against_slow(releases, table, "residence", prior)


def check_against_slow(releases, table, reading, prior):
    found = composition(releases, table, reading=reading, prior=prior, d=2, attribute="ill")
    width = len(table.schema.quasi)
    for at, row in enumerate(table.codes().tolist()):
        left, belief = attack_slowly(releases, row[:width], row[width], reading, prior)
        texts = {table.schema["ill"].text(s) for s in left}
        assert set(found.records.candidates(at)) == texts
        assert found.records.left[at] == len(left)
        assert found.records.posterior[at] == pytest.approx(float(max(belief)), rel=1e-9)
        assert float(belief[found.records.guess[at]]) == pytest.approx(float(max(belief)), rel=1e-9)
        assert found.records.held[at] == (row[width] in left)
        if reading == "residence":
            assert row[width] in left


@settings(max_examples=60)
@given(seeds)
def test_joined_boxes_are_the_boxes_that_hold(seed):
    """Single values (joined), pairs of values and whole domains, in any mixture over the attributes."""
    rng = np.random.default_rng(seed)
    schema = small_schema()
    many = int(rng.integers(1, 12))
    made = []
    for attribute in schema.quasi:
        width = {0: 1, 1: 1, 2: 2, 3: attribute.size}[int(rng.integers(4))]
        low = rng.integers(0, attribute.size - width + 1, many)
        made.append(Labels.from_hulls(attribute, low, low + width))
    release, _ = assemble(
        schema,
        tables=tuple(m[0] for m in made),
        labels=np.column_stack([m[1] for m in made]),
        weight=rng.integers(1, 4, many),
        group=np.arange(many),
        carried_group=np.arange(many),
        carried_codes=np.column_stack([rng.integers(0, a.size, many) for a in schema.carried]),
        carried_weight=np.ones(many, int),
        claim=Claim(Nothing()),
    )
    victims = np.column_stack([rng.integers(0, a.size, 15) for a in schema.quasi])
    found = by_label(align(release, schema), victims).holds.toarray()
    expected = [set(groups_by_label(release, row)) for row in victims.tolist()]
    assert [set(np.flatnonzero(row).tolist()) for row in found] == expected


@settings(max_examples=30)
@given(seeds)
def test_one_more_release_never_leaves_more(seed):
    table, releases = releases_of(seed, ("classes", "buckets", "classes"))
    left = [composition(releases[:many], table).records.left for many in (1, 2, 3)]
    assert (left[0] >= left[1]).all()
    assert (left[1] >= left[2]).all()


@settings(max_examples=30)
@given(seeds)
def test_shares_equal_their_definitions(seed):
    table, releases = releases_of(seed, ("classes", "classes"))
    others = small_table(seed + 1)
    found = composition(releases, table, d=3, control=others)
    records = found.records
    n = table.rows
    assert found.rate == sum(records.left == 1) / n
    assert found.below_d == sum(1 <= left < 3 for left in records.left.tolist()) / n
    assert found.tally.right.rate == sum((records.left == 1) & records.held) / n
    assert found.tally.exposed.rate == sum((records.left >= 1) & (records.left < 3) & records.held) / n
    assert found.tally.guessed.rate == sum(records.guess == records.truth) / n
    assert found.confidence == pytest.approx(records.posterior.mean())
    alone = composition(releases[:1], table, d=3)
    assert replace(found.alone[0], confidence=0) == replace(alone.tally, confidence=0)
    assert found.alone[0].confidence == pytest.approx(alone.confidence)
    assert found.control == composition(releases, others, d=3).tally
    assert found.baseline.rate == max(sum(records.truth == value) for value in set(records.truth.tolist())) / n


# -- the paper's example ---------------------------------------------------------------------


def test_alice_and_emu():
    # dlink.alice, dlink.emu, dlink.attack_accuracy, dlink.breach.d2
    victims = people(TABLE_1A, "Emu", "Alice")  # in this order
    a, b = with_homes(published(TABLE_2A), TABLE_1A), with_homes(published(TABLE_2B), TABLE_1B)
    for reading in ("label", "residence"):
        found = composition([a, b], victims, d=2, reading=reading)
        assert found.records.left.tolist() == [3, 1]
        assert found.records.candidates(1) == ("Diabetes",)
        assert set(found.records.candidates(0)) == {"Cough", "Diabetes", "Flu"}
        assert 100 * found.rate == 50.0
        assert (found.records.left < 2).tolist() == [False, True]
        assert found.below_d == 0.5
        assert found.records.guesses()[1] == "Diabetes"
        assert found.records.posterior[1] == 1.0
        assert [part.rate for part in found.alone] == [0.0, 0.0]
    assert isinstance(found.gain, Gain)
    assert found.confidential


def test_emu_matches_two_classes():
    schema = paper_schema()
    victims = people(TABLE_1A, "Emu", "Alice").codes(["age", "sex", "zip"])
    first = by_label(align(published(TABLE_2A), schema), victims).holds
    second = by_label(align(published(TABLE_2B), schema), victims).holds
    assert np.diff(first.indptr).tolist() == [1, 1]
    assert np.diff(second.indptr).tolist() == [2, 1]


def test_noisy_counts_leave_alice_every_value():
    found = composition([noisy(TABLE_3A), noisy(TABLE_3B)], people(TABLE_1A, "Emu", "Alice"))
    # Emu by label: the men of 3(a) have no Flu; the second class of 3(b) has everything.
    assert found.records.left.tolist() == [5, 6]
    assert set(found.records.candidates(0)) == set(VALUES) - {"Flu"}


def test_victims_in_another_schema():
    # The same people, values listed in another order: codes differ, results do not.
    other = paper_schema(sorted(VALUES, reverse=True))
    found = composition([published(TABLE_2A), published(TABLE_2B)], people(TABLE_1A, "Emu", "Alice", schema=other), d=2)
    assert found.records.candidates(1) == ("Diabetes",)
    assert found.tally.right.rate == 0.5


def test_without_the_truth_the_attack_is_the_same():
    victims = people(TABLE_1A, "Emu", "Alice").with_roles(sensitive=[])
    found = composition([published(TABLE_2A), published(TABLE_2B)], victims)
    assert found.rate == 0.5
    assert (found.tally.right, found.tally.guessed, found.baseline, found.records.truth) == (None, None, None, None)
    assert found.to_json()["together"]["right"] is None
    assert "Exactly one value left: 50.00 %" in found.describe()


def test_a_victim_no_class_holds_is_not_narrowed():
    tight = published({"age": ["15"], "sex": ["F"], "zip": ["5001"], "diagnosis": ["Flu"]})
    found = composition([published(TABLE_2A), tight], people(TABLE_1A, "Alice"))
    assert set(found.records.candidates(0)) == {"Diabetes", "Fever"}
    assert found.alone[1].unmatched.rate == 1.0
    assert found.tally.unmatched.rate == 0.0


def test_when_nothing_is_left_nobody_is_below_d():
    wrong = published({"age": ["*"], "sex": ["*"], "zip": ["*"], "diagnosis": ["Hepatitis"]})
    found = composition([published(TABLE_2A), wrong], people(TABLE_1A, "Alice"))
    assert found.records.left.tolist() == [0]
    assert (found.rate, found.below_d, found.tally.nothing.rate) == (0.0, 0.0, 1.0)
    assert found.records.candidates(0) == ()


def test_drawn_counts_are_noted():
    drawn = replace(noisy(TABLE_3A), form="cells", left_out=3)
    found = composition([published(TABLE_2A), drawn], people(TABLE_1A))
    assert [note.split(":")[0] for note in found.notes] == [
        "Release 2 holds drawn counts",
        "Release 2 left out 3 rows",
    ]
    assert found.notes[0] in found.describe()
    assert composition([published(TABLE_2A)], people(TABLE_1A)).notes == ()


# -- the posterior ---------------------------------------------------------------------------


def flat_release(histograms):
    """One class for each age, with the given counts of `ill`."""
    schema = small_schema().with_roles(quasi=["age"], sensitive="ill", target=[])
    many = len(histograms)
    table, ids = Labels.from_hulls(schema["age"], np.arange(many), np.arange(many) + 1)
    entries = [(g, s, c) for g, h in enumerate(histograms) for s, c in enumerate(h) if c]
    release, _ = assemble(
        schema,
        tables=(table,),
        labels=ids[:, None],
        weight=np.array([sum(h) for h in histograms]),
        group=np.arange(many),
        carried_group=np.array([e[0] for e in entries]),
        carried_codes=np.array([[e[1]] for e in entries]),
        carried_weight=np.array([e[2] for e in entries]),
        claim=Claim(Nothing()),
    )
    return release, Table.from_codes(schema, np.array([[0, 0]]))


def test_nine_to_one_twice_is_eighty_one_to_one():
    # dlink.posterior_skew: two values left are not 1/2 each.
    release, victim = flat_release([[9, 1, 0, 0]])
    found = composition([release, release], victim, prior="uniform")
    assert found.records.left.tolist() == [2]
    assert found.confidence == pytest.approx(0.9878048780487805, abs=1e-12)


def test_posterior_is_bayes_by_enumeration():
    # Two classes of 3 people at age 0, and enough others that the overall distribution is known.
    mine, theirs = [2, 1, 0, 0], [1, 1, 1, 0]
    first, victim = flat_release([mine, [4, 6, 3, 1]])
    second, _ = flat_release([theirs, [2, 5, 6, 2]])
    overall = first.groups.overall["ill"] + second.groups.overall["ill"]
    prior = [Fraction(int(c), int(overall.sum())) for c in overall]
    chance = [Fraction(0)] * 4
    for value in range(4):
        # The victim has `value` in both classes; two others in each are drawn from the prior.
        for others in itertools.product(range(4), repeat=4):
            counts = [[value, *others[:2]], [value, *others[2:]]]
            if [[c.count(s) for s in range(4)] for c in counts] == [mine, theirs]:
                chance[value] += prior[value] * math.prod(prior[s] for s in others)
    expected = [float(c / sum(chance)) for c in chance]
    found = composition([first, second], victim, prior="overall")
    assert found.records.left.tolist() == [2]
    assert found.records.guess[0] == int(np.argmax(expected))
    assert found.confidence == pytest.approx(max(expected), rel=1e-12)


def test_the_local_posterior_is_an_urn_by_enumeration():
    """Victim and others are drawn from one unknown law with a Dirichlet prior: a Polya urn."""
    mine, theirs = [2, 1, 1, 0], [1, 1, 1, 0]
    first, victim = flat_release([mine, [4, 6, 3, 1]])
    second, _ = flat_release([theirs, [2, 5, 6, 2]])
    overall = first.groups.overall["ill"] + second.groups.overall["ill"]
    start = [LOCAL_ROWS * Fraction(int(c), int(overall.sum())) for c in overall]

    def urn(draws):
        balls, chance = list(start), Fraction(1)
        for s in draws:
            chance *= balls[s] / sum(balls)
            balls[s] += 1
        return chance

    chance = [Fraction(0)] * 4
    for value in range(4):
        for others in itertools.product(range(4), repeat=5):
            counts = [[value, *others[:3]], [value, *others[3:]]]
            if [[c.count(s) for s in range(4)] for c in counts] == [mine, theirs]:
                chance[value] += urn([value, *others])
    expected = [float(c / sum(chance)) for c in chance]
    found = composition([first, second], victim)
    assert found.records.left.tolist() == [3]
    assert found.records.guess[0] == int(np.argmax(expected))
    assert found.confidence == pytest.approx(max(expected), rel=1e-12)


def test_the_local_prior_is_calibrated():
    """On average the guess is right as often as it says; under the overall prior it is not (the mutant)."""
    table = adult().with_roles(sensitive="occupation", target=[])
    drawn = draw_samples(table, size=9000, overlap=3000, seed=1)
    mechanism = Mondrian(KAnonymity(10), cut="widest")
    releases = [run(mechanism, gather(mechanism, part), Entropy.seeded(0)) for part in drawn.tables]
    local = composition(releases, drawn.shared)
    mutant = composition(releases, drawn.shared, prior="overall")
    # 3,000 victims: the standard error of the share is below 0.9 points, so 3 points are more than three of them.
    assert abs(local.confidence - local.tally.guessed.rate) < 0.03
    assert mutant.confidence - mutant.tally.guessed.rate > 0.08


def test_interval_covers():
    """Exact coverage over a grid; the textbook interval is the mutant."""
    n = 40

    def coverage(p, interval):
        return sum(
            math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1) if interval(x)[0] <= p <= interval(x)[1]
        )

    def wald(x):
        half = 1.96 * math.sqrt(x / n * (1 - x / n) / n)
        return x / n - half, x / n + half

    grid = [0.03, 0.1, 0.2, 0.3, 0.5, 0.8, 0.97]
    assert min(coverage(p, lambda x: wilson(x, n)) for p in grid) >= 0.92
    assert min(coverage(p, wald) for p in grid) < 0.75


# -- mutants, refusals, anchors ------------------------------------------------------------


def test_wrong_mutants_are_caught():
    # Trap 22: releases about different attributes cannot be intersected, whatever their codes.
    table = small_table(5, rows=20)
    by_illness = random_release(table.with_roles(sensitive="ill", target=[]), 1, "classes")[0]
    by_pay = random_release(table.with_roles(sensitive="pay", target=[]), 1, "classes")[0]
    with pytest.raises(NotComparable, match=r"nothing to intersect\. Carried: release 1 ill; release 2 pay"):
        composition([by_illness, by_pay], table)
    # Trap 23: by label Emu may be in two classes of each release, by residence in one. A mutant that takes one
    # release by label and the other by residence gives neither figure; ours uses one reading for all, and never falls
    # back.
    a = {**TABLE_2B, "diagnosis": ["Cough", "Cough", "Flu", "Flu", "Diabetes", "Diabetes", "Fever", "Fever"]}
    b = {**TABLE_2B, "diagnosis": ["Cough", "Cough", "Diabetes", "Diabetes", "Flu", "Flu", "Fever", "Fever"]}
    first, second = with_homes(published(a), TABLE_1A), with_homes(published(b), TABLE_1B)
    emu = people(TABLE_1A, "Emu")
    assert composition([first, second], emu, reading="label").records.left.tolist() == [4]
    assert composition([first, second], emu, reading="residence").records.left.tolist() == [1]
    by_label_in_one = set(composition([first], emu, reading="label").records.candidates(0))
    by_home_in_other = set(composition([second], emu, reading="residence").records.candidates(0))
    assert len(by_label_in_one & by_home_in_other) == 2
    with pytest.raises(NotComparable, match="where rows landed"):
        composition([first, replace(second, residence=None)], emu, reading="residence")
    # Trap 25 is in test_overlap_experiment.py.


def test_bad_parameters():
    a, victims = published(TABLE_2A), people(TABLE_1A)
    with pytest.raises(ParameterError, match="d = 1"):
        composition([a], victims, d=1)
    with pytest.raises(ParameterError, match="reading"):
        composition([a], victims, reading="both")
    with pytest.raises(ParameterError, match="releases"):
        composition([], victims)
    with pytest.raises(ParameterError, match="releases"):
        composition(a, victims)
    with pytest.raises(NotComparable, match="age is not carried"):
        composition([a], victims, attribute="age")
    with pytest.raises(ParameterError, match="no quasi-identifier"):
        composition([a], victims.with_roles(quasi=[]))


def test_nobody_and_everybody():
    a = published(TABLE_2A)
    with pytest.raises(ParameterError, match="0 rows"):
        composition([a, a], people(TABLE_1A).take(np.zeros(0, int)))
    one = published({"age": ["*"], "sex": ["*"], "zip": ["*"], "diagnosis": ["Flu"]})
    all_of_them = composition([one, one], people(TABLE_1A))
    assert all_of_them.rate == 1.0
    assert all_of_them.interval[1] == 1.0
    assert 0.6 < all_of_them.interval[0] < 1


def test_equal_rows_in_several_groups_keep_all_of_them():
    schema = Schema.parse(
        {
            "name": "t",
            "attribute": {
                "q": {"role": "quasi", "kind": "nominal", "values": ["a", "b"]},
                "s": {"role": "sensitive", "kind": "nominal", "values": ["x", "y", "z"]},
            },
        }
    )
    codes = np.array([[0, 0], [0, 0], [0, 1], [0, 1], [1, 2], [1, 2]])
    table = Table.from_codes(schema, codes)
    mechanism = Anatomy(3)
    release = run(mechanism, gather(mechanism, table), Entropy.seeded(1))
    found = composition([release], table, reading="residence", d=3)
    assert found.records.held.all()
    assert found.records.left.tolist() == [3] * 6


def test_rows_left_out_landed_nowhere():
    release = with_homes(published(TABLE_2A), TABLE_1A)
    landed = release.residence
    out = replace(release, residence=replace(landed, group=np.where(np.arange(8) == 0, -1, landed.group)))
    found = composition([out], people(TABLE_1A, "Emu", "Alice"), reading="residence")
    assert found.tally.unmatched.successes == 1
    assert found.records.left.tolist() == [4, 2]  # Emu's release says nothing of him: every published value is left


def test_many_attributes_do_not_underflow():
    # The density of a box over 200 attributes is far below the smallest float.
    count = 200
    attributes = {f"q{i}": {"role": "quasi", "kind": "numeric", "range": [0, 1000], "step": 1} for i in range(count)}
    attributes["s"] = {"role": "sensitive", "kind": "nominal", "values": ["x", "y"]}
    schema = Schema.parse({"name": "wide", "attribute": attributes})
    made = [Labels.from_hulls(a, np.array([0, 0]), np.array([999, 998])) for a in schema.quasi]
    release, _ = assemble(
        schema,
        tables=tuple(m[0] for m in made),
        labels=np.column_stack([m[1] for m in made]),
        weight=np.array([4, 4]),
        group=np.arange(2),
        carried_group=np.array([0, 1, 1]),
        carried_codes=np.array([[0], [0], [1]]),
        carried_weight=np.array([4, 1, 3]),
        claim=Claim(Nothing()),
    )
    found = composition([release], Table.from_codes(schema, np.zeros((1, count + 1), int)))
    assert found.records.left.tolist() == [2]
    ratio = (999 / 998) ** count  # the smaller box is denser
    assert found.confidence == pytest.approx((1 + ratio / 4) / (1 + ratio), rel=1e-9)


# Two 10,000-row samples of Adult that share 1,000 people, Mondrian alone, exactly one occupation left.
ANCHORS = {2: (0.30, 0.62), 5: (0.04, 0.10), 10: (0.002, 0.008), 20: (0.0, 0.001)}


@pytest.mark.parametrize("cut", ["widest", "best"])
def test_adult_anchors(cut):
    table = adult().with_roles(sensitive="occupation", target=[])
    order = np.random.default_rng(0).permutation(table.rows)
    pool, a, b = order[:1000], order[1000:10_000], order[10_000:19_000]
    samples = [table.take(np.concatenate([pool, part])) for part in (a, b)]
    victims, control = table.take(pool), table.take(a[:1000])
    below = []
    for k, (least, most) in ANCHORS.items():
        mechanism = Mondrian(KAnonymity(k), cut=cut)
        releases = [run(mechanism, gather(mechanism, part), Entropy.seeded(0)) for part in samples]
        found = composition(releases, victims, control=control)
        low, high = found.interval
        assert low <= most, f"k={k}"
        assert high >= least, f"k={k}"
        # Those who truly are in both always keep their own value; others need not.
        assert found.records.held.all()
        assert found.tally.right == found.tally.one
        assert found.tally.guessed.rate > found.baseline.rate + 0.1
        below.append(found.below_d)
        if k <= 5:
            assert found.tally.right.rate > found.control.right.rate
            assert found.above_control[0] > 0
    assert below == sorted(below, reverse=True)


def test_a_victim_with_several_rows_is_one_victim():
    """Rows were counted as victims: here Alice has three rows, and is certain in each; Emu has one."""
    a, b = published(TABLE_2A), published(TABLE_2B)
    once = people(TABLE_1A, "Emu", "Alice")
    keyed = replace(once.schema, person=("who",), rows_per_person=None, rows_stated=False)
    rows = np.array([0, 1, 1, 1])
    several = Table.from_codes(keyed, once.codes()[rows], people=["Emu", *["Alice"] * 3])
    one, more = composition([a, b], once, d=2), composition([a, b], several, d=2, control=several)
    assert more.control == more.tally
    assert (more.tally.one.successes, more.tally.one.trials) == (1, 2)
    for name in ("one", "below_d", "nothing", "unmatched", "right", "exposed", "guessed"):
        assert getattr(more.tally, name) == getattr(one.tally, name)
    assert more.confidence == pytest.approx(one.confidence)
    assert more.baseline == one.baseline
    assert "2 releases, 2 victims" in more.describe()
    assert "A person with several rows is one victim" in more.describe()
    assert "A person with several rows" not in one.describe()
    others = Table.from_codes(keyed, once.codes()[rows], people=["Eve", *["Ada"] * 3])
    for control, seen in ((several, True), (others, False)):
        said = composition([a, b], several, control=control).describe()
        assert ("The control holds people of the table" in said) == seen
    mixed = Table.from_codes(keyed, once.codes()[np.array([0, 1, 1])], people=["Emu", "Emu", "Alice"])
    assert composition([a, b], mixed, d=2).tally.one.successes == 1.5
