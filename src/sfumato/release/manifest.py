"""manifest.json as it was read: what is in the folder, what it promises, the public part of the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.claims import Claim, number_to_json
from sfumato.errors import ParameterError, Problem, ReleaseError
from sfumato.release.declared import PEOPLE, people_columns
from sfumato.release.frames import COUNT, GROUP, free_name
from sfumato.release.release import Form
from sfumato.schema import Attribute, Schema

__all__ = ["COUNTED_FORMS", "DICTIONARY", "FORMAT", "MANIFEST", "FileEntry", "Manifest", "levels", "plain_parameters"]

FORMAT = 1
MANIFEST = "manifest.json"
DICTIONARY = "dictionary.md"
COUNTED_FORMS: tuple[Form, ...] = ("cells", "synthetic")  # may be written as one line for each combination
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
    counted: bool = False
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
        """Name of the column that counts rows, in the table of groups or of a table with counts."""
        return free_name(COUNT, self.schema.names)

    @property
    def expected(self) -> dict[str, tuple[str, ...]]:
        """Columns each table of such a release has."""
        quasi = tuple(attribute.name for attribute in self.schema.quasi)
        carried = tuple(attribute.name for attribute in self.schema.carried)
        if self.form == "buckets":
            return {"data": (*quasi, self.group), "groups": (self.group, *carried, self.count)}
        declared = {PEOPLE: people_columns(quasi)} if self.table(PEOPLE) is not None else {}
        return {"data": (*quasi, *carried, *((self.count,) if self.counted else ())), **declared}


def levels(attribute: Attribute) -> str:
    """Name the public tree over which a reader may sum: declared, halves of the range, or the values alone."""
    if attribute.declared_tree:
        return "declared"
    return "halves" if attribute.ordered else "values"


def _bad_claim(name: str, rule: str) -> ReleaseError:
    hint = "take the folder as it was saved"
    return ReleaseError(f"{MANIFEST} states no valid claim", hint=hint, problems=[Problem(f"claim.{name}", rule)])


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
