"""Area under the curve and hits at few false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks.membership import curve_of


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_definition_over_pairs(seed):
    rng = np.random.default_rng(seed)
    members, others = rng.integers(0, 6, 12), rng.integers(0, 5, 9)
    weights = rng.integers(1, 4, 12), rng.integers(1, 4, 9)
    curve = curve_of(members, others, member_weight=weights[0], other_weight=weights[1])
    inside, outside = np.repeat(members, weights[0]), np.repeat(others, weights[1])
    wins = (inside[:, None] > outside[None, :]) + 0.5 * (inside[:, None] == outside[None, :])
    assert curve.auc == pytest.approx(wins.mean())
    for allowed in (0.0, 0.2, 0.7, 1.0):
        best = max(((inside >= t).mean() for t in range(8) if (outside >= t).mean() <= allowed), default=0.0)
        assert curve.hits_at(allowed) == pytest.approx(best)
    gaps = {t: (inside >= t).mean() - (outside >= t).mean() for t in set(members) | set(others)}
    assert gaps[int(curve.best())] == pytest.approx(max(gaps.values()))


def test_a_score_that_tells_all_and_one_that_tells_nothing():
    ones = np.ones(4)
    assert curve_of(ones, 0 * ones, member_weight=ones, other_weight=ones).auc == 1.0
    assert curve_of(ones, ones, member_weight=ones, other_weight=ones).auc == 0.5
