"""Mondrian: cut the table into boxes as long as every part satisfies the requirement.

Source    LeFevre, DeWitt & Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE 2006; under l, t and semantic
          privacy as in Li & Li, KDD 2009, section 5.1. The rule `best` is ours (kernels/mondrian/sweep.py).
Claim     Every published class satisfies the requirement, for each sensitive attribute separately.
          Where the table is keyed by person it is satisfied in distinct people (mechanisms/people.py).
Because   a cut is taken only when every part satisfies it. The requirements are closed under union, so a part that
          fails cannot be repaired by cutting it further, and no allowed cut is missed
          (docs/theory/partition.md#closed-under-union).
Checked   tests/claims/test_mondrian_releases.py::test_every_release_verifies
          tests/claims/test_mondrian_releases.py::test_a_mutant_that_checks_one_side_only_is_caught
          tests/claims/test_mondrian_kernel.py::test_compiled_equals_the_reference
          tests/claims/test_mondrian_slack.py::test_what_is_published_costs_no_more_than_the_best_rule_alone
          tests/claims/test_dlink_mondrian.py::test_every_class_passes_in_its_box
          tests/claims/test_people.py::test_every_class_holds_in_people
Silent on what a reader knows from elsewhere, other releases about the same people among it; on what the choice of
          cuts itself tells (the boxes depend on the data); on columns that are never cut because too few rows lack
          them (`Release.warnings` names these).
Cost      O(distinct rows x quasi-identifiers) a level; sorting and sweeping are counting passes.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

from sfumato.claims import (
    AlphaK,
    Claim,
    KAnonymity,
    Requirement,
    TCloseness,
    asked_for,
    requirement_notes,
    split_linkability,
)
from sfumato.counts import Table
from sfumato.counts.few_missing import few_missing
from sfumato.declare import Rational, declare, hold, parameter, to_json
from sfumato.errors import ParameterError, Problem
from sfumato.exact import Number
from sfumato.mechanisms.base import Gathered, Plan, Stage, needs_published
from sfumato.mechanisms.conditions import refuse_no_requirement, refuse_spellings
from sfumato.mechanisms.mondrian.cutting import CutRule, NominalCuts, cut_table, least_people, released
from sfumato.mechanisms.mondrian.two_phases import cut_in_two_phases
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.schema import Schema


@declare
class Mondrian:
    """Cut the table into classes that each satisfy the requirement.

    cut       "best": of all allowed cuts the one that lowers most the certainty penalty plus 0.3 times the distance of
              each attribute from uniform over its label; where the requirement reads a sensitive attribute, also with
              regard to what the cut leaves to spare, and the cheapest partition is kept; "widest": the widest
              attribute, at its median.
    nominal   cut nominal attributes between any two leaves in leaf order, or only into the children of a node. A mask
              is always cut at its nodes: its labels read 50***.
    tight     publish the values that occur in a class instead of the declared box, nodes among it; the ends of an
              interval are then values of people. Nominal values in one class then need not be alike: under a
              requirement that reads a sensitive attribute they may be joined because they differ in it.
    max_suppressed   share of rows that may be left in the suppressed group, or out, where that buys more.

    >>> table = sf.datasets.adult("test")
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50) & sf.LDiversity(3)))
    >>> str(release.claim)
    'k-anonymity(50) & l-diversity(3) [checked]'
    >>> sf.Mondrian(k=50, l=3) == sf.Mondrian(sf.KAnonymity(50) & sf.LDiversity(3))
    True
    """

    name: ClassVar[str] = "mondrian"
    plain: ClassVar[str] = "Coarser values, so that rows of a group look alike"
    counts_people: ClassVar[bool] = True
    cuts_in_two_phases: ClassVar[bool] = True
    recoding: ClassVar[str] = "confidential"

    requirement: Requirement = parameter("What every class must satisfy.", example=KAnonymity(10) & TCloseness("0.2"))
    _: KW_ONLY
    cut: CutRule = parameter("Which cut is taken first.", default="best")
    nominal: NominalCuts = parameter("Where nominal attributes may be cut.", default="leaves")
    tight: bool = parameter("Publish the values that occur instead of declared intervals.", default=False)
    max_suppressed: Rational = parameter(
        "Share of rows that may be suppressed.", default=0, least=0, below=1, hint="0.01 is one row in a hundred"
    )

    to_json = to_json
    needs = needs_published

    def __init__(
        self,
        requirement: Requirement | None = None,
        *,
        k: int | None = None,
        l: int | None = None,  # noqa: E741  (its name everywhere)
        t: Number | None = None,
        cut: CutRule = "best",
        nominal: NominalCuts = "leaves",
        tight: bool = False,
        max_suppressed: Number = 0,
    ) -> None:
        """Take a requirement, or k, l and t by name; with both, every class satisfies both."""
        named = asked_for({"k": k, "l": l, "t": t})
        both = named if requirement is None else requirement if named is None else requirement & named
        hold(self, requirement=both, cut=cut, nominal=nominal, tight=tight, max_suppressed=max_suppressed)
        self.__post_init__()

    def __post_init__(self) -> None:
        refuse_no_requirement(self.requirement, "Mondrian(KAnonymity(10))")
        if self.tight and split_linkability(self.requirement)[1] is not None:
            rule = "cannot be combined with linkability, which is tested on declared boxes"
            raise ParameterError("tight", self.tight, rule, hint="DLink(Mondrian(..., tight=True))")
        if self.max_suppressed and self.cut == "widest":
            raise ParameterError("max_suppressed", self.max_suppressed, 'needs cut="best"', hint="leave it at 0")

    def claim(self, schema: Schema) -> Claim:
        """Promise the requirement for every published class; linkability beside it is an estimate."""
        checked, asked = split_linkability(self.requirement)
        refuse_spellings(self.requirement, schema, linkability=asked is not None)
        notes = requirement_notes(self.requirement, schema)
        if asked is not None:
            return Claim(asked.linkable(checked), silent_on=(*asked.notes(), *notes), unit=schema.unit)
        return Claim(self.requirement, silent_on=notes, unit=schema.unit)

    def plan(self, schema: Schema) -> Plan:
        """One stage; no budget is spent."""
        does = f"cuts {len(schema.quasi)} quasi-identifiers under {self.requirement}, {self.cut} cut first"
        return Plan((Stage("partition", does=does),))

    def uncuttable(self, table: Table, *, wrapped: bool) -> list[Problem]:
        """Name the columns that too few rows lack to be cut off; none where rows may be suppressed and so set aside."""
        if self.max_suppressed:
            return []
        people = [part for part in self.requirement.parts if isinstance(part, KAnonymity | AlphaK)]
        least = max(map(least_people, people), default=0)
        rows = max(least_people(part) for part in self.requirement.parts)  # all but these count rows, where no key is
        suppressing = not wrapped and self.cut == "best" and table.held and not table.schema.several
        return few_missing(table, least, least_rows=rows, suppressing=suppressing)

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Cut, label, and carry the sensitive and target counts of each class."""
        if counts.engine is not None:
            return self._apply_in_two_phases(counts)
        table, members = counts.published, counts.members
        if members is not None:
            self._refuse_with_people()
        parts, left_out = cut_table(
            table,
            self.requirement,
            cut=self.cut,
            nominal=self.nominal,
            tight=self.tight,
            max_suppressed=self.max_suppressed,
            levels=True,
            members=members,
        )
        return released(
            table,
            parts,
            tight=self.tight,
            left_out=counts.left_out + left_out,
            suppressed_out=left_out,
            claim=self.claim(counts.schema),
            mechanism=self.to_json(),
            members=members,
        )

    def _apply_in_two_phases(self, counts: Gathered) -> Release:
        """Cut a table that is too large to hold; the boxes are the same (see `two_phases`)."""
        assert counts.engine is not None
        by_people = counts.schema.several
        if by_people:
            self._refuse_with_people()
        if self.max_suppressed:
            rule = "needs all distinct rows at once, and there are more than driver_cells"
            raise ParameterError(
                "max_suppressed", self.max_suppressed, rule, hint="leave it at 0, or raise driver_cells"
            )
        found = cut_in_two_phases(
            counts.engine,
            counts.schema,
            self.requirement,
            limit=counts.driver_cells,
            cut=self.cut,
            nominal=self.nominal,
            tight=self.tight,
            by_people=by_people,
        )
        return released(
            found.table,
            found.parts,
            tight=self.tight,
            left_out=counts.left_out,
            suppressed_out=0,
            claim=self.claim(counts.schema),
            mechanism=self.to_json(),
            members=found.members,
            in_two_phases=True,
        )

    def _refuse_with_people(self) -> None:
        """Refuse what is defined by rows only, where people are counted."""
        hint = "rows_per_person = 1 keeps one row of each person"
        if self.max_suppressed:
            rule = "cannot be used where a person may have several rows: leaving rows out would change who is counted"
            fix = 'missing = { values = [""], action = "suppress" } leaves out the rows without a value of a column'
            raise ParameterError("max_suppressed", self.max_suppressed, rule, hint=f"{fix}; {hint}")
        if split_linkability(self.requirement)[1] is not None:
            rule = "counts rows under a model, and a person may have several"
            raise ParameterError("requirement", str(self.requirement), rule, hint=hint)
