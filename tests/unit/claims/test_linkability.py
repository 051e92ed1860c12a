"""Linkability as a requirement: it joins others by `&`, and is never promised, checked or read off a file."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.claims import Claim, Conjunction, Linkability, Linkable, split_linkability
from sfumato.declare import from_json


def test_it_is_never_a_promise() -> None:
    asked = Linkability(4, 0.8)
    with pytest.raises(sf.ParameterError, match="estimate under a model"):
        Claim(asked)
    with pytest.raises(sf.ParameterError, match="estimate under a model"):
        Claim(sf.KAnonymity(10) & asked)
    with pytest.raises(sf.ParameterError, match="estimate under a model"):
        Claim(Linkable(4, alpha=0.8, base=sf.KAnonymity(10) & asked))
    with pytest.raises(sf.ParameterError, match="not checkable"):
        asked.holds(np.array([3, 4]))
    with pytest.raises(sf.ParameterError, match="not checkable"):
        asked.found(np.array([[3, 4]]))


def test_it_is_split_from_what_can_be_checked() -> None:
    asked = Linkability(4, 0.8)
    assert split_linkability(sf.KAnonymity(10) & asked) == (sf.KAnonymity(10), asked)
    assert split_linkability(asked) == (None, asked)
    both = sf.KAnonymity(10) & sf.TCloseness(0.2)
    assert split_linkability(asked & both) == (both, asked)
    assert split_linkability(both) == (both, None)
    with pytest.raises(sf.ParameterError, match="once"):
        split_linkability(Conjunction((Linkability(2, 0.5), Linkability(3, 0.5))))


def test_parameters_are_exact_and_written_down() -> None:
    asked = Linkability(3, 0.7, organisations=3, others=1000, k_other=5, probability="robust")
    assert asked.alpha == Fraction(7, 10)
    assert asked.others == (1000, 1000)
    assert from_json(Linkability, json.loads(json.dumps(asked.to_json()))) == asked
    joint = Linkability(population="joint")
    assert from_json(Linkability, joint.to_json()) == joint
    named = Linkability(population=sf.Population("survey 2020"))
    assert named.linkable(None).population == "survey 2020"
    with pytest.raises(sf.ParameterError, match="declared elsewhere"):
        from_json(Linkability, named.to_json())
    assert "probability at least 0.7" in asked.describe()
    assert "attributes do not depend" in asked.linkable(None).describe()
    assert "attributes do not depend" not in joint.linkable(None).describe()
