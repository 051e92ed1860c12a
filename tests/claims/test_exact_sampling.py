"""Is a draw exactly what its words say, whichever path decides it?"""

from __future__ import annotations

import time
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from tests.claims.scripted_words import Script

from sfumato.errors import ParameterError
from sfumato.randomness import (
    Entropy,
    bernoulli_exp,
    binomial,
    binomial_pmf,
    discrete_laplace,
    discrete_laplace_pmf,
    discrete_laplace_tail,
    enclosure as approximation,
    geometric,
    geometric_pmf,
    refinement,
)
from sfumato.randomness.binomial import trial_words
from sfumato.randomness.enclosure import LOG_ERROR, SMALLEST_WORD, exponential, natural_log, negative_log, rational_rate

EPSILONS = ["1/2", "1", "0.1", "1e-6", "50", "1e-12"]


def edge(epsilon, g, bits):
    """floor(2^bits e^(-g epsilon)), by decimals far longer than the sampler's."""
    power = Fraction(epsilon) * g
    with localcontext() as work:
        work.prec = 300
        return int((Decimal(-power.numerator) / Decimal(power.denominator)).exp() * 2**bits)


def negative_log_exactly(numerator, bits):
    with localcontext() as work:
        work.prec = 60
        return bits * Decimal(2).ln() - Decimal(numerator).ln()


def test_logarithm_keeps_its_bound():
    generator = np.random.default_rng(3)
    x = np.concatenate(
        [
            generator.uniform(0.5, 1, 2000),
            2.0 ** generator.uniform(-65, 64, 2000),
            np.arange(128, 257) / 256,  # borders of the table
            np.nextafter(np.arange(128, 257) / 256, 0),
            [2.0**-65, 2.0**64, 1.0, np.nextafter(1.0, 0), np.nextafter(1.0, 2)],
        ]
    )
    with localcontext() as work:
        work.prec = 60
        errors = [abs(Decimal(y) - Decimal(v).ln()) for v, y in zip(x.tolist(), natural_log(x).tolist(), strict=True)]
    assert max(errors) <= Decimal(2.0**-46)


def test_negative_log_bounds_every_real_of_the_cell():
    words = [SMALLEST_WORD, SMALLEST_WORD + 1, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1025, 2**64 - 1024]
    words += [2**64 - 1, *(Entropy.seeded(1).words(1000) | np.uint64(SMALLEST_WORD)).tolist()]
    values = negative_log(np.array(words, dtype=np.uint64)).tolist()
    for word, value in zip(words, values, strict=True):
        for end in (word, word + 1):
            assert abs(Decimal(value) - negative_log_exactly(end, 64)) <= Decimal(LOG_ERROR)


def test_exponential_keeps_its_bound():
    t = np.concatenate(
        [-np.random.default_rng(4).uniform(0, 700, 2000), [0.0, -700.0, -1e-300, -0.34657359, -0.3465736]]
    )
    with localcontext() as work:
        work.prec = 60
        errors = [
            abs(Decimal(y) / Decimal(v).exp() - 1) for v, y in zip(t.tolist(), exponential(t).tolist(), strict=True)
        ]
    assert max(errors) <= Decimal(2.0**-45)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("draw", [geometric, discrete_laplace, bernoulli_exp])
def test_forced_refinement_equals_the_fast_path(epsilon, draw, monkeypatch):
    fast = Entropy.seeded(11)
    drawn, after = draw(epsilon, 400, fast), fast.word()
    asked = []
    real = refinement.settle
    monkeypatch.setattr(refinement, "LOG_ERROR", 1e15)
    monkeypatch.setattr(refinement, "settle", lambda *given: asked.append(1) or real(*given))
    forced = Entropy.seeded(11)
    assert np.array_equal(draw(epsilon, 400, forced), drawn)
    assert forced.word() == after  # and the stream stands at the same word
    assert len(asked) >= 400


