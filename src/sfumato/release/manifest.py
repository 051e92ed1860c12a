"""manifest.json as it was read: what is in the folder, what it promises, the public part of the schema."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np

from sfumato.claims import Claim, mistyped, number_to_json, unknown_keys
from sfumato.errors import ParameterError, Problem, ReleaseError
from sfumato.limits import MANIFEST_BYTES, read_regular, utf8_path
from sfumato.release.declared import PEOPLE, people_columns
from sfumato.release.release import Form
from sfumato.release.tables import COUNT, GROUP, free_name
from sfumato.schema import Attribute, Domain, DomainSource, Edges, Grid, Kind, Role, Schema, Tree, Values
from sfumato.schema.domain import CODES_LIMIT

__all__ = [
    "COUNTED_FORMS",
    "DICTIONARY",
    "FORMAT",
    "MANIFEST",
    "FileEntry",
    "Manifest",
    "levels",
    "plain_parameters",
    "read_manifest",
]

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
    version: str | None = None  # of the program that wrote it
    recoding: Mapping[str, Any] | None = None

    def claim(self) -> Claim:
        """Return the claim; a `ReleaseError` when it cannot be one."""
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
    msg = f"a mechanism's parameter of type {type(value).__name__} cannot be written"
    raise AssertionError(msg)


# Reads manifest.json, written by us or mangled by anyone: every problem is named, nothing else is raised.
#
# A key that this version does not write is refused, at any depth outside the parameters of a mechanism: nobody would
# have
# looked at what stands under it.

_HINT = "take the folder as it was saved"
_KEYS = frozenset(
    [
        "format",
        "sfumato",
        "python",
        "polars",
        "created",
        "name",
        "population",
        "form",
        "counted",
        "mechanism",
        "claim",
        "schema",
        "suppressed",
        "notes",
        "files",
        "left_out",
        "recoding",
    ]
)
_SCHEMA_KEYS = frozenset(("rows_per_person", "rows_stated", "person", "attributes"))
_FILE_KEYS = frozenset(("sha256", "table", "rows", "columns"))
_VERSION = re.compile(r"[0-9A-Za-z.+!_-]{1,40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MANGLED = (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder."""
    if not folder.is_dir():
        raise ReleaseError(f"{folder.name} is not a folder", hint="name the folder a release was saved to")
    try:
        utf8_path(folder.resolve())  # no engine could read what lies there
        raw = read_regular(folder / MANIFEST, most=MANIFEST_BYTES, links=False)
        data = json.loads(raw, object_pairs_hook=_once)
        if b"\\ud" in raw.lower():  # half of a surrogate pair is not a letter
            json.dumps(data, ensure_ascii=False).encode()
    except FileNotFoundError:
        raise ReleaseError(f"{folder.name} holds no {MANIFEST}", hint="name a saved release") from None
    except OSError as error:
        reason = f"{MANIFEST} of {folder.name} cannot be read ({error.strerror})"
        raise ReleaseError(reason, hint="name a saved release") from None
    except (ValueError, RecursionError):
        raise ReleaseError(f"{MANIFEST} of {folder.name} is not JSON", hint=_HINT) from None
    except MemoryError:
        raise ReleaseError(f"{MANIFEST} of {folder.name} does not fit in memory", hint=_HINT) from None
    return _Reader().manifest(data)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that occurs twice: readers differ in which of the two they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        msg = "a key occurs twice"
        raise ValueError(msg)
    return found


