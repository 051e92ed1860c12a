"""Identity risks by hand on 200 rows, estimators of population uniques, planted tables, mutants."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import gammaln

import sfumato as sf
from sfumato.attacks import Identity, Knowledge, identity as identity_module
from sfumato.attacks.identity import (
    _pitman_parameters,
    _shlosser,
    _snb_expected,
    class_sizes,
    dankar,
    journalist_risk,
    pitman,
    prosecutor_risk,
    snb,
    zayatz,
)
from sfumato.counts import Table
from sfumato.schema import Schema

SCHEMA = Schema.parse(
    {
        "name": "hands",
        "source": "public",
        "rows": 200,
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 200], "step": 1},
            "ill": {"role": "sensitive", "kind": "nominal", "values": ["x", "y"]},
        },
    }
)
# 200 rows: 20 ages of one person, 15 of two, 10 of five, 10 of ten.
SIZES = [1] * 20 + [2] * 15 + [5] * 10 + [10] * 10


def people(sizes) -> Table:
    ages = np.repeat(np.arange(len(sizes)), sizes)
    return Table.from_codes(SCHEMA, np.column_stack([ages, ages % 2]))


def test_two_hundred_rows_worked_out_by_hand():
    table = people(SIZES)
    assert table.rows == 200
    # 55 classes in 200 rows; 20 rows alone; 20 + 30 rows in classes of fewer than five (1/f > 0.2).
    expected = {"highest": 1.0, "mean": 55 / 200, "rows at risk": 50 / 200, "sample uniques": 20 / 200}
    assert prosecutor_risk(np.array(SIZES)) == expected
    population = people([2 * size for size in SIZES])  # everybody has one more like them: F = 2 f
    found = Identity(fraction=0.5).run([sf.publish(table, sf.Raw())], Knowledge(population=population), table, table)
    assert found.details["prosecutor"] == expected
    # Journalist: F of the smallest class is 2; max(55 / 400, sum f/F / 200 = 55 / 2 / 200); above 0.2: F in {2, 4}.
    assert found.details["journalist"] == {
        "highest": 1 / 2,
        "mean": 27.5 / 200,
        "rows at risk": 50 / 200,
        "marketer": 27.5 / 200,
    }
    assert found.targets.successes == pytest.approx(55)  # sum over rows of 1 / f is the number of classes
    assert found.controls.successes == 0
    assert found.most_exposed == 1.0
    assert found.baseline.successes == 1.0  # one of 200 rows for each of 200 people


def test_planted_tables():
    alone = people([1] * 200)
    assert Identity().run([sf.publish(alone, sf.Raw())], Knowledge(), alone, alone).targets.rate == 1.0
    hidden = Identity().run([sf.publish(alone, sf.Suppress())], Knowledge(), alone, alone)
    assert hidden.targets.rate == 1 / 200
    assert not hidden.better_than_baseline
    for k in (2, 10):
        release = sf.publish(alone, sf.Mondrian(sf.KAnonymity(k)))
        found = Identity().run([release], Knowledge(), alone, alone)
        assert found.targets.successes == pytest.approx(len(class_sizes(release)))
        assert found.most_exposed <= 1 / k


LABELS = Schema.parse(
    {
        "name": "labels",
        "source": "public",
        "rows": 20,
        "rows_per_person": 1,
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 20], "step": 1},
            "sex": {"role": "quasi", "values": ["f", "m"]},
            "ill": {"role": "sensitive", "values": ["x", "y"]},
        },
    }
)


def labelled(ages, labels):
    """A table of these ages, all of one sex, and a foreign file of it with these labels."""
    table = Table.from_codes(LABELS, np.column_stack([ages, np.zeros(len(ages), int), np.zeros(len(ages), int)]))
    frame = pl.DataFrame({"age": [age for age, _ in labels], "sex": [sex for _, sex in labels], "ill": "x"})
    return table, sf.Release.read(frame, LABELS)


def chances(ages, labels):
    """How likely the attacker is right at each age."""
    table, release = labelled(ages, labels)
    records = Identity().run([release], Knowledge(), table, table).records
    return dict(zip(records.codes[:, 0].tolist(), records.chance.tolist(), strict=True))


def test_suppressed_rows_hide_nobody_in_a_class():
    """Each suppressed row counted as a candidate for everybody: of 2 % of them the rate fell from 47 % to 2 %."""
    exact = [(f"{age}", "f") for age in (3, 3, 5)]
    assert chances([3, 3, 5, 8, 8, 9], [*exact, *[("*", "*")] * 3]) == pytest.approx(
        {3: 1 / 2, 5: 1, 8: 1 / 3, 9: 1 / 3}
    )
    # Two of the four people of one age are suppressed: the other two rows are of any two of the four.
    found = chances([3, 3, 3, 3, 5], [*exact, *[("*", "*")] * 2])
    assert found == pytest.approx({3: 1 / 4, 5: 1})
    table, release = labelled([3, 3, 5, 8], [*exact, ("*", "*")])
    gain = Identity().run([release], Knowledge(), table, table)
    assert gain.targets.successes == 3 == len(class_sizes(release)) + 1  # one right of each class, and the last one
    assert gain.controls.successes == 0
    assert gain.details["prosecutor"]["mean"] == 2 / 3
    ours = sf.publish(table, sf.Mondrian(sf.KAnonymity(2)))
    assert Identity().run([ours], Knowledge(), table).targets.successes == pytest.approx(len(class_sizes(ours)))


def test_overlapping_boxes_worked_out_by_hand():
    """Rows with one value suppressed are wider than those with none, and an interval than one inside it."""
    assert chances([3, 3, 5], [("3", "f"), ("3", "*"), ("5", "f")]) == pytest.approx({3: 1 / 2, 5: 1})
    assert chances([3, 5, 5], [("3", "f"), ("[0, 10[", "f"), ("[0, 10[", "*")]) == pytest.approx({3: 1, 5: 1 / 2})
    # Ages 1 to 3 and 3 to 5 overlap at 3. Two people of 3 are in either: at random among ten rows, as it is.
    ages, labels = [1, 1, 2, 3, 3, 3, 3, 4, 5, 5], [("[1, 4[", "f")] * 5 + [("[3, 6[", "f")] * 5
    assert chances(ages, labels) == pytest.approx({1: 1 / 5, 2: 1 / 5, 3: 1 / 10, 4: 1 / 5, 5: 1 / 5})


def test_rows_of_noisy_counts_are_nobodys():
    table = people([10] * 20)
    schema = SCHEMA.with_roles(quasi="age", target="ill", sensitive=())
    counted = Table.from_codes(schema, table.codes())
    release = sf.publish(counted, sf.NoisyTable("3", threshold=1), seed=0, allow_noise=True)
    found = Identity().run([release], Knowledge(), counted)
    assert found.targets.rate <= 1 / 10
    assert found.details == {}  # no class of it is a class of people
    assert "takes a row of a count with noise that fits for it has a match for" in found.sentence
    assert "stand for counts with noise, not for records" in found.notes[0]
    assert "drawn" not in found.describe()  # only the noise is
    model = Identity().run([drawn_like(table)], Knowledge(), table)
    assert "takes a drawn row that fits for it has a match for" in model.sentence
    assert "none comes from a row of the table" in model.notes[0]


def halves(seed: int, size: int = 200) -> tuple[Table, Table]:
    """Two tables of 150 people of one population; about half of them are alone at their age."""
    codes = np.column_stack([np.random.default_rng(seed).integers(0, size, 300), np.zeros(300, int)])
    return Table.from_codes(SCHEMA, codes[:150]), Table.from_codes(SCHEMA, codes[150:])


def drawn_like(rows: Table):
    """These rows, published as if a model had drawn them."""
    return replace(sf.publish(rows, sf.Raw(), seed=0), form="synthetic")


def test_drawn_rows_fit_others_as_well():
    """A model that knows the population and nobody of the table matches both alike: no gain, though many match."""
    gains, rates, covered = [], [], 0
    for seed in range(40):
        inside, outside = halves(seed)
        model, _ = halves(1000 + seed)
        found = Identity().run([drawn_like(model)], Knowledge(), inside, outside)
        gains.append(found.value)
        rates.append(found.targets.rate)
        covered += found.interval[0] <= 0 <= found.interval[1]
    assert np.mean(rates) > 0.2
    assert covered >= 34  # of 40 intervals of 95 %
    assert abs(np.mean(gains)) < 3 * np.std(gains) / math.sqrt(len(gains)) + 1e-3


def test_copied_rows_fit_the_people_they_were_copied_from():
    """Whose rows are copied is matched as the prosecutor would, 1 / f; others where somebody is like them."""
    inside, outside = halves(1)
    found = Identity().run([drawn_like(inside)], Knowledge(), inside, outside)
    mine = np.bincount(inside.codes(["age"])[:, 0], minlength=200)
    others = mine[outside.codes(["age"])[:, 0]]
    assert found.targets.successes == pytest.approx(np.count_nonzero(mine))
    assert found.controls.successes == pytest.approx((1 / (others[others > 0] + 1)).sum())
    assert found.interval[0] > 0.2
    # Half of the rows copied, half drawn elsewhere: in between.
    half = Table.from_codes(SCHEMA, np.concatenate([inside.codes()[:75], halves(2)[0].codes()[75:]]))
    between = Identity().run([drawn_like(half)], Knowledge(), inside, outside)
    assert 0.05 < between.value < found.value


def test_buckets_are_exact_and_identify():
    table = people([1] * 100 + [2] * 50)
    release = sf.publish(table, sf.Anatomy(2), seed=0)
    found = Identity().run([release], Knowledge(), table)
    assert found.targets.successes == pytest.approx(150)


def test_zayatz_by_hand():
    # Sample of 4 of 8: classes 1, 1, 2. P(1 seen | 1) = 4/8; P(1 seen | 2) = 2 C(6, 3) / C(8, 4) = 40/70.
    certain = (2 / 3 * 1 / 2) / (2 / 3 * 1 / 2 + 1 / 3 * 40 / 70)
    assert zayatz(np.array([1, 1, 2]), 0.5) == pytest.approx(2 * certain / 0.5)
    assert zayatz(np.array([2, 3]), 0.5) == pitman(np.array([2, 3]), 0.5) == snb(np.array([2, 3]), 0.5) == 0.0


def test_pitman_is_the_maximum_of_its_likelihood():
    sizes = np.array(SIZES)

    def likelihood(alpha, theta):
        steps = sum(math.log(theta + i * alpha) for i in range(1, len(sizes)))
        rising = sum(math.log(theta + i) for i in range(1, 200))
        inside = sum(math.log(i - alpha) for size in sizes for i in range(1, size))
        return steps - rising + inside

    grid = [(a, t) for a in np.linspace(0.02, 0.9, 45) for t in np.linspace(0.5, 60, 120)]
    alpha, theta = max(grid, key=lambda at: likelihood(*at))
    coarse = math.exp(gammaln(theta + 1) - gammaln(theta + alpha)) * 2000**alpha
    assert pitman(sizes, 0.1) == pytest.approx(coarse, rel=0.2)
    assert 0 < _pitman_parameters(np.array([0.0, 0.0]))[0] < 1


def test_snb_solves_its_equations():
    alpha, beta, classes, f = 0.8, 0.2, 500.0, 0.4
    one, two = _snb_expected(classes, f, alpha, beta)
    # By the definition: a class has 1 + X people, X negative binomial, and each is sampled with probability f.
    from scipy.stats import binom, nbinom

    many = np.arange(0, 400)
    chance = nbinom.pmf(many, alpha, beta)
    assert one == pytest.approx(classes * float((chance * binom.pmf(1, many + 1, f)).sum()))
    assert two == pytest.approx(classes * float((chance * binom.pmf(2, many + 1, f)).sum()))
    assert _shlosser(np.array([1, 2]), np.array([3, 4]), 1.0) == 7


def sampled(rng, population, fraction):
    people_of = np.repeat(np.arange(len(population)), population)
    drawn = rng.choice(people_of, round(fraction * len(people_of)), replace=False)
    sizes = np.bincount(drawn, minlength=len(population))
    return sizes[sizes > 0]


def restaurant(rng, alpha, theta, people):
    """Class sizes of Pitman's own law: each person joins a class by its size, or begins one."""
    sizes: list[int] = []
    for at in range(people):
        if rng.random() * (theta + at) < theta + alpha * len(sizes):
            sizes.append(1)
        else:
            weights = np.array(sizes) - alpha
            sizes[int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum()))] += 1
    return np.array(sizes)


