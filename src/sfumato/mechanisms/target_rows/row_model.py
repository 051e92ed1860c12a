"""A model of rows made of noisy counts: cells of some cuts, and each attribute's values by class; rows drawn from it.

Source    Naive Bayes from noisy one-way tables; weighted factors as in stacking (Wolpert, Neural Networks 5, 1992).
          Ours: both in one model that rows can be drawn from.
Claim     Nothing here reads data but `correct_rows`; all else is a function of noisy counts and public numbers.
Because   the functions take noisy arrays. `correct_rows` counts rows of which the model tells the class: whether it
          does is a function of that row and of noisy counts, so one row more changes the number by 0 or 1, upwards.
Checked   tests/claims/test_target_rows.py::test_one_row_moves_every_score_by_at_most_one
          tests/unit/mechanisms/test_row_model.py
Silent on how good the model is. Ratios are floats, made by + - * / and square roots alone and summed in a fixed order,
          so that every platform finds the same; they shape what already carries noise and decide no draw.
Cost      O(rows x attributes).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from sfumato.mechanisms.diffgen.growth import Cut, Node, by_splits
from sfumato.randomness import Entropy
from sfumato.schema import Attribute, Labels

BINS = 32  # values of a grid, or nodes of a hierarchy, that a one-way table tells apart
LEAST_RATIO = 0.03  # of a class's share at a value to its share overall: no value is taken to exclude a class
FINE = 1 << 30  # integer weights of a draw add up to about this

Power = Literal[0, 1, 2, 4]  # quarters: how far a factor is trusted


def public_bins(attribute: Attribute, cut: Cut, most: int = BINS) -> np.ndarray:
    """Return the borders of the values a one-way table tells apart: a public rule, and the borders of the cut.

    A grid: at most `most` equal parts; a long one 16 equal parts and powers of two from its low end. A hierarchy: the
    deepest level with at most 32 nodes. Other values one by one.
    """
    top = attribute.size if attribute.missing_code is None else attribute.missing_code
    if by_splits(attribute):
        parts = min(top, most)
        if top > 4 * BINS:
            parts = BINS // 2
        borders = {top * at // parts for at in range(parts + 1)} if parts else {0}
        if top > 4 * BINS:
            borders |= {1 << bit for bit in range((top // parts).bit_length())}
    elif attribute.declared_tree:
        nodes = [Node(0, high=attribute.size, tree=0)]
        while True:
            below = [child for node in nodes for child in (node.children(attribute) or (node,))]
            if len(below) == len(nodes) or len(below) > BINS:
                break
            nodes = below
        borders = {node.low for node in nodes}
    else:
        borders = set(range(top))
    return np.array(sorted({*borders, 0, top, attribute.size, *(node.low for node in cut)}), np.int64)


@dataclass(frozen=True)
class ColumnLaw:
    """One attribute of the model: which value a code is, which label of the cut a value lies in, and its law.

    `share` is how often a value occurs; `ratio` (values x classes) a class's share at the value over its share overall.
    """

    value: np.ndarray  # of each code
    _: KW_ONLY
    label: np.ndarray  # of each value
    share: np.ndarray
    ratio: np.ndarray

    def tempered(self, power: Power) -> np.ndarray:
        """Return ratio^(power / 4), by square roots."""
        if power == 0:
            return np.ones_like(self.ratio)
        found = self.ratio
        for _ in range({4: 0, 2: 1, 1: 2}[power]):
            found = np.sqrt(found)
        return found

    def factor(self, power: Power, *, in_cells: bool) -> np.ndarray:
        """Return what a value multiplies the odds of each class with; in cells, within its label only."""
        raised = self.tempered(power)
        inside = self.label if in_cells else np.zeros_like(self.label)
        many = int(inside.max(initial=0)) + 1
        part, whole = np.zeros((many, raised.shape[1])), np.zeros(many)
        np.add.at(part, inside, self.share[:, None] * raised)
        np.add.at(whole, inside, self.share)
        mean = np.where(whole[:, None] > 0, part / np.maximum(whole, 1e-300)[:, None], 1.0)
        found: np.ndarray = raised / np.where(mean > 0, mean, 1.0)[inside]
        return found

    def weights(self, power: Power) -> np.ndarray:
        """Return whole weights (values x classes) to draw a value by."""
        return whole_weights(self.share[:, None] * self.tempered(power))

    def labels(self, attribute: Attribute) -> tuple[Labels, np.ndarray]:
        """Return the values as labels of the attribute, and the label id of each value."""
        edges = np.flatnonzero(np.diff(self.value)) + 1
        lows, highs = np.append(0, edges), np.append(edges, len(self.value))
        runs: list[list[tuple[int, int]]] = [[] for _ in self.share]
        for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
            runs[int(self.value[low])].append((low, high))
        return Labels.from_sets(attribute, [tuple(part) for part in runs])


def fitted_column(
    attribute: Attribute, borders: np.ndarray, cut: Cut, noisy: np.ndarray, *, rate: Fraction, classes: np.ndarray
) -> ColumnLaw:
    """Return the law of an attribute from its noisy table (values x classes); `classes` is how many rows each has.

    Neighbours on a grid with few rows beside the noise are joined. Shares are made positive and add up to the rows. A
    ratio's distance from 1 is shrunk by the part that noise explains; how large the noise is, is public.
    """
    noise = 1 / float(rate)
    width = noisy.shape[1]
    lows = np.array([node.low for node in cut], np.int64)
    label = np.searchsorted(lows, borders[:-1], side="right") - 1
    apart = label * 2 + (borders[:-1] == attribute.missing_code)  # a label holds the missing value or others, not both
    lead = np.arange(len(label))
    if attribute.ordered:
        lead = _joined(noisy.sum(axis=1), apart, math.sqrt(2 * width) * noise)
    heads, value = np.unique(lead, return_inverse=True)
    value, label = value.ravel(), label[heads]
    joined = np.bincount(value)
    table = np.zeros((len(heads), width), np.int64)
    np.add.at(table, value, noisy)
    prior = classes / sum_in_order(classes)
    rows = table.sum(axis=1).astype(float)
    share = positive(rows, sum_in_order(classes))
    away = table - rows[:, None] * prior
    spread = sum_in_order(prior * prior)
    found = (away * away).cumsum(axis=1)[:, -1]
    of_noise = 2 * noise * noise * joined * (width - 2 + width * spread)
    of_rows = share * (1 - spread)
    signal = max(0.0, sum_in_order(found - of_noise - of_rows)) / max(sum_in_order(share * share), 1e-300)
    kept = share * share * signal
    kept = kept / np.maximum(kept + of_noise + of_rows, 1e-300)
    expected = np.maximum(share[:, None] * prior, 1e-300)
    ratio = np.where(share[:, None] > 0, 1 + away / expected * kept[:, None], 1.0)
    ratio = np.clip(ratio, LEAST_RATIO, 1 / prior)
    codes = np.searchsorted(borders, np.arange(attribute.size), side="right") - 1
    return ColumnLaw(value[codes], label=label, share=share, ratio=ratio)


def _joined(rows: np.ndarray, label: np.ndarray, least: float) -> np.ndarray:
    """Return the first of the values each value is joined with; values of different labels stay apart."""
    lead = np.arange(len(rows))
    for one in np.unique(label):
        inside = np.flatnonzero(label == one)
        head, before, held = int(inside[0]), -1, 0
        for at in inside.tolist():
            lead[at] = head
            held += int(rows[at])
            if held >= least:
                before, head, held = head, at + 1, 0
        if before >= 0 and head <= inside[-1]:
            lead[head : inside[-1] + 1] = before
    return lead


def whole_weights(raw: np.ndarray) -> np.ndarray:
    """Return whole numbers in proportion to weights; no value is impossible."""
    most = float(raw.max(initial=0.0))
    scaled = np.floor(raw * (FINE / most)) if most > 0 else np.zeros_like(raw)
    found: np.ndarray = np.maximum(scaled.astype(np.int64), 1)
    return found


def sum_in_order(values: np.ndarray) -> float:
    """Sum from left to right: np.sum may add in another order on another processor."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def positive(rows: np.ndarray, total: float) -> np.ndarray:
    """Return numbers of at least 0 that add up to the total: the same is taken off each."""
    rows = np.maximum(rows, 0.0)
    have = sum_in_order(rows)
    if have <= total or total <= 0:
        return rows * (total / have) if have > 0 else np.full(len(rows), max(total, 0.0) / max(len(rows), 1))
    down = np.sort(rows)[::-1]
    off = (np.cumsum(down) - total) / np.arange(1, len(down) + 1)
    last = int(np.flatnonzero(down - off > 0)[-1])
    found: np.ndarray = np.maximum(rows - off[last], 0.0)
    return found


