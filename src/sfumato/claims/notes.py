"""Sentences for `Claim.silent_on`: what a reader of a requirement might wrongly infer."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.claims.requirement import Requirement

__all__ = ["requirement_notes", "vacuous_notes"]


def vacuous_notes(requirement: Requirement) -> tuple[str, ...]:
    """Name the parts that promise nothing."""
    return tuple(f"anything by {part}: every table satisfies it" for part in requirement.parts if part.vacuous)


def requirement_notes(
    requirement: Requirement,
    *,
    sensitive: Sequence[str] = (),
    target: Sequence[str] = (),
    missing: Sequence[str] = (),
    rows_per_person: int = 1,
) -> tuple[str, ...]:
    """Return what the requirement does not cover, for these sensitive attributes and rows per person.

    `missing` names the sensitive attributes a person may lack.
    """
    notes: list[str] = list(vacuous_notes(requirement))
    labels = {part.label for part in requirement.parts}
    if requirement.reads_sensitive and len(sensitive) > 1:
        names = ", ".join(sensitive)
        notes.append(f"{names} are each checked separately; their combinations in a class are promised nothing")
    if rows_per_person > 1:
        if labels & {"k-anonymity", "alpha-k-anonymity"}:
            notes.append(
                f"a person may have {rows_per_person} rows, so k people are counted as k x {rows_per_person} rows"
            )
        if requirement.reads_sensitive:
            notes.append(
                f"shares of sensitive values count rows, and one person may own {rows_per_person} rows of a class"
            )
    if target:
        names = ", ".join(target)
        notes.append(
            f"{names}: published as it is, it may be one and the same in a class, and who knows it learns more"
        )
    if missing and requirement.reads_sensitive:
        names = ", ".join(missing)
        notes.append(f"who lacks {names}: missing counts as a value of its own, so the known ones may be all alike")
    if labels == {"k-anonymity"}:
        notes.append("what the people of one class have in common: sensitive values are not looked at")
    notes.append("what a reader knows from elsewhere, including other releases about the same people")
    return tuple(notes)
