"""The public prior of the Dirichlet-multinomial urn: the smallest alpha that keeps a promise, certified.

Source    Machanavajjhala et al., ICDE 2008, sec. IV-V: Theorems 4.1 and 4.4, Lemma 5.2, Algorithm 2. The sharper
          rules and the accept/reject analogues the paper leaves out: docs/theory/commuting.md.
Claim     What `smallest_alpha` returns was itself certified, as the fraction returned; its delta, and any delta
          of `certified_delta` and `shrunk_certificate`, is an upper bound.
Because   see commuting/bounds.py (the rules and their floats) and Algorithm 2 below.
Checked   tests/claims/test_dirichlet_prior.py::test_smallest_alpha_is_certified_and_the_least_that_is
          tests/claims/test_dirichlet_prior.py::test_accept_reject_certificate_covers_every_pair
Silent on minimality between two candidates of the search: delta is a saw-tooth in alpha.
Cost      about 3 ms for each n at epsilon 4.6; kept in memory by (n, m, prior, epsilon, delta), all public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache

from scipy.optimize import minimize_scalar

from sfumato.commuting.bounds import (
    Rule,
    Stratum,
    UrnDomain,
    exp_below,
    log_above,
    rounded_up,
)
from sfumato.errors import ParameterError

# Shapes (`commuting.cells`) hold whole-number weights; `smallest_scale` finds the scale. Nothing here may see the
# confidential table: a weight or a keep probability taken from it would be a release that no certificate covers.


def scaled(shape: Sequence[Stratum], scale: Fraction) -> tuple[Stratum, ...]:
    """Return the prior: the shape times a scale."""
    return tuple(Stratum(s.alpha * scale, blocks=s.blocks, keep=s.keep) for s in shape)


# Shrinking the domain: the larger epsilon it costs, and delta certified after shrinking, not before.
#
# Source    Machanavajjhala et al., ICDE 2008, Algorithm 2 and Theorem 5.2, whose "same delta" is false;
#           the repair is in docs/theory/commuting.md, Shrinking.
# Claim     The urn on a domain shrunk by Algorithm 2 has the stated (epsilon', delta), by the rule asked for.
# Because   the ratio grows by at most 1/f (a block dropped while empty) and by the factor of the lost mass; the
#           tails are those of the mass that took part, which a Chernoff bound holds from below.
# Checked   tests/claims/test_dirichlet_prior.py::test_certificate_after_shrinking_covers_every_pair
#           tests/claims/test_dirichlet_prior.py::test_theorem_52_counterexample_is_not_repeated
# Silent on a keep probability estimated from the confidential table: it must be public.

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
            total += weight * UrnDomain(n, m=m, strata=strata, mass=mass, flat=flat).delta(widest, rule, enough=left)
        if total > enough:
            break
    return min(1.0, total * (1.0 + 1e-12))


def epsilon_parts(n: int, m: int, strata: Sequence[Stratum]) -> tuple[Fraction, Fraction]:
    """Return what shrinking adds to epsilon: ln(1/f) and the mass part (of blocks that may be dropped)."""
    least = min(s.keep for s in strata)
    dropped = [s.alpha for s in strata if s.keep < 1]
    mass = max((mass_part(n, m, alpha) for alpha in dropped), default=Fraction(0))
    return log_above(1 / least), Fraction(rounded_up(mass))


Number = int | float | str | Fraction
_UNIT = 10**6  # the denominator of every prior
_GAMMA_UNIT = 1000  # the denominator of gamma: a coarser one only rejects a little more
_JUMPS = 2048  # how many jumps of the saw-tooth are tried one by one
_LARGEST_MASS = 10**9  # above this |alpha| the float margin of Theorem 4.4 eats what is gained


def _exact(name: str, value: Number) -> Fraction:
    try:
        return Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, ZeroDivisionError, TypeError):
        raise ParameterError(name, value, "must be a number", hint="try 1/2") from None


def _checked(n: int, m: int | None, strata: Sequence[Stratum], epsilon: Number) -> tuple[int, Fraction]:
    """Return m and a rational at most e^epsilon."""
    if n < 1:
        raise ParameterError("n", n, "must be at least 1", hint="a destination without workers has nothing to hide")
    size = n if m is None else m
    if size < 1:
        raise ParameterError("m", size, "must be at least 1")
    if sum(s.blocks for s in strata) < 2 or any(s.blocks < 1 for s in strata):
        raise ParameterError("k", sum(s.blocks for s in strata), "must be at least 2 public blocks")
    if any(s.alpha <= 0 for s in strata):
        raise ParameterError("alpha", min(s.alpha for s in strata), "must be above 0 in every block")
    if any(not 0 < s.keep <= 1 for s in strata):
        raise ParameterError("keep", min(s.keep for s in strata), "must be above 0 and at most 1")
    exact = _exact("epsilon", epsilon)
    if exact <= 0:
        raise ParameterError("epsilon", epsilon, "must be above 0", hint="try 4.6")
    return size, exp_below(exact)


def _delta(
    n: int,
    m: int,
    strata: Sequence[Stratum],
    odds: Fraction,
    rule: Rule,
    *,
    enough: float = math.inf,
    flat: bool = False,
) -> float:
    if all(s.keep == 1 for s in strata):
        return UrnDomain.whole(n, m, strata).delta(odds, rule, enough=enough)
    if rule == "theorem44":
        raise ParameterError("rule", rule, "says nothing after shrinking", hint='try "hockey"')
    return shrunk_delta(n, m, strata, odds, rule, enough=enough, flat=flat)


def _accepted_delta(n: int, m: int, strata: Sequence[Stratum], odds: Fraction, rule: Rule, *, gamma: Fraction) -> float:
    """Delta when samples outside gamma-Good are drawn anew (docs/theory/commuting.md, Accept/reject)."""
    if gamma <= 0:
        raise ParameterError("gamma", gamma, "must be above 0", hint="use rejection_limit")
    reject: Rule = "theorem44" if rule == "theorem44" else "pdp"
    p = _delta(n, m, strata, gamma + 1, reject, flat=True)
    left = odds * (1 - Fraction(p))
    if gamma + 1 <= left:  # Lemma 5.2 as it stands: pdp, hence DP, with delta = p
        return p
    if left <= 1:
        return 1.0
    if rule in {"pdp", "theorem44"}:
        return _delta(n, m, strata, left, reject, flat=True)
    base = _delta(n, m, strata, left, rule)
    return min(1.0, rounded_up((Fraction(p) + Fraction(base)) / (1 - Fraction(p))))


def _strata(k: int, alpha: Number | Sequence[Stratum]) -> tuple[Stratum, ...]:
    if isinstance(alpha, Sequence) and not isinstance(alpha, str):
        if sum(s.blocks for s in alpha) != k:
            raise ParameterError("k", k, "must be the number of blocks of all strata")
        return tuple(alpha)
    return (Stratum(_exact("alpha", alpha), blocks=k),)


def certified_delta(
    n: int,
    k: int,
    epsilon: Number,
    alpha: Number | Sequence[Stratum],
    *,
    m: int | None = None,
    rule: Rule = "hockey",
    gamma: Number | None = None,
) -> float:
    """Return an upper bound on delta for n people in k public blocks under a public prior.

    `alpha` is one number for all blocks, or strata of equal alpha. Rules `tails` and `hockey` bound the delta of
    (epsilon, delta)-DP, `pdp` and `theorem44` also P(Disc). 1 means: nothing is promised. With `gamma`, samples
    outside gamma-Good are rejected.
    """
    strata = _strata(k, alpha)
    size, odds = _checked(n, m, strata, epsilon)
    if any(s.keep < 1 for s in strata):
        raise ParameterError("keep", min(s.keep for s in strata), "must be 1", hint="use shrunk_certificate")
    if gamma is None:
        return _delta(n, size, strata, odds, rule)
    return _accepted_delta(n, size, strata, odds, rule, gamma=_exact("gamma", gamma))


def shrunk_certificate(
    n: int,
    strata: Sequence[Stratum],
    epsilon: Number,
    *,
    m: int | None = None,
    rule: Rule = "hockey",
    gamma: Number | None = None,
) -> Shrunk:
    """Return epsilon' with its parts and the delta at epsilon' of the urn on a domain shrunk by Algorithm 2."""
    size, odds = _checked(n, m, strata, epsilon)
    domain, mass = epsilon_parts(n, size, strata)
    exact = _exact("epsilon", epsilon)
    if gamma is None:
        delta = _delta(n, size, strata, odds, rule)
    else:
        delta = _accepted_delta(n, size, strata, odds, rule, gamma=_exact("gamma", gamma))
    return Shrunk(exact + domain + mass, delta=delta, synthesis=exact, domain=domain, mass=mass)


def smallest_alpha(
    n: int,
    k: int,
    epsilon: Number,
    delta: Number,
    *,
    m: int | None = None,
    rule: Rule = "hockey",
    accept_reject: bool = False,
) -> Fraction | None:
    """Return the smallest uniform alpha (a multiple of 10^-6) certified by `rule`, None where none is.

    Only `theorem44` can return None (few people: f(x) = m cannot be exceeded and is counted all the same), and
    `pdp` with rejection where e^epsilon (1 - delta) <= 1. `pure` always exists, and without rejection `pdp`,
    `tails` and `hockey` are never above it.
    """
    return smallest_scale(
        n, (Stratum(Fraction(1), blocks=k),), epsilon, delta, m=m, rule=rule, accept_reject=accept_reject
    )


def smallest_scale(
    n: int,
    shape: Sequence[Stratum],
    epsilon: Number,
    delta: Number,
    *,
    m: int | None = None,
    rule: Rule = "hockey",
    accept_reject: bool = False,
) -> Fraction | None:
    """Return the smallest s so that the prior s * shape is certified, shrinking included where keep < 1."""
    size, odds = _checked(n, m, shape, epsilon)
    exact = _exact("delta", delta)
    if not 0 <= exact < 1:
        raise ParameterError("delta", delta, "must be at least 0 and below 1", hint="try 1e-5")
    if rule == "theorem44" and (odds <= 3 or size != n or len(shape) > 1):
        raise ParameterError("rule", rule, "needs epsilon above ln 3, m = n and a uniform prior", hint='try "pdp"')
    return _smallest(n, size, tuple(shape), odds, exact, rule=rule, reject=accept_reject)


@lru_cache(maxsize=65536)
def _smallest(
    n: int, m: int, shape: tuple[Stratum, ...], odds: Fraction, delta: Fraction, *, rule: Rule, reject: bool
) -> Fraction | None:
    """Search multiples of 10^-6: candidates upwards to the first that passes, then bisection below it."""
    odds, target, rule, flat = _goal(odds, delta, rule) if reject else (odds, delta, rule, False)
    least = min(s.alpha for s in shape)
    pure = math.ceil(Fraction(m * _UNIT) / ((odds - 1) * least)) if odds > 1 else None
    if pure is None:
        return None
    enough = rounded_up(target)

    def passes(units: int) -> bool:
        scale = Fraction(units, _UNIT)
        prior = [Stratum(s.alpha * scale, blocks=s.blocks, keep=s.keep) for s in shape]
        return Fraction(_delta(n, m, prior, odds, rule, enough=enough, flat=flat)) <= target

    if rule == "pure" or not target:
        return Fraction(pure, _UNIT)
    jumps = (odds - 1) * least if rule in {"tails", "pdp"} else None
    found = _first(passes, pure, jumps)
    if found is None and rule == "theorem44":
        found = _beyond(passes, pure, _LARGEST_MASS * _UNIT // shape[0].blocks)
    return None if found is None else Fraction(found, _UNIT)


def _goal(odds: Fraction, delta: Fraction, rule: Rule) -> tuple[Fraction, Fraction, Rule, bool]:
    """What a prior must pass so that it keeps (epsilon, delta) with rejection as well."""
    if rule in {"pdp", "theorem44"}:
        return _tied_gamma(odds, delta) + 1, delta, rule, True
    if rule == "pure":
        return odds, delta, rule, False
    # gamma is chosen afterwards so that p <= delta/2: then (p + H) / (1 - p) <= delta for H up to this
    return odds * (1 - delta / 2), delta * (1 - delta / 2) - delta / 2, rule, False


def _tied_gamma(odds: Fraction, delta: Fraction) -> Fraction:
    return Fraction(math.floor((odds * (1 - delta) - 1) * _GAMMA_UNIT), _GAMMA_UNIT)


def rejection_limit(
    n: int,
    strata: Sequence[Stratum],
    epsilon: Number,
    delta: Number,
    *,
    m: int | None = None,
    rule: Rule = "hockey",
) -> Fraction:
    """Return the gamma of gamma-Good to reject with, for a prior chosen with `accept_reject=True`."""
    size, odds = _checked(n, m, strata, epsilon)
    exact = _exact("delta", delta)
    if rule in {"pdp", "theorem44"}:
        if (tied := _tied_gamma(odds, exact)) <= 0:
            raise ParameterError("epsilon", epsilon, "leaves no gamma above 0", hint='try rule "hockey"')
        return tied
    # p falls as gamma grows and is 0 where no block can exceed its limit
    high = math.ceil(size * _GAMMA_UNIT / min(s.alpha for s in strata))
    low = 0
    while high - low > 1 and rule != "pure":
        middle = (low + high) // 2
        p = _delta(n, size, strata, 1 + Fraction(middle, _GAMMA_UNIT), "pdp", enough=rounded_up(exact / 2), flat=True)
        low, high = (low, middle) if Fraction(p) <= exact / 2 else (middle, high)
    return Fraction(high, _GAMMA_UNIT)


def _first(passes: Callable[[int], bool], pure: int, jump: Fraction | None) -> int | None:
    """Return the lowest passing candidate, then the boundary below it; what is returned did pass."""
    failed = 0
    for units in _candidates(pure, jump):
        if passes(units):
            return _boundary(passes, failed, units)
        failed = units
    return None


def _boundary(passes: Callable[[int], bool], failed: int, passed: int) -> int:
    while passed - failed > 1:
        middle = (failed + passed) // 2
        failed, passed = (failed, middle) if passes(middle) else (middle, passed)
    return passed


def _candidates(pure: int, jump: Fraction | None) -> list[int]:
    """Return a grid of ratio 1.15 and, where delta is a saw-tooth, both sides of its jumps at alpha = t / c."""
    grid = {min(pure, math.ceil(1.15**power)) for power in range(math.ceil(math.log(pure, 1.15)) + 1)} | {pure}
    if jump is not None:
        tops = (math.ceil(t * _UNIT / jump) for t in range(1, _JUMPS))
        for top in tops:
            if top >= pure:
                break
            grid |= {top, top - 1}
    return sorted(units for units in grid if units > 0)


def _beyond(passes: Callable[[int], bool], pure: int, largest: int) -> int | None:
    """Above m / c the test of Theorem 4.4 is monotone: rho = prod (n + alpha + t) / (n + k alpha + t) falls."""
    failed, units = pure, 2 * pure
    while units <= largest:
        if passes(units):
            return _boundary(passes, failed, units)
        failed, units = units, 2 * units
    return None


def smallest_alphas(
    sizes: Iterable[int],
    k: int,
    epsilon: Number,
    delta: Number,
    *,
    rule: Rule = "hockey",
    accept_reject: bool = False,
) -> dict[int, Fraction]:
    """Return alpha for each number of people n (m = n): the rule's, or pure DP where that is smaller."""
    chosen: dict[int, Fraction] = {}
    for n in sorted(set(sizes)):
        asked = {"accept_reject": accept_reject}
        pure = smallest_alpha(n, k, epsilon, delta, rule="pure", **asked)
        other = smallest_alpha(n, k, epsilon, delta, rule=rule, **asked)
        options = [alpha for alpha in (pure, other) if alpha is not None]
        chosen[n] = min(options)
    return chosen


def union_delta(deltas: Iterable[float]) -> float:
    """Return P(Disc) over several destinations by the literal Definition 6, which unions over all people: the sum.

    The delta of (epsilon, delta)-DP needs no sum: one person works at one destination, so the largest holds.
    """
    return min(1.0, rounded_up(sum((Fraction(delta) for delta in deltas), Fraction(0))))
