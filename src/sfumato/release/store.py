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

import errno
import json
import os
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from sfumato.claims import Claim, Nothing
from sfumato.errors import ParameterError, Problem, ReleaseError, SfumatoError
from sfumato.limits import engine_path
from sfumato.release.declared import PEOPLE, DeclaredPeople, told_by
from sfumato.release.dictionary import dictionary
from sfumato.release.files import digest, distinct_texts, scan, tally
from sfumato.release.folder import NewFolder, refuse_existing, take_name
from sfumato.release.frames import PublishedTable, published_frames
from sfumato.release.manifest import COUNTED_FORMS, DICTIONARY, MANIFEST, FileEntry, Manifest
from sfumato.release.manifest_reader import read_manifest
from sfumato.release.manifest_writer import manifest_of
from sfumato.release.parse import Reading, counts_of, rebuilt, suppressed_group, times_of
from sfumato.release.partial import is_stale, target_of
from sfumato.release.recoding_file import labels_with_recoding
from sfumato.release.release import Release
from sfumato.release.spreadsheet import marked_frame
from sfumato.schema import Attribute, Schema, Values
from sfumato.schema.free_text import refuse_free_text

__all__ = ["finish", "load", "refuse_beforehand", "refuse_form", "refuse_unsavable", "save", "save_or_keep"]

Format = Literal["parquet", "csv"]
MOST_ROWS = 10**9  # written one by one; more are written with counts
_FAILURES = (Exception, pl.exceptions.PanicException)  # a panic of polars is no Exception
_BATCH = 200_000  # rows expanded at a time: about 20 MB for a dozen columns


def save(
    release: Release,
    folder: str | PathLike[str] | NewFolder,
    *,
    format: Format = "parquet",  # noqa: A002
    allow_rehearsal: bool = False,
    counts: bool = False,
    allow_fingerprints: bool = False,
    allow_text: bool = False,
) -> None:
    """Write data, manifest and dictionary into a new folder, all or nothing; note it in the release's ledger.

    The ledger hears of the folder before it takes its name, so that no kill leaves a published release unknown.
    """
    _refuse_format(format)
    allowed = {"allow_fingerprints": allow_fingerprints, "allow_text": allow_text}
    refuse_unsavable(release, allow_rehearsal=allow_rehearsal, **allowed)
    refuse_form(release, counts=counts)
    account = release.account
    paid = _paid(release)
    with _not_interrupted(paid), folder if isinstance(folder, NewFolder) else NewFolder(folder) as place:
        note = None if account is None else (lambda: account.intends(place.target, place.partial))
        ledger = None if account is None else account.file
        with place.filled(keep=paid, before_naming=note, ledger=ledger) as partial:
            _fill(release, partial, format, counts=counts)
        if account is not None:
            with suppress(ParameterError):  # a folder that was meant and is there counts as saved all the same
                account.saved(place.target)


def _fill(release: Release, partial: Path, format: Format, *, counts: bool) -> None:  # noqa: A002
    """Write every file; the manifest comes last, so that a folder with a manifest is whole."""
    published = published_frames(release, counts=counts)
    tables = {f"{name}.{format}": (name, table) for name, table in published.items()}
    for file, (_, table) in tables.items():
        _write(table, partial / file, format)
    text = dictionary(release, {file: table for file, (_, table) in tables.items()}, counts=counts)
    (partial / DICTIONARY).write_text(text, encoding="utf-8", newline="\n")
    files = [
        FileEntry(file, sha256=digest(partial / file), table=name, rows=table.rows, columns=table.names)
        for file, (name, table) in tables.items()
    ]
    files.append(FileEntry(DICTIONARY, sha256=digest(partial / DICTIONARY)))
    told = manifest_of(release, tuple(files), counts=counts)
    manifest = json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False)
    (partial / MANIFEST).write_text(manifest + "\n", encoding="utf-8", newline="\n")


