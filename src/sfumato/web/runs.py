"""A long piece of work as one command in a process of its own: started, watched, cancelled, resumed.

The words of the command are those the page shows, so that running them in a terminal does the same. A run outlives the
server: its folder says what it printed and how it ended, and a server started later goes on from there.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal

from sfumato.errors import ParameterError, SfumatoError
from sfumato.release.atomic import target_of, write_whole
from sfumato.visible import operand, shell_command
from sfumato.web.budget import population
from sfumato.web.workspace import Project

State = Literal["running", "done", "refused", "cancelled", "stopped"]
_NAME = re.compile(r"[a-z]+-[0-9]{1,6}", re.ASCII)
_GRACE = 3.0  # seconds a cancelled process has to end by itself


@dataclass(frozen=True, slots=True)
class Run:
    """One command: `folder` holds its words, what it printed and how it ended."""

    folder: Path
    _: KW_ONLY
    project: Path

    @property
    def name(self) -> str:
        """The name in the address."""
        return self.folder.name

    @property
    def about(self) -> dict[str, Any]:
        """What was asked for."""
        held: dict[str, Any] = json.loads((self.folder / "run.json").read_text("utf-8"))
        return held

    @property
    def words(self) -> list[str]:
        """The words of the command."""
        return [str(word) for word in self.about["words"]]

    @property
    def command(self) -> str:
        """The command as it is typed, in the project's folder."""
        return shell_command(self.words)

    @property
    def code(self) -> int | None:
        """The exit code, None while it runs or where it was killed."""
        try:
            return int((self.folder / "code").read_text("ascii"))
        except (OSError, ValueError):
            return None

    @property
    def state(self) -> State:
        """What has become of it."""
        if (self.folder / "cancelled").exists():
            return "cancelled"
        code = self.code
        if code is not None:
            refused = code == 2 or (code == 3 and self._refused())
            return "refused" if refused else "done" if code in (0, 3) else "stopped"
        return "running" if self._alive() else "stopped"

    def _refused(self) -> bool:
        """Return whether nothing was made, for example because a limit of the ledger forbids it.

        A comparison in which no release keeps the policy ends with the same code, and is done: that is its answer.
        """
        answer = self.answer()
        return self.about["kind"] != "compare" and isinstance(answer, Mapping) and "error" in answer

    def _alive(self) -> bool:
        """Return whether its process runs; a process that was later given the same number does not count."""
        try:
            pid, born = (self.folder / "process").read_text("ascii").split()
        except (OSError, ValueError):
            return False
        return _born(int(pid)) == born

    @property
    def progress(self) -> dict[str, Any]:
        """Its progress, as the last line on standard error states it."""
        try:
            with (self.folder / "err.txt").open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            lines = []
        for line in reversed(lines):
            found = re.match(r"\s*([0-9]{1,3}) % done(?:, about (.+?) left)?: (.*)", line)
            if found:
                return {"percent": int(found[1]), "left": found[2] or "", "doing": found[3]}
        return {"percent": 0, "left": "", "doing": ""}

    def answer(self) -> Any:
        """Return the JSON object the command printed, None if it printed none."""
        try:
            return json.loads((self.folder / "out.json").read_text("utf-8"))
        except (OSError, ValueError):
            return None

    def cancel(self) -> None:
        """End the process and whatever it started; results kept so far stay for a resumed run."""
        if self.state != "running":
            return
        (self.folder / "cancelled").touch(mode=0o600)
        pid = int((self.folder / "process").read_text("ascii").split()[0])
        _signal(pid, signal.SIGTERM)
        until = time.monotonic() + _GRACE
        while self._alive() and time.monotonic() < until:
            time.sleep(0.02)
        if self._alive():
            _signal(pid, signal.SIGKILL)

    def resume(self) -> Run:
        """Start the same words again in the same folder."""
        if self.state == "running":
            return self
        return _start(self.folder, self.project)

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping without what the command printed."""
        state = self.state
        shown = {"name": self.name, "kind": self.about["kind"], "state": state, "command": self.command}
        since = time.time() - (self.folder / "process").stat().st_mtime if state == "running" else 0.0
        return {
            **shown,
            "code": self.code,
            "progress": self.progress if state == "running" else None,
            "seconds": round(since),
        }


def _born(pid: int) -> str:
    """Return when a process was started, as the system counts; nothing if there is none or it is dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        try:
            os.kill(pid, 0)
        except OSError:
            return ""
        return "unknown"
    return "" if fields[0] == "Z" else fields[19]


