"""Public priors over a geography: bands, cuts, regions, older flows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.commuting import Geography, OlderFlows, Shape
from sfumato.commuting.cells import ALWAYS

# Six blocks on a meridian, 7 miles apart, two to a tract, two tracts to a county.
GEOGRAPHY = Geography.read(
    pl.DataFrame(
        {
            "code": list("abcdef"),
            "latitude": [41.0 + 0.1 * at for at in range(6)],
            "longitude": [-71.0] * 6,
            "tract": ["r", "r", "s", "s", "t", "t"],
            "county": ["x", "x", "x", "x", "y", "y"],
        }
    )
)
A, F = 0, 5


def cells(shape, group=A):
    return shape.cells(group, 7)


def test_bands_give_weights_by_distance_and_elsewhere_the_last():
    shape = Shape(GEOGRAPHY, bands=[8, 20], weights=[5, 2, 1])
    found = cells(shape)
    assert found.weight[found.cell].tolist() == [5, 5, 2, 1, 1, 1, 1]
    assert cells(shape, F).weight[cells(shape, F).cell].tolist() == [1, 1, 1, 2, 5, 5, 1]
    assert found.k == 7


def test_far_origins_are_elsewhere_and_totals_stay():
    shape = Shape(GEOGRAPHY, max_distance=10)
    found = cells(shape)
    assert found.k == 3  # a, b, elsewhere
    assert len(set(found.cell[2:].tolist())) == 1
    assert found.cell[6] == found.cell[2]
    assert found.density.tolist() == [1, 1, 0, 0, 0, 0, 1]  # shown as elsewhere, wherever they live


def test_regions_are_cells_and_people_are_placed_inside():
    found = cells(Shape(GEOGRAPHY, coarsen="tract", density=np.array([3, 1, 0, 0, 2, 5])))
    assert found.k == 4
    assert found.cell.tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert found.density.tolist() == [3, 1, 1, 1, 2, 5, 1]  # a region without residents still needs places


def test_only_far_origins_are_coarse():
    found = cells(Shape(GEOGRAPHY, far=(10, "county")))
    assert found.cell[:2].tolist() == [0, 1]
    assert found.cell[2] == found.cell[3] != found.cell[4]
    assert found.cell[4] == found.cell[5]
    assert found.k == 5


def test_destinations_of_one_region_see_the_same():
    shape = Shape(GEOGRAPHY, by="tract", bands=[8])
    assert shape.groups(np.arange(6)).tolist() == [0, 0, 1, 1, 2, 2]
    assert Shape(GEOGRAPHY, bands=[8]).groups(np.array([4, 1])).tolist() == [4, 1]
    assert Shape(GEOGRAPHY, coarsen="tract").groups(np.array([4, 1])).tolist() == [0, 0]


def test_keep_by_band_is_rounded_up_and_elsewhere_always_takes_part():
    shape = Shape(GEOGRAPHY, bands=[8], keep=["0.5", "0.1"])
    found = cells(shape)
    assert found.keep[found.cell].tolist() == [ALWAYS // 2] * 2 + [1677722] * 4 + [ALWAYS]
    assert shape.least_keep == Fraction(1677722, ALWAYS) >= Fraction(1, 10)


def test_older_flows_give_powers_of_two_with_a_floor_and_a_cap():
    older = OlderFlows({("r", "r"): 100, ("r", "s"): 9, ("s", "r"): 999}, "tract", cap=16)
    found = cells(Shape(GEOGRAPHY, older=older), group=0)
    # 100 over two blocks is 50: 32, capped; 9 over two is 4.5: 4; nothing is the floor
    assert found.weight[found.cell].tolist() == [16, 16, 4, 4, 1, 1, 1]
    coarse = cells(Shape(GEOGRAPHY, older=older, coarsen="tract"), group=0)
    assert coarse.weight.tolist() == [16, 8, 1, 1]


def test_older_flows_are_read_and_added_up(tmp_path):
    file = tmp_path / "older.csv"
    file.write_text("h_tract,w_tract,S000\nr,s,3\nr,s,4\ns,s,1\n")
    assert OlderFlows.read(file, "tract").people == {("s", "r"): 7, ("s", "s"): 1}
    with pytest.raises(sf.ReadError, match="older flows"):
        OlderFlows.read(file, "county")
    file.write_text("h_tract,w_tract,S000\nr,s,many\n")
    with pytest.raises(sf.ReadError, match="whole numbers"):
        OlderFlows.read(file, "tract")


def test_cells_do_not_depend_on_who_lives_where():
    """Two neighbouring tables, the same cells: a shape never sees a table."""
    import inspect

    assert list(inspect.signature(Shape.cells).parameters) == ["self", "group", "origins"]
    shape = Shape(GEOGRAPHY, by="tract", bands=[8], weights=[2, 1], max_distance=20)
    first, again = cells(shape, 1), cells(shape, 1)
    assert all(np.array_equal(getattr(first, n), getattr(again, n)) for n in ("cell", "weight", "keep", "density"))


def test_every_public_input_is_named():
    shape = Shape(GEOGRAPHY, by="tract", bands=[8], weights=[2, 1], keep=[1, "1/2"], max_distance=20, far=(9, "county"))
    said = " ".join(shape.describe())
    for part in (GEOGRAPHY.fingerprint, "[2, 1]", "0.5", "20 miles", "beyond 9 miles"):
        assert part in said


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"bands": [5, 5]}, "bands"),
        ({"bands": [5], "weights": [1]}, "bands"),
        ({"bands": [5], "weights": [1, 0]}, "weights"),
        ({"coarsen": "parish"}, "region"),
        ({"max_distance": 0}, "max_distance"),
        ({"far": (0, "tract")}, "far"),
        ({"keep": 0}, "keep"),
        ({"density": np.array([1, 2])}, "density"),
        ({"older": OlderFlows({}, "tract"), "by": "county"}, "older"),
    ],
    ids=str,
)
def test_wrong_shapes_are_refused(given, named):
    with pytest.raises(sf.ParameterError) as error:
        Shape(GEOGRAPHY, **given)
    assert error.value.name == named


def test_a_shape_for_another_list_is_refused():
    with pytest.raises(sf.ParameterError, match="another list"):
        Shape(GEOGRAPHY).cells(0, 99)


def test_it_is_said_where_homes_are_placed_inside_a_region():
    """Without a density nothing but the number of blocks says where; with one it is a public input."""
    for more in ({"coarsen": "tract"}, {"far": (10, "county")}):
        (alike,) = [text for text in Shape(GEOGRAPHY, **more).describe() if "placed inside" in text]
        assert alike.endswith("homes are placed inside with equal probability in each block")
        dense = Shape(GEOGRAPHY, density=np.array([3, 1, 0, 0, 2, 5]), **more).describe()
        assert any(text.endswith("homes are placed inside by public density") for text in dense)
