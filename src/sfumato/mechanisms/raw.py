"""Raw: the table as it is, as a release that can be measured and never saved. The zero of utility loss.

Source    Li & Li, "On the tradeoff between privacy and utility in data publishing", KDD 2009, section 4.3.
Claim     Nothing is promised.
Because   it publishes every value.
Checked   tests/claims/test_suppress_and_raw.py::test_raw_is_never_saved
Silent on everything: it exists so that other releases have something to be measured against.
Cost      one group-by, and a box for each distinct combination of quasi-identifiers.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.claims import Claim, Nothing
from sfumato.declare import declare, to_json
from sfumato.mechanisms.base import Gathered, Plan, Stage, needs_published
from sfumato.randomness import Entropy
from sfumato.release import Release, assemble
from sfumato.schema import Labels, Schema

__all__ = ["Raw"]


@declare
class Raw:
    """One box for each distinct combination of quasi-identifiers.

    >>> table = sf.datasets.adult("test")
    >>> sf.publish(table, sf.Raw())
    <Release adult: 6269 groups, 15060 rows, nothing>
    """

    name: ClassVar[str] = "raw"
    plain: ClassVar[str] = "The table as it is"
    bounds_people: ClassVar[bool] = True  # it promises nothing, so that nothing is counted wrongly

    to_json = to_json
    needs = needs_published

    def claim(self, schema: Schema) -> Claim:
        """Promise nothing."""
        return Claim(Nothing(), silent_on=("everything",))

    def plan(self, schema: Schema) -> Plan:
        """One stage, no protection."""
        return Plan((Stage("raw", does="keeps every value; can be measured, never saved"),))

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Give each combination of quasi-identifiers its own box."""
        schema, found = counts.schema, counts.published
        width = len(schema.quasi)
        quasi = found.codes[:, :width]
        if width:
            boxes, group = np.unique(quasi, axis=0, return_inverse=True)
        else:
            boxes, group = np.zeros((min(1, len(quasi)), 0), np.int32), np.zeros(len(quasi), np.int64)
        group = group.reshape(-1)
        tables, labels = Labels.exact(schema.quasi, boxes)
        release, _ = assemble(
            schema,
            tables=tables,
            labels=labels,
            weight=np.bincount(group, weights=found.weights, minlength=len(boxes)).astype(np.int64),
            group=np.arange(len(boxes)),
            carried_group=group,
            carried_codes=found.codes[:, width:],
            carried_weight=found.weights,
            claim=self.claim(schema),
            mechanism=self.to_json(),
            left_out=counts.left_out,
            savable=False,
        )
        return release
