"""What a given public prior guarantees: delta of the Dirichlet-multinomial urn by four rules.

Source    Machanavajjhala et al., ICDE 2008, Theorems 4.1, 4.3 and 4.4 (4.4 as repaired in
          docs/theory/commuting.md), and three sharper rules derived there.
Claim     For every histogram of n people, `Domain.delta` is at least P(Disc) (rules pdp, theorem44), or at
          least the delta of (epsilon, delta)-DP when one person's origin is replaced (tails, hockey).
Because   a neighbour moves one person into block i: the likelihood ratio is at most
          1 + m_i / (x - 1 + alpha_i), and m_i is beta-binomial. See docs/theory/commuting.md.
Checked   tests/claims/test_dirichlet_prior.py::test_certificate_covers_the_true_delta_of_every_pair
          tests/claims/test_dirichlet_prior.py::test_certificate_covers_the_true_disclosure_probability
Silent on a person with several jobs (the loss adds up over destinations), and on n itself, which is public.
Cost      O(n) bounds decide which counts x need an exact tail; at epsilon 4.6 usually one or two do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Literal

import numpy as np
from scipy.special import gammaln

from sfumato.arrays import Floats

# Upper bounds on tails of the beta-binomial law, the only law a privacy claim of the urn rests on.
#
# Source    Machanavajjhala et al., "Privacy: Theory meets Practice on the Map", ICDE 2008, sec. IV;
#           the beta-binomial is the law of one block of a Dirichlet-multinomial sample.
# Claim     `tail` and `excess` are never below the exact value; as long as n + m + |alpha| is at most 10^7 they are
#           above it by less than 1 part in 10^5 (`excess`: and 10^-14 of the tail). `ceilings` is never below `tail`.
# Because   one term in log space, the rest by ratios of rational terms, the unsummed rest by a
#           geometric series; every float error is counted and added (docs/theory/commuting.md, Floats).
# Checked   tests/claims/test_dirichlet_prior.py::test_tails_bound_the_exact_rational_value_closely
#           tests/claims/test_dirichlet_prior.py::test_ceilings_are_never_below_the_tail
# Silent on a libm whose lgamma is wrong by more than 16 units in the last place.
# Cost      a few hundred float operations for a tail; about 1 microsecond for each x of `ceilings`.


# Each log-gamma is off by at most 16 units in the last place (documented: below 6) and its argument by one
# rounding, which moves it by at most |z psi(z)| 2^-53 <= (2 |lgamma z| + z + 4) 2^-53. 2^-47 covers both.
_UNIT = 2.0**-47
_ROUND = 2.0**-53
_CHUNK = 128
LEAST = 1e-300  # what an underflowing positive probability is rounded up to
_DIGITS = 40


def exp_below(epsilon: Fraction) -> Fraction:
    """Return a rational at most e^epsilon, off by less than 1 part in 10^37.

    Privacy at the logarithm of a smaller number implies privacy at epsilon, so every rule may use it.
    """
    down = Context(prec=_DIGITS, rounding=ROUND_FLOOR)
    return Fraction(_quotient(epsilon, down).exp(down).next_minus(down))


def log_above(value: Fraction) -> Fraction:
    """Return a rational at least ln(value)."""
    up = Context(prec=_DIGITS, rounding=ROUND_CEILING)
    return Fraction(0) if value == 1 else Fraction(_quotient(value, up).ln(up).next_plus(up))


def _quotient(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def rounded_up(value: Fraction) -> float:
    """Return the least float at or above a rational."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def _lgamma(z: float) -> tuple[float, float]:
    value = math.lgamma(z)
    return value, _UNIT * (1.0 + z + abs(value))


def log_pmf(j: int, m: int, a: float, b: float) -> tuple[float, float]:
    """Return ln P(BB(m; a, b) = j) and a bound on the error of that float."""
    plus = [_lgamma(z) for z in (m + 1.0, a + b, j + a, m - j + b)]
    minus = [_lgamma(z) for z in (j + 1.0, m - j + 1.0, a, b, a + b + m)]
    value = math.fsum([v for v, _ in plus] + [-v for v, _ in minus])
    return value, math.fsum(slack for _, slack in plus + minus)


def tail(over: int, m: int, a: Fraction, b: Fraction) -> float:
    """Return an upper bound on P(BB(m; a, b) > over)."""
    return _sum_above(over, m, a, b, limit=None, base=None)


