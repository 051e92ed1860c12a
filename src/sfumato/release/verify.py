"""Checks a claim on the written files alone, reading them with polars and nothing of the code that made them.

Source    Ours: a requirement is checkable on the file; differential privacy is not, its bookkeeping is.
Claim     `holds` is True only if the files are those the manifest lists, with its columns and its labels, and every
          class of rows that share the text of all quasi-identifiers satisfies the requirement, the suppressed one too;
          of two linked tables every group does, and k people share the text of all quasi-identifiers.
Because   classes and histograms are counted anew from the rows; blank cells are a value like any other.
Checked   tests/claims/test_verify.py::test_edits_are_caught
          tests/claims/test_verify.py::test_recomputes_what_pycanon_finds
          tests/claims/test_adversary_dp.py::test_crafted_manifests_fail
          tests/claims/test_free_content.py::test_a_dictionary_with_other_words_fails
Silent on whether the rows are true, on who wrote the manifest and the names, notes and parameters in it (the words of
          the dictionary must be those that follow from them), and on differential privacy: for a proved claim it
          checks hashes, public domains, cuts, counts, the budget's sum and the rehearsal stamp.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.claims import ApproxDP, Claim, ConcentratedDP, ProbabilisticDP, PureDP, Requirement, number_from_json
from sfumato.errors import ParameterError, Problem, ReleaseError, count_of
from sfumato.release.check_classes import (
    DRAWN,
    Examined,
    examine_bucket_tables,
    examine_rows,
    label_problems,
    on_whose_word,
    unsorted,
)
from sfumato.release.declared_people import PEOPLE, people_columns
from sfumato.release.files import DAMAGED, digest, scan
from sfumato.release.from_text import columns_of, refuse_no_counts
from sfumato.release.hidden_content import beside_the_table
from sfumato.release.manifest import COUNTED_FORMS, DICTIONARY, MANIFEST, Manifest, read_manifest
from sfumato.release.release import noise_lines
from sfumato.release.verdict import Verdict
from sfumato.schema import Attribute, Days, Schema, Values
from sfumato.schema.word_hints import holds_counts, named_like_counts
from sfumato.version import __version__

_NO_FOLDER = (
    "a file without its folder cannot show it: in a schema for this file omit person, and say with rows_per_person at "
    "most how many rows anybody has"
)
_SYSTEM_FILES = {".DS_Store", ".localized", "Thumbs.db", "desktop.ini"}


def verify(
    target: str | PathLike[str],
    *,
    schema: Schema | None = None,
    requirement: Requirement | None = None,
    groups: str | None = None,
    counts: str | None = None,
    sheet: str | None = None,
) -> Verdict:
    """Check the claim of a saved release, or a requirement on any published table, from the written files alone.

    A bare CSV, Parquet or Excel file needs a requirement and a schema, which says what each column is; `groups` names
    its column of group numbers (buckets), `counts` one that says how many rows a line stands for (whole numbers of at
    least 1), `sheet` the sheet of an Excel file to read, if several hold values.

    >>> table = sf.datasets.adult("test")
    >>> from tempfile import TemporaryDirectory
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50)))
    >>> with TemporaryDirectory() as folder:
    ...     saved = release.save(f"{folder}/out")
    ...     sf.verify(f"{folder}/out").holds
    True
    """
    path = Path(target)
    if path.is_dir():
        for name, value in (("counts", counts), ("groups", groups), ("sheet", sheet)):
            if value is not None:
                rule = "is for a bare file: a saved folder says what its columns are"
                raise ParameterError(name, value, rule, hint=f"omit {name} (--{name})")
        return _folder(path, schema, requirement)
    if not path.exists():
        raise ReleaseError(f"{path.name} does not exist", hint="name a saved folder, or a CSV, Parquet or Excel file")
    if schema is None or requirement is None:
        missing = "schema" if schema is None else "requirement"
        beside = (path.parent / MANIFEST).is_file()
        hint = "verify its folder" if beside else "--schema s.toml --k 10"
        raise ParameterError(missing, "not given", "a bare file states no claim", hint=hint)
    return _file(path, schema, requirement, groups=groups, counts=counts, sheet=sheet)


# -- a saved folder ------------------------------------------------------------------------


def _folder(folder: Path, schema: Schema | None, requirement: Requirement | None) -> Verdict:
    manifest = read_manifest(folder)
    problems, notes = _listed_files(folder, manifest), list[str]()
    problems += _roles(manifest.schema, schema)
    claim, wrong = _claim(manifest)
    problems += wrong
    asked = requirement or (claim.requirement if claim is not None else None)
    if claim is not None and requirement is None:
        more, said = _bookkeeping(claim, manifest)
        problems += more
        notes += said
    notes += _nothing_asked(asked)
    examined = _tables(folder, manifest, asked)
    problems += examined.problems
    proved = claim is not None and claim.kind == "proved"
    problems += _outside_cuts(manifest, examined.texts, proved=proved)
    if len(problems) == len(examined.unshown):
        more, said = _dictionary(folder, manifest)
        problems += more
        notes += said
    holds = not problems and all(finding.holds for finding in examined.findings)
    seen = examined.fingerprints
    if seen is not None and claim is not None and claim.kind == "proved":
        seen = replace(seen, drawn=True, noise=_noise(manifest, claim))
    said = [*examined.notes, *examined.exposed]
    if proved:
        said = [DRAWN if note == on_whose_word(manifest.schema) else note for note in examined.notes]
    return Verdict(
        "checked" if requirement is not None else claim.kind if claim is not None else "none",
        holds=holds and (claim is not None or requirement is not None),
        asked=requirement or (claim.promise if claim is not None else None),
        findings=examined.findings,
        classes=examined.classes,
        rows=examined.rows,
        offending=examined.offending,
        offending_rows=examined.offending_rows,
        problems=tuple(problems),
        notes=(*notes, *said),
        fingerprints=seen,
        checkable=_checkable(examined, problems),
    )


def _checkable(examined: Examined, problems: Sequence[Problem]) -> bool:
    """Whether the claim holds or fails; not where all that is wrong is that no table shows what is asked."""
    fails = len(problems) > len(examined.unshown) or not all(finding.holds for finding in examined.findings)
    return fails or not examined.unshown


def _noise(manifest: Manifest, claim: Claim) -> float | None:
    """Return how many combinations that nobody has are expected where counts are practically exact."""
    listed = (manifest.recoding or {}).get("labels", {})
    known = isinstance(listed, dict) and all(isinstance(listed.get(a.name), list) for a in manifest.schema.quasi)
    labels = [len(listed[a.name]) for a in manifest.schema.quasi] if known else []
    return noise_lines(manifest.form, claim, manifest.schema, manifest.mechanism if known else {}, labels)


def _dictionary(folder: Path, manifest: Manifest) -> tuple[list[Problem], list[str]]:
    """Compare the dictionary with the one that manifest and tables give: its words may promise nothing else.

    Another version has other words: then it is said that nobody compared them.
    """
    if not any(entry.name == DICTIONARY for entry in manifest.files):
        return [], []
    if manifest.version != __version__:
        return [], [f"{DICTIONARY} was written by another version of the program: its words were not compared"]
    from sfumato.release.store import dictionary_again

    hint = "publish the folder as it was saved"
    try:
        expected = dictionary_again(folder, manifest)
        written = (folder / DICTIONARY).read_bytes().decode()
    except (ReleaseError, OSError, UnicodeDecodeError):
        return [Problem(DICTIONARY, "cannot be compared with the manifest", hint)], []
    if written != expected:
        return [Problem(DICTIONARY, "does not say what the manifest and the tables say", hint)], []
    return [], []


def _nothing_asked(asked: Requirement | None) -> list[str]:
    """Say so where a requirement cannot fail."""
    parts = () if asked is None else asked.parts
    return [f"Warning: {part} promises nothing: every table satisfies it" for part in parts if part.vacuous]


def _claim(manifest: Manifest) -> tuple[Claim | None, list[Problem]]:
    try:
        return manifest.claim(), []
    except ReleaseError as error:
        return None, list(error.problems)


def _listed_files(folder: Path, manifest: Manifest) -> list[Problem]:
    """The folder must hold the files of the manifest, unchanged, and no other."""
    problems = []
    covered = {DICTIONARY, *(entry.name for name in manifest.expected if (entry := manifest.table(name)) is not None)}
    for entry in manifest.files:
        file = folder / entry.name
        if entry.name not in covered or (entry.name == DICTIONARY and entry.table is not None):
            problems.append(
                Problem(entry.name, "is listed, but is not a table of this release", "publish only what was saved")
            )
        if file.is_symlink():
            problems.append(Problem(entry.name, "is a link: what it leads to may change", "publish the file itself"))
        if not file.is_file():
            problems.append(Problem(entry.name, "is missing"))
        elif digest(file) != entry.sha256:
            problems.append(Problem(entry.name, "was changed after it was saved: its SHA-256 differs"))
    listed = {MANIFEST, *(entry.name for entry in manifest.files)}
    for found in sorted(item.name for item in folder.iterdir() if item.name not in listed):
        rule, hint = "is not listed in the manifest", "publish only what was saved"
        if found in _SYSTEM_FILES:  # whatever its name says, nobody knows what is in it
            rule, hint = (
                "is not part of the release: operating systems leave such files",
                "delete it, then verify again",
            )
        problems.append(Problem(found, rule, hint))
    return problems


def _roles(published: Schema, given: Schema | None) -> list[Problem]:
    """A schema that is given must say the same of every column: role, kind, distance; where public, the domain too."""
    if given is None:
        return []
    problems = []
    if published.rows_per_person != given.rows_per_person:
        rule = f"is {published.rows_per_person} in the manifest, but in the schema it is {given.rows_per_person}"
        problems.append(Problem("rows_per_person", rule))
    if published.person != given.person or published.cap != given.cap:
        problems.append(
            Problem("person", "who a row is about, or how many rows a person keeps, is another in the schema")
        )
    for attribute in published.attributes:
        if attribute.name not in given:
            problems.append(Problem(attribute.where, "is published but not in the schema"))
        elif given[attribute.name].role != attribute.role:
            role = given[attribute.name].role
            problems.append(
                Problem(attribute.where, f"is published as {attribute.role}, but in the schema it is {role}")
            )
        elif _declared(attribute) != _declared(given[attribute.name]):
            problems.append(Problem(attribute.where, "is declared otherwise in the schema"))
    return problems


def _declared(attribute: Attribute) -> dict[str, Any]:
    """What both schemas must state; the manifest states only a part of a domain that was read off the data."""
    part = () if attribute.source != "data" else ("domain", "tree", "clamp")
    return {key: value for key, value in attribute.to_json().items() if key not in part}


def _bookkeeping(claim: Claim, manifest: Manifest) -> tuple[list[Problem], list[str]]:
    """What can be checked of a promise that the file itself cannot show."""
    if claim.kind == "checked":
        stamp = ["this is a rehearsal: its randomness can be repeated"] if claim.rehearsal else []
        return [], stamp
    if claim.kind == "none":
        return [Problem("claim", "promises nothing")], []
    problems = []
    if claim.rehearsal:
        problems.append(Problem("claim.rehearsal", "it was made with a known seed and protects nobody"))
    if "rehearsal" not in manifest.claim_json:
        problems.append(Problem("claim.rehearsal", "does not say whether the randomness can be repeated"))
    if claim.kind == "estimate":
        return problems, ["the estimate itself is not checkable on the file: it rests on a model of the population"]
    notes = ["not checkable on the file: differential privacy is a property of the mechanism, proved for it"]
    notes += [] if claim.unit == "row" else [on_whose_word(manifest.schema, drawn=True)]
    if not claim.accounted:
        notes.append("not accounted in any ledger")
    if not claim.trace:
        problems.append(Problem("claim.trace", "no step of the budget is stated"))
    if manifest.left_out is not None:
        problems.append(Problem("left_out", "states a number of rows that the claim does not cover"))
    if manifest.capped is not None:
        problems.append(Problem("capped", "states a number of rows that the claim does not cover"))
    if not _as_given(claim, manifest):
        problems.append(Problem("mechanism.epsilon", "is more than the claim says, or is not a number"))
    problems += [
        Problem(attribute.where, "its domain is not stated to be public, so the claim is false")
        for attribute in manifest.schema.attributes
        if attribute.source != "public"
    ]
    return problems, notes


def _as_given(claim: Claim, manifest: Manifest) -> bool:
    """Whether the mechanism was given no more epsilon than the claim says (a mechanism may add to what it is given)."""
    if "epsilon" not in manifest.mechanism:
        return True
    try:
        given = number_from_json("epsilon", manifest.mechanism["epsilon"])
    except (ParameterError, TypeError, ValueError):
        return False
    promise = claim.promise
    if not isinstance(promise, PureDP | ApproxDP | ConcentratedDP | ProbabilisticDP):
        return False
    return 0 < given <= promise.epsilon


def _outside_cuts(manifest: Manifest, texts: Mapping[str, list[str | None]], *, proved: bool) -> list[Problem]:
    """Where cuts are published, each is a label of the schema; under a proved claim every label is one of them.

    Another would stand for a row that no noise made.
    """
    labels_given = None if manifest.recoding is None else manifest.recoding.get("labels", {})
    if labels_given is None:
        return []
    if not isinstance(labels_given, dict) or not all(isinstance(labels, list) for labels in labels_given.values()):
        return [Problem("recoding", "cannot be read", "use the folder as it was saved")]
    if any(not all(isinstance(text, str) for text in labels) for labels in labels_given.values()):
        return [Problem("recoding.labels", "must be texts", "use the folder as it was saved")]
    unread = label_problems(manifest.schema, labels_given)
    if not proved:
        return unread
    strange = {name: sum(text not in labels_given[name] for text in texts.get(name, [])) for name in labels_given}
    return unread + [
        Problem(
            f"attribute.{name}", f"{count_of(many, 'label is', 'labels are')} none of the published cuts", count=many
        )
        for name, many in strange.items()
        if many
    ]


def _tables(folder: Path, manifest: Manifest, asked: Requirement | None) -> Examined:
    """Count classes anew from the tables."""
    problems: list[Problem] = []
    frames = {}
    for name, columns in manifest.expected.items():
        entry = manifest.table(name)
        if entry is None or not (folder / entry.name).is_file():
            return Examined(problems=[Problem(name, "cannot be checked: its file is missing")])
        try:
            frames[name] = scan(folder / entry.name, marks=True)
        except ReleaseError as error:
            return Examined(problems=[Problem(entry.name, str(error))])
        present = tuple(frames[name].collect_schema().names())
        if present != columns or entry.columns != columns:
            extra = [column for column in present if column not in columns]
            rule = (
                f"has {count_of(len(extra), 'column')} that no claim covers"
                if extra
                else "lacks columns of its manifest"
            )
            problems.append(Problem(entry.name, rule, "publish the file as it was saved"))
            if not set(columns) <= set(present):
                return Examined(problems=problems)
    schema = manifest.schema
    try:
        if manifest.form == "buckets":
            examined = examine_bucket_tables(
                schema, frames["data"], frames["groups"], asked, group=manifest.group, count=manifest.count
            )
        else:
            count = manifest.count if manifest.counted else None
            attributes = {name: name for name in manifest.expected["data"] if name != count}
            people, drawn = frames.get(PEOPLE), manifest.form in COUNTED_FORMS
            examined = examine_rows(schema, frames["data"], attributes, asked, count=count, people=people, drawn=drawn)
    except ReleaseError:  # a header that can be read over rows that cannot: damage, so the claim fails
        rule, hint = "cannot be read: its rows are damaged", "use the folder as it was saved"
        damaged = [name for name, frame in frames.items() if not _readable(frame)] or ["data"]
        return Examined(problems=[*problems, *(Problem(name, rule, hint) for name in damaged)])
    problems += examined.problems
    numbers = (manifest.group, manifest.count, people_columns([a.name for a in schema.quasi])[-1])
    for name, frame in frames.items():
        entry = manifest.table(name)
        rows = examined.table_rows.get(name)
        if entry is not None and rows is not None and entry.rows != rows:
            problems.append(Problem(entry.name, "has another number of rows than its manifest says"))
        if not unsorted(frame, manifest.expected[name], numbers=numbers):
            continue
        # What we save is sorted; another order may be that of the people, or link the two tables of buckets.
        problems.append(Problem(name, "is not sorted by its content: its order could link people to values"))
    problems += label_problems(schema, examined.texts, as_saved=True)
    examined.problems = problems
    return examined


def _readable(frame: pl.LazyFrame) -> bool:
    """Whether every row of a table can be read."""
    try:
        frame.select(pl.all().n_unique()).collect(engine="streaming")
    except DAMAGED:
        return False
    return True


# -- a bare file ---------------------------------------------------------------------------


def _uncounted(schema: Schema, columns: Mapping[str, str], texts: Mapping[str, Sequence[str | None]]) -> list[Problem]:
    """Return a problem for each column of the schema that may say for how many people a line stands."""
    rule = "may be the number of people a line stands for, but each line was counted as one"
    return [
        Problem(
            column,
            rule,
            f"--counts {column}, without a role in the schema, where it is; not_count = [{json.dumps(column)}] in the "
            "schema where each line is one person",
        )
        for name, column in columns.items()
        if not {name, column} & schema.nobodys_count
        and named_like_counts(column)
        and holds_counts(column, (text or "" for text in texts.get(name, ())))
    ]


def _known_value_hint(attribute: Attribute) -> str:
    """Say what to do with values of a carried column that are not in the schema."""
    if isinstance(attribute.values, Values):
        return "add them to `values` of the schema, or to `same` where they are spellings of one"
    if isinstance(attribute.values, Days):
        return "write days of the schema's range, as 2024-05-31"
    return "write numbers of the schema's range without units and marks for thousands, as 50000 or 0.5"


def _file(
    path: Path,
    schema: Schema,
    requirement: Requirement,
    *,
    groups: str | None,
    counts: str | None,
    sheet: str | None,
) -> Verdict:
    frame, beside = scan(path, sheet=sheet), (path.parent / MANIFEST).is_file()
    present = frame.collect_schema().names()
    columns = columns_of(schema, present)
    if groups is not None and groups not in present:
        raise ParameterError("groups", groups, "is not a column of the table", hint="name the column of group numbers")
    refuse_no_counts(counts, present, (*columns.values(), groups))
    if not columns:
        raise ReleaseError(f"{path.name} has no column of the schema", hint="give the schema of this table")
    extra = [column for column in present if column not in (*columns.values(), groups, counts)]
    named = {name for one in schema.role("identifier") for name in (one.name, one.column)} | set(schema.person_columns)
    keys = dict.fromkeys(named, "remove it: the schema says that it identifies people, so it is never published")
    problems = [
        Problem(
            column,
            "is a column that no claim covers",
            keys[column]
            if column in keys
            else f"--counts {column} where it says for how many people a line stands; else remove it"
            if named_like_counts(column)
            else "remove it, or give it a role in the schema",
        )
        for column in extra
    ]
    examined = examine_rows(schema, frame, columns, requirement, groups=groups, count=counts)
    problems += [] if counts is not None else _uncounted(schema, columns, examined.texts)
    if not examined.rows and not examined.problems:
        problems.append(Problem(path.name, "has no rows: there is nothing to check", "give the table as published"))
    unread = label_problems(schema, examined.texts)
    # Unknown values have no rank, and nobody can tell whether two of them are one value in two spellings.
    needed = {attribute.where for attribute in schema.carried if attribute.ordered}
    needed |= {attribute.where for attribute in schema.sensitive if requirement.reads_sensitive}
    how = {attribute.where: _known_value_hint(attribute) for attribute in schema.carried}
    problems += [replace(p, hint=_NO_FOLDER) if p.path == PEOPLE and not beside else p for p in examined.problems]
    problems += [replace(p, hint=how[p.path]) for p in unread if p.path in needed]
    absent = [attribute.name for attribute in schema.quasi if attribute.name not in columns]
    notes = [*_nothing_asked(requirement), *(f"{name} is not in the table: read as *" for name in absent)]
    notes += [f"{p.path}: {p.rule}; they are compared by text" for p in unread if p.path not in needed]
    held, said = beside_the_table(path, schema, columns, sheet=sheet)
    problems, notes = problems + held, notes + said
    if counts is not None:
        notes.append(f"{counts}: how many rows a line stands for is taken from the file and was not checked")
    if groups is not None:
        notes.append(f"{groups}: every row shows its own values, so a class is rows with the same labels and group")
    return Verdict(
        "checked",
        holds=not problems and all(finding.holds for finding in examined.findings),
        asked=requirement,
        findings=examined.findings,
        classes=examined.classes,
        rows=examined.rows,
        offending=examined.offending,
        offending_rows=examined.offending_rows,
        problems=tuple(problems),
        notes=(*notes, *examined.notes, *examined.exposed),
        fingerprints=examined.fingerprints,
        checkable=_checkable(examined, problems),
    )
