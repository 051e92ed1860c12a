"""What is left of a requirement where a column that is published unchanged follows from quasi-identifiers.

Source    Ours: the attack on classes by a column that the attacker can compute.
Claim     `rows` is the number of published rows whose class, taken only with the rows that agree in what a reader knows
          of the derived columns, does not satisfy the requirement; counted in people where the table is.
Because   the classes are split by the codes of these columns, and each part is checked as the requirement has it; a
          sensitive column that follows from quasi-identifiers is known to the reader anyway and is not looked at.
Checked   tests/claims/test_derived_columns.py::test_refined_classes_equal_a_count_by_hand
          tests/claims/test_derived_columns.py::test_a_mutant_that_does_not_split_is_caught
Silent on relations that `counts.derived` does not find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from sfumato.claims import VERIFY_TOLERANCE, Requirement
from sfumato.counts import Members, Table
from sfumato.counts.derived import DERIVED_HINT, Derived
from sfumato.errors import ReleaseError, count_of
from sfumato.mechanisms.people import declared, satisfied, satisfied_by_rows
from sfumato.release import PlacedLines, Release, SeenByKey
from sfumato.schema.fingerprints import lonely_people


@dataclass(frozen=True, slots=True)
class RefinedClasses:
    """How many rows of a release keep less than its requirement because of columns that follow from others."""

    rows: int
    _: KW_ONLY
    among: int
    columns: tuple[Derived, ...]
    requirement: Requirement
    seen: bool = True  # False where people are counted and nobody knows whose the rows of a class are

    def require(self) -> None:
        """Raise `ReleaseError` where the refined classes do not satisfy the requirement."""
        if self.rows:
            hint = f"{DERIVED_HINT}; or allow it with allow_derived=True (--allow-derived)"
            raise ReleaseError(self.describe(), hint=hint)

    def describe(self) -> str:
        """Say which columns follow from which, and for how many rows that undoes the requirement."""
        which = "; ".join(column.describe() for column in self.columns)
        if not self.seen:
            unseen = "in people cannot be seen: who has which row is not known"
            return f"{which}: whether the classes, with what they reveal, still satisfy {self.requirement} {unseen}"
        rows = f"{self.rows:,} of {count_of(self.among, 'row')}"
        return f"{which}: with what they reveal, the class of {rows} no longer satisfies {self.requirement}"

    def silences(self) -> tuple[str, ...]:
        """Say in a claim what a reader can do; nothing where the classes keep what is required."""
        if not self.rows:
            return ()
        return tuple(
            f"a reader who knows {' and '.join(one.known)} of somebody: {one.describe()}, and {one.column} is not "
            "made coarser, so that it splits the rows of a class"
            for one in self.columns
        )


def refined_classes(table: Table, release: Release, columns: Sequence[Derived]) -> RefinedClasses | None:
    """Return what derived columns leave of a release's requirement; None where there is nothing to look at."""
    asked, names = release.claim.requirement, [attribute.name for attribute in release.carried]
    found = tuple(column for column in columns if column.column in names)
    if asked is None or not found:
        return None
    known = {column.column for column in found if column.follows}
    lines = _by_people(table, release)
    if lines is None and release.people is not None:  # rows would be counted as people
        return RefinedClasses(release.rows, among=release.rows, columns=found, requirement=asked, seen=False)
    lines = lines or _by_rows(release)
    keys = [one.part[lines.codes[:, names.index(one.column)]] for one in found]
    split = np.unique(np.column_stack([lines.group, *keys]), axis=0, return_inverse=True)[1].reshape(-1)
    stays = lines.group >= 0
    place = np.where(stays, split, -1)
    number = int(place.max(initial=-1)) + 1
    held = [
        (attribute, lines.codes[:, at])
        for at, attribute in enumerate(release.carried)
        if attribute.role == "sensitive" and attribute.name not in known
    ]
    size = np.bincount(place[stays], weights=lines.weight[stays], minlength=number)
    if lines.members is not None:
        people = declared(lines.members, place, number, held)
        good = satisfied(asked, people, [attribute for attribute, _ in held], tolerance=VERIFY_TOLERANCE)
    else:
        good = satisfied_by_rows(asked, place, lines.weight, number, held, release.schema.rows_per_person)
    return RefinedClasses(int(size[~good & (size > 0)].sum()), among=release.rows, columns=found, requirement=asked)


def seen_by_key(table: Table, release: Release) -> SeenByKey | None:
    """Return what the key of a person shows of a release; None where people are not counted."""
    lines = _by_people(table, release)
    if lines is None or lines.members is None:
        return None
    held = [(a, lines.codes[:, at]) for at, a in enumerate(release.carried)]
    counted = declared(lines.members, lines.group, len(release.groups), held)
    kept = counted.classes > 0
    if release.suppressed_group is not None:
        kept[release.suppressed_group] = False
    agree = {a: kept & counted.alike(a) for a, _ in held if a.role == "sensitive"}
    alike = {a.name: int(groups.sum()) for a, groups in agree.items()}
    missing = {a.name: int((groups & counted.valueless(a)).sum()) for a, groups in agree.items()}
    number = release.alike_groups()[lines.group]
    return SeenByKey(
        counted.everyone,
        people_alone=_alone(lines, lines.members, lines.codes) if release.carried else None,
        people_alone_on_all=_alone(lines, lines.members, np.column_stack([number, lines.codes])),
        alike=alike,
        missing=missing,
        counted=counted,
        knowing={
            a.name: (
                _people_with(lines, lines.members, at, len(release.groups), without=a.no_value_codes),
                _people_with(
                    lines, lines.members, at, len(release.groups), without=(*a.no_value_codes, *a.unsure_codes)
                ),
            )
            for at, (a, _) in enumerate(held)
            if a.role == "sensitive"
        },
    )


def _people_with(
    lines: PlacedLines, members: Members, column: int, groups: int, *, without: Sequence[int]
) -> np.ndarray:
    """Return how many people of each group have, in any of their rows, a value of a column other than some."""
    kept = (lines.group >= 0) & ~np.isin(lines.codes[:, column], list(without))
    there = kept[members.line]
    pairs = np.unique(np.column_stack([lines.group[members.line[there]], members.person[there]]), axis=0)
    return np.bincount(pairs[:, 0], minlength=groups)


def _alone(lines: PlacedLines, members: Members, published: np.ndarray) -> int:
    """Return how many people have published cells that nobody else has; `published` are those of each line."""
    cells = np.unique(published, axis=0, return_inverse=True)[1].reshape(-1)
    kept = lines.group[members.line] >= 0
    pairs = np.unique(np.column_stack([members.person[kept], cells[members.line[kept]]]), axis=0)
    return lonely_people(pairs[:, 0], pairs[:, 1])


def _by_rows(release: Release) -> PlacedLines:
    carried = release.groups.carried
    return PlacedLines(carried.codes, group=carried.group.astype(np.int64), weight=carried.weight)


def _by_people(table: Table, release: Release) -> PlacedLines | None:
    """Return the lines of the table with who has them, where a release counts people and knows where each line went."""
    home = release.residence
    if release.people is None or release.placed is not None:
        return release.placed
    if not table.held or (home is None and len(release.groups) > 1):
        return None
    names = tuple(a.name for a in release.carried) if home is None else home.names
    counts, members = table.counts(names), table.members(names)
    group = np.zeros(len(counts), np.int64) if home is None else home.group.astype(np.int64)
    places = [names.index(attribute.name) for attribute in release.carried]
    return PlacedLines(counts.codes[:, places], group=group, weight=counts.weights, members=members)
