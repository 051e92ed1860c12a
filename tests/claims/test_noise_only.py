"""Is a table that would be mostly noise refused by public numbers, and are these numbers right?

`noisy-table` published four cells where 5.26 empty ones were expected, as 223 rows of a person who does
not exist.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.claims.tiny_tables import tiny_schema

import sfumato as sf
from sfumato.counts import Table
from sfumato.errors import SchemaError
from sfumato.mechanisms.noisy_cells import expected_error, least_drawable, most_noise
from sfumato.randomness import Entropy, discrete_laplace, discrete_laplace_pmf, discrete_laplace_tail, sparse_noise
from sfumato.randomness.sparse import expected_noise, threshold_for
from sfumato.schema import Schema


def wide(sizes=(50, 50, 40), **keys) -> Schema:
    quasi = {
        f"q{i}": {"role": "quasi", "kind": "numeric", "range": [0, size], "step": 1, "source": "public"}
        for i, size in enumerate(sizes)
    }
    target = {"y": {"role": "target", "kind": "nominal", "values": ["a", "b"], "source": "public"}}
    return Schema.parse({"name": "wide", **keys, "attribute": {**quasi, **target}})


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 10**40), st.fractions(Fraction(1, 50), 5, max_denominator=50), st.integers(1, 60))
def test_expected_noise_is_the_exact_law(cells, epsilon, threshold):
    """E(cells) = N P(X >= t); E(rows) = N sum over x >= t of x P(x), in 50 digits."""
    found, rows = expected_noise(cells, epsilon, threshold)
    exact = Decimal(cells) * discrete_laplace_tail(epsilon, threshold)
    assert found == pytest.approx(float(exact), rel=1e-9)
    # E(X; X >= t) = t P(X >= t) + sum over u > t of P(X >= u), a geometric series
    more = discrete_laplace_tail(epsilon, threshold + 1)
    ratio = discrete_laplace_tail(epsilon, threshold + 2) / more
    assert rows == pytest.approx(float(Decimal(cells) * (threshold * exact / cells + more / (1 - ratio))), rel=1e-9)


def test_expected_noise_is_what_is_drawn():
    cells, epsilon, threshold, runs = 10**6, Fraction(1, 2), 20, 400
    drawn = [sparse_noise(cells, {}, epsilon, threshold, Entropy.seeded(i))[1] for i in range(runs)]
    found, rows = expected_noise(cells, epsilon, threshold)
    # Poisson, all but: five standard deviations, a false alarm in 10^6
    assert abs(sum(map(len, drawn)) / runs - found) < 5 * (found / runs) ** 0.5
    assert abs(sum(int(d.sum()) for d in drawn) / runs - rows) < 5 * (found * 25**2 / runs) ** 0.5


@settings(max_examples=300, deadline=None)
@given(
    most=st.integers(1, 10**12),
    share=st.fractions(0, 1, max_denominator=10**6),
    epsilon=st.fractions(Fraction(1, 50), 5, max_denominator=50),
    unspent=st.fractions(0, 5, max_denominator=50),
    asked=st.one_of(st.just("auto"), st.integers(1, 60)),
)
def test_no_run_expects_more_noise_than_was_forecast(most, share, epsilon, unspent, asked):
    """However far a run specializes, and however much it leaves to the counts."""
    cells, rate = max(1, math.floor(most * share)), epsilon + unspent
    threshold = max(threshold_for(cells, rate, asked), least_drawable(cells, rate))
    pairs = zip(expected_noise(cells, rate, threshold), most_noise(most, epsilon, asked), strict=True)
    assert all(one <= bound * (1 + 1e-9) for one, bound in pairs)


@pytest.mark.parametrize("mechanism", [sf.DiffGen("1/2"), sf.DiffGen(1, paper=True), sf.DiffGen(1, threshold=5)])
def test_the_plan_of_diffgen_bounds_the_noise_of_the_release(mechanism):
    """It said "up to 3.96 rows" of the cells before any specialization, where 105 were expected after."""

    def rows(words: str) -> float:
        return float(re.findall(r"cells with ([0-9.e+]+) rows", words.replace(",", ""))[-1])

    table = sf.datasets.adult("test")
    forecast = rows(" ".join(mechanism.plan(table.schema).notes))
    found = rows(" ".join(sf.publish(table, mechanism, seed=3, allow_noise=True).notes))
    assert 0 < found <= forecast


def test_a_refusal_says_of_which_cells_it_speaks():
    assert "cells before any specialization, counts from" in str(sf.DiffGen("1/1000").plan(wide()).refusal)
    assert "specialization" not in str(sf.DiffGen("1/1000", specializations="leaves").plan(wide()).refusal)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_the_error_of_a_count_is_that_of_its_law(epsilon):
    law = {x: float(discrete_laplace_pmf(epsilon, x)) for x in range(-600, 601)}
    mean = sum(abs(x) * p for x, p in law.items())
    deviation = sum(x * x * p for x, p in law.items()) ** 0.5
    assert expected_error(epsilon) == f"{mean:.3g} rows a cell on average, standard deviation {deviation:.3g}"
    drawn = discrete_laplace(epsilon, 40_000, Entropy.seeded(1))
    assert np.abs(drawn).mean() == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-6", 10**6, 10**12])
def test_figures_at_the_ends_of_epsilon(epsilon):
    rate = Fraction(epsilon)
    assert all(np.isfinite(expected_noise(2**512, rate, threshold_for(2**512, rate, "auto"))))
    assert "nan" not in expected_error(rate)


@pytest.mark.parametrize("mechanism", [sf.NoisyTable("1/10"), sf.NoisyTable(1), sf.DiffGen("1/1000")])
def test_a_table_of_noise_is_refused_before_anything_is_spent(mechanism, tmp_path):
    """The refusal knows the schema alone: the same for every table, the ledger untouched."""
    schema, book = wide(), tmp_path / "book.db"
    sf.Ledger(book).limit("wide", 10)
    answer = set()
    for rows in ([], [[0, 0, 0, 0]], [[1, 2, 3, 1]] * 5000):
        with pytest.raises(sf.ParameterError, match="noise alone would report about") as caught:
            sf.publish(Table.from_codes(schema, np.array(rows, np.int64).reshape(-1, 4)), mechanism, ledger=book)
        answer.add(str(caught.value))
    assert len(answer) == 1
    assert sf.Ledger(book).entries() == []
    assert str(mechanism.plan(schema).refusal) in answer


def test_an_explicit_yes_or_a_quiet_threshold_publishes():
    schema = wide()
    table = Table.from_codes(schema, np.array([[1, 2, 3, 1]] * 5000))
    assert sf.publish(table, sf.NoisyTable(1), seed=1, allow_noise=True).form == "cells"
    refusal = sf.NoisyTable(1).plan(schema).refusal
    quiet = int(str(refusal).partition("threshold ")[2].split()[0])
    release = sf.publish(table, sf.NoisyTable(1, threshold=quiet), seed=1)
    assert release.summary().classes == 1  # the one group that is there
    assert expected_noise(2 * 10**5, Fraction(1), quiet)[0] <= 1 / 20


def test_declared_rows_decide():
    assert sf.NoisyTable(1).plan(wide()).refusal is not None
    assert sf.NoisyTable(1).plan(wide(rows=100_000)).refusal is None
    assert sf.NoisyTable("1/100").plan(wide(rows=100_000)).refusal is None
    assert sf.NoisyTable("1/1000").plan(wide(rows=100_000)).refusal is not None
    assert sf.NoisyTable(1).plan(tiny_schema()).refusal is None


def test_rows_are_declared_to_one_digit():
    with pytest.raises(SchemaError, match="one digit other than 0"):
        wide(rows=1432)
    assert wide(rows=1000).rows == 1000
    assert wide(rows=7).with_roles(quasi="q1").rows == 7


def test_a_mutant_that_asks_the_table_is_caught():
    """A rule that counts the rows refuses a table and publishes its neighbour: an output that only one can give."""
    schema, mechanism = tiny_schema(), sf.NoisyTable("1/100")
    rate = Fraction(1, 100)
    edge = int(10 * expected_noise(72, rate, threshold_for(72, rate, "auto"))[1])
    counted = [Schema(schema.attributes, name="tiny", rows=rows) for rows in (edge, edge + 1)]  # the mutant
    assert [mechanism.plan(by_data).refusal is None for by_data in counted] == [False, True]
    tables = [Table.from_codes(schema, np.zeros((rows, 4), np.int64)) for rows in (edge, edge + 1)]
    for table in tables:  # the rule as it is answers by the schema alone
        with pytest.raises(sf.ParameterError, match="noise alone"):
            sf.publish(table, mechanism)


def test_nothing_can_fail_for_size_once_cuts_are_drawn():
    """paper=True reports from 1 on, and the number of cells follows from the cuts: the threshold rises, no error."""
    leaves = {}
    for i in range(3):
        tree = {f"g{j}": [f"{i}.{j}.{k}" for k in range(60)] for j in range(60)}
        leaves[f"h{i}"] = {"role": "quasi", "kind": "nominal", "hierarchy": tree, "source": "public"}
    target = {"y": {"role": "target", "kind": "nominal", "values": ["a", "b"], "source": "public"}}
    schema = Schema.parse({"name": "deep", "attribute": {**leaves, **target}})
    mechanism = sf.DiffGen(2, specializations=6, paper=True, score="max")
    few, many = mechanism.cells(schema)
    assert few == 2
    assert many == 2 * 3600**3
    rate = Fraction(1)
    assert least_drawable(many, rate) > 1
    assert Decimal(many) * discrete_laplace_tail(rate, least_drawable(many, rate)) <= 10**7
    with pytest.raises(sf.ParameterError, match="more than 10,000,000"):
        sf.DiffGen(2, specializations="leaves", threshold=1).claim(schema)


@pytest.mark.parametrize(
    "mechanism",
    [
        sf.DiffGen("1e-12", specializations=2),
        sf.DiffGen(1, specializations=60, ratio="1/10", splits="together"),
        sf.DiffGen(1, specializations=2, prefix="1e-13"),
        sf.DiffGen(10**13, specializations=2),
        sf.NoisyTable("1e-13"),
        sf.NoisyTable(10**6, threshold=10**12),
    ],
)
def test_a_price_no_sampler_takes_is_refused_by_the_claim(mechanism, tmp_path):
    """A later choice that is too cheap used to fail after the earlier ones were drawn."""
    with pytest.raises(sf.ParameterError):
        mechanism.claim(tiny_schema())


def test_more_cells_than_are_drawn_are_refused_with_the_product(tmp_path):
    target = {f"t{i}": {"role": "target", "kind": "nominal", "values": list("abcde"), "source": "public"}
              for i in range(300)}  # fmt: skip
    quasi = {"q": {"role": "quasi", "kind": "nominal", "values": ["x", "y"], "source": "public"}}
    schema = Schema.parse({"name": "many", "attribute": {**quasi, **target}})
    for mechanism in (sf.NoisyTable(1), sf.DiffGen(1), sf.DiffGen.recommended(1)):
        with pytest.raises(sf.ParameterError, match=r"must be at most about 2\^512.*have about 2\^696 combinations"):
            mechanism.claim(schema)
