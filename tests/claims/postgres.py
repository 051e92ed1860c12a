"""A PostgreSQL server of one's own for tests: a cluster in a temporary folder, on a socket, of an unprivileged user."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_USER = "sfumato"  # of the server


def _program(name: str) -> str:
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = str(places[-1]) if places else shutil.which(name)
    assert found, "PostgreSQL is not installed: apt-get install postgresql"
    return found


def _account() -> str | None:
    """The account that runs the server: the server refuses to run as root."""
    if os.geteuid():
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None


class Server:
    """A running server; `stop` cuts every connection at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.account = _account()

    def address(self, table: str, password: str = "") -> str:
        who = f"{_USER}:{password}" if password else _USER
        return f"postgresql://{who}@/postgres?host={self.folder}#{table}"

    def run(self, program: str, *given: str) -> None:
        command = [_program(program), *given]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": 120}
        subprocess.run(command, check=True, user=self.account, cwd=self.folder, env=_environment(), **quiet)

    def start(self) -> None:
        options = f"-c listen_addresses='' -k {self.folder} -c fsync=off -c shared_buffers=16MB"
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-o", options, "-l", f"{self.folder}/log", "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "-w", "stop")


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "HOME": "/"}


@contextmanager
def server() -> Iterator[Server]:
    """Start a server and stop it."""
    folder = Path(tempfile.mkdtemp(prefix="sfumato-pg-", dir="/tmp"))
    made = Server(folder)
    if made.account is not None:
        shutil.chown(folder, made.account)
    try:
        made.run("initdb", "-D", f"{folder}/data", "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-sync")
        made.start()
        try:
            yield made
        finally:
            subprocess.run(
                [_program("pg_ctl"), "-D", f"{folder}/data", "-m", "immediate", "stop"],
                check=False,
                user=made.account,
                cwd=folder,
                env=_environment(),
                capture_output=True,
                timeout=60,
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
