"""Telling members from others: planted tables, the known law, the bound of differential privacy, mutants."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.attacks import Knowledge, Membership, advantage_bound
from sfumato.counts import Table
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.schema import Schema

SCHEMA = Schema.parse(
    {
        "name": "members",
        "source": "public",
        "rows": 4000,
        "rows_per_person": 1,
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 400], "step": 1},
            "ill": {"role": "target", "kind": "nominal", "values": ["flu", "asthma", "burn", "gout"]},
        },
    }
)
EVERYTHING = Knowledge()


def members(rows) -> Table:
    return Table.from_codes(SCHEMA, np.array(rows, np.int64))


def drawn(seed: int, rows: int = 4000) -> tuple[Table, Table]:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, 400, 2 * rows), rng.integers(0, 4, 2 * rows)])
    return members(codes[:rows]), members(codes[rows:])


def attacked(mechanism, table, control, seed=0):
    release = run(mechanism, gather(mechanism, table), Entropy.seeded(seed))
    return Membership().run([release], EVERYTHING, table, control)


def test_planted_tables():
    ages = np.arange(400)
    inside, outside = members([[a, 0] for a in ages if a % 2]), members([[a, 0] for a in ages if not a % 2])
    everything = attacked(sf.Raw(), inside, outside)
    assert (everything.targets.rate, everything.controls.rate) == (1.0, 0.0)
    assert everything.details["auc"] == 1.0
    assert set(everything.records.chance) == {1.0}  # of those it takes for members all are
    assert everything.details["hits at 0.01 false alarms"] == 1.0
    assert everything.details["hits at 0.001 false alarms"] is None  # of 200 others no thousandth can be seen
    assert "It tells 100 % of them at 1 false alarm in 100 (area under the curve 1.000)." in everything.notes
    nothing = attacked(sf.Suppress(), inside, outside)
    assert nothing.value == 0.0
    assert not nothing.better_than_baseline
    assert set(nothing.records.chance) == {0.5}  # even odds stay even
    # Half of the others have a row that a member has, too.
    half = members([[a, 0] for a in ages if a % 4 < 2])
    between = attacked(sf.Raw(), inside, half)
    assert between.targets.rate == 1.0
    assert between.controls.interval[0] <= 0.5 <= between.controls.interval[1]


def test_scores_equal_the_definition():
    from sfumato.attacks.case import victims
    from sfumato.attacks.membership import joint_view

    table, _ = drawn(3, 60)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    people = victims(table, ("age",), ("ill",), entropy=Entropy.seeded(0))
    found = joint_view(release, SCHEMA, ("ill",)).scores(people)[:, 0]
    histogram = release.groups.histogram("ill").toarray()
    for (age, ill), score in zip(people.codes, found, strict=True):
        expected = 0.0
        for box in range(len(release.boxes)):
            label = release.boxes.tables[0].intervals(int(release.boxes.labels[box, 0]))
            if any(low <= age < high for low, high in label):
                expected += histogram[release.boxes.group[box], ill] / sum(high - low for low, high in label)
        assert score == pytest.approx(expected)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_the_known_law_reaches_the_bound(epsilon):
    """Without a threshold the likelihood ratio gains exactly tanh(epsilon / 2) on average, and no more."""
    bound = advantage_bound(float(Fraction(epsilon)))
    mechanism = sf.NoisyTable(epsilon, threshold=1)
    table, control = drawn(1)
    found = [attacked(mechanism, table, control, seed) for seed in range(6)]
    assert all(gain.interval[0] <= bound for gain in found)
    assert all(gain.details["bound"] == bound for gain in found)
    assert not any("broken" in note for gain in found for note in gain.notes)
    assert all("Audit: this attack shows an epsilon of at least" in gain.notes[-1] for gain in found)
    assert all(gain.details["epsilon at least"] <= gain.details["epsilon claimed"] * 1.001 + 1e-9 for gain in found)
    assert found[0].details["epsilon claimed"] == pytest.approx(float(Fraction(epsilon)))
    assert np.mean([gain.value for gain in found]) == pytest.approx(bound, abs=0.03)


def test_a_mutant_that_overspends_is_seen():
    """Counts drawn with epsilon 3 under a claim of 1/10: the gain is above what the claim allows."""
    table, control = drawn(2)
    honest = sf.NoisyTable("3", threshold=1)
    release = run(honest, gather(honest, table), Entropy.seeded(0))
    lying = replace(release, claim=sf.NoisyTable("0.1", threshold=1).claim(SCHEMA))
    found = Membership().run([lying], EVERYTHING, table, control)
    assert found.interval[0] > found.details["bound"] == advantage_bound(0.1)
    assert found.notes[-1].endswith("its claim is broken.")
    assert found.details["epsilon at least"] > 1 > found.details["epsilon claimed"]


def frequent_kinds(seed: int, rows: int) -> Table:
    """99 in 100 people are of 60 kinds, the others of any."""
    rng = np.random.default_rng(seed)
    kind, rare = rng.integers(0, 60, rows), rng.random(rows) < 0.01
    age = np.where(rare, rng.integers(0, 400, rows), 20 + kind)
    return members(np.column_stack([age, np.where(rare, rng.integers(0, 4, rows), kind % 4)]))


def test_a_kept_claim_is_not_accused():
    """A larger control has more cells that hold nobody of the table: they are no trials of the same law."""
    table, mechanism = frequent_kinds(1, 2000), sf.NoisyTable("0.5", threshold=20)
    for controls in (100, 2000, 40_000):
        control = frequent_kinds(2, controls)
        for seed in range(4):
            found = attacked(mechanism, table, control, seed)
            assert found.interval[0] <= found.details["bound"]
            assert found.targets.trials == found.controls.trials <= 60 + 30
            assert not any("broken" in note for note in found.notes)


@pytest.mark.parametrize("mechanism", [sf.NoisyTable("0.5", threshold=8), sf.Marginals("1")])
def test_a_claim_about_one_row_is_not_tried_on_all_rows_of_a_person(mechanism):
    """Everybody has 25 equal rows: what they show together says nothing against a claim about one of them."""
    schema = replace(SCHEMA, rows_per_person=1, rows_stated=False)
    rng = np.random.default_rng(1)
    kinds = np.column_stack([rng.permutation(400)[:80], rng.integers(0, 4, 80)])
    table, control = (Table.from_codes(schema, np.repeat(part, 25, axis=0)) for part in (kinds[:40], kinds[40:]))
    found = attacked(mechanism, table, control)
    assert schema.unit == "row"
    assert "bound" not in found.details
    assert not any("Audit" in note or "broken" in note for note in found.notes)


def test_cells_are_compared_with_no_fewer_other_rows():
    from sfumato.attacks.membership import _matched

    rng = np.random.default_rng(0)
    own, others = rng.integers(0, 60, 300), rng.integers(0, 60, 200)
    mine, theirs = _matched(own, others)
    assert 0 < len(mine) == len(set(mine)) == len(set(theirs))
    assert (own[mine] <= others[theirs]).all()
    assert (others[theirs] <= 1.1 * own[mine]).all()


def mean_gap(laws: list[list[Fraction]]) -> Fraction:
    """The best attacker's hits on members minus false alarms on controls, exactly: one of m people is in, and known.

    For each person the attacker says "in" at the outcomes where their law is above the mean of the others' laws.
    """
    m = len(laws)
    total = Fraction()
    for mine in laws:
        others = [sum(column, -own) / (m - 1) for own, column in zip(mine, zip(*laws, strict=True), strict=True)]
        total += sum((max(Fraction(), own - other) for own, other in zip(mine, others, strict=True)), Fraction())
    return total / m


def within(law, base, ratio) -> bool:
    return all(other / ratio <= own <= other * ratio for own, other in zip(law, base, strict=True))


@pytest.mark.parametrize("ratio", [2, 3, 5])
def test_the_bound_holds_where_people_are_replaced(ratio):
    """e^epsilon = ratio: the mean over people stays below the bound, a single pair need not, and the bound is reached.

    Everybody marks an outcome of their own: e^epsilon as likely as without them, the rest e^-epsilon as likely.
    """
    bound = Fraction(ratio - 1, ratio + 1)
    outcomes = ratio + 1
    base = [Fraction(1, outcomes)] * outcomes
    marked = [
        [Fraction(ratio if at == own else Fraction(1, ratio), outcomes) for at in range(outcomes)]
        for own in range(outcomes)
    ]
    assert all(sum(law) == 1 and within(law, base, ratio) for law in marked)
    people = len(marked)
    assert mean_gap(marked) == bound * people / (people - 1)
    pair = sum(max(Fraction(), a - b) for a, b in zip(marked[0], marked[1], strict=True))
    assert pair > bound
    assert pair <= Fraction(ratio**2 - 1, ratio**2 + 1)
    rng = np.random.default_rng(ratio)
    for _ in range(200):  # laws at random, within the ratio of a base at random
        weights = [int(one) for one in rng.integers(1, 9, 6)]
        base = [Fraction(one, sum(weights)) for one in weights]
        laws = []
        for _ in range(int(rng.integers(2, 8))):
            law = [
                one * (ratio if high else Fraction(1, ratio))
                for one, high in zip(base, rng.random(6) < 0.5, strict=True)
            ]
            over = sum(law)
            # towards the base as far as the sum asks: between the law and one on the other side of it
            other = [one * (Fraction(1, ratio) if over > 1 else ratio) for one in base]
            share = (1 - sum(other)) / (over - sum(other)) if over != 1 else Fraction(1)
            laws.append([share * a + (1 - share) * b for a, b in zip(law, other, strict=True)])
        assert all(sum(law) == 1 and within(law, base, ratio) for law in laws)
        assert mean_gap(laws) <= bound * len(laws) / (len(laws) - 1)


def test_synthetic_rows_that_overspend_are_seen():
    """Rows drawn with epsilon 2000 under a claim of 1/10: the attack by a score is above what the claim allows."""
    rng = np.random.default_rng(5)
    rows = np.column_stack([rng.permutation(400), rng.integers(0, 4, 400)])
    table, control = members(rows[:200]), members(rows[200:])

    def found(epsilon):
        made = sf.Marginals(epsilon)
        release = run(made, gather(made, table), Entropy.seeded(0))
        lying = replace(release, claim=sf.Marginals("0.1").claim(SCHEMA))
        return Membership().run([lying], EVERYTHING, table, control)

    broken, honest = found("2000"), found("0.1")
    assert broken.details["bound"] == honest.details["bound"] == pytest.approx(advantage_bound(0.1))
    assert broken.interval[0] > broken.details["bound"] > honest.interval[0]
    assert broken.notes[-1].endswith("its claim is broken.")
    assert not any("broken" in note for note in honest.notes)
    assert broken.details["epsilon at least"] > 0.1 >= honest.details["epsilon at least"]


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    "mechanism",
    [
        sf.DiffGen("0.1"),
        sf.DiffGen("1"),
        sf.NoisyTable("1", cuts={"age": ["*"], "workclass": ["*"], "education": ["*"]}),
        sf.Marginals("1"),
        sf.Marginals("1", delta="1e-9"),
        sf.TargetRows("1"),
    ],
    ids=lambda one: f"{type(one).__name__} {getattr(one, 'epsilon', '')} {getattr(one, 'delta', None) or ''}",
)
def test_membership_stays_below_the_bound_of_the_claim(mechanism):
    """Adult, a half of it published: (e^epsilon - 1 + 2 delta) / (e^epsilon + 1) and no more."""
    table, control = sf.holdout(sf.datasets.adult(), seed=3)
    quasi = ["age", "workclass", "education", "marital-status", "race", "sex"]
    roles = {"quasi": quasi, "target": "income", "sensitive": ()}
    found = attacked(mechanism, table.with_roles(**roles), control.with_roles(**roles))
    bound = found.details["bound"]
    assert bound == pytest.approx(advantage_bound(float(mechanism.epsilon)), abs=1e-8)
    assert found.value < bound + 0.02
    assert found.interval[0] < bound
    assert found.details["epsilon at least"] <= float(mechanism.epsilon)


def test_a_broken_attacker_is_caught(monkeypatch):
    """One who compares with the count that has the person in it finds nothing beyond chance."""
    from sfumato.attacks import membership

    real = membership._reported
    monkeypatch.setattr(membership, "_reported", lambda release, cells: real(release, cells[::-1]))
    with pytest.raises(AssertionError):
        test_the_known_law_reaches_the_bound("3")


def test_without_a_control_only_the_hits_are_stated():
    table, _ = drawn(4, 200)
    for mechanism in (sf.Raw(), sf.NoisyTable("1", threshold=1)):
        found = attacked(mechanism, table, None)
        assert found.controls is None
        assert 0 < found.targets.rate <= 1
