"""TargetRows: rows to learn one target from, drawn from noisy cells, noisy values by class, or both.

Source    DiffGen (Mohammed, Chen, Fung & Yu, KDD 2011) in the form of decision 003; naive Bayes from noisy one-way
          tables; the public rule, the paid choice between models and the corrections are ours:
          docs/decisions/006-target-rows.md.
Claim     epsilon-DP when one person is added or removed.
Because   what is drawn is paid for, one draw after the other: how many rows there are, where the schema does not say
          (a count moves by 1); each cut (growth); the counts of all cells (a row is in one cell); the one-way class
          tables (a row is in one entry of each of d tables, so each gets a d-th); which model is kept (rows it tells
          right: a number that one row moves by 0 or 1, upwards, for all models alike); where there are corrections,
          which attribute is next (a score that one row moves by at most one row's units) and its table (entries that
          one row moves by one row's units together). Rows are drawn from that.
Checked   tests/claims/test_target_rows.py::test_the_whole_mechanism_keeps_its_epsilon
          tests/claims/test_target_rows.py::test_the_trace_sums_to_epsilon
          tests/claims/test_target_rows.py::test_mutants_are_caught
          tests/claims/test_target_rows.py::test_mutants_of_corrections_are_caught
          tests/claims/test_paid_steps.py::test_a_person_moves_no_step_of_target_rows_by_more_than_is_paid
          tests/claims/test_paid_steps.py::test_what_the_draws_of_target_rows_are_handed_is_epsilon
          tests/claims/test_paid_steps.py::test_nothing_but_draws_of_target_rows_reads_the_table
Silent on replacing a person (twice the epsilon); on questions other than the target: values of an attribute are drawn
          given the class and its label alone, or its label and the odds so far; on how well a learner will do. Drawn
          rows are nobody's.
Cost      One group-by, one pass over the distinct rows for each cut and attribute, one for each model, one for each
          correction and attribute.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np

from sfumato.claims import Claim, Neighbours, PureDP
from sfumato.counts import Cuts
from sfumato.declare import Rational, declare, like, to_json
from sfumato.engines.grouping import group_codes, packed
from sfumato.errors import ParameterError
from sfumato.ledger.cost import Budget
from sfumato.mechanisms.base import Gathered, Plan, Stage
from sfumato.mechanisms.diffgen.growth import (
    CellTables,
    Cut,
    Draw,
    Drawn,
    Growth,
    Node,
    Steps,
    grow,
    most_combinations,
    root_cut,
    shares,
    widest_step,
)
from sfumato.mechanisms.diffgen.scores import score_of
from sfumato.mechanisms.noisy_cells import (
    ASSUMED_ROWS,
    NOISE_SHARE,
    carried_words,
    cells_schema,
    decoded,
    expected_error,
    large,
    least_drawable,
    most_noise,
    needs_cells,
    public_inputs,
    refuse_size,
    silences,
    too_much_noise,
)
from sfumato.mechanisms.target_rows.corrections import (
    RESIDUAL,
    UNITS,
    CorrectedModel,
    Correction,
    corrected,
    corrected_rows,
    doubt,
    fitted_correction,
    handicap,
    left_over,
    measured,
    starting_odds,
)
from sfumato.mechanisms.target_rows.row_model import (
    BINS,
    CellLaw,
    ColumnLaw,
    Power,
    RowModel,
    correct_rows,
    drawn_rows,
    fitted_column,
    public_bins,
)
from sfumato.randomness import Entropy, discrete_laplace, sparse_noise
from sfumato.randomness.parameters import SMALLEST
from sfumato.randomness.sparse import threshold_for
from sfumato.release import Release, assemble
from sfumato.schema import Attribute, Labels, Schema

COUNTING = Fraction(1, 50)  # of the budget, for the number of rows, where the schema does not declare `rows`
FEW = 400  # epsilon times rows below which nothing is cut
HALVING = 250  # epsilon times rows for each doubling that pays for a specialization
MOST_CUTS = 16
NARROW = 8  # children that may always be cut into
ROWS_A_CHILD = 500  # epsilon times rows that pay for one more
FLAT = 16  # values of an attribute without order and hierarchy from which one-way tables are worth their price
LONG = 64  # the same from which learners read too little of a correction, so that none is made
MANY = 8000  # epsilon times rows from which a quarter of a factor is tried, too
ENOUGH = 8000  # epsilon times rows from which the odds of two classes are corrected attribute by attribute
MEASURED = 64_000  # the same up to which corrections were measured; beyond, cells hold more by themselves
WHOLE_TABLE = 4096  # counts of cells up to which corrections start from all of them, also those below the threshold
COARSE = 16  # equal parts of a grid that a correction tells apart
ENTRIES = 1 << 24  # of all one-way tables
MOST_ADDED = 2_000_000  # rows that noise may be expected to add: several times as many may be drawn, and are held
MOST_DRAWN = 100_000_000  # rows in all, as far as the schema declares how many there are
RATIO, PENALTY = Fraction(3, 2), Fraction(1, 10)  # as in decision 003
CELLS_ALONE = {"selections": Fraction(70, 100), "counts": Fraction(30, 100)}
STACKED = {
    "selections": Fraction(28, 100),
    "counts": Fraction(14, 100),
    "tables": Fraction(50, 100),
    "model": Fraction(8, 100),
}
CORRECTED = {
    "selections": Fraction(42, 100),
    "counts": Fraction(18, 100),
    "attributes": Fraction(6, 100),
    "corrections": Fraction(34, 100),
}
CORRECTED_FLAT = {
    "selections": Fraction(15, 100),
    "counts": Fraction(10, 100),
    "attributes": Fraction(11, 100),
    "corrections": Fraction(64, 100),
}
FLAT_CUTS = 2  # where some attribute is long and flat


def information(epsilon: Fraction, rows: int) -> int:
    """Return epsilon times the number of rows, in whole rows: what the public rule goes by.

    >>> information(Fraction(1, 4), 30000)
    7500
    """
    return math.floor(epsilon * max(rows, 0))


def affordable_cuts(evidence: int) -> int:
    """Return how many specializations are made: one more each time epsilon times rows doubles.

    >>> [affordable_cuts(evidence) for evidence in (300, 400, 2000, 5000, 10000, 20000, 1000000)]
    [0, 2, 3, 4, 5, 6, 11]
    """
    return 0 if evidence < FEW else min(MOST_CUTS, max(2, (evidence // HALVING).bit_length() - 1))


def affordable_corrections(evidence: int, *, flat: bool) -> int:
    """Return how many attributes the odds are corrected by: two less than there are cuts without corrections.

    One more where some attribute is long and flat, since there next to nothing is cut.

    >>> [affordable_corrections(evidence, flat=False) for evidence in (7999, 8000, 20000, 1000000)]
    [0, 3, 4, 0]
    """
    return 0 if not ENOUGH <= evidence <= MEASURED else affordable_cuts(evidence) - (1 if flat else 2)


def cuttable(attribute: Attribute, evidence: int) -> bool:
    """Whether an attribute may be cut: not one whose specialization makes more children than the rows pay for."""
    return widest_step(attribute) <= max(NARROW, evidence // ROWS_A_CHILD)


def is_stacked(schema: Schema, evidence: int) -> bool:
    """Whether one-way tables are measured: some attribute is long and flat, or there is too little to cut."""
    return is_flat(schema) or evidence < FEW


def is_flat(schema: Schema) -> bool:
    """Whether some attribute is long and has neither order nor hierarchy."""
    return _longest(schema) > FLAT


def _longest(schema: Schema) -> int:
    """Return how many values an attribute without order and hierarchy has at most."""
    return max((a.size for a in schema.quasi if not a.ordered and not a.declared_tree), default=0)


def number_of_corrections(schema: Schema, evidence: int, epsilon: Fraction) -> int:
    """Return how many corrections are made: for two classes, without long codes, where each draw can be made."""
    found = min(affordable_corrections(evidence, flat=is_flat(schema)), len(schema.quasi))
    if math.prod(attribute.size for attribute in schema.carried) != 2 or _longest(schema) > LONG or not found:
        return 0
    return found if epsilon / (100 * found * UNITS * schema.rows_per_person) >= SMALLEST else 0


def parts_of(schema: Schema, evidence: int, epsilon: Fraction) -> dict[str, Fraction]:
    """Return the share of the budget that each stage gets: a public rule."""
    if number_of_corrections(schema, evidence, epsilon):
        return CORRECTED_FLAT if is_flat(schema) else CORRECTED
    return STACKED if is_stacked(schema, evidence) else CELLS_ALONE


def noise_of_sum(entries: int, rate: Fraction) -> float:
    """Return at most what noise is expected to add to the sum of so many counts, where it adds and does not take.

    The sum of their noise has nearly a normal law, whose positive part has this mean.

    >>> round(noise_of_sum(100, Fraction(1, 2)), 1)
    11.3
    """
    return math.sqrt(2 * entries) / float(rate) / math.sqrt(2 * math.pi)


def steadiest(made: Sequence[Correction]) -> Correction:
    """Return the correction whose table has the fewest values, so that its sum has the least noise."""
    return min(made, key=lambda one: len(one.factor))


class TableDraw(Draw, Protocol):
    """Makes the choices and adds noise to the counts: from entropy, or (in an audit) by walking all of them."""

    def noisy(self, counts: np.ndarray, *, epsilon: Fraction, stage: str) -> np.ndarray:
        """Add discrete Laplace noise to every entry."""
        ...

    def cells(
        self, number: int, occupied: tuple[np.ndarray, np.ndarray], *, epsilon: Fraction, threshold: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Noise every cell, empty ones too, and return those that reach the threshold."""
        ...


