"""Linkability inside Mondrian's cuts: compiled equals reference, every box passes, and the claim stays an estimate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.oracles.mondrian import WeightedTable, partition_reference

import sfumato as sf
from sfumato.claims import Linkability, Linkable
from sfumato.kernels import conditions as sc
from sfumato.kernels.conditions import linkage_score
from sfumato.kernels.dlink.score import INDEPENDENT, Link
from sfumato.kernels.mondrian.layout import CutAttribute
from sfumato.kernels.mondrian.partition import partition
from sfumato.mechanisms.base import gather
from sfumato.mechanisms.dlink.population_model import Frequencies, bind_model
from sfumato.randomness import Entropy

QUIET = settings(max_examples=40, suppress_health_check=list(HealthCheck))
TREE = ((0, 6, (1, 2, 3)), (0, 2, (4, 5)), (2, 5, (6, 7)), (5, 6, ()), (0, 1, ()), (1, 2, ()), (2, 4, ()), (4, 5, ()))
ATTRIBUTES = [CutAttribute(9), CutAttribute(6, missing=True, nodes=TREE), CutAttribute(4, missing=True)]


def a_table(seed, rows=80):
    rng = np.random.default_rng(seed)
    hidden = rng.random(rows)
    columns = [
        np.minimum((0.6 * hidden + 0.4 * rng.random(rows)) * a.size, a.size - 1).astype(np.int32) for a in ATTRIBUTES
    ]
    ill = np.minimum((0.4 * hidden + 0.6 * rng.random(rows)) * 5, 4).astype(np.int32)
    weights = rng.integers(1, 5, rows)
    return WeightedTable(np.stack(columns, axis=1), weights=weights, sensitive=ill[:, None], sensitive_sizes=[5])


def a_link(table, *, alpha=0.5, d=2, n=60.0, source=INDEPENDENT, declared=None) -> Link:
    rng = np.random.default_rng(declared or 0)
    prefix = []
    for a, attribute in enumerate(ATTRIBUTES):
        counts = np.bincount(table.codes[:, a], table.weights, attribute.size)
        shares = rng.dirichlet(np.ones(attribute.size)) if declared is not None else counts / counts.sum()
        prefix.append(np.concatenate([[0.0], np.cumsum(shares)]))
        prefix[-1][-1] = 1.0
    overall = table.overall()[0]
    return Link(
        offset=np.array([0, 5]),
        share=overall / overall.sum(),
        ranked=np.argsort(-overall, kind="stable"),
        sizes=np.array([n]),
        start=np.cumsum([0, *(len(sums) for sums in prefix)]),
        prefix=np.concatenate(prefix),
        cell_low=np.zeros((0, 3), np.int64),
        cell_high=np.zeros((0, 3), np.int64),
        cell_value=np.zeros(0, np.int64),
        cell_weight=np.zeros(0),
        d=d,
        alpha=alpha,
        mode=0,
        source=source,
        draws=0,
        rows=int(table.weights.sum()),
    )


def both(table, conditions, *, cut, suppress=Fraction(0)):
    fast = partition(
        table.codes,
        table.weights,
        ATTRIBUTES,
        conditions=conditions,
        sensitive=table.sensitive,
        sensitive_sizes=table.sensitive_sizes,
        cut=cut,
        max_suppressed=suppress,
    )
    slow = partition_reference(
        table, ATTRIBUTES, conditions=conditions, cut=cut, uniformity_weight=0.3, max_suppressed=suppress
    )
    np.testing.assert_array_equal(fast.low, slow.low)
    np.testing.assert_array_equal(fast.high, slow.high)
    np.testing.assert_array_equal(fast.leaf, slow.leaf)
    return fast


def passes(table, link, found) -> bool:
    for leaf in range(len(found.weight)):
        inside = found.leaf == leaf
        counts = np.bincount(table.sensitive[inside, 0], table.weights[inside], 5)
        box = list(zip(found.low[leaf].tolist(), found.high[leaf].tolist(), strict=True))
        if linkage_score(link, [counts], box) < link.alpha:
            return False
    return True


@pytest.mark.parametrize("cut", ["best", "widest"])
@pytest.mark.parametrize("source", [0, 1])
@pytest.mark.parametrize("declared", [None, 7])
def test_compiled_equals_the_reference(cut, source, declared) -> None:
    parts = 0
    for seed in range(4):
        table = a_table(seed)
        link = a_link(table, source=source, declared=declared)
        found = both(table, [sc.size(4), sc.linkable(link)], cut=cut)
        assert passes(table, link, found)
        parts += len(found.weight)
    assert parts > 8


@QUIET
@given(st.integers(0, 10**6), st.floats(0.1, 0.9), st.integers(2, 3), st.integers(0, 3))
def test_every_leaf_passes_whatever_is_asked(seed, alpha, d, tenths) -> None:
    table = a_table(seed, rows=40)
    link = a_link(table, alpha=alpha, d=d, declared=seed if seed % 2 else None)
    overall = table.overall()[0]
    if linkage_score(link, [overall], None) < alpha:
        return
    found = both(table, [sc.size(3), sc.linkable(link)], cut="best", suppress=Fraction(tenths, 10))
    assert passes(table, link, found)


def test_a_mutant_that_forgets_the_box_is_caught() -> None:
    """The score of the counts alone, with the share of the whole domain, lets through boxes that fail."""
    table = a_table(1)
    link = a_link(table)
    forgetful = link._replace(start=np.zeros(1, np.int64))
    found = both(table, [sc.size(4), sc.linkable(forgetful)], cut="best")
    assert not passes(table, link, found)


def adult():
    quasi = ["age", "workclass", "education", "sex"]
    table = sf.datasets.adult().take(np.arange(6000))
    return table.with_roles(sensitive="occupation", quasi=quasi)


@pytest.mark.parametrize("population", [None, "joint"])
def test_every_class_passes_in_its_box(population) -> None:
    asked = Linkability(4, 0.8, population=population)
    mechanism = sf.Mondrian(sf.KAnonymity(10) & asked)
    table = adult()
    release = mechanism.apply(gather(mechanism, table), Entropy.seeded(1))
    home = release.residence
    counted = Frequencies.of(release.quasi, release.schema.sensitive, home.codes, home.weight, home.names)
    link = bind_model(asked, counted, k=10)
    histogram = release.groups.histogram("occupation").toarray()
    for box in range(len(release.boxes)):
        sides = list(zip(release.boxes.low[box].tolist(), release.boxes.high[box].tolist(), strict=True))
        assert linkage_score(link, [histogram[release.boxes.group[box]]], sides) >= link.alpha
    alone = sf.Mondrian(sf.KAnonymity(10))
    assert len(release.boxes) < len(alone.apply(gather(alone, table), Entropy.seeded(1)).boxes)


def test_the_claim_is_an_estimate_and_never_checked(tmp_path) -> None:
    mechanism = sf.Mondrian(sf.KAnonymity(10) & sf.Linkability(4, 0.8))
    release = sf.publish(adult(), mechanism)
    assert release.claim.promise == Linkable(4, alpha=0.8, base=sf.KAnonymity(10))
    release.save(tmp_path / "out")
    verdict = sf.verify(tmp_path / "out")
    assert verdict.kind == "estimate"
    assert [finding.requirement for finding in verdict.findings] == [
        sf.KAnonymity(10),
        sf.LDiversity(4, kind="distinct"),
    ]
    assert "linkable(4, 0.8): an estimate, not checked" in str(verdict)
    with pytest.raises(sf.ParameterError, match="not checkable"):
        sf.verify(tmp_path / "out", requirement=sf.Linkability(4, 0.8))
    for refused in (
        lambda: sf.Bucketize(sf.Linkability(4, 0.8)),
        lambda: sf.Bucketize(sf.LDiversity(2) & sf.Linkability(4, 0.8)),
    ):
        with pytest.raises(sf.ParameterError, match="estimate under a model"):
            refused().claim(release.schema)


def test_tight_labels_and_unreachable_parameters_are_refused() -> None:
    with pytest.raises(sf.ParameterError, match="declared boxes"):
        sf.Mondrian(sf.KAnonymity(10) & sf.Linkability(4, 0.8), tight=True)
    with pytest.raises(sf.Infeasible, match="no partition can do better"):
        sf.publish(adult(), sf.Mondrian(sf.KAnonymity(10) & sf.Linkability(12, 0.99, others=20)))
