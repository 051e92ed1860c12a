"""Public shapes of a prior, and the small values around the urn."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.commuting import prior
from sfumato.commuting.bounds import Stratum
from sfumato.commuting.prior import distance_weights, flow_weights, scaled, strata_of, uniform_shape
from sfumato.commuting.urn import Commuters, keep_probability, limits_of
from sfumato.errors import ParameterError


def test_uniform_shape_is_one_stratum():
    assert uniform_shape(7) == (Stratum(Fraction(1), blocks=7),)


def test_distance_weights_fall_by_band_and_never_to_zero():
    weights = distance_weights([0.0, 5.0, 5.1, 30.0, 400.0], [5.0, 25.0], [20, 4, 1])
    assert weights.tolist() == [20, 20, 4, 1, 1]
    with pytest.raises(ParameterError, match="at least 1 everywhere"):
        distance_weights([1.0], [5.0], [20, 0])
    with pytest.raises(ParameterError, match="rise"):
        distance_weights([1.0], [5.0, 5.0], [3, 2, 1])
    with pytest.raises(ParameterError, match="finite"):
        distance_weights([float("nan")], [5.0], [2, 1])


def test_flow_weights_keep_a_floor():
    assert flow_weights([0, 3, 900], cap=50).tolist() == [1, 3, 50]
    assert flow_weights([0, 3], floor=2).tolist() == [2, 3]
    with pytest.raises(ParameterError, match="floor"):
        flow_weights([1], floor=0)


def test_strata_are_ranges_of_slots():
    weights = np.array([4, 1, 4, 1, 9], dtype=np.int64)
    strata, slots = strata_of(weights)
    assert [(s.alpha, s.blocks) for s in strata] == [(1, 2), (4, 2), (9, 1)]
    assert slots.tolist() == [2, 0, 3, 1, 4]
    assert scaled(strata, Fraction(1, 4))[1].alpha == 1


def test_strata_part_where_keep_differs():
    keep = [Fraction(1, 2), Fraction(1), Fraction(1, 2)]
    strata, slots = strata_of(np.ones(3, dtype=np.int64), keep=keep)
    assert [(s.keep, s.blocks) for s in strata] == [(Fraction(1, 2), 2), (Fraction(1), 1)]
    assert sorted(slots.tolist()) == [0, 1, 2]
    assert [slots[0], slots[2]] == [0, 1]


def test_keep_probability_is_rounded_up():
    assert keep_probability(1) == 1
    assert keep_probability("0.5") == Fraction(1, 2)
    assert 0 < keep_probability(0.0378) - Fraction("0.0378") < Fraction(1, 2**24)
    with pytest.raises(ParameterError, match="keep"):
        keep_probability(0)


def test_limits_are_floors_up_to_the_largest_count():
    assert limits_of(Fraction(1, 2), Fraction(2), 6).tolist() == [1, 3, 5, 6]
    assert limits_of(Fraction(9), Fraction(2), 6).tolist() == [6]


@pytest.mark.parametrize(
    ("pairs", "slots", "people", "named"),
    [
        ([0, 2], [1, 1], [1, 1], "slots"),
        ([0, 2], [2, 1], [1, 1], "slots"),
        ([0, 2], [1, 2], [1, 0], "people"),
        ([0, 1], [1, 2], [1, 1], "pairs"),
    ],
)
def test_commuters_are_checked(pairs, slots, people, named):
    arrays = [np.array(a, dtype=np.int64) for a in (pairs, slots, people)]
    with pytest.raises(ParameterError) as error:
        Commuters(arrays[0], slots=arrays[1], people=arrays[2])
    assert error.value.name == named


def test_slots_may_fall_between_destinations():
    two = Commuters(np.array([0, 2, 3]), slots=np.array([1, 5, 0]), people=np.array([1, 2, 3]))
    second = two.only(np.array([1]))
    assert (second.pairs.tolist(), second.slots.tolist(), second.people.tolist()) == ([0, 1], [0], [3])


def test_the_prior_module_offers_the_names_of_the_paper():
    wanted = {"log_reference_zero_sample", "smallest_alpha", "certified_delta", "is_good", "shrunk_certificate"}
    assert wanted <= set(prior.__all__)
    assert all(callable(getattr(prior, name)) for name in wanted)


def test_a_decimal_parameter_is_read_as_printed():
    assert prior.smallest_alpha(12, 1000, 4.6, 0.1) == prior.smallest_alpha(12, 1000, "4.6", Fraction(1, 10))
