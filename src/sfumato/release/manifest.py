"""manifest.json as it was read: what is in the folder, what it promises, the public part of the schema."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, get_args

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sfumato.claims import Claim, mistyped, number_to_json, unknown_keys
from sfumato.errors import ParameterError, Problem, ReleaseError
from sfumato.limits import MANIFEST_BYTES
from sfumato.raw_files import read_regular, utf8_path
from sfumato.release.declared_people import PEOPLE, people_columns
from sfumato.release.release import Form
from sfumato.release.tables import COUNT, GROUP, free_name
from sfumato.schema import Attribute, Domain, DomainSource, Edges, Grid, Kind, Role, Schema, Tree, Values
from sfumato.schema.domain import CODES_LIMIT

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
    """A manifest that was read. The claim stays plain data until it is used: a verifier reports a wrong one."""

    schema: Schema
    _: KW_ONLY
    claim_json: Mapping[str, Any]
    files: tuple[FileEntry, ...]
    form: Form = "generalized"
    counted: bool = False
    mechanism: Mapping[str, Any] = field(default_factory=dict)
    suppressed: bool = False
    left_out: int | None = None
    capped: int | None = None
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
            raise _bad_claim("claim", "does not have the form of a claim") from None

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
    hint = "use the folder as it was saved"
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
# have looked at what stands under it. The shape is checked by pydantic; what a shape cannot say follows in `_checked`.

_HINT = "use the folder as it was saved"
# Questions of a schema are not published. That the claim counts rows says that who they are about is one.
_ROWS_COUNTED = "person: who is a row about? The claim counts rows"
_MANGLED = (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError)


def _day(text: str) -> str:
    if dt.date.fromisoformat(text).isoformat() != text:
        raise ValueError(text)
    return text


_Count = Annotated[int, Field(ge=0)]
_Version = Annotated[str, Field(pattern=r"^[0-9A-Za-z.+!_-]{1,40}$")]


class _Strict(BaseModel):
    """A JSON object as it is written: no other key, no null for a missing key, no 1.0 or true for 1."""

    model_config = ConfigDict(extra="forbid", strict=True)


class _File(_Strict):
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    table: str | None = None
    rows: _Count | None = None
    columns: list[str] = []


class _SchemaPart(_Strict):
    rows_per_person: Annotated[int, Field(ge=1)] = 1
    rows_stated: bool = False
    person: list[str] = []
    other_rules: bool = False
    attributes: list[Any]


class _Written(_Strict):
    """The whole file. Versions and the day are short facts: no place for a text."""

    format: int
    sfumato: _Version = ""
    python: _Version = ""
    polars: _Version = ""
    created: Annotated[str, AfterValidator(_day)] = ""
    name: str = "table"
    population: str = ""
    form: Form = "generalized"
    counted: bool = False
    mechanism: dict[str, Any] = {}
    claim: dict[str, Any] = {}
    described: _SchemaPart = Field(alias="schema")
    suppressed: bool = False
    notes: list[str] = []
    files: dict[str, _File] = {}
    left_out: _Count = 0
    capped: _Count = 0
    recoding: dict[str, Any] = {}


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
    if not isinstance(data, dict):
        raise ReleaseError(f"{MANIFEST} is not an object", hint=_HINT)
    if type(data.get("format")) is not int or data["format"] != FORMAT:
        hint = f"this version reads format {FORMAT}: use a newer one"
        raise ReleaseError(f"{MANIFEST} is of another format", hint=hint)
    try:
        written = _Written.model_validate(data)
    except ValidationError as error:
        problems = [_worded(item) for item in error.errors(include_url=False, include_input=False)]
        part = data.get("schema")
        given = part.get("attributes") if isinstance(part, dict) else None
        for at, one in enumerate(given if isinstance(given, list) else ()):
            _attribute(at, one, problems)
        raise _unreadable(problems) from None
    return _checked(written)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that occurs twice: readers differ in which of the two they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        msg = "a key occurs twice"
        raise ValueError(msg)
    return found


def _unreadable(problems: list[Problem]) -> ReleaseError:
    return ReleaseError(f"{MANIFEST} cannot be read", hint=_HINT, problems=problems)


def _worded(item: Mapping[str, Any]) -> Problem:
    """Return a problem of the shape; pydantic's own message could quote the value."""
    rules = {"extra_forbidden": "is not a key of a manifest", "missing": "is missing"}
    return Problem(".".join(map(str, item["loc"])), rules.get(item["type"], "has a value of the wrong form"))


