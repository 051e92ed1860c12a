"""Tables over public bins equal the estimator, cell by cell, and the table's own counts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.estimate import Regions, align, association, bins_of, count, exact_tables, read_tables, values_moved
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy

MADE = [
    sf.Mondrian(sf.KAnonymity(20)),
    sf.Bucketize(sf.TCloseness("0.1")),
    sf.Suppress(),
    sf.DiffGen(2),
]


def made(table, mechanism):
    return run(mechanism, gather(mechanism, table), Entropy.seeded(1))


@pytest.mark.parametrize("mechanism", MADE, ids=lambda one: type(one).__name__)
def test_a_cell_is_what_the_estimator_gives(clinic, mechanism):
    release = made(clinic, mechanism)
    read = read_tables(release, clinic.schema)
    view = align(release, clinic.schema, "ill")
    quasi = clinic.schema.quasi
    for names in (["age"], ["town"], ["age", "town"]):
        found = read.counts(*names, "ill")
        for cell in itertools.product(*(range(len(read.bins[name])) for name in names)):
            edges = [(name, read.bins[name].edges[at : at + 2]) for name, at in zip(names, cell, strict=True)]
            region = Regions.of(quasi, [{name: ((low, high),) for name, (low, high) in edges}])
            for code in range(4):
                expected = count(view, region, np.eye(4)[[code]])[0]
                assert found[(*cell, code)] == pytest.approx(expected, abs=1e-9)
        assert read.counts(*names) == pytest.approx(found.sum(axis=-1))
    assert read.counts("ill", "age") == pytest.approx(read.counts("age", "ill").T)


def test_the_table_itself_is_exact(clinic):
    exact = exact_tables(clinic)
    assert exact.confidential
    age, ill = clinic.counts(["age", "ill"]).codes.T
    weights = clinic.counts(["age", "ill"]).weights
    found = exact.counts("age", "ill")
    assert found.sum() == clinic.rows
    for place, low, high in zip(range(99), exact.bins["age"].edges[:-1], exact.bins["age"].edges[1:], strict=False):
        for code in range(4):
            assert found[place, code] == weights[(age >= low) & (age < high) & (ill == code)].sum()
    raw = read_tables(made(clinic, sf.Raw()), clinic.schema)
    assert raw.counts("age", "town", "ill") == pytest.approx(exact.counts("age", "town", "ill"))


def test_bins_cover_every_code_once():
    table = sf.datasets.adult()
    for attribute in table.schema.published:
        bins = bins_of(attribute)
        assert bins.edges[0] == 0
        assert bins.edges[-1] == attribute.size
        assert list(bins.edges) == sorted(set(bins.edges))
        assert len(bins) == len(set(bins.names)) <= 41
    age = bins_of(table.schema["age"])
    assert 5 <= len(age) <= 14
    assert (age.place(np.arange(table.schema["age"].size)) == np.repeat(np.arange(len(age)), np.diff(age.edges))).all()


@pytest.mark.parametrize("mechanism", MADE, ids=lambda one: type(one).__name__)
def test_values_moved_is_the_total_variation_of_single_values(clinic, mechanism):
    """The reference goes through all values of a column and asks the estimator's own overlap of every label with it."""
    release = made(clinic, mechanism)
    exact, read = exact_tables(clinic), read_tables(release, clinic.schema)
    for attribute in clinic.schema.published:
        counts = clinic.counts(attribute.name)
        before = np.bincount(counts.codes[:, 0], weights=counts.weights, minlength=attribute.size)
        after = np.zeros(attribute.size)
        view = align(release, clinic.schema, "ill")
        if attribute.role == "quasi":
            for code in range(attribute.size):
                region = Regions.of(clinic.schema.quasi, [{attribute.name: ((code, code + 1),)}])
                after[code] = sum(count(view, region, np.eye(4)[[ill]])[0] for ill in range(4))
        else:
            after = read.counts(attribute.name)
        after = np.clip(after, 0, None)
        expected = np.abs(before / before.sum() - after / after.sum()).sum() / 2
        assert values_moved(exact, read, attribute.name) == pytest.approx(expected, abs=1e-9)
    raw = read_tables(made(clinic, sf.Raw()), clinic.schema)
    assert {values_moved(exact, raw, attribute.name) for attribute in clinic.schema.published} == {0}


def test_an_unknown_column_is_named(clinic):
    with pytest.raises(ParameterError) as answer:
        exact_tables(clinic).counts("height")
    assert answer.value.value == "height"


def test_association_by_hand():
    assert association(np.array([[10.0, 0.0], [0.0, 30.0]])) == 1
    assert association(np.array([[1.0, 2.0], [2.0, 4.0]])) == pytest.approx(0)
    assert association(np.zeros((2, 2))) == 0
    assert association(np.array([[3.0, 1.0], [1.0, 3.0]])) == pytest.approx(0.5)  # chi2 = 8 (3*3-1*1)^2 / 4^4 = 2
