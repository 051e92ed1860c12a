"""Publication and what comes after: the checklist, the command, the verdict, and the account of the population."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError, SfumatoError
from sfumato.visible import operand
from sfumato.web.choosing import Choosing
from sfumato.web.edits import Fields, one
from sfumato.web.runs import runs_of
from sfumato.web.screens import Screens
from sfumato.web.workspace import Project, safe_name

__all__ = ["Publishing"]

_ALLOWED = ("allow-fingerprints", "allow-text", "allow-noise", "undecided")


class Publishing:
    """Builds the pages Publish and Again."""

    def __init__(self, screens: Screens, choosing: Choosing) -> None:
        self.screens, self.choosing = screens, choosing

    def population(self, project: Project) -> str:
        """Return whose account a release is on."""
        import sfumato as sf

        schema = sf.Schema.load(project.schema_file)
        return schema.population or schema.name

    def name(self, project: Project, form: Fields) -> str:
        """Return the folder of a release, which must be new."""
        given = safe_name(one(form, "name") or self.free(project))
        if (project.folder / "releases" / given).exists():
            raise ParameterError("name", given, "is the name of an earlier release", hint="choose another name")
        return given

    def free(self, project: Project) -> str:
        """Return the next free name."""
        taken = {path.name for path in project.releases()}
        return next(name for at in range(1, 10_000) if (name := f"release-{at}") not in taken)

    def words(self, project: Project, form: Fields) -> list[str]:
        """Return the command that publishes what was chosen."""
        text = one(form, "number")
        if not text.isdigit():
            raise ParameterError("release", "none", "is chosen", hint="choose one on Compare")
        method = self.method(project, int(text))
        allowed = [f"--{flag}" for flag in _ALLOWED if one(form, flag)]
        form_words = ["--format", one(form, "format") or "csv"]
        (project.folder / "releases").mkdir(mode=0o700, exist_ok=True)
        folder = str(Path("releases") / self.name(project, form))
        return [
            *self.screens.data_words(project, "publish", method[0]),
            *method[1:],
            *form_words,
            *allowed,
            "--ledger",
            operand(str(Path("..") / ".." / project.ledger.name)),
            "-o",
            folder,
            "--json",
        ]

    def method(self, project: Project, number: int) -> list[str]:
        """Return the method and its flags for a release of the latest comparison."""
        from sfumato.declare import from_json
        from sfumato.mechanisms import REGISTRY
        from sfumato.pages.commands import publish_words

        point, _ = self.choosing.point(project, number)
        held = point["mechanism"]
        words = publish_words(from_json(REGISTRY[held["name"]], held)) if held.get("name") in REGISTRY else None
        if words is None:
            raise ParameterError("release", point["label"], "has no command that publishes it", hint="choose another")
        return words

    def publish(self, project: Project) -> dict[str, Any]:
        """The checklist, and what was published."""
        runs = runs_of(project.folder, "publish")
        latest = runs[0].to_json() if runs else None
        answer = runs[0].answer() if runs and runs[0].state in ("done", "refused") else None
        chosen = self.latest_choice(project)
        checked = self.screens.checked(project)
        command: list[str] | str = ""
        if chosen is not None:
            with contextlib.suppress(SfumatoError):
                command = self.words(project, {"number": [str(chosen)]})
        return {
            **self.screens.frame(project, "publish", command),
            "run": latest,
            "answer": answer if isinstance(answer, Mapping) else None,
            "chosen": chosen,
            "points": self._choices(project),
            "free": self.free(project),
            "checked": checked,
            "releases": [self.release(project, path) for path in project.releases()],
        }

    def latest_choice(self, project: Project) -> int | None:
        """Return the release the latest comparison recommends."""
        for run in runs_of(project.folder, "compare"):
            if run.state == "done":
                found = self.choosing.result(run)
                return found["best"] if found and found["ok"] else None
        return None

    def _choices(self, project: Project) -> list[dict[str, Any]]:
        for run in runs_of(project.folder, "compare"):
            if run.state == "done":
                found = self.choosing.result(run)
                return [p for p in found["points"] if p["savable"]] if found and found["ok"] else []
        return []

    def release(self, project: Project, folder: Path) -> dict[str, Any]:
        """Return what a published folder holds and whether its claim holds, checked from the written files."""
        import sfumato as sf

        def verdict() -> dict[str, Any]:
            found = sf.verify(folder)
            return {"verdict": found.to_json(), "text": str(found)}

        key = f"{folder.name}-{(folder / 'manifest.json').stat().st_mtime_ns:x}"
        checked = self.screens.background.waited(project, "verified", re.sub(r"[^\w.-]", "_", key), verdict)
        files = [
            {"name": path.name, "size": path.stat().st_size} for path in sorted(folder.iterdir()) if path.is_file()
        ]
        claim: Any = {}
        with contextlib.suppress(OSError, ValueError):
            claim = json.loads((folder / "manifest.json").read_text("utf-8")).get("claim", {})
        return {"name": folder.name, "files": files, "verdict": checked, "claim": claim, "folder": str(folder)}

    def again(self, project: Project) -> dict[str, Any]:
        """What was published about the same people, and what is left of the budget."""
        import sfumato as sf

        population = ""
        entries: list[dict[str, Any]] = []
        totals: dict[str, Any] | None = None
        with contextlib.suppress(SfumatoError):
            population = self.population(project)
        if population and project.ledger.is_file():
            book = sf.Ledger(project.ledger)
            with contextlib.suppress(SfumatoError):
                entries = [entry.to_json() for entry in book.entries(population)]
                totals = book.totals(population).to_json()
        return {
            **self.screens.frame(
                project, "again", ["sfumato", "ledger", "../../ledger.db", "--population", population]
            ),
            "population": population,
            "entries": entries,
            "totals": totals,
            "releases": [path.name for path in project.releases()],
        }
