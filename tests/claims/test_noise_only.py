"""Is a table that would be mostly noise refused by public numbers, and are these numbers right?

`noisy-table` published four cells where 5.26 empty ones were expected, as 223 rows of a person who does
not exist.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.claims.tiny_tables import tiny_schema

import sfumato as sf
from sfumato.counts import Table
from sfumato.errors import SchemaError
from sfumato.mechanisms.base import gather
from sfumato.mechanisms.noisy_cells import _noise_notes, expected_error, least_drawable, most_noise
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


def test_a_refusal_names_the_epsilon_that_was_asked_for():
    """With two rows a person, `--epsilon 2` was refused as `epsilon = 1`."""
    said = str(sf.NoisyTable(2).plan(wide((100, 100, 100, 100), rows_per_person=2)).refusal)
    assert said.startswith("epsilon = 2: ")
    assert ", epsilon 1 for the count of a row." in said


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


def person_table(rows, **keys):
    ages = {"role": "quasi", "kind": "numeric", "range": [0, 64], "step": 1}
    jobs = {"role": "quasi", "values": [f"job {i}" for i in range(40)]}
    target = {"role": "target", "values": ["a", "b"]}
    text = {"name": "people", "source": "public", **keys, "attribute": {"age": ages, "job": jobs, "y": target}}
    schema = Schema.parse(text | ({} if rows is None else {"rows": rows}))
    drawn = np.random.default_rng(1)
    codes = np.column_stack([drawn.integers(0, n, 1000) for n in (64, 40, 2)])
    return Table.from_codes(schema, codes)


@pytest.mark.parametrize("mechanism", [sf.DiffGen("1/4"), sf.DiffGen.recommended("1/4"), sf.DiffGen(1, threshold=1)])
def test_diffgen_is_refused_for_what_noise_may_add_after_its_cuts(mechanism, tmp_path):
    """Only the cells before any cut were judged: 421 of 462 published rows were nobody's, in a table of 1,000."""
    table, book = person_table(1000), tmp_path / "book.db"
    sf.Ledger(book).limit("people", 10)
    few, many = mechanism.cells(table.schema)
    with pytest.raises(sf.ParameterError, match="after the specializations, noise alone could report") as caught:
        sf.publish(table, mechanism, ledger=book)
    assert sf.Ledger(book).entries() == []
    assert f"at most {many:,} cells, in a table of 1,000 rows (declared in the schema)" in str(caught.value)
    assert sf.publish(table, mechanism, seed=1, allow_noise=True).form == "cells"
    assert few < many
    assert mechanism.plan(person_table(200_000).schema).refusal is None


@settings(max_examples=60, deadline=None)
@given(
    rows=st.sampled_from([100, 500, 1000, 5000, 20_000]),
    epsilon=st.sampled_from(["1/20", "1/4", "1", "4"]),
    h=st.integers(1, 12),
    cells=st.integers(2, 5120),
    threshold=st.sampled_from(["auto", 1, 20]),
)
def test_no_diffgen_that_is_not_refused_expects_a_tenth_from_noise(rows, epsilon, h, cells, threshold):
    """Whatever the cuts lead to, and however much of the budget they leave to the counts."""
    schema, mechanism = person_table(rows).schema, sf.DiffGen(epsilon, specializations=h, threshold=threshold)
    few, many = mechanism.cells(schema)
    if mechanism.plan(schema).refusal is None:
        number = min(max(cells, few), many)
        for rate in (Fraction(epsilon) / 2, Fraction(epsilon) * 3 / 4):
            least = max(threshold_for(number, rate, threshold), least_drawable(number, rate))
            assert 10 * expected_noise(number, rate, least)[1] < rows * (1 + 1e-9)


def test_usual_tables_are_not_refused_at_epsilon_one():
    adult = sf.datasets.adult("test").schema
    for mechanism in (sf.DiffGen(1), sf.DiffGen.recommended(1), sf.TargetRows(1), sf.Marginals(1)):
        for rows in (None, 20_000, 40_000):
            assert mechanism.plan(replace(adult, rows=rows)).refusal is None


def test_without_declared_rows_the_noise_after_cuts_is_a_warning():
    """Adult has 45,000 rows and does not say so: nothing is refused, and the number of rows is said."""
    adult = sf.datasets.adult().schema
    assert any("10 cells with 771 rows" in said for said in sf.DiffGen("1/10").plan(adult).warnings)
    assert not sf.DiffGen(1).plan(adult).warnings
    assert not sf.DiffGen(1).plan(person_table(200_000).schema).warnings


@pytest.mark.parametrize(
    ("share", "words"), [(0.6, "most of these rows"), (0.2, "up to 20 % of these rows"), (0.02, None)]
)
def test_a_release_names_the_part_that_noise_is_expected_to_be(share, words):
    """It was named from half of the rows on."""
    schema, rate = wide((3, 4)), Fraction(1, 10)
    expected = expected_noise(24, rate, threshold_for(24, rate, "auto"))[1]
    table = Table.from_codes(schema, np.array([[1, 2, 1]] * round(expected / share)))
    said = " ".join(_noise_notes(24, _decided(table, rate), round(expected / share)))
    assert ("expected to be noise" in said) == (words is not None)
    assert words is None or words in said