def test_a_logarithm_worse_than_its_bound_is_noticed(monkeypatch):
    # The mutant of the fast path: an error of 2^-40 that the bound does not admit.
    words = np.array([edge("1/2", g, 64) + step for g in range(1, 20) for step in (-2, 2)], dtype=np.uint64)
    rate = rational_rate(Fraction(1, 2))
    truth = [g - (step > 0) for g in range(1, 20) for step in (-2, 2)]

    def answers():
        values, sure = refinement.fast_floors(words, rate, None)
        return [
            (v if s else refinement.settle(int(w), rate, Entropy.seeded(0)))
            for v, s, w in zip(values, sure, words, strict=True)
        ]

    assert answers() == truth
    monkeypatch.setattr(refinement, "negative_log", lambda w: approximation.negative_log(w) + 2.0**-40)
    assert answers() != truth


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("g", [1, 2, 3, 10])
def test_words_nearest_each_threshold(epsilon, g):
    # V <= e^(-g epsilon) exactly for all words below the edge; the word at the edge needs a second one.
    at, second = edge(epsilon, g, 64), edge(epsilon, g, 128)

    def draw(*words):
        script = Script(words)
        value = geometric(epsilon, 1, Entropy(script))[0]
        return value, len(words) - len(script.words)

    if at >= 2**20:
        assert draw(at - 1) == (g, 1) or epsilon == "1e-12"
        assert draw(at - 1)[0] >= g
        assert draw(at + 1)[0] <= g - 1
    inner = second - (at << 64)
    if 0 < inner < 2**64 - 1 and at > 0:
        assert draw(at, inner - 1, 0)[0] >= g
        assert draw(at, inner + 1, 0)[0] == g - 1
        assert draw(at, inner + 1, 0)[1] == 2


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_ends_of_the_words(epsilon):
    last = 2**64 - 1
    assert geometric(epsilon, 1, Entropy(Script([last, last]))).tolist() == [0]
    # U = 0 says only V <= 2^-64: a second word is always read, a third if that is 0 too.
    script = Script([0, 0, 12345678901234567890, 5])
    value = geometric(epsilon, 1, Entropy(script))[0]
    exactly = negative_log_exactly(12345678901234567890, 192) / (
        Decimal(Fraction(epsilon).numerator) / Fraction(epsilon).denominator
    )
    assert abs(value - exactly) <= 1
    assert len(script.words) <= 1


@pytest.mark.parametrize(
    "epsilon", ["1", "3", pytest.param("1/2", marks=pytest.mark.full), pytest.param("0.1", marks=pytest.mark.full)]
)
def test_law_by_all_words_of_a_small_word_model(epsilon, monkeypatch):
    # Words of 8 bits: all 65,536 pairs. Each outcome's mass, and the mass not yet decided, are exact.
    monkeypatch.setattr(refinement, "WORD_BITS", 8)
    rate, decided = rational_rate(Fraction(epsilon)), Counter()
    for first in range(256):
        try:
            decided[refinement.settle(first, rate, Entropy(Script([])))] += 256
        except LookupError:
            for second in range(256):
                try:
                    decided[refinement.settle(first, rate, Entropy(Script([second])))] += 1
                except LookupError:
                    continue
    open_mass = 2**16 - sum(decided.values())
    assert 0 < open_mass <= 1 + 12 / Fraction(epsilon)  # about one pair for each threshold
    for g, mass in decided.items():
        chance = geometric_pmf(epsilon, g) * 2**16
        assert mass <= chance <= mass + 2 + (open_mass if mass < 100 else 0)
    wrong = Fraction(epsilon) * Fraction(11, 10)
    assert any(not mass <= geometric_pmf(wrong, g) * 2**16 <= mass + 2 for g, mass in decided.items() if mass >= 100)


