"""A mechanism whose parameters were chosen by looking at the data it will publish.

A frontier is computed from the original. Which point is picked depends on it, and no claim covers that choice. A
differential privacy claim would be read as covering everything, so the release says that it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sfumato.claims import Claim
from sfumato.frontier.naming import written_as
from sfumato.mechanisms import Gathered, Mechanism, Plan
from sfumato.randomness import Entropy
from sfumato.release import Outcome
from sfumato.schema import Schema

__all__ = ["CHOSEN", "Chosen", "chosen"]

CHOSEN = (
    "the choice of the parameters, which were picked on a frontier computed from the same table "
    "(the clean way is to fix them beforehand, or on public data)"
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The same mechanism with one more silence in its claim."""

    mechanism: Mechanism

    def claim(self, schema: Schema) -> Claim:
        """Promise what the mechanism promises, and say what it does not cover."""
        return _told(self.mechanism.claim(schema))

    def needs(self, schema: Schema) -> list[tuple[str, ...]]:
        """Ask for what the mechanism needs."""
        return self.mechanism.needs(schema)

    def plan(self, schema: Schema) -> Plan:
        """Return the mechanism's plan."""
        return self.mechanism.plan(schema)

    def apply(self, counts: Gathered, entropy: Entropy) -> Outcome:
        """Make the release under the fuller claim."""
        outcome = self.mechanism.apply(counts, entropy)
        claim = outcome.release.claim or self.mechanism.claim(counts.schema)
        return Outcome(replace(outcome.release, claim=_told(claim)), recoding=outcome.recoding)

    def to_json(self) -> dict[str, Any]:
        """Return the mechanism's own name and parameters."""
        return written_as(self.mechanism)


def chosen(mechanism: Mechanism, *, proved: bool) -> Mechanism:
    """Return the mechanism to publish with, where its parameters were picked on a frontier of the same table."""
    return Chosen(mechanism) if proved and not isinstance(mechanism, Chosen) else mechanism


def _told(claim: Claim) -> Claim:
    silences = claim.silent_on if CHOSEN in claim.silent_on else (*claim.silent_on, CHOSEN)
    return replace(claim, silent_on=silences)
