"""Marginals: a synthetic table for any question, from noisy tables of one, two and three attributes.

Source    McKenna, Miklau & Sheldon, JPC 11(3), 2021, and VLDB 2022 (select, measure, combine, draw); what differs is in
          docs/theory/marginals.md.
Claim     epsilon-DP when one person is added or removed; with a delta, rho-zCDP for a rho that implies
          (epsilon, delta)-DP.
Because   the one-way tables, the choices, and the tables of pairs and triples spend parts of the budget that add up
          to it (draws.py, measuring.py); all else is a function of what they gave, and of public numbers.
Checked   tests/claims/test_marginals.py::test_no_transcript_costs_more_than_epsilon
          tests/claims/test_marginals.py::test_every_mutant_is_caught
          tests/claims/test_marginals.py::test_the_trace_is_exact
Silent on replacing a person (twice the epsilon, four times the rho); on questions about several attributes beyond what
          the tables that were measured tell; on values that hardly anybody has, which are joined and drawn by the noisy
          table of their column alone: a drawn value may be one that nobody has.
Cost      O(rows) for each table offered, and about 3 s for Adult with 13 attributes; up to 10 s where triples are
          measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np

from sfumato.claims import Claim, ConcentratedDP, Neighbours, PureDP
from sfumato.declare import MaybeRational, Rational, declare, like, parameter, to_json
from sfumato.errors import ParameterError, count_of, two_digits
from sfumato.ledger.cost import Budget
from sfumato.mechanisms.base import Gathered, Plan, Stage
from sfumato.mechanisms.exact_release import exact_release
from sfumato.mechanisms.marginals.draws import Concentrated, Draws, Pure
from sfumato.mechanisms.marginals.measuring import (
    LARGER,
    Budgets,
    MeasuredTables,
    expected_share,
    groups_within,
    measure,
    nearest_whole,
    pairs_within,
    triples_share,
    triples_within,
)
from sfumato.mechanisms.noisy_cells import ASSUMED_ROWS, public_inputs, silences, too_much_noise
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.schema import Schema
from sfumato.schema.workload import (
    WorkloadField,
    read_workload,
    set_weights,
    workload_from_texts,
    workload_sets,
    workload_texts,
)

_OFF_BY = 1 / 20  # rows: noise below it is what is called practically exact of counts, too
_NEARLY_EXACT = (
    "at this epsilon tables that the rows are drawn from are expected to be practically exact: rare combinations may "
    "be published as they are"
)

ONES: Final = Fraction(1, 5)  # share of the budget for one-way tables
CHOICES: Final = Fraction(1, 10)  # and for choosing among pairs and triples
MOST_DRAWN_ROWS: Final = 2_000_000  # rows drawn; where there are more, each stands for several
LARGEST_TOTAL: Final = 10**12
MOSTLY: Final = 2  # one in two rows moved by noise: what is left of a table is mostly noise
MOST_NAMED: Final = 5  # columns of joined values that a forecast names


@dataclass(frozen=True, slots=True)
class _Expected:
    """How far counts of one-way tables, of pairs and of triples are off, as far as these are measured, and how many."""

    rows: int
    _: KW_ONLY
    off: tuple[float, ...]
    most_values: int  # of an attribute that tables of pairs and triples tell apart
    pair_cells: Sequence[int] = ()
    pairs: int = 0
    triples: int = 0
    of_triples: int = 0

    @property
    def nearly_exact(self) -> bool:
        """Whether some tables are practically exact."""
        return min(self.off) < _OFF_BY


@declare
class Marginals:
    """Draw a synthetic table from noisy tables of attributes, of pairs and, where noise is small, of triples.

    epsilon    privacy budget
    delta      None: pure differential privacy, with Laplace noise. Otherwise concentrated, with Gaussian noise, which
               is less where many tables are measured
    workload   which questions matter: a number k (all sets of k attributes; 3 by default), the name of one attribute
               (its pairs with all others), or sets of attributes. Public: fix it without looking at the data

    >>> import sfumato as sf
    >>> release = sf.publish(sf.datasets.adult(), sf.Marginals(1), seed=1)
    >>> release.form, 44_000 < release.rows < 46_000
    ('synthetic', True)
    """

    name: ClassVar[str] = "marginals"
    plain: ClassVar[str] = "Made-up rows, drawn from noisy counts"
    bounds_people: ClassVar[bool] = True

    epsilon: Rational = like(PureDP, "epsilon")
    _: KW_ONLY
    delta: MaybeRational = parameter(
        "Probability with which more than epsilon may be lost; without it, none.",
        default=None,
        above=0,
        below=1,
        hint="try 1e-9, well below one over the number of people",
    )
    workload: WorkloadField = parameter(
        "Questions that matter: 2 or 3 (all pairs or triples of attributes), one attribute (its pairs), or age+sex. "
        "May be repeated.",
        default=None,
        several=True,
        read=read_workload,
        encode=lambda held: [list(one) for one in held] if isinstance(held, tuple) else held,
        from_flag=lambda texts, _schema: workload_from_texts(texts),
        to_flag=workload_texts,
    )

    to_json = to_json

    def promise(self) -> PureDP | ConcentratedDP:
        """Return what is promised: pure, or concentrated with the largest rho that implies epsilon and delta."""
        return PureDP(self.epsilon) if self.delta is None else ConcentratedDP.within(self.epsilon, delta=self.delta)

    def claim(self, schema: Schema) -> Claim:
        """Promise the whole budget, in three parts."""
        kept = _published(schema)
        workload_sets(self.workload, kept)
        declared = () if self.workload is None else ("the declared workload",)
        return Claim(
            self.promise(),
            neighbours=Neighbours.ADD_OR_REMOVE_ONE,
            unit=schema.unit,
            public_inputs=(*public_inputs(kept), *declared),
            silent_on=silences(schema, concentrated=self.delta is not None),
            trace=self._trace(kept),
        )

    def needs(self, schema: Schema) -> list[tuple[str, ...]]:
        """Ask for one group-by, over what is published."""
        return [tuple(attribute.name for attribute in _published(schema).published)]

    def plan(self, schema: Schema) -> Plan:
        """Say what each kind of step gets and what error to expect, of public numbers only."""
        kept = _published(schema)
        budgets, expected = self._budgets(kept), self._expected(kept)
        known = "declared" if kept.rows else "assumed"
        stages = [
            Stage(
                "one-way tables",
                does=f"adds noise to the values of {len(kept.published)} attributes, each alone",
                budget=budgets.ones,
                expected_error=f"a count is off by about {expected.off[0]:.3g}",
            )
        ]
        notes: list[str] = []
        refusal, warned = self._too_much(kept)
        if budgets.larger:
            rows, cells, size = expected.rows, expected.pair_cells, expected.off[1]
            chosen, off = f"{expected.pairs} of {len(cells)} pairs", f"{size:.3g}"
            if len(expected.off) > 2:
                chosen += f" and {expected.triples} of {expected.of_triples} triples"
                off += f" in a pair, {expected.off[2]:.3g} in a triple"
            stages += [
                Stage("choices", does=f"chooses about {chosen}", budget=budgets.choices),
                Stage(
                    LARGER,
                    does="adds noise to the tables that were chosen",
                    budget=budgets.larger,
                    expected_error=f"a count is off by about {off}",
                ),
            ]
            middle = sorted(cells)[len(cells) // 2]
            share = expected_share(middle, size, rows)
            notes.append(
                f"With {rows:,} rows ({known}) noise is expected to move at most {share:.2g} of the rows of a middling "
                "pair table, in which rare values of a column are joined, before it is smoothed; a count of 200 will "
                f"be off by about {two_digits(min(size, 200))} there. How far the tables miss a question about more "
                "attributes is not known before."
            )
        notes += self._joined(kept, expected)
        notes += warned
        if expected.nearly_exact:
            notes.append(f"Warning: {_NEARLY_EXACT}. Ask for a smaller epsilon.")
        if not kept.rows:
            notes.append("Declare a public `rows` in the schema for a better forecast.")
        if self.delta is not None:
            notes.append("Budgets of the stages are in rho, of zero-concentrated differential privacy.")
        return Plan(tuple(stages), notes=tuple(notes), refusal=refusal)

    def _too_much(self, kept: Schema) -> tuple[ParameterError | None, tuple[str, ...]]:
        """Judge the noise on the number of rows, and on a middling one-way table; of public numbers only."""
        draws, sizes = self._draws(kept, None), sorted(attribute.size for attribute in kept.published)
        each = self._budgets(kept).ones / len(sizes)
        # The total is the mean of the tables' sums by their precision; this is the positive part of its normal noise.
        added = draws.deviation(each) / math.sqrt(math.tau * sum(1 / size for size in sizes))
        ways = ["a larger epsilon", "fewer columns"]
        said = f"noise alone could add about {added:,.3g} rows to those that are drawn"
        found = too_much_noise(kept, self.epsilon, added, said=said, ways=ways)
        if found != (None, ()):
            return found
        middle = sizes[len(sizes) // 2]
        moved = middle * draws.mean_size(each) / 2
        said = f"noise is expected to move up to {moved:,.3g} rows of the table of a column of {middle:,} values"
        return too_much_noise(kept, self.epsilon, moved, said=said, ways=[*ways, "fewer values"], share=MOSTLY)

    def _joined(self, kept: Schema, expected: _Expected) -> list[str]:
        """Say which columns have more values than pair tables tell apart, and how far noise moves their own tables."""
        many = sorted((a for a in kept.published if a.size > expected.most_values), key=lambda a: -a.size)
        found = []
        for attribute in many[:MOST_NAMED]:
            moved, warning = attribute.size * expected.off[0] / 2, ""
            of = (
                f" of {kept.rows:,} rows of that table"
                if kept.rows
                else " rows of that table, or all where it has fewer"
            )
            if moved * MOSTLY >= (kept.rows or ASSUMED_ROWS):
                warning, moved = "Warning: ", min(moved, float(kept.rows or moved))
            found.append(
                f"{warning}{attribute.name} has {attribute.size:,} values, of which tables of pairs and triples tell "
                f"about {expected.most_values:,} apart. Rarer ones are joined and then drawn by the noisy table of "
                f"{attribute.name} alone, or evenly where that shows nothing but noise: a drawn value may be one that "
                f"nobody has. Noise is expected to move up to {moved:,.0f}{of}."
            )
        if more := len(many) - len(found):
            found.append(f"So it is with {count_of(more, 'more column', 'more columns')}.")
        return found

    def _expected(self, kept: Schema) -> _Expected:
        """Return which tables are expected to be measured, and how far their counts are off; of public numbers only."""
        draws, budgets = self._draws(kept, None), self._budgets(kept)
        rows = kept.rows or ASSUMED_ROWS
        most = groups_within([attribute.size for attribute in kept.published], rows, budgets.larger, draws)
        sizes = [min(attribute.size, most) for attribute in kept.published]
        ones = draws.mean_size(budgets.ones / len(sizes))
        if not budgets.larger:
            return _Expected(rows, off=(ones,), most_values=most)
        wanted = set_weights(workload_sets(self.workload, kept))
        cells, triples = (
            [math.prod(sizes[a] for a in held) for held in wanted if len(held) == size] for size in (2, 3)
        )
        tree = min(len(sizes) - 1, len(cells))
        part = triples_share(triples, tree, rows, budgets.larger, draws)
        spent = (1 - part) * budgets.larger
        number, more = pairs_within(cells, tree, rows, spent, draws), triples_within(len(triples), tree)
        pairs_off = draws.mean_size(spent / number)
        of_more = (draws.mean_size(part * budgets.larger / more),) if part else ()
        off = (ones, pairs_off, *of_more)
        return _Expected(
            rows, off=off, most_values=most, pair_cells=cells, pairs=number, triples=more, of_triples=len(triples)
        )

    def measured(self, counts: Gathered, draws: Draws, entropy: Entropy) -> MeasuredTables:
        """Take every step that reads the table. `entropy` draws only from what was measured."""
        kept = _published(counts.schema)
        table = counts[self.needs(counts.schema)[0]]
        return measure(
            table.codes.astype(np.int64),
            table.weights,
            sizes=[attribute.size for attribute in kept.published],
            ordered=[attribute.ordered for attribute in kept.published],
            wanted=set_weights(workload_sets(self.workload, kept)),
            budgets=self._budgets(kept),
            draws=draws,
            entropy=entropy,
        )

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Measure, fit, draw rows."""
        kept = _published(counts.schema)
        found = self.measured(counts, self._draws(kept, entropy), entropy)
        total = min(int(nearest_whole(np.array([found.total]))[0]), LARGEST_TOTAL)
        times = -(-total // MOST_DRAWN_ROWS)  # how many rows each drawn row stands for
        codes = found.rows(-(-total // times), entropy)
        lines, many = np.unique(codes, axis=0, return_counts=True)
        return exact_release(
            kept,
            lines,
            many.astype(np.int64) * times,
            claim=self.claim(counts.schema),
            mechanism=self.to_json(),
            form="synthetic",
            left_out=None,
            notes=self._notes(kept, found),
        )

    def _notes(self, kept: Schema, found: MeasuredTables) -> tuple[str, ...]:
        """Say what was nearly exact and which values were joined: of noisy tables and of public numbers."""
        expected = self._expected(kept)
        notes = [_NEARLY_EXACT] if expected.nearly_exact else []
        joined = [
            f"{attribute.name} ({attribute.size:,} values in {count_of(int(group.max()) + 1, 'group')}, noise expected "
            f"to move up to {min(attribute.size * expected.off[0] / 2, found.total):,.0f} rows of its table)"
            for attribute, group in zip(kept.published, found.groups, strict=True)
            if int(group.max()) + 1 < attribute.size
        ]
        if joined:
            notes.append(
                "rare values and those that noise hides were joined. Within a group a value is drawn by the noisy "
                "table of its column alone, or evenly where that shows nothing but noise: a drawn value may be one "
                f"that nobody has. Joined: {', '.join(joined)}"
            )
        return tuple(notes)

    def _budgets(self, schema: Schema) -> Budgets:
        spent = dict(self._trace(schema))
        zero = Fraction(0)
        return Budgets(spent["one-way tables"], choices=spent.get("choices", zero), larger=spent.get(LARGER, zero))

    def _trace(self, schema: Schema) -> tuple[tuple[str, Fraction], ...]:
        promise = self.promise()
        budget = Budget(promise.epsilon if isinstance(promise, PureDP) else promise.rho)
        if not set_weights(workload_sets(self.workload, schema)):
            budget.draw("one-way tables", budget.rest())
            return budget.trace
        budget.draw("one-way tables", ONES * budget.epsilon)
        budget.draw("choices", CHOICES * budget.epsilon)
        budget.draw(LARGER, budget.rest())
        return budget.trace

    def _draws(self, schema: Schema, entropy: Entropy | None) -> Pure | Concentrated:
        kind = Pure if self.delta is None else Concentrated
        return kind(entropy, person=schema.rows_per_person)


def _published(schema: Schema) -> Schema:
    """Return the schema of what is published; domains not stated to be public are refused."""
    if not schema.published:
        raise ParameterError("schema", schema.name, "publishes no attribute", hint='give a column role = "quasi"')
    schema.refuse_data_domains([attribute.name for attribute in schema.published])
    return replace(schema, attributes=schema.published)