@dataclass(frozen=True)
class CellLaw:
    """Noisy counts of cells: which cells (labels in mixed radix) are reported, and their classes' counts."""

    where: np.ndarray
    _: KW_ONLY
    counts: np.ndarray  # cells x classes
    smoothing: float

    def odds(self, cells: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Return the weight of each class in each of some cells; one that is not reported has the overall shares."""
        table = np.vstack([self.counts + self.smoothing * prior, prior[None]])
        at = np.searchsorted(self.where, cells)
        at = np.where((at < len(self.where)) & (np.append(self.where, -1)[at] == cells), at, len(self.where))
        found: np.ndarray = table[at]
        return found


@dataclass(frozen=True)
class RowModel:
    """Rows: a class and, with `cells`, a cell by their noisy counts; then each value given the class and its label."""

    columns: tuple[ColumnLaw, ...]
    _: KW_ONLY
    cells: CellLaw | None
    classes: np.ndarray
    power: Power


def correct_rows(model: RowModel, codes: np.ndarray, cells: np.ndarray, label: np.ndarray, weight: np.ndarray) -> int:
    """Count the rows whose class is the one the model tells; ties go to the first class."""
    prior = model.classes / sum_in_order(model.classes)
    odds = np.tile(prior, (len(weight), 1)) if model.cells is None else model.cells.odds(cells, prior)
    if model.power:
        for at, column in enumerate(model.columns):
            odds = odds * column.factor(model.power, in_cells=model.cells is not None)[column.value[codes[:, at]]]
    guess = odds.argmax(axis=1)
    return int(weight[guess == label].sum())


def drawn_rows(model: RowModel, radix: Sequence[int], entropy: Entropy) -> tuple[list[np.ndarray], np.ndarray]:
    """Draw rows: a column of values for each attribute, and the classes. As many rows as the noisy counts have.

    In each group of rows of one class and label, values come in the proportions of their weights (systematic sampling
    from a uniform start) and are handed out in a uniform order. Whole numbers throughout.
    """
    if model.cells is None:
        label = np.repeat(np.arange(len(model.classes)), model.classes)
        cell = np.zeros(len(label), np.int64)
    else:
        at, of = np.nonzero(model.cells.counts)
        many = model.cells.counts[at, of]
        cell, label = np.repeat(model.cells.where[at], many), np.repeat(of, many)
    found = []
    width = len(model.classes)
    for number in reversed(range(len(radix))):
        inside = np.zeros(len(cell), np.int64)
        if model.cells is not None:
            cell, inside = cell // radix[number], cell % radix[number]
        if model.power == 0:
            found.append(inside)
            continue
        column = model.columns[number]
        of_value = column.label if model.cells is not None else np.zeros_like(column.label)
        stream = entropy.child(f"column {number}")
        found.append(with_values(column.weights(model.power), of_value, inside * width + label, width, stream))
    return found[::-1], label


def with_values(weights: np.ndarray, label: np.ndarray, key: np.ndarray, width: int, entropy: Entropy) -> np.ndarray:
    """Draw a value for each row; `key` is width x its label + which column of the weights it is drawn by."""
    order = entropy.permutation(len(key))
    order = order[np.argsort(key[order], kind="stable")]
    found = np.empty(len(key), np.int64)
    start = 0
    for one, many in zip(*(part.tolist() for part in np.unique(key, return_counts=True)), strict=True):
        values = np.flatnonzero(label == one // width)
        sums = np.cumsum(weights[values, one % width])
        total = int(sums[-1])
        # Points (start + t total) / many for t = 0 .. many - 1, all below the total. Objects where int64 would not do.
        steps = np.arange(many, dtype=np.int64 if total * many < 1 << 62 else object)
        points = (entropy.below(total) + steps * total) // many
        places = np.searchsorted(sums, points.astype(np.int64), side="right")
        found[order[start : start + many]] = values[places]
        start += many
    return found
