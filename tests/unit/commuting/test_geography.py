"""Places: reading lists as they come, codes, regions, distances."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.commuting import ELSEWHERE, Geography, haversine

PLACES = pl.DataFrame(
    {
        "code": ["0102", "0101", "0201"],
        "latitude": [41.0, 41.0, 42.0],
        "longitude": [-71.0, -72.0, -71.0],
        "tract": ["010", "010", "020"],
    }
)


def test_the_domain_is_the_list_and_elsewhere():
    geography = Geography.read(PLACES)
    assert geography.codes == ("0101", "0102", "0201")
    schema = geography.schema()
    assert schema["destination"].texts() == ["0101", "0102", "0201"]
    assert schema["origin"].texts() == ["0101", "0102", "0201", ELSEWHERE]
    assert {attribute.source for attribute in schema.attributes} == {"public"}
    assert geography.elsewhere == 3


def test_points_and_regions_follow_the_codes():
    geography = Geography.read(PLACES)
    assert geography.longitude.tolist() == [-72.0, -71.0, -71.0]
    assert geography.level("tract").of_block.tolist() == [0, 0, 1]
    assert geography.level("tract").names == ("010", "020")
    assert [values.tolist() for values in geography.points("tract")] == [[41.0, 42.0], [-71.5, -71.0]]
    with pytest.raises(sf.ParameterError, match="is not a level"):
        geography.level("parish")


def test_distances_are_great_circles():
    # one degree of latitude is 69.09 miles; London - Paris is 213.5 miles
    assert haversine(np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1))[0] == pytest.approx(69.094, abs=0.01)
    london, paris = (51.5074, -0.1278), (48.8566, 2.3522)
    found = haversine(*(np.array([x]) for x in (*london, *paris)))
    assert found[0] == pytest.approx(213.5, abs=0.5)
    geography = Geography.read(PLACES)
    miles = geography.miles(np.array([1, 1, 1]), np.array([1, 2, 3]))
    assert miles[0] == 0
    assert miles[1] == pytest.approx(69.09, abs=0.01)
    assert np.isnan(miles[2])  # elsewhere has no place
    assert geography.miles_from(41.0, -71.0)[1] == 0


def test_a_crosswalk_is_read_as_it_comes(tmp_path):
    """LODES: gzip, Latin-1, its own column names, codes with leading zeros."""
    text = (
        "tabblk2010,st,ctyname,cty,trct,bgrp,blklatdd,blklondd\n"
        '010010201001000,01,"Doña Ana County, NM",01001,01001020100,010010201001,32.1,-86.5\n'
        '010010201001001,01,"Doña Ana County, NM",01001,01001020100,010010201001,32.2,-86.4\n'
    )
    file = tmp_path / "xwalk.csv.gz"
    file.write_bytes(gzip.compress(text.encode("latin-1")))
    geography = Geography.read(file)
    assert geography.codes == ("010010201001000", "010010201001001")
    assert set(geography.regions) == {"tract", "county", "block_group"}
    assert geography.level("county").names == ("01001",)


def test_coarser_places_beyond_the_list_are_found_by_prefix():
    counties = Geography.read(
        pl.DataFrame({"code": ["01", "02", "03"], "latitude": [1.0, 2.0, 3.0], "longitude": [0.0, 0.0, 0.0]})
    )
    joined = Geography.read(PLACES).beyond(counties)
    assert joined.codes == ("0101", "0102", "0201", "03")  # 01 and 02 hold listed blocks
    found = joined.lookup(pl.Series(["0101", "0399", "03", "0999", "0203"]))
    assert found.tolist() == [0, 3, 3, -1, -1]
    assert joined.level("tract").names == ("010", "020", "03")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"latitude": [95.0, 41.0, 42.0]}, sf.ParameterError),
        ({"code": ["a", "a", "b"]}, sf.ParameterError),
        ({"code": ["a", ELSEWHERE, "b"]}, sf.ParameterError),
        ({"latitude": ["north", "41", "42"]}, sf.ReadError),
    ],
    ids=["degrees", "twice", "elsewhere", "text"],
)
def test_lists_that_are_wrong_are_refused(change, error):
    with pytest.raises(error):
        Geography.read(PLACES.with_columns(**{name: pl.Series(values) for name, values in change.items()}))


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(sf.ReadError, match="latitude"):
        Geography.read(PLACES.drop("latitude"))
    with pytest.raises(sf.ReadError, match="parish"):
        Geography.read(PLACES, regions=["parish"])


def test_the_fingerprint_follows_codes_and_points():
    one = Geography.read(PLACES)
    assert one.fingerprint == Geography.read(PLACES.reverse()).fingerprint
    moved = PLACES.with_columns(pl.col("latitude") + 0.001)
    assert one.fingerprint != Geography.read(moved).fingerprint
