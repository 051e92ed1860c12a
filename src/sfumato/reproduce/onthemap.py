"""Machanavajjhala et al., ICDE 2008: the choice of alpha, the numbers printed about it, and figures 1 to 4.

Source    "Privacy: theory meets practice on the map", ICDE 2008, sections III (example of Theorem 4.1), V and VI.
Claim     Epsilon 4.6, delta 1e-5, least keep probability 0.0378 as in section VI; 480 destinations, not 120.
Because   alpha comes from `smallest_alpha` under each rule, synthetic flows from `Synthesize`, certified when shrunk.
Checked   tests/claims/test_dirichlet_prior.py::test_the_printed_01245_is_not_reproducible
          tests/unit/reproduce/test_verdicts.py::test_every_paper_differs_from_wrong_curves
Silent on Minnesota: its OnTheMap version 2 and the CTPP prior are not public in that form. f_d is not printed; ours
          keeps 1, 1/2, 1/5 and 0.0378 of empty blocks up to the printed quartiles of distance and beyond.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from sfumato.commuting import Stratum, certified_delta, shrunk_certificate, smallest_alpha
from sfumato.measures.shares import wilson
from sfumato.reproduce.figures import Curve, Figure, Paper, Settings, Step
from sfumato.reproduce.onthemap_flows import LIMITS, SHORT, drawn
from sfumato.reproduce.onthemap_statements import DOMAINS, FIGURES, KEEP, onthemap_statements

__all__ = ["PAPER"]

_TRIALS = 200_000
_EPSILON, _DELTA = "4.6", "1e-5"
_RULES = {
    "theorem44": "Theorem 4.4, the paper's",
    "pdp": "exact tails, (epsilon, delta)-probabilistic DP",
    "tails": "exact tails, (epsilon, delta)-DP",
    "hockey": "hockey stick, (epsilon, delta)-DP",
    "pure": "Theorem 4.1, epsilon-DP",
}


def _steps(settings: Settings) -> list[Step]:
    sizes = settings.pick(
        full=(2, 3, 4, 6, 8, 10, 12, 15, 20, 30, 50, 100, 200), quick=(4, 8, 12, 15, 30, 100), tiny=(12, 15)
    )
    steps = [Step(f"alpha {k} {n}", run=_alphas(k, n)) for k in DOMAINS for n in sizes]
    steps.append(Step("numbers", run=_numbers))
    both = cache(lambda: drawn(settings))
    steps += [Step(f"experiment {at + 1}", run=lambda at=at: both()(at)) for at in (0, 1)]  # type: ignore[misc]
    return steps


def _alphas(k: int, n: int) -> Any:
    def work() -> dict[str, float | None]:
        found = {rule: smallest_alpha(n, k, _EPSILON, _DELTA, rule=rule) for rule in _RULES}  # type: ignore[arg-type]
        return {rule: None if alpha is None else float(alpha) for rule, alpha in found.items()}

    return work


def _numbers() -> dict[str, float]:
    """What section III and VI print, computed."""
    shrunk = (Stratum(Fraction("0.039764"), blocks=DOMAINS[1], keep=Fraction(KEEP)),)
    after = shrunk_certificate(12, shrunk, _EPSILON, rule="hockey")
    counter = (Stratum(Fraction(1), blocks=100_000, keep=Fraction(1, 10_000)),)
    return {
        "pure alpha": 1e6 / math.expm1(7),
        "theorem 4.4, n = 12": float(smallest_alpha(12, DOMAINS[1], _EPSILON, _DELTA, rule="theorem44") or math.inf),
        "theorem 4.4, n = 15": float(smallest_alpha(15, DOMAINS[0], _EPSILON, _DELTA, rule="theorem44") or math.inf),
        "disclosure at 0.01245": certified_delta(15, DOMAINS[0], _EPSILON, "0.01245", rule="pdp"),
        "hockey at 0.01245": certified_delta(15, DOMAINS[0], _EPSILON, "0.01245", rule="hockey"),
        "epsilon, printed sum": float(_EPSILON) + math.log(1 / float(KEEP)) + math.log(2),
        "epsilon, proved": float(after.epsilon),
        "delta before shrinking": certified_delta(100, 100_000, 2, 1, rule="theorem44"),
        "delta after shrinking": shrunk_certificate(100, counter, 2, rule="pdp").delta,
        "disclosed": _disclosed(_TRIALS),
    }


def _disclosed(trials: int) -> float:
    """Lower end of a 95 % interval of P(Disc(epsilon')) for 60 people in one block and 40 alone, k = 10^5, f = 10^-4.

    A sample discloses if a person alone in block i has m_i with (1 + m_i) / f above e^epsilon', while some occupied
    block j has m_j = 0: moving the person from i to j then changes the probability by more than e^epsilon'.
    """
    rng = np.random.Generator(np.random.Philox(key=1))
    limit = 2 * math.e**2  # e^epsilon' f = e^2 2^ceil(alpha) for alpha = 1
    kept = rng.binomial(100_000 - 41, 1e-4, trials)
    shapes = np.concatenate([np.full((trials, 1), 61.0), np.full((trials, 40), 2.0), kept[:, None]], axis=1)
    mass = rng.standard_gamma(shapes)
    drawn = rng.multinomial(100, mass / mass.sum(axis=1, keepdims=True))
    alone = drawn[:, 1:41]
    hit = ((1 + alone).max(axis=1) > limit) & (alone == 0).any(axis=1)
    return wilson(int(hit.sum()), trials)[0]


def _figures(results: Mapping[str, Any], settings: Settings) -> tuple[Figure, ...]:
    found = []
    for k in DOMAINS:
        rows = [(int(name.split(" ")[2]), held) for name, held in results.items() if name.startswith(f"alpha {k} ")]
        curves = tuple(
            Curve(
                text,
                points=tuple(
                    (float(n), held[rule]) for n, held in sorted(rows, key=lambda row: row[0]) if held[rule] is not None
                ),
            )
            for rule, text in _RULES.items()
        )
        found.append(
            Figure(
                f"Alpha, k = {k:,}",
                about="smallest alpha by the size of the destination",
                x="n(d), people",
                y="smallest alpha",
                curves=curves,
                log_x=True,
                log_y=True,
                note="Epsilon 4.6, delta 1e-5. Where Theorem 4.4 has no point it certifies no alpha.",
            )
        )
    limits = LIMITS[results["experiment 1"]["kind"]]
    for name, at, short in FIGURES:
        held = results[f"experiment {at + 1}"]["short" if short else "all"]
        which = f"commutes below {SHORT} miles" if short else "all commutes"
        about = f"{which}, domain within {limits[at]} miles"
        curves = tuple(
            Curve(
                text,
                points=tuple((n, y) for n, y in zip(held["people"], held[side], strict=True) if y is not None),
                kind="dots",
            )
            for side, text in (("original", "original"), ("synthetic", "synthetic"))
        )
        found.append(
            Figure(
                name,
                about=about,
                x="people at the destination",
                y="average commute distance, miles",
                curves=curves,
                log_x=True,
            )
        )
    return tuple(found)


def _notes(settings: Settings) -> tuple[str, ...]:
    blocks = settings.pick(
        full="233,726 blocks, 1,155,000 jobs", quick="20,000 blocks, 100,000 jobs", tiny="600 blocks"
    )
    source = "LODES files as given" if settings.data is not None else f"generated flows on made-up blocks: {blocks}"
    return (
        f"Figures 1 to 4: {source}; 480 destinations drawn uniformly among those with jobs.",
        "The paper draws 120 destinations; with so few, verdicts on figures 1 and 4 changed with the seed.",
        "The paper's data are Minnesota, OnTheMap version 2, with CTPP as the public prior. Neither is shipped here.",
        "Synthetic data are drawn under the hockey-stick rule, certified after the domain was shrunk.",
        "The paper's own rule is unsound there (Theorem 5.2) and is shown in the tables only.",
        "Domains are cut at 200 and 100 miles; on LODES of one small state, where nobody is that far, at 60 and 30.",
        "Farther origins go to a public place `elsewhere`, so that totals stay public.",
        "Distances are taken over pairs inside the limit on both sides.",
    )


PAPER = Paper(
    "onthemap",
    title="Privacy: theory meets practice on the map (Machanavajjhala, Kifer, Abowd, Gehrke & Vilhuber, ICDE 2008)",
    steps=_steps,
    figures=_figures,
    statements=onthemap_statements,
    notes=_notes,
)
