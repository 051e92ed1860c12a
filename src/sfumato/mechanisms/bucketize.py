"""Bucketize: partition the people, keep their quasi-identifiers exact, break the link to what they carry.

Source    Li & Li, KDD 2009, section 5.1 ("bucketization"); Xiao & Tao, "Anatomy", VLDB 2006, for the two tables.
Claim     In every group the carried values satisfy the requirement; which row carries which value is not said.
Because   groups are the classes of Mondrian under the same requirement, and the two tables meet in the group only.
Checked   tests/claims/test_buckets.py::test_bucketize_verifies
          tests/claims/test_buckets.py::test_the_link_inside_a_group_is_gone
          tests/claims/test_buckets.py::test_buckets_are_never_called_k_anonymous
          Nobody is hidden among others by their quasi-identifiers, so k- and (alpha, k)-anonymity are refused.
Silent on who is in the table: quasi-identifiers are exact, so membership is published; on what a reader infers about a
          person from how groups differ.
Cost      that of Mondrian; what is written is larger, since every exact combination is a box of its own.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import ClassVar

import numpy as np

from sfumato.claims import Claim, LDiversity, Requirement, anonymity_parts, requirement_notes
from sfumato.declare import declare, parameter, to_json
from sfumato.errors import ParameterError
from sfumato.mechanisms.base import Gathered, Plan, Stage, needs_published
from sfumato.mechanisms.conditions import refuse_no_requirement, refuse_spellings
from sfumato.mechanisms.exact_release import IMPOSSIBLE, MEMBERSHIP, bucket_release
from sfumato.mechanisms.mondrian.cutting import CutRule, cut_table, tree_recoding
from sfumato.randomness import Entropy
from sfumato.release import Release, Residence
from sfumato.schema import Schema


@declare
class Bucketize:
    """Keep quasi-identifiers exact and break their link to the sensitive values inside groups.

    Two linked tables are published: exact quasi-identifiers with a group, and what each group carries.

    Under any requirement on sensitive values; k-anonymity is refused, since exact quasi-identifiers hide nobody.

    >>> table = sf.datasets.adult("test")
    >>> str(sf.publish(table, sf.Bucketize(sf.LDiversity(4))).claim)
    'l-diversity(4) [checked]'
    """

    name: ClassVar[str] = "bucketize"
    plain: ClassVar[str] = "Exact rows in groups, private values listed apart"
    recoding: ClassVar[str] = "confidential"

    requirement: Requirement = parameter("What every group must satisfy.", example=LDiversity(3))
    _: KW_ONLY
    cut: CutRule = parameter("Which cut is taken first.", default="best")

    to_json = to_json
    needs = needs_published

    def __post_init__(self) -> None:
        refuse_no_requirement(self.requirement, "Bucketize(LDiversity(3))")
        if never := anonymity_parts(self.requirement):
            rule = (
                f"cannot be promised of buckets: every row keeps its exact quasi-identifiers, and {never[0].label} "
                "says that they are shared by k people"
            )
            hint = "ask for l-diversity or t-closeness, or generalize with Mondrian"
            raise ParameterError("requirement", str(self.requirement), rule, hint=hint)

    def claim(self, schema: Schema) -> Claim:
        """Promise the requirement for every group."""
        refuse_spellings(self.requirement, schema)
        notes = requirement_notes(self.requirement, schema)
        return Claim(self.requirement, silent_on=(MEMBERSHIP, IMPOSSIBLE, *notes), unit=schema.unit)

    def plan(self, schema: Schema) -> Plan:
        """Two stages; no budget is spent."""
        cuts = Stage("partition", does=f"cuts {len(schema.quasi)} quasi-identifiers under {self.requirement}")
        return Plan((cuts, Stage("separate", does="writes quasi-identifiers and carried values into two tables")))

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Partition by Mondrian; publish the parts as groups of exact rows."""
        table = counts.published
        if not counts.schema.carried:
            hint = 'give a column role = "sensitive"'
            raise ParameterError("carried", "nothing", "there is no link to break", hint=hint)
        parts, _ = cut_table(table, self.requirement, cut=self.cut)
        release, number = bucket_release(
            table,
            np.arange(len(table.weights)),
            parts.leaf,
            table.weights,
            claim=self.claim(counts.schema),
            mechanism=self.to_json(),
            left_out=counts.left_out,
        )
        home = number[parts.leaf].astype(np.int32) if len(number) else parts.leaf
        names = tuple(attribute.name for attribute in counts.schema.quasi)
        recoding = tree_recoding(parts.tree, names).with_groups(number)
        return replace(release, residence=Residence(table.names, table.codes, home, table.weights), recoding=recoding)