@dataclass(frozen=True)
class DrawnTables(Drawn):
    """Choices and noise drawn from entropy."""

    def noisy(self, counts: np.ndarray, *, epsilon: Fraction, stage: str) -> np.ndarray:
        """Add discrete Laplace noise to every entry."""
        drawn = discrete_laplace(epsilon, counts.size, self.entropy.child(stage)).reshape(counts.shape)
        found: np.ndarray = counts + drawn
        return found

    def cells(
        self, number: int, occupied: tuple[np.ndarray, np.ndarray], *, epsilon: Fraction, threshold: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Noise every cell."""
        return sparse_noise(number, occupied, epsilon, threshold, self.entropy.child("counts"))


@dataclass(frozen=True)
class Fixed:
    """What is fixed once everything is paid for: the model, its cuts, and who drew how much. All of it is public."""

    model: RowModel | CorrectedModel
    _: KW_ONLY
    cuts: tuple[Cut, ...]
    trace: tuple[tuple[str, Fraction], ...]


@declare
class TargetRows:
    """Publish rows to learn the target from; everything but epsilon follows from public numbers.

    With `rows` declared in the schema nothing is paid for counting them.

    >>> import sfumato as sf
    >>> adult = sf.datasets.adult().with_roles(quasi=["age", "education", "sex"], target="income", sensitive=[])
    >>> sf.publish(adult, sf.TargetRows(1), seed=1).form
    'synthetic'
    """

    name: ClassVar[str] = "target-rows"
    plain: ClassVar[str] = "Made-up rows to predict one column from"
    bounds_people: ClassVar[bool] = True

    epsilon: Rational = like(PureDP, "epsilon")

    to_json = to_json
    needs = needs_cells

    @property
    def budget(self) -> Fraction:
        """Epsilon, exactly."""
        return Fraction(self.epsilon)

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
            "rows": "counts the rows, which the schema does not declare",
            "selections": "selects values to specialize",
            "counts": "adds noise to every cell",
            "tables": f"adds noise to the values of {len(kept.quasi)} attributes by class",
            "model": "chooses between cells, values by class, and both",
            "attributes": "selects attributes to correct the odds by",
            "corrections": "adds noise to how far the odds are off at each value",
        }
        rounds = number_of_corrections(kept, self._known(kept), self.budget)
        split = {"tables": max(1, len(kept.quasi)), "corrections": max(1, rounds)}
        stages = []
        for stage, amount in self._planned(kept):
            rate = amount / kept.rows_per_person / split.get(stage, 1)
            error = expected_error(rate) if stage in ("rows", "counts", "tables", "corrections") else ""
            stages.append(Stage(stage, does=does[stage], budget=amount, expected_error=error))
        notes = ["What a run does not spend on cuts goes to the counts, or to the tables where nothing is cut."]
        if kept.rows is None:
            notes.append("Declare `rows` in the schema, to one digit, if that number is public: it then costs nothing.")
        rows = self._added(kept)
        said = f"noise alone could add up to about {rows:,.3g} rows that stand for nobody"
        ways = ["a larger epsilon", "fewer classes of the target"]
        refusal, warned = too_much_noise(kept, self.epsilon, rows, said=said, ways=ways, more=carried_words(kept))
        return Plan(tuple(stages), notes=(*notes, *warned), refusal=refusal)

    # -- with data ---------------------------------------------------------------------------

    def decide(self, counts: Gathered, draw: TableDraw) -> Fixed:
        """Make every choice and noise every count."""
        schema = cells_schema(counts.schema)
        table = counts[self.needs(counts.schema)[0]]
        person, width = schema.rows_per_person, len(schema.quasi)
        codes, weight = table.codes[:, :width], table.weights
        sizes = [attribute.size for attribute in schema.carried]
        label = packed([table.codes[:, width + at] for at in range(len(sizes))], sizes)
        budget = Budget(self.epsilon)
        evidence = self._paid_evidence(schema, table.rows, budget, draw)
        left = budget.rest()
        parts = parts_of(schema, evidence, self.budget)
        growth = self._grown(schema, codes, weight, label, evidence=evidence, left=left, parts=parts, draw=draw)
        cuts, price = growth.cuts[-1], left * parts["selections"]
        spent = sum(
            (price * share for share in shares(self._cuts(schema, evidence), RATIO)[: growth.selections]), Fraction(0)
        )
        if spent:
            budget.draw("selections", spent)
        unspent = price - spent
        to_tables = unspent if len(growth.cuts) == 1 and "tables" in parts else Fraction(0)
        rate = budget.draw("counts", left * parts["counts"] + unspent - to_tables) / person
        radix = [len(cut) for cut in cuts]
        number = math.prod(radix) * math.prod(sizes)
        threshold = max(threshold_for(number, rate, "auto"), least_drawable(number, rate))
        if "corrections" in parts and number <= WHOLE_TABLE:
            threshold = 1
        cells, law = _cells(cuts, codes, weight, label, math.prod(sizes), rate=rate, threshold=threshold, draw=draw)
        totals, noise = law.counts.sum(axis=0), math.prod(radix) / rate**2
        if "corrections" in parts:
            rounds = number_of_corrections(schema, evidence, self.budget)
            prices = [budget.draw(stage, left * parts[stage]) / person for stage in ("attributes", "corrections")]
            odds_of = _corrections(
                schema,
                codes,
                weight,
                label,
                cuts=cuts,
                law=law,
                cells=cells,
                rounds=rounds,
                prices=prices,
                draw=draw,
            )
            return Fixed(odds_of, cuts=cuts, trace=budget.trace)
        columns = []
        if "tables" in parts:
            each = budget.draw("tables", left * parts["tables"] + to_tables) / person / max(1, width)
            bins = [public_bins(a, cut) for a, cut in zip(schema.quasi, cuts, strict=True)]
            noisy = [
                draw.noisy(
                    _table(part, codes[:, at], label, weight, math.prod(sizes)), epsilon=each, stage=f"table {at}"
                )
                for at, part in enumerate(bins)
            ]
            small = min(range(width), key=lambda at: len(bins[at]), default=None)
            if small is not None and (len(bins[small]) - 1) / each**2 < noise:  # whose sum has less noise
                totals = noisy[small].sum(axis=0)
            classes = np.maximum(totals, 1)
            columns = [
                fitted_column(a, bins[at], cuts[at], noisy[at], rate=each, classes=classes)
                for at, a in enumerate(schema.quasi)
            ]
        classes = np.maximum(totals, 1)
        models = _models(columns, law, classes, evidence=evidence, cut=len(growth.cuts) > 1)
        chosen = 0
        if "model" in parts:
            price = budget.draw("model", budget.rest()) / person
            scores = [correct_rows(model, codes, cells, label, weight) for model in models]
            chosen = draw.flip(np.array(scores), epsilon=price, score=score_of("max", classes=2))
        return Fixed(models[chosen], cuts=cuts, trace=budget.trace)

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Choose, noise, draw rows, release them."""
        found = self.decide(counts, DrawnTables(entropy.child("structure")))
        schema, model = cells_schema(counts.schema), found.model
        radix, rows = [len(cut) for cut in found.cuts], entropy.child("rows")
        if isinstance(model, CorrectedModel):
            columns, label = corrected_rows(model, radix, rows)
        else:
            columns, label = drawn_rows(model, radix, rows)
        tables, lookups = [], []
        for at, attribute in enumerate(schema.quasi):
            lows = np.array([node.low for node in found.cuts[at]])
            of_cut = np.searchsorted(lows, np.arange(attribute.size), side="right") - 1
            if isinstance(model, CorrectedModel):
                column = _bare(next((one.value for one in model.corrections if one.at == at), of_cut))
            elif model.power:
                column = model.columns[at]
            else:
                column = _bare(of_cut if model.cells is not None else np.zeros(attribute.size, np.int64))
            labels, place = column.labels(attribute)
            tables.append(labels)
            lookups.append(place[column.value].astype(np.int32))
            columns[at] = place[columns[at]] if len(columns[at]) else columns[at]
        claim = self._claimed(counts.schema, found.trace)
        notes, added = ["rows are drawn from noisy counts"], self._added_to(found, schema)
        if NOISE_SHARE * added >= len(label):  # of the drawn rows and of public numbers
            notes.append(f"noise alone was expected to add up to about {added:,.3g} of these {len(label):,} rows")
        return _released(schema, tables, lookups, columns, label, claim=claim, json=self.to_json(), notes=notes)

    # -- parts -------------------------------------------------------------------------------

    def _paid_evidence(self, schema: Schema, rows: int, budget: Budget, draw: TableDraw) -> int:
        """Return epsilon times rows, for one row; the number of rows is declared, or counted with noise and paid."""
        rate = self.budget / schema.rows_per_person
        if schema.rows is not None:
            return information(rate, schema.rows)
        price = budget.draw("rows", self.budget * COUNTING) / schema.rows_per_person
        return information(rate, int(draw.noisy(np.array([rows]), epsilon=price, stage="rows")[0]))

    def _cuts(self, schema: Schema, evidence: int) -> int:
        """Return how many specializations are made; so few that cells can be numbered."""
        free = [attribute for attribute in schema.quasi if cuttable(attribute, evidence)]
        classes = math.prod(attribute.size for attribute in schema.carried)
        cells = classes * math.prod(len(root_cut(attribute)) for attribute in free)
        widest = max((widest_step(attribute) for attribute in free), default=1)
        found = affordable_cuts(evidence) if widest > 1 else 0
        if found and number_of_corrections(schema, evidence, self.budget):
            found = FLAT_CUTS if is_flat(schema) else found - (found > 5)
        while found and cells * widest**found >= 1 << 60:
            found -= 1
        return found

    def _grown(
        self,
        schema: Schema,
        codes: np.ndarray,
        weight: np.ndarray,
        label: np.ndarray,
        *,
        evidence: int,
        left: Fraction,
        parts: dict[str, Fraction],
        draw: TableDraw,
    ) -> Growth:
        many = self._cuts(schema, evidence)
        whole: tuple[Cut, ...] = tuple((Node(0, high=a.size, tree=0),) for a in schema.quasi)
        free = [at for at, attribute in enumerate(schema.quasi) if cuttable(attribute, evidence)]
        if not many:
            return Growth((whole,), initial_splits=0, selections=0, later_splits=0)
        person, classes = schema.rows_per_person, math.prod(attribute.size for attribute in schema.carried)
        price = left * parts["selections"] / person
        first, score = (score_of(name, classes=classes, in_cells=True) for name in ("gini", "max"))
        steps = Steps(
            many,
            epsilon=price / many,
            each=tuple(price * share for share in shares(many, RATIO)),
            score=score,
            first=first,
            splits="together",
            selection="permute-and-flip",
            cell_price=PENALTY / (left * parts["counts"] / person),
        )
        quasi = [schema.quasi[at] for at in free]
        tables = CellTables([a.size for a in quasi], codes[:, free], weight, label, classes)
        growth = grow(quasi, tables, steps=steps, draw=draw)
        cuts = []
        for made in growth.cuts:
            full = list(whole)
            for at, cut in zip(free, made, strict=True):
                full[at] = cut
            cuts.append(tuple(full))
        return Growth(tuple(cuts), initial_splits=0, selections=growth.selections, later_splits=0)

    def _known(self, schema: Schema) -> int:
        """Return epsilon times rows as far as it is known before any data."""
        rate = self.budget / schema.rows_per_person
        return information(rate, schema.rows) if schema.rows is not None else FEW

    def _added(self, schema: Schema) -> float:
        """Return at most how many rows noise is expected to add to those that are drawn; of public numbers only.

        Rows are drawn from the counts of cells, or from a one-way table by class, whichever has less noise; where odds
        are corrected, from the table of a correction, whose noise is small beside the rows that pay for it: there only
        the cells before any cut are judged.
        """
        schema = schema if schema.rows is not None else replace(schema, rows=ASSUMED_ROWS)
        evidence, person, planned = self._known(schema), schema.rows_per_person, dict(self._planned(schema))
        parts = parts_of(schema, evidence, self.budget)
        classes = math.prod(attribute.size for attribute in schema.carried)
        cuts = self._cuts(schema, evidence)
        few, many = classes, classes
        if cuts:
            free = [attribute for attribute in schema.quasi if cuttable(attribute, evidence)]
            few, many = (classes * most_combinations(free, steps) for steps in (0, cuts))
        rate = planned["counts"] / person
        cells = most_noise(few if "corrections" in parts else many, rate, "auto")[1]
        if "tables" not in parts or not schema.quasi:
            return cells
        each = planned["tables"] / person / len(schema.quasi)
        whole = ((Node(0, high=a.size, tree=0),) for a in schema.quasi)
        shortest = min(len(public_bins(a, cut)) - 1 for a, cut in zip(schema.quasi, whole, strict=True))
        if shortest / each**2 >= Fraction(many, classes) / rate**2:
            return cells
        return max(cells, classes * noise_of_sum(shortest, each))

    def _added_to(self, found: Fixed, schema: Schema) -> float:
        """Return at most how many rows noise was expected to add to those drawn; of what is public once all is drawn.

        Where odds were corrected, as many rows are drawn as the table of a correction has.
        """
        if not isinstance(found.model, CorrectedModel):
            return self._added(schema)
        made = found.model.corrections
        rate = dict(found.trace)["corrections"] / schema.rows_per_person / len(made)
        return noise_of_sum(steadiest(made).entries, rate)

    def _planned(self, schema: Schema) -> tuple[tuple[str, Fraction], ...]:
        budget = Budget(self.epsilon)
        if schema.rows is None:
            budget.draw("rows", self.budget * COUNTING)
        evidence = self._known(schema)
        left, parts = budget.rest(), parts_of(schema, evidence, self.budget)
        cut = self._cuts(schema, evidence) > 0
        for stage, share in parts.items():
            takes = share + (
                parts["selections"] if not cut and stage == ("tables" if "tables" in parts else "counts") else 0
            )
            if stage != "selections" or cut:
                budget.draw(stage, left * takes)
        return budget.trace

    def _refuse(self, schema: Schema) -> None:
        """Refuse, by public numbers, what could fail once something is drawn."""
        person, width = schema.rows_per_person, max(1, len(schema.quasi))
        classes = math.prod(attribute.size for attribute in schema.carried)
        entries = classes * sum(min(a.size, 2 * BINS + MOST_CUTS) if a.ordered else a.size for a in schema.quasi)
        if max(entries, classes) > ENTRIES:
            hint = f"coarser values, or fewer columns in the class{carried_words(schema)}"
            raise ParameterError("schema", f"{large(entries)} entries", f"must have at most {ENTRIES:,}", hint=hint)
        least = min(STACKED["tables"] / width, STACKED["selections"] * shares(MOST_CUTS, RATIO)[0], COUNTING)
        if self.budget * (1 - COUNTING) * least / person < SMALLEST:
            rule = f"leaves a draw less than {float(SMALLEST):g}"
            raise ParameterError("epsilon", str(self.budget), rule, hint="a larger epsilon")
        refuse_size(schema, classes, self.budget / person, "auto")
        added = self._added(schema)
        if added > MOST_ADDED or added + (schema.rows or 0) > MOST_DRAWN:
            rule = (
                f"noise alone would add about {added:,.3g} rows, and at most {MOST_ADDED:,} of noise and "
                f"{MOST_DRAWN:,} in all are drawn"
            )
            raise ParameterError("epsilon", str(self.budget), rule, hint="a larger epsilon, or fewer classes")

    def _claimed(self, schema: Schema, trace: tuple[tuple[str, Fraction], ...]) -> Claim:
        known = ("about how many rows there are, as the schema declares",) if schema.rows is not None else ()
        return Claim(
            PureDP(self.epsilon),
            neighbours=Neighbours.ADD_OR_REMOVE_ONE,
            unit=schema.unit,
            public_inputs=(*public_inputs(cells_schema(schema)), *known, "the parameters of the mechanism"),
            silent_on=(*silences(schema), "how attributes depend on each other beyond their cells and the class"),
            trace=trace,
        )


def _models(
    columns: Sequence[ColumnLaw], law: CellLaw, classes: np.ndarray, *, evidence: int, cut: bool
) -> list[RowModel]:
    """Return the models that are chosen from: a public list. Without tables the cells alone."""
    if not columns:
        return [RowModel((), cells=law, classes=classes, power=0)]
    with_cells: tuple[Power, ...] = ((0, 1, 2) if evidence >= MANY else (0, 2)) if cut else ()
    without: tuple[Power, ...] = (2, 4) if cut else (0, 2, 4)
    made = [RowModel(tuple(columns), cells=law, classes=classes, power=power) for power in with_cells]
    return made + [RowModel(tuple(columns), cells=None, classes=classes, power=power) for power in without]


def _cells(
    cuts: Sequence[Cut],
    codes: np.ndarray,
    weight: np.ndarray,
    label: np.ndarray,
    classes: int,
    *,
    rate: Fraction,
    threshold: int,
    draw: TableDraw,
) -> tuple[np.ndarray, CellLaw]:
    """Noise the cells; also return the cell of each distinct row, which is confidential."""
    cell = np.zeros(len(weight), np.int64)
    for at, cut in enumerate(cuts):
        lows = np.array([node.low for node in cut], np.int64)
        cell = cell * len(cut) + np.searchsorted(lows, codes[:, at], side="right") - 1
    keys, which = np.unique(cell * classes + label, return_inverse=True)
    sums = np.zeros(len(keys), np.int64)
    np.add.at(sums, which.ravel(), weight)
    number = math.prod(len(cut) for cut in cuts) * classes
    where, noisy = draw.cells(number, (keys, sums), epsilon=rate, threshold=threshold)
    here, place = np.unique(where // classes, return_inverse=True)
    counts = np.zeros((len(here), classes), np.int64)
    counts[place.ravel(), where % classes] = noisy
    return cell, CellLaw(here.astype(np.int64), counts=counts, smoothing=1 / float(rate))


def _corrections(
    schema: Schema,
    codes: np.ndarray,
    weight: np.ndarray,
    label: np.ndarray,
    *,
    cuts: Sequence[Cut],
    law: CellLaw,
    cells: np.ndarray,
    rounds: int,
    prices: Sequence[Fraction],
    draw: TableDraw,
) -> CorrectedModel:
    """Choose an attribute, measure how far the odds are off at its values, correct them; again."""
    choosing, measuring = (price / rounds for price in prices)
    classes = np.maximum(law.counts.sum(axis=0), 1)
    bins = [public_bins(a, cut, COARSE) for a, cut in zip(schema.quasi, cuts, strict=True)]
    values = [np.searchsorted(part, codes[:, at], side="right") - 1 for at, part in enumerate(bins)]
    back = [handicap(len(part) - 1, doubt(law, classes), measuring) for part in bins]
    odds, second = starting_odds(law, cells, classes), label == 1
    made: list[Correction] = []
    while len(made) < rounds:
        free = [at for at in range(len(bins)) if all(at != one.at for one in made)]
        scores = [
            left_over(values[at], len(bins[at]) - 1, odds, second=second, weight=weight) - back[at] for at in free
        ]
        at = free[draw.flip(np.array(scores), epsilon=choosing, score=RESIDUAL)]
        tables = measured(values[at], len(bins[at]) - 1, odds, second=second, weight=weight)
        noisy = draw.noisy(np.hstack(tables), epsilon=measuring / UNITS, stage=f"correction {len(made)}")
        one = fitted_correction(at, bins[at], cuts[at], off=noisy[:, :2], settled=noisy[:, 2:], rate=measuring)
        odds = corrected(odds, one, values[at])
        made.append(one)
    return CorrectedModel(law, classes=classes, corrections=tuple(made), rows=steadiest(made).rows)


def _table(borders: np.ndarray, codes: np.ndarray, label: np.ndarray, weight: np.ndarray, classes: int) -> np.ndarray:
    """Count rows by value and class."""
    value = np.searchsorted(borders, codes, side="right") - 1
    found = np.zeros((len(borders) - 1) * classes, np.int64)
    np.add.at(found, value * classes + label, weight)
    return found.reshape(-1, classes)


def _bare(value: np.ndarray) -> ColumnLaw:
    many = int(value.max(initial=0)) + 1
    return ColumnLaw(value, label=np.arange(many), share=np.ones(many), ratio=np.ones((many, 1)))


def _released(
    schema: Schema,
    tables: Sequence[Labels],
    lookups: Sequence[np.ndarray],
    columns: Sequence[np.ndarray],
    label: np.ndarray,
    *,
    claim: Claim,
    json: dict[str, Any],
    notes: Sequence[str],
) -> Release:
    """Count equal rows and assemble the release."""
    sizes, width = [attribute.size for attribute in schema.carried], len(tables)
    every = [*columns, *decoded(label, sizes)]
    rows, weight = group_codes(every, [*(len(t) for t in tables), *sizes], rows=len(label))
    fresh = np.ones(len(rows), bool)  # rows of one combination of labels stand together
    fresh[1:] = (rows[1:, :width] != rows[:-1, :width]).any(axis=1)
    release, _ = assemble(
        schema,
        tables=tuple(tables),
        labels=rows[fresh, :width],
        weight=np.add.reduceat(weight, np.flatnonzero(fresh)) if len(weight) else weight,
        group=np.arange(int(fresh.sum())),
        carried_group=np.cumsum(fresh) - 1,
        carried_codes=rows[:, width:],
        carried_weight=weight,
        claim=claim,
        mechanism=json,
        form="synthetic",
        left_out=None,
        notes=tuple(notes),
        recoding=Cuts(tuple(attribute.name for attribute in schema.quasi), labels=tuple(lookups)),
    )
    return release
