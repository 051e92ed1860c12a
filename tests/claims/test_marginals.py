"""Marginals: the law of the whole mechanism on small worlds, its steps, and mutants that must be caught.

A transcript is everything the mechanism draws from the table, in order: noisy tables and choices. What leaves is a
function of it, so the largest loss of any transcript bounds that of any release. The real code runs on both tables with
the transcript in place of draws, and every step adds the logarithm of its exact ratio.
"""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.claims import ConcentratedDP, PureDP
from sfumato.claims.guarantees import implies
from sfumato.mechanisms.base import gather
from sfumato.mechanisms.marginals import draws as drawing, measuring
from sfumato.mechanisms.marginals.draws import Concentrated, Pure
from sfumato.randomness import (
    Entropy,
    discrete_gaussian_pmf,
    exponential_choice_pmf,
    permute_and_flip_pmf,
)

SCHEMA = """
name = "small"
source = "public"
{person}
[attribute.a]
role = "quasi"
kind = "nominal"
values = ["0", "1"]
[attribute.b]
role = "quasi"
kind = "nominal"
values = ["0", "1"]
[attribute.c]
role = "target"
kind = "nominal"
values = ["0", "1"]
"""
ROOM = Decimal("1e-30")


def gathered(rows, mechanism, person=""):
    import polars as pl

    schema = sf.Schema.parse(tomllib.loads(SCHEMA.format(person=person)))
    data = pl.DataFrame([[str(v) for v in row] for row in rows], schema=["a", "b", "c"], orient="row")
    return gather(mechanism, sf.read(data, schema))


@dataclass
class Forced:
    """Draws that take what the transcript says and keep the exact probability of every step.

    `noise(budget)` and `law(scores, budget, sensitivity)` are those of the mechanism, or a mutant's.
    """

    kind: Pure | Concentrated
    noisy: list  # offsets for each table, from the counts of a base table
    picks: tuple[int, ...]
    steps: list = field(default_factory=list)

    def table(self, counts, budget):
        target = self.noisy[sum(step[0] == "table" for step in self.steps) % len(self.noisy)]
        answer = np.resize(np.asarray(target), counts.shape).astype(np.int64)
        self.steps.append(("table", tuple((answer - counts).reshape(-1).tolist()), budget))
        return answer

    def choose(self, scores, budget, sensitivity):
        at = self.picks[sum(step[0] == "choose" for step in self.steps)] % len(scores)
        self.steps.append(("choose", tuple(int(s) for s in scores), budget, sensitivity, at))
        return at

    def deviation(self, budget):
        return self.kind.deviation(budget)

    def mean_size(self, budget):
        return self.kind.mean_size(budget)


def pure_loss(one, other, person=1):
    """The exact log ratio of a transcript under two tables: Laplace steps are rational, choices by their laws."""
    total = Decimal(0)
    for x, y in zip(one, other, strict=True):
        assert x[0] == y[0]
        assert x[2] == y[2]  # budgets depend on the transcript alone
        if x[0] == "table":
            rate = x[2] / person
            moved = rate * sum(abs(b) - abs(a) for a, b in zip(x[1], y[1], strict=True))
            total += Decimal(moved.numerator) / Decimal(moved.denominator)
        else:
            p, q = (permute_and_flip_pmf(list(s[1]), s[2], person * s[3])[s[4]] for s in (x, y))
            total += (p / q).ln()
    return total


