"""Limits are numbers and nothing else; a number is read in one module, a file's bytes in another."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato import exact, limits, raw_files
from sfumato.errors import ParameterError
from sfumato.randomness import parameters


def test_limits_are_numbers():
    public = [value for name, value in vars(limits).items() if not name.startswith("_") and name != "annotations"]
    assert {type(value) for value in public} == {int}
    assert not [name for name in vars(limits) if callable(getattr(limits, name))]


def test_the_samplers_read_numbers_as_everything_else_does():
    own = [name for name, one in vars(parameters).items() if getattr(one, "__module__", "") == parameters.__name__]
    assert own == ["read_epsilon", "read_size"]


def test_a_computed_number_may_have_more_digits_than_a_written_one():
    computed = Fraction(1, 10**500)
    assert exact.rational("variance", computed) == computed
    with pytest.raises(ParameterError, match="digits"):
        exact.fraction("epsilon", computed)


@pytest.mark.parametrize("value", [2.0, True, "2", None, Fraction(2)])
def test_an_index_is_an_int_already(value):
    assert exact.index("size", 2, least=0) == 2
    with pytest.raises(ParameterError, match="must be a whole number"):
        exact.index("size", value, least=0)


def test_a_limit_that_is_changed_holds_at_once(monkeypatch):
    monkeypatch.setattr(limits, "UNPACKED_BYTES", 5)
    assert raw_files.most_unpacked(10**6) == 5
