"""Projects in a folder: the file as it came, the schema with its history, runs and releases.

A project is plain files, so that a killed server loses nothing and every step can be repeated by a command:

    workspace/
      ledger.db                     what was published about whom
      projects/ID/project.json      name, file, how it is read
                  data/FILE         the file, never changed
                  schema.toml       what is said of it;  undo/NNNN.toml  what was said before
                  policy.json       what a release must keep
                  runs/NAME/        one command each: its words, output, progress and end
                  releases/NAME/    what was published

Everything is confidential (0700, 0600) except `releases`. Changes are made under a lock, by small edits of the file as
it is now, so that two tabs do not overwrite each other.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import NOTHING, ParameterError
from sfumato.release.atomic import target_of, write_whole
from sfumato.version import __version__
from sfumato.visible import visible

UPLOAD_LIMIT = 4 * 10**9  # bytes of an uploaded file
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,60}", re.ASCII)
_NAME = re.compile(r"[^\w.-]+")
_UNDO = 200  # earlier schemas that are kept
_OPTIONS = ("delimiter", "encoding", "header", "sheet")


def safe_name(name: str) -> str:
    """Return a file name without folders or characters that a shell or a screen would obey.

    >>> safe_name("../../etc/pass wd;rm -rf.csv")
    'pass_wd_rm_-rf.csv'
    """
    last = re.split(r"[\\/]", visible(name))[-1].strip().lstrip(".-")
    return _NAME.sub("_", last)[-120:].lstrip(".-_") or "table.csv"


def _private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _read(file: Path) -> Any:
    """Return what a JSON file holds, None if there is none."""
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _refuse_shared(folder: Path) -> None:
    """Raise if somebody else could exchange what lies in a folder: confidential files are written below it."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise ParameterError("workspace", folder.name, "is not a folder", hint="name another workspace")
    if sys.platform == "win32":
        return
    if found.st_uid not in (0, os.geteuid()):
        raise ParameterError("workspace", folder.name, "belongs to another user", hint="name a folder of your own")
    if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
        raise ParameterError("workspace", folder.name, "can be changed by other users", hint="chmod go-w on it")


