"""Does a selection have its law exactly, and does that law lose no more than epsilon?"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.claims.scripted_words import Script

from sfumato.errors import ParameterError
from sfumato.randomness import (
    Entropy,
    exponential_choice,
    exponential_choice_pmf,
    permute_and_flip,
    permute_and_flip_pmf,
    refinement,
)
from sfumato.randomness.selection import Candidates

CHOICES = {
    "exponential": (exponential_choice, exponential_choice_pmf),
    "flip": (permute_and_flip, permute_and_flip_pmf),
}


def worst_loss(pmf, pairs, **options):
    """Largest |ln P(i) / P'(i)| over pairs of score lists, at epsilon 1 and sensitivity 1."""
    worst = Decimal(0)
    for scores, other in pairs:
        for p, q in zip(pmf(scores, 1, 1, **options), pmf(other, 1, 1, **options), strict=True):
            worst = max(worst, abs((p / q).ln()))
    return worst


# One record moves every score by 0 or 1 up (monotone), or by at most 1 either way.
UP = [
    (s, [a + b for a, b in zip(s, move, strict=True)])
    for s in ([0, 0, 0], [5, 3, 0], [2, 2, 9])
    for move in itertools.product((0, 1), repeat=3)
]
ANY = [
    (s, [a + b for a, b in zip(s, move, strict=True)])
    for s in ([0, 0, 0], [5, 3, 0], [2, 2, 9])
    for move in itertools.product((-1, 0, 1), repeat=3)
]
TIGHT = Decimal("1e-20")


@pytest.mark.parametrize("name", CHOICES)
def test_loss_never_exceeds_epsilon(name):
    pmf = CHOICES[name][1]
    assert worst_loss(pmf, ANY) <= 1 + TIGHT
    assert worst_loss(pmf, UP, monotone=True) <= 1 + TIGHT
    many = [([9, 0, 0, 0, 0, 0], [8, 1, 1, 1, 1, 1])]
    assert worst_loss(pmf, many) <= 1 + TIGHT


@pytest.mark.parametrize("name", CHOICES)
def test_monotone_factor_is_refused_by_a_score_that_is_not(name):
    # The mutant (trap 9): the factor 2 dropped although scores move both ways.
    assert worst_loss(CHOICES[name][1], [([9, 0], [8, 1]), ([0] * 3, [-1, 1, 1])], monotone=True) > 1.5


def test_pmf_by_hand():
    assert [float(p) for p in exponential_choice_pmf([1, 0], 2, 1)] == pytest.approx(
        [1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1))], abs=1e-15
    )
    assert [float(p) for p in exponential_choice_pmf([1, 0], 2, 1, monotone=True, weights=[1, 3])] == pytest.approx(
        [1 / (1 + 3 * math.exp(-2)), 3 * math.exp(-2) / (1 + 3 * math.exp(-2))]
    )
    # Permute-and-flip over all orders, coins by hand.
    coins = [1.0, math.exp(-0.5), math.exp(-1.5)]
    law = [0.0] * 3
    for order in itertools.permutations(range(3)):
        rest = 1 / 6
        for i in order:
            law[i] += rest * coins[i]
            rest *= 1 - coins[i]
    assert [float(p) for p in permute_and_flip_pmf([3, 2, 0], 1, 1)] == pytest.approx(law, abs=1e-14)
    for pmf in (exponential_choice_pmf, permute_and_flip_pmf):
        assert abs(sum(pmf(list(range(30)), "0.3", 2)) - 1) < Decimal("1e-25")


@pytest.mark.parametrize(
    ("scores", "weights"),
    [
        ([0, 1, 2, 5], None),
        ([4, 4, 4, 4], None),
        ([10**6, 0, 10**6 - 3], [1, 10**9, 7]),
        ([Fraction(1, 3), Fraction(1, 2)], [Fraction(1, 7), 2]),
    ],
)
def test_choice_at_words_nearest_each_threshold(scores, weights):
    # By exact cumulative probabilities of 50 digits: the words just below and above choose the neighbours.
    law = [Fraction(p) for p in exponential_choice_pmf(scores, 1, 1, weights=weights)]
    for i in range(len(scores) - 1):
        border = sum(law[: i + 1]) * 2**64
        at = int(border)
        if not 10 < at < 2**64 - 10 or law[i] * 2**64 < 10 or law[i + 1] * 2**64 < 10:
            continue
        for word, chosen in ((at - 2, i), (at + 2, i + 1)):
            assert exponential_choice(scores, 1, 1, Entropy(Script([word])), weights=weights) == chosen
        if border != at:
            inner = int((border - at) * 2**64)
            # 50 digits leave the last bits of the second word open: stay 2^10 away.
            for second, chosen in ((inner - 2**10, i), (inner + 2**10, i + 1)):
                if 0 <= second < 2**64:
                    assert exponential_choice(scores, 1, 1, Entropy(Script([at, second])), weights=weights) == chosen