def test_estimators_on_samples_of_a_known_population():
    rng = np.random.default_rng(8)
    population = 1 + rng.negative_binomial(0.7, 0.25, 3000)
    uniques, total = int((population == 1).sum()), int(population.sum())
    assert snb(sampled(rng, population, 0.5), 0.5) == pytest.approx(uniques, rel=0.25)
    assert zayatz(sampled(rng, population, 0.95), 0.95) == pytest.approx(uniques, rel=0.15)
    assert zayatz(population, 1.0) == pytest.approx(uniques)
    found, chosen = dankar(sampled(rng, population, 0.3), 0.3)
    assert chosen in ("snb", "zayatz")
    assert 0 < found <= total
    many = restaurant(rng, 0.5, 20.0, 4000)
    assert pitman(sampled(rng, many, 0.4), 0.4) == pytest.approx(int((many == 1).sum()), rel=0.35)
    sizes = sampled(rng, many, 0.1)
    assert dankar(sizes, 0.1) == (pitman(sizes, 0.1), "pitman")


def test_a_class_larger_in_the_table_than_in_the_population_file_counts_as_it_is():
    assert journalist_risk(np.array([4]), np.array([2]))["highest"] == 1 / 4


MUTANTS = {
    "forgets that a class has several rows": (
        "distinct_boxes",
        lambda real: lambda view: replace(real(view), weight=np.minimum(real(view).weight, 1)),
    ),
    "reads the mean of 1/f over classes": (
        "prosecutor_risk",
        lambda real: lambda sizes: {**real(sizes), "mean": float((1 / sizes).mean())},
    ),
}


def test_a_mutant_without_controls_of_drawn_rows_is_caught(monkeypatch):
    """One that calls every match of a control wrong finds a gain where there is none."""
    real = identity_module._matched

    def broken(*known, beside=0.0):
        return real(*known, beside=beside) * (0.0 if np.ndim(beside) else 1.0)

    monkeypatch.setattr(identity_module, "_matched", broken)
    with pytest.raises(AssertionError):
        test_drawn_rows_fit_others_as_well()


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_mutants_are_caught(name, monkeypatch):
    what, broken = MUTANTS[name]
    monkeypatch.setattr(identity_module, what, broken(getattr(identity_module, what)))
    with pytest.raises(AssertionError):
        test_two_hundred_rows_worked_out_by_hand()
