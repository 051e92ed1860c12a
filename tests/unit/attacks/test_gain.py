"""What every attack returns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.attacks.base import FITS, PEOPLE, Exposure, Fit, Gain, percent
from sfumato.measures.proportions import Share, difference


def gain(targets=(31, 100), controls=(29, 100), baseline=(20, 100)) -> Gain:
    records = Exposure(
        ("age",),
        codes=np.array([[1], [2], [3]]),
        weight=np.array([90, 9, 1]),
        success=np.array([True, False, True]),
        chance=np.array([0.2, 0.5, 1.0]),
    )
    return Gain(
        "test",
        axis="inference",
        targets=Share(targets[0], trials=targets[1]),
        controls=None if controls is None else Share(controls[0], trials=controls[1]),
        baseline=Share(baseline[0], trials=baseline[1]),
        records=records,
        holds="knows age, sex and town",
        hit="guesses diagnosis of {} of the people in the table",
        miss="of {} of others",
        stops="fewer columns",
        attribute="diagnosis",
        whom=PEOPLE,
    )


def test_the_gain_is_target_minus_control():
    found = gain()
    assert found.value == pytest.approx(0.02)
    assert found.interval == difference(Share(31, trials=100), Share(29, trials=100))[1]
    assert found.sentence.startswith(
        "An attacker who knows age, sex and town guesses diagnosis of 31 % of the people in the table and of 29 % of "
        "others: gain 2 points ["
    )


def test_an_attack_no_better_than_its_baseline_says_so():
    assert gain().better_than_baseline is False  # 31 of 100 against 20 of 100 may be chance
    assert gain((310, 1000), (290, 1000), (200, 1000)).better_than_baseline is True
    lost = gain((20, 100), (20, 100), (20, 100))
    assert "not shown to beat that guess" in lost.describe()
    assert "no better" not in gain((310, 1000), (290, 1000), (200, 1000)).describe()


def test_without_a_control_there_is_no_gain():
    found = gain(controls=None)
    assert math.isnan(found.value)
    assert found.to_json()["gain"] is None
    assert "Without a control" in found.sentence


def test_the_most_exposed_are_the_last_of_a_hundred():
    assert gain().most_exposed == 0.5  # 99 of 100 do not exceed it
    assert gain().records.quantile(1.0) == 1.0
    assert gain().records.worst(2).tolist() == [2, 1]


def test_results_are_confidential_and_hold_no_records():
    found = gain()
    answer = found.to_json()
    assert answer["confidential"] is True
    assert "records" not in answer
    assert "0.5" not in repr(found.records)


def test_a_fit_that_fails_says_why():
    assert FITS
    assert not Fit("it carries nothing")


def test_percentages():
    assert [percent(share) for share in (0.0, 0.0004, 0.125, 1.0)] == ["0 %", "0 %", "12.5 %", "100 %"]
