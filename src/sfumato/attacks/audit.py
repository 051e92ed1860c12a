"""Audit a differentially private mechanism exactly: every choice it can make, every count it can report.

Source    The definition (Dwork, McSherry, Nissim & Smith, TCC 2006). Walking all choices of the real code instead of a
          model of it is ours; which mistakes it must find: the traps of the DiffGen analysis.
Claim     `exact_audit` returns the largest |ln P(output on x) / P(output on y)| over all outputs of the whole mechanism
          for these two tables, to 30 digits; infinity where only one of them can give an output.
Because   the mechanism runs once for each sequence of choices, with the exact law of each in place of a draw; given
          the choices, cells are independent, so the worst output is the worst in each cell. Beyond the larger of two
          counts the ratio of two discrete Laplace laws is constant.
Checked   tests/claims/test_audit.py::test_the_walk_is_a_law
          tests/claims/test_audit.py::test_every_trap_has_a_mutant_that_is_caught
          tests/claims/test_audit.py::test_the_audit_finds_exactly_epsilon_where_it_is_reached
Silent on other pairs of tables, on time, and on whether entropy draws by these laws (tests/claims/test_sparse_noise.py,
          tests/claims/test_selection_claims.py). For tiny tables: cost grows as the number of sequences of choices.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import numpy as np

from sfumato.claims import PureDP
from sfumato.errors import ParameterError
from sfumato.measures.proportions import clopper_pearson
from sfumato.mechanisms.base import Gathered
from sfumato.mechanisms.diffgen.growth import Draw
from sfumato.mechanisms.diffgen.scores import Score
from sfumato.mechanisms.noisy_cells import Decided
from sfumato.randomness import discrete_laplace_pmf, discrete_laplace_tail, exponential_choice_pmf, permute_and_flip_pmf
from sfumato.randomness.enclosure import context

INFINITY = Decimal("Infinity")
WORK = context(60)
ROOM = Decimal("1e-30")  # the laws have 45 digits or more
BEYOND = 3  # counts looked at above the larger of two: the ratio does not change there

T = TypeVar("T")
# P(a cell with this count is reported as `outcome`); None: it is not reported.
CountLaw = Callable[[int, "int | None", Fraction, int], Decimal]


class Decides(Protocol):
    """A mechanism that makes its choices through a `Draw` and leaves the counts for last."""

    def decide(self, counts: Gathered, draw: Draw) -> Decided:
        """Make every choice but the counts."""
        ...


@dataclass
class Walk:
    """A `Draw` that takes given choices, then always the first, and keeps the law of each."""

    path: tuple[int, ...] = ()
    laws: list[list[Decimal]] = field(default_factory=list)

    def choose(self, scores: np.ndarray, *, epsilon: Fraction, score: Score, weights: np.ndarray | None = None) -> int:
        """Exponential mechanism, by its law."""
        whole = None if weights is None else [int(w) for w in weights]
        levels = [int(s) for s in scores]
        law = exponential_choice_pmf(levels, epsilon, score.sensitivity, monotone=score.monotone, weights=whole)
        return self.taken(law)

    def flip(self, scores: np.ndarray, *, epsilon: Fraction, score: Score) -> int:
        """Permute and flip, by its law."""
        levels = [int(s) for s in scores]
        return self.taken(permute_and_flip_pmf(levels, epsilon, score.sensitivity, monotone=score.monotone))

    def taken(self, law: list[Decimal]) -> int:
        """Take the next choice of the path."""
        self.laws.append(law)
        at = len(self.laws) - 1
        return self.path[at] if at < len(self.path) else 0


def walked(run: Callable[[Any], T], walk: Callable[[tuple[int, ...]], Walk] = Walk) -> Iterator[tuple[Decimal, T]]:
    """Yield each result of `run` with the probability of the choices that lead to it."""
    pending: list[tuple[int, ...]] = [()]
    while pending:
        path = pending.pop()
        draw = walk(path)
        result = run(draw)
        chance = Decimal(1)
        taken = (*path, *(0 for _ in range(len(draw.laws) - len(path))))
        for law, choice in zip(draw.laws, taken, strict=True):
            chance = WORK.multiply(chance, law[choice])
        for at in range(len(path), len(draw.laws)):
            pending += [(*taken[:at], other) for other in range(1, len(draw.laws[at]))]
        if chance:
            yield chance, result


@dataclass(frozen=True)
class Law:
    """For each visible outcome of the choices: its probability, and the counts that still receive noise."""

    chances: dict[Any, Decimal]
    _: KW_ONLY
    decided: dict[Any, Decided]


def law_of(mechanism: Decides, counts: Gathered, *, walk: Callable[[tuple[int, ...]], Walk] = Walk) -> Law:
    """Return the law of the choices on one table."""
    chances: dict[Any, Decimal] = {}
    decided: dict[Any, Decided] = {}
    for chance, result in walked(lambda draw: mechanism.decide(counts, draw), walk):
        key = result.said
        chances[key] = WORK.add(chances.get(key, Decimal(0)), chance)
        decided[key] = result
    return Law(chances, decided=decided)


def laplace_counts(count: int, outcome: int | None, epsilon: Fraction, threshold: int) -> Decimal:
    """Return the law of one cell: discrete Laplace noise, reported from the threshold on."""
    if outcome is None:
        return discrete_laplace_tail(epsilon, 1 - (threshold - count))  # P(noise < t - c) = P(noise >= 1 - (t - c))
    return discrete_laplace_pmf(epsilon, outcome - count) if outcome >= threshold else Decimal(0)


@dataclass(frozen=True, slots=True)
class Audited:
    """What was found for a pair of tables: the largest loss of any output, against the epsilon allowed."""

    loss: Decimal
    _: KW_ONLY
    epsilon: Fraction
    structures: int

    @property
    def holds(self) -> bool:
        """Whether no output is more than e^epsilon times as likely on one of the tables."""
        return self.loss <= WORK.add(
            WORK.divide(Decimal(self.epsilon.numerator), Decimal(self.epsilon.denominator)), ROOM
        )

    def describe(self) -> str:
        """Say it in plain words."""
        word = "keeps" if self.holds else "BREAKS"
        found = f"largest loss {self.loss:.6g}, allowed {float(self.epsilon):.6g}"
        return f"{found}: {word} its claim ({self.structures} structures)"


def exact_audit(
    mechanism: Decides,
    counts: Gathered,
    neighbour: Gathered,
    *,
    epsilon: Fraction | None = None,
    count_law: CountLaw = laplace_counts,
    walk: Callable[[tuple[int, ...]], Walk] = Walk,
) -> Audited:
    """Return the largest loss of the whole mechanism between two tables."""
    allowed = audit_claim(mechanism, counts) if epsilon is None else epsilon
    first, second = law_of(mechanism, counts, walk=walk), law_of(mechanism, neighbour, walk=walk)
    worst = Decimal(0)
    keys = first.chances.keys() | second.chances.keys()
    for key in keys:
        if key not in first.chances or key not in second.chances:
            return Audited(INFINITY, epsilon=allowed, structures=len(keys))
        tilt = _log_ratio(first.chances[key], second.chances[key])
        up, down = _cells_loss(first.decided[key], second.decided[key], count_law)
        worst = max(worst, WORK.add(up, tilt), WORK.subtract(down, tilt))
    return Audited(worst, epsilon=allowed, structures=len(keys))


def audit_claim(mechanism: Any, counts: Gathered) -> Fraction:
    """Return the epsilon a mechanism claims for a table's schema."""
    promise = mechanism.claim(counts.schema).promise
    if not isinstance(promise, PureDP):
        raise ParameterError("mechanism", type(mechanism).__name__, "must claim pure differential privacy")
    return promise.epsilon