def excess(odds: Fraction, base: Fraction, m: int, a: Fraction, b: Fraction) -> float:
    """Return an upper bound on E[(1 - odds / (1 + J / base))^+] for J ~ BB(m; a, b)."""
    limit = (odds - 1) * base
    return _sum_above(math.floor(limit), m, a, b, limit=limit, base=base)


def _sum_above(over: int, m: int, a: Fraction, b: Fraction, *, limit: Fraction | None, base: Fraction | None) -> float:
    """Sum pmf(j) w(j) over j > over; w = 1, or (j - limit) / (j + base), the part of a point beyond odds."""
    first = max(over + 1, 0)
    if first > m:
        return 0.0
    if b <= 0:  # every other block is empty and without prior: all m fall here
        return 1.0
    fa, fb = float(a), float(b)
    head, slack = log_pmf(first, m, fa, fb)
    total, length = _scaled_sum(first, m, fa, fb, limit=limit, base=base)
    if not math.isfinite(total):
        return 1.0
    # 6 roundings for each ratio, one for each addition, the weight and its margin counted in _scaled_sum
    exponent = head + slack + math.log(total) + 8 * (length + _CHUNK) * _ROUND + 2.0**-45
    return min(1.0, max(LEAST, math.exp(min(exponent, 0.0))))


def _scaled_sum(
    first: int, m: int, a: float, b: float, *, limit: Fraction | None, base: Fraction | None
) -> tuple[float, int]:
    """Return the sum divided by pmf(first), rest included, and how many terms were added."""
    total, scale, start = 0.0, 1.0, first
    far, near = (float(limit), float(base)) if limit is not None and base is not None else (0.0, 0.0)
    while True:
        j = np.arange(start, min(start + _CHUNK, m + 1), dtype=np.float64)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            steps = (m - j) * (j + a) / ((j + 1.0) * (m - j - 1.0 + b))  # pmf(j + 1) / pmf(j); 0 at j = m
            steps[-1] = steps[-1] if j[-1] < m else 0.0
            terms = scale * np.concatenate(([1.0], np.cumprod(steps[:-1])))
            # the weight is off by at most 4 roundings of a number below 1: 16 are added
            weights = 1.0 if limit is None else np.clip((j - far) / (j + near), 0.0, 1.0) + 16 * _ROUND
            total += float(np.sum(terms * weights))
            scale = float(terms[-1] * steps[-1])
        start += _CHUNK
        if start > m or not math.isfinite(total):
            return total, start - first
        rest = _rest(start, m, a, b, scale)
        if rest <= 2.0**-60 * total:
            return total + rest, start - first


def _rest(start: int, m: int, a: float, b: float, scale: float) -> float:
    """Bound the sum of all terms from `start` on, the first of which is `scale`; inf where no bound is known.

    For b >= 1 both factors of a step fall (or, for a < 1, the second stays below 1) as j grows.
    """
    if b < 1.0:
        return math.inf
    step = (m - start) / (m - start - 1.0 + b) * max(1.0, (start + a) / (start + 1.0)) * (1.0 + 8 * _ROUND)
    return scale / (1.0 - step) * (1.0 + 8 * _ROUND) if step < 1.0 - 1e-6 else math.inf


def ceilings(x: Floats, limits: Floats, m: int, alpha: float, total: float) -> Floats:
    """Return for each count x >= 1 a bound on P(BB(m; x + alpha, total - x - alpha) > limit), in O(1) each.

    First term times a geometric series. Proves which x need no exact sum.
    """
    j = np.floor(limits * (1.0 - 1e-12)) + 1.0  # a lower start only adds terms
    a, b = x + alpha, total - x - alpha
    bound = np.ones_like(x)
    bound[j > m] = 0.0
    usable = (j <= m) & (b >= 1.0)
    j, a, b = j[usable], a[usable], b[usable]
    arguments = np.stack([m + 1.0 + 0 * j, a + b, j + a, m - j + b, j + 1.0, m - j + 1.0, a, b, a + b + m])
    values = gammaln(arguments)
    slack = (_UNIT * (1.0 + arguments + np.abs(values))).sum(axis=0)
    # total - x - alpha loses digits; b grows the bound when it is too small, which `16 roundings of total` covers
    slack += 16 * _ROUND * total * (np.abs(np.log(b)) + np.log(total + m) + 1.0)
    head = values[:4].sum(axis=0) - values[4:].sum(axis=0) + slack
    beyond = np.where(j < m, m - j - 1.0 + b, 1.0)  # at j = m there is no next term: the step is 0
    step = (m - j) * (j + a) / ((j + 1.0) * beyond) * (1.0 + 1e-12)
    falling = step < 1.0 - 1e-6
    geometric = np.where(falling, np.exp(np.minimum(head, 0.0)) / np.where(falling, 1.0 - step, 1.0), 1.0)
    bound[usable] = np.clip(geometric * (1.0 + 1e-9), LEAST, 1.0)
    return bound


