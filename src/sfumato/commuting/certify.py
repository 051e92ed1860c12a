"""Which law each destination is drawn by: the smallest certified prior, chosen from public numbers alone.

Source    Machanavajjhala et al., ICDE 2008, sec. IV-V, as repaired in docs/theory/commuting.md.
Claim     Every law returned by `law_of` was certified as it stands: strata, keep and gamma as they are drawn with,
          for this n, at the epsilon and delta asked for; its delta is at most the delta asked for.
Because   whatever the search returned is certified once more; where a quick guess fails, the full search is made,
          and Theorem 4.1's prior exists always.
Checked   tests/claims/test_synthesize.py::test_every_law_is_certified_as_it_is_drawn
          tests/claims/test_synthesize.py::test_the_true_delta_of_the_mechanism_never_exceeds_its_claim
Silent on the smallest scale of a prior with several strata: n and the prior mass are first rounded to a coarse
          grid, so a scale may be a few percent above the least one certified.
Cost      about 3 ms for each n of a uniform prior; a shaped prior one search for each point of the grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache

from sfumato.commuting.bounds import Rule, Stratum, log_above
from sfumato.commuting.prior import (
    certified_delta,
    epsilon_parts,
    rejection_limit,
    scaled,
    shrunk_certificate,
    smallest_scale,
)
from sfumato.commuting.urn import Law
from sfumato.errors import Infeasible

__all__ = ["Asked", "Certified", "domain_part", "law_of"]

_GRID = 1.06  # ratio of the numbers of people for which a shaped prior is searched
_MASS_BITS = 3  # leading bits kept of the prior mass in that search
_DECIMALS = 10**6


def domain_part(keep: Fraction) -> Fraction:
    """Return ln(1 / keep), rounded up to six decimals: what shrinking adds to epsilon, whoever is in the data."""
    return Fraction(math.ceil(log_above(1 / keep) * _DECIMALS), _DECIMALS) if keep < 1 else Fraction(0)


@dataclass(frozen=True, slots=True)
class Asked:
    """What every destination must keep. `mass` is the allowance for the mass part of epsilon', where shrunk."""

    epsilon: Fraction
    _: KW_ONLY
    delta: Fraction
    rule: Rule
    accept_reject: bool
    least_keep: Fraction
    mass: Fraction

    @property
    def domain(self) -> Fraction:
        """What dropping empty cells adds to epsilon."""
        return domain_part(self.least_keep)

    @property
    def total(self) -> Fraction:
        """The epsilon of the claim, for one unit."""
        return self.epsilon + self.domain + (self.mass if self.least_keep < 1 else 0)


@dataclass(frozen=True, slots=True)
class Certified:
    """A law with what it was certified for: (epsilon, delta)-DP by `rule`, and P(Disc) by rule pdp."""

    law: Law
    _: KW_ONLY
    rule: Rule
    epsilon: Fraction
    delta: float
    disclosure: float

    @property
    def added(self) -> Fraction:
        """How many people the prior adds before shrinking: |alpha|."""
        return sum((s.alpha * s.blocks for s in self.law.strata), Fraction(0))

    @property
    def added_after(self) -> Fraction:
        """How many it adds on average after shrinking, if all cells are empty."""
        return sum((s.alpha * s.blocks * s.keep for s in self.law.strata), Fraction(0))


@lru_cache(maxsize=65536)
def law_of(n: int, shape: tuple[Stratum, ...], asked: Asked) -> Certified:
    """Return the law of a destination with n people whose cells have this shape (weights, keep)."""
    if any(s.keep < 1 for s in shape):
        found = _shrunk(n, shape, asked)
        if found is not None:
            return found
    # not shrunk: the whole epsilon of the claim is there for the urn
    whole = tuple(Stratum(s.alpha, blocks=s.blocks) for s in shape)
    joined = _joined(whole)
    rules: tuple[Rule, ...] = ("pure",) if asked.rule == "pure" else (asked.rule, "pure")
    scales = [(scale, rule) for rule in rules if (scale := _scale(n, joined, asked, rule)) is not None]
    for scale, rule in sorted(scales):
        strata = scaled(whole, scale)  # in the order of the shape, so that slots stay what they are
        gamma = rejection_limit(n, strata, asked.total, asked.delta, rule=rule) if asked.accept_reject else None
        found = _certified(n, Law(strata, m=n, gamma=gamma), rule, asked)
        if found is not None:
            return found
    why = f"no prior keeps epsilon {float(asked.epsilon):.4g} with accept_reject by rule {asked.rule}"
    raise Infeasible("synthesis", "none", why, hint='rule="hockey", or accept_reject=False')


