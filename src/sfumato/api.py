"""The verbs. Each is a short pipeline through the packages; the mathematics is in the packages."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from os import PathLike
from typing import Any, Literal

from sfumato.claims import Claim
from sfumato.counts import Table, check, holdout, read
from sfumato.drafting import draft
from sfumato.errors import ParameterError, PublicationWarning
from sfumato.estimate.generalize import generalize, mapping
from sfumato.frontiers import frontier, sweep
from sfumato.frontiers.forecast import with_forecast
from sfumato.ledger import Ledger, entered, refuse_ledger_inside
from sfumato.measures import (
    classification,
    cross_validate,
    measure,
    privacy_loss,
    query_error,
    unchanged_answers,
    utility_loss,
    workload,
    workload_error,
)
from sfumato.mechanisms import Mechanism, Plan, Progress
from sfumato.mechanisms.base import (
    gather,
    refuse_guesses,
    refuse_several,
    refuse_undecided,
    refuse_void,
    run,
    too_few_missing,
)
from sfumato.mechanisms.refined_classes import refined_classes, seen_by_key
from sfumato.pages import explain, report
from sfumato.randomness import Entropy
from sfumato.release import Release, verify
from sfumato.release.atomic import NewFolder
from sfumato.release.store import refuse_beforehand, refuse_names_in_lists, save_or_keep
from sfumato.schema import Days, Grid, Schema

__all__ = [
    "apply",
    "check",
    "classification",
    "cross_validate",
    "draft",
    "explain",
    "frontier",
    "holdout",
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
    "workload_error",
]

NOT_HELD = (
    "the table was counted where it is: whether a carried column follows from two quasi-identifiers was not checked"
)


def plan(schema: Schema, mechanism: Mechanism, *, forecast: bool = True) -> Plan:
    """Return what a mechanism would do and spend, without looking at any data.

    forecast   of differential privacy, also say what the budget buys: the mechanism is run on rows that are made from
               the schema alone, as many as it declares

    >>> schema = sf.datasets.adult("test").schema
    >>> plan = sf.plan(schema, sf.DiffGen(1, specializations=3))
    >>> [stage.name for stage in plan.stages]
    ['initial splits', 'selections', 'later splits', 'counts']
    """
    refuse_several(mechanism, schema)
    planned = mechanism.plan(schema)
    return with_forecast(planned, schema, mechanism) if forecast else planned


def publish(
    table: Table,
    mechanism: Mechanism,
    *,
    seed: int | None = None,
    ledger: Ledger | str | PathLike[str] | None = None,
    progress: Progress | None = None,
    save_to: str | PathLike[str] | NewFolder | None = None,
    format: Literal["parquet", "csv", "xlsx"] = "parquet",  # noqa: A002
    allow_rehearsal: bool = False,
    counts: bool = False,
    allow_unaccounted: bool = False,
    allow_noise: bool = False,
    allow_fingerprints: bool = False,
    allow_text: bool = False,
    allow_derived: bool = False,
    allow_repeated: bool = False,
    allow_undecided: bool = False,
    allow_void: bool = False,
    before_saving: Callable[[Release], None] | None = None,
) -> Release:
    """Make a release. Without a seed the randomness is the system's; with one, a drawn release is a rehearsal.

    With a ledger the cost is reserved before the first draw and spent before the release is returned; a failure
    before the first draw refunds it. Rehearsals read the same data and are charged the same. A differentially private
    release is saved without a ledger only if `allow_unaccounted`: nothing would add up what is spent on these people.

    A column that looks like a person's key and repeats more often than `rows_per_person` is refused: rows would be
    counted as people. So is, unless the claim is a proved one, a table in which many rows are copies of others
    (`Table.copies`), and one with columns whose rows agree as those of a person do (`Table.suspected_keys`).

    A requirement that every table satisfies (k = 1) is refused unless `allow_void`, and a column whose role the schema
    leaves open unless `allow_undecided`. `before_saving` is called with the release before it is saved and may raise to
    give it up; not under differential privacy, where withholding reveals something about the data.

    A differentially private table that would be mostly noise, by public numbers, is refused before anything is
    reserved, unless `allow_noise`. Where the amount depends on choices that are yet to be drawn, or the noise is on
    drawn rows, that needs `rows` in the schema; without it there is a warning.

    With `save_to` the release is also saved there, in `format` and, for noisy and synthetic tables, with `counts`. What
    could not be saved is refused before anything is drawn, and so is a table of which too many rows are unique on what
    is published unchanged (see `Release.save`), unless `allow_fingerprints`, and one with a sensitive or target column
    that looks like free text, unless `allow_text`. A carried column that follows from quasi-identifiers, such as a
    score of the age, lets a reader distinguish the rows of a class; where the requirement does not hold with it, saving
    is refused, unless `allow_derived`. A second release of the same people on one ledger whose promise does not compose
    (k, l, t) is not saved unless `allow_repeated`: try it together with the first (`sf.attacks.against`). If saving
    fails all the same, the release is kept elsewhere and the error says where.

    >>> table = sf.datasets.adult("test")
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50)))
    >>> release.rows, str(release.claim)
    (15060, 'k-anonymity(50) [checked]')
    """
    _refuse_frame(table)
    claim = refuse_before_reading(
        mechanism,
        table.schema,
        saved=save_to is not None,
        seed=seed,
        ledger=ledger,
        format=format,
        counts=counts,
        allow_rehearsal=allow_rehearsal,
        allow_unaccounted=allow_unaccounted,
        allow_noise=allow_noise,
        allow_undecided=allow_undecided,
        allow_void=allow_void,
        allow_text=allow_text,
    )
    with closing(table):  # one snapshot of a database for the whole of it
        if save_to is None:
            return _published(table, mechanism, seed, ledger, progress)
        if before_saving is not None:
            claim.refuse_veto("before_saving")
        if claim.kind != "proved":
            if not allow_fingerprints:
                found = table.fingerprints()  # of all columns together nothing is known before they are made coarser
                replace(found, alone_on_all=None, people_alone_on_all=None).require()
            if not allow_text:
                table.doubts.refuse_free_text()
        with save_to if isinstance(save_to, NewFolder) else NewFolder(save_to) as place:
            refuse_ledger_inside(ledger, place)
            release = _published(table, mechanism, seed, ledger, progress)
            if before_saving is not None:
                _looked_at(release, before_saving)
            save_or_keep(
                release,
                place,
                format=format,
                counts=counts,
                allow_rehearsal=allow_rehearsal,
                allow_unaccounted=allow_unaccounted,
                allow_fingerprints=allow_fingerprints,
                allow_text=allow_text,
                allow_derived=allow_derived,
                allow_repeated=allow_repeated,
            )
        return release


def _refuse_frame(table: Any) -> None:
    """Say what is missing where rows are given without what they mean."""
    if isinstance(getattr(table, "schema", None), Schema):
        return
    rule = "is not a table made by sf.read: rows alone do not say what each column means"
    hint = (
        "table = sf.read(rows, sf.Schema.load('schema.toml')); a first schema: open('schema.toml', 'w')"
        ".write(sf.draft(rows)), then answer its questions (sfumato decide schema.toml)"
    )
    raise ParameterError("table", type(table).__name__, rule, hint=hint)


def refuse_before_reading(
    mechanism: Mechanism,
    schema: Schema,
    *,
    saved: bool,
    seed: int | None = None,
    ledger: Ledger | str | PathLike[str] | None = None,
    format: Literal["parquet", "csv", "xlsx"] = "parquet",  # noqa: A002
    counts: bool = False,
    allow_rehearsal: bool = False,
    allow_unaccounted: bool = False,
    allow_noise: bool = False,
    allow_undecided: bool = False,
    allow_void: bool = False,
    allow_text: bool = False,
    **_: Any,
) -> Claim:
    """Raise for what `publish` would refuse by the schema and the parameters alone; else return the claim."""
    if not allow_void:
        refuse_void(mechanism, schema)
    if not allow_undecided:
        refuse_undecided(mechanism, schema)
    refusal = mechanism.plan(schema).refusal
    if refusal is not None and not allow_noise:
        raise refusal
    claim = mechanism.claim(schema)
    if saved and claim.kind == "proved" and not allow_text:  # of other claims the rows are looked at
        refuse_names_in_lists(schema)
    if saved:
        refuse_beforehand(
            claim,
            schema,
            format=format,
            counts=counts,
            seeded=seed is not None,
            accounted=ledger is not None,
            allow_rehearsal=allow_rehearsal,
            allow_unaccounted=allow_unaccounted,
        )
    return claim


def _looked_at(release: Release, look: Callable[[Release], None]) -> None:
    """Let the caller look at a release before it is saved; where it is given up, the ledger records that."""
    try:
        look(release)
    except BaseException:
        if release.account is not None:
            release.account.unsaved("given up before it was saved")
        raise


def _published(
    table: Table,
    mechanism: Mechanism,
    seed: int | None,
    ledger: Ledger | str | PathLike[str] | None,
    progress: Progress | None,
) -> Release:
    schema = table.schema
    refuse_several(mechanism, schema)
    claim = mechanism.claim(schema)
    table.doubts.refuse_repeated_keys()
    if claim.kind != "proved":  # what is drawn may not be refused for what the rows are
        table.doubts.refuse_copies()
        table.doubts.refuse_suspected_keys()
        for one in (*table.doubts.two_people(), *table.doubts.of_classes(quick=True)):
            hint = f"{one.hint[:1].upper()}{one.hint[1:]}"
            warnings.warn(f"{one.path}: {one.rule}. {hint}", PublicationWarning, stacklevel=3)
    else:
        for text in mechanism.plan(schema).warnings:
            warnings.warn(text, PublicationWarning, stacklevel=3)
    refuse_guesses(mechanism, table)
    entropy = Entropy.system() if seed is None else Entropy.seeded(seed)
    if ledger is not None:
        book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        for text in book.name_warnings(schema.population or schema.name):
            warnings.warn(text, PublicationWarning, stacklevel=3)
    with entered(ledger, schema.population or schema.name, claim, mechanism, entropy) as account:
        release = run(mechanism, gather(mechanism, table, progress=progress), entropy)
        if claim.kind != "proved":
            refined = refined_classes(table, release, table.derived())
            named = [attribute.name for attribute in (*release.quasi, *release.carried)]
            numbers = {attribute.name for attribute in release.carried if table.held}
            if release.form == "buckets" or release.tight:
                numbers |= {one.name for one in release.quasi if isinstance(one.domain, Grid | Days)}
            held = table.held_values(named, numbers=numbers)
            seen = seen_by_key(table, release)
            release = replace(release, refined=refined, seen_by_key=seen, held_values=held, placed=None)
            release = replace(
                release, notes=(*release.notes, *(f"{one.path}: {one.rule}" for one in table.doubts.unclear()))
            )
            release = replace(release, few_missing=too_few_missing(mechanism, table))
            if not table.held:
                release = replace(release, notes=(*release.notes, NOT_HELD))
        described = (f"{one.path}: {one.rule}" for one in table.doubts.two_people(published=True))
        release = replace(release, notes=(*release.notes, *described))
        stamped = replace(release.claim, accounted=account is not None, silent_on=_silences(release))
        if account is not None:
            account.spend(stamped)
    return replace(release, claim=stamped, account=account, backend=table.backend)


def _silences(release: Release) -> tuple[str, ...]:
    """What the claim does not cover; of a checkable release also what its own rows show of fingerprints."""
    said = release.claim.silent_on
    if release.claim.kind not in ("checked", "estimate"):
        return said
    found, refined = release.fingerprints(), release.refined
    said = (*said, found.silence()) if found.above else said
    return said if refined is None else (*said, *refined.silences())


def apply(release: Release, table: Table) -> Any:
    """Generalize rows the release was not made from, with its recoding; returns a polars frame in the table's order.

    The claim of the release does not cover them. A value that the label of a row's class does not hold is written `*`.

    >>> table = sf.datasets.adult("test")
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50)))
    >>> sf.apply(release, table).columns[:3]
    ['age', 'workclass', 'education']
    """
    return generalize(release, table)
