"""What Marginals reads of the table, step by step: one-way tables, choices, larger tables. Then the model of them.

Source    Zhang et al., PrivBayes, TODS 2017, and McKenna, Miklau & Sheldon, JPC 11(3), 2021 (a tree of pairs); AIM,
          VLDB 2022 (rounds: the set the model fits worst). Scores, shrinkage and the rule of how many are ours.
Claim     Given what was drawn before, a step reads the table only through `Draws.table` of counts of distinct cells, or
          `Draws.choose` of scores that one row moves by at most the stated sensitivity.
Because   the score of a pair or triple is w (sum over cells |count - guess| - noise), the guess a table of whole
          numbers made of earlier draws, the noise a whole number of public figures, w its weight: one row moves one
          count by 1, so the sum by at most 1 and the score by at most w <= `sensitivity`. Whether triples are
          measured, which are offered and how many depends on public numbers and earlier draws.
Checked   tests/claims/test_marginals.py::test_no_transcript_costs_more_than_epsilon
          tests/claims/test_marginals.py::test_triples_by_enumeration
          tests/claims/test_marginals.py::test_scores_move_by_no_more_than_their_sensitivity
          tests/claims/test_paid_steps.py::test_a_person_moves_no_step_of_marginals_by_more_than_is_paid
          tests/claims/test_paid_steps.py::test_nothing_but_draws_of_marginals_reads_the_table
Silent on the quality of the choice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Floats
from sfumato.mechanisms.marginals.draws import Draws, Integers
from sfumato.mechanisms.marginals.model import TreeModel, drawn_given, model_cells, nearest_distribution, shrunk
from sfumato.randomness import Entropy
from sfumato.schema.workload import AttributeSet

LARGER = "tables of pairs and triples"  # their part of the budget, in a trace

FEW_GROUPS = 32  # values of an attribute that pair tables tell apart; rarer ones are joined
MOST_GROUPS = 128  # and where noise is small
GROUP_NOISE = 0.04  # of the rows of a group that noise may move, for more groups than a few
MOST_CELLS = 1_000_000  # of the model
SAMPLED = 200_000  # rows drawn to see what the model says of a pair
SWEEPS = 10
NOISE_SHARE = 0.5  # of the rows that the noise of a pair table may move; more pairs would have more
TRIPLES = Fraction(1, 2)  # of the budget of tables, where triples are measured at all
TRIPLES_OF_A_TREE = 2  # times as many triples as a tree has pairs
TRIPLE_NOISE = 0.05  # of the rows that the noise of a triple's table may move
_SEEN = 3  # deviations above which a value stands by itself
_FLOOR = 1e-9
_LAST_DIGITS = 1e-6  # far above what sums of floats differ by on another machine


@dataclass(frozen=True, slots=True)
class Budgets:
    """How much the three kinds of step may spend in all: epsilon, or rho."""

    ones: Fraction
    _: KW_ONLY
    choices: Fraction
    larger: Fraction


@dataclass(frozen=True)
class MeasuredTables:
    """A model of the groups of values, how to go back from groups to values, and how many rows there are, about."""

    model: TreeModel
    _: KW_ONLY
    total: float
    shares: tuple[Floats, ...]
    groups: tuple[Integers, ...]
    measured: tuple[AttributeSet, ...]

    def rows(self, number: int, entropy: Entropy) -> Integers:
        """Draw rows of codes: groups by the model, a value within its group by the one-way table."""
        grouped = self.model.rows(number, entropy.child("rows"))
        codes = np.empty_like(grouped)
        for at, (group, share) in enumerate(zip(self.groups, self.shares, strict=True)):
            inside = np.where(group[None, :] == np.arange(int(group.max()) + 1)[:, None], share[None, :], 0.0)
            codes[:, at] = drawn_given(inside, grouped[:, at], entropy.child("values"))
        return codes


@dataclass(frozen=True, slots=True)
class _Measured:
    """A noisy table of some attributes, what was expected of it before, and the deviation of its noise."""

    noisy: Floats
    _: KW_ONLY
    expected: Floats
    deviation: float


@dataclass
class _State:
    """Noisy tables so far; nothing in it is confidential."""

    sizes: tuple[int, ...]
    ones: list[Floats]
    deviation: float
    total: float
    tables: dict[AttributeSet, _Measured]

    def combined(self, held: AttributeSet) -> tuple[Floats, float]:
        """Return the counts of a set of attributes, and their variance: the mean of all tables that hold them.

        Each weighs by its noise.
        """
        shape = tuple(self.sizes[a] for a in held)
        best, weight = np.zeros(shape), 0.0
        if len(held) == 1:
            best, weight = self.ones[held[0]] / self.deviation**2, 1 / self.deviation**2
        for other, table in self.tables.items():
            if set(held) <= set(other):
                beyond = tuple(at for at, a in enumerate(other) if a not in held)
                variance = table.deviation**2 * table.noisy.size / math.prod(shape)
                best, weight = best + table.noisy.sum(axis=beyond) / variance, weight + 1 / variance
        return best / weight, 1 / weight

    def refined(self) -> list[Floats]:
        """Return one-way shares, by all tables that tell them."""
        return [_shares(self.combined((a,))[0], self.total) for a in range(len(self.sizes))]

    def fitted(self) -> TreeModel:
        """Fit the model to all tables; a table is shrunk towards what was expected of it."""
        ones = self.refined()
        targets: dict[AttributeSet, Floats] = {(a,): one for a, one in enumerate(ones)}
        for held, table in self.tables.items():
            noisy, variance = self.combined(held)
            targets[held] = _shares(shrunk(noisy, table.expected, variance), self.total)
        model = TreeModel(self.sizes, [*self.tables], ones)
        model.fit(targets, SWEEPS)
        return model


def measure(
    codes: Integers,
    weights: Integers,
    *,
    sizes: Sequence[int],
    ordered: Sequence[bool],
    wanted: Mapping[AttributeSet, int],
    budgets: Budgets,
    draws: Draws,
    entropy: Entropy,
) -> MeasuredTables:
    """Take every step and return the model. `entropy` only draws rows of the model, to see what it says."""
    each = budgets.ones / len(sizes)
    raw = [
        draws.table(np.bincount(codes[:, a], weights=weights, minlength=size).astype(np.int64), each).astype(np.float64)
        for a, size in enumerate(sizes)
    ]
    deviation = draws.deviation(each)
    precision = np.array([1 / size for size in sizes])
    total = max(1.0, float(np.dot([one.sum() for one in raw], precision) / precision.sum()))
    smooth = [_smoothed(one, deviation, in_order=by) for one, by in zip(raw, ordered, strict=True)]
    most = groups_within(sizes, total, budgets.larger, draws)
    groups = [_grouped(one, deviation, total, most, in_order=by) for one, by in zip(smooth, ordered, strict=True)]
    small = tuple(int(group.max()) + 1 for group in groups)
    joined: list[Floats] = [
        np.bincount(group, weights=one).astype(np.float64) for group, one in zip(groups, raw, strict=True)
    ]
    state = _State(small, joined, deviation, total, {})
    candidates = {held: weight for held, weight in wanted.items() if min(small[a] for a in held) > 1}
    if budgets.larger and any(len(held) == 2 for held in candidates):
        columns = [group[codes[:, a]] for a, group in enumerate(groups)]
        _measure_sets(state, columns, weights, candidates, budgets=budgets, draws=draws, entropy=entropy)
    shares = tuple(_shares(one, total) for one in smooth)
    return MeasuredTables(
        state.fitted(), total=total, shares=shares, groups=tuple(groups), measured=tuple(state.tables)
    )


def _measure_sets(
    state: _State,
    columns: Sequence[Integers],
    weights: Integers,
    candidates: Mapping[AttributeSet, int],
    *,
    budgets: Budgets,
    draws: Draws,
    entropy: Entropy,
) -> None:
    """Choose and measure pairs, and then triples where noise allows.

    First a tree of pairs, by what independence does not explain; then rounds, by what the model does not.
    """
    pairs, triples = ({held: w for held, w in candidates.items() if len(held) == size} for size in (2, 3))
    cells = {held: math.prod(state.sizes[a] for a in held) for held in candidates}
    tree = min(len(state.sizes) - 1, len(pairs))
    share = triples_share([cells[held] for held in triples], tree, state.total, budgets.larger, draws)
    spent = (1 - share) * budgets.larger
    number = pairs_within([cells[held] for held in pairs], tree, state.total, spent, draws)
    taken = _Taken(state, columns, weights, draws, entropy)
    for length in _rounds(tree, number):
        taken.round(pairs, length, price=spent / number, choice=(1 - share) * budgets.choices / number)
    if share:
        near = {held: w for held, w in triples.items() if _known_pairs(state, held) >= 2} or triples
        number = triples_within(len(near), tree)
        taken.round(near, number, price=share * budgets.larger / number, choice=share * budgets.choices / number)


@dataclass(frozen=True)
class _Taken:
    """Takes the steps that choose and measure."""

    state: _State
    columns: Sequence[Integers]
    weights: Integers
    draws: Draws
    entropy: Entropy

    def round(self, offered: Mapping[AttributeSet, int], length: int, *, price: Fraction, choice: Fraction) -> None:
        """Choose and measure some of the sets on offer, by what the current model does not explain."""
        state, draws, first = self.state, self.draws, not self.state.tables
        forest = list(range(len(state.sizes)))
        truth = {held: _table(self.columns, self.weights, held, state.sizes) for held in offered}
        expected = _expected(state, offered, self.entropy)
        size, sensitivity = draws.mean_size(price), max(offered.values())
        score = {
            held: weight * (_distance(truth[held], nearest_whole(expected[held])) - round(size * truth[held].size / 2))
            for held, weight in offered.items()
        }
        open_ = list(offered)
        for _ in range(length):  # what does not fit now will not fit beside one table more
            joins, cells = forest if first else None, model_cells(state.sizes, state.tables)
            open_ = [held for held in open_ if held not in state.tables and _fits(state, held, joins, cells)]
            if not open_:
                break
            at = 0
            if len(open_) > 1:
                at = draws.choose(np.array([score[held] for held in open_], np.int64), choice, sensitivity)
            held = open_[at]
            noisy = draws.table(truth[held], price).astype(np.float64)
            state.tables[held] = _Measured(noisy, expected=expected[held], deviation=draws.deviation(price))
            if first:
                forest = [forest[held[0]] if part == forest[held[1]] else part for part in forest]


def groups_within(sizes: Sequence[int], total: float, budget: Fraction, draws: Draws) -> int:
    """Return how many values of an attribute tables of pairs tell apart; rarer ones are joined.

    More than FEW_GROUPS where noise is expected to move at most 1 in 25 rows of a group, with a middling partner.
    """
    middle = min(sorted(sizes)[len(sizes) // 2], FEW_GROUPS)
    number = 3 * max(1, len(sizes) - 1)
    size = draws.mean_size(budget / number) if budget else 0.0
    return int(min(max(FEW_GROUPS, GROUP_NOISE * total / max(size * middle / 2, 1e-9)), MOST_GROUPS))


def triples_within(offered: int, tree: int) -> int:
    """Return how many triples are measured, where any are."""
    return min(TRIPLES_OF_A_TREE * tree, offered)


def triples_share(cells: Sequence[int], tree: int, total: float, budget: Fraction, draws: Draws) -> Fraction:
    """Return the share of the budget that triples get: half where noise moves few rows of a middling one, else none."""
    if not cells:
        return Fraction(0)
    number, middle = triples_within(len(cells), tree), sorted(cells)[len(cells) // 2]
    noise = draws.mean_size(TRIPLES * budget / number) * middle / 2
    return TRIPLES if noise <= TRIPLE_NOISE * total else Fraction(0)


def pairs_within(cells: Sequence[int], tree: int, total: float, budget: Fraction, draws: Draws) -> int:
    """Return how many pairs are measured: a tree of them, two or three times as many where noise allows.

    The number of pairs is such that the noise of a middling table is expected to move at most half of the rows.
    """
    middle = sorted(cells)[len(cells) // 2]
    best = tree
    for times in (2, 3):
        number = min(times * tree, len(cells))
        if draws.mean_size(budget / number) * middle / 2 <= NOISE_SHARE * total:
            best = number
    return best


def expected_share(cells: float, size: float, total: float) -> float:
    """Return the share of rows that noise of this mean size moves in a table with this number of cells, at most 1."""
    return min(1.0, cells * size / 2 / total)


def _rounds(tree: int, number: int) -> Iterator[int]:
    """A tree first, the rest in rounds of two thirds of a tree."""
    yield tree
    length = max(1, -(-2 * tree // 3))
    for start in range(tree, number, length):
        yield min(length, number - start)


def _known_pairs(state: _State, held: AttributeSet) -> int:
    return sum(pair in state.tables for pair in itertools.combinations(held, 2))


def _fits(state: _State, held: AttributeSet, forest: list[int] | None, cells: int) -> bool:
    """Whether a pair joins two parts of the tree; later, whether the model with it stays small.

    `cells` are those of the model without it. All but one of the attributes could be put into every clique, so that a
    set which multiplies these cells by little fits; only where that is too much, the cliques are worked out.
    """
    if forest is not None:
        return forest[held[0]] != forest[held[1]]
    if cells * math.prod(sorted(state.sizes[a] for a in held)[:-1]) <= MOST_CELLS:
        return True
    return model_cells(state.sizes, [*state.tables, held]) <= MOST_CELLS


def _expected(state: _State, offered: Iterable[AttributeSet], entropy: Entropy) -> dict[AttributeSet, Floats]:
    """Return what is expected of every set: by independence at first, then by the model.

    Where no clique of the model holds a set, rows drawn from the model tell.
    """
    if not state.tables:
        ones = state.refined()
        return {(a, b): state.total * np.outer(ones[a], ones[b]) for a, b in offered}
    model, found = state.fitted(), {}
    columns: list[Integers] = []
    for held in offered:
        known = model.marginal(held)
        if known is not None:
            found[held] = known * state.total
            continue
        if not columns:
            rows = model.rows(SAMPLED, entropy.child("guesses"))
            columns = [rows[:, a] for a in range(rows.shape[1])]
        found[held] = _table(columns, None, held, state.sizes).astype(np.float64) * (state.total / SAMPLED)
    return found


def nearest_whole(values: NDArray[np.floating[Any]]) -> Integers:
    """Return whole numbers; a half goes up, even where the last digits of a sum differ from machine to machine.

    >>> nearest_whole(np.array([7.5, 7.5 - 1e-12, 7.4])).tolist()
    [8, 8, 7]
    """
    found: Integers = np.floor(values + 0.5 + _LAST_DIGITS).astype(np.int64)
    return found


def _table(columns: Sequence[Integers], weights: Integers | None, held: AttributeSet, sizes: Sequence[int]) -> Integers:
    """Count the cells of a set of attributes; without weights each row once."""
    shape = tuple(sizes[a] for a in held)
    where = columns[held[0]]
    for a in held[1:]:
        where = where * sizes[a] + columns[a]
    return np.bincount(where, weights=weights, minlength=math.prod(shape)).astype(np.int64).reshape(shape)


def _distance(counts: Integers, guess: Integers) -> int:
    return int(np.abs(counts - guess).sum())


def _shares(table: Floats, total: float) -> Floats:
    """Return shares, none of them 0: a value that was not seen may still come up."""
    found: Floats = np.maximum(nearest_distribution(table, total) / total, _FLOOR)
    found /= found.sum()
    return found


def _smoothed(one: Floats, deviation: float, *, in_order: bool) -> Floats:
    """Shrink the table of an attribute of many values: towards the mean of its neighbours, or of all where none are."""
    if len(one) <= FEW_GROUPS:
        return one
    width = -(-len(one) // FEW_GROUPS) if in_order else len(one)
    block = np.arange(len(one)) // width
    mean = np.bincount(block, weights=one) / np.bincount(block)
    return shrunk(one, nearest_distribution(mean[block], max(1.0, float(one.sum()))), deviation**2)


def _grouped(one: Floats, deviation: float, total: float, most: int, *, in_order: bool) -> Integers:
    """Return the group of each value, by the noisy one-way table: rare neighbours, or all rare values, are joined.

    A value stands by itself where its count is above the noise and its share is not tiny.
    """
    if len(one) <= 2:
        return np.arange(len(one))
    if in_order:
        least = max(_SEEN * deviation, total / most if len(one) > FEW_GROUPS else 0.0)
        group, held, at = np.zeros(len(one), np.int64), 0.0, 0
        for code, count in enumerate(one):
            group[code] = at
            held += max(float(count), 0.0) if len(one) <= FEW_GROUPS else max(float(count) - deviation, 0.0)
            if held >= least and code + 1 < len(one):
                at, held = at + 1, 0.0
        return group
    seen = one >= max(_SEEN * deviation, np.sort(one)[-min(len(one), most)])
    if seen.all() or not seen.any():
        return np.arange(len(one)) if seen.all() else np.zeros(len(one), np.int64)
    group = np.full(len(one), int(seen.sum()), np.int64)
    group[seen] = np.arange(int(seen.sum()))
    return group