def transcripts(seed, number):
    """Tables near the counts and far from them, and every sequence of choices of the first two pairs."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        tables = [rng.integers(-3, 7, 4) for _ in range(5)]
        for picks in itertools.product(range(3), range(2)):
            yield tables, picks


WORLDS = [
    ([(0, 0, 0), (1, 1, 1)], (1, 1, 0)),
    ([(0, 0, 0)] * 3 + [(1, 1, 1)] * 2, (0, 1, 1)),
    ([(0, 1, 0), (1, 0, 1)], (0, 0, 0)),
]


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch):
    """What is drawn from the model is no part of a transcript: a few rows are enough."""
    monkeypatch.setattr(measuring, "SAMPLED", 300)
    monkeypatch.setattr(measuring, "SWEEPS", 2)


def runs(mechanism, rows, extra, *, number=60, schema=""):
    """Yield the steps of the real code on both tables, for each transcript."""
    first, second = gathered(rows, mechanism, schema), gathered([*rows, *extra], mechanism, schema)
    for tables, picks in transcripts(len(rows), number):
        steps = []
        for counts in (first, second):
            draws = Forced(Pure(None, person=counts.schema.rows_per_person), tables, picks)
            mechanism.measured(counts, draws, Entropy.seeded(1))
            steps.append(draws.steps)
        yield steps


def choices(one, other):
    """The loss of the choices alone."""
    return pure_loss(*([s for s in steps if s[0] == "choose"] for steps in (one, other)))


@pytest.mark.parametrize(("rows", "extra"), WORLDS)
def test_no_transcript_costs_more_than_epsilon(rows, extra):
    mechanism = sf.Marginals("3/2")
    found = max(abs(pure_loss(*steps)) for steps in runs(mechanism, rows, [extra]))
    assert found <= Decimal("1.5") + ROOM
    assert found > Decimal("1.2")  # most of it is really spent: the audit has power


def enumerated(levels):
    """Every transcript of a world of two binary columns: each cell of each noisy table at one of these values."""
    for values in itertools.product(levels, repeat=8):
        yield [np.array(values[:2]), np.array(values[2:4]), np.array(values[4:])]


def two_columns(rows):
    import polars as pl

    answer = tomllib.loads(SCHEMA.format(person=""))
    del answer["attribute"]["a"]
    data = pl.DataFrame([[str(v) for v in row] for row in rows], schema=["b", "c"], orient="row")
    return gather(sf.Marginals(1), sf.read(data, sf.Schema.parse(answer)))


@pytest.mark.parametrize("levels", [(-6, 9), pytest.param((-6, 1, 9), marks=pytest.mark.full)], ids=["ends", "middle"])
def test_the_whole_mechanism_by_enumeration(levels):
    """Two binary columns: every noisy table far below, near and far above the counts, in all combinations.

    The loss of a cell is monotone in what was drawn for it and constant outside of the two counts, so its extremes are
    among these. The largest loss is epsilon itself, and only the mutant with half of the noise exceeds it.
    """
    mechanism = sf.Marginals(1)
    first, second = two_columns([(0, 0), (1, 1)]), two_columns([(0, 0), (1, 1), (0, 1)])
    largest = Decimal(0)
    for tables in enumerated(levels):
        steps = []
        for counts in (first, second):
            draws = Forced(Pure(None, person=1), tables, (0, 0))
            mechanism.measured(counts, draws, Entropy.seeded(1))
            steps.append(draws.steps)
        largest = max(largest, abs(pure_loss(*steps)))
    assert Decimal("0.89") < largest <= 1 + ROOM  # the tenth for choices buys nothing: there is one pair
    assert abs(halved_noise(*steps)) > 1


def test_a_person_with_two_rows_costs_no_more():
    mechanism = sf.Marginals(1)
    rows, extra = WORLDS[1]
    found = [*runs(mechanism, rows, [extra, extra], schema="rows_per_person = 2")]
    assert max(abs(pure_loss(*steps, person=2)) for steps in found) <= 1 + ROOM
    assert max(abs(pure_loss(*steps)) for steps in found) > 1  # the mutant that pays for one of two rows


def halved_sensitivity(one, other):
    """The mutant that takes the scores to move by half of what they do, and pays as if they did."""
    swapped = [[(*s[:2], 2 * s[2], *s[3:]) if s[0] == "choose" else s for s in steps] for steps in (one, other)]
    return choices(*swapped) * 10  # against the tenth of epsilon that choices may spend


def halved_noise(one, other):
    """The mutant whose tables carry half of the noise."""
    swapped = [[(*s[:2], 2 * s[2]) if s[0] == "table" else s for s in steps] for steps in (one, other)]
    return pure_loss(*swapped)


def skipped_noise(one, other):
    """The mutant that adds no noise to pair tables: they tell two tables apart for certain."""
    pairs = [[s[1] for s in steps if s[0] == "table" and len(s[1]) == 4] for steps in (one, other)]
    return Decimal("Infinity") if pairs[0] != pairs[1] else pure_loss(one, other)


def unpaid_choice(one, other):
    """The mutant that takes the best pair without paying: a choice that only one table makes is certain."""
    for x, y in zip(one, other, strict=True):
        if x[0] == "choose" and (x[1][x[4]] == max(x[1])) != (y[1][y[4]] == max(y[1])):
            return Decimal("Infinity")
    return pure_loss(one, other)


def test_every_mutant_is_caught():
    mechanism = sf.Marginals("3/2")
    found = [steps for rows, extra in WORLDS for steps in runs(mechanism, rows, [extra], number=30)]
    allowed = Decimal("1.5") + ROOM
    assert max(abs(choices(*steps)) * 10 for steps in found) <= allowed
    for mutant in (halved_sensitivity, halved_noise, skipped_noise, unpaid_choice):
        assert max(abs(mutant(*steps)) for steps in found) > allowed, mutant.__name__


def test_scores_move_by_no_more_than_their_sensitivity():
    """By brute force: the real code's scores on neighbouring tables, for a workload with unequal weights."""
    work = [["a", "b"], ["a", "b", "c"], ["a", "b"], ["b", "c"]]
    mechanism = sf.Marginals(1, workload=work)
    moved = 0
    for rows, extra in WORLDS:
        first, second = (gathered(table, mechanism) for table in (rows, [*rows, extra]))
        for tables, picks in transcripts(3, 20):
            seen = []
            for counts in (first, second):
                draws = Forced(Pure(None, person=1), tables, picks)
                mechanism.measured(counts, draws, Entropy.seeded(1))
                seen.append([s for s in draws.steps if s[0] == "choose"])
            for x, y in zip(*seen, strict=True):
                gap = max(abs(a - b) for a, b in zip(x[1], y[1], strict=True))
                assert gap <= x[3] == y[3] == 3
                moved = max(moved, gap)
    assert moved == 3  # and the bound is reached: half of it would be false


