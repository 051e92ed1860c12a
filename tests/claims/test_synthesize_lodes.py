"""Real commuting data, where it is there: read as it comes, drawn within its budget, totals kept."""

from __future__ import annotations

import resource
import time

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.commuting import Geography, Shape, read_flows
from sfumato.commuting.synthesize import laws_for


@pytest.fixture(scope="module")
def lodes(public_data):
    return public_data("lodes_ri_2019", "LODES of Rhode Island 2019")


@pytest.fixture(scope="module")
def rhode_island(lodes):
    return read_flows(lodes / "ri_od_main_JT00_2019.csv.gz", Geography.read(lodes / "ri_xwalk.csv.gz"))


def test_rhode_island_is_read_as_it_comes(rhode_island):
    where, _, people = rhode_island.pairs
    _, n = rhode_island.sizes()
    assert len(where) == 372_191
    assert people.sum() == 406_052
    assert len(rhode_island.geography) == 25_181
    assert (len(set(n.tolist())), n.max()) == (489, 5_765)


@pytest.mark.full
def test_rhode_island_within_its_budget_and_totals_stay(rhode_island, tmp_path):
    destinations, n = rhode_island.sizes()
    mechanism = sf.Synthesize("4.6", "1e-5")
    sf.publish(rhode_island.only(destinations[:3]).table, mechanism, seed=0)  # compiles the kernels
    started = time.process_time()
    laws_for(mechanism.prior.cells(0, 25_182), n, mechanism.asked)
    chosen = time.process_time()
    release = sf.publish(rhode_island.table, mechanism)
    assert chosen - started < 60
    assert time.process_time() - chosen < 5
    drawn = np.bincount(release.boxes.low[:, 0], weights=release.boxes.weight)[destinations]
    assert np.array_equal(drawn, n)
    release.save(tmp_path / "out", allow_unaccounted=True)
    assert sf.verify(tmp_path / "out").holds


@pytest.mark.full
def test_homes_in_other_states_are_found_by_county_or_are_elsewhere(rhode_island, lodes, public_data):
    aux = pl.read_csv(lodes / "ri_od_aux_JT00_2019.csv.gz", infer_schema=False)
    with pytest.raises(sf.ReadError, match="not in the geography"):
        read_flows(aux, rhode_island.geography)
    away = read_flows(aux, rhode_island.geography, unknown="elsewhere")
    assert set(away.pairs[1].tolist()) == {25_181}
    counties = Geography.read(public_data("geo/us_county_centroids.csv", "centroids of US counties"))
    placed = read_flows(aux, rhode_island.geography.beyond(counties))
    assert placed.table.rows == 70_737
    assert len(set(placed.pairs[1].tolist())) > 50


@pytest.mark.full
def test_coarse_cells_keep_short_commutes_of_large_destinations(rhode_island):
    """Pooled over destinations with 50 jobs or more, commutes below 3.74 miles keep their average within 10 %."""
    from sfumato.commuting.measures import commute_distances

    shape = Shape(rhode_island.geography, coarsen="tract")
    release = sf.publish(rhode_island.table, sf.Synthesize("4.6", "1e-5", prior=shape), seed=3)
    found = commute_distances(rhode_island.table, release, rhode_island.geography, shorter_than=3.74)
    small, large = found.by_size((1, 50))
    assert abs(large["bias"]) < 0.1
    assert small["median_error"] > 0.1  # what is lost on small ones


@pytest.mark.full
def test_a_state_of_233_726_blocks_within_a_minute_and_4_gb():
    data = sf.datasets.commuting(233_726, 1_750_000, 1)
    assert data.flows.height > 1_500_000
    flows = read_flows(data.flows, Geography.read(data.geography))
    started = time.process_time()
    release = sf.publish(flows.table, sf.Synthesize("4.6", "1e-5"))
    assert time.process_time() - started < 60
    assert release.rows == 1_750_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 * 2**20  # kilobytes
