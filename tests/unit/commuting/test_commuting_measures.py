"""Measures of commuting patterns, by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.commuting import Geography, read_flows
from sfumato.commuting.measures import (
    commute_distances,
    distance_shares,
    fictitious_people,
    pairs_of,
    prior_people,
    regional_flows,
)

GEOGRAPHY = Geography.read(
    pl.DataFrame({"code": list("abc"), "latitude": [41.0, 41.1, 41.3], "longitude": [-71.0] * 3, "tract": list("rrs")})
)
MILE = GEOGRAPHY.miles(np.array([0]), np.array([1]))[0] / 6.9094  # near enough one


def pairs(*rows):
    return tuple(np.array(column) for column in zip(*rows, strict=True))


REAL = pairs((0, 0, 3), (0, 1, 1), (1, 2, 2))
DRAWN = pairs((0, 0, 1), (0, 1, 2), (0, 3, 1), (1, 0, 2))  # 3 is elsewhere


def test_average_distances_by_hand():
    found = commute_distances(REAL, DRAWN, GEOGRAPHY)
    near, far = (GEOGRAPHY.miles(np.array([0, 1]), np.array([1, 2]))).tolist()
    assert found.destinations.tolist() == [0, 1]
    assert found.people.tolist() == [4, 2]
    assert found.original.tolist() == pytest.approx([near / 4, far])
    assert found.synthetic.tolist() == pytest.approx([2 * near / 3, near])  # elsewhere has no distance
    assert found.error.tolist() == pytest.approx([8 / 3 - 1, near / far - 1])
    assert found.measured().confidential


def test_short_commutes_apart():
    found = commute_distances(REAL, DRAWN, GEOGRAPHY, shorter_than=10)
    assert np.isnan(found.original[1])  # both real commutes to b are 14 miles
    assert np.isfinite(found.synthetic[1])
    lines = found.by_size((1, 3))
    assert [line["destinations"] for line in lines] == [1, 1]
    assert lines[0]["median_error"] is None
    assert lines[1]["median_error"] == pytest.approx(8 / 3 - 1)


def test_destinations_without_an_error_are_said_to_be_left_out():
    """Everybody who works in a lives there: no error is relative to a distance of 0."""
    found = commute_distances(pairs((0, 0, 4), (1, 2, 2)), DRAWN, GEOGRAPHY)
    assert np.isinf(found.error[0])
    measured = found.measured()
    assert measured.value == pytest.approx(abs(found.error[1]))
    assert measured.details["left_out"] == 1
    assert "original average is above 0" in measured.formula
    assert [(line["destinations"], line["compared"]) for line in found.by_size((1, 3))] == [(1, 1), (1, 0)]


def test_shares_by_band_sum_to_one():
    shares = distance_shares(REAL, DRAWN, GEOGRAPHY, [1, 10])
    assert shares["original"] == pytest.approx([3 / 6, 1 / 6, 2 / 6, 0])
    assert shares["synthetic"] == pytest.approx([1 / 6, 4 / 6, 0, 1 / 6])


def test_false_pairs_and_regional_flows_by_hand():
    false = fictitious_people(REAL, DRAWN)
    assert false.value == pytest.approx(3 / 6)  # one elsewhere, two from a to b
    assert false.details["pairs"] == pytest.approx(2 / 4)
    region = GEOGRAPHY.level("tract").of_block
    flows = regional_flows(REAL, DRAWN, region, np.append(region, 2))
    # original: r-r 4, r-s 2; synthetic: r-r 5, r-elsewhere 1
    assert flows.value == pytest.approx((1 / 6 + 2 / 6 + 1 / 6) / 2)
    assert fictitious_people(REAL, REAL).value == 0
    assert regional_flows(REAL, REAL, region, np.append(region, 2)).value == 0


def test_pairs_of_a_table_and_of_a_release_agree():
    frame = pl.DataFrame({"destination": ["a", "a", "b"], "origin": ["a", "b", "c"], "count": [3, 1, 2]})
    flows = read_flows(frame, GEOGRAPHY)
    assert [column.tolist() for column in pairs_of(flows.table)] == [column.tolist() for column in REAL]
    raw = sf.publish(flows.table, sf.Raw())
    assert [column.tolist() for column in pairs_of(raw)] == [column.tolist() for column in REAL]
    assert commute_distances(flows.table, raw, GEOGRAPHY).measured().value == 0


def test_people_the_prior_adds_are_public_and_fewer_after_shrinking():
    schema = GEOGRAPHY.schema()
    n, destinations = np.array([4, 2]), np.array([0, 1])
    whole = prior_people(sf.Synthesize(2, "1e-3"), schema, destinations, n)
    assert not whole.confidential
    assert whole.value == whole.details["after_shrinking"] > 0
    shrunk = prior_people(sf.Synthesize(2, "1e-3", shrink="1/2", mass=2), schema, destinations, n)
    assert shrunk.details["after_shrinking"] == pytest.approx(shrunk.value / 2)
    assert whole.details["cells"] == [4, 4]
