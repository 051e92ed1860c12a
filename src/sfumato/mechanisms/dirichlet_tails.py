"""Upper bounds on tails of the beta-binomial law, the only law a privacy claim of the urn rests on.

Source    Machanavajjhala et al., "Privacy: Theory meets Practice on the Map", ICDE 2008, sec. IV;
          the beta-binomial is the law of one block of a Dirichlet-multinomial sample.
Claim     `tail` and `excess` are never below the exact value; as long as n + m + |alpha| is at most 10^7 they are
          above it by less than 1 part in 10^5 (`excess`: and 10^-14 of the tail). `ceilings` is never below `tail`.
Because   one term in log space, the rest by ratios of rational terms, the unsummed rest by a
          geometric series; every float error is counted and added (docs/theory/commuting.md, Floats).
Checked   tests/claims/test_dirichlet_prior.py::test_tails_bound_the_exact_rational_value_closely
          tests/claims/test_dirichlet_prior.py::test_ceilings_are_never_below_the_tail
Silent on a libm whose lgamma is wrong by more than 16 units in the last place.
Cost      a few hundred float operations for a tail; about 1 microsecond for each x of `ceilings`.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

__all__ = ["LEAST", "ceilings", "excess", "exp_below", "log_above", "log_pmf", "rounded_up", "tail"]

Floats = NDArray[np.float64]

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
