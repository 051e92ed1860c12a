"""The rules by which a printed number or a described curve is judged. Pure functions of numbers.

Source    own rules; what the papers say is in the files named after them.
Claim     `agrees`: a printed number is met within the tolerance named beside it. `same shape`: there is no number, or
          it is missed by no more than the factor named, and the direction or order that the paper describes is that of
          our curves. `differs`: anything else, with the figures that show it.
Because   each rule compares numbers only: it sees curves, never the name of a paper or a method.
Checked   tests/unit/reproduce/test_verdicts.py::test_a_wrong_curve_differs
          tests/unit/reproduce/test_verdicts.py::test_every_paper_differs_from_wrong_curves
Silent on the papers' curves between the numbers they print: the figures themselves were not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations, pairwise
from typing import Literal

import numpy as np

__all__ = [
    "Judged",
    "Points",
    "Word",
    "at_least",
    "at_most",
    "below",
    "direction",
    "hump",
    "inside",
    "less",
    "near",
    "related",
    "together",
    "trend",
    "vanishes",
]

Word = Literal["agrees", "same shape", "differs"]
Points = Sequence[tuple[float, float]]
_ORDER: tuple[Word, ...] = ("agrees", "same shape", "differs")
_CLEAR = 0.5  # least rank correlation that counts as a direction
_LITTLE = 0.1  # of its start: where a curve counts as gone


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and the figures behind it."""

    word: Word
    _: KW_ONLY
    because: str


def near(printed: float, ours: float, *, within: float, factor: float = 2.0) -> Judged:
    """A printed number: agrees within an absolute tolerance, same shape within a factor, else differs."""
    off = abs(ours - printed)
    told = f"{_text(off)} from the printed {_text(printed)}; agrees within {_text(within)}"
    if off <= within * (1 + 1e-9):
        return Judged("agrees", because=told)
    ratio = ours / printed if printed else float("inf")
    if ratio > 0 and max(ratio, 1 / ratio) <= factor:
        return Judged("same shape", because=f"{told}, same shape within a factor {_text(factor)}")
    return Judged("differs", because=f"{told}; ours is {_text(ratio)} times the printed number")


def at_least(printed: float, ours: float, *, zero: float = 0.0) -> Judged:
    """The paper says "at least": agrees from the printed number on, same shape above `zero`, else differs."""
    told = f"ours {_text(ours)}, the paper at least {_text(printed)}"
    if ours >= printed:
        return Judged("agrees", because=told)
    return Judged(
        "same shape" if ours > zero else "differs", because=f"{told}; the direction needs above {_text(zero)}"
    )


def at_most(printed: float, ours: float, *, factor: float = 1.25) -> Judged:
    """The paper says "at most": agrees up to the printed number, same shape up to a factor, else differs."""
    told = f"ours {_text(ours)}, the paper at most {_text(printed)}"
    if ours <= printed:
        return Judged("agrees", because=told)
    word: Word = "same shape" if ours <= factor * printed else "differs"
    return Judged(word, because=f"{told}; same shape up to {_text(factor * printed)}")


def less(smaller: float, larger: float, *, factor: float = 1.0) -> Judged:
    """The paper says that one of our numbers is below another (up to a factor); no number is printed."""
    told = f"{_text(smaller)} against {_text(larger)}"
    told += f", up to a factor {_text(factor)}" if factor != 1 else ""
    return Judged("same shape" if smaller <= factor * larger else "differs", because=told)


def trend(points: Points) -> float:
    """Return Kendall's tau-a of y along x: pairs that rise less pairs that fall, over pairs with different x."""
    pairs = [(a, b) for a, b in combinations(points, 2) if a[0] != b[0]]
    signs = [np.sign((b[1] - a[1]) * (b[0] - a[0])) for a, b in pairs]
    return float(np.mean(signs)) if signs else 0.0


def direction(points: Points, wanted: Literal["rises", "falls"]) -> Judged:
    """The paper says that a curve rises or falls."""
    tau = trend(points)
    right = tau if wanted == "rises" else -tau
    told = f"rank correlation of y with x {tau:+.2f} over {len(points)} points; {wanted} needs {_CLEAR} that way"
    return Judged("same shape" if right >= _CLEAR else "differs", because=told)


def vanishes(points: Points) -> Judged:
    """The paper says that a curve falls towards 0: it ends at a tenth of its start or less and hardly rises between.

    Ranks would not do: a curve that has reached 0 stays there.
    """
    values = [y for _, y in sorted(points)]
    end, rises = values[-1], sum(max(b - a, 0.0) for a, b in pairwise(values))
    told = f"from {_text(values[0])} to {_text(end)}, rising by {_text(rises)} in all"
    gone = values[0] > 0 and max(end, rises) <= _LITTLE * values[0]
    return Judged("same shape" if gone else "differs", because=f"{told}; needs a tenth of the start for both")


def inside(printed: float, low: float, high: float, *, of: str) -> Judged:
    """A number that depends on what is not printed: it must lie where some reading of that could put it."""
    told = f"{_text(printed)} must lie between {_text(low)} and {_text(high)} ({of})"
    return Judged("same shape" if low <= printed <= high else "differs", because=told)


def hump(points: Points) -> Judged:
    """The paper says that a curve first rises and then falls: its maximum is inside, both ends are lower."""
    ordered = sorted(points)
    values = [y for _, y in ordered]
    top = int(np.argmax(values))
    inside = 0 < top < len(values) - 1
    told = f"largest at x = {_text(ordered[top][0])}, ends {_text(values[0])} and {_text(values[-1])}"
    return Judged("same shape" if inside else "differs", because=told)


def below(lower: Points, upper: Points, *, share: float = 0.75, slack: float = 0.0) -> Judged:
    """The paper says that one curve lies below another: at `share` of the places where both are known.

    Places are the points of either curve inside the range of x both cover; between points curves are straight lines.
    """
    places, low, high = _paired(lower, upper)
    if not places:
        return Judged("differs", because="the curves cover no common range of x")
    right = int(np.sum(low <= high + slack))
    told = f"below at {right} of {len(places)} places; needs {share:.0%}"
    return Judged("same shape" if right >= share * len(places) else "differs", because=told)


def related(pairs: Points, *, least: float = _CLEAR) -> Judged:
    """The paper says that two figures show one pattern: rank correlation (Spearman) of the paired numbers."""
    first, second = (np.argsort(np.argsort([pair[at] for pair in pairs])) for at in (0, 1))
    found = float(np.corrcoef(first, second)[0, 1]) if len(pairs) > 1 else 0.0
    told = f"rank correlation {found:+.2f} over {len(pairs)} releases; needs {least}"
    return Judged("same shape" if found >= least else "differs", because=told)


def together(*judged: Judged) -> Judged:
    """Several rules of one statement: the worst verdict, and every reason."""
    worst = max(judged, key=lambda one: _ORDER.index(one.word))
    return Judged(worst.word, because="; ".join(one.because for one in judged))


def _paired(lower: Points, upper: Points) -> tuple[list[float], np.ndarray, np.ndarray]:
    first, second = np.array(sorted(lower)), np.array(sorted(upper))
    if not len(first) or not len(second):
        return [], np.array([]), np.array([])
    start, end = max(first[0, 0], second[0, 0]), min(first[-1, 0], second[-1, 0])
    places = sorted({float(x) for x in [*first[:, 0], *second[:, 0]] if start <= x <= end})
    return places, np.interp(places, first[:, 0], first[:, 1]), np.interp(places, second[:, 0], second[:, 1])


def _text(number: float) -> str:
    return f"{number:.4g}"
