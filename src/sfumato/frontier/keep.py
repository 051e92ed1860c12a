"""Results kept in a folder, so that a sweep that was stopped goes on where it was. The folder is confidential."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato import __version__
from sfumato.errors import ParameterError
from sfumato.frontier.evaluate import Task
from sfumato.frontier.fingerprint import digest, table_fingerprint
from sfumato.frontier.naming import written_as
from sfumato.mechanisms import Mechanism
from sfumato.release.partial import refuse_release_folder
from sfumato.release.whole_file import write_whole

__all__ = ["Kept"]

_FIGURES = 2  # since 2: the worst of all sensitive attributes, not the first

_README = """CONFIDENTIAL

These files hold figures computed from the original table by `sfumato frontier`: losses, worst groups and
populations, sample rows of releases that were never published. They are statistics of the original and are
covered by no claim. Do not publish this folder; delete it when the choice is made.

One file is one mechanism on one table under one pair of measures. A sweep that is started again reads them
instead of computing them. Deleting a file only means that it is computed again.
"""


class Kept:
    """One JSON file for each point, named by everything its figures depend on."""

    def __init__(self, folder: str | PathLike[str], task: Task) -> None:
        self._folder = Path(folder)
        if self._folder.exists() and not self._folder.is_dir():
            raise ParameterError("keep", self._folder.name, "is a file", hint="name a folder")
        refuse_release_folder("keep", self._folder / "README.txt")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, text in (("README.txt", _README), (".gitignore", "*\n")):
            if not (self._folder / name).exists():
                (self._folder / name).write_text(text, "utf-8")
        self._about = {
            "sfumato": __version__,
            "figures": _FIGURES,
            "table": table_fingerprint(task.table),
            "privacy": task.privacy.key,
            "utility": task.utility.key,
            "repeats": task.repeats,
            "seed": task.seed,
            "panels": task.panels,
        }

    def key(self, mechanism: Mechanism) -> str:
        """Return the name of a point's file."""
        return digest({**self._about, "mechanism": written_as(mechanism)})

    def read(self, mechanism: Mechanism) -> dict[str, Any] | None:
        """Return what was kept, None where nothing is or the file is damaged."""
        try:
            held = json.loads((self._folder / f"{self.key(mechanism)}.json").read_text("utf-8"))
        except (OSError, ValueError):
            return None
        whole = isinstance(held, dict) and held.get("mechanism") == json.loads(json.dumps(written_as(mechanism)))
        found = held.get("found") if whole else None
        if not isinstance(found, dict) or "failed" not in found:
            return None
        # Earlier versions kept a point whose process died; the next run may well make it.
        return None if found["failed"] == "the process that made this release stopped (too little memory?)" else found

    def write(self, mechanism: Mechanism, found: dict[str, Any]) -> None:
        """Keep a result; a process that dies while writing leaves no half file."""
        text = json.dumps({"confidential": True, "mechanism": written_as(mechanism), "found": found}, indent=1)
        write_whole(self._folder / f"{self.key(mechanism)}.json", text, mode=0o600)