def test_pmfs_add_up_and_match_the_worked_numbers():
    # vectors diffgen.dlap.pmf0 and diffgen.dlap.tail
    assert float(discrete_laplace_pmf(0.5, 0)) == pytest.approx(0.24491866240370913, abs=1e-15)
    for t, tail in (
        (1, 0.37754066879814546),
        (2, 0.228989990914488),
        (5, 0.051094573345137194),
        (10, 0.004194097982724283),
    ):
        assert float(discrete_laplace_tail(0.5, t)) == pytest.approx(tail, rel=1e-14)
    for epsilon in ("1/2", "1e-6", "50"):
        assert abs(
            sum(discrete_laplace_pmf(epsilon, x) for x in range(-3, 4)) + 2 * discrete_laplace_tail(epsilon, 4) - 1
        ) < Decimal("1e-26")
        assert abs(discrete_laplace_tail(epsilon, -2) + discrete_laplace_tail(epsilon, 3) - 1) < Decimal("1e-26")
        with localcontext() as work:
            work.prec = 60
            squares = sum(geometric_pmf(epsilon, g) * geometric_pmf(epsilon, g + 3) for g in range(400))
            if epsilon != "1e-6":
                assert abs(squares / discrete_laplace_pmf(epsilon, 3) - 1) < Decimal("1e-45")


def test_bit_sliced_trials_over_all_words():
    # Lane j reads the bits of j, highest first: 64 lanes are all words of 6 bits.
    bits = [sum(((lane >> place) & 1) << lane for lane in range(64)) for place in range(5, -1, -1)]
    for f in (Fraction(5, 8), Fraction(1, 2), Fraction(63, 64), Fraction(1, 64)):
        success = int(trial_words(1, f, Entropy(Script(bits)))[0])
        assert [lane for lane in range(64) if success >> lane & 1] == list(range(int(64 * f)))
    with pytest.raises(LookupError):  # 1/3 = 0.010101...: lane 21 is still open after six bits
        trial_words(1, Fraction(1, 3), Entropy(Script(bits)))
    # The next bits of 1/3 are 01: reading 00 lane 21 is below, reading 1 it is above.
    assert int(trial_words(1, Fraction(1, 3), Entropy(Script([*bits, 0, 0])))[0]) == 2**22 - 1
    assert int(trial_words(1, Fraction(1, 3), Entropy(Script([*bits, 1 << 21])))[0]) == 2**21 - 1
    assert binomial_pmf(3, "1/3", 1) == Fraction(4, 9)
    assert sum(binomial_pmf(7, "0.3", k) for k in range(8)) == 1


def test_sizes_of_none_and_certain_trials_read_no_words():
    none = Entropy(Script([]))
    assert geometric(1, 0, none).tolist() == discrete_laplace(1, 0, none).tolist() == []
    assert bernoulli_exp(0, 3, none).tolist() == [True] * 3
    assert binomial(5, 0, none) == binomial(0, "1/3", none) == 0
    assert binomial(5, 1, none) == 5
    assert binomial(np.array([], dtype=int), "1/2", none).tolist() == []


def test_binomial_counts_each_entry_by_its_own_trials():
    n = np.array([[0, 3], [64, 200]])
    counts = binomial(n, "1/3", Entropy.seeded(1))
    assert counts.shape == n.shape
    assert (counts <= n).all()
    assert counts.sum() == binomial(int(n.sum()), "1/3", Entropy.seeded(1))


@pytest.mark.parametrize("epsilon", [0, -1, "x", float("nan"), float("inf"), None, True, 1e-13, 1e13, "1/0"])
def test_bad_epsilon_is_refused_before_a_word_is_read(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        discrete_laplace(epsilon, 3, Entropy(Script([])))


def test_a_float_is_the_decimal_it_prints():
    drawn = [
        discrete_laplace(e, 50, Entropy.seeded(2)).tolist()
        for e in (0.1, "0.1", Fraction(1, 10), np.float64(0.1), Decimal("0.1"))
    ]
    assert all(d == drawn[0] for d in drawn)
    assert discrete_laplace_pmf(0.1, 3) == discrete_laplace_pmf(Fraction(1, 10), 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda e: geometric(1, -1, e),
        lambda e: geometric(1, 2.0, e),
        lambda e: bernoulli_exp(-1, 1, e),
        lambda e: binomial(-1, "1/2", e),
        lambda e: binomial(3, 2, e),
        lambda e: binomial(2.5, "1/2", e),
    ],
)
def test_bad_parameters_are_refused(call):
    with pytest.raises(ParameterError):
        call(Entropy(Script([])))


def test_a_million_noisy_cells_take_under_a_second():
    started = time.process_time()
    discrete_laplace("1/2", 10**6, Entropy.system())
    assert time.process_time() - started < 1