def save_or_keep(
    release: Release,
    place: NewFolder,
    *,
    format: Format = "parquet",  # noqa: A002
    allow_rehearsal: bool = False,
    counts: bool = False,
    allow_fingerprints: bool = False,
    allow_text: bool = False,
) -> None:
    """Save a release; if that fails, for whatever reason, and it was paid for, keep it elsewhere and say where."""
    try:
        allowed = {"allow_rehearsal": allow_rehearsal, "allow_fingerprints": allow_fingerprints}
        save(release, place, format=format, counts=counts, allow_text=allow_text, **allowed)
    except _FAILURES as error:
        if not _paid(release) or place.partial.is_dir():  # what is whole says itself how it is finished
            raise
        kept = _kept_elsewhere(release, format, counts=counts or _long(release))
        problem = str(error).partition(" Hint:")[0].rstrip(".")
        if not isinstance(error, SfumatoError):  # what others say may quote a cell
            problem = f"{place.target.name} cannot be written ({type(error).__name__})"
        if kept is None:
            rule = f"{problem}. No other place could be written either: the release is lost, what it spent stays spent"
            raise ReleaseError(rule, hint="look at the disks before you publish again") from error
        rule = f"{problem}. The release was made and paid for; it is whole in {kept}"
        raise ReleaseError(rule, hint="move that folder to where it belongs; do not publish again") from error


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
            yes = dict.fromkeys(("allow_rehearsal", "allow_fingerprints", "allow_text"), True)
            save(release, made / "release", format=format, counts=counts, **yes)
        except _FAILURES:
            left = [made / "release", *made.glob(".release.partial-*")]  # whole, where only the ledger was not told
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
        rule = f"{source.name} was not written to its end: there is nothing to finish"
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
    allow_rehearsal: bool,
    counts: bool = False,
) -> None:
    """Refuse what could not be saved, before anything is drawn or paid for."""
    _refuse_format(format)
    if counts and claim.kind != "proved":
        raise _no_counts()
    if isinstance(claim.promise, Nothing):
        hint = "publish with a mechanism that makes a claim"
        raise ReleaseError("this release would promise nothing: it can be measured, never saved", hint=hint)
    if seeded and claim.kind == "proved" and not allow_rehearsal:
        hint = "omit the seed, or allow a rehearsal (--allow-rehearsal)"
        raise ReleaseError("a seeded release is a rehearsal: it would be charged and not be saved", hint=hint)
    if not schema.published:
        raise ReleaseError("this release would have no column", hint="publish at least one attribute")


def _refuse_format(format: str) -> None:  # noqa: A002
    if format not in ("parquet", "csv"):
        raise ParameterError("format", format, "must be parquet or csv")


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


def refuse_unsavable(
    release: Release, *, allow_rehearsal: bool, allow_fingerprints: bool = False, allow_text: bool = False
) -> None:
    """Refuse what may not leave the house."""
    if not release.savable or isinstance(release.claim.promise, Nothing):
        hint = "publish with a mechanism that makes a claim"
        raise ReleaseError("this release promises nothing: it can be measured, never saved", hint=hint)
    if release.claim.rehearsal and not allow_rehearsal:
        hint = "publish without a seed, or save it as a rehearsal with allow_rehearsal=True"
        raise ReleaseError("this release is a rehearsal: its randomness can be repeated", hint=hint)
    if not release.quasi and not release.carried:
        raise ReleaseError("this release has no column", hint="publish at least one attribute")
    if release.claim.kind == "proved":  # a draw may not be refused for what was drawn
        return
    if not allow_fingerprints:
        release.fingerprints().require()
    if not allow_text:
        _refuse_text(release)


def _refuse_text(release: Release) -> None:
    """Refuse columns that are not made coarser and look like what somebody wrote freely."""
    told = {}
    for attribute in release.carried:
        if isinstance(attribute.domain, Values):
            rows = np.asarray(release.groups.histogram(attribute.name).sum(axis=0)).ravel().tolist()
            told[attribute.name] = {
                text: many for text, many in zip(attribute.domain.names, rows, strict=False) if many
            }
    refuse_free_text(told)


def refuse_form(release: Release, *, counts: bool) -> None:
    """Refuse a way of writing that this release does not have; the release itself decides, never the data."""
    if counts and release.form not in COUNTED_FORMS:
        raise _no_counts()
    if not counts and _long(release):
        told = f"this release counts {release.rows:,} rows, too many to write one by one"
        raise ReleaseError(told, hint="save it with counts=True (--counts): a line for each combination")


def _long(release: Release) -> bool:
    return release.form in COUNTED_FORMS and release.rows > MOST_ROWS


def _no_counts() -> ParameterError:
    rule = "is for noisy and synthetic tables only"
    return ParameterError("counts", "given", rule, hint="omit counts (--counts)")


def _write(table: PublishedTable, file: Path, format: Format) -> None:  # noqa: A002
    """Stream a table to a file; the expanded rows are never held whole."""
    try:
        if format == "csv":
            with file.open("wb") as out:
                out.write(marked_frame(table.at(np.zeros(0, np.int64))).write_csv().encode())
                for batch in table.batches(_BATCH):
                    marked_frame(batch).write_csv(out, include_header=False)
            return
        _lazy(table).sink_parquet(engine_path(file), compression="zstd", row_group_size=_BATCH)
    except (pl.exceptions.PolarsError, OSError) as error:
        why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        raise ReleaseError(f"{file.name} cannot be written{why}", hint="see that the disk has room") from None


