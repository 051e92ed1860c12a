"""The verbs. Each is a short pipe through the rooms; the mathematics is in the rooms."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import Any

from sfumato.claims import Requirement
from sfumato.counts import Table, check, draft, read
from sfumato.frontier import frontier, sweep
from sfumato.ledger import Ledger, entered
from sfumato.measures import (
    classification,
    cross_validate,
    measure,
    privacy_loss,
    query_error,
    unchanged_answers,
    utility_loss,
    workload,
)
from sfumato.mechanisms import Mechanism, Plan, Progress
from sfumato.mechanisms.base import gather, refuse_several, run
from sfumato.randomness import Entropy
from sfumato.reading.generalize import generalize, mapping
from sfumato.release import Release, Verdict
from sfumato.release import verify as _verify
from sfumato.report import explain, report
from sfumato.schema import Schema

__all__ = [
    "apply",
    "check",
    "classification",
    "cross_validate",
    "draft",
    "explain",
    "frontier",
    "mapping",
    "measure",
    "plan",
    "privacy_loss",
    "publish",
    "query_error",
    "read",
    "report",
    "sweep",
    "unchanged_answers",
    "utility_loss",
    "verify",
    "workload",
]


def plan(schema: Schema, mechanism: Mechanism) -> Plan:
    """Return what a mechanism would do and spend, without looking at any data."""
    refuse_several(mechanism, schema)
    return mechanism.plan(schema)


def publish(
    table: Table,
    mechanism: Mechanism,
    *,
    seed: int | None = None,
    ledger: Ledger | str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Release:
    """Make a release. Without a seed the randomness is the system's; with one, a drawn release is a rehearsal.

    With a ledger the cost is reserved before the first draw and spent before the release is returned; a failure
    before the first draw refunds it. Rehearsals read the same data and are charged the same. A column that looks like a
    person's key and repeats more often than `rows_per_person` is refused: rows would be counted as people.
    """
    schema = table.schema
    refuse_several(mechanism, schema)
    claim = mechanism.claim(schema)
    table.refuse_repeated_keys()
    entropy = Entropy.system() if seed is None else Entropy.seeded(seed)
    with entered(ledger, schema.population or schema.name, claim, mechanism, entropy) as account:
        release = run(mechanism, gather(mechanism, table, progress=progress), entropy)
        stamped = replace(release.claim, accounted=account is not None)
        if account is not None:
            account.spend(stamped)
    return replace(release, claim=stamped, account=account)


def verify(
    target: str | PathLike[str], *, schema: Schema | None = None, requirement: Requirement | None = None
) -> Verdict:
    """Check the claim of a saved release, or a requirement on any published table, from the written files alone."""
    return _verify(target, schema=schema, requirement=requirement)


def apply(release: Release, table: Table) -> Any:
    """Generalize rows the release was not made from, with its recoding; returns a polars frame in the table's order."""
    return generalize(release, table)