def test_a_threshold_of_exactly_one_half_is_decided_by_one_word():
    # Ties: V <= 1/2 is the first. The cells touching 1/2 are not split, so no second word is read.
    assert exponential_choice([7, 7], 1, 1, Entropy(Script([2**63 - 1]))) == 0
    assert exponential_choice([7, 7], 1, 1, Entropy(Script([2**63]))) == 1
    # A third candidate of weight e^-(10^9) moves the border below 1/2, by less than any precision at hand:
    # now the cell that ends at 1/2 is split, and a second word decides.
    far = [10**9, 10**9, 0]
    assert exponential_choice(far, 1, "1/2", Entropy(Script([2**63]))) == 1
    with pytest.raises(LookupError):
        exponential_choice(far, 1, "1/2", Entropy(Script([2**63 - 1])))
    assert exponential_choice(far, 1, "1/2", Entropy(Script([2**63 - 1, 2**64 - 2]))) == 0


@pytest.mark.parametrize(
    "scores", [[0, 1, 2, 5], [3, 3, 3], list(range(70)), [10**30, 10**30 - 1, 0], [Fraction(1, 3), Fraction(2, 5)]]
)
@pytest.mark.parametrize("name", CHOICES)
def test_forced_refinement_equals_the_fast_path(name, scores, monkeypatch):
    choose = CHOICES[name][0]
    fast = Entropy.seeded(12)
    chosen, after = [choose(scores, "1/3", 1, fast) for _ in range(25)], fast.word()
    monkeypatch.setattr(refinement, "LOG_ERROR", 1e15)
    monkeypatch.setattr(Candidates, "bracket", lambda self, _word: (0, len(self) - 1))
    forced = Entropy.seeded(12)
    assert [choose(scores, "1/3", 1, forced) for _ in range(25)] == chosen
    assert forced.word() == after


@pytest.mark.parametrize("name", CHOICES)
def test_choice_fits_its_pmf_and_no_other(name):
    choose, pmf = CHOICES[name]
    scores, entropy = [0, 3, 5, 5, 1, -4], Entropy.seeded(13)
    found = np.bincount([choose(scores, "1/2", 1, entropy) for _ in range(20_000)], minlength=6)

    def p_value(epsilon, **options):
        expected = np.array([float(p) for p in pmf(scores, epsilon, 1, **options)]) * found.sum()
        return stats.chisquare(found, expected * found.sum() / expected.sum()).pvalue

    assert p_value("1/2") > 1e-3
    assert p_value("0.6") < 1e-6
    assert p_value("1/2", monotone=True) < 1e-6


def test_huge_scores_and_far_candidates_do_not_overflow():
    for scores in ([10**6, 10**6 - 1, -(10**6)], [10**40, 10**40 - 1], np.array([2**62, -(2**62)])):
        for choose, pmf in CHOICES.values():
            assert 0 <= choose(scores, 1, 1, Entropy.seeded(1)) < len(scores)
            assert abs(sum(pmf(scores, 1, 1)) - 1) < Decimal("1e-25")
    assert exponential_choice([0, 1], 1, Fraction(1, 10**400), Entropy.seeded(1)) == 1
    assert permute_and_flip([0, 1], 1, Fraction(1, 10**400), Entropy.seeded(1)) == 1
    flat = [exponential_choice([0, 1], 1, 10**400, Entropy.seeded(seed)) for seed in range(40)]
    assert set(flat) == {0, 1}
    assert exponential_choice([5, 5], 1, 1, Entropy.seeded(1), weights=[1, 10**400]) == 1


def test_runs_with_weights_choose_as_if_written_out():
    # vector diffgen.split.int.probs: run lengths as a base measure.
    runs = exponential_choice_pmf([4, 5, 6], "1/2", 1, weights=[2, 3, 1])
    flat = exponential_choice_pmf([4, 4, 5, 5, 5, 6], "1/2", 1)
    assert abs(runs[0] - flat[0] - flat[1]) < Decimal("1e-26")
    assert abs(runs[1] - 3 * flat[2]) < Decimal("1e-26")


@pytest.mark.parametrize(
    ("scores", "options"),
    [
        ([], {}),
        ([0.5, 1.0], {}),
        (np.array([0.5]), {}),
        ([True, False], {}),
        (3, {}),
        ([1, 2], {"weights": [1]}),
        ([1, 2], {"weights": [1, 0]}),
        ([1, 2], {"weights": [1, -1]}),
        ([1, 2], {"weights": [1.0, 2.0]}),
    ],
)
def test_bad_candidates_are_refused_before_a_word_is_read(scores, options):
    with pytest.raises(ParameterError):
        exponential_choice(scores, 1, 1, Entropy(Script([])), **options)


@pytest.mark.parametrize("sensitivity", [0, -1, "x", None])
def test_bad_sensitivity_is_refused(sensitivity):
    with pytest.raises(ParameterError, match="sensitivity"):
        permute_and_flip([1, 2], 1, sensitivity, Entropy(Script([])))


def test_one_candidate_is_chosen():
    assert exponential_choice([-3], 1, 1, Entropy.seeded(0)) == 0
    assert permute_and_flip([-3], 1, 1, Entropy.seeded(0)) == 0