def _checked(written: _Written) -> Manifest:
    """Return the manifest; raise for everything that its shape alone does not show."""
    problems: list[Problem] = []
    part = written.described
    known = [found for at, one in enumerate(part.attributes) if (found := _attribute(at, one, problems)) is not None]
    if len({attribute.name for attribute in known}) < len(known):
        problems.append(Problem("schema.attributes", "name one attribute twice"))
    schema = Schema(
        tuple(known),
        name=written.name,
        population=written.population,
        rows_per_person=part.rows_per_person,
        rows_stated=part.rows_stated,
        person=tuple(part.person),
        other_rules=part.other_rules,
    )
    if schema.unit == "person" and written.claim.get("unit", "row") == "row":
        schema = replace(schema, decide=(_ROWS_COUNTED,))
    problems += [Problem("files", "must be files of the folder") for name in written.files if not _plain_name(name)]
    manifest = Manifest(
        schema,
        claim_json=written.claim,
        files=tuple(
            FileEntry(name, sha256=one.sha256, table=one.table, rows=one.rows, columns=tuple(one.columns))
            for name, one in written.files.items()
        ),
        form=written.form,
        counted=written.counted,
        mechanism=written.mechanism,
        suppressed=written.suppressed,
        left_out=written.left_out if "left_out" in written.model_fields_set else None,
        capped=written.capped if "capped" in written.model_fields_set else None,
        notes=tuple(written.notes),
        version=written.sfumato or None,
        recoding=written.recoding if "recoding" in written.model_fields_set else None,
    )
    if manifest.recoding is not None:
        names = {attribute.name: {"size": 0, "runs": []} for attribute in schema.quasi}
        problems += _unknown(manifest.recoding, {"cuts": names, "labels": names}, "recoding")
        if wrong := _wrong_recoding(manifest.recoding):
            problems.append(Problem("recoding", wrong))
    if manifest.counted and manifest.form not in COUNTED_FORMS:
        problems.append(Problem("counted", "belongs to noisy and synthetic tables only"))
    for name in manifest.expected:
        if manifest.table(name) is None:
            problems.append(Problem("files", f"no file holds the table {name}"))
    if problems:
        raise _unreadable(problems)
    return manifest


def _unknown(data: Mapping[str, Any], known: Mapping[str, Any], path: str) -> list[Problem]:
    """Return a problem for every key, at any depth, that is not one we write."""
    return [Problem(f"{path}.{key}", "is not a key of a manifest") for key in unknown_keys(data, known)]


def _attribute(at: int, data: Any, problems: list[Problem]) -> Attribute | None:
    path = f"schema.attributes[{at}]"
    try:
        attribute = Attribute.from_json(data)
        wrong = _wrong(attribute)
        if not wrong:
            known = attribute.to_json()
            problems += _unknown(data, {**known, "levels": ""}, path)
            wrong = "" if data.get("levels", levels(attribute)) == levels(attribute) else "has other levels"
            wrong = "holds a number that is not a whole number" if mistyped(data, known) else wrong
    except _MANGLED:
        wrong = "does not have the form of an attribute"
    if wrong:
        problems.append(Problem(path, wrong))
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
    if attribute.unlisted and not _are_groups(attribute.unlisted, attribute.domain):
        return "has no valid names of groups"
    if attribute.clamp not in (False, True) or (attribute.clamp and isinstance(attribute.domain, Values)):
        return "has no valid rule for values outside its range"
    if attribute.missing is not None and attribute.missing.action not in ("category", "suppress"):
        return "has no valid rule for missing values"
    return "has no valid tree" if _wrong_tree(attribute.nodes, attribute.size) else ""


def _are_groups(names: tuple[str, ...], domain: Domain) -> bool:
    """Whether these are some of the listed names, each once."""
    return isinstance(domain, Values) and set(names) <= set(domain.names) and len(set(names)) == len(names)


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


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _plain_name(name: str) -> bool:
    """True for a name inside the folder: no way out of it."""
    return bool(name) and Path(name).name == name and name not in (".", "..") and "\\" not in name
