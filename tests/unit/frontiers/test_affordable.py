"""A sweep says how much memory it needs before it starts."""

from __future__ import annotations

import importlib

import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.frontiers.run import affordable, bytes_of_one


def test_workers_that_do_not_fit_are_not_started():
    assert affordable(4, 10, None) == 4
    assert affordable(4, 10, 25) == 2
    assert affordable(0, 10, 25) == 0
    with pytest.raises(ParameterError, match="GB are free"):
        affordable(1, 3 * 10**9, 2 * 10**9)


def test_a_sweep_that_does_not_fit_is_refused_before_it_starts(monkeypatch):
    table = sf.datasets.adult().with_roles(sensitive="occupation", quasi=["sex", "race"], target=[])
    assert bytes_of_one(table, panels=False) < bytes_of_one(table) < 10**9
    monkeypatch.setattr(importlib.import_module("sfumato.frontiers.run"), "free_bytes", lambda: 1000)
    with pytest.raises(ParameterError, match=r"one process needs about 0\.5 GB"):
        sf.frontier(table, [sf.Mondrian(sf.KAnonymity(5))], progress=False, workers=0)
