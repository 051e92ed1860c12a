"""Shrinking the domain: the larger epsilon it costs, and delta certified after shrinking, not before.

Source    Machanavajjhala et al., ICDE 2008, Algorithm 2 and Theorem 5.2, whose "same delta" is false;
          the repair is in docs/theory/commuting.md, Shrinking.
Claim     The urn on a domain shrunk by Algorithm 2 has the stated (epsilon', delta), by the rule asked for.
Because   the ratio grows by at most 1/f (a block dropped while empty) and by the factor of the lost mass; the
          tails are those of the mass that took part, which a Chernoff bound holds from below.
Checked   tests/claims/test_dirichlet_prior.py::test_certificate_after_shrinking_covers_every_pair
          tests/claims/test_dirichlet_prior.py::test_theorem_52_counterexample_is_not_repeated
Silent on a keep probability estimated from the confidential table: it must be public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache

from scipy.optimize import minimize_scalar

from sfumato.mechanisms.dirichlet_rules import Domain, Rule, Stratum
from sfumato.mechanisms.dirichlet_tails import log_above, rounded_up

__all__ = ["Shrunk", "epsilon_parts", "mass_part", "shrunk_delta"]

_SPREAD = (12.0, 9.0, 7.5, 6.5, 5.5, 4.5, 3.5, 2.5, 1.5)  # levels of kept mass, in deviations below its mean


@dataclass(frozen=True, slots=True)
class Shrunk:
    """(epsilon', delta) after shrinking. `synthesis` is the epsilon asked for; the rest is what shrinking adds."""

    epsilon: Fraction
    _: KW_ONLY
    delta: float
    synthesis: Fraction
    domain: Fraction
    mass: Fraction

    @property
    def parts(self) -> dict[str, Fraction]:
        """What epsilon' is the sum of."""
        return {"synthesis": self.synthesis, "domain": self.domain, "mass": self.mass}


def mass_part(n: int, m: int, alpha: Fraction) -> Fraction:
    """Bound ln of how much likelier a sample gets when an unused block leaves the domain.

    ln [G(B+alpha+m) G(B) / (G(B+alpha) G(B+m))] for B >= n: at most alpha (1/n + ... + 1/(n+m-1)), the slope at
    0 of a concave function, and at most ceil(alpha) ln((n+m)/n), the paper's ceil(alpha) ln 2 for m = n.
    """
    slope = math.fsum(1.0 / (n + t) for t in range(m)) * (1.0 + 2.0**-50)
    steps = math.ceil(alpha) * log_above(Fraction(n + m, n))
    return min(alpha * Fraction(slope), steps)


def _at_least(strata: Sequence[Stratum]) -> list[tuple[Fraction, float]]:
    """Return levels w and upper bounds on P(kept mass < w), rising; the first is (0, 0)."""
    least = min(s.alpha for s in strata)
    shape = tuple(Stratum(s.alpha / least, blocks=s.blocks, keep=s.keep) for s in strata)
    return [(level * least, below) for level, below in _levels(shape)]


@lru_cache(maxsize=1024)
def _levels(shape: tuple[Stratum, ...]) -> tuple[tuple[Fraction, float], ...]:
    mean = sum((s.alpha * s.blocks * s.keep for s in shape), Fraction(0))
    variance = sum((s.alpha**2 * s.blocks * s.keep * (1 - s.keep) for s in shape), Fraction(0))
    if not variance:
        return ((mean, 0.0),)
    deviation = math.sqrt(variance)
    levels, last = [(Fraction(0), 0.0)], 0.0
    for spread in _SPREAD:
        level = mean - Fraction(spread * deviation)
        if level > 0:
            last = max(last, _below(shape, level))
            levels.append((level, last))
    return tuple(levels)


def _below(strata: Sequence[Stratum], level: Fraction) -> float:
    """Chernoff: P(W < w) <= exp(t w) E[exp(-t W)] for any t >= 0; t is only tuned, never trusted."""
    terms = [(float(s.alpha), s.blocks, float(s.keep)) for s in strata]

    def exponent(log_t: float) -> float:
        t = math.exp(log_t)
        return t * float(level) + math.fsum(b * math.log1p(f * math.expm1(-t * a)) if f < 1 else -b * t * a
                                            for a, b, f in terms)  # fmt: skip

    scale = math.log(max(a for a, _, _ in terms))
    tuned = minimize_scalar(exponent, bounds=(-30.0 - scale, 8.0 - scale), method="bounded")
    # each term is off by a few roundings of a number below `blocks * 40`; 10^7 blocks stay below 1e-6
    return min(1.0, math.exp(min(0.0, float(exponent(float(tuned.x))) + 1e-6)))


def shrunk_delta(
    n: int,
    m: int,
    strata: Sequence[Stratum],
    odds: Fraction,
    rule: Rule,
    *,
    enough: float = math.inf,
    flat: bool = False,
) -> float:
    """Return delta at epsilon' = ln(odds) + ln(1/f) + mass part: E over the kept mass, worst case below each level.

    Every rule falls as the kept mass grows, so between two levels the value at the lower one is used.
    With `flat`, the probability that some block exceeds (odds - 1)(alpha + [n_i - 1]^+), as gamma-Rep asks.
    """
    widest = odds if flat else odds / min(s.keep for s in strata)
    levels = _at_least(strata)
    total = 0.0
    for index in reversed(range(len(levels))):
        mass, below = levels[index]
        weight = (levels[index + 1][1] if index + 1 < len(levels) else 1.0) - below
        if weight > 0.0:
            left = (enough - total) / weight
            total += weight * Domain(n, m=m, strata=strata, mass=mass, flat=flat).delta(widest, rule, enough=left)
        if total > enough:
            break
    return min(1.0, total * (1.0 + 1e-12))


def epsilon_parts(n: int, m: int, strata: Sequence[Stratum]) -> tuple[Fraction, Fraction]:
    """Return what shrinking adds to epsilon: ln(1/f) and the mass part (of blocks that may be dropped)."""
    least = min(s.keep for s in strata)
    dropped = [s.alpha for s in strata if s.keep < 1]
    mass = max((mass_part(n, m, alpha) for alpha in dropped), default=Fraction(0))
    return log_above(1 / least), Fraction(rounded_up(mass))