def _lazy(table: PublishedTable) -> pl.LazyFrame:
    from polars.io.plugins import register_io_source

    def batches(*_: object) -> Iterator[pl.DataFrame]:
        # a sink asks for everything: no projection, predicate or limit is pushed down
        yield from table.batches(_BATCH)

    if not table.rows:
        return table.at(np.zeros(0, np.int64)).lazy()
    return register_io_source(io_source=batches, schema=table.at(np.zeros(0, np.int64)).schema)


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
            f"{path.name} can not be read with its schema", hint="take the folder as it was saved"
        ) from None
    return replace(release, suppressed_group=suppressed_group(release) if manifest.suppressed else None)


def _known(published: Schema, steward: Schema) -> Schema:
    """Return the published attributes as the steward's schema has them, in the published roles."""
    absent = [attribute.name for attribute in published.attributes if attribute.name not in steward]
    if absent:
        problems = [Problem(f"attribute.{name}", "is published but not in the schema") for name in absent]
        raise ReleaseError("the schema is of another table", hint="give the schema it was made with", problems=problems)
    attributes: tuple[Attribute, ...] = tuple(steward[a.name].with_role(a.role) for a in published.attributes)
    return replace(steward, attributes=attributes)


def _frames(folder: Path, manifest: Manifest) -> dict[str, pl.DataFrame]:
    """Return the tables as distinct texts with their counts; a file that was changed is refused."""
    frames = {}
    for name, columns in manifest.expected.items():
        entry = manifest.table(name)
        assert entry is not None  # the reader of the manifest saw to it
        file = folder / entry.name
        if not file.is_file():
            raise ReleaseError(f"{entry.name} is missing", hint="take the folder as it was saved")
        if digest(file) != entry.sha256:
            hint = "`sfumato verify` says what does not hold; Release.read takes any table"
            raise ReleaseError(f"{entry.name} is not the file that was saved", hint=hint)
        lazy = scan(file, separator=",", marks=True)
        if tuple(lazy.collect_schema().names()) != columns:
            raise ReleaseError(f"{entry.name} has other columns than its manifest says", hint="save it again")
        frames[name] = tally(lazy, columns, entry.name)
    return frames


def _release(manifest: Manifest, frames: dict[str, pl.DataFrame], **rest: Any) -> Release:
    schema, data, reading = manifest.schema, frames["data"], Reading()
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
    return release if PEOPLE not in frames else replace(release, people=_declared(release, frames[PEOPLE]))


def _declared(release: Release, frame: pl.DataFrame) -> DeclaredPeople:
    """Return the declared people of a saved release."""
    boxes = release.boxes
    labels = [[table.names[label] for label in boxes.labels[:, at]] for at, table in enumerate(boxes.tables)]
    known: dict[tuple[str | None, ...], int] = {(): 0}
    if labels:
        known = dict(zip(zip(*labels, strict=True), boxes.group.tolist(), strict=True))
    told = told_by(frame, [table.attribute.name for table in boxes.tables], known)
    if isinstance(told, Problem):
        raise ReleaseError(
            "the declared people cannot be read", hint="take the folder as it was saved", problems=[told]
        )
    reading, values, overall = Reading(), {}, {}
    for name, (group, texts, people) in told.values.items():
        attribute = release.schema[name]
        values[name] = (group, reading.codes(attribute, pl.Series(texts, dtype=pl.String)), people)
        overall[name] = np.zeros(attribute.size, np.int64)
        whole = told.overall.get(name, {})
        overall[name][reading.codes(attribute, pl.Series(list(whole), dtype=pl.String))] = list(whole.values())
    if reading.problems:
        hint = "take the folder as it was saved"
        raise ReleaseError("the declared people do not fit the schema", hint=hint, problems=reading.problems)
    return DeclaredPeople(told.classes, everyone=told.everyone, values=values, overall=overall)


def _group_numbers(boxes: pl.Series, carried: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Number the groups of both tables alike."""
    _, places = distinct_texts(pl.concat([boxes, carried.alias(boxes.name)]))
    return places[: len(boxes)], places[len(boxes) :]


def _counts(texts: pl.Series, times: np.ndarray, reading: Reading) -> np.ndarray:
    counted = counts_of(texts, times, least=0)
    if counted is None:
        reading.problems.append(Problem(texts.name, "must hold counts of rows, and not too many in all"))
        return np.zeros(len(texts), np.int64)
    return counted
