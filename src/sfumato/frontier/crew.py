"""Worker processes: fresh interpreters, one polars and one numba thread each, told the task once."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any

from sfumato.frontier.evaluate import Task, evaluated
from sfumato.mechanisms import Mechanism

__all__ = ["evaluated_all"]

_ONE_THREAD = (
    "POLARS_MAX_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)
_STOPPED = "the process that made this release stopped (too little memory?)"


def evaluated_all(task: Task, mechanisms: Sequence[Mechanism], *, workers: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (place, result) as they come; with no workers everything runs in this process, in order."""
    if workers < 1 or len(mechanisms) < 2:
        for place, mechanism in enumerate(mechanisms):
            yield place, evaluated(task, mechanism)
        return
    waiting: SimpleQueue[tuple[int, Mechanism]] = SimpleQueue()
    for job in enumerate(mechanisms):
        waiting.put(job)
    done: SimpleQueue[tuple[int, dict[str, Any]] | BaseException] = SimpleQueue()
    told = pickle.dumps(task, protocol=5)  # once, however many workers are told
    crew = [_Worker(told, waiting, done) for _ in range(min(workers, len(mechanisms)))]
    try:
        for _ in mechanisms:
            answer = done.get()
            if isinstance(answer, BaseException):
                raise answer
            yield answer
    finally:
        for worker in crew:
            worker.stop()


class _Worker(Thread):
    """A thread that feeds one process."""

    def __init__(self, told: bytes, waiting: Any, done: Any) -> None:
        super().__init__(daemon=True)
        self._told, self._waiting, self._done = told, waiting, done
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = Event()
        self.start()

    def run(self) -> None:
        """Take one job after another; a process that dies takes its job with it and is replaced."""
        try:
            while not self._stopping.is_set():
                try:
                    place, mechanism = self._waiting.get_nowait()
                except Empty:
                    break
                self._done.put((place, self._asked(mechanism)))
        except BaseException as error:  # noqa: BLE001  (handed to the caller's thread, which raises it)
            self._done.put(error)
        finally:
            self._end()

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._stopping.set()
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
        self.join(timeout=5)

    def _asked(self, mechanism: Mechanism) -> dict[str, Any]:
        try:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            pickle.dump(mechanism, process.stdin, protocol=5)
            process.stdin.flush()
            found: dict[str, Any] = pickle.load(process.stdout)  # noqa: S301  (from a process started here)
        except (EOFError, OSError, pickle.UnpicklingError):
            self._end()
            return {"failed": _STOPPED}
        return found

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            command = [sys.executable, "-P", "-m", "sfumato.frontier.worker"]
            path = os.pathsep.join(filter(None, sys.path))  # what can be imported here can be imported there
            there = {**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "PYTHONPATH": path}
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=there)  # noqa: S603
            assert self._process.stdin is not None
            self._process.stdin.write(self._told)
            self._process.stdin.flush()
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
