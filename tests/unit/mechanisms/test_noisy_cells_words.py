"""What is said of noise alone is the expectation under the exact law."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.mechanisms.noisy_cells import noise_alone
from sfumato.randomness import discrete_laplace_pmf


@pytest.mark.parametrize(("epsilon", "threshold"), [(Fraction(1, 2), 3), (Fraction(2), 1), (Fraction(1, 10), 40)])
def test_noise_alone_is_the_expectation(epsilon, threshold):
    reach = threshold + int(60 / epsilon)
    law = {j: float(discrete_laplace_pmf(epsilon, j)) for j in range(threshold, reach)}
    cells, rows = 1000 * sum(law.values()), 1000 * sum(j * share for j, share in law.items())
    assert f"{cells:,.3g} reported cells with {rows:,.3g} rows" in noise_alone(1000, epsilon, threshold)
