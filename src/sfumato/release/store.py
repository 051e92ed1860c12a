"""Saves a release as a folder and loads it again.

Source    Ours: data, manifest.json and a dictionary; atomic; refuses to overwrite.
Claim     What `load` returns publishes the same tables as what was saved; a release that may not leave is not written.
Because   tables are streamed from boxes and carried counts, and each label we write is read back to the same codes.
Checked   tests/unit/release/test_store.py::test_load_publishes_what_was_saved
          tests/unit/release/test_store.py::test_refuses_what_may_not_leave
          tests/surfaces/test_atomic_save.py::test_kill_leaves_nothing_or_everything
Silent on who may read the folder: file permissions are the system's.
Cost      memory follows the distinct published rows, not all of them.
"""

from __future__ import annotations

import datetime as dt
import errno
import json
import os
import platform
import shutil
import signal
import stat
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, get_args

import numpy as np
import polars as pl

from sfumato.claims import Claim, Nothing
from sfumato.errors import ParameterError, Problem, PublicationWarning, ReleaseError, SfumatoError
from sfumato.raw_files import engine_path
from sfumato.release.atomic import NewFolder, is_stale, refuse_existing, take_name, target_of
from sfumato.release.declared_people import PEOPLE, DeclaredPeople, stated_by
from sfumato.release.dictionary import dictionary
from sfumato.release.files import digest, distinct_texts, scan, tally
from sfumato.release.from_text import TextReader, counts_of, rebuilt, suppressed_group, times_of
from sfumato.release.manifest import (
    COUNTED_FORMS,
    DICTIONARY,
    FORMAT,
    MANIFEST,
    FileEntry,
    Manifest,
    levels,
    plain_parameters,
    read_manifest,
)
from sfumato.release.redact import other_rules, public_schema
from sfumato.release.release import Release
from sfumato.release.tables import PublishedTable, published_frames
from sfumato.release.workbook import write_workbook
from sfumato.schema import Attribute, Grid, Labels, Schema, Values
from sfumato.schema.free_text import (
    HeldValues,
    are_long_numbers,
    refuse_addressed_names,
    refuse_columns_of_people,
    refuse_exact_keys,
    refuse_free_text,
    refuse_group_names,
    refuse_listed_names,
    refuse_spelt_text,
)
from sfumato.schema.word_hints import names_a_category
from sfumato.version import __version__

if TYPE_CHECKING:
    from sfumato.counts.recoding import Cuts


# A public recoding (`Cuts`) in the manifest: which code goes to which label, labels by their text.
#
# Label ids belong to one release in memory; on the way back they are those of the loaded release, whose label
# tables also hold cuts that no published row fell into.


def public_recoding(release: Release) -> dict[str, Any] | None:
    """Return the recoding where it is public by its kind, and every code it speaks of is public too."""
    if release.recoding is None or any(attribute.source == "data" for attribute in release.quasi):
        return None
    from sfumato.counts.recoding import Cuts

    if not isinstance(release.recoding, Cuts) or not getattr(release.recoding, "public", True):
        return None
    names = {table.attribute.name: list(table.names) for table in release.boxes.tables}
    return {**release.recoding.to_json(), "labels": {name: names[name] for name in release.recoding.names}}


