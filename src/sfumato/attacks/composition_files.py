"""Releases and victims from files: folders of ours, a ledger, anyone's CSV, a list of people and what is known of them.

Source    Ours (`sfumato attack composition a/ b/ --victims v.csv`).
Claim     A victim is read with the quasi-identifiers the file has and, if it has them, the carried attributes; what it
          lacks is unknown to the attacker, never guessed.
Because   attributes without a column lose their role, so that releases are not narrowed by them.
Checked   tests/unit/attacks/test_composition_files.py::test_what_the_file_lacks_is_unknown
          tests/unit/attacks/test_composition_files.py::test_folders_and_foreign_files
          tests/unit/attacks/test_composition_files.py::test_a_ledger_stands_for_what_it_saw_saved
Silent on whether the people in the file are in any release.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato.counts import Table, read
from sfumato.counts.source import open_source
from sfumato.errors import ParameterError, Problem, ReadError
from sfumato.ledger import Ledger
from sfumato.release import Release
from sfumato.schema import Schema

__all__ = ["open_releases", "read_victims"]

_SQLITE = b"SQLite format 3\0"


def open_releases(
    paths: Sequence[str | PathLike[str]],
    schema: Schema | None = None,
    *,
    groups: str | None = None,
    counts: str | None = None,
) -> list[Release]:
    """Load folders and read foreign tables; a table needs the schema, or takes that of the first folder.

    A ledger stands for all releases that were saved with it and share people with the schema's population.
    """
    paths = [every for path in paths for every in _saved(path, schema)]
    folders = [Path(path).is_dir() for path in paths]
    found = {at: Release.load(path, schema=schema) for at, path in enumerate(paths) if folders[at]}
    known = schema if schema is not None else next((release.schema for release in found.values()), None)
    for at, path in enumerate(paths):
        if folders[at]:
            continue
        if known is None:
            raise ParameterError("schema", "none", "a table that is no saved release needs one", hint="--schema x.toml")
        found[at] = Release.read(path, known, groups=groups, counts=counts)
    return [found[at] for at in range(len(paths))]


def _saved(path: str | PathLike[str], schema: Schema | None) -> Sequence[str | PathLike[str]]:
    """Return the folders a ledger names; anything else is what it is."""
    if not Path(path).is_file():
        return [path]
    with Path(path).open("rb") as file:
        if file.read(len(_SQLITE)) != _SQLITE:
            return [path]
    if schema is None:
        raise ParameterError("schema", "none", "a ledger needs one: it names the population", hint="--schema x.toml")
    return Ledger(path).saved_folders(schema.population or schema.name)


def read_victims(data: Any, schema: Schema, **options: Any) -> Table:
    """Read what is known of people: any of the quasi-identifiers and, to judge the attack, what they truly carry."""
    columns = [known.column or known.name for known in schema.published]
    source = open_source(data, expected=columns, **options)
    present = {known.name for known in schema.published if (known.column or known.name) in source.columns}
    quasi = [known.name for known in schema.quasi if known.name in present]
    if not quasi:
        hint = f"one of {', '.join(known.column or known.name for known in schema.quasi)}"
        raise ReadError(Problem(source.name, "has no column of a quasi-identifier", hint))
    reduced = schema.with_roles(
        quasi=quasi,
        sensitive=[known.name for known in schema.sensitive if known.name in present],
        target=[known.name for known in schema.role("target") if known.name in present],
    )
    return read(data, reduced, **options)
