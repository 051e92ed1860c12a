"""What a run that did not end well has left: a saved release, a hidden one, or only what it spent."""

from __future__ import annotations

import contextlib
import datetime as dt
from pathlib import Path
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.release.atomic import target_of
from sfumato.visible import operand, shell_command
from sfumato.web.budget import population
from sfumato.web.runs import Run
from sfumato.web.workspace import Project

__all__ = ["ended"]


def ended(project: Project, run: Run | None) -> dict[str, Any] | None:
    """Say what is there of a release whose run did not end well; None where it runs or has ended well."""
    if run is None or run.state in ("running", "done"):
        return None
    target = project.folder / "releases" / str(run.about.get("release", ""))
    hidden = [path for path in project.unfinished() if target_of(path) == target]
    noted = ["--ledger", str(Path("..") / ".." / project.ledger.name)]
    finish = ["sfumato", "finish", operand(str(hidden[0].relative_to(project.folder))), *noted] if hidden else []
    return {
        "saved": target.name if target in project.releases() else "",
        "finish": shell_command(finish) if finish else "",
        "spent": _spent(project, run),
    }


def _spent(project: Project, run: Run) -> str:
    """Return what the ledger counts as spent on the same people since the run was started; nothing where it does not.

    An entry does not name the run it is of, and a process that was killed early has named no folder.
    """
    import sfumato as sf

    if not project.ledger.is_file():
        return ""
    start = dt.datetime.fromtimestamp((run.folder / "run.json").stat().st_mtime, tz=dt.UTC).replace(microsecond=0)
    with contextlib.suppress(SfumatoError, OSError):
        entries = sf.Ledger(project.ledger).entries(population(project))
        since = [entry for entry in entries if entry.counts and entry.reserved_at >= start.isoformat()]
        return " and ".join(f"epsilon {entry.cost}" for entry in since)
    return ""
