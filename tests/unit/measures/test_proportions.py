from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from sfumato.attacks import Share, difference, wilson
from sfumato.errors import ParameterError
from sfumato.measures.proportions import by_person


@pytest.mark.parametrize(("x", "n"), [(1, 10), (5, 10), (9, 10), (3, 1000), (400, 1000), (1, 1)])
def test_wilson_inverts_the_score_test(x, n):
    low, high = wilson(x, n)
    z = NormalDist().inv_cdf(0.975)

    def inside(p):
        return abs(x / n - p) <= z * math.sqrt(p * (1 - p) / n)

    assert 0 <= low < x / n <= high <= 1
    assert inside(low + 1e-9)
    assert not inside(low - 1e-9) or low == 0
    if x < n:
        assert inside(high - 1e-9)
        assert not inside(high + 1e-9)


def test_wilson_at_none_and_all():
    low, high = wilson(0, 1000)
    assert low == 0
    assert high == pytest.approx(0.003827, abs=1e-5)
    assert wilson(1000, 1000) == (pytest.approx(1 - high), 1.0)
    assert wilson(0, 0) == (0.0, 1.0)


def test_bad_counts_are_refused():
    with pytest.raises(ParameterError, match="successes"):
        wilson(3, 2)
    with pytest.raises(ParameterError, match="level"):
        wilson(1, 2, level=1)


def test_a_share_says_what_it_is():
    share = Share(0, trials=100)
    assert (share.rate, float(share), share.interval[0]) == (0, 0, 0)
    assert str(share) == "0.00 % (0.00 to 3.70 %; 0 of 100)"
    assert share.to_json()["successes"] == 0
    assert math.isnan(Share(0, trials=0).rate)
    assert Share(0, trials=0).to_json()["rate"] is None


def test_the_difference_of_two_shares():
    # Newcombe 1998, table II, example (a): 56/70 - 48/80, method 10: 0.0524 to 0.3339.
    gap, (low, high) = difference(Share(56, trials=70), Share(48, trials=80))
    assert gap == pytest.approx(0.2)
    assert (low, high) == (pytest.approx(0.0524, abs=1e-4), pytest.approx(0.3339, abs=1e-4))
    gap, (low, high) = difference(Share(0, trials=50), Share(50, trials=50))
    assert gap == -1
    assert low == -1
    assert -1 < high < -0.8
    assert difference(Share(0, trials=0), Share(1, trials=2))[1] == (-1.0, 1.0)


def test_several_rows_of_a_person_are_no_trials_of_their_own():
    """Of people whose rows are all alike the interval is that of the people."""
    hit = np.repeat([1, 0, 1], [30, 10, 20])
    of_people, of_rows = by_person(hit, np.ones(60)), by_person(8 * hit, np.full(60, 8))
    assert of_rows == pytest.approx(of_people)
    assert of_people == pytest.approx(wilson(50, 60), abs=0.01)
    assert by_person(np.zeros(60), np.full(60, 8))[0] == 0
    assert by_person(np.zeros(60), np.full(60, 8))[1] > wilson(0, 60)[1]
    assert by_person(np.full(60, 8), np.full(60, 8))[1] == 1
    assert by_person(np.array([3]), np.array([4])) == (0.0, 1.0)