Rule = Literal["theorem44", "pdp", "tails", "hockey", "pure"]

_EXACT_MASS = 10**7  # up to this n + m + |alpha| a tail bound is within 1 part in 10^5 of the exact tail
_LOW = 1.0 - 2e-5  # a tail bound times this is below the exact tail


@dataclass(frozen=True, slots=True)
class Stratum:
    """`blocks` origin blocks with the same prior `alpha`, each kept with probability `keep` when empty."""

    alpha: Fraction
    _: KW_ONLY
    blocks: int
    keep: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class UrnDomain:
    """One destination: n people, m synthetic people, a public prior.

    `mass` is how much of |alpha| takes part. `flat` leaves the keep probabilities out of the limits, as the
    set gamma-Rep does.
    """

    n: int
    _: KW_ONLY
    m: int
    strata: Sequence[Stratum]
    mass: Fraction
    flat: bool = False

    @classmethod
    def whole(cls, n: int, m: int, strata: Sequence[Stratum]) -> UrnDomain:
        """Return the domain in which every block takes part."""
        return cls(n, m=m, strata=strata, mass=sum((s.alpha * s.blocks for s in strata), Fraction(0)))

    def delta(self, odds: Fraction, rule: Rule, *, enough: float = math.inf) -> float:
        """Return an upper bound on delta; a search may stop at the first proof that it is above `enough`.

        `odds` is e^epsilon or less. A block that may be dropped while empty is at `odds * keep` as long as
        nobody, or only the person in question, lives there.
        """
        if rule == "pure":
            return 0.0 if all(self._limit(s, 1, odds) >= self.m for s in self.strata) else 1.0
        if rule == "theorem44":
            return _theorem44(self, odds)
        if rule == "pdp":
            return self._disclosure(odds, enough)
        worst = 0.0
        for stratum in self.strata:
            worst = max(worst, self._worst(stratum, odds, rule, max(worst, 0.0), enough))
            if worst > enough:
                break
        return min(1.0, worst)

    def _odds(self, stratum: Stratum, x: int, odds: Fraction) -> Fraction:
        return odds * stratum.keep if x <= 1 and not self.flat else odds

    def _limit(self, stratum: Stratum, x: int, odds: Fraction) -> Fraction:
        """Theorem 4.3: m_i at or below this leaks at most ln(odds) about any one person."""
        return (self._odds(stratum, x, odds) - 1) * (stratum.alpha + max(x - 1, 0))

    def _rest(self, stratum: Stratum, x: int) -> Fraction:
        return self.n - x + max(self.mass - stratum.alpha, Fraction(0))

    def _tail(self, stratum: Stratum, x: int, odds: Fraction) -> float:
        over = math.floor(self._limit(stratum, x, odds))
        return tail(over, self.m, x + stratum.alpha, self._rest(stratum, x))

    def _excess(self, stratum: Stratum, x: int, odds: Fraction) -> float:
        base = x - 1 + stratum.alpha
        return excess(self._odds(stratum, x, odds), base, self.m, x + stratum.alpha, self._rest(stratum, x))

    def _worst(self, stratum: Stratum, odds: Fraction, rule: Rule, floor: float, enough: float) -> float:
        """Maximise over x = 1..n; an x whose ceiling is below what was already found is skipped."""
        value = self._excess if rule == "hockey" else self._tail
        worst = max(floor, value(stratum, 1, odds))
        if worst > enough:
            return worst
        for x, ceiling in self._candidates(stratum, odds, worst, by_person=False):
            if ceiling <= worst or worst > enough:
                break
            worst = max(worst, value(stratum, x, odds))
        return worst

    def _ceilings(self, stratum: Stratum, odds: Fraction) -> tuple[Floats, Floats]:
        x = np.arange(2, self.n + 1, dtype=np.float64)
        alpha = float(stratum.alpha)
        limits = float(odds - 1) * (alpha + x - 1.0) * (1.0 - 1e-12)
        total = float(self.n + max(self.mass, stratum.alpha))
        return x, ceilings(x, limits, self.m, alpha, total)

    def _candidates(
        self, stratum: Stratum, odds: Fraction, found: float, *, by_person: bool
    ) -> list[tuple[int, float]]:
        """Return the x >= 2 which may exceed `found`, each with its ceiling, highest first."""
        x, bounds = self._ceilings(stratum, odds)
        scores = bounds / x * (1.0 + 2.0**-50) if by_person else bounds
        alive = np.flatnonzero(scores > found)
        return [(int(x[i]), float(scores[i])) for i in alive[np.argsort(-scores[alive], kind="stable")]]

    def _disclosure(self, odds: Fraction, enough: float) -> float:
        """Sum over blocks of P(m_i over its limit), worst histogram: all-empty plus n people placed worst."""
        zeros = [self._tail(s, 0, odds) for s in self.strata]
        parts = zip(self.strata, zeros, strict=True)
        empty = math.fsum(rounded_up(s.blocks * s.keep) * zero for s, zero in parts)
        person = 0.0
        for stratum, zero in zip(self.strata, zeros, strict=True):
            if empty + self.n * person > enough:
                break
            # an occupied block is no longer one of the empty ones
            credit = zero * _LOW if stratum.keep == 1 and self.n + self.m + self.mass <= _EXACT_MASS else 0.0
            person = max(person, self._tail(stratum, 1, odds) - credit)
            for x, ceiling in self._candidates(stratum, odds, person, by_person=True):
                if ceiling <= person or empty + self.n * person > enough:
                    break
                person = max(person, (self._tail(stratum, x, odds) - credit) / x)
        return min(1.0, (empty + self.n * person) * (1.0 + 1e-12))


