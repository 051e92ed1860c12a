"""manifest.json: what is in the folder, what it promises, and the public part of the schema.

Source    design: a manifest never holds a raw value, a seed, a path, or a count that the claim does not cover.
Claim     Of an attribute whose domain was read off the data it tells only what published labels say; rows that
          were left out are counted only under a claim that is checked on the file.
Because   the schema goes through `public_part`; recoding and residence are never looked at, save a public recoding.
Checked   tests/unit/release/test_manifest.py::test_tells_no_unpublished_value_of_a_data_domain
          tests/unit/release/test_manifest.py::test_holds_no_seed_no_path_no_uncovered_count
Silent on what a mechanism writes into its parameters and notes: each mechanism answers for its own.
"""

from __future__ import annotations

import datetime as dt
import platform
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

import sfumato
from sfumato.claims import Claim, number_to_json
from sfumato.errors import ParameterError, Problem, ReleaseError
from sfumato.release.frames import COUNT, GROUP, free_name
from sfumato.release.public_part import public_part
from sfumato.release.release import Form, Release
from sfumato.schema import Attribute, Schema

__all__ = [
    "DICTIONARY",
    "FORMAT",
    "MANIFEST",
    "FileEntry",
    "Manifest",
    "levels",
    "manifest_of",
    "plain_parameters",
    "public_schema",
]

FORMAT = 1
MANIFEST = "manifest.json"
DICTIONARY = "dictionary.md"
_NEVER = {"seed", "path", "entropy"}


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of the folder; `table` names the published table it holds."""

    name: str
    _: KW_ONLY
    sha256: str
    table: str | None = None
    rows: int | None = None
    columns: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        data: dict[str, Any] = {"sha256": self.sha256}
        if self.table is not None:
            data |= {"table": self.table, "rows": self.rows, "columns": list(self.columns)}
        return data


@dataclass(frozen=True)
class Manifest:
    """A manifest that was read. The claim stays plain data until it is asked for: a verifier reports a wrong one."""

    schema: Schema
    _: KW_ONLY
    claim_json: Mapping[str, Any]
    files: tuple[FileEntry, ...]
    form: Form = "generalized"
    mechanism: Mapping[str, Any] = field(default_factory=dict)
    suppressed: bool = False
    left_out: int | None = None
    notes: tuple[str, ...] = ()
    recoding: Mapping[str, Any] | None = None

    def claim(self) -> Claim:
        """Return the claim; a `ReleaseError` when it can not be one."""
        try:
            return Claim.from_json(self.claim_json)
        except ParameterError as error:
            raise _bad_claim(error.name, error.rule) from None
        except (KeyError, TypeError, ValueError, AttributeError):
            raise _bad_claim("claim", "has not the form of a claim") from None

    def table(self, name: str) -> FileEntry | None:
        """Return the file of a published table."""
        return next((entry for entry in self.files if entry.table == name), None)

    @property
    def group(self) -> str:
        """Name of the column that numbers groups, in a release of buckets."""
        return free_name(GROUP, self.schema.names)

    @property
    def count(self) -> str:
        """Name of the column that counts rows, in the table of groups."""
        return free_name(COUNT, self.schema.names)

    @property
    def expected(self) -> dict[str, tuple[str, ...]]:
        """Columns each table of such a release has."""
        quasi = tuple(attribute.name for attribute in self.schema.quasi)
        carried = tuple(attribute.name for attribute in self.schema.carried)
        if self.form == "buckets":
            return {"data": (*quasi, self.group), "groups": (self.group, *carried, self.count)}
        return {"data": (*quasi, *carried)}


def _bad_claim(name: str, rule: str) -> ReleaseError:
    hint = "take the folder as it was saved"
    return ReleaseError(f"{MANIFEST} states no valid claim", hint=hint, problems=[Problem(f"claim.{name}", rule)])


def manifest_of(release: Release, files: tuple[FileEntry, ...]) -> dict[str, Any]:
    """Return the manifest of a release as plain data."""
    schema = public_schema(release)
    data: dict[str, Any] = {
        "format": FORMAT,
        "sfumato": sfumato.__version__,
        "python": platform.python_version(),
        "polars": pl.__version__,
        "created": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "name": schema.name,
        "population": schema.population,
        "form": release.form,
        "mechanism": plain_parameters(release.mechanism),
        "claim": release.claim.to_json(),
        "schema": {
            "rows_per_person": schema.rows_per_person,
            "attributes": [{**attribute.to_json(), "levels": levels(attribute)} for attribute in schema.attributes],
        },
        "suppressed": release.suppressed_group is not None,
        "notes": list(release.notes),
        "files": {entry.name: entry.to_json() for entry in files},
    }
    if release.left_out is not None and release.claim.kind == "checked":
        data["left_out"] = release.left_out
    recoding = _public_recoding(release)
    if recoding is not None:
        data["recoding"] = recoding
    return data


def levels(attribute: Attribute) -> str:
    """Name the public tree over which a reader may sum: declared, halves of the range, or the values alone."""
    if attribute.declared_tree:
        return "declared"
    return "halves" if attribute.ordered else "values"


def public_schema(release: Release) -> Schema:
    """Return the schema as a reader of the release may know it: published attributes only."""
    boxes, carried = release.boxes, release.groups.carried
    known = []
    for at, table in enumerate(boxes.tables):
        used = np.unique(boxes.labels[boxes.weight > 0, at])
        known.append(public_part(table.attribute, [table.intervals(int(label)) for label in used]))
    for at, attribute in enumerate(carried.attributes):
        codes = np.unique(carried.codes[:, at]).tolist()
        known.append(public_part(attribute, [((code, code + 1),) for code in codes]))
    schema = release.schema
    return Schema(tuple(known), name=schema.name, population=schema.population, rows_per_person=schema.rows_per_person)


def _public_recoding(release: Release) -> Any:
    """Return the recoding where the mechanism declares it public, and every code it names is."""
    if not getattr(release.recoding, "public", False):
        return None
    if any(attribute.source != "public" for attribute in release.quasi):
        return None
    return release.recoding.to_json()


def plain_parameters(value: Any) -> Any:
    """Return parameters as JSON takes them; exact numbers as text, never a seed."""
    if isinstance(value, Mapping):
        return {str(key): plain_parameters(inner) for key, inner in value.items() if key not in _NEVER}
    if hasattr(value, "to_json"):
        return plain_parameters(value.to_json())
    if isinstance(value, list | tuple):
        return [plain_parameters(inner) for inner in value]
    if isinstance(value, np.generic):
        return plain_parameters(value.item())
    if isinstance(value, Fraction | float):
        return number_to_json(value)
    if value is None or isinstance(value, str | int):
        return value
    msg = f"a mechanism's parameter of type {type(value).__name__} can not be written"
    raise AssertionError(msg)
