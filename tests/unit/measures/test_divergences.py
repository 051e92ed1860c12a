from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.spatial.distance import jensenshannon

from sfumato.errors import ParameterError
from sfumato.measures.distances import city_block, js_divergence, js_terms, kl_divergence

Q = [0.0314, 0.1331, 0.1063, 0.1196, 0.1323, 0.1329, 0.0452, 0.0657, 0.1225, 0.0327, 0.0512, 0.0052, 0.0216, 0.0003]
pairs = st.integers(1, 8).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 50), min_size=n, max_size=n).filter(any) for _ in range(2)])
)


def slowly(p, q):
    p, q = [x / sum(p) for x in p], [x / sum(q) for x in q]
    terms = [x * math.log(2 * x / (a + b)) / 2 for a, b in zip(p, q, strict=True) for x in (a, b) if x]
    return math.fsum(terms)


def test_vectors_of_the_paper():
    """lili.js.armed, lili.js.craft, lili.js.self, lili.js.zero."""
    assert js_divergence(Q, np.eye(14)[13]) == pytest.approx(0.6917803988496988, abs=1e-12)
    assert js_divergence(Q, np.eye(14)[1]) == pytest.approx(0.4881442960345714, abs=1e-12)
    assert js_divergence(Q, Q) == 0.0
    assert js_divergence([0.5, 0.5, 0], [0, 0.5, 0.5]) == pytest.approx(0.34657359027997264, abs=1e-12)


@given(pairs)
def test_equals_the_definition(both):
    p, q = both
    assert js_divergence(p, q) == pytest.approx(slowly(p, q), abs=1e-12)
    assert js_divergence(p, q) == js_divergence(q, p)
    assert 0 <= js_divergence(p, q) <= math.log(2) + 1e-15
    assert city_block(p, q) == pytest.approx(sum(abs(a / sum(p) - b / sum(q)) for a, b in zip(p, q, strict=True)))
    if all(b for a, b in zip(p, q, strict=True) if a):
        slow = math.fsum(a / sum(p) * math.log(a * sum(q) / (b * sum(p))) for a, b in zip(p, q, strict=True) if a)
        assert kl_divergence(p, q) == pytest.approx(slow, abs=1e-12)
    else:
        assert kl_divergence(p, q) == math.inf


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=9).filter(any), st.integers(1, 10**6))
def test_equal_ratios_are_exactly_zero(p, factor):
    again = [factor * x for x in p]
    assert js_divergence(p, again) == 0.0
    assert kl_divergence(p, again) == 0.0
    assert city_block(p, again) == 0.0


def test_wrong_mutants_are_caught():
    """Trap 28: base 2 prints 0.998 and 0.704. Trap 29: scipy's jensenshannon is the square root."""
    shown = np.eye(14)[13]
    ours = js_divergence(Q, shown)
    assert jensenshannon(Q, shown, base=2) ** 2 == pytest.approx(0.9980281508046496, abs=1e-9)
    assert abs(jensenshannon(Q, shown, base=2) ** 2 - ours) > 0.3
    assert abs(jensenshannon(Q, shown) - ours) > 0.1
    assert jensenshannon(Q, shown) ** 2 == pytest.approx(ours, abs=1e-12)


def test_small_differences_keep_their_digits():
    # JS is d^2 / 8 for coins that differ by d, to first order; adding four logarithms would lose it.
    d = 1e-7
    assert js_divergence([0.5, 0.5], [0.5 + d / 2, 0.5 - d / 2]) == pytest.approx(d * d / 8, rel=1e-2)
    assert (js_terms(np.array([0.3, 0.7]), np.array([0.3, 0.7])) == 0).all()


@pytest.mark.parametrize(
    ("p", "q", "match"),
    [
        ([1, -1], [1, 1], "p = 2 numbers"),
        ([0, 0], [1, 1], "p = 2 numbers"),
        ([1, 1], [1, math.nan], "q = 2 numbers"),
        ([1, 1], [1, 1, 1], "as many numbers as p: 2"),
        ([[1]], [1], "p = something else"),
        (["a"], [1], "p = something else"),
        ([], [], "p = 0 numbers"),
    ],
)
def test_refusals(p, q, match):
    for function in (js_divergence, kl_divergence, city_block):
        with pytest.raises(ParameterError, match=match):
            function(p, q)
