"""Audit a mechanism from outside: run it many times on two tables and bound its epsilon from below.

Source    Clopper & Pearson, Biometrika 26, 1934 (exact interval of a share); auditing by a distinguishing event:
          Jagielski, Ullman & Oprea, NeurIPS 2020.
Claim     With probability at least `level`, no pure epsilon below `lower` holds for this mechanism.
Because   the event is chosen on one half of the runs and counted on the other; a lower bound of its share on one table
          and an upper bound on the other each fail with probability at most (1 - level) / 2.
Checked   tests/claims/test_audit.py::test_the_black_box_accuses_a_wrong_scale_and_no_right_one
          tests/claims/test_audit.py::test_clopper_pearson_covers
Silent on anything not accused: a low bound proves nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from sfumato.errors import ParameterError

__all__ = ["Accused", "black_box_audit", "clopper_pearson"]


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a share: each end fails with probability at most (1 - level) / 2.

    >>> clopper_pearson(0, 10)[0]
    0.0
    """
    from scipy.stats import beta

    if not 0 <= successes <= trials or trials < 1:
        raise ParameterError("successes", successes, f"must be in 0 .. {trials}, with at least one trial")
    if not 0 < level < 1:
        raise ParameterError("level", level, "must be between 0 and 1", hint="try 0.95")
    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else float(beta.ppf(tail, successes, trials - successes + 1))
    high = 1.0 if successes == trials else float(beta.ppf(1 - tail, successes + 1, trials - successes))
    return low, high


@dataclass(frozen=True, slots=True)
class Accused:
    """A lower bound on epsilon, with the runs it rests on."""

    lower: float
    _: KW_ONLY
    level: float
    runs: int
    on_first: int
    on_second: int

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {name: getattr(self, name) for name in self.__slots__ if not name.startswith("_")}

    def describe(self) -> str:
        """Say it in plain words."""
        return (
            f"epsilon is at least {self.lower:.4g} with confidence {self.level:g}: an event came {self.on_first} times "
            f"on one table and {self.on_second} times on the other, in {self.runs} runs each"
        )


def black_box_audit(
    first: Callable[[int], Hashable], second: Callable[[int], Hashable], *, runs: int, level: float = 0.999
) -> Accused:
    """Return a lower bound on epsilon; `first(i)` and `second(i)` are what is seen of run i on the two tables.

    Both directions are tried on the first half of the runs, the better one is counted on the second half.
    """
    if runs < 2:
        raise ParameterError("runs", runs, "must be at least 2", hint="try 10000")
    half = runs // 2
    seen = [[run(i) for i in range(runs)] for run in (first, second)]
    options = []
    for x, y in ((0, 1), (1, 0)):
        event = _event(seen[x][:half], seen[y][:half], level)
        options.append((_bound(seen[x][:half], seen[y][:half], event, level)[0], x, y, event))
    _, x, y, event = max(options, key=lambda option: option[0])
    lower, on_first, on_second = _bound(seen[x][half:], seen[y][half:], event, level)
    return Accused(lower, level=level, runs=runs - half, on_first=on_first, on_second=on_second)


def _event(likely: Sequence[Hashable], rare: Sequence[Hashable], level: float) -> frozenset[Hashable]:
    """Gather outputs from the most to the least telling as long as that raises the bound."""
    here, there = Counter(likely), Counter(rare)
    order = sorted(here, key=lambda o: (-(here[o] / (there[o] + 1)), str(o)))
    best, found, taken = -math.inf, 0, (0, 0)
    for place, output in enumerate(order, 1):
        taken = (taken[0] + here[output], taken[1] + there[output])
        bound = _log_ratio(taken[0], taken[1], len(likely), level)
        if bound > best:
            best, found = bound, place
    return frozenset(order[:found])


def _bound(
    likely: Sequence[Hashable], rare: Sequence[Hashable], event: frozenset[Hashable], level: float
) -> tuple[float, int, int]:
    a, b = (sum(output in event for output in outputs) for outputs in (likely, rare))
    return max(0.0, _log_ratio(a, b, len(likely), level)), a, b


def _log_ratio(a: int, b: int, trials: int, level: float) -> float:
    low, high = clopper_pearson(a, trials, level)[0], clopper_pearson(b, trials, level)[1]
    return math.log(low / high) if low > 0 else -math.inf
