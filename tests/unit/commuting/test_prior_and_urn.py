"""The scale of a prior, and the small values around the urn."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.commuting import prior
from sfumato.commuting.bounds import Stratum
from sfumato.commuting.prior import scaled
from sfumato.commuting.urn import Commuters, keep_probability, limits_of
from sfumato.errors import ParameterError


def test_a_shape_is_scaled():
    strata = (Stratum(Fraction(4), blocks=2), Stratum(Fraction(1), blocks=3))
    assert [s.alpha for s in scaled(strata, Fraction(1, 4))] == [1, Fraction(1, 4)]


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


def test_a_decimal_parameter_is_read_as_printed():
    assert prior.smallest_alpha(12, 1000, 4.6, 0.1) == prior.smallest_alpha(12, 1000, "4.6", Fraction(1, 10))
