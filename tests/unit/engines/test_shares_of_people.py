"""Shares of people: what fits is what the kernels can count."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.engines.grouping import MOST_SHARES, whole_of
from sfumato.kernels.conditions import MOST_CUT_ROWS


def test_shares_are_counted_as_far_as_kernels_count():
    assert MOST_SHARES == MOST_CUT_ROWS
    assert whole_of(10, 3) == 60
    assert whole_of(10, 77) == 77
    with pytest.raises(sf.ParameterError, match="different rows"):
        whole_of(MOST_CUT_ROWS, 2)