def _decided(table, rate):
    mechanism = sf.NoisyTable(rate)
    return mechanism.decide(gather(mechanism, table))


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
    mechanism = sf.DiffGen(2, specializations=60, paper=True, score="max")
    few, many = mechanism.cells(schema)
    assert few == 2
    assert many == 2 * (1 + 20 * 59) ** 3  # 20 of the 61 groups of each column are specialized, of 60 each
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
    with pytest.raises(sf.ParameterError, match=r"about 2\^697 entries.*have about 2\^696 combinations"):
        sf.TargetRows(1).claim(schema)


def test_marginals_speaks_of_no_cell_for_each_combination():
    """Its tables are of one to three columns; the refusal said that every one of 2^92 combinations was a cell."""
    columns = {f"s{i}": {"role": "sensitive", "values": list("abcdefgh"), "source": "public"} for i in range(6)}
    schema = Schema.parse({"name": "carried", "source": "public", "rows": 100, "attribute": columns})
    refusal = str(sf.Marginals("1/100").plan(schema).refusal)
    assert "noise" in refusal
    assert "cell" not in refusal


def drawn_table(rows, values=5):
    columns = {f"c{i}": {"role": "quasi", "values": [f"v{j}" for j in range(values)]} for i in range(3)}
    columns["y"] = {"role": "target", "values": ["a", "b"]}
    schema = Schema.parse(
        {"name": "drawn", "source": "public", "attribute": columns} | ({"rows": rows} if rows else {})
    )
    drawn = np.random.default_rng(1)
    return Table.from_codes(schema, np.column_stack([drawn.integers(0, a.size, 300) for a in schema.published]))


@pytest.mark.parametrize("method", [sf.TargetRows, sf.Marginals, lambda e: sf.Marginals(e, delta="1e-6")])
@pytest.mark.parametrize("epsilon", ["1/1000", "1/100"])
def test_drawn_rows_that_would_be_noise_are_refused(method, epsilon, tmp_path):
    """Of 300 people, an epsilon of 0.001 gave 8038, 2, 2196, 18586 and 1 rows, without a word."""
    mechanism, book = method(epsilon), tmp_path / "book.db"
    sf.Ledger(book).limit("drawn", 10)
    with pytest.raises(sf.ParameterError, match=r"noise alone could add (up to )?about") as caught:
        sf.publish(drawn_table(300), mechanism, ledger=book)
    assert "in a table of 300 rows (declared in the schema)" in str(caught.value)
    assert sf.Ledger(book).entries() == []
    assert sf.publish(drawn_table(300), mechanism, seed=1, allow_noise=True).form == "synthetic"
    with pytest.warns(sf.errors.PublicationWarning, match="noise alone could add"):  # no number of rows to go by
        sf.publish(drawn_table(None), mechanism, seed=1)
    for rows in (300, 100_000):
        assert method(4).plan(drawn_table(rows).schema).refusal is None
        assert not any("noise alone" in said for said in method(4).plan(drawn_table(rows).schema).warnings)


@pytest.mark.parametrize("method", [sf.TargetRows, sf.Marginals])
@pytest.mark.parametrize("epsilon", ["1/100", "1/10"])
def test_the_rows_that_noise_is_said_to_add_are_those_it_adds(method, epsilon):
    """On a table without anybody every drawn row is one of noise."""
    table, mechanism = drawn_table(300), method(epsilon)
    said = float(re.findall(r"about ([0-9.e+,]+) rows", str(mechanism.plan(table.schema).refusal))[0].replace(",", ""))
    empty = Table.from_codes(table.schema, np.zeros((0, 4), np.int64))
    drawn = [sf.publish(empty, mechanism, seed=at, allow_noise=True).rows for at in range(60)]
    # The deviation of a run is about 1.5 times its mean; of the mean of 60 a fifth of it.
    assert 0.4 * said < np.mean(drawn) < 1.9 * said


def test_marginals_refuses_columns_of_noise():
    """The number of rows is told well, but the table of a middling column is noise."""
    refusal = sf.Marginals("1/10").plan(replace(drawn_table(None, 200).schema, rows=9000)).refusal
    assert "noise is expected to move up to" in str(refusal)
    assert "rows of the table of a column of 200 values" in str(refusal)
    assert sf.Marginals(4).plan(replace(drawn_table(None, 200).schema, rows=9000)).refusal is None


def test_more_rows_than_can_be_held_are_refused_before_the_draw(tmp_path):
    """An epsilon of 1e-8 took 20 GB, 1e-7 ended in a MemoryError with the budget spent."""
    book = tmp_path / "book.db"
    sf.Ledger(book).limit("drawn", 10)
    for rows in (None, 300):
        for epsilon in ("1e-6", "1e-7", "1e-8"):
            with pytest.raises(sf.ParameterError, match=r"at most 2,000,000 of noise and 100,000,000 in all are drawn"):
                sf.publish(drawn_table(rows), sf.TargetRows(epsilon), ledger=book, allow_noise=True)
    with pytest.raises(sf.ParameterError, match="in all are drawn"):
        sf.TargetRows(1).claim(replace(drawn_table(None).schema, rows=200_000_000))
    assert sf.Ledger(book).entries() == []
    assert sf.TargetRows("1e-5").claim(drawn_table(None).schema).kind == "proved"
