"""What a steward must hear beside the figures of a release: an account nobody keeps, noise, whose values are exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.claims import Claim
    from sfumato.release import Release
    from sfumato.schema import Schema

__all__ = ["budget_warnings", "form_notes", "size_rows"]


def budget_warnings(claim: Claim, schema: Schema, ledger: str | None) -> list[str]:
    """Say, before anything is drawn, that nobody counts or limits what is spent."""
    if claim.kind != "proved":
        return []
    if ledger is None:
        return ["no ledger is named, so what this spends is not added to what was spent before. Add --ledger ledger.db"]
    from pathlib import Path

    import sfumato as sf

    book, name = sf.Ledger(ledger), schema.population or schema.name
    known = book.populations() if Path(ledger).is_file() else []
    if name in known and book.totals(name).left is not None:  # its own limit, or that of what it is a part of
        return []
    limited = [other for other in known if book.totals(other).limit is not None]
    others = f" It limits {', '.join(limited)}: is one of these meant?" if limited else ""
    fix = f"sfumato ledger {ledger} --population {name} --set-limit EPSILON"
    return [f"the ledger sets no limit for the population {name}.{others} Set one with: {fix}"]


def size_rows(release: Release) -> list[tuple[str, Any]]:
    """Return the size of a release by name; a noisy table suppresses nobody, it leaves out small counts."""
    rows = release.summary().to_json()
    if release.form == "cells":
        rows.pop("suppressed")
    return list(rows.items())


def form_notes(release: Release) -> list[str]:
    """Say what the form of a release means for the people in it and for who adds its rows up."""
    if release.form == "buckets":
        hidden = ", ".join(attribute.name for attribute in release.carried if attribute.role == "sensitive")
        exact = ", ".join(attribute.name for attribute in release.quasi)
        return [f"Published exactly, for every person: {exact}. Only the link to {hidden} is hidden."]
    if release.form == "cells":
        return ["Counts carry noise, and small ones are not reported: rows do not add up to the number of people."]
    return []