def test_concentrated_steps_cost_what_they_draw():
    """Renyi divergences of a table whose count moves by c, and of a choice, against the rho they draw."""
    for person, budget in ((1, Fraction(1, 20)), (2, Fraction(1, 8))):
        kind = Concentrated(None, person=person)
        variance = kind.variance(budget)
        law = {x: discrete_gaussian_pmf(variance, x) for x in range(-120, 121)}
        scores, moved = [5, 3, 0, 4], [5 + person, 3 - person, person, 4]
        choice = [exponential_choice_pmf(s, kind.epsilon(budget), person) for s in (scores, moved)]
        for alpha in (2, 5, 20):
            allowed = alpha * Decimal(budget.numerator) / Decimal(budget.denominator) + Decimal("1e-20")
            table = sum(law[x] ** alpha / law[x - person] ** (alpha - 1) for x in range(-100, 101))
            assert table.ln() / (alpha - 1) <= allowed
            picked = sum(p**alpha / q ** (alpha - 1) for p, q in zip(*choice, strict=True))
            assert picked.ln() / (alpha - 1) <= allowed
            # Mutants: noise for one row where a person has more; the rate of permute-and-flip's rho taken for this one.
            cheap = {x: discrete_gaussian_pmf(variance / 4, x) for x in range(-120, 121)}
            broken = sum(cheap[x] ** alpha / cheap[x - person] ** (alpha - 1) for x in range(-100, 101))
            assert broken.ln() / (alpha - 1) > allowed


