"""The only source of randomness: words, and exact samplers that read nothing but words.

Source    docs/theory/exact-sampling.md; each module names its own.
Claim     Given uniform words, every sampler here has exactly the law its `..._pmf` states; no rounding
          of a float decides an outcome, and the words read do not depend on the platform.
Because   See refinement (reals read as far as needed, with proved bounds for floats) and enclosure (exact comparisons).
Checked   tests/claims/test_exact_sampling.py
          tests/claims/test_sampler_power.py
          tests/claims/test_selection_claims.py
          tests/claims/test_sparse_noise.py
Silent on timing, and on what a mechanism does with the draws.
"""

from __future__ import annotations

from sfumato.randomness.binomial import binomial, binomial_pmf
from sfumato.randomness.entropy import Entropy, Words
from sfumato.randomness.gaussian import discrete_gaussian, discrete_gaussian_pmf
from sfumato.randomness.geometric import (
    bernoulli_exp,
    discrete_laplace,
    discrete_laplace_pmf,
    discrete_laplace_tail,
    geometric,
    geometric_pmf,
)
from sfumato.randomness.selection import (
    STEPS,
    exponential_choice,
    exponential_choice_pmf,
    permute_and_flip,
    permute_and_flip_pmf,
    rounded_log2_sums,
    rounded_sensitivity,
)
from sfumato.randomness.sparse import sparse_noise, sparse_noise_pmf

__all__ = [
    "STEPS",
    "Entropy",
    "Words",
    "bernoulli_exp",
    "binomial",
    "binomial_pmf",
    "discrete_gaussian",
    "discrete_gaussian_pmf",
    "discrete_laplace",
    "discrete_laplace_pmf",
    "discrete_laplace_tail",
    "exponential_choice",
    "exponential_choice_pmf",
    "geometric",
    "geometric_pmf",
    "permute_and_flip",
    "permute_and_flip_pmf",
    "rounded_log2_sums",
    "rounded_sensitivity",
    "sparse_noise",
    "sparse_noise_pmf",
]
