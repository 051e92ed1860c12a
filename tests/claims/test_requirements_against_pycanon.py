"""Requirements against pycanon, for what pycanon defines rightly; where it does not, a test shows it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from pycanon import anonymity

from sfumato.claims import AlphaK, BetaLikeness, Ground, KAnonymity, LDiversity, SemanticPrivacy, TCloseness

# Two quasi-identifiers, because pycanon groups by a list and pandas warns where that list has one name.
QUASI, SENSITIVE = ["left", "right"], ["s"]


@st.composite
def rows(draw):
    """A small table: class and sensitive value of each row, at least two different values."""
    pairs = st.tuples(st.integers(0, 3), st.integers(0, 4))
    table = draw(st.lists(pairs, min_size=2, max_size=24))
    assume(len({value for _, value in table}) > 1)  # pycanon divides by m - 1
    return table


def histograms(table):
    """Classes x values and the overall counts, by plain counting."""
    counts = np.zeros((4, 5), dtype=np.int64)
    for group, value in table:
        counts[group, value] += 1
    return counts[counts.any(axis=1)], counts.sum(axis=0)


def frames(table):
    """The table with numbers and with texts as sensitive values; pycanon picks the distance by type."""
    split = [(group // 2, group % 2, value) for group, value in table]
    numeric = pd.DataFrame(split, columns=[*QUASI, *SENSITIVE])
    return numeric, numeric.assign(s=numeric["s"].map(lambda value: f"v{value}"))


def close(ours, theirs):
    return float(ours) == pytest.approx(float(theirs), abs=1e-12)


@given(rows())
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_agrees_with_pycanon(table):
    counts, overall = histograms(table)
    numeric, text = frames(table)
    assert KAnonymity(1).found(counts, overall) == anonymity.k_anonymity(text, QUASI)
    assert LDiversity(1, kind="distinct").found(counts, overall) == anonymity.l_diversity(text, QUASI, SENSITIVE)
    alpha, k = anonymity.alpha_k_anonymity(text, QUASI, SENSITIVE)
    ours = AlphaK(1, k=1).found(counts, overall)
    assert close(ours[0], alpha)
    assert ours[1] == k
    assert close(BetaLikeness(1).found(counts, overall), anonymity.basic_beta_likeness(text, QUASI, SENSITIVE))
    emd = TCloseness(1, distance="emd")
    assert close(emd.found(counts, overall), anonymity.t_closeness(text, QUASI, SENSITIVE))
    ordered = emd.found(counts, overall, ground=Ground.ordered())
    assert close(ordered, anonymity.t_closeness(numeric, QUASI, SENSITIVE))
    # pycanon floors a float, so exactly e^H = 3 may come out as 2.
    attained = LDiversity(1, kind="entropy").found(counts, overall)
    floors = {math.floor(attained - 1e-9), math.floor(attained + 1e-9)}
    assert anonymity.entropy_l_diversity(text, QUASI, SENSITIVE) in floors
    ignoring = SemanticPrivacy(1, absent="ignore").found(counts, overall)
    assert close(ignoring, anonymity.delta_disclosure(text, QUASI, SENSITIVE))


@given(st.lists(st.tuples(st.integers(2, 4), st.integers(1, 4)), min_size=1, max_size=4))
@settings(max_examples=50)
def test_recursive_agrees_where_the_order_of_frequencies_does_not_matter(shapes):
    """Values of a class equally frequent: pycanon sorts upwards, which then changes nothing."""
    table = [(group, value) for group, (m, each) in enumerate(shapes) for value in range(m) for _ in range(each)]
    counts, overall = histograms(table)
    c, level = anonymity.recursive_c_l_diversity(frames(table)[1], QUASI, SENSITIVE)
    assert level == LDiversity(1, kind="distinct").found(counts, overall)
    assert LDiversity(level, kind="recursive", c=int(c)).check(counts, overall).all()
    if c > 1:  # c is the smallest whole number that will do
        assert not LDiversity(level, kind="recursive", c=int(c) - 1).check(counts, overall).all()


def test_pycanon_sorts_frequencies_the_wrong_way_for_recursive():
    """Three of one value, one of another: r_1 = 3 < c x 1 needs c = 4; pycanon says 1."""
    table = [(0, 0)] * 3 + [(0, 1)]
    counts, overall = histograms(table)
    c, level = anonymity.recursive_c_l_diversity(frames(table)[1], QUASI, SENSITIVE)
    assert (c, level) == (1, 2)
    assert not LDiversity(2, kind="recursive", c=3).check(counts, overall).any()
    assert LDiversity(2, kind="recursive", c=4).check(counts, overall).all()


def test_pycanon_passes_over_absent_values():
    """A class that rules a value out altogether discloses it; pycanon's delta does not see that."""
    table = [(0, 0), (0, 0), (1, 0), (1, 1)]
    counts, overall = histograms(table)
    theirs = anonymity.delta_disclosure(frames(table)[1], QUASI, SENSITIVE)
    assert theirs == pytest.approx(math.log(2))
    assert SemanticPrivacy(1).found(counts, overall) == math.inf
    assert SemanticPrivacy(1).check(counts, overall).tolist() == [False, True]
    assert SemanticPrivacy(1, absent="ignore").check(counts, overall).all()
