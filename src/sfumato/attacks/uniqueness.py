"""How many people are alone in the population with what a sample shows of them: super-population estimators.

Source    Zayatz, "Estimation of the number of unique population elements using a sample", 1991; Hoshino, "Applying
          Pitman's sampling formula to microdata disclosure risk assessment", J. Official Statistics 17, 2001; Chen &
          Keller-McNulty, J. Official Statistics 14, 1998 (slide negative binomial), with the number of classes by Haas
          & Stokes, JASA 93, 1998 (their third Shlosser estimator); Dankar et al., BMC Med. Inform. 12, 2012 (the rule
          that chooses among them). ARX has the same four.
Claim     From the sizes of the classes of a sample and the sampling fraction f each returns the expected number of
          population uniques: Zayatz f1 P(1 | 1) / f; Pitman Gamma(t + 1) / Gamma(t + a) N^a at the maximum of the
          likelihood; slide negative binomial K b^a where the expected numbers of classes of one and two are those seen.
          Dankar: Pitman up to f = 0.1, else the smaller of the other two; 0 without a sample unique.
Because   the formulas are solved as printed. In ARX's code two of the slide negative binomial's differ from print (a
          factor multiplied instead of divided by, a 1 subtracted outside the sum); these here are the printed ones.
Checked   tests/claims/test_identity_attack.py::test_zayatz_by_hand
          tests/claims/test_identity_attack.py::test_pitman_is_the_maximum_of_its_likelihood
          tests/claims/test_identity_attack.py::test_snb_solves_its_equations
          tests/claims/test_identity_attack.py::test_estimators_on_samples_of_a_known_population
Silent on samples that are not simple random ones. An estimate that has no solution is NaN.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.errors import ParameterError

__all__ = ["dankar", "pitman", "snb", "zayatz"]


def _read(sizes: np.ndarray, fraction: float) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Return distinct class sizes, how many classes have each, and the sizes of sample and population."""
    if not 0 < fraction <= 1:
        raise ParameterError("fraction", fraction, "must be above 0 and at most 1", hint="0.1 is one person of ten")
    size, times = np.unique(np.asarray(sizes)[np.asarray(sizes) > 0], return_counts=True)
    sample = int((size * times).sum())
    return size.astype(np.int64), times.astype(np.int64), sample, round(sample / fraction)


def _number(size: np.ndarray, times: np.ndarray, of: int) -> int:
    return int(times[size == of].sum())


def zayatz(sizes: np.ndarray, fraction: float) -> float:
    """Return population uniques by Zayatz: how likely a sample unique comes from a population unique."""
    from scipy.stats import hypergeom

    size, times, sample, population = _read(sizes, fraction)
    alone = _number(size, times, 1)
    if not alone:
        return 0.0
    seen_once = hypergeom.pmf(1, population, size, sample)  # of a class of this size in the population
    share = times / times.sum()
    certain = share[size == 1][0] * hypergeom.pmf(1, population, 1, sample) / float((share * seen_once).sum())
    return float(alone * certain / fraction)


def pitman(sizes: np.ndarray, fraction: float) -> float:
    """Return population uniques by Pitman's sampling formula, fitted by maximum likelihood."""
    from scipy.optimize import minimize
    from scipy.special import gammaln

    size, times, sample, population = _read(sizes, fraction)
    if not _number(size, times, 1):
        return 0.0
    classes = int(times.sum())

    def loss(at: np.ndarray) -> float:
        alpha, theta = _pitman_parameters(at)
        steps = (classes - 1) * math.log(alpha) + gammaln(theta / alpha + classes) - gammaln(theta / alpha + 1)
        rising = gammaln(theta + sample) - gammaln(theta + 1)
        inside = float(np.dot(times, gammaln(size - alpha))) - classes * gammaln(1 - alpha)
        return float(rising - steps - inside)

    starts = [np.array([a, t]) for a in (-1.0, 1.0) for t in (1.0, 6.0)]
    best = min((minimize(loss, start, method="Nelder-Mead", options=_EXACT) for start in starts), key=lambda r: r.fun)
    alpha, theta = _pitman_parameters(best.x)
    found = math.exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * math.log(population))
    return float(found) if 0 <= found <= population else math.nan


_EXACT = {"xatol": 1e-7, "fatol": 1e-8, "maxiter": 2000, "maxfev": 4000}


def _pitman_parameters(at: np.ndarray) -> tuple[float, float]:
    """Return alpha in (0, 1) and theta > -alpha of two free numbers."""
    alpha = float(np.clip(1 / (1 + math.exp(-max(-500.0, min(500.0, at[0])))), 1e-9, 1 - 1e-9))
    return alpha, math.exp(min(float(at[1]), 60.0)) - alpha


def snb(sizes: np.ndarray, fraction: float) -> float:
    """Return population uniques by the slide negative binomial model."""
    from scipy.optimize import least_squares

    size, times, _, population = _read(sizes, fraction)
    one, two = _number(size, times, 1), _number(size, times, 2)
    if not one:
        return 0.0
    classes = _shlosser(size, times, fraction)

    def wrong(at: np.ndarray) -> np.ndarray:
        alpha, beta = math.exp(at[0]), 1 / (1 + math.exp(-at[1]))
        return np.asarray((np.array(_snb_expected(classes, fraction, alpha, beta)) - np.array([one, two])) / one)

    starts = [np.array([a, b]) for a in (-2.0, 0.0, 2.0) for b in (-4.0, -1.0, 2.0)]
    found = min((least_squares(wrong, start, bounds=(-30, 30)) for start in starts), key=lambda r: r.cost)
    if found.cost > 1e-8:
        return math.nan
    alpha, beta = math.exp(found.x[0]), 1 / (1 + math.exp(-found.x[1]))
    uniques = classes * beta**alpha
    return uniques if uniques <= population else math.nan


def _snb_expected(classes: float, f: float, alpha: float, beta: float) -> tuple[float, float]:
    """Return the expected numbers of sample classes of one and of two."""
    rest = (1 - f) * (1 - beta)
    one = classes * f * (beta / (1 - rest)) ** alpha * (alpha * rest / (1 - rest) + 1)
    scale = classes * alpha * beta**alpha * f * f * (1 - beta) / (2 * (1 - rest) ** (alpha + 2))
    return one, scale * (2 - (1 - alpha) * rest)


def _shlosser(size: np.ndarray, times: np.ndarray, f: float) -> float:
    """Return the number of classes in the population (Haas & Stokes, Sh3)."""
    if f == 1:
        return float(times.sum())
    one = _number(size, times, 1)
    below = (1 - f) ** size * times
    ratio = (size * f**2 * (1 - f**2) ** (size - 1) * times).sum() / (below * ((1 + f) ** size - 1.0)).sum()
    return float(times.sum() + one * ratio * (below.sum() / (size * f * (1 - f) ** (size - 1) * times).sum()) ** 2)


def dankar(sizes: np.ndarray, fraction: float) -> tuple[float, str]:
    """Return population uniques by the rule of Dankar et al., and the model it chose."""
    if not np.any(np.asarray(sizes) == 1):
        return 0.0, "none"
    if fraction <= 0.1:
        found = pitman(sizes, fraction)
        return (found, "pitman") if found > 0 else (zayatz(sizes, fraction), "zayatz")
    other, plain = snb(sizes, fraction), zayatz(sizes, fraction)
    return (other, "snb") if 0 < other <= plain else (plain, "zayatz")
