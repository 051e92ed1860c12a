"""What an attack is run on: releases, what the attacker knows, and the people it is tried on.

People who agree in what is known of them are attacked once, with their number.

Source    Ours.
Claim     Each person of a table is attacked by one row, whether they have one row or many.
Because   where the schema names a person, one row of each is drawn. A sentence speaks of people where each row that
          is attacked is a different person, by a key or because the schema says so; else of rows. The most frequent
          value is that of most people of the table, whichever rows were drawn: somebody with values of several rows
          counts for each by its share of these rows.
Checked   tests/claims/test_attacks_count_people.py::test_rates_are_of_people
          tests/claims/test_attacks_count_people.py::test_a_mutant_that_counts_rows_is_caught
          tests/claims/test_attacks_count_people.py::test_the_most_frequent_value_is_one_for_all_attacks
          tests/claims/test_attacks_count_people.py::test_no_sentence_says_people_where_rows_are_counted
          tests/claims/test_attacks_count_people.py::test_a_mutant_sentence_about_people_is_caught
Silent on a schema that says falsely that each row is a different person.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol

import numpy as np

from sfumato.attacks.base import PEOPLE, ROWS, Exposure, Gain, Knowledge, Whom
from sfumato.counts import Table
from sfumato.errors import NotComparable, ParameterError
from sfumato.estimate import measured_attributes, refuse_unmatched
from sfumato.measures.base import worst_of
from sfumato.measures.proportions import Share
from sfumato.mechanisms import Progress
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.schema import Schema

MOST = 25_000  # people on each side; more make an interval narrower than anybody reads


@dataclass(frozen=True)
class Victims:
    """Distinct targets: codes of what is known, of the secret (or of all that is carried), and how many there are."""

    names: tuple[str, ...]
    _: KW_ONLY
    codes: np.ndarray = field(repr=False)
    weight: np.ndarray = field(repr=False)
    known: int
    whom: Whom

    @property
    def quasi(self) -> np.ndarray:
        """Codes of what the attacker knows."""
        return self.codes[:, : self.known]

    @property
    def secret(self) -> np.ndarray:
        """Codes of the first attribute beyond what is known."""
        return self.codes[:, self.known]

    @property
    def people(self) -> int:
        """How many there are in all."""
        return int(self.weight.sum())

    def exposure(self, success: np.ndarray, chance: np.ndarray) -> Exposure:
        """Return how the attack fared on each kind of target."""
        return Exposure(self.names, codes=self.codes, weight=self.weight, success=success, chance=chance)


def victims(
    table: Table, known: Sequence[str], secrets: Sequence[str] = (), *, entropy: Entropy, most: int = MOST
) -> Victims:
    """Return the people of a table, or as many of them at random as are attacked at most, each by one of their rows."""
    rows = one_row_each(table, entropy, most)
    counts = (table if rows is None else table.take(rows)).counts((*known, *secrets))
    return Victims(
        counts.names, codes=counts.codes.astype(np.int64), weight=counts.weights, known=len(known), whom=whom(table)
    )


def whom(table: Table, *, all_rows: bool = False) -> Whom:
    """Return what `victims` of a table are, or with `all_rows` its rows: people only where each is a different one."""
    schema = table.schema
    if schema.unit != "person" or schema.person_in_question:
        return ROWS
    if not schema.several:
        return PEOPLE if schema.rows_per_person == 1 else ROWS
    persons = table.persons()
    if persons is None or (all_rows and len(np.unique(persons)) < len(persons)):
        return ROWS
    return PEOPLE


def how_many(table: Table, counted: Whom) -> int:
    """Return how many people a table has, or rows where these are counted."""
    return table.rows if counted is ROWS or table.people is None else table.people


def one_row_each(table: Table, entropy: Entropy, most: int = MOST) -> np.ndarray | None:
    """Return the rows that stand for people: one of each, at random, `most` of them at most; None for every row.

    Where the schema names a person who may have several rows, a share of these rows is a share of people.
    """
    rows = None
    if table.schema.several and whom(table) is PEOPLE and (persons := table.persons()) is not None:
        order = entropy.child("rows of a person").permutation(len(persons))
        rows = np.sort(order[np.unique(persons[order], return_index=True)[1]])
    many = table.rows if rows is None else len(rows)
    if many <= most:
        return rows
    kept = np.flatnonzero(entropy.subset(many, most))
    return kept if rows is None else rows[kept]


def share_of(success: np.ndarray, weight: np.ndarray) -> Share:
    """Return the share of people on whom the attack succeeds; expected where `success` holds chances."""
    total = float(np.dot(success.astype(np.float64), weight))
    whole = round(total)
    return Share(whole if abs(total - whole) < 1e-9 * max(1.0, total) else total, trials=int(weight.sum()))


def person_weights(table: Table) -> np.ndarray | None:
    """Return a weight for each row such that the rows of a person add up to 1; None if every row has weight 1."""
    persons = table.persons() if table.schema.several and whom(table) is PEOPLE else None
    if persons is None:
        return None
    _, who, rows = np.unique(persons, return_inverse=True, return_counts=True)
    return None if rows.max(initial=1) == 1 else 1 / rows[who.reshape(-1)]


def people_by_value(table: Table, name: str) -> np.ndarray:
    """Return how many people of a table have each value of an attribute, or rows where these are attacked.

    Somebody with several rows counts for each value by its share of these rows, which is the chance that the row they
    are attacked by has it.
    """
    weight, size = person_weights(table), table.schema[name].size
    if weight is None:
        counts = table.counts((name,))
        return np.bincount(counts.codes[:, 0], weights=counts.weights, minlength=size)
    return np.bincount(table.codes([name])[:, 0], weights=weight, minlength=size).round(9)  # equal sums stay equal


def most_frequent(people: np.ndarray) -> Share:
    """Return the share of the people with the most frequent value: how often always saying it is right."""
    most = float(people.max(initial=0.0))
    return Share(round(most) if most.is_integer() else most, trials=round(float(people.sum())))


def worst_attribute(names: Sequence[str], one: Callable[[str], Gain]) -> Gain:
    """Attack each attribute; return the result of the one that is given away most, with each in `by_attribute`.

    An attribute that the attack had nothing to try on is left out, unless there is no other.
    """
    found = {name: one(name) for name in names}
    tried = {name: gain for name, gain in found.items() if gain.targets.trials}
    return worst_of(tried or found, lambda gain: (gain.beyond, gain.rate))


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
        """The release under attack, of attacks on a single one; `attack_all` gives them one after the other."""
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
    refuse_unspeakable(targets, controls)
    for release in () if isinstance(releases, Release) else releases:
        refuse_unmatched(release, targets.schema)
    return self.attempt(
        Case(releases, knowledge=knowledge, targets=targets, controls=controls, seed=seed, progress=progress)
    )


def refuse_unspeakable(targets: Table, controls: Table | None) -> None:
    """Raise where nothing true can be said of people: a file that contradicts its schema, or nobody as a control."""
    targets.doubts.refuse_repeated_keys()
    if controls is None:
        return
    if not controls.rows:
        raise ParameterError("control", "0 rows", "is empty", hint="give rows that are not in the release, or none")
    controls.doubts.refuse_repeated_keys()


def no_others(targets: Table, controls: Table | None) -> str:
    """Say that a control is seen to hold people of the table, or is the table itself; else ""."""
    if controls is None:
        return ""
    alike = targets.rows == controls.rows and targets.schema.published == controls.schema.published
    same = alike and not targets.schema.person and targets.held and controls.held
    if targets.people_shared(controls) or (same and targets.counts() == controls.counts()):
        return "The control holds people of the table: they are compared with themselves, and gains are too low."
    return ""


def known_names(knowledge: Knowledge, schema: Schema) -> tuple[str, ...]:
    """Return the quasi-identifiers the attacker knows; all of them unless named."""
    names = tuple(attribute.name for attribute in schema.quasi)
    if not names:
        raise NotComparable("the table has no quasi-identifier: an attacker must know something of a person.")
    for name in knowledge.known or ():
        if name not in names:
            raise ParameterError("known", name, "is not a quasi-identifier", hint=f"one of {', '.join(names)}")
    return names if knowledge.known is None else knowledge.known