def divergence(p, q, alpha):
    """The Renyi divergence of order alpha of two laws over the same outcomes."""
    return sum(x**alpha / y ** (alpha - 1) for x, y in zip(p, q, strict=True)).ln() / (alpha - 1)


def test_mutants_of_concentrated_steps_are_caught():
    """Sensitivity halved, permute-and-flip at the exponential mechanism's price, noise skipped, wrong conversion."""
    budget, alpha = Fraction(1, 20), 2
    kind = Concentrated(None, person=1)
    allowed = alpha * Decimal("0.05") + Decimal("1e-20")
    worlds = [
        (scores, [s + m for s, m in zip(scores, move, strict=True)])
        for scores in itertools.product(range(3), repeat=3)
        for move in itertools.product((-1, 0, 1), repeat=3)
    ]

    def worst(law):
        return max(divergence(law(one), law(other), alpha) for one, other in worlds)

    epsilon = kind.epsilon(budget)
    assert worst(lambda s: exponential_choice_pmf(list(s), epsilon, 1)) <= allowed
    assert worst(lambda s: exponential_choice_pmf(list(s), 2 * epsilon, 1)) > allowed  # sensitivity halved
    assert worst(lambda s: permute_and_flip_pmf(list(s), epsilon, 1)) > allowed  # the other mechanism's price
    assert (
        worst(lambda s: [Decimal(1) if at == np.argmax(s) else Decimal("1e-9") for at in range(3)]) > allowed
    )  # unpaid
    claimed = sf.Marginals(1, delta="1e-9").promise()
    assert claimed.rho < Fraction(1, 2)  # the wrong conversion: epsilon^2 / 2, that of pure privacy
    assert not implies(Fraction(1, 2), Fraction(1), Fraction(1, 10**9))
    assert implies(claimed.rho, Fraction(1), Fraction(1, 10**9))
    assert not implies(claimed.rho * Fraction(1001, 1000), Fraction(1), Fraction(1, 10**9))


def test_the_exponential_mechanism_is_within_an_eighth_of_epsilon_squared():
    """The lemma that pays for a choice in rho, checked on all small score vectors: two and three candidates."""
    epsilon = Fraction(3, 2)
    tight = Decimal(0)
    for size in (2, 3):
        for scores in itertools.product(range(3), repeat=size):
            for move in itertools.product((-1, 0, 1), repeat=size):
                other = [s + m for s, m in zip(scores, move, strict=True)]
                p, q = (exponential_choice_pmf(list(s), epsilon, 1) for s in (scores, other))
                for alpha in (2, 8):
                    moment = sum(x**alpha / y ** (alpha - 1) for x, y in zip(p, q, strict=True))
                    found = moment.ln() / (alpha - 1) / alpha
                    assert found <= Decimal(9) / 32 + ROOM  # epsilon^2 / 8
                    tight = max(tight, found)
    assert tight > Decimal("0.25")


@pytest.mark.parametrize("delta", [None, "1e-9"])
@pytest.mark.parametrize("workload", [None, 1, 2, "c", [["a", "b"]]])
def test_the_trace_is_exact(delta, workload):
    """What the steps spend is at most what the trace says, and the trace sums to the promise."""
    mechanism = sf.Marginals("7/5", delta=delta, workload=workload)
    counts = gathered(WORLDS[1][0], mechanism)
    claim = mechanism.claim(counts.schema)
    assert isinstance(claim.promise, PureDP if delta is None else ConcentratedDP)
    assert sum(spent for _, spent in claim.trace) == claim.currency[1]
    draws = Forced((Pure if delta is None else Concentrated)(None, person=1), [np.array([3, 2, 1, 4])], (0, 0))
    mechanism.measured(counts, draws, Entropy.seeded(1))
    assert sum(step[2] for step in draws.steps) <= claim.currency[1]
    tables = sum(step[2] for step in draws.steps if step[0] == "table")
    trace = dict(claim.trace)
    assert tables == trace["one-way tables"] + trace.get(measuring.LARGER, 0)


