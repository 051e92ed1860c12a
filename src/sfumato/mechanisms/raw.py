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

from sfumato.claims import Claim, Nothing
from sfumato.declare import declare, to_json
from sfumato.mechanisms.base import Gathered, Plan, Stage, needs_published
from sfumato.mechanisms.exact_release import exact_release
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.schema import Schema


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
        made = {"claim": self.claim(schema), "mechanism": self.to_json()}
        return exact_release(schema, found.codes, found.weights, left_out=counts.left_out, savable=False, **made)
