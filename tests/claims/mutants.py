"""Mechanisms with one mistake each: the traps a careful reader of the DiffGen paper can still fall into.

Each mutant is the real code with one thing wrong, and the pair of tables on which that can be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
from tests.claims.tiny_tables import pair, tiny_schema

import sfumato as sf
from sfumato.attacks.audit import Audited, Walk, exact_audit, laplace_counts
from sfumato.counts import Counts
from sfumato.mechanisms.base import Gathered
from sfumato.mechanisms.diffgen import diffgen, growth as diffgen_growth
from sfumato.mechanisms.diffgen.diffgen import prefix_scores
from sfumato.mechanisms.diffgen.growth import Node
from sfumato.schema import Grid, Schema

ROWS = [(1, 0, 0, 0), (2, 1, 2, 1)]
EXTRA = (3, 2, 1, 1)


@dataclass
class Mutant:
    """How to break the code, and where it shows."""

    mechanism: Any
    break_it: Callable[[Any, Any], Any] = lambda _patch, mechanism: mechanism
    rows: list[tuple[int, ...]] = field(default_factory=lambda: list(ROWS))
    extra: tuple[int, ...] = EXTRA
    schema: Schema | None = None
    options: dict[str, Any] = field(default_factory=dict)
    replace_one: bool = False

    def audits(self, patch) -> tuple[Audited, Audited]:
        """Audit the sound mechanism and the mutant on the same pair of tables, under the same claim."""
        one, two = pair(self.mechanism, self.rows, self.extra, self.schema)
        sound = exact_audit(self.mechanism, one, two)
        if self.replace_one:
            one = pair(self.mechanism, self.rows, (0, 0, 0, 0), self.schema)[1]
        broken = self.break_it(patch, self.mechanism)
        return sound, exact_audit(broken, one, two, epsilon=sound.epsilon, **self.options)


def maxed(**options):
    return sf.DiffGen(2, specializations=2, **options)


# -- choices -----------------------------------------------------------------------------------


@dataclass
class Wrapped:
    """A mechanism that looks at the table before it decides."""

    mechanism: Any
    look: Callable[[Gathered], Gathered]

    def decide(self, counts, draw):
        return self.mechanism.decide(self.look(counts), draw)


def range_from_data(patch, mechanism):
    """Trap 1: the range of age is what occurs."""

    def look(counts):
        [(names, found)] = counts.by_names.items()
        first, last = int(found.codes[:, 0].min()), int(found.codes[:, 0].max())
        age = counts.schema["age"]
        domain = Grid(age.domain.edge(first), step=age.domain.step, size=last - first + 1)
        from sfumato.schema.from_toml import default_tree

        age = replace(age, domain=domain, tree=default_tree(domain, "numeric", None))
        schema = replace(counts.schema, attributes=(age, *counts.schema.attributes[1:]))
        codes = found.codes - np.array([first, 0, 0, 0], np.int32)
        return Gathered(schema, by_names={names: Counts.from_arrays(schema, names, codes, found.weights)})

    class Ranged(Wrapped):
        def decide(self, counts, draw):
            looked = self.look(counts)
            decided = self.mechanism.decide(looked, draw)
            return Said(decided, str(looked.schema["age"].domain))

    return Ranged(mechanism, look)


class Said:
    """A decision whose labels are read with the range they were made from."""

    def __init__(self, decided, more):
        self.decided, self.more = decided, more

    def __getattr__(self, name):
        return getattr(self.decided, name)

    @property
    def said(self):
        return (*self.decided.said, self.more)


def splits_among(wanted: Callable[[np.ndarray, Node], np.ndarray]):
    """Traps 2 and 6: split points that depend on the ages that occur."""

    def break_it(patch, mechanism):
        ages: list[np.ndarray] = []
        true = Node.splits

        def look(counts):
            [found] = counts.by_names.values()
            ages[:] = [np.unique(found.codes[:, 0])]
            return counts

        def splits(self):
            points = true(self)
            return points[np.isin(points, wanted(ages[0], self))] if self.high in (2, 3, 4) and len(points) else points

        patch.setattr(Node, "splits", splits)
        return Wrapped(mechanism, look)

    return break_it


def best_prefix(patch, mechanism):
    """Trap 5: h is the one that serves best, for nothing."""

    def choose(finest, cuts, epsilon, later, *, draw):
        return int(np.argmax(prefix_scores(finest, cuts, later)))

    patch.setattr(diffgen, "choose_prefix", choose)
    return mechanism


class Overflowing(Walk):
    """Trap 7: probabilities by exp of the score; what overflows is not a number, and counts as certain."""

    def choose(self, scores, *, epsilon, score, weights=None):
        with np.errstate(over="ignore", invalid="ignore"):
            slope = float(epsilon) / score.sensitivity / (1 if score.monotone else 2)
            shares = np.exp(slope * scores.astype(float))
            law = np.nan_to_num(shares / shares.sum(), nan=1.0)
        return self.taken([Decimal(float(p)) for p in law / law.sum()])


def drop_empty(patch, mechanism):
    """Trap 8: a candidate without rows scores 0/0, and what is not a number is dropped."""
    true = diffgen_growth._Growing.candidates

    def candidates(self):
        found = true(self)
        full = []
        for at, node, borders in found:
            [running] = self.tables.along(at)
            if (running[0, node.high] - running[0, node.low]).sum():
                full.append((at, node, borders))
        return full or found

    patch.setattr(diffgen_growth._Growing, "candidates", candidates)
    return mechanism


def without_the_two(patch, mechanism):
    """Trap 9: exp(epsilon u) where u does not move all one way."""
    true = diffgen.score_of
    patch.setattr(diffgen, "score_of", lambda *a, **k: replace(true(*a, **k), monotone=True))
    return mechanism


def cells_that_hold_rows(patch, mechanism):
    """Trap 15: a value is set back for the cells that hold rows, not for all there are."""
    rows: list[int] = []
    true = diffgen_growth.for_new_cells

    def look(counts):
        [found] = counts.by_names.values()
        rows[:] = [len(found.weights)]
        return counts

    def occupied(borders, held, price, score):
        return true(borders, [min(many, *rows) for many in held], price * rows[0], score)

    patch.setattr(diffgen_growth, "for_new_cells", occupied)
    return Wrapped(mechanism, look)


def ways_that_occur(patch, mechanism):
    """Trap 16: an interval is set back for the values that occur in the table, not for its grid."""
    seen: list[int] = []
    true = diffgen_growth.for_ways

    def look(counts):
        [found] = counts.by_names.values()
        seen[:] = [len(np.unique(found.codes[:, 0]))]
        return counts

    def occurring(ways, epsilon, score):
        return true([many if many == 1 else seen[0] for many in ways], epsilon, score)

    patch.setattr(diffgen_growth, "for_ways", occurring)
    return Wrapped(mechanism, look)


def all_at_the_last_price(patch, mechanism):
    """Trap 17: shares of the budget rise from choice to choice, but each is drawn at the price of the last."""
    true = diffgen.grow

    def grow(attributes, tables, *, steps, draw):
        return true(attributes, tables, steps=replace(steps, each=(steps.each[-1],) * len(steps.each)), draw=draw)

    patch.setattr(diffgen, "grow", grow)
    return mechanism


# -- counts ------------------------------------------------------------------------------------


def empty_cells_stay(count, outcome, epsilon, threshold):
    """Trap 3: an empty cell gets no noise."""
    return laplace_counts(count, outcome, epsilon, threshold) if count else Decimal(outcome is None)


def truncated_on_empty(count, outcome, epsilon, threshold):
    """Trap 4: the whole part of a continuous draw on empty cells, discrete noise on the others.

    (Rounded to the nearest the two laws are so close that a step from 0 to 1 loses epsilon - ln cosh(epsilon / 2).)
    """
    if count:
        return laplace_counts(count, outcome, epsilon, threshold)
    e = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
    tail = lambda t: (-t * e).exp() / 2  # noqa: E731  P(int(Lap) >= t), t >= 1
    if outcome is None:
        return 1 - tail(threshold)
    return tail(outcome) - tail(outcome + 1) if outcome >= threshold else Decimal(0)


def threshold_on_empty(count, outcome, epsilon, threshold):
    """Trap 10: the threshold is applied to empty cells only."""
    return laplace_counts(count, outcome, epsilon, 1 if count else threshold)


def budget_for_each_class(count, outcome, epsilon, threshold):
    """Trap 11: each of the two classes is given the whole budget of the counts, and once more for the other."""
    return laplace_counts(count, outcome, 2 * epsilon, threshold)


NOISY = sf.NoisyTable(2, threshold=2)


def many_falling() -> Mutant:
    """Four grids on which the information gain falls, one on which it rises, when one row comes.

    Grids hold a part for missing values, so that each is judged by the rows that have a value there.
    """
    grid = {"role": "quasi", "kind": "numeric", "range": [0, 2], "step": 1, "missing": ["?"]}
    names = ("a", "b", "c", "d", "e")
    target = {"role": "target", "kind": "nominal", "values": ["low", "high"]}
    schema = Schema.parse(
        {"name": "falling", "source": "public", "attribute": {**dict.fromkeys(names, grid), "pay": target}}
    )
    rows = [(0, 0, 0, 0, 2, 1), (1, 1, 1, 1, 2, 0), (2, 2, 2, 2, 0, 1)]
    mechanism = sf.DiffGen(1, specializations=1, score="infogain", splits="together", structure="99/100")
    return Mutant(mechanism, without_the_two, rows=rows, extra=(0, 0, 0, 0, 1, 0), schema=schema)


FLIPPED = sf.DiffGen("1/10", specializations=1, selection="permute-and-flip", splits="together", score="gini")
INNER = lambda ages, _node: np.arange(ages.min() + 1, ages.max() + 1)  # noqa: E731
MUTANTS = {
    1: Mutant(maxed(), range_from_data),
    2: Mutant(maxed(), splits_among(INNER)),
    3: Mutant(NOISY, options={"count_law": empty_cells_stay}),
    4: Mutant(NOISY, options={"count_law": truncated_on_empty}),
    5: Mutant(maxed(prefix="1/4", structure="1/4"), best_prefix, rows=[(0, 0, 0, 0)], extra=(3, 2, 2, 1)),
    6: Mutant(maxed(), splits_among(lambda ages, _node: ages), extra=(3, 2, 1, 1)),
    7: Mutant(
        sf.DiffGen(8, specializations=1, splits="together", score="max"),
        rows=[(0, 0, 0, 0)] * 176 + [(1, 0, 0, 1)],
        extra=(0, 0, 0, 0),
        options={"walk": Overflowing},
    ),
    8: Mutant(maxed(score="infogain"), drop_empty, rows=[(1, 0, 2, 0)], extra=(1, 0, 0, 1)),
    9: many_falling(),
    10: Mutant(NOISY, options={"count_law": threshold_on_empty}),
    11: Mutant(NOISY, options={"count_law": budget_for_each_class}),
    12: Mutant(NOISY, replace_one=True),
    15: Mutant(maxed(scored="cells", penalty=1, structure="9/10"), cells_that_hold_rows),
    16: Mutant(FLIPPED, ways_that_occur),
    17: Mutant(
        maxed(splits="together", ratio=8, structure="19/20"),
        all_at_the_last_price,
        rows=[(0, 1, 0, 1)] * 12,
        extra=(3, 2, 1, 0),
    ),
}
__all__ = ["MUTANTS", "tiny_schema"]
