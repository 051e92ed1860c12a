"""What takes longer than a page may: computed in a thread, saved in the project, requested again by the page."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.web.workspace import Project


class Background:
    """Results by project, kind and key: read from the disk, or being worked out."""

    def __init__(self, threads: int = 2) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="sfumato")
        self._running: dict[tuple[str, str, str], Future[None]] = {}
        self._lock = threading.Lock()

    def result(self, project: Project, kind: str, key: str, work: Callable[[], Any]) -> Any:
        """Return the kept result; if there is none, start the work and return None."""
        held = project.kept(kind, key)
        if held is not None:
            return held
        name = (project.id, kind, key)
        with self._lock:
            task = self._running.get(name)
            if task is None or task.done():
                self._running[name] = self._pool.submit(self._work, project, kind, key, work)
        return None

    def _work(self, project: Project, kind: str, key: str, work: Callable[[], Any]) -> None:
        try:
            found = {"ok": True, **work()}
        except SfumatoError as error:
            found = {"ok": False, **error.as_json()}
        except Exception as error:  # noqa: BLE001  (a message of another library may quote a cell)
            found = {"ok": False, "error": type(error).__name__, "message": "unexpected error", "hint": "report it"}
        if project.folder.is_dir():
            project.keep(kind, key, found)

    def waited(self, project: Project, kind: str, key: str, work: Callable[[], Any]) -> Any:
        """Return the result, working it out here if need be."""
        held = self.result(project, kind, key, work)
        if held is None:
            with self._lock:
                task = self._running.get((project.id, kind, key))
            if task is not None:
                task.result()
            held = project.kept(kind, key)
        return held

    def close(self) -> None:
        """Start nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class RecentTables:
    """The last tables that were read, encoded, and what is counted in them. Confidential; in memory only."""

    def __init__(self, most: int = 4) -> None:
        self._most = most
        self._held: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def table(self, project: Project) -> Any:
        """Return the project's table as its schema reads it now."""
        import sfumato as sf

        def read() -> Any:
            return sf.read(project.data, schema_of(project), **project.options)

        return self.held(f"{project.id} {project.digest()}", read)

    def held(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what is held under a key, made first if it is not; what was used longest ago makes room."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        made = make()
        with self._lock:
            self._held[key] = made
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return made


_SCHEMAS = RecentTables(most=8)


def schema_of(project: Project) -> Any:
    """Return the project's schema as it is now; one with many codes takes half a second to build, so it is held."""
    import sfumato as sf

    return _SCHEMAS.held(f"{project.folder} {project.digest()}", lambda: sf.Schema.load(project.schema_file))
