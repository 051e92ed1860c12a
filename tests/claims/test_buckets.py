"""Buckets: the requirement holds in every group, the link inside a group is gone, and mutants are caught."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.oracles.anatomy import bucket_values_reference

import sfumato as sf
from sfumato.counts import Table
from sfumato.kernels.anatomy import bucket_values

SMALL = {
    "name": "small",
    "attribute": {
        "a": {"role": "quasi", "kind": "numeric", "range": [0, 6]},
        "b": {"role": "quasi", "values": ["x", "y", "z"]},
        "s": {"role": "sensitive", "values": ["p", "q", "r", "t", "u"]},
        "y": {"role": "target", "values": ["no", "yes"]},
    },
}
ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 4), st.integers(0, 1)), min_size=2, max_size=60
)


def table(rows: list[tuple[int, ...]]) -> Table:
    return Table.from_codes(sf.Schema.parse(SMALL), np.array(rows))


@settings(max_examples=60)
@given(
    rows=ROWS,
    requirement=st.sampled_from([sf.BetaLikeness(2), sf.LDiversity(2), sf.LDiversity("3/2") & sf.TCloseness(0.2)]),
)
def test_any_bucketization(rows: list[tuple[int, ...]], requirement: sf.claims.Requirement) -> None:
    try:
        release = sf.publish(table(rows), sf.Bucketize(requirement))
    except sf.Infeasible:
        return
    assert requirement.check(release.groups.histogram("s"), release.groups.overall["s"]).all()
    _exact_and_complete(release, rows)


def _exact_and_complete(release: sf.Release, rows: list[tuple[int, ...]]) -> None:
    """The quasi-identifiers are all there, exactly; the carried values are all there, by group."""
    frames = release.frames()
    schema = sf.Schema.parse(SMALL)
    wanted = sorted((schema["a"].text(a), schema["b"].text(b)) for a, b, *_ in rows)
    assert sorted(frames["data"].select("a", "b").rows()) == wanted
    assert frames["groups"]["count"].sum() == len(rows)
    assert set(frames["data"].columns) == {"a", "b", "group"}


@settings(max_examples=100)
@given(rows=ROWS, l=st.integers(2, 4), seed=st.integers(0, 99))
def test_anatomy_is_l_diverse_by_construction(rows: list[tuple[int, ...]], l: int, seed: int) -> None:
    counts = np.bincount([row[2] for row in rows])
    if counts.max() * l > len(rows):
        with pytest.raises(sf.Infeasible) as caught:
            sf.publish(table(rows), sf.Anatomy(l), seed=seed)
        assert float(caught.value.best) == pytest.approx(len(rows) / counts.max())
        return
    release = sf.publish(table(rows), sf.Anatomy(l), seed=seed)
    histogram = release.groups.histogram("s").toarray()
    assert histogram.max() <= 1  # every value at most once in a group
    assert release.groups.weight.min() >= l
    assert sf.LDiversity(l).check(histogram, histogram.sum(axis=0)).all()
    _exact_and_complete(release, rows)
    assert release.claim.rehearsal == (counts.max() > 1)  # seeded, and there was something to draw


def test_a_mutant_without_the_residue_rule_is_caught(tmp_path: Path) -> None:
    """Left-over rows put anywhere break l-diversity; the verifier sees it on the file."""
    rows = [(i % 6, i % 3, i % 5, 0) for i in range(25)]
    release = sf.publish(table(rows), sf.Anatomy(3))
    carried = release.groups.carried
    codes = carried.codes.copy()
    first = np.flatnonzero(carried.group == 0)
    codes[first[1]] = codes[first[0]]
    mutant = replace(release, groups=replace(release.groups, carried=replace(carried, codes=codes)))
    mutant.save(tmp_path / "mutant")
    assert not sf.verify(tmp_path / "mutant").holds
    release.save(tmp_path / "good")
    assert sf.verify(tmp_path / "good").holds


def test_the_link_inside_a_group_is_gone() -> None:
    """Swapping what two people of one group carry changes nothing that is published."""
    rows = [(i % 6, i // 6 % 3, i % 5, i // 4 % 2) for i in range(60)]
    one = sf.publish(table(rows), sf.Bucketize(sf.TCloseness("0.02")))
    home = one.residence
    group_of = {tuple(codes): int(g) for codes, g in zip(home.codes.tolist(), home.group.tolist(), strict=True)}
    first = next(
        (i, j)
        for i in range(60)
        for j in range(i)
        if group_of[rows[i]] == group_of[rows[j]] and rows[i][:2] != rows[j][:2]
    )
    i, j = first
    swapped = list(rows)
    swapped[i], swapped[j] = (*rows[i][:2], *rows[j][2:]), (*rows[j][:2], *rows[i][2:])
    other = sf.publish(table(swapped), sf.Bucketize(sf.TCloseness("0.02")))
    for name, frame in one.frames().items():
        assert frame.equals(other.frames()[name])


@pytest.mark.parametrize(
    "mechanism",
    [sf.Bucketize(sf.LDiversity(3)), sf.Bucketize(sf.LDiversity(3) & sf.TCloseness(0.1)), sf.Anatomy(5)],
    ids=str,
)
def test_bucketize_verifies(mechanism: sf.mechanisms.Mechanism, tmp_path: Path) -> None:
    release = sf.publish(sf.datasets.adult(), mechanism)
    release.save(tmp_path / "out")
    verdict = sf.verify(tmp_path / "out")
    assert verdict.holds, verdict
    loaded = sf.Release.load(tmp_path / "out")
    assert loaded.form == "buckets"
    assert loaded.groups.weight.tolist() == release.groups.weight.tolist()


def test_the_quota_sends_every_row_to_its_group() -> None:
    rows = [(i % 6, i % 3, i % 5, 0) for i in range(47)]
    given = table(rows)
    release = sf.publish(given, sf.Anatomy(3), seed=4)
    group = release.recoding.route(given.codes())
    assert np.bincount(group, minlength=len(release.groups)).tolist() == release.groups.weight.tolist()


@settings(max_examples=200)
@given(counts=st.lists(st.integers(0, 12), min_size=1, max_size=8), l=st.integers(2, 4))
def test_compiled_buckets_equal_the_reference(counts: list[int], l: int) -> None:
    one, other = (np.array(counts, np.int64) for _ in range(2))
    np.testing.assert_array_equal(bucket_values(one, l), bucket_values_reference(other, l))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seeds", [400, pytest.param(2000, marks=pytest.mark.full)])
def test_the_draw_is_fair(seeds: int) -> None:
    """Of two equal slots each person gets either about half of the time (5 sigma)."""
    rows = [(0, 0, 0, 0), (1, 0, 0, 0), (2, 0, 1, 0), (3, 0, 1, 0)]
    together = 0
    for seed in range(seeds):
        home = sf.publish(table(rows), sf.Anatomy(2), seed=seed).residence
        by_age = {int(codes[0]): int(g) for codes, g in zip(home.codes, home.group, strict=True)}
        together += by_age[0] == by_age[2]
    assert abs(together - seeds / 2) < 2.5 * seeds**0.5


@pytest.mark.parametrize("requirement", [sf.KAnonymity(2), sf.AlphaK("1/2", k=2), sf.LDiversity(2) & sf.KAnonymity(2)])
def test_buckets_are_never_called_k_anonymous(requirement: sf.claims.Requirement, tmp_path: Path) -> None:
    """Exact quasi-identifiers with frequency 1. Refused before data; an old claim does not verify."""
    with pytest.raises(sf.ParameterError, match="exact quasi-identifiers"):
        sf.Bucketize(requirement)
    with pytest.raises(sf.ParameterError, match="exact quasi-identifiers"):
        sf.sweep(sf.Bucketize, k=[5, 10], t=[0.2])
    rows = [(i % 6, i // 6 % 3, i % 5, i // 4 % 2) for i in range(18)]  # every combination once
    release = sf.publish(table(rows), sf.Bucketize(sf.LDiversity(2)))
    old = replace(release, claim=sf.claims.Claim(requirement))
    old.save(tmp_path / "old", allow_fingerprints=True)
    verdict = sf.verify(tmp_path / "old")
    assert not verdict.holds
    anonymity = [part for part in verdict.findings if "k-anonymity" in part.requirement.label]
    assert anonymity
    assert not any(part.holds for part in anonymity)
    assert all(1 in (part.found if isinstance(part.found, tuple) else (part.found,)) for part in anonymity)
    release.save(tmp_path / "new", allow_fingerprints=True)
    assert sf.verify(tmp_path / "new").holds
    assert not sf.verify(tmp_path / "new", requirement=requirement).holds


def test_exact_quasi_identifiers_shared_by_k_people_are_k_anonymous(tmp_path: Path) -> None:
    rows = [(i % 2, 0, i % 5, i // 4 % 2) for i in range(20)]  # ten people at each of two combinations
    sf.publish(table(rows), sf.Bucketize(sf.LDiversity(2))).save(tmp_path / "out", allow_fingerprints=True)
    assert sf.verify(tmp_path / "out", requirement=sf.KAnonymity(10) & sf.AlphaK("1/2", k=10)).holds
    assert not sf.verify(tmp_path / "out", requirement=sf.KAnonymity(11)).holds
    assert not sf.verify(tmp_path / "out", requirement=sf.AlphaK("1/100", k=10)).holds
