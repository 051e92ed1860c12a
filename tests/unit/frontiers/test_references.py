from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.frontiers.recommend import revealed
from sfumato.measures import js_divergence


def test_adult_as_printed():
    """Li & Li 2009, section 5.1: 0.692 for Armed-Forces, 0.488 for Craft-repair."""
    rarest, commonest, _ = revealed(sf.datasets.adult())
    assert rarest == pytest.approx(0.692, abs=5e-4)
    assert commonest == pytest.approx(0.488, abs=5e-4)


def test_nobody_loses_more_than_the_rarest(clinic):
    rarest, commonest, _ = revealed(clinic)
    raw = sf.publish(clinic, sf.Raw())
    assert sf.privacy_loss(clinic, raw).value <= rarest + 1e-12
    assert commonest <= rarest
    counts = clinic.counts(["ill"]).histogram("ill")
    share = counts / counts.sum()
    by_hand = [js_divergence(share, [float(at == code) for at in range(4)]) for code in range(4)]
    assert rarest == pytest.approx(max(by_hand))
    assert commonest == pytest.approx(min(by_hand))


def test_marks_of_both_axes(clinic):
    front = sf.frontier(clinic, [sf.Suppress()], workers=0, progress=False)
    marks = {(mark.axis, mark.name): mark.value for mark in front.references}
    assert marks["utility", "all quasi-identifiers removed"] == front.points[0].utility.mean
    assert {axis for axis, _ in marks} == {"privacy", "utility"}
    assert front.anchors.suppressed == (0.0, front.points[0].utility.mean)
    assert front.anchors.raw[1] == 0.0
    other = sf.frontier(clinic, [sf.Suppress()], privacy="histogram_distance", workers=0, progress=False)
    assert {mark.axis for mark in other.references} == {"utility"}