def test_nothing_but_draws_reads_the_table():
    """The same transcript on different tables gives the same release, row for row."""
    mechanism = sf.Marginals(1)
    tables = [np.array([30, 20, 25, 5]), np.array([10, 40, 3, 7])]
    seen = []
    for rows in (WORLDS[0][0], [(1, 0, 1)] * 40):
        draws = Forced(Pure(None, person=1), tables, (1, 0))
        found = mechanism.measured(gathered(rows, mechanism), draws, Entropy.seeded(5))
        seen.append((found.total, found.rows(50, Entropy.seeded(6)).tolist()))
    assert seen[0] == seen[1]


def test_the_budget_of_a_choice_never_rounds_up():
    for budget in (Fraction(1, 7), Fraction(3, 10**7), Fraction(2)):
        epsilon = Concentrated(None, person=1).epsilon(budget)
        assert epsilon**2 / 8 <= budget
        assert epsilon**2 / 8 > budget * Fraction(999_999, 1_000_000)


def test_rare_values_are_joined_by_the_noisy_table_alone():
    one = np.array([100.0, 2.0, -3.0, 90.0, 1.0])
    assert measuring._grouped(one, 5.0, 190.0, 32, in_order=False).tolist() == [0, 2, 2, 1, 2]
    assert measuring._grouped(one, 5.0, 190.0, 32, in_order=True).max() <= 2


@pytest.fixture
def always_triples(monkeypatch):
    """Small worlds have too few rows for triples: let noise move as many as it likes."""
    monkeypatch.setattr(measuring, "TRIPLE_NOISE", 1e9)


@pytest.mark.usefixtures("always_triples")
def test_triples_by_enumeration():
    """Three binary columns: every table far below or far above its counts, in all combinations; six orders of pairs.

    The cells that one row leaves alone add nothing to the loss, so one level for a table gives the extremes. Tables
    cost their nine tenths of epsilon exactly, and with choices no transcript costs more than epsilon.
    """
    mechanism, (rows, extra) = sf.Marginals(1), WORLDS[1]
    first, second = gathered(rows, mechanism), gathered([*rows, extra], mechanism)
    largest, both = Decimal(0), {}
    for levels in itertools.product((-6, 9), repeat=7):
        tables, picks = [np.array([level]) for level in levels], (levels[0] % 3, levels[1] % 2)
        steps = []
        for counts in (first, second):
            draws = Forced(Pure(None, person=1), tables, picks)
            mechanism.measured(counts, draws, Entropy.seeded(1))
            steps.append(draws.steps)
        sizes = [len(step[1]) for step in steps[0] if step[0] == "table"]
        assert sizes[-1] == 8  # the triple
        largest = max(largest, abs(pure_loss(*steps)))
        both[levels] = steps
    assert Decimal("0.9") <= largest <= 1 + ROOM
    assert max(abs(unshared(*steps)) for steps in both.values()) > 1


def unshared(one, other):
    """The mutant that gives triples their half and leaves pairs the whole."""
    swapped = [
        [(*s[:2], s[2] / (1 - measuring.TRIPLES)) if s[0] == "table" and len(s[1]) == 4 else s for s in steps]
        for steps in (one, other)
    ]
    return pure_loss(*swapped)


def four_columns(rows, mechanism):
    import polars as pl

    stated = tomllib.loads(SCHEMA.format(person=""))
    stated["attribute"]["d"] = stated["attribute"]["a"]
    data = pl.DataFrame([[str(v) for v in row] for row in rows], schema=["a", "b", "c", "d"], orient="row")
    return gather(mechanism, sf.read(data, sf.Schema.parse(stated)))


