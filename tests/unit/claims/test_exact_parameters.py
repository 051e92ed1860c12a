from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.exact import fraction, number_from_json, number_to_json, plain, whole


@pytest.mark.parametrize("written", [0.1, "0.1", "1/10", Decimal("0.1"), np.float64(0.1), np.float32(0.1), "1e-1"])
def test_a_number_is_read_as_the_decimal_it_prints(written):
    assert fraction("t", written) == Fraction(1, 10)


@pytest.mark.parametrize("written", [7, 7.0, "7", np.int64(7), Fraction(7)])
def test_whole_numbers_become_int(written):
    value = whole("k", written, least=1)
    assert value == 7
    assert type(value) is int


@pytest.mark.parametrize(
    "written", [True, np.True_, None, "ten", "1/0", [1], float("nan"), float("inf"), Decimal("NaN")]
)
def test_what_is_no_number_is_refused_by_name(written):
    with pytest.raises(ParameterError) as caught:
        fraction("epsilon", written)
    assert caught.value.name == "epsilon"


@pytest.mark.parametrize(
    ("limits", "value", "word"),
    [
        ({"above": 0}, 0, "above 0"),
        ({"least": 1}, 0.5, "at least 1"),
        ({"most": 1}, 1.5, "at most 1"),
        ({"below": 1}, 1, "below 1"),
    ],
)
def test_limits(limits, value, word):
    with pytest.raises(ParameterError, match=word):
        fraction("p", value, **limits)


def test_half_a_person_is_no_whole_number():
    with pytest.raises(ParameterError, match="whole"):
        whole("k", 2.5, least=1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 5), "0.2"),
        (Fraction(1, 3), "1/3"),
        (Fraction(10), "10"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(1, 100_000), "0.00001"),
        (Fraction(12345, 100), "123.45"),
        (3, "3"),
    ],
)
def test_plain_text_is_exact(value, text):
    assert plain(value) == text
    assert Fraction(plain(value)) == value


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(4), Fraction(1, 10**30)])
def test_json_numbers_come_back_exactly(value):
    written = number_to_json(value)
    assert isinstance(written, int | str)
    assert number_from_json("x", written) == value


def test_infinity_is_valid_json_text():
    assert number_to_json(float("inf")) == "inf"
    assert number_to_json(0.25) == 0.25
