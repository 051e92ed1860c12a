"""FullDomain: every quasi-identifier at one depth of its tree; classes that are too small are suppressed.

Source    Samarati, "Protecting respondents' identities in microdata release", IEEE TKDE 13(6), 2001: full-domain
          generalization with suppression. The depth is given here, not searched for.
Claim     Every published class has at least k people (rows, where the schema does not decide who they are).
Because   a class with fewer rows than k people may have is left out altogether, and none is changed afterwards.
Checked   tests/surfaces/test_plugin.py::test_the_claim_holds_at_every_depth
          tests/surfaces/test_plugin.py::test_a_mutant_that_keeps_small_classes_is_caught
Silent on what the people of one class have in common, and on how many people were in each class that was left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sfumato.claims import Claim, KAnonymity, requirement_notes
from sfumato.counts import Table
from sfumato.errors import Infeasible, ParameterError, count_of
from sfumato.measures import Measured
from sfumato.mechanisms import Gathered, Plan, Stage
from sfumato.randomness import Entropy
from sfumato.release import Release, Residence, assemble
from sfumato.schema import Attribute, Labels, Schema

__all__ = ["FullDomain", "small_classes"]


@dataclass(frozen=True, slots=True)
class FullDomain:
    """Publish each quasi-identifier at one depth of its tree and leave out the classes with fewer than k people."""

    k: int = field(metadata={"help": "Every class has at least k people."})
    depth: int = field(default=1, kw_only=True, metadata={"help": "Steps below the root of each tree; 0 is *."})

    def __post_init__(self) -> None:
        for name, least in (("k", 1), ("depth", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ParameterError(name, value, f"must be a whole number of at least {least}")

    def claim(self, schema: Schema) -> Claim:
        """Promise k-anonymity."""
        requirement = KAnonymity(self.k)
        notes = requirement_notes(requirement, schema)
        return Claim(requirement, silent_on=notes, unit=schema.unit)

    def needs(self, schema: Schema) -> list[tuple[str, ...]]:
        """Ask for the counts over all published attributes."""
        return [tuple(attribute.name for attribute in schema.published)]

    def plan(self, schema: Schema) -> Plan:
        """Two stages; no budget is spent."""
        coarse = f"publishes {len(schema.quasi)} quasi-identifiers at depth {self.depth} of their trees"
        return Plan((Stage("generalize", does=coarse), Stage("suppress", does=f"leaves out classes below {self.k}")))

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Generalize, group, and keep the classes that are large enough. Nothing is drawn."""
        schema, table, width = counts.schema, counts.published, len(counts.schema.quasi)
        cuts = [_cut(attribute, self.depth) for attribute in schema.quasi]
        ids = np.zeros((len(table.weights), width), np.int32)
        for at, (low, _) in enumerate(cuts):
            ids[:, at] = np.searchsorted(low, table.codes[:, at], side="right") - 1
        boxes, group = np.unique(ids, axis=0, return_inverse=True)
        group = group.reshape(-1)
        weight = np.zeros(len(boxes), np.int64)
        np.add.at(weight, group, table.weights)
        kept = self._kept(weight, schema.rows_per_person)
        if len(weight) and not kept.any():
            best = int(weight.max()) // schema.rows_per_person
            raise Infeasible(KAnonymity(self.k), best, "every class is smaller", hint="a smaller depth, or a smaller k")
        number = np.cumsum(kept) - 1  # of each class that stays
        stays = kept[group]
        lost = int(weight[~kept].sum())
        notes = (f"{count_of(lost, 'row', 'rows')} in classes below {self.k} left out",) if lost else ()
        release, renumbered = assemble(
            schema,
            tables=tuple(
                Labels.from_hulls(attribute, low, high)[0]
                for attribute, (low, high) in zip(schema.quasi, cuts, strict=True)
            ),
            labels=boxes[kept],
            weight=weight[kept],
            group=np.arange(int(kept.sum())),
            carried_group=number[group[stays]],
            carried_codes=table.codes[stays, width:],
            carried_weight=table.weights[stays],
            claim=self.claim(schema),
            mechanism=self.to_json(),
            left_out=counts.left_out + lost,
            notes=notes,
        )
        home = np.where(stays, renumbered[number[group]] if kept.any() else -1, -1).astype(np.int32)
        return replace(release, residence=Residence(table.names, table.codes, home, table.weights))

    def _kept(self, weight: np.ndarray, rows_per_person: int) -> np.ndarray:
        """Which classes are large enough, where a person may have several rows."""
        kept: np.ndarray = weight >= self.k * rows_per_person
        return kept

    def to_json(self) -> dict[str, Any]:
        """Return name and parameters."""
        return {"name": "full-domain", "k": self.k, "depth": self.depth}


def _cut(attribute: Attribute, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the intervals of codes at a depth of the attribute's tree; a leaf above it stands for itself."""
    tree = attribute.nodes
    ends = np.array([not below for below in tree.children])
    at = np.flatnonzero((tree.depth == depth) | (ends & (tree.depth < depth)))
    return tree.low[at], tree.high[at]


def small_classes(table: Table, release: Release) -> Measured:
    """The share of the published classes that hold fewer than twice the rows of the smallest one.

    These are the classes that could not be cut in two. No suppressed group is counted.
    """
    sizes = release.groups.weight
    if release.suppressed_group is not None:
        sizes = np.delete(sizes, release.suppressed_group)
    value = float((sizes < 2 * sizes.min()).mean()) if len(sizes) else 0.0
    return Measured(value, unit="share", formula="classes with fewer than 2 min |E| rows / classes")
