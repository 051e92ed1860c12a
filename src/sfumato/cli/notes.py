"""Warnings and notes that `publish` prints: a missing ledger or limit, noise, classes of one person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.visible import operand, shell_command

if TYPE_CHECKING:
    from collections.abc import Collection

    from sfumato.claims import Claim
    from sfumato.mechanisms import Mechanism
    from sfumato.release import Release
    from sfumato.schema import Schema


def budget_warnings(claim: Claim, schema: Schema, ledger: str | None) -> list[str]:
    """Say, before anything is drawn, that nobody counts or limits what is spent, and which names may be meant."""
    if ledger is None:
        none = "no ledger is named: what this spends is not added to what was spent before"
        return [none] if claim.kind == "proved" else []
    from pathlib import Path

    import sfumato as sf
    from sfumato.ledger import population_key

    book, name = sf.Ledger(ledger), population_key(schema.population or schema.name)
    known = book.populations() if Path(ledger).is_file() else []
    near = book.name_warnings(name)
    if claim.kind != "proved":
        return near
    if name in known and book.totals(name).left is not None:  # its own limit, or that of what it is a part of
        return near
    fix = f"{shell_command(['sfumato', 'ledger', operand(ledger), '--population', name])} --set-limit EPSILON"
    none = f"the ledger sets no limit for the population {name}. Set one with: {fix}"
    return [*near, none]


def list_warnings(mechanism: Mechanism, schema: Schema) -> list[str]:
    """Warn, before anything is cut, of quasi-identifiers whose values are put together by their place in a list."""
    method = getattr(mechanism, "base", mechanism)
    names = [attribute.name for attribute in schema.quasi if attribute.grouped_by_list]
    if not names or getattr(method, "nominal", "nodes") != "leaves":
        return []
    why = "no groups or hierarchy, so values are combined in the order of their list (often alphabetical)"
    return [f"{', '.join(names)}: {why}, not as they are alike. Declare groups, or hide values with --nominal nodes"]


def plan_warnings(mechanism: Mechanism, schema: Schema) -> list[str]:
    """Return the warnings of a plan that spends a budget: functions of the schema and the parameters alone."""
    return list(mechanism.plan(schema).warnings) if mechanism.claim(schema).kind == "proved" else []


def warnings_after(release: Release) -> tuple[str, ...]:
    """Return what a release warns of that the plan did not warn of before it was drawn."""
    return () if release.claim.kind == "proved" else release.warnings()


def table_warnings(table: Any, claim: Claim) -> list[str]:
    """Warn of rows that are left out, of published columns that look like free text, and of what may be a key.

    What was counted in the rows is marked beside a claim that does not cover it.
    """
    from sfumato.errors import count_of
    from sfumato.schema.free_text import looks_like_free_text

    found, seen = [], []
    if table.left_out:
        gone = count_of(table.left_out, "row is", "rows are")
        columns = ", ".join(a.name for a in table.schema.published if a.missing and a.missing.action == "suppress")
        seen.append(f"{gone} left out: a value of {columns} is missing")
    if table.surplus:
        most = count_of(table.schema.rows_per_person, "row")
        stay = "is" if table.schema.rows_per_person == 1 else "are"
        gone = count_of(table.surplus, "row is", "rows are")
        seen.append(f"{gone} left out: at most {most} of each {table.schema.capped_by} {stay} kept")
    texts = [a.name for a in table.schema.published if looks_like_free_text(getattr(a.domain, "names", ()))]
    if texts:
        looks = "looks like free text, which may contain names" if len(texts) == 1 else "look like free text"
        found.append(f"{', '.join(texts)} {looks}: its values are published. Read them, or give the role other")
    found += [f"{one.path}: {one.rule}; {one.hint}" for one in table.doubts.two_people()]
    looked_at = table.doubts.before_publishing(proved=claim.kind == "proved")
    seen += [f"{one.path} {one.rule}; {one.hint}" for one in looked_at]
    mark = "confidential, not covered by the claim: " if claim.kind == "proved" else ""
    return [*found, *(f"{mark}{one}" for one in seen)]


def size_rows(release: Release) -> list[tuple[str, Any]]:
    """Return the size of a release by name; where rows are drawn, none of them is suppressed."""
    rows = release.summary().to_json()
    if release.form in ("cells", "synthetic"):
        rows.pop("suppressed")
    if release.capped:
        rows["left out, beyond rows_per_person"] = release.capped
    if release.people is not None:
        people = release.people
        rows |= {
            "people": people.everyone,
            "fewest people in a class": int(people.classes.min(initial=people.everyone)),
        }
    return list(rows.items())


def withheld(mechanism: Mechanism, schema: Schema) -> list[str]:
    """Name the columns that a release by this method does not carry."""
    asked = {name for names in mechanism.needs(schema) for name in names}
    return [attribute.name for attribute in schema.attributes if attribute.name not in asked]


def withheld_words(mechanism: Mechanism, schema: Schema) -> list[str]:
    """Say which columns are not published, and why."""
    found = withheld(mechanism, schema)
    by_role = [name for name in found if schema[name].role in ("identifier", "other")]
    others = [name for name in found if name not in by_role]
    lines = [f"Not published, by role: {', '.join(by_role)}."] if by_role else []
    if others and mechanism.claim(schema).kind == "checked":
        lines.append(f"Not published by this method, * in every row: {', '.join(others)}.")
    elif others:
        counts = "counts the target and no sensitive column"
        lines.append(f"Not published by this method, which {counts}: {', '.join(others)}.")
    return lines


def form_notes(release: Release, held_back: Collection[str] = ()) -> list[str]:
    """Say what the form of a release means for the people in it and for who adds its rows up.

    `held_back` are the columns that the method does not publish at all, of which something else is said.
    """
    if release.form == "buckets":
        hidden = ", ".join(attribute.name for attribute in release.carried if attribute.role == "sensitive")
        exact = ", ".join(attribute.name for attribute in release.quasi)
        is_hidden = f"Only the link to {hidden} is hidden."
        if release.exposed():
            is_hidden = f"The link to {hidden} is hidden only where a group has several values."
        first = f"Published as the schema reads them, in every published row: {exact}. {is_hidden}"
        return [first, *(f"Warning: {text}." for text in release.warnings())]
    if release.form == "cells":
        from sfumato.schema.fingerprints import nearly_records

        first = "Counts carry noise, and small ones are not reported: rows do not add up to the number of records."
        if (noise := release.noise_lines) is not None:
            first = f"Counts carry so little noise that they are practically exact: {nearly_records(noise)}."
        return [first, *(f"{note[0].upper()}{note[1:]}." for note in release.notes)]
    drawn = [f"{note[0].upper()}{note[1:]}." for note in release.notes] if release.form == "synthetic" else []
    return [*drawn, *(f"Warning: {text}." for text in warnings_after(release)), *_never_cut(release, held_back)]


def _never_cut(release: Release, held_back: Collection[str]) -> list[str]:
    """Name the attributes that were never cut, except those for which the release itself states why."""
    import numpy as np

    stuck = []
    for at, attribute in enumerate(release.quasi):
        used, labels = np.unique(release.boxes.labels[:, at]), release.boxes.tables[at]
        known = attribute.size - (attribute.missing_code is not None)
        uncut = (((0, attribute.size),), ((0, known),))  # everything, or everything known
        whole = known > 1 and all(labels.intervals(label) in uncut for label in used.tolist())
        if whole and attribute.name not in (*release.few_missing, *held_back):
            stuck.append(attribute.name)
    return [f"Not cut at all: {', '.join(stuck)}."] if stuck and len(release.groups) else []
