"""The generator of commuting patterns."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.commuting import Geography, read_flows


def test_the_same_seed_gives_the_same_frames():
    one, two, other = (sf.datasets.commuting(500, 3000, seed) for seed in (3, 3, 4))
    assert one.flows.equals(two.flows)
    assert one.geography.equals(two.geography)
    assert not one.flows.equals(other.flows)


def test_sparse_and_skewed_like_the_real_thing():
    data = sf.datasets.commuting(3000, 30_000, 1)
    assert data.flows["S000"].sum() == 30_000
    geography = Geography.read(data.geography)
    assert set(geography.regions) == {"tract", "county"}
    flows = read_flows(data.flows, geography)
    where, origin, people = flows.pairs
    assert len(people) < 0.02 * 3000 * 3000  # Rhode Island 2019: 372,191 of 634 million
    assert np.mean(people == 1) > 0.8  # Rhode Island 2019: 0.93
    n = np.sort(flows.sizes()[1])[::-1]
    assert n[: len(n) // 10].sum() > 0.4 * n.sum()
    assert np.median(n) < n.mean() / 2
    # gravity: homes are nearer to work than to another person's work
    miles = geography.miles(where, origin)
    shuffled = geography.miles(np.random.default_rng(0).permutation(where), origin)
    assert np.average(miles, weights=people) < 0.9 * np.average(shuffled, weights=people)


def test_every_block_has_a_code_of_its_own():
    data = sf.datasets.commuting(12_000, 100, 0)
    assert data.geography["code"].n_unique() == 12_000
    assert data.geography["code"].str.len_chars().unique().to_list() == [15]
    assert data.geography["code"].str.slice(0, 2).unique().to_list() == ["99"]  # a state that does not exist
    assert data.geography["county"].n_unique() == 3


def test_a_smallest_world():
    data = sf.datasets.commuting(2, 1, 0)
    assert data.flows.height == 1
    assert data.geography.height == 2


@pytest.mark.parametrize("given", [{"blocks": 1}, {"jobs": 0}, {"destinations": 0}, {"scale": 0}, {"seed": -1}])
def test_wrong_parameters_are_refused(given):
    with pytest.raises(sf.ParameterError):
        sf.datasets.commuting(**given)