def _signal(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def started(project: Path, kind: str, words: Sequence[str], **about: Any) -> Run:
    """Start `sfumato ...` in the project's folder; `words` begin with `sfumato`."""
    folder = project / "runs"
    folder.mkdir(mode=0o700, exist_ok=True)
    for number in range(1, 1_000_000):
        place = folder / f"{kind}-{number}"
        try:
            place.mkdir(mode=0o700)
        except FileExistsError:
            continue
        write_whole(place / "run.json", json.dumps({"kind": kind, "words": list(words), **about}), mode=0o600)
        return _start(place, project)
    raise ParameterError("runs", kind, "there are too many", hint="delete the project's folder `runs`")


def started_once(
    project: Path, kind: str, words: Callable[[], Sequence[str]], asked: Mapping[str, Any], **about: Any
) -> Run:
    """Start a command unless one of its kind runs: the same form sent twice starts one run, another form is refused.

    The caller holds the project's lock. `words` may refuse what the first run has made meanwhile, so that they are
    asked for only where nothing runs.
    """
    for run in runs_of(project, kind):
        if run.state == "running":
            if run.about.get("asked") == asked:
                return run
            raise ParameterError("run", run.name, "has not ended yet", hint="wait until it has, then send this again")
    return started(project, kind, words(), asked=dict(asked), **about)


def _start(place: Path, project: Path) -> Run:
    for old in ("code", "cancelled", "out.json", "err.txt", "process"):
        (place / old).unlink(missing_ok=True)
    run = Run(place, project=project)
    # The wrapper notes how the command ended even if this server is gone by then.
    wrapper = [sys.executable, "-m", "sfumato.web.runs", str(place), *run.words[1:]]
    with (place / "err.txt").open("wb") as errors:
        process = subprocess.Popen(  # noqa: S603  (our own interpreter, words without a shell)
            wrapper,
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
            close_fds=True,
        )
    write_whole(place / "process", f"{process.pid} {_born(process.pid) or 'gone'}", mode=0o600)
    _started.append(process)
    _started[:] = [one for one in _started if one.poll() is None]
    return run


_started: list[subprocess.Popen[bytes]] = []  # so that ended processes are collected


def runs_of(project: Path, kind: str | None = None) -> list[Run]:
    """Return the runs of a project, the newest first."""
    folder = project / "runs"
    found = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)] if folder.is_dir() else []
    whole = [Run(path, project=project) for path in found if (path / "run.json").is_file()]
    whole.sort(key=lambda run: (run.folder / "run.json").stat().st_mtime_ns, reverse=True)
    if kind is None:
        return whole
    mine = [run for run in whole if run.name.startswith(f"{kind}-")]  # numbered as they were started, also in a copy
    return sorted(mine, key=lambda run: int(run.name.rpartition("-")[2]), reverse=True)


def _main(place: Path, words: list[str]) -> int:
    """Run the command, its standard output into a file, and note its exit code."""
    with (place / "out.json").open("wb") as out:
        (place / "out.json").chmod(0o600)
        ended = subprocess.run([sys.executable, "-m", "sfumato", *words], stdout=out, check=False)  # noqa: S603
    write_whole(place / "code", str(ended.returncode), mode=0o600)
    return ended.returncode


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), sys.argv[2:]))


def ended(project: Project, run: Run | None) -> dict[str, Any] | None:
    """State what exists of a release whose run failed; None if it runs or has ended well."""
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
    """Return what the ledger counts as spent on the same people since the run was started; nothing if it does not.

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