def _joined(shape: Sequence[Stratum]) -> tuple[Stratum, ...]:
    """Join strata that differ in nothing: what is left of a shape whose keep was taken away."""
    sizes: dict[Fraction, int] = {}
    for s in shape:
        sizes[s.alpha] = sizes.get(s.alpha, 0) + s.blocks
    return tuple(Stratum(alpha, blocks=blocks) for alpha, blocks in sorted(sizes.items()))


def _scale(n: int, shape: tuple[Stratum, ...], asked: Asked, rule: Rule) -> Fraction | None:
    if len(shape) > 1 and not asked.accept_reject and rule in {"hockey", "tails"}:
        quick = _quick(n, shape, asked, rule)
        if quick is not None:
            return quick
    return smallest_scale(n, shape, asked.total, asked.delta, rule=rule, accept_reject=asked.accept_reject)


def _certified(n: int, law: Law, rule: Rule, asked: Asked) -> Certified | None:
    """Certify a law as it stands; None where its delta is above the one asked for."""
    k = sum(s.blocks for s in law.strata)
    found = certified_delta(n, k, asked.total, law.strata, m=law.m, rule=rule, gamma=law.gamma)
    if Fraction(found) > asked.delta:
        return None
    disclosure = certified_delta(n, k, asked.total, law.strata, m=law.m, rule="pdp", gamma=law.gamma)
    return Certified(law, rule=rule, epsilon=asked.total, delta=found, disclosure=disclosure)


def _shrunk(n: int, shape: tuple[Stratum, ...], asked: Asked) -> Certified | None:
    """Return the law on the shrunk domain, certified after shrinking; None where epsilon' would be above the claim."""
    reject = asked.accept_reject
    scale = smallest_scale(n, shape, asked.epsilon, asked.delta, rule=asked.rule, accept_reject=reject)
    if scale is None:
        return None
    strata = scaled(shape, scale)
    domain, mass = epsilon_parts(n, n, strata)
    if mass > asked.mass or domain > asked.domain:
        return None
    gamma = rejection_limit(n, strata, asked.epsilon, asked.delta, rule=asked.rule) if reject else None
    proof = shrunk_certificate(n, strata, asked.epsilon, rule=asked.rule, gamma=gamma)
    if Fraction(proof.delta) > asked.delta or proof.epsilon > asked.total:
        return None
    disclosure = shrunk_certificate(n, strata, asked.epsilon, rule="pdp", gamma=gamma).delta
    law = Law(strata, m=n, gamma=gamma)
    return Certified(law, rule=asked.rule, epsilon=proof.epsilon, delta=proof.delta, disclosure=disclosure)


def _quick(n: int, shape: tuple[Stratum, ...], asked: Asked, rule: Rule) -> Fraction | None:
    """Guess a scale from a coarse grid of n and of prior mass; None where the guess is not certified for this n."""
    grid = math.ceil(_GRID ** math.ceil(math.log(n) / math.log(_GRID) - 1e-9)) if n > 16 else n
    scale = smallest_scale(grid, _coarse(shape), asked.total, asked.delta, rule=rule)
    if scale is None:
        return None
    k = sum(s.blocks for s in shape)
    proof = certified_delta(n, k, asked.total, scaled(shape, scale), rule=rule)
    return scale if Fraction(proof) <= asked.delta else None


def _coarse(shape: Sequence[Stratum]) -> tuple[Stratum, ...]:
    """Return a shape with the same weights and a rounded-down mass: rules hockey and tails read nothing else."""
    least, *more = sorted(s.alpha for s in shape)
    mass = int(sum((s.alpha * s.blocks for s in shape), Fraction(0)))
    cut = max(mass.bit_length() - _MASS_BITS, 0)
    left = Fraction((mass >> cut) << cut) - sum(more, Fraction(0))
    first = Stratum(least, blocks=max(1, int(left / least)))
    return (first, *(Stratum(weight, blocks=1) for weight in more))
