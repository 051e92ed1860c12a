"""The verbs. Each is a short pipe through the rooms; the mathematics is in the rooms."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import Any

from sfumato.claims import Claim, Requirement
from sfumato.counts import Table, draft, read
from sfumato.errors import ParameterError
from sfumato.report import explain
from sfumato.mechanisms import Gathered, Mechanism, Plan, Progress
from sfumato.randomness import Entropy
from sfumato.release import Release, Verdict
from sfumato.release import verify as _verify
from sfumato.schema import Schema

__all__ = ["apply", "draft", "explain", "plan", "publish", "read", "verify"]


def plan(schema: Schema, mechanism: Mechanism) -> Plan:
    """Return what a mechanism would do and spend, without looking at any data."""
    return mechanism.plan(schema)


def publish(
    table: Table,
    mechanism: Mechanism,
    *,
    seed: int | None = None,
    ledger: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Release:
    """Make a release. Without a seed the randomness is the operating system's; with one, a drawn release is a rehearsal."""
    schema = table.schema
    claim = mechanism.claim(schema)
    entropy = Entropy.system() if seed is None else Entropy.seeded(seed)
    counts = Gathered(
        schema,
        by_names={names: table.counts(names) for names in mechanism.needs(schema)},
        left_out=table.left_out,
        progress=progress,
    )
    outcome = mechanism.apply(counts, entropy)
    stamped = _stamped(outcome.release.claim or claim, rehearsal=entropy.seeded and entropy.drew)
    return replace(outcome.release, claim=stamped, recoding=outcome.recoding)


def _stamped(claim: Claim, *, rehearsal: bool) -> Claim:
    return replace(claim, rehearsal=rehearsal) if rehearsal else claim


def verify(target: str | PathLike[str], *, schema: Schema | None = None, requirement: Requirement | None = None) -> Verdict:
    """Check the claim of a saved release, or a requirement on any published table, from the written files alone."""
    return _verify(target, schema=schema, requirement=requirement)


def apply(release: Release, table: Table) -> Any:
    """Generalize rows the release was not made from, with its recoding; returns a polars frame."""
    if release.recoding is None:
        raise ParameterError("release", release.schema.name, "has no recoding", hint="publish it in this session; only public recodings are saved")
    return release.recoding.apply(table)
