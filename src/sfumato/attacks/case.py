"""What an attack is run on: releases, what the attacker knows, and the people it is tried on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Protocol

from sfumato.attacks.base import Gain, Knowledge
from sfumato.attacks.victims import Victims, victims
from sfumato.counts import Table
from sfumato.errors import NotComparable, ParameterError
from sfumato.estimate import measured_attributes
from sfumato.mechanisms import Progress
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.schema import Schema

__all__ = ["Case", "known_names", "run"]


@dataclass(frozen=True, slots=True)
class Case:
    """The arguments of `run`, and what attacks take from them."""

    releases: Sequence[Release]
    _: KW_ONLY
    knowledge: Knowledge
    targets: Table
    controls: Table | None = None
    seed: int = 0
    progress: Progress | None = None

    @property
    def release(self) -> Release:
        """The release under attack: attacks on a single one take the last that was given."""
        if isinstance(self.releases, Release) or not self.releases:
            given = "one" if self.releases else "none"
            raise ParameterError("releases", given, "must be a list", hint="[release]")
        return self.releases[-1]

    @property
    def known(self) -> tuple[str, ...]:
        """The quasi-identifiers the attacker knows."""
        return known_names(self.knowledge, self.targets.schema)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The attributes under attack: the one named, else every sensitive one that the release carries.

        Of a release that carries none of them (a differentially private one that counts a target) what it does carry.
        """
        release, schema, asked = self.release, self.targets.schema, self.knowledge.attribute
        carried = {attribute.name for attribute in release.carried}
        if asked is None and not carried & {attribute.name for attribute in schema.sensitive}:
            return tuple(a.name for a in schema.carried if a.name in carried) or (measured_attributes(schema)[0].name,)
        return tuple(a.name for a in measured_attributes(schema, asked, release=release))

    def entropy(self, attack: str) -> Entropy:
        """Return the random stream of an attack."""
        return Entropy.seeded(self.seed).child(attack)

    def same_codes(self, names: Sequence[str]) -> None:
        """Raise where targets and controls are not written in the same codes."""
        if self.controls is None:
            return
        for name in names:
            if name not in self.controls.schema:
                raise NotComparable(f"the controls have no {name}.")
            if not self.targets.schema[name].same_codes(self.controls.schema[name]):
                raise NotComparable(
                    f"targets and controls must have {name} in the same codes. Hint: read both by one schema."
                )

    def people(self, attack: str, secrets: Sequence[str] = (), *, most: int) -> tuple[Victims, Victims | None]:
        """Return targets and controls by what is known of them and by `secrets`, at most `most` of each."""
        known, drawn = self.known, self.entropy(attack)
        self.same_codes((*known, *secrets))
        targets = victims(self.targets, known, secrets, entropy=drawn.child("targets"), most=most)
        if self.controls is None:
            return targets, None
        return targets, victims(self.controls, known, secrets, entropy=drawn.child("controls"), most=most)


class _Attempts(Protocol):
    def attempt(self, case: Case) -> Gain: ...


def run(
    self: _Attempts,
    releases: Sequence[Release],
    knowledge: Knowledge,
    targets: Table,
    controls: Table | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Gain:
    """Attack people in the table and people who are not; the releases must not have seen the controls.

    The method `run` of every attack here: `attempt` is what each of them does.
    """
    return self.attempt(
        Case(releases, knowledge=knowledge, targets=targets, controls=controls, seed=seed, progress=progress)
    )


def known_names(knowledge: Knowledge, schema: Schema) -> tuple[str, ...]:
    """Return the quasi-identifiers the attacker knows; all of them unless named."""
    names = tuple(attribute.name for attribute in schema.quasi)
    if not names:
        raise NotComparable("the table has no quasi-identifier: an attacker must know something of a person.")
    for name in knowledge.known or ():
        if name not in names:
            raise ParameterError("known", name, "is not a quasi-identifier", hint=f"one of {', '.join(names)}")
    return names if knowledge.known is None else knowledge.known