def of_triples(steps):
    """The steps about triples: tables of eight cells, and choices whose scores weigh 1; those of pairs weigh 2."""
    return [s for s in steps if (len(s[1]) == 8 if s[0] == "table" else s[3] == 1)]


@pytest.mark.usefixtures("always_triples")
def test_choices_of_triples_cost_what_they_draw_and_mutants_are_caught():
    mechanism = sf.Marginals("3/2")
    rng = np.random.default_rng(5)
    worlds = [([(0, 0, 0, 0), (1, 1, 1, 1)], (1, 1, 0, 0)), ([(0, 1, 0, 1)] * 3 + [(1, 1, 1, 0)] * 2, (0, 1, 1, 1))]
    found, moved = [], 0
    for rows, extra in worlds:
        first, second = four_columns(rows, mechanism), four_columns([*rows, extra], mechanism)
        for _ in range(40):
            tables = [rng.integers(-3, 7, 8) for _ in range(14)]
            picks = tuple(rng.integers(0, 6, 16).tolist())
            steps = []
            for counts in (first, second):
                draws = Forced(Pure(None, person=1), tables, picks)
                mechanism.measured(counts, draws, Entropy.seeded(1))
                steps.append(draws.steps)
            assert abs(pure_loss(*steps)) <= Decimal("1.5") + ROOM
            assert sum(step[2] for step in steps[0]) <= Fraction(3, 2)
            found.append([of_triples(side) for side in steps])
            for x, y in zip(*found[-1], strict=True):
                if x[0] == "choose":
                    gap = max(abs(a - b) for a, b in zip(x[1], y[1], strict=True))
                    assert gap <= 1
                    moved = max(moved, gap)
    assert moved == 1
    share = Decimal("1.5") * Decimal("0.05")  # half of the tenth for choices
    spent = Decimal("1.5") * Decimal("0.4")  # and with the half of seven tenths for tables
    assert max(abs(choices(*steps)) for steps in found) <= share + ROOM
    assert max(abs(pure_loss(*steps)) for steps in found) <= spent + ROOM
    assert max(abs(halved_sensitivity(*steps)) / 10 for steps in found) > share
    assert max(abs(halved_noise(*steps)) for steps in found) > spent
    assert max(abs(unpaid_choice(*steps)) for steps in found) > spent
    stated = [[[s[1] for s in side if s[0] == "table"] for side in steps] for steps in found]
    assert any(one != other for one, other in stated)  # without noise, a table of a triple tells them apart


@pytest.mark.parametrize("person", [1, 3])
def test_every_draw_has_the_noise_and_the_sensitivity_it_is_paid_for(person, monkeypatch):
    """What the samplers are asked for: rates, variances and sensitivities that the budget pays for, on all counts."""
    asked = []

    def noise(scale, size, _stream):
        asked.append(scale)
        return np.arange(1, size + 1)

    def choice(scores, epsilon, sensitivity, _stream):
        asked.append((tuple(scores), epsilon, sensitivity))
        return 1

    for name, double in (("discrete_laplace", noise), ("discrete_gaussian", noise)):
        monkeypatch.setattr(drawing, name, double)
    for name in ("permute_and_flip", "exponential_choice"):
        monkeypatch.setattr(drawing, name, choice)
    counts, budget = np.array([[5, 0], [2, 1]]), Fraction(1, 8)
    for kind in (Pure, Concentrated):
        draws = kind(Entropy.seeded(1), person=person)
        assert draws.table(counts, budget).tolist() == [[6, 2], [5, 5]]
        assert draws.choose(np.array([4, 2]), budget, 7) == 1
    rate, flip, variance, exponential = asked
    assert rate * person == budget
    assert flip == ((4, 2), budget, 7 * person)
    assert Fraction(person**2) / (2 * variance) == budget
    assert exponential == ((4, 2), 1, 7 * person)  # sqrt(8 / 8)
