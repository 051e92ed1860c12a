"""What Marginals reads of the table, step by step: one-way tables, choices, pair tables. Then the model of them.

Source    Zhang et al., PrivBayes, TODS 2017, and McKenna, Miklau & Sheldon, JPC 11(3), 2021 (a tree of pairs); AIM,
          VLDB 2022 (rounds: the pair the model fits worst). Scores, shrinkage and the rule of how many are ours.
Claim     Given what was drawn before, a step reads the table only through `Draws.table` of counts of distinct cells, or
          `Draws.choose` of scores that one row moves by at most the stated sensitivity.
Because   the score of a pair is w (sum over cells |count - guess| - noise), the guess a table of whole numbers made of
          earlier draws, the noise a whole number of public figures, w its weight: one row moves one count by 1, so
          the sum by at most 1 and the score by at most w <= `sensitivity`.
Checked   tests/claims/test_marginals.py::test_no_transcript_costs_more_than_epsilon
          tests/claims/test_marginals.py::test_scores_move_by_no_more_than_their_sensitivity
Silent on the quality of the choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import Floats
from sfumato.mechanisms.marginals.draws import Draws, Integers
from sfumato.mechanisms.marginals.junction import AttributeSet, model_cells
from sfumato.mechanisms.marginals.model import TreeModel, drawn_given, nearest_distribution, shrunk
from sfumato.randomness import Entropy

__all__ = ["MOST_GROUPS", "Budgets", "MeasuredTables", "expected_share", "measure", "nearest_whole", "pairs_within"]

MOST_GROUPS = 32  # values of an attribute that pair tables tell apart; rarer ones are joined
MOST_CELLS = 300_000  # of the model
SAMPLED = 200_000  # rows drawn to see what the model says of a pair
SWEEPS = 10
NOISE_SHARE = 0.5  # of the rows that the noise of a pair table may move; more pairs would have more
_SEEN = 3  # deviations above which a value stands by itself
_FLOOR = 1e-9
_LAST_DIGITS = 1e-6  # far above what sums of floats differ by on another machine


@dataclass(frozen=True, slots=True)
class Budgets:
    """How much the three kinds of step may spend in all: epsilon, or rho."""

    ones: Fraction
    _: KW_ONLY
    choices: Fraction
    pairs: Fraction


@dataclass(frozen=True)
class MeasuredTables:
    """A model of the groups of values, how to go back from groups to values, and how many rows there are, about."""

    model: TreeModel
    _: KW_ONLY
    total: float
    shares: tuple[Floats, ...]
    groups: tuple[Integers, ...]
    pairs: tuple[AttributeSet, ...]

    def rows(self, number: int, entropy: Entropy) -> Integers:
        """Draw rows of codes: groups by the model, a value within its group by the one-way table."""
        grouped = self.model.rows(number, entropy.child("rows"))
        codes = np.empty_like(grouped)
        for at, (group, share) in enumerate(zip(self.groups, self.shares, strict=True)):
            inside = np.where(group[None, :] == np.arange(int(group.max()) + 1)[:, None], share[None, :], 0.0)
            codes[:, at] = drawn_given(inside, grouped[:, at], entropy.child("values"))
        return codes


@dataclass
class _State:
    """Noisy tables so far; nothing in it is confidential."""

    sizes: tuple[int, ...]
    ones: list[Floats]
    deviation: float
    total: float
    pairs: dict[AttributeSet, tuple[Floats, Floats]]  # as measured, and as expected before

    def refined(self, deviation: float) -> list[Floats]:
        """Return one-way shares: the average of all tables that tell them, weighted by their noise."""
        found = []
        for a, one in enumerate(self.ones):
            best, weight = one / self.deviation**2, 1 / self.deviation**2
            for pair, (noisy, _) in self.pairs.items():
                if a in pair:
                    other = 1 - pair.index(a)
                    variance = deviation**2 * noisy.shape[other]
                    best, weight = best + noisy.sum(axis=other) / variance, weight + 1 / variance
            found.append(_shares(best / weight, self.total))
        return found

    def fitted(self, deviation: float) -> TreeModel:
        """Fit the model to all tables; a pair table is shrunk towards what was expected of it."""
        ones = self.refined(deviation)
        targets: dict[AttributeSet, Floats] = {(a,): one for a, one in enumerate(ones)}
        for pair, (noisy, expected) in self.pairs.items():
            targets[pair] = _shares(shrunk(noisy, expected, deviation**2), self.total)
        model = TreeModel(self.sizes, [*self.pairs], ones)
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
    groups = [_grouped(one, deviation, total, in_order=by) for one, by in zip(smooth, ordered, strict=True)]
    small = tuple(int(group.max()) + 1 for group in groups)
    joined: list[Floats] = [
        np.bincount(group, weights=one).astype(np.float64) for group, one in zip(groups, raw, strict=True)
    ]
    state = _State(small, joined, deviation, total, {})
    candidates = {pair: weight for pair, weight in wanted.items() if min(small[a] for a in pair) > 1}
    spread = 1.0  # of the noise on a pair table; without one it matters nothing
    if candidates and budgets.pairs:
        columns = [group[codes[:, a]] for a, group in enumerate(groups)]
        spread = _measure_pairs(state, columns, weights, candidates, budgets=budgets, draws=draws, entropy=entropy)
    model = state.fitted(spread)
    shares = tuple(_shares(one, total) for one in smooth)
    return MeasuredTables(model, total=total, shares=shares, groups=tuple(groups), pairs=tuple(state.pairs))


def _measure_pairs(
    state: _State,
    columns: Sequence[Integers],
    weights: Integers,
    candidates: Mapping[AttributeSet, int],
    *,
    budgets: Budgets,
    draws: Draws,
    entropy: Entropy,
) -> float:
    """Choose and measure pairs, and return the deviation of their noise.

    First a tree, by what independence does not explain; then rounds, by what the model does not.
    """
    cells = [math.prod(state.sizes[a] for a in pair) for pair in candidates]
    tree = min(len(state.sizes) - 1, len(candidates))
    number = pairs_within(cells, tree, state.total, budgets.pairs, draws)
    price, choice = budgets.pairs / number, budgets.choices / number
    truth = {pair: _pair_table(columns, weights, pair, state.sizes) for pair in candidates}
    bias = {pair: round(draws.mean_size(price) * table.size / 2) for pair, table in truth.items()}
    sensitivity = max(candidates.values())
    forest = list(range(len(state.sizes)))
    for length in _rounds(tree, number):
        first = not state.pairs
        guess = _guesses(state, truth, draws.deviation(price), entropy)
        score = {pair: candidates[pair] * (_distance(truth[pair], guess[pair]) - bias[pair]) for pair in truth}
        for _ in range(length):
            open_ = [
                pair for pair in truth if pair not in state.pairs and _fits(state, pair, forest if first else None)
            ]
            if not open_:
                break
            at = 0
            if len(open_) > 1:
                at = draws.choose(np.array([score[pair] for pair in open_], np.int64), choice, sensitivity)
            pair = open_[at]
            noisy = draws.table(truth[pair], price).astype(np.float64)
            state.pairs[pair] = (noisy, guess[pair].astype(np.float64))
            forest = [forest[pair[0]] if part == forest[pair[1]] else part for part in forest]
    return draws.deviation(price)


def pairs_within(cells: Sequence[int], tree: int, total: float, budget: Fraction, draws: Draws) -> int:
    """Return how many pairs are measured: a tree of them, two or three times as many where noise allows.

    With so many pairs the noise of a middling pair table must be expected to move at most half of the rows.
    """
    middle = sorted(cells)[len(cells) // 2]
    best = tree
    for times in (2, 3):
        number = min(times * tree, len(cells))
        if draws.mean_size(budget / number) * middle / 2 <= NOISE_SHARE * total:
            best = number
    return best


def expected_share(cells: float, size: float, total: float) -> float:
    """Return the share of rows that noise of this mean size moves in a table of so many cells, at most 1."""
    return min(1.0, cells * size / 2 / total)


def _rounds(tree: int, number: int) -> Iterator[int]:
    """A tree first, the rest in rounds of two thirds of a tree."""
    yield tree
    length = max(1, -(-2 * tree // 3))
    for start in range(tree, number, length):
        yield min(length, number - start)


def _fits(state: _State, pair: AttributeSet, forest: list[int] | None) -> bool:
    """Whether a pair joins two parts of the tree; later, whether the model with it stays small."""
    if forest is not None:
        return forest[pair[0]] != forest[pair[1]]
    return model_cells(state.sizes, [*state.pairs, pair]) <= MOST_CELLS


def _guesses(
    state: _State, truth: Mapping[AttributeSet, Integers], deviation: float, entropy: Entropy
) -> dict[AttributeSet, Integers]:
    """Return what is expected of every pair, in whole rows: by independence at first, then by rows of the model."""
    if not state.pairs:
        ones = state.refined(deviation)
        return {(a, b): nearest_whole(state.total * np.outer(ones[a], ones[b])) for a, b in truth}
    rows = state.fitted(deviation).rows(SAMPLED, entropy.child("guesses"))
    columns, even = [rows[:, a] for a in range(rows.shape[1])], np.ones(len(rows), np.int64)
    scale = state.total / SAMPLED
    return {p: nearest_whole(_pair_table(columns, even, p, state.sizes) * scale) for p in truth}


def nearest_whole(values: NDArray[np.floating[Any]]) -> Integers:
    """Return whole numbers; a half goes up, even where the last digits of a sum differ from machine to machine.

    >>> nearest_whole(np.array([7.5, 7.5 - 1e-12, 7.4])).tolist()
    [8, 8, 7]
    """
    found: Integers = np.floor(values + 0.5 + _LAST_DIGITS).astype(np.int64)
    return found


def _pair_table(columns: Sequence[Integers], weights: Integers, pair: AttributeSet, sizes: Sequence[int]) -> Integers:
    """Count the cells of a pair."""
    shape = (sizes[pair[0]], sizes[pair[1]])
    where = columns[pair[0]] * shape[1] + columns[pair[1]]
    return np.bincount(where, weights=weights, minlength=shape[0] * shape[1]).astype(np.int64).reshape(shape)


def _distance(counts: Integers, guess: Integers) -> int:
    return int(np.abs(counts - guess).sum())


def _shares(table: Floats, total: float) -> Floats:
    """Return shares, none of them 0: a value that was not seen may still come up."""
    found: Floats = np.maximum(nearest_distribution(table, total) / total, _FLOOR)
    found /= found.sum()
    return found


def _smoothed(one: Floats, deviation: float, *, in_order: bool) -> Floats:
    """Shrink the table of an attribute of many values: towards the mean of its neighbours, or of all where none are."""
    if len(one) <= MOST_GROUPS:
        return one
    width = -(-len(one) // MOST_GROUPS) if in_order else len(one)
    block = np.arange(len(one)) // width
    mean = np.bincount(block, weights=one) / np.bincount(block)
    return shrunk(one, nearest_distribution(mean[block], max(1.0, float(one.sum()))), deviation**2)


def _grouped(one: Floats, deviation: float, total: float, *, in_order: bool) -> Integers:
    """Return the group of each value, by the noisy one-way table: rare neighbours, or all rare values, are joined.

    A value stands by itself where its count is above the noise and its share is not tiny.
    """
    if len(one) <= 2:
        return np.arange(len(one))
    if in_order:
        least = max(_SEEN * deviation, total / MOST_GROUPS if len(one) > MOST_GROUPS else 0.0)
        group, held, at = np.zeros(len(one), np.int64), 0.0, 0
        for code, count in enumerate(one):
            group[code] = at
            held += max(float(count), 0.0) if len(one) <= MOST_GROUPS else max(float(count) - deviation, 0.0)
            if held >= least and code + 1 < len(one):
                at, held = at + 1, 0.0
        return group
    seen = one >= max(_SEEN * deviation, np.sort(one)[-min(len(one), MOST_GROUPS)])
    if seen.all() or not seen.any():
        return np.arange(len(one)) if seen.all() else np.zeros(len(one), np.int64)
    group = np.full(len(one), int(seen.sum()), np.int64)
    group[seen] = np.arange(int(seen.sum()))
    return group
