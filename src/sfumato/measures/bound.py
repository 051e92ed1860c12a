"""The privacy loss that differential privacy allows at most, whatever the reader knew before.

Source    derived here; for the measure, Li & Li, KDD 2009, section 4.1.
Claim     If no two values of one person change the probability of any output by more than a factor e^epsilon
          (replace-one), then JS(prior, posterior) about that person is at most ln 2 - h(1 / (1 + e^(epsilon / 2)))
          nats, h the entropy of a coin, for every prior. The value is attained.
Because   as one value's likelihood moves, the posterior moves on a straight line, and JS(prior, .) is convex there: its
          largest value has likelihoods of two levels, 1 and e^epsilon. With prior mass a on the higher level the
          posterior has a e^epsilon / (a e^epsilon + 1 - a) there; a = 1 / (1 + e^(epsilon / 2)) makes it 1 - a, two
          coins that mirror each other. That no other a gives more is checked numerically, not proved.
          Add-or-remove epsilon is replace-one 2 epsilon: taking a row out and putting another in are two steps.
Checked   tests/claims/test_privacy_loss.py::test_bound_vectors
          tests/claims/test_privacy_loss.py::test_no_posterior_exceeds_the_bound_and_one_attains_it
Silent on approximate and probabilistic differential privacy (no bound is given), on correlations between people,
          and on the measured loss: noise alone can make that larger. The two are never compared.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.claims import Claim, Neighbours, Number, PureDP
from sfumato.claims.exact import fraction

__all__ = ["dp_bound", "proved_bound", "replace_one_epsilon"]


def dp_bound(epsilon: Number) -> float:
    """Return ln 2 - h(1 / (1 + e^(epsilon / 2))) for a replace-one epsilon, in nats."""
    exact = fraction("epsilon", epsilon, least=0, hint="try 1/2")
    tilt = math.tanh(float(min(exact, Fraction(1000))) / 4)
    # With t = tanh(epsilon / 4) the coins have (1 + t) / 2 and (1 - t) / 2: no cancellation for small epsilon.
    low = (1 - tilt) * math.log1p(-tilt) if tilt < 1 else 0.0
    return ((1 + tilt) * math.log1p(tilt) + low) / 2


def replace_one_epsilon(claim: Claim) -> Fraction | None:
    """Return the epsilon with which a claim protects what one person's rows say; None where it states no pure one."""
    if not isinstance(claim.promise, PureDP):
        return None
    twice = 2 if claim.neighbours is Neighbours.ADD_OR_REMOVE_ONE else 1
    return twice * claim.promise.epsilon


def proved_bound(claim: Claim) -> float | None:
    """Return the largest privacy loss a pure differential privacy claim allows; None for any other claim."""
    epsilon = replace_one_epsilon(claim)
    return None if epsilon is None else dp_bound(epsilon)