def reference_zero_samples(n: int, m: int, alpha: float, rest: float, c: float) -> tuple[Floats, Floats]:
    """Return ln of the expression in Definition 7 for x = 0..n, and a bound on the float error of each."""
    x = np.arange(0, n + 1, dtype=np.float64)
    f = np.minimum(float(m), c * (alpha + np.maximum(x - 1.0, 0.0)))
    whole = n + alpha + rest
    plus = np.stack([m + 1.0 + 0 * x, whole + 0 * x, x + f + alpha, n - x + m - f + rest])
    minus = np.stack([f + 1.0, m - f + 1.0, x + alpha, n - x + rest, m + whole + 0 * x])
    values = gammaln(plus).sum(axis=0) - gammaln(minus).sum(axis=0)
    both = np.concatenate([plus, minus])
    return values, (2.0**-47 * (1.0 + both + np.abs(gammaln(both)))).sum(axis=0)


def log_reference_zero_sample(n: int, m: int, alpha: float, rest: float, c: float) -> float:
    """Return ln rho(n, m, alpha, rest, c) of Definition 7: alpha the least prior, rest = |alpha| - alpha."""
    return float(np.max(reference_zero_samples(n, m, float(alpha), float(rest), float(c))[0]))


def _theorem44(domain: UrnDomain, odds: Fraction) -> float:
    """Return 2 k e^eps rho / (e^eps - 2), or 1 where the repaired theorem says nothing.

    Needs one uniform alpha, m = n, e^eps > 3, |alpha| >= 3 and |alpha| - alpha >= 2; for a smaller prior the
    paper's bound is false (n = m = 1, k = 2, alpha = .001 "certifies" .041 where the truth is .999).
    """
    (stratum, *others) = domain.strata
    whole = stratum.alpha * stratum.blocks
    sound = not others and stratum.keep == 1 and domain.m == domain.n and odds > 3
    if not (sound and whole >= 3 and whole - stratum.alpha >= 2):
        return 1.0
    alpha, c = float(stratum.alpha), float(odds - 1) * (1.0 - 2.0**-50)
    values, slack = reference_zero_samples(domain.n, domain.m, alpha, float(whole - stratum.alpha), c)
    factor = float(2 * stratum.blocks * odds / (odds - 2))
    log_delta = float(np.max(values + slack)) + math.log(factor) + 1e-14 * math.log(factor) + 1e-14
    return min(1.0, max(LEAST, math.exp(min(0.0, log_delta))))
