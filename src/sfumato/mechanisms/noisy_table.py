"""NoisyTable: the contingency table of all values, or of a declared generalization, with noise on every cell.

Source    Dwork, McSherry, Nissim & Smith, TCC 2006; the strawman of Mohammed et al., KDD 2011, sections 1.1 and 5.
Claim     epsilon-DP when one person is added or removed.
Because   the cuts are declared, so public, and cost nothing; the whole budget is spent on the cells (noisy_cells).
Checked   tests/claims/test_noisy_table.py::test_no_output_is_e_to_the_epsilon_times_as_likely
          tests/claims/test_noisy_table.py::test_a_small_copy_of_a_huge_table_has_the_exact_law
          tests/claims/test_audit.py::test_every_trap_has_a_mutant_that_is_caught
Silent on replacing a person (twice the epsilon); on small counts: a cell below the threshold looks like an
          empty one.
Cost      O(rows) and O(cells reported); more than 10^12 cells take seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.claims import Claim, Neighbours, PureDP
from sfumato.counts import Cuts
from sfumato.declare import Rational, declare, like, parameter, to_json
from sfumato.errors import ParameterError, count_of
from sfumato.ledger.cost import Budget
from sfumato.mechanisms.base import Gathered, Plan, Stage
from sfumato.mechanisms.noisy_cells import (
    MANY_ROWS,
    Decided,
    DomainCells,
    carried_words,
    cells_schema,
    exact_counts,
    expected_error,
    large,
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
)
from sfumato.randomness import Entropy
from sfumato.randomness.sparse import Threshold, threshold_for
from sfumato.release import Release
from sfumato.schema import MISSING, Attribute, Labels, Schema, parse_label


class _DeclaredCuts:
    """A field that holds the cuts in their order and takes a mapping."""

    def __get__(self, instance: object, owner: Any) -> tuple[tuple[str, tuple[str, ...]], ...] | None: ...
    def __set__(self, instance: object, value: Mapping[str, Sequence[str]] | None) -> None: ...


def _read_cuts(cuts: Any) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
    if cuts is None or isinstance(cuts, tuple):  # as they are held
        return cuts
    if not isinstance(cuts, Mapping) or any(isinstance(labels, str) for labels in cuts.values()):
        raise ParameterError(
            "cuts", type(cuts).__name__, "must list the labels of each attribute", hint='{"sex": ["*"]}'
        )
    return tuple((str(name), tuple(str(label) for label in labels)) for name, labels in cuts.items())


def _cuts_of_texts(texts: Sequence[str], _schema: str) -> dict[str, list[str]] | None:
    """Read what the command line says: `attribute=label;label`, once for each attribute."""
    declared_cuts: dict[str, list[str]] = {}
    for text in texts:
        name, equals, labels = text.partition("=")
        if not equals:
            raise ParameterError("cut", text, "must be written attribute=label;label", hint="--cut 'sex=*'")
        declared_cuts[name.strip()] = [label.strip() for label in labels.split(";")]
    return declared_cuts or None


def _texts_of_cuts(cuts: tuple[tuple[str, tuple[str, ...]], ...]) -> list[str] | None:
    """Write cuts as the command line has them; None where a name or a label cannot be written so."""
    for name, labels in cuts:
        if "=" in name or any(";" in label for label in labels) or any(t != t.strip() for t in (name, *labels)):
            return None
    return [f"{name}={';'.join(labels)}" for name, labels in cuts]


@declare
class NoisyTable:
    """Publish the contingency table, or a declared generalization of it, with noise on every cell.

    cuts       labels by attribute, such as {"age": ["[17-40)", "[40-91)"], "race": ["*"]}; together they must hold
               each value once. Attributes not named keep all their values. It must be fixed without looking at the
               data.
    threshold  smallest count that is reported; "auto" takes it from the number of cells.

    >>> schema = sf.datasets.adult("test").schema
    >>> str(sf.NoisyTable("1/2", cuts={"age": ["*"]}).claim(schema))
    'pure-dp(0.5) [proved]'
    """

    name: ClassVar[str] = "noisy-table"
    plain: ClassVar[str] = "Noisy counts of all combinations of values"
    bounds_people: ClassVar[bool] = True
    recoding: ClassVar[str] = "public"

    epsilon: Rational = like(PureDP, "epsilon")
    _: KW_ONLY
    cuts: _DeclaredCuts = parameter(
        "Labels of one attribute, such as --cut 'age=[17-40);[40-91)'. May be repeated.",
        default=None,
        flag="cut",
        several=True,
        read=_read_cuts,
        encode=lambda cuts: {name: list(labels) for name, labels in cuts},
        from_flag=_cuts_of_texts,
        to_flag=_texts_of_cuts,
    )
    threshold: Threshold = parameter(
        'Smallest count that is reported, or "auto": taken from the number of cells (default).',
        default="auto",
        read=read_threshold,
    )

    to_json = to_json
    needs = needs_cells

    def claim(self, schema: Schema) -> Claim:
        """Promise pure differential privacy, all of it spent on the counts."""
        kept = cells_schema(schema)
        cells, rate = self._cells(kept), self._rate(kept)
        refuse_size(kept, cells, rate, self.threshold)
        refuse_hits(cells, rate, self.threshold)
        budget = Budget(self.epsilon)
        budget.draw("counts", budget.rest())
        return Claim(
            PureDP(self.epsilon),
            neighbours=Neighbours.ADD_OR_REMOVE_ONE,
            unit=schema.unit,
            public_inputs=(*public_inputs(kept), *(() if self.cuts is None else ("the declared cuts",))),
            silent_on=silences(schema),
            trace=budget.trace,
        )

    def plan(self, schema: Schema) -> Plan:
        """One stage."""
        kept = cells_schema(schema)
        cells, rate = self._cells(kept), self._rate(kept)
        refuse_size(kept, cells, rate, self.threshold)
        least = threshold_for(cells, rate, self.threshold)
        does = f"adds noise to {large(cells)} cells and reports counts from {least}"
        notes = [f"Of these, {noise_alone(cells, rate, least)}."]
        if exact := exact_counts((("counts", self.epsilon),), kept.rows_per_person, least):
            notes.append(f"Warning: {exact}. Ask for a smaller epsilon.")
        if least > MANY_ROWS:
            warning = f"Warning: with this number of cells no group below {least} rows is seen. Declare fewer: --cut"
            notes.append(f"{warning}{carried_words(kept)}.")
        stage = Stage("counts", does=does, budget=self.epsilon, expected_error=expected_error(rate))
        return Plan((stage,), notes=tuple(notes), refusal=mostly_noise(kept, self.epsilon, cells, rate, least))

    def decide(self, counts: Gathered, draw: object = None) -> Decided:
        """Fix the cells, what a row's count gets and the threshold; there is no choice to draw."""
        kept = cells_schema(counts.schema)
        tables = self._labels(kept)
        lookup = [np.empty(a.size, np.int32) for a in kept.quasi]
        for codes, labels in zip(lookup, tables, strict=True):
            owner = np.repeat(np.arange(len(labels)), np.diff(labels.offsets))
            for start, end, label in zip(labels.starts, labels.ends, owner, strict=True):
                codes[start:end] = label
        recoding = Cuts(tuple(a.name for a in kept.quasi), labels=tuple(lookup))
        found = DomainCells.counted(kept, counts[self.needs(counts.schema)[0]], tables, recoding)
        rate = self._rate(kept)
        threshold = threshold_for(found.number, rate, self.threshold)
        return Decided(found, epsilon=rate, threshold=threshold, trace=(("counts", self.epsilon),))

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Group, noise, release."""
        decided, claim = self.decide(counts), self.claim(counts.schema)
        return release_cells(decided, entropy=entropy, claim=claim, mechanism=self.to_json())

    def _rate(self, schema: Schema) -> Fraction:
        return self.epsilon / schema.rows_per_person

    def _cells(self, schema: Schema) -> int:
        return math.prod(radices(schema, self._labels(schema)))

    def _labels(self, schema: Schema) -> tuple[Labels, ...]:
        cuts = dict(self.cuts or ())
        strangers = [name for name in cuts if name not in {a.name for a in schema.quasi}]
        if strangers:
            raise ParameterError("cuts", strangers[0], "is not a quasi-identifier", hint="name quasi-identifiers only")
        return tuple(_declared(a, cuts[a.name]) if a.name in cuts else Labels.of_codes(a) for a in schema.quasi)


def _declared(attribute: Attribute, texts: Sequence[str]) -> Labels:
    """Return the labels of a declared cut; they must hold each value exactly once."""
    found = [parse_label(attribute, text) for text in texts]
    unread = sum(label is None for label in found)
    if unread:
        raise ParameterError("cuts", attribute.name, count_of(unread, "label cannot be read", "labels cannot be read"))
    sets = [label for label in found if label is not None]
    held = np.zeros(attribute.size, np.int64)
    for label in sets:
        for low, high in label:
            held[low:high] += 1
    if not (held == 1).all():
        raise _not_once(attribute, held)
    return Labels.from_sets(attribute, sets)[0]


def _not_once(attribute: Attribute, held: np.ndarray) -> ParameterError:
    """Say in words what the labels of a cut leave out or hold twice; the missing value has a name of ours."""
    absent = attribute.missing_code is not None and held[attribute.missing_code] == 0
    left_out, twice = int((held == 0).sum()), int((held > 1).sum())
    values = left_out - absent
    none = [f"{count_of(values, 'value is', 'values are')} in none of its labels"] if values else []
    none += [f"{MISSING} is in none of its labels"] if absent else []
    several = [f"{count_of(twice, 'value is', 'values are')} in more than one label"] if twice else []
    hint = f"add a label {MISSING}" if absent and not values and not twice else "put each value into exactly one label"
    if absent and (values or twice):
        hint += f", {MISSING} too"
    return ParameterError("cuts", attribute.name, " and ".join([*none, *several]), hint=hint)
