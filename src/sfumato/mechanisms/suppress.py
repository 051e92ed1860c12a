"""Suppress: every quasi-identifier is removed. The zero of privacy loss, and the most useless release there is.

Source    Li & Li, "On the tradeoff between privacy and utility in data publishing", KDD 2009, section 4.3.
Claim     Every published class has the overall distribution of each sensitive attribute: t-closeness with t = 0.
Because   there is one class, and it is the table.
Checked   tests/claims/test_suppress_and_raw.py::test_suppress_is_zero_close
          tests/claims/test_suppress_and_raw.py::test_a_mutant_that_keeps_a_column_is_caught
          tests/claims/test_suppress_and_raw.py::test_a_target_that_is_known_tells_and_the_claim_says_so
Silent on what the overall distribution itself tells, on who is in the table, and on what a reader learns who knows a
          target or another sensitive value of somebody: what is carried stays together in its row.
Cost      one group-by of the carried attributes; there is one box.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.claims import Claim, KAnonymity, TCloseness, requirement_notes
from sfumato.declare import declare, to_json
from sfumato.mechanisms.base import Gathered, Plan, Stage
from sfumato.mechanisms.people import declared, read_by
from sfumato.randomness import Entropy
from sfumato.release import Release, assemble
from sfumato.schema import Labels, Schema


@declare
class Suppress:
    """Remove every quasi-identifier; publish what is carried.

    Sensitive and target attributes stay as they are; every quasi-identifier becomes `*`.

    >>> table = sf.datasets.adult("test")
    >>> sf.publish(table, sf.Suppress())
    <Release adult: 1 group, 15060 rows, t-closeness(0)>
    """

    name: ClassVar[str] = "suppress"
    plain: ClassVar[str] = "Without any column that others may know"
    counts_people: ClassVar[bool] = True

    to_json = to_json

    def claim(self, schema: Schema) -> Claim:
        """Promise 0-closeness; without a sensitive attribute there is nothing to be close to."""
        if not schema.sensitive:
            return Claim(KAnonymity(1), silent_on=("anything: no attribute is declared sensitive",), unit=schema.unit)
        notes = requirement_notes(TCloseness(0), schema)
        silences = ("what the overall distribution tells", "who is in the table", *notes)
        return Claim(TCloseness(0), silent_on=silences, unit=schema.unit)

    def needs(self, schema: Schema) -> list[tuple[str, ...]]:
        """Ask for the counts of the carried attributes alone (of the quasi-identifiers where nothing is carried)."""
        return [tuple(attribute.name for attribute in schema.carried or schema.quasi)]

    def plan(self, schema: Schema) -> Plan:
        """One stage, no budget."""
        return Plan((Stage("suppress", does=f"replaces {len(schema.quasi)} quasi-identifiers by *"),))

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Put all rows into one box."""
        schema = counts.schema
        found = counts[self.needs(schema)[0]]
        empty = len(found.weights) == 0
        tables = tuple(Labels.from_hulls(a, np.array([0]), np.array([a.size]))[0] for a in schema.quasi)
        groups = 0 if empty else 1
        people = None
        if counts.members is not None:
            asked = read_by(TCloseness(0), found) if schema.sensitive else []
            people = declared(counts.members, np.zeros(len(found.weights), np.int64), groups, asked)
        release, _ = assemble(
            schema,
            tables=tables,
            labels=np.zeros((groups, len(tables)), np.int32),
            weight=np.full(groups, found.rows),
            group=np.zeros(groups, np.int64),
            carried_group=np.zeros(len(found.weights) if schema.carried else 0, np.int64),
            carried_codes=found.codes if schema.carried else np.zeros((0, 0), np.int32),
            carried_weight=found.weights if schema.carried else np.zeros(0, np.int64),
            claim=self.claim(schema),
            mechanism=self.to_json(),
            left_out=counts.left_out,
            people=people,
        )
        return release
