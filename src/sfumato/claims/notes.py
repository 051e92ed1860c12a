"""Sentences for `Claim.silent_on`: what a reader of a requirement might wrongly infer."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.claims.requirement import Requirement, Unit

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
    unit: Unit = "row",
    several: bool = False,
) -> tuple[str, ...]:
    """Return what the requirement does not cover, for these sensitive attributes and rows per person.

    `missing` names the sensitive attributes that may lack a value. `unit` is what the claim counts; `several` says that
    people were counted by a key and may have several rows.
    """
    notes: list[str] = list(vacuous_notes(requirement))
    labels = {part.label for part in requirement.parts}
    counted = "people" if unit == "person" else "rows"
    if requirement.reads_sensitive and len(sensitive) > 1:
        names = ", ".join(sensitive)
        notes.append(f"{names} are each checked separately; their combinations in a class are promised nothing")
    if several:
        notes += _of_several(requirement)
    elif rows_per_person > 1:
        if labels & {"k-anonymity", "alpha-k-anonymity"}:
            notes.append(
                f"a person may have {rows_per_person} rows, so k people are counted as k x {rows_per_person} rows"
                if unit == "person"
                else f"it is not decided how many rows a person has; k rows are counted as k x {rows_per_person}"
            )
        if requirement.reads_sensitive:
            notes.append(
                f"shares of sensitive values count rows, and one person may own {rows_per_person} rows of a class"
            )
    if unit == "row":
        notes.append("who the rows are about: it is not decided how many rows one person has, so rows are counted")
    if target:
        names = ", ".join(target)
        notes.append(
            f"{names}: published without being made coarser, it may be one and the same in a class, and who knows it "
            "learns more"
        )
    if missing and requirement.reads_sensitive:
        names = ", ".join(missing)
        notes.append(f"who lacks {names}: missing counts as a value of its own, so the known ones may be all alike")
    if labels == {"k-anonymity"}:
        notes.append(f"what the {counted} of one class have in common: sensitive values are not looked at")
    notes.append("what a reader knows from elsewhere, including other releases of the same data")
    return tuple(notes)


def _of_several(requirement: Requirement) -> list[str]:
    """What counting people by a key leaves open, where a person may have several rows."""
    notes = ["how many rows a person has: a reader who knows it can compare it with the rows of a class"]
    if requirement.reads_sensitive:
        notes.append("what several classes together say about a person who has rows in all of them")
    if any(part.label == "l-diversity" and part.to_json()["reading"] != "probability" for part in requirement.parts):
        notes.append("how many people of a class have a value: only that not all of them do")
    return notes