def _refuse_half(name: str, size: int, declared: int | None) -> None:
    if not size:
        raise ParameterError("file", name, "is empty", hint="choose a file with rows in it")
    if declared is not None and size != declared:
        raise ParameterError("file", name, f"ended after {size} of {declared} bytes", hint="upload it again")


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder of projects."""

    folder: Path
    _: KW_ONLY
    upload_limit: int = UPLOAD_LIMIT

    @classmethod
    def opened(cls, folder: str | os.PathLike[str], *, upload_limit: int = UPLOAD_LIMIT) -> Workspace:
        """Open a folder, which is made where it is missing."""
        path = Path(folder).expanduser()
        if path.exists() and not path.is_dir():
            raise ParameterError("workspace", path.name, "is not a folder", hint="name a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path = path.resolve()
        for place in (path, path / "projects"):
            _private(place)
            _refuse_shared(place)
        return cls(path, upload_limit=upload_limit)

    @property
    def ledger(self) -> Path:
        """The ledger that all projects share."""
        return self.folder / "ledger.db"

    def projects(self) -> list[Project]:
        """Return the projects, the one changed last first."""
        found = [Project(path, ledger=self.ledger) for path in (self.folder / "projects").iterdir()]
        whole = [one for one in found if (one.folder / "project.json").is_file()]
        return sorted(whole, key=lambda one: one.changed_at, reverse=True)

    def project(self, name: str) -> Project:
        """Return a project by its id; ids never leave the workspace."""
        folder = self.folder / "projects" / name
        if not _ID.fullmatch(name) or not (folder / "project.json").is_file() or folder.is_symlink():
            raise ParameterError(
                "project", visible(name), "is not in this workspace", hint="choose one on the start page"
            )
        return Project(folder, ledger=self.ledger)

    def new(self, title: str) -> tuple[str, Path]:
        """Return the id of a new project and the folder it will have. It is not listed before it is finished."""
        stem = re.sub(r"[^a-z0-9]+", "-", Path(title).stem.casefold()).strip("-")[:40] or "table"
        name = f"{stem}-{secrets.token_hex(3)}"
        return name, _private(self.folder / "projects" / name)

    def finished(self, name: str, file: Path, *, title: str) -> Project:
        """List a new project whose file is in place."""
        folder = self.folder / "projects" / name
        about = {"title": title, "file": file.name, "options": {}}
        write_whole(folder / "project.json", json.dumps(about, indent=1), mode=0o600)
        return Project(folder, ledger=self.ledger)

    async def received(self, title: str, parts: AsyncIterator[bytes], *, declared: int | None) -> Project:
        """Write an upload to the disk as it arrives; nothing of it is held in memory, nothing half stays."""
        self.refuse_size(declared)
        name, folder = self.new(title)
        target = _private(folder / "data") / safe_name(title)
        size = 0
        try:
            with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                async for part in parts:
                    size += len(part)
                    self.refuse_size(size)
                    file.write(part)
            _refuse_half(safe_name(title), size, declared)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return self.finished(name, target, title=title)

    def refuse_size(self, size: int | None) -> None:
        """Raise if an upload is larger than the limit, before it is received."""
        if size is not None and size > self.upload_limit:
            rule = f"is larger than {self.upload_limit / 1e9:g} GB, the limit of an upload"
            hint = "start `sfumato serve` with --upload-limit, or use the command on the file where it is"
            raise ParameterError("file", f"{size / 1e9:.2f} GB", rule, hint=hint)

    def copied(
        self, source: Path, *, title: str, schema: str | None = None, beside: Mapping[str, str] | None = None
    ) -> Project:
        """Make a project of a file on this machine, such as a sample; `beside` are further files, by relative name."""
        name, folder = self.new(title)
        target = _private(folder / "data") / safe_name(source.name)
        shutil.copyfile(source, target)
        target.chmod(0o600)
        for relative, text in (beside or {}).items():
            write_whole(folder / relative, text, mode=0o600)
        project = self.finished(name, target, title=title)
        if schema is not None:
            project.write_schema(lambda _: schema)
        return project

    def removed(self, name: str) -> None:
        """Delete a project. Its published releases go with it; the ledger keeps what they cost."""
        shutil.rmtree(self.project(name).folder)


@dataclass(frozen=True, slots=True)
class Project:
    """One table on its way to a release."""

    folder: Path
    _: KW_ONLY
    ledger: Path

    @property
    def id(self) -> str:
        """The name in the address."""
        return self.folder.name

    @property
    def about(self) -> dict[str, Any]:
        """Title, file name and how the file is read."""
        held: dict[str, Any] = json.loads((self.folder / "project.json").read_text("utf-8"))
        return held

    @property
    def title(self) -> str:
        """What the person called it."""
        return str(self.about["title"])

    @property
    def data(self) -> Path:
        """The file as it came."""
        return self.folder / "data" / str(self.about["file"])

    @property
    def options(self) -> dict[str, Any]:
        """How the file is read, where a person has said so."""
        return {key: value for key, value in self.about["options"].items() if key in _OPTIONS and value is not None}

    @property
    def schema_file(self) -> Path:
        """The schema."""
        return self.folder / "schema.toml"

    @property
    def changed_at(self) -> float:
        """When the project was last changed."""
        files = (self.schema_file, self.folder / "project.json")
        return max((path.stat().st_mtime for path in files if path.exists()), default=0.0)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let nobody else change the project meanwhile, in this process or another."""
        handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def set_options(self, options: Mapping[str, Any]) -> None:
        """Read the file another way; what was derived from the old reading is made anew."""
        with self.locked():
            about = self.about
            about["options"] = {key: value for key, value in options.items() if key in _OPTIONS and value is not None}
            write_whole(self.folder / "project.json", json.dumps(about, indent=1), mode=0o600)
            for gone in ("look", "checked", "profile"):
                shutil.rmtree(self.folder / gone, ignore_errors=True)
            if self.schema_file.exists():
                self._keep_for_undo()
                self.schema_file.unlink()

    # -- the schema -------------------------------------------------------------------------

    def schema_text(self) -> str | None:
        """Return the schema as it is now, None before there is one."""
        try:
            return self.schema_file.read_text("utf-8")
        except FileNotFoundError:
            return None

    def write_schema(self, edit: Callable[[str], str]) -> str:
        """Apply an edit to the current schema; the earlier one can be restored."""
        with self.locked():
            before = self.schema_text() or ""
            after = edit(before)
            if after != before:
                if before:
                    self._keep_for_undo()
                write_whole(self.schema_file, after, mode=0o600)
            return after

    def _keep_for_undo(self) -> None:
        folder = _private(self.folder / "undo")
        numbers = sorted(int(path.stem) for path in folder.glob("*.toml") if path.stem.isdigit())
        write_whole(
            folder / f"{(numbers[-1] if numbers else 0) + 1:06d}.toml", self.schema_file.read_text("utf-8"), mode=0o600
        )
        for number in numbers[: max(0, len(numbers) - _UNDO)]:
            (folder / f"{number:06d}.toml").unlink(missing_ok=True)

    @property
    def can_undo(self) -> bool:
        """Whether there is an earlier schema."""
        return any((self.folder / "undo").glob("*.toml"))

    def undo(self) -> None:
        """Take the last change of the schema back."""
        with self.locked():
            earlier = sorted((self.folder / "undo").glob("*.toml"))
            if not earlier:
                raise ParameterError("undo", NOTHING, "there is no earlier version of the description")
            write_whole(self.schema_file, earlier[-1].read_text("utf-8"), mode=0o600)
            earlier[-1].unlink()

    # -- what was worked out -----------------------------------------------------------------

    def digest(self, *more: object) -> str:
        """Return a name for what follows from the file, its reading, the schema and the hierarchies it names."""
        files = [self.data, *sorted((self.folder / "hierarchies").glob("*"))]
        found = [(path.name, stat.st_size, stat.st_mtime_ns) for path in files if (stat := path.stat())]
        about = [self.schema_text(), self.options, found, *map(str, more)]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:24]

    def kept(self, kind: str, key: str) -> Any:
        """Return an earlier result; None if there is none, or if another version saved it: it may word it otherwise."""
        held = _read(self.folder / kind / f"{key}.json")
        return held.get("found") if isinstance(held, dict) and held.get("sfumato") == __version__ else None

    def keep(self, kind: str, key: str, found: Any) -> None:
        """Save a result, with the version that computed it. Confidential."""
        text = json.dumps({"sfumato": __version__, "found": found})
        write_whole(_private(self.folder / kind) / f"{key}.json", text, mode=0o600)

    def policy(self) -> dict[str, Any]:
        """Return what a release must keep."""
        held = _read(self.folder / "policy.json")
        return held if isinstance(held, dict) else {}

    def set_policy(self, policy: Mapping[str, Any]) -> None:
        """State what a release must keep."""
        with self.locked():
            write_whole(self.folder / "policy.json", json.dumps(dict(policy), indent=1), mode=0o600)

    def inside(self, *parts: str) -> Path:
        """Return a path below the project; one that leads outside is refused."""
        path = self.folder.joinpath(*parts)
        try:
            resolved = path.resolve()
        except (OSError, ValueError):
            resolved = Path("/")
        if "\0" in "".join(parts) or not resolved.is_relative_to(self.folder.resolve()):
            raise ParameterError("path", visible("/".join(parts)), "leads out of the project")
        return resolved

    def releases(self) -> list[Path]:
        """Return the folders of published releases, newest first; folders still hidden are not included."""
        found = [path for path in self._with_manifest() if target_of(path) is None]
        return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)

    def unfinished(self) -> list[Path]:
        """Return the hidden folders of releases that have not got their names yet, or never will."""
        return [path for path in self._with_manifest() if target_of(path) is not None]

    def _with_manifest(self) -> list[Path]:
        folder = self.folder / "releases"
        return [path for path in folder.iterdir() if (path / "manifest.json").is_file()] if folder.is_dir() else []
