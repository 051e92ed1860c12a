"""Anatomy: groups of l people with l different sensitive values, quasi-identifiers kept exact.

Source    Xiao & Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006, figure 3, with its residue step.
Claim     In every group no sensitive value has more than 1/l of the rows: probability l-diversity.
Because   a group takes one row of each of l different values; a left-over row joins a group that lacks its value, so
          every group has at least l rows and each value once.
Checked   tests/claims/test_buckets.py::test_anatomy_is_l_diverse_by_construction
          tests/claims/test_buckets.py::test_a_mutant_without_the_residue_rule_is_caught
Silent on who is in the table: quasi-identifiers are published exactly; on several sensitive attributes.
Cost      one group-by, then rows times the number of sensitive values.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.claims import Claim, LDiversity, requirement_notes
from sfumato.counts import Quota
from sfumato.declare import Whole, declare, parameter, to_json
from sfumato.errors import Infeasible, ParameterError
from sfumato.kernels.anatomy import bucket_values
from sfumato.mechanisms.base import Gathered, Plan, Stage, needs_published
from sfumato.mechanisms.conditions import instead_of_l, refuse_spellings
from sfumato.mechanisms.exact_release import IMPOSSIBLE, MEMBERSHIP, bucket_release
from sfumato.randomness import Entropy
from sfumato.release import Release, Residence
from sfumato.schema import Schema


@declare
class Anatomy:
    """Put people with l different sensitive values into each group; keep quasi-identifiers exact.

    Buckets are created by the l most frequent values; who goes where is drawn with the release's entropy.

    >>> table = sf.datasets.adult("test")
    >>> str(sf.publish(table, sf.Anatomy(2)).claim)
    'l-diversity(2) [checked]'
    """

    name: ClassVar[str] = "anatomy"
    plain: ClassVar[str] = "Exact rows in groups with different private values"
    recoding: ClassVar[str] = "drawn"

    l: Whole = parameter(  # noqa: E741
        "Each group has l different sensitive values.",
        least=2,
        hint="3 means no value above a third",
        unit="values",
        example=3,
        grid=(2, 3, 4, 5),
    )

    to_json = to_json
    needs = needs_published

    def claim(self, schema: Schema) -> Claim:
        """Promise l-diversity of the one sensitive attribute."""
        if len(schema.sensitive) != 1:
            names = ", ".join(attribute.name for attribute in schema.sensitive) or "none"
            hint = 'leave role = "sensitive" to one column (in Python: with_roles(sensitive=...))'
            raise ParameterError("sensitive", names, "Anatomy needs exactly one sensitive attribute", hint=hint)
        requirement = LDiversity(self.l)
        refuse_spellings(requirement, schema)
        notes = requirement_notes(requirement, schema)
        return Claim(requirement, silent_on=(MEMBERSHIP, IMPOSSIBLE, *notes), unit=schema.unit)

    def plan(self, schema: Schema) -> Plan:
        """Three stages; no budget is spent."""
        return Plan(
            (
                Stage("buckets", does=f"takes one row of each of the {self.l} most frequent values, again and again"),
                Stage("residue", does="puts each row that is left into a random group that lacks its value"),
                Stage("separate", does="writes quasi-identifiers and carried values into two tables"),
            )
        )

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Choose the values of each group from counts, then draw which rows fill them."""
        schema, table = counts.schema, counts.published
        claim = self.claim(schema)
        value = table.codes[:, table.names.index(schema.sensitive[0].name)].astype(np.int64)
        totals = np.bincount(value, weights=table.weights, minlength=schema.sensitive[0].size).astype(np.int64)
        self._refuse(totals, schema.sensitive[0].name)
        left = totals.copy()
        groups = bucket_values(left, self.l)
        slots_value, slots_group = groups.reshape(-1), np.repeat(np.arange(len(groups)), self.l)
        extra_value, extra_group = self._residue(left, groups, entropy.child("residue"))
        slots_value = np.concatenate([slots_value, extra_value])
        slots_group = np.concatenate([slots_group, extra_group])
        row, group, many = _filled(value, table.weights, slots_value, slots_group, entropy.child("rows"))
        release, number = bucket_release(
            table, row, group, many, claim=claim, mechanism=self.to_json(), left_out=counts.left_out
        )
        group = number[group] if len(number) else group
        home = Residence(table.names, table.codes[row], group.astype(np.int32), many)
        recoding = Quota(table.names, codes=table.codes[row], group=group.astype(np.int32), quota=many)
        return replace(release, residence=home, recoding=recoding)

    def _refuse(self, totals: np.ndarray, name: str) -> None:
        rows = int(totals.sum())
        if rows and int(totals.max()) * self.l > rows:
            best = Fraction(rows, int(totals.max()))
            why = f"the most frequent value of {name} has more than 1/{self.l} of the rows"
            hint = f"ask for l = {int(best)}" if best >= 2 else instead_of_l(name, int((totals > 0).sum()))
            raise Infeasible(f"l-diversity({self.l})", best, why, hint=hint)

    def _residue(self, left: np.ndarray, groups: np.ndarray, entropy: Entropy) -> tuple[np.ndarray, np.ndarray]:
        """Give each left-over row a random group that lacks its value (figure 3, lines 8-12)."""
        values, homes = [], []
        for value in np.flatnonzero(left):
            lacking = np.flatnonzero(~(groups == value).any(axis=1))
            for place in entropy.permutation(len(lacking))[: int(left[value])]:
                values.append(int(value))
                homes.append(int(lacking[place]))
        return np.array(values, np.int64), np.array(homes, np.int64)


def _filled(
    value: np.ndarray, weights: np.ndarray, slots_value: np.ndarray, slots_group: np.ndarray, entropy: Entropy
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fill the slots of each value with its rows in random order; return (row, group, how many)."""
    order = np.lexsort((slots_group, slots_value))
    by_value = np.argsort(value, kind="stable")
    people = np.repeat(by_value, weights[by_value])  # one entry a person, grouped by value like the slots
    shuffled = np.empty(len(people), np.int64)
    ends = np.cumsum(np.bincount(slots_value, minlength=1))
    start = 0
    for end in ends:
        shuffled[start:end] = people[start:end][entropy.permutation(int(end - start))]
        start = int(end)
    pairs, many = np.unique(np.column_stack([shuffled, slots_group[order]]), axis=0, return_counts=True)
    return pairs[:, 0], pairs[:, 1], many.astype(np.int64)