def labels_with_recoding(
    schema: Schema, data: pl.DataFrame, recoding: Mapping[str, Any] | None, reading: TextReader
) -> tuple[dict[str, tuple[Labels, np.ndarray]], Cuts | None]:
    """Return the labels of each quasi-identifier and, where one was saved, the recoding in terms of them."""
    if recoding is None:
        return {a.name: reading.labels(a, data[a.name]) for a in schema.quasi}, None
    from sfumato.counts.recoding import Cuts

    if any(part["size"] != schema[name].size for name, part in recoding["cuts"].items()):
        raise ReleaseError("the recoding is of another domain", hint="load the release without a schema")
    try:
        cuts = Cuts.from_json(recoding)
        listed = {name: pl.Series(name, recoding["labels"][name], dtype=pl.String) for name in cuts.names}
        columns, moved = {}, {}
        for attribute in schema.quasi:
            also = listed.get(attribute.name, pl.Series(attribute.name, [], dtype=pl.String))
            table, ids = reading.labels(attribute, pl.concat([data[attribute.name], also]))
            columns[attribute.name] = (table, ids[: len(data)])
            moved[attribute.name] = ids[len(data) :]
        labels = tuple(moved[name][codes] for name, codes in zip(cuts.names, cuts.labels, strict=True))
    except (AttributeError, IndexError, KeyError, MemoryError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise ReleaseError("the recoding cannot be read", hint="use the folder as it was saved") from None
    return columns, Cuts(cuts.names, labels=labels)


# Writes manifest.json: what is in the folder, what it promises, and the public part of the schema.
#
# Source    Ours: a manifest never holds a raw value, a seed, a path, or a count that the claim does not cover.
# Claim     Of an attribute whose domain was read off the data it reveals only what published labels say; rows that
#           were left out are counted only under a claim that is checked on the file.
# Because   the schema goes through `public_part`; recoding and residence are never looked at, save a public recoding.
# Checked   tests/unit/release/test_manifest.py::test_tells_no_unpublished_value_of_a_data_domain
#           tests/unit/release/test_manifest.py::test_holds_no_seed_no_path_no_uncovered_count
# Silent on what a mechanism writes into its parameters and notes: each mechanism answers for its own.


def manifest_of(release: Release, files: tuple[FileEntry, ...], *, counts: bool = False) -> dict[str, Any]:
    """Return the manifest of a release as plain data."""
    schema = public_schema(release)
    data: dict[str, Any] = {
        "format": FORMAT,
        "sfumato": __version__,
        "python": platform.python_version(),
        "polars": pl.__version__,
        "created": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "name": schema.name,
        "population": schema.population,
        "form": release.form,
        **({"counted": True} if counts else {}),
        "mechanism": plain_parameters(release.mechanism),
        "claim": release.claim.to_json(),
        "schema": {
            "rows_per_person": schema.rows_per_person,
            "rows_stated": schema.rows_stated,
            **({"person": list(schema.person)} if schema.person else {}),
            "attributes": [{**attribute.to_json(), "levels": levels(attribute)} for attribute in schema.attributes],
        },
        "suppressed": release.suppressed_group is not None,
        "notes": list(release.notes),
        "files": {entry.name: entry.to_json() for entry in files},
    }
    if release.left_out is not None and release.claim.kind == "checked":
        data["left_out"] = release.left_out
    if release.capped is not None and release.claim.kind != "proved":
        data["capped"] = release.capped
    recoding = public_recoding(release)
    if recoding is not None:
        data["recoding"] = recoding
        if other_rules(release.schema):
            data["schema"]["other_rules"] = True
    return data


def dictionary_again(folder: Path, manifest: Manifest) -> str:
    """Return the dictionary that belongs to a saved release, written anew from its manifest and its tables."""
    release = load(folder)
    tables = published_frames(release, counts=manifest.counted)
    files = {entry.name: tables[entry.table] for entry in manifest.files if entry.table is not None}
    return dictionary(release, files, counts=manifest.counted)


Format = Literal["parquet", "csv", "xlsx"]


class Allowed(TypedDict, total=False):
    """What may be saved although it is refused otherwise; `Release.save` says what each means."""

    allow_rehearsal: bool
    allow_unaccounted: bool
    allow_fingerprints: bool
    allow_text: bool
    allow_derived: bool
    allow_repeated: bool


EVERYTHING: Allowed = {  # what is kept elsewhere was allowed or paid for
    "allow_rehearsal": True,
    "allow_unaccounted": True,
    "allow_fingerprints": True,
    "allow_text": True,
    "allow_derived": True,
    "allow_repeated": True,
}
MOST_LISTED_ROWS = 10**9  # written one by one; more are written with counts
_FAILURES = (Exception, pl.exceptions.PanicException)  # a panic of polars is not an Exception
_BATCH = 200_000  # rows expanded at a time: about 20 MB for a dozen columns


def save(
    release: Release,
    folder: str | PathLike[str] | NewFolder,
    *,
    format: Format = "parquet",  # noqa: A002
    counts: bool = False,
    engine: Any = None,
    **allowed: Unpack[Allowed],
) -> None:
    """Write data, manifest and dictionary into a new folder, all or nothing; note it in the release's ledger.

    The folder is entered in the ledger before it is named, so that no kill leaves a published release unknown.
    """
    _refuse_format(format)
    refuse_unsavable(release, **allowed)
    _written(release, folder, format, counts=counts, engine=engine)


def _written(
    release: Release,
    folder: str | PathLike[str] | NewFolder,
    format: Format,  # noqa: A002
    *,
    counts: bool,
    engine: Any = None,
) -> None:
    """Write what may be saved."""
    refuse_form(release, counts=counts)
    account = release.account
    paid = _paid(release)
    with _not_interrupted(paid), folder if isinstance(folder, NewFolder) else NewFolder(folder) as place:
        note = None if account is None else (lambda: account.intends(place.target, place.partial))
        ledger = None if account is None else account.file
        with place.filled(keep=paid, before_naming=note, ledger=ledger) as partial:
            _fill(release, partial, format, counts=counts, engine=engine)
        if account is not None:
            with suppress(ParameterError):  # a folder that was meant and exists counts as saved
                account.saved(place.target)


def _fill(release: Release, partial: Path, format: Format, *, counts: bool, engine: Any = None) -> None:  # noqa: A002
    """Write every file; the manifest comes last, so that a folder with a manifest is whole."""
    published = published_frames(release, counts=counts)
    tables = {f"{name}.{format}": (name, table) for name, table in published.items()}
    for file, (_, table) in tables.items():
        if engine is None:
            write_table(table, partial / file, format)
        else:
            from sfumato.release.in_spark import write_in_spark

            write_in_spark(table, partial / file, format, engine)
    text = dictionary(release, {file: table for file, (_, table) in tables.items()}, counts=counts)
    (partial / DICTIONARY).write_text(text, encoding="utf-8", newline="\n")
    files = [
        FileEntry(file, sha256=digest(partial / file), table=name, rows=table.rows, columns=table.names)
        for file, (name, table) in tables.items()
    ]
    files.append(FileEntry(DICTIONARY, sha256=digest(partial / DICTIONARY)))
    content = manifest_of(release, tuple(files), counts=counts)
    manifest = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    (partial / MANIFEST).write_text(manifest + "\n", encoding="utf-8", newline="\n")


def save_or_keep(
    release: Release,
    place: NewFolder,
    *,
    format: Format = "parquet",  # noqa: A002
    counts: bool = False,
    **allowed: Unpack[Allowed],
) -> None:
    """Save a release; if that fails, for whatever reason, and it was paid for, keep it elsewhere and say where.

    What may not be published is kept nowhere, and the ledger records that it was not saved.
    """
    if release.claim.kind != "proved":
        try:
            refuse_unsavable(release, **allowed)
        except SfumatoError:
            if release.account is not None:
                release.account.unsaved("refused before it was saved")
            raise
    try:
        if release.claim.kind == "proved":
            save(release, place, format=format, counts=counts, **allowed)
        else:  # what may not be published is refused by now
            _refuse_format(format)
            _written(release, place, format, counts=counts)
    except _FAILURES as error:
        if not _paid(release) or place.partial.is_dir():  # what is whole says itself how it is finished
            raise
        kept = _kept_elsewhere(release, format, counts=counts or _long(release))
        problem = str(error).partition(" Hint:")[0].rstrip(".")
        if not isinstance(error, SfumatoError):  # what others say may quote a cell
            problem = f"{place.target.name} cannot be written ({type(error).__name__})"
        cause = error if isinstance(error, SfumatoError | OSError) else None
        if kept is None:
            rule = f"{problem}. No other place could be written either: the release is lost, what it spent stays spent"
            raise ReleaseError(rule, hint="look at the disks before you publish again") from cause
        rule = f"{problem}. The release was made and paid for; it is whole in {kept}"
        raise ReleaseError(rule, hint="move that folder to where it belongs; do not publish again") from cause


def _paid(release: Release) -> bool:
    return release.account is not None or release.claim.kind == "proved"


def _kept_elsewhere(release: Release, format: Format, *, counts: bool) -> Path | None:  # noqa: A002
    """Save into a new folder for this user alone, in the folder for temporary files or the current one."""
    for parent in (tempfile.gettempdir(), os.curdir):
        try:
            made = Path(tempfile.mkdtemp(prefix="sfumato-unsaved-", dir=parent)).resolve()
        except OSError:
            continue
        try:
            # a table that an Excel file cannot hold must not be lost for it
            kept: Format = "parquet" if format == "xlsx" else format
            save(release, made / "release", format=kept, counts=counts, **EVERYTHING)
        except _FAILURES:
            left = [
                made / "release",
                *made.glob(".release.partial-*"),
            ]  # whole, where only the ledger's note is missing
            if whole := next((folder for folder in left if (folder / MANIFEST).is_file()), None):
                return whole
            shutil.rmtree(made, ignore_errors=True)
            continue
        return made / "release"
    return None


def finish(partial: str | PathLike[str], folder: str | PathLike[str] | None = None) -> Path:
    """Give a whole release that was never named its folder: the one it was made for, unless another is given.

    Only a partial folder of a process that is gone is taken, and only if every file is as its manifest says.
    """
    source = Path(os.path.realpath(partial))
    meant = target_of(source)
    if meant is None or not source.is_dir():
        raise ReleaseError(f"{source.name} is not a partial release", hint="name a folder .NAME.partial-...")
    if not is_stale(source):
        raise ReleaseError(f"{source.name} is still being written", hint="wait for the process that writes it")
    _refuse_incomplete(source)
    target = meant if folder is None else Path(os.path.realpath(folder))
    refuse_existing(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        take_name(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            hint = "name another folder with -o; what is whole stays where it is"
            raise ReleaseError(f"{target.name} cannot be written ({error.strerror})", hint=hint) from None
        with NewFolder(target) as place, place.filled() as copy:  # another disk: copied, then removed here
            for file in source.iterdir():
                shutil.copyfile(file, copy / file.name)
        shutil.rmtree(source, ignore_errors=True)
    return target


def _refuse_incomplete(source: Path) -> None:
    strange = sorted(found.name for found in source.iterdir() if not stat.S_ISREG(found.lstat().st_mode))
    if strange:  # a link may lead anywhere, and a pipe is never read to its end
        problems = [Problem(name, "is not a file of its own") for name in strange]
        raise ReleaseError(f"{source.name} is damaged", hint="it cannot be published", problems=problems)
    if not (source / MANIFEST).is_file():
        rule = f"{source.name} was not written completely: there is nothing to finish"
        raise ReleaseError(rule, hint="delete it; what the ledger says was spent stays spent")
    manifest = read_manifest(source)
    listed = {entry.name: entry.sha256 for entry in manifest.files}
    there = {found.name for found in source.iterdir()} - {MANIFEST}
    wrong = sorted(set(listed) ^ there) or [name for name, sha in listed.items() if digest(source / name) != sha]
    if wrong:
        problems = [Problem(name, "is not as the manifest says") for name in wrong]
        raise ReleaseError(f"{source.name} is damaged", hint="it cannot be published", problems=problems)


def refuse_beforehand(
    claim: Claim,
    schema: Schema,
    *,
    format: str,  # noqa: A002
    seeded: bool,
    accounted: bool,
    counts: bool = False,
    **allowed: Unpack[Allowed],
) -> None:
    """Refuse what could not be saved, before anything is drawn or paid for."""
    _refuse_format(format)
    if counts and claim.kind != "proved":
        raise _no_counts()
    if isinstance(claim.promise, Nothing):
        hint = "publish with a mechanism that makes a claim"
        raise ReleaseError("this release would promise nothing: it can be measured, never saved", hint=hint)
    if seeded and claim.kind == "proved" and not allowed.get("allow_rehearsal"):
        hint = "omit the seed, or allow a rehearsal (--allow-rehearsal)"
        raise ReleaseError("a seeded release is a rehearsal: it would be charged but not saved", hint=hint)
    if not (accounted or seeded or allowed.get("allow_unaccounted")):
        _refuse_unaccounted(claim)
    if not schema.published:
        raise ReleaseError("this release would have no column", hint="publish at least one attribute")


def _refuse_format(format: str) -> None:  # noqa: A002
    if format not in get_args(Format):
        raise ParameterError("format", format, "must be parquet, csv or xlsx")


@contextmanager
def _not_interrupted(paid: bool) -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM while a release that was paid for is written; they act when it is done."""
    if not paid or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {one: signal.signal(one, lambda which, _: came.append(which)) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, signal.SIG_DFL if handler is None else handler)
        if came:
            signal.raise_signal(came[0])


def refuse_unsavable(release: Release, **allowed: Unpack[Allowed]) -> None:
    """Refuse what may not be published."""
    if not release.savable or isinstance(release.claim.promise, Nothing):
        hint = "publish with a mechanism that makes a claim"
        raise ReleaseError("this release promises nothing: it can be measured, never saved", hint=hint)
    if release.claim.rehearsal and not allowed.get("allow_rehearsal"):
        hint = "publish without a seed, or save it as a rehearsal with allow_rehearsal=True"
        raise ReleaseError("this release is a rehearsal: its randomness can be repeated", hint=hint)
    if not (release.claim.accounted or release.claim.rehearsal or allowed.get("allow_unaccounted")):
        _refuse_unaccounted(release.claim)
    if not release.quasi and not release.carried:
        raise ReleaseError("this release has no column", hint="publish at least one attribute")
    if release.claim.kind == "proved":  # a draw may not be refused for what was drawn, only for its schema
        if not allowed.get("allow_text"):
            refuse_names_in_lists(release.schema)
        return
    said = release.exposed().sentences() if release.form in ("generalized", "buckets") else []
    for text in (*release.few_missing.values(), *said):
        warnings.warn(text, PublicationWarning, stacklevel=4)
    if not allowed.get("allow_fingerprints"):
        release.fingerprints().require()
    if not allowed.get("allow_text"):
        _refuse_text(release)
    if not allowed.get("allow_derived") and release.refined is not None:
        release.refined.require()
    if not allowed.get("allow_repeated") and release.account is not None and not release.claim.rehearsal:
        release.account.refuse_repeated()


def _refuse_unaccounted(claim: Claim) -> None:
    """Refuse a budget that is spent and added up nowhere; a claim that is checked on the file spends none."""
    if claim.kind == "proved":
        rule = "is needed to save a differentially private release: without one, nothing adds up what is spent"
        hint = 'publish with ledger="ledger.db" (--ledger), or allow_unaccounted=True (--allow-unaccounted)'
        raise ParameterError("ledger", "none", rule, hint=hint)


def _refuse_text(release: Release) -> None:
    """Refuse columns that are not made coarser and look like free text, and names in any column."""
    columns = {}
    for attribute in release.carried:
        if isinstance(attribute.domain, Values):
            rows = np.asarray(release.groups.histogram(attribute.name).sum(axis=0)).ravel()
            columns[attribute.name] = _held(release, attribute, attribute.domain, rows)
    refuse_free_text(columns)
    for place, attribute in enumerate(release.quasi):
        if isinstance(attribute.domain, Values) and attribute.source != "public":
            _refuse_spelt(release, place, attribute, attribute.domain)
        elif isinstance(attribute.domain, Grid) and release.form == "buckets":
            refuse_exact_keys(attribute.name, _numbers(release, attribute, attribute.domain))
    refuse_names_in_lists(release.schema)


def _held(release: Release, attribute: Attribute, domain: Values, rows: np.ndarray) -> HeldValues:
    """Return who has each value: people, where the table told how many; else rows."""
    seen = {text: many for text, many in zip(domain.names, rows.astype(np.int64).tolist(), strict=False) if many}
    known = release.held_values.get(attribute.name)
    if known is None:
        return HeldValues(seen, people=seen, known=names_a_category(attribute.name))
    return replace(known, rows=seen, people={text: known.people.get(text, many) for text, many in seen.items()})


def _numbers(release: Release, attribute: Attribute, domain: Grid) -> HeldValues:
    """Return who has each number of a quasi-identifier that is published exactly; rows, where nobody counted people."""
    known, home = release.held_values.get(attribute.name), release.residence
    if known is not None:
        return known
    if home is None or attribute.name not in home.names:
        return HeldValues({}, people={})
    codes, place = np.unique(home.codes[:, home.names.index(attribute.name)], return_inverse=True)
    rows = np.bincount(place.reshape(-1), weights=home.weight).astype(np.int64)
    seen = {str(code): many for code, many in zip(codes.tolist(), rows.tolist(), strict=True) if code < domain.size}
    return HeldValues(seen, people=seen)


def _refuse_spelt(release: Release, place: int, attribute: Attribute, domain: Values) -> None:
    """Refuse labels of a quasi-identifier that spell out names of people or what somebody wrote."""
    home, table = release.residence, release.boxes.tables[place]
    values = release.held_values.get(attribute.name)
    if home is not None and attribute.name in home.names:
        codes = home.codes[:, home.names.index(attribute.name)]
        rows = np.bincount(codes, weights=home.weight, minlength=len(domain.names))
        values = _held(release, attribute, domain, rows)
    if values is None:
        return
    used = np.unique(release.boxes.labels[:, place]).tolist()
    spelt = {part for at in used for part in table.name(at).split(" | ")}
    numbered = release.form == "buckets" and are_long_numbers(domain.names)  # a mask does not make a key coarser there
    refuse_spelt_text(attribute.name, values, spelt, grouped=not (attribute.grouped_by_list or numbered))


def _lists(attributes: Sequence[Attribute]) -> dict[str, tuple[str, ...]]:
    """Return the values and groups that a manifest states whole, whatever rows have."""
    listed = {}
    for attribute in attributes:
        if attribute.source != "data" and isinstance(attribute.domain, Values):
            groups = () if attribute.tree is None else attribute.tree.names
            listed[attribute.name] = tuple(dict.fromkeys((*attribute.domain.names, *groups)))
    return listed


def _groups(attribute: Attribute) -> list[str]:
    """Return the names of the groups and levels of an attribute; a code that a mask shortened is not one."""
    if attribute.tree is None or attribute.masked:
        return []
    values = set(attribute.domain.names) if isinstance(attribute.domain, Values) else set()
    return [name for name in dict.fromkeys(attribute.tree.names) if name != "*" and name not in values]


def refuse_names_in_lists(schema: Schema) -> None:
    """Refuse, by the schema alone, lists of values and names of columns that are published and tell who people are."""
    refuse_listed_names(_lists(schema.published))
    refuse_group_names({attribute.name: _groups(attribute) for attribute in schema.published})
    stated = {"name": schema.name, "population": schema.population or ""}
    refuse_addressed_names(stated | {f"the name of column {at}": a.name for at, a in enumerate(schema.published, 1)})
    refuse_columns_of_people([attribute.name for attribute in schema.published])


def refuse_form(release: Release, *, counts: bool) -> None:
    """Refuse a way of writing that this release does not have; the release itself decides, never the data."""
    if counts and release.form not in COUNTED_FORMS:
        raise _no_counts()
    if not counts and _long(release):
        rule = f"this release counts {release.rows:,} rows, too many to write one by one"
        raise ReleaseError(rule, hint="save it with counts=True (--counts): a line for each combination")


def _long(release: Release) -> bool:
    return release.form in COUNTED_FORMS and release.rows > MOST_LISTED_ROWS


def _no_counts() -> ParameterError:
    rule = "is for noisy and synthetic tables only"
    return ParameterError("counts", "given", rule, hint="omit counts (--counts)")


def write_table(table: PublishedTable, file: Path, format: Format) -> None:  # noqa: A002
    """Stream a table to a file; the expanded rows are never held whole."""
    try:
        if format == "csv":
            written = table.marked()
            with file.open("wb") as out:
                out.write(written.at(np.zeros(0, np.int64)).write_csv().encode())
                for batch in written.batches(_BATCH):
                    batch.write_csv(out, include_header=False)
            return
        if format == "xlsx":
            batches = table.batches(_BATCH) if table.rows else iter([table.at(np.zeros(0, np.int64))])
            write_workbook(file, file.stem, batches)
            return
        _lazy(table).sink_parquet(engine_path(file), compression="zstd", row_group_size=_BATCH)
    except (pl.exceptions.PolarsError, OSError) as error:
        why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        raise ReleaseError(f"{file.name} cannot be written{why}", hint="free some disk space") from None


def _lazy(table: PublishedTable) -> pl.LazyFrame:
    from polars.io.plugins import register_io_source

    def batches(*_: object) -> Iterator[pl.DataFrame]:
        # a sink asks for everything: no projection, predicate or limit is pushed down
        yield from table.batches(_BATCH)

    none = table.at(np.zeros(0, np.int64))
    return register_io_source(io_source=batches, schema=none.schema) if table.rows else none.lazy()


def load(folder: str | PathLike[str], *, schema: Schema | None = None) -> Release:
    """Read a saved release; with the steward's schema the labels get their full meaning."""
    path = Path(folder)
    manifest = read_manifest(path)
    claim = manifest.claim()
    if schema is not None:
        manifest = replace(manifest, schema=_known(manifest.schema, schema))
    frames = _frames(path, manifest)
    try:
        release = _release(manifest, frames, claim=claim)
    except (ArithmeticError, IndexError, MemoryError, UnicodeError):  # a manifest whose numbers make no domain
        raise ReleaseError(
            f"{path.name} cannot be read with its schema", hint="use the folder as it was saved"
        ) from None
    suppressed = suppressed_group(release) if manifest.suppressed else None
    return replace(release, suppressed_group=suppressed, source=path)


def _known(published: Schema, steward: Schema) -> Schema:
    """Return the published attributes as the steward's schema has them, in the published roles."""
    absent = [attribute.name for attribute in published.attributes if attribute.name not in steward]
    if absent:
        problems = [Problem(f"attribute.{name}", "is published but not in the schema") for name in absent]
        raise ReleaseError("the schema is of another table", hint="give the schema it was made with", problems=problems)
    mine = (a if steward[a.name].domain is None else steward[a.name].with_role(a.role) for a in published.attributes)
    return replace(steward, attributes=tuple(mine))


def _frames(folder: Path, manifest: Manifest) -> dict[str, pl.DataFrame]:
    """Return the tables as distinct texts with their counts; a file that was changed is refused."""
    frames = {}
    for name, columns in manifest.expected.items():
        entry = manifest.table(name)
        assert entry is not None  # the reader of the manifest saw to it
        file = folder / entry.name
        if not file.is_file():
            raise ReleaseError(f"{entry.name} is missing", hint="use the folder as it was saved")
        if digest(file) != entry.sha256:
            hint = "`sfumato verify` says what does not hold; Release.read takes any table"
            raise ReleaseError(f"{entry.name} is not the file that was saved", hint=hint)
        lazy = scan(file, marks=True)
        if tuple(lazy.collect_schema().names()) != columns:
            raise ReleaseError(f"{entry.name} has other columns than its manifest says", hint="save it again")
        frames[name] = tally(lazy, columns, entry.name)
    return frames


def _release(manifest: Manifest, frames: dict[str, pl.DataFrame], **rest: Any) -> Release:
    schema, data, reading = manifest.schema, frames["data"], TextReader()
    labels, recoding = labels_with_recoding(schema, data, manifest.recoding, reading)
    source = frames.get("groups", data)
    codes = {attribute.name: reading.codes(attribute, source[attribute.name]) for attribute in schema.carried}
    group = carried_group = None
    times = carried_times = times_of(data)
    if manifest.counted:
        counted = counts_of(data[manifest.count], times)
        if counted is None:
            rule = "must hold whole numbers of at least 1, and not too many in all"
            reading.problems.append(Problem(manifest.count, rule))
        times = carried_times = times if counted is None else counted
    if manifest.form == "buckets":
        group, carried_group = _group_numbers(data[manifest.group], source[manifest.group])
        carried_times = _counts(source[manifest.count], times_of(source), reading)
    if reading.problems:
        hint = "give the schema it was made with, or none"
        raise ReleaseError("the release does not fit the schema", hint=hint, problems=reading.problems)
    release = rebuilt(
        schema,
        boxes=(labels, times, group),
        carried=(codes, carried_times, carried_group),
        form=manifest.form,
        mechanism=manifest.mechanism,
        left_out=manifest.left_out,
        notes=manifest.notes,
        recoding=recoding,
        **rest,
    )
    release = replace(release, capped=manifest.capped)
    return release if PEOPLE not in frames else replace(release, people=_declared(release, frames[PEOPLE]))


def _declared(release: Release, frame: pl.DataFrame) -> DeclaredPeople:
    """Return the declared people of a saved release."""
    boxes = release.boxes
    labels = [[table.names[label] for label in boxes.labels[:, at]] for at, table in enumerate(boxes.tables)]
    known: dict[tuple[str | None, ...], int] = {(): 0} if len(boxes) else {}
    if labels:
        known = dict(zip(zip(*labels, strict=True), boxes.group.tolist(), strict=True))
    stated = stated_by(frame, [table.attribute.name for table in boxes.tables], known)
    if isinstance(stated, Problem):
        raise ReleaseError(
            "the declared people cannot be read", hint="use the folder as it was saved", problems=[stated]
        )
    reading, values, overall = TextReader(), {}, {}
    for name, (group, texts, people) in stated.values.items():
        attribute = release.schema[name]
        values[name] = (group, reading.codes(attribute, pl.Series(texts, dtype=pl.String)), people)
        overall[name] = np.zeros(attribute.size, np.int64)
        whole = stated.overall.get(name, {})
        overall[name][reading.codes(attribute, pl.Series(list(whole), dtype=pl.String))] = list(whole.values())
    if reading.problems:
        hint = "use the folder as it was saved"
        raise ReleaseError("the declared people do not fit the schema", hint=hint, problems=reading.problems)
    return DeclaredPeople(stated.classes, everyone=stated.everyone, values=values, overall=overall)


def _group_numbers(boxes: pl.Series, carried: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Number the groups of both tables alike."""
    _, places = distinct_texts(pl.concat([boxes, carried.alias(boxes.name)]))
    return places[: len(boxes)], places[len(boxes) :]


def _counts(texts: pl.Series, times: np.ndarray, reading: TextReader) -> np.ndarray:
    counted = counts_of(texts, times, least=0)
    if counted is None:
        reading.problems.append(Problem(texts.name, "must hold counts of rows, and not too many in all"))
        return np.zeros(len(texts), np.int64)
    return counted