def _cells_loss(one: Decided, other: Decided, law: CountLaw) -> tuple[Decimal, Decimal]:
    """Largest log ratios, both ways, of what the cells report: cells are independent, so the worst ones add up."""
    a, b = (dict(zip(d.cells.where.tolist(), d.cells.counts.tolist(), strict=True)) for d in (one, other))
    up = down = Decimal(0)
    for cell in a.keys() | b.keys():
        ways = list(_cell_losses(a.get(cell, 0), b.get(cell, 0), one, law))
        up, down = WORK.add(up, max(ways)), WORK.subtract(down, min(ways))
    return up, down


def _cell_losses(count: int, other: int, decided: Decided, law: CountLaw) -> Iterator[Decimal]:
    top = max(count, other, decided.threshold) + BEYOND
    for outcome in (None, *range(1, top + 1)):
        p, q = (law(c, outcome, decided.epsilon, decided.threshold) for c in (count, other))
        if p or q:
            yield INFINITY if not q else -INFINITY if not p else _log_ratio(p, q)


def _log_ratio(p: Decimal, q: Decimal) -> Decimal:
    return WORK.ln(WORK.divide(p, q))


# Audit a mechanism from outside: run it many times on two tables and bound its epsilon from below.
#
# Source    Clopper & Pearson, Biometrika 26, 1934 (exact interval of a share); auditing by a distinguishing event:
#           Jagielski, Ullman & Oprea, NeurIPS 2020.
# Claim     With probability at least `level`, no pure epsilon below `lower` holds for this mechanism.
# Because   the event is chosen on one half of the runs and counted on the other; a lower bound of its share on one
#           table and an upper bound on the other each fail with probability at most (1 - level) / 2.
# Checked   tests/claims/test_audit.py::test_the_black_box_accuses_a_wrong_scale_and_no_right_one
#           tests/claims/test_audit.py::test_clopper_pearson_covers
# Silent on anything not accused: a low bound proves nothing.


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
        bound = _estimated_log_ratio(taken[0], taken[1], len(likely), level)
        if bound > best:
            best, found = bound, place
    return frozenset(order[:found])


def _bound(
    likely: Sequence[Hashable], rare: Sequence[Hashable], event: frozenset[Hashable], level: float
) -> tuple[float, int, int]:
    a, b = (sum(output in event for output in outputs) for outputs in (likely, rare))
    return max(0.0, _estimated_log_ratio(a, b, len(likely), level)), a, b


def _estimated_log_ratio(a: int, b: int, trials: int, level: float) -> float:
    low, high = clopper_pearson(a, trials, level)[0], clopper_pearson(b, trials, level)[1]
    return math.log(low / high) if low > 0 else -math.inf
