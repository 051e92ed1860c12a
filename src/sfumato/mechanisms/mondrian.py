"""Mondrian: cut the table into boxes as long as every part satisfies the requirement.

Source    LeFevre, DeWitt & Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE 2006; under l, t and semantic
          privacy as in Li & Li, KDD 2009, section 5.1. The rule `best` is ours (kernels/mondrian_sweep.py).
Claim     Every published class satisfies the requirement, for each sensitive attribute separately.
Because   a cut is taken only when every part satisfies it. The requirements are closed under union, so a part that
          fails can not be repaired by cutting it further, and no allowed cut is missed (docs/theory, C3).
Checked   tests/claims/test_mondrian.py::test_every_release_verifies
          tests/claims/test_mondrian.py::test_a_twin_that_checks_one_side_only_is_caught
          tests/claims/test_mondrian_kernel.py::test_compiled_equals_the_twin
Silent on what a reader knows from elsewhere, other releases about the same people among it; on what the choice of
          cuts itself tells (the boxes depend on the data).
Cost      O(distinct rows x quasi-identifiers) a level; sorting and sweeping are counting passes.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sfumato.claims import Claim, Requirement, requirement_notes
from sfumato.claims.exact import Number, choice, fraction, number_to_json
from sfumato.counts import Counts
from sfumato.errors import ParameterError
from sfumato.kernels.mondrian import Partition, partition
from sfumato.kernels.mondrian_layout import BOX, EXTREMES, SET
from sfumato.kernels.mondrian_layout import Attribute as Axis
from sfumato.mechanisms.base import Gathered, Plan, Stage
from sfumato.mechanisms.conditions import compile_requirement, refuse_infeasible
from sfumato.mechanisms.partition_release import released
from sfumato.randomness import Entropy
from sfumato.release import Outcome
from sfumato.schema import Attribute, Schema, Values

__all__ = ["Mondrian", "cut_table"]

CutRule = Literal["best", "widest"]
NominalCuts = Literal["leaves", "nodes"]


@dataclass(frozen=True, slots=True)
class Mondrian:
    """Partition under any requirement.

    cut       "best": of all allowed cuts the one that lowers most the certainty penalty plus 0.3 times the distance of
              each attribute from uniform over its label; "widest": the widest attribute at its median, as the papers do.
    nominal   cut nominal attributes between any two leaves in leaf order, or only into the children of a node.
    tight     publish the values that occur in a class instead of the declared box.
    max_suppressed   share of rows that may be left in the suppressed group, or out, where that buys more.
    """

    requirement: Requirement
    _: KW_ONLY
    cut: CutRule = "best"
    nominal: NominalCuts = "leaves"
    tight: bool = False
    max_suppressed: Number = 0

    def __post_init__(self) -> None:
        if not isinstance(self.requirement, Requirement):
            hint = "Mondrian(KAnonymity(10))"
            raise ParameterError("requirement", type(self.requirement).__name__, "must be a requirement", hint=hint)
        choice("cut", self.cut, ("best", "widest"))
        choice("nominal", self.nominal, ("leaves", "nodes"))
        limit = fraction("max_suppressed", self.max_suppressed, least=0, below=1, hint="0.01 is one row in a hundred")
        if limit and self.cut == "widest":
            raise ParameterError("max_suppressed", self.max_suppressed, 'goes with cut="best"', hint="leave it at 0")
        object.__setattr__(self, "max_suppressed", limit)

    def claim(self, schema: Schema) -> Claim:
        """Promise the requirement for every published class."""
        notes = requirement_notes(
            self.requirement,
            sensitive=[attribute.name for attribute in schema.sensitive],
            rows_per_person=schema.rows_per_person,
        )
        return Claim(self.requirement, silent_on=notes)

    def needs(self, schema: Schema) -> list[tuple[str, ...]]:
        """Ask for the counts over all published attributes."""
        return [tuple(attribute.name for attribute in schema.published)]

    def plan(self, schema: Schema) -> Plan:
        """One stage; no budget is spent."""
        does = f"cuts {len(schema.quasi)} quasi-identifiers under {self.requirement}, {self.cut} cut first"
        return Plan((Stage("partition", does=does),))

    def apply(self, counts: Gathered, entropy: Entropy) -> Outcome:
        """Cut, label, and carry the sensitive and target counts of each class."""
        table = counts.published
        parts, left_out = cut_table(
            table,
            self.requirement,
            cut=self.cut,
            nominal=self.nominal,
            tight=self.tight,
            max_suppressed=Fraction(self.max_suppressed),
        )
        return released(
            table,
            parts,
            tight=self.tight,
            left_out=counts.left_out + left_out,
            suppressed_out=left_out > 0,
            claim=self.claim(counts.schema),
            mechanism=self.to_json(),
        )

    def to_json(self) -> dict[str, Any]:
        """Return name and parameters."""
        return {
            "name": "mondrian",
            "requirement": self.requirement.to_json(),
            "cut": self.cut,
            "nominal": self.nominal,
            "tight": self.tight,
            "max_suppressed": number_to_json(Fraction(self.max_suppressed)),
        }


def cut_table(
    table: Counts,
    requirement: Requirement,
    *,
    cut: CutRule = "best",
    nominal: NominalCuts = "leaves",
    tight: bool = False,
    max_suppressed: Fraction = Fraction(0),
) -> tuple[Partition, int]:
    """Partition the rows of a table of counts; return it and how many suppressed rows must be left out altogether.

    Suppressed rows stay as one group with every label `*` where they satisfy the requirement themselves. Where they do
    not, they are left out; the overall distribution is then that of the rows that stay, so the rest is cut anew.
    """
    schema = table.schema
    quasi, sensitive = schema.quasi, schema.sensitive
    if not quasi:
        hint = 'give a column role = "quasi"'
        raise ParameterError("quasi", "none", "a partition needs at least one quasi-identifier", hint=hint)
    axes = [_axis(attribute, nominal=nominal, tight=tight) for attribute in quasi]
    places = [table.names.index(attribute.name) for attribute in sensitive]
    stays = np.ones(len(table.weights), bool)
    left_out = 0
    while True:
        codes, weights = table.codes[stays], table.weights[stays]
        overall = [_histogram(codes[:, at], weights, table.schema[table.names[at]].size) for at in places]
        rows = int(weights.sum())
        if rows:
            refuse_infeasible(requirement, sensitive, overall, rows, schema.rows_per_person)
        found = partition(
            np.ascontiguousarray(codes[:, : len(quasi)]),
            weights,
            axes,
            conditions=compile_requirement(requirement, sensitive, overall, schema.rows_per_person),
            sensitive=np.ascontiguousarray(codes[:, places]),
            sensitive_sizes=[attribute.size for attribute in sensitive],
            cut=cut,
            max_suppressed=Fraction(0) if left_out else max_suppressed,
        )
        if found.suppressed_holds:
            return _spread(found, stays), left_out
        left_out = found.suppressed
        stays[np.flatnonzero(stays)[found.leaf < 0]] = False


def _spread(found: Partition, stays: np.ndarray) -> Partition:
    """Number the rows of the whole table again: -2 for those left out."""
    if stays.all():
        return found
    leaf = np.full(len(stays), -2, np.int32)
    leaf[stays] = found.leaf
    return Partition(
        found.low,
        high=found.high,
        weight=found.weight,
        leaf=leaf,
        tree=found.tree,
        suppressed=0,
        suppressed_holds=True,
    )


def _histogram(codes: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(codes, weights=weights, minlength=size).astype(np.int64)


def _axis(attribute: Attribute, *, nominal: NominalCuts, tight: bool) -> Axis:
    label = BOX
    if tight:
        label = SET if isinstance(attribute.domain, Values) else EXTREMES
    nodes = _nodes(attribute) if nominal == "nodes" and attribute.kind == "nominal" else ()
    return Axis(attribute.size, label=label, missing=attribute.missing_code is not None, nodes=nodes)


def _nodes(attribute: Attribute) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    """The public tree without single-child chains: (low, high, children)."""
    tree = attribute.nodes
    kept = np.flatnonzero(tree.distinct)
    number = {int(node): at for at, node in enumerate(kept)}
    children: list[list[int]] = [[] for _ in kept]
    for node in kept[1:]:
        above = int(tree.parent[node])
        while above not in number:
            above = int(tree.parent[above])
        children[number[above]].append(number[int(node)])
    return tuple((int(tree.low[n]), int(tree.high[n]), tuple(children[number[int(n)]])) for n in kept)