class _Reader:
    """Collects what is wrong with a manifest."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def problem(self, path: str, rule: str) -> None:
        self.problems.append(Problem(path, rule))

    def field(self, data: Mapping[str, Any], name: str, fits: Callable[[Any], bool], rule: str, default: Any) -> Any:
        """Return one field; a default of None means that it must be there."""
        value = data.get(name, default)
        if value is None or not fits(value):
            self.problem(name, f"must be {rule}")
            return default
        return value

    def manifest(self, data: Any) -> Manifest:
        if not isinstance(data, dict):
            raise ReleaseError(f"{MANIFEST} is not an object", hint=_HINT)
        if type(data.get("format")) is not int or data["format"] != FORMAT:
            hint = f"this version reads format {FORMAT}: use a newer one"
            raise ReleaseError(f"{MANIFEST} is of another format", hint=hint)
        self._known(data, _KEYS)
        self._made(data)
        schema = self._schema(data)
        files = self._files(data)
        manifest = Manifest(
            schema,
            claim_json=self.field(data, "claim", _object, "an object", {}),
            files=files,
            form=self.field(data, "form", lambda form: form in get_args(Form), "a known form", "generalized"),
            counted=self.field(data, "counted", lambda flag: isinstance(flag, bool), "true or false", False),
            mechanism=self.field(data, "mechanism", _object, "an object", {}),
            suppressed=self.field(data, "suppressed", lambda flag: isinstance(flag, bool), "true or false", False),
            left_out=self.field(data, "left_out", _count, "a count", 0) if "left_out" in data else None,
            notes=tuple(self.field(data, "notes", _texts, "a list of texts", [])),
            version=data.get("sfumato"),
            recoding=self._recoding(data, schema) if "recoding" in data else None,
        )
        self._tables(manifest)
        if self.problems:
            raise ReleaseError(f"{MANIFEST} cannot be read", hint=_HINT, problems=self.problems)
        return manifest

    def _known(self, data: Iterable[str], keys: Iterable[str], path: str = "") -> None:
        """Name every key that is none of those we write."""
        for key in data:
            if key not in keys:
                self.problem(f"{path}{key}", "is not a key of a manifest")

    def _made(self, data: Mapping[str, Any]) -> None:
        """By which versions it was made, and when: short facts, no place for a text."""
        for name in ("sfumato", "python", "polars"):
            if name in data and not (isinstance(data[name], str) and _VERSION.fullmatch(data[name])):
                self.problem(name, "must be a version")
        if "created" in data and not _day(data["created"]):
            self.problem("created", "must be a day")

    def _recoding(self, data: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
        """Return the recoding; whether it can be applied is found when it is."""
        found: dict[str, Any] = self.field(data, "recoding", _object, "an object", {})
        names = {attribute.name: {"size": 0, "runs": []} for attribute in schema.quasi}
        self._known(unknown_keys(found, {"cuts": names, "labels": names}), (), "recoding.")
        if wrong := _wrong_recoding(found):
            self.problem("recoding", wrong)
            return {}
        return found

    def _tables(self, manifest: Manifest) -> None:
        if manifest.counted and manifest.form not in COUNTED_FORMS:
            self.problem("counted", "belongs to noisy and synthetic tables only")
        for name in manifest.expected:
            if manifest.table(name) is None:
                self.problem("files", f"no file holds the table {name}")

    # -- files -----------------------------------------------------------------------------

    def _files(self, data: Mapping[str, Any]) -> tuple[FileEntry, ...]:
        entries = []
        for name, entry in self.field(data, "files", _object, "an object", {}).items():
            if not _plain_name(name) or not isinstance(entry, dict) or not _sha256(entry.get("sha256")):
                self.problem("files", "must name each file with its sha256")
                continue
            self._known(entry, _FILE_KEYS, f"files.{name}.")
            table, rows, columns = entry.get("table"), entry.get("rows"), entry.get("columns", [])
            if not (table is None or isinstance(table, str)) or not (rows is None or _count(rows)):
                self.problem("files", "has a table or rows of the wrong form")
            elif not _texts(columns):
                self.problem("files", "must list columns by name")
            else:
                entries.append(FileEntry(name, sha256=entry["sha256"], table=table, rows=rows, columns=tuple(columns)))
        return tuple(entries)

    # -- schema ----------------------------------------------------------------------------

    def _schema(self, data: Mapping[str, Any]) -> Schema:
        given = self.field(data, "schema", _object, "an object", {})
        self._known(given, _SCHEMA_KEYS, "schema.")
        attributes = given.get("attributes")
        if not isinstance(attributes, list):
            self.problem("schema.attributes", "must be a list")
            attributes = []
        known = [found for at, item in enumerate(attributes) if (found := self._attribute(at, item)) is not None]
        names = [attribute.name for attribute in known]
        if len(set(names)) < len(names):
            self.problem("schema.attributes", "name one attribute twice")
        per_person = given.get("rows_per_person", 1)
        if not _count(per_person) or per_person < 1:
            self.problem("schema.rows_per_person", "must be a whole number, at least 1")
            per_person = 1
        name = self.field(data, "name", lambda text: isinstance(text, str), "a text", "table")
        population = self.field(data, "population", lambda text: isinstance(text, str), "a text", "")
        stated, person = given.get("rows_stated", False), given.get("person", [])
        if not isinstance(stated, bool) or not _texts(person):
            self.problem(
                "schema", "must say who a row is about by names of columns, and whether rows_per_person was given"
            )
            stated, person = False, []
        return Schema(
            tuple(known),
            name=name,
            population=population,
            rows_per_person=per_person,
            rows_stated=stated,
            person=tuple(person),
        )

    def _attribute(self, at: int, data: Any) -> Attribute | None:
        path = f"schema.attributes[{at}]"
        try:
            attribute = Attribute.from_json(data)
            wrong = _wrong(attribute)
            if not wrong:
                known = attribute.to_json()
                self._known(unknown_keys(data, {**known, "levels": ""}), (), f"{path}.")
                wrong = "" if data.get("levels", levels(attribute)) == levels(attribute) else "has other levels"
                wrong = "has another number in place of a whole one" if mistyped(data, known) else wrong
        except _MANGLED:
            wrong = "has not the form of an attribute"
        if wrong:
            self.problem(path, wrong)
            return None
        return replace(attribute, column=attribute.name)


def _wrong_recoding(data: Mapping[str, Any]) -> str:
    """Say what is wrong with the form of a recoding, before anything as large as its numbers say is made."""
    cuts, labels = data.get("cuts"), data.get("labels")
    if not isinstance(cuts, dict) or not isinstance(labels, dict) or set(cuts) != set(labels):
        return "must have cuts and labels of the same attributes"
    for name, part in cuts.items():
        size, runs = (part.get("size"), part.get("runs")) if isinstance(part, dict) else (None, None)
        if not _count(size) or not isinstance(runs, list) or not _texts(labels[name]):
            return "must have a size, runs and labels for each attribute"
        if not all(isinstance(run, list) and len(run) == 2 and all(map(_count, run)) for run in runs):
            return "must have runs of a first code and a label each"
        starts = [first for first, _ in runs]
        if starts[:1] != [0] or any(a >= b for a, b in pairwise([*starts, size])):
            return "must have runs that rise from 0 to its size"
        if any(label >= len(labels[name]) for _, label in runs):
            return "must have runs of the labels it names"
    return ""


def _wrong(attribute: Attribute) -> str:
    """Say what is wrong with an attribute of a manifest, nothing when all is well."""
    if not isinstance(attribute.name, str) or attribute.role not in get_args(Role):
        return "has no valid name or role"
    if attribute.role not in ("quasi", "sensitive", "target"):
        return "has a role that is never published"
    if attribute.kind not in get_args(Kind) or attribute.source not in get_args(DomainSource):
        return "has no valid kind or source"
    if attribute.ground not in ("equal", "hierarchical"):
        return "has no valid ground distance"
    if attribute.domain is None or _wrong_domain(attribute.domain):
        return "has no valid domain"
    if attribute.missing is not None and attribute.missing.action not in ("category", "suppress"):
        return "has no valid rule for missing values"
    return "has no valid tree" if _wrong_tree(attribute.nodes, attribute.size) else ""


def _wrong_domain(domain: Domain) -> bool:
    if not 1 <= domain.size < CODES_LIMIT:
        return True
    if isinstance(domain, Values):
        return not _texts(list(domain.names)) or len(set(domain.names)) < domain.size
    if isinstance(domain, Edges):
        points = domain.points
        finite = all(point.is_finite() for point in points)
        return not finite or any(a >= b for a, b in pairwise(points))
    if isinstance(domain, Grid):
        return not (domain.low.is_finite() and domain.step.is_finite() and domain.step > Decimal(0))
    domain.edge(domain.size)  # OverflowError when the calendar ends before
    return domain.step < 1


def _wrong_tree(tree: Tree, size: int) -> bool:
    """Nodes must be in preorder, inside their parent, the root over all codes."""
    count = len(tree.names)
    arrays = (tree.low, tree.high, tree.parent)
    if count == 0 or not _texts(list(tree.names)) or any(array.shape != (count,) for array in arrays):
        return True
    if (int(tree.low[0]), int(tree.high[0]), int(tree.parent[0])) != (0, size, -1):
        return True
    parent = tree.parent[1:]
    if (parent < 0).any() or (parent >= np.arange(1, count)).any() or (tree.low >= tree.high).any():
        return True
    return bool((tree.low[1:] < tree.low[parent]).any() or (tree.high[1:] > tree.high[parent]).any())


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _sha256(value: Any) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def _day(value: Any) -> bool:
    try:
        return isinstance(value, str) and dt.date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _plain_name(name: str) -> bool:
    """True for a name inside the folder: no way out of it."""
    return bool(name) and Path(name).name == name and name not in (".", "..") and "\\" not in name
