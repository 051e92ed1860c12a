"""DiffGen: specialize a generalized table under differential privacy, then publish its noisy counts.

Source    Mohammed, Chen, Fung & Yu, "Differentially private data release for data mining", KDD 2011, algorithm 1.
          `paper=True` is that algorithm with its scores and its budget; other choices: docs/theory/diffgen.md.
Claim     epsilon-DP when one person is added or removed.
Because   the budget is divided exactly: a stated part for each choice (growth.py), the rest for the counts, which
          get noise in every cell of the cross product (mechanisms/noisy_cells.py). How much a run leaves unspent
          follows from its own choices, so the counts may have it (docs/theory/diffgen.md, filter).
Checked   tests/claims/test_diffgen.py::test_the_whole_mechanism_keeps_its_epsilon
          tests/claims/test_diffgen.py::test_the_trace_sums_to_epsilon
          tests/claims/test_diffgen_paper.py::test_example_three
          tests/claims/test_audit.py::test_every_trap_has_a_mutant_that_is_caught
Silent on replacing a person (twice the epsilon); on an h, a score or a schema that was chosen by looking at the data;
          on how well a learner will do.
Cost      One group-by; one-way scores cost domain sizes, scores in cells one pass for each step and attribute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.claims import Claim, Neighbours, PureDP
from sfumato.declare import Rational, declare, hold, like, parameter, to_json
from sfumato.engines.grouping import packed
from sfumato.errors import ParameterError
from sfumato.exact import Number, fraction, number_to_json, whole
from sfumato.ledger.cost import Budget
from sfumato.mechanisms.base import Gathered, Plan, Stage
from sfumato.mechanisms.diffgen.growth import (
    CellTables,
    Cut,
    Draw,
    Drawn,
    Growth,
    OneWay,
    Steps,
    affordable,
    by_splits,
    cut_labels,
    grow,
    most_combinations,
    recoding_of_cuts,
    root_cut,
    shares,
)
from sfumato.mechanisms.diffgen.scores import ScoreName, score_of
from sfumato.mechanisms.noisy_cells import (
    MANY_ROWS,
    Decided,
    DomainCells,
    carried_words,
    cells_schema,
    decoded,
    exact_counts,
    expected_error,
    large,
    least_drawable,
    most_noise,
    mostly_noise,
    needs_cells,
    noise_alone,
    public_inputs,
    radices,
    read_threshold,
    refuse_hits,
    refuse_size,
    release_cells,
    silences,
    too_much_noise_after,
)
from sfumato.randomness import Entropy
from sfumato.randomness.parameters import SMALLEST, read_epsilon
from sfumato.randomness.sparse import Threshold, threshold_for
from sfumato.release import Release
from sfumato.schema import Labels, Schema

# Pay for the choice of h: how many of the specializations are kept.
#
# Source    The DiffGen paper, section 5, leaves "a good value of h" open and lets the owner try several, which no
#           budget covers. Selecting among nested prefixes by one exponential mechanism: docs/theory/diffgen.md.
# Claim     The choice is epsilon-DP on top of what the specializations cost.
# Because   a prefix is a function of choices already made; its score, the rows in the largest class of their cell
#           less a public penalty, moves by 0 or 1 with one row, for all prefixes the same way.
# Checked   tests/claims/test_diffgen.py::test_the_whole_mechanism_keeps_its_epsilon
#           tests/claims/test_audit.py::test_every_trap_has_a_mutant_that_is_caught
# Silent on whether the penalty is the best one.


def choose_prefix(
    finest: DomainCells, cuts: Sequence[tuple[Cut, ...]], epsilon: Fraction, later: Fraction, *, draw: Draw
) -> int:
    """Return the number of the chosen prefix; `later` is what the counts of a row will get."""
    return draw.choose(
        np.array(prefix_scores(finest, cuts, later), dtype=object), epsilon=epsilon, score=score_of("max", classes=2)
    )


def prefix_scores(finest: DomainCells, cuts: Sequence[tuple[Cut, ...]], later: Fraction) -> list[int]:
    """Rows in the largest class of their cell, less half the size of the noise for each cell there is."""
    width = len(finest.tables)
    columns = decoded(finest.where, radices(finest.schema, finest.tables))
    found = []
    for cut in cuts:
        coarse = []
        for at, nodes in enumerate(cut):
            lows = np.array([node.low for node in nodes])
            coarse.append(np.searchsorted(lows, finest.tables[at].low[columns[at]], side="right"))
        keys = np.column_stack([*coarse, *columns[width:]])
        correct = _largest_class(keys, width, finest.counts)
        found.append(correct - math.floor(math.prod(len(nodes) for nodes in cut) / (2 * later)))
    return found


def _largest_class(keys: np.ndarray, width: int, counts: np.ndarray) -> int:
    """Sum over cells of the largest count among their classes."""
    if not len(counts):
        return 0
    _, cell = np.unique(keys[:, :width], axis=0, return_inverse=True)
    rows, which = np.unique(np.column_stack([cell.ravel(), keys[:, width:]]), axis=0, return_inverse=True)
    sums = np.bincount(which.ravel(), weights=counts).astype(np.int64)
    best = np.zeros(int(rows[:, 0].max()) + 1, np.int64)
    np.maximum.at(best, rows[:, 0], sums)
    return int(best.sum())


LEAVES = "leaves"
HALF = Fraction(1, 2)


class Specializations:
    """A field that holds how many, or "leaves"."""

    def __get__(self, instance: object, owner: Any) -> int | Literal["leaves"]: ...  # type: ignore[empty-body]
    def __set__(self, instance: object, value: Number) -> None: ...


def _read_specializations(value: Any) -> Any:
    return LEAVES if value == LEAVES else whole("specializations", value, least=1, hint='10, or "leaves"')


def step_epsilon(epsilon: Number, numeric: int, specializations: int) -> Fraction:
    """Return line 3 of algorithm 1: the budget of one choice, epsilon / (2 (|A_n| + 2h)).

    >>> step_epsilon("0.5", 6, 15)
    Fraction(1, 144)
    """
    return fraction("epsilon", epsilon, above=0) / (2 * (numeric + 2 * specializations))


@declare
class DiffGen:
    """Specialize under differential privacy, then publish noisy counts.

    specializations  how many; "leaves" publishes every value and pays for no choice.
    score      "max" (the largest class of each child), "gain" (max less the parent's), "infogain", "gini".
    paper      the printed algorithm: its sensitivities, half the budget for the cuts, what is left unspent is lost,
               every positive count is reported.
    first      another score for the first selection: where one class is large everywhere, max sees no difference.
    scored     by the "one-way" tables, as the paper does, or inside the "cells" of the cuts made so far (max, gini).
    splits     draw the split of an interval "ahead" and pay for it, or choose value and split "together".
    selection  "exponential" or "permute-and-flip" (never worse for the same epsilon; with splits together the two
               weigh values with many splits differently, and that is no longer a theorem).
    structure  share of the budget for the cuts.
    ratio      what each selection gets, to the one before: gains fall from step to step, so later ones need more.
    penalty    rows a new cell must bring, times the epsilon of the counts: noise costs more in more cells.
    prefix     share of the budget for choosing how many of the specializations are kept; 0 keeps all.
    threshold  smallest count reported; "auto" takes it from the number of cells.

    >>> schema = sf.datasets.adult("test").schema
    >>> str(sf.DiffGen(1, specializations=10).claim(schema))
    'pure-dp(1) [proved]'
    """

    name: ClassVar[str] = "diffgen"
    plain: ClassVar[str] = "Noisy counts of coarser values, to predict one column"
    variants: ClassVar[Mapping[str, str]] = {"recommended": "Our one configuration; takes no other choice."}
    bounds_people: ClassVar[bool] = True
    recoding: ClassVar[str] = "public"

    epsilon: Rational = like(PureDP, "epsilon")
    _: KW_ONLY
    specializations: Specializations = parameter(
        'How many, or "leaves" (default: 10).', default=10, read=_read_specializations
    )
    score: ScoreName = parameter("Score (default: max).", default="max")
    paper: bool = parameter("The printed algorithm: its scores and its budget.", default=False)
    first: ScoreName | None = parameter("Score of the first selection.", default=None)
    scored: Literal["one-way", "cells"] = parameter("What a score looks at (default: one-way).", default="one-way")
    splits: Literal["ahead", "together"] = parameter("When splits are chosen (default: ahead).", default="ahead")
    selection: Literal["exponential", "permute-and-flip"] = parameter("How values are selected.", default="exponential")
    structure: Rational = parameter(
        "Share of the budget for the cuts (default: 1/2).", default=HALF, above=0, below=1, hint="1/2 is the paper's"
    )
    ratio: Rational = parameter(
        "Budget of a selection over that of the one before (default: 1).",
        default=1,
        above=0,
        hint="3/2, or 1 for equal shares",
    )
    penalty: Rational = parameter(
        "Rows that a new cell must bring, times the epsilon of the counts (default: 0).",
        default=0,
        least=0,
        hint="1/10, or 0",
    )
    prefix: Rational = parameter(
        "Share of the budget for choosing how many specializations stay (default: 0).",
        default=0,
        least=0,
        below=1,
        hint="1/20, or 0",
    )
    threshold: Threshold | None = parameter(
        'Smallest count that is reported, or "auto": taken from the number of cells (default).',
        default=None,
        read=read_threshold,
    )

    to_json = to_json
    needs = needs_cells

    def __post_init__(self) -> None:
        if self.threshold is None:
            hold(self, threshold=1 if self.paper else "auto")
        self._check_together()

    def _check_together(self) -> None:
        for name in ("score", "first"):
            if self.scored == "cells" and getattr(self, name) not in ("max", "gini", None):
                raise ParameterError(name, getattr(self, name), "cannot be summed over cells", hint='"max" or "gini"')
        if self.ratio != 1 and self.splits != "together":
            raise ParameterError("ratio", self.ratio, "needs splits chosen together", hint='splits="together"')
        if self.penalty and self.scored != "cells":
            raise ParameterError("penalty", self.penalty, "needs scores in cells", hint='scored="cells"')
        if self.structure + self.prefix >= 1:
            raise ParameterError("prefix", self.prefix, "leaves nothing for the counts", hint="take less for the cuts")
        if self.paper:
            printed = DiffGen(self.epsilon, specializations=self.specializations, score=self.score)
            own = ("first", "scored", "splits", "selection", "structure", "ratio", "penalty", "prefix")
            for name in own:
                if getattr(self, name) != getattr(printed, name):
                    raise ParameterError(name, getattr(self, name), "is not in the paper", hint="leave paper=True out")
            if self.score not in ("max", "infogain"):
                raise ParameterError("score", self.score, "is not in the paper", hint='"max" or "infogain"')

    @classmethod
    def recommended(cls, epsilon: Number) -> DiffGen:
        """Return the recommended configuration: a public rule of epsilon alone; docs/decisions/003 says why."""
        return cls(
            epsilon,
            specializations=affordable(fraction("epsilon", epsilon, above=0, hint="try 1/2")),
            first="gini",
            score="max",
            scored="cells",
            splits="together",
            selection="permute-and-flip",
            structure=Fraction(7, 10),
            ratio=Fraction(3, 2),
            penalty=Fraction(1, 10),
        )

    @property
    def budget(self) -> Fraction:
        """Epsilon, exactly."""
        return self.epsilon

    # -- before any data ---------------------------------------------------------------------

    def claim(self, schema: Schema) -> Claim:
        """Promise pure differential privacy; the trace is what would be spent if every choice is made."""
        kept = cells_schema(schema)
        self._refuse(kept)
        return self._claimed(schema, self._planned(kept))

    def plan(self, schema: Schema) -> Plan:
        """Tell what each stage gets, if every choice is made."""
        kept = cells_schema(schema)
        self._refuse(kept)
        does = {
            "initial splits": "draws a split of each grid",
            "selections": f"selects {self.specializations} values by {self.score}",
            "later splits": "draws splits of new intervals",
            "prefix": "chooses how many specializations to keep",
            "counts": "adds noise to every cell",
            "unspent": "is lost, as in the paper",
        }
        trace = self._planned(kept)
        row = {stage: amount / kept.rows_per_person for stage, amount in trace}
        stages = tuple(
            Stage(
                stage,
                does=does[stage],
                budget=amount,
                expected_error=expected_error(row[stage]) if stage == "counts" else "",
            )
            for stage, amount in trace
        )
        notes = [] if self.paper else ["What a run does not spend on cuts goes to the counts."]
        few, many = self.cells(kept)
        rate = row["counts"]
        least = threshold_for(few, rate, self.threshold or 1)
        notes += self._forecast(few, many, rate, least)
        if exact := exact_counts(trace, kept.rows_per_person, least):
            notes.append(f"Warning: {exact}. Ask for a smaller epsilon.")
        if least > MANY_ROWS and carried_words(kept):
            notes.append(f"Warning: no group below {least} rows is seen{carried_words(kept)}.")
        when = "" if few == many else " before any specialization"
        refusal = mostly_noise(kept, self.epsilon, few, rate, least, when=when)
        if refusal is None and few != many:
            refusal, warned = too_much_noise_after(kept, self.epsilon, many, rate, self.threshold or 1)
            notes += warned
        return Plan(stages, notes=tuple(notes), refusal=refusal)

    def _forecast(self, few: int, many: int, rate: Fraction, least: int) -> list[str]:
        """Say which counts are reported and how much of that is noise, at first and at most after the cuts."""
        if few == many:
            cells = f"Cells: {large(few)}. Counts from {least:,} on are reported."
            return [cells, f"Of these, {noise_alone(few, rate, least)}."]
        asked = self.threshold or 1
        highest = max(threshold_for(many, rate, asked), least_drawable(many, rate))
        found, rows = most_noise(many, rate, asked)
        cells = f"Cells: {large(few)} without a specialization, at most {large(many)} after."
        counts = f"Counts from {least:,} on are reported with {large(few)}, from at most {highest:,} on with more."
        noise = f"Without a specialization, {noise_alone(few, rate, least)}."
        after = f"After specializations that may be up to {found:,.3g} cells with {rows:,.3g} rows."
        return [f"{cells} {counts}", f"{noise} {after}"]

    def cells(self, schema: Schema) -> tuple[int, int]:
        """Return how many cells there are before any specialization and, at most, after the last. Both are public."""
        kept = cells_schema(schema)
        carried = math.prod(attribute.size for attribute in kept.carried)
        full = carried * math.prod(attribute.size for attribute in kept.quasi)
        if self.specializations == LEAVES:
            return full, full
        few = carried * math.prod(len(root_cut(attribute)) for attribute in kept.quasi)
        return few, min(full, carried * most_combinations(kept.quasi, int(self.specializations)))

    def step(self, schema: Schema) -> Fraction:
        """Return what one choice costs; with a `ratio`, on average."""
        h = self.specializations
        if h == LEAVES:
            return Fraction(0)
        grids = sum(by_splits(attribute) for attribute in schema.quasi)
        if self.paper:
            return step_epsilon(self.epsilon, grids, int(h))
        choices = int(h) if self.splits == "together" else grids + 2 * int(h) - 1
        return self.budget * self.structure / choices

    def prices(self, schema: Schema) -> tuple[Fraction, ...]:
        """Return what each selection costs, in order."""
        if self.specializations == LEAVES:
            return ()
        h = int(self.specializations)
        return tuple(self.step(schema) * h * share for share in shares(h, self.ratio))

    # -- with data ---------------------------------------------------------------------------

    def decide(self, counts: Gathered, draw: Draw) -> Decided:
        """Make every choice but the counts."""
        kept = cells_schema(counts.schema)
        table = counts[self.needs(counts.schema)[0]]
        person = kept.rows_per_person
        budget = Budget(self.epsilon)
        if self.specializations == LEAVES:
            tables = tuple(Labels.of_codes(attribute) for attribute in kept.quasi)
            recoding = recoding_of_cuts(kept.quasi, None)
            cells = DomainCells.counted(kept, table, tables, recoding)
        else:
            growth = self._grown(kept, table, draw)
            self._pay(budget, kept, growth)
            cells = self._cells(kept, table, growth.cuts[-1])
            if self.prefix:
                amount = budget.draw("prefix", self.budget * self.prefix)
                later = budget.rest() / person
                chosen = choose_prefix(cells, growth.cuts, amount / person, later, draw=draw)
                cells = self._cells(kept, table, growth.cuts[chosen])
        rate = budget.draw("counts", self.budget * HALF if self.paper else budget.rest()) / person
        if budget.rest():
            budget.draw("unspent", budget.rest())
        # The number of cells follows from the cuts: by now a table that is too large cannot be refused any more.
        threshold = max(threshold_for(cells.number, rate, self.threshold or 1), least_drawable(cells.number, rate))
        return Decided(cells, epsilon=rate, threshold=threshold, trace=budget.trace)

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Choose the cuts, count, noise, release."""
        found = self.decide(counts, Drawn(entropy.child("structure")))
        claim = self._claimed(counts.schema, found.trace)
        return release_cells(found, entropy=entropy, claim=claim, mechanism=self.to_json())

    def _refuse(self, schema: Schema) -> None:
        """Refuse, by public numbers, what could fail once choices are drawn: every price and every table size."""
        person = schema.rows_per_person
        least = [price / person for price in self.prices(schema)]
        least += [self.step(schema) / person] if self.splits == "ahead" and least else []
        least += [self.budget * self.prefix / person] if self.prefix else []
        for price in least:
            if price < SMALLEST:
                rule = f"leaves a choice {float(price):.3g}, less than 1e-12"
                hint = "a larger epsilon, fewer specializations, or a ratio nearer to 1"
                raise ParameterError("epsilon", number_to_json(self.budget), rule, hint=hint)
        refuse_size(schema, self.cells(schema)[1], self.budget / person, self.threshold or 1)
        rate = read_epsilon(dict(self._planned(schema))["counts"] / person)
        refuse_hits(self.cells(schema)[0], rate, self.threshold or 1)

    def _grown(self, schema: Schema, table: Any, draw: Draw) -> Growth:
        width, classes = len(schema.quasi), math.prod(attribute.size for attribute in schema.carried)
        label = _class_numbers(table.codes[:, width:], [attribute.size for attribute in schema.carried])
        form = CellTables if self.scored == "cells" else OneWay
        tables = form([a.size for a in schema.quasi], table.codes[:, :width], table.weights, label, classes)
        score, first = (
            score_of(name, classes=classes, in_cells=self.scored == "cells", paper=self.paper)
            for name in (self.score, self.first or self.score)
        )
        person = schema.rows_per_person
        later = self.budget * (1 - self.structure - self.prefix) / person  # at least, for a row
        steps = Steps(
            int(self.specializations),
            epsilon=self.step(schema) / person,
            each=tuple(price / person for price in self.prices(schema)),
            score=score,
            first=first,
            splits=self.splits,
            selection=self.selection,
            cell_price=self.penalty / later,
        )
        return grow(schema.quasi, tables, steps=steps, draw=draw)

    def _pay(self, budget: Budget, schema: Schema, growth: Growth) -> None:
        step = self.step(schema)
        for stage, amount in (
            ("initial splits", growth.initial_splits * step),
            ("selections", sum(self.prices(schema)[: growth.selections], Fraction(0))),
            ("later splits", growth.later_splits * step),
        ):
            if amount:
                budget.draw(stage, amount)

    def _planned(self, schema: Schema) -> tuple[tuple[str, Fraction], ...]:
        budget = Budget(self.epsilon)
        if self.specializations != LEAVES:
            h, grids = int(self.specializations), sum(by_splits(a) for a in schema.quasi)
            ahead = self.splits == "ahead"
            most = Growth((), initial_splits=grids * ahead, selections=h, later_splits=(h - 1) * ahead * (grids > 0))
            self._pay(budget, schema, most)
            if self.prefix:
                budget.draw("prefix", self.budget * self.prefix)
        budget.draw("counts", self.budget * HALF if self.paper else budget.rest())
        if budget.rest():
            budget.draw("unspent", budget.rest())
        return budget.trace

    def _claimed(self, schema: Schema, trace: tuple[tuple[str, Fraction], ...]) -> Claim:
        return Claim(
            PureDP(self.epsilon),
            neighbours=Neighbours.ADD_OR_REMOVE_ONE,
            unit=schema.unit,
            public_inputs=(*public_inputs(cells_schema(schema)), "the parameters of the mechanism"),
            silent_on=silences(schema),
            trace=trace,
        )

    def _cells(self, schema: Schema, table: Any, cuts: tuple[Cut, ...]) -> DomainCells:
        tables = tuple(cut_labels(attribute, cut) for attribute, cut in zip(schema.quasi, cuts, strict=True))
        return DomainCells.counted(schema, table, tables, recoding_of_cuts(schema.quasi, cuts))


def _class_numbers(codes: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Number the combinations of carried codes: in mixed radix, or, of more than fit, those that occur."""
    if math.prod(sizes) < 1 << 62:
        return packed([codes[:, at] for at in range(len(sizes))], sizes)
    _, label = np.unique(codes, axis=0, return_inverse=True)
    return np.asarray(label, np.int64).ravel()
