"""Worker processes: fresh interpreters, one polars and one numba thread each; the task is sent once.

Source    Ours.
Claim     A worker that dies takes no point with it: the point is tried once more, and only if its process dies again is
          it given up, with the reason; that says nothing about the point, so `died` keeps it from being kept. Whatever
          ends the sweep, Ctrl-C and SIGTERM included, ends every worker at once.
Because   each worker is a process group of its own, so that a terminal's Ctrl-C reaches this process alone, which ends
          them all before it goes on; a worker whose parent is gone ends itself (`worker`).
Checked   tests/unit/frontiers/test_run.py::test_a_point_whose_worker_was_killed_is_retried_and_kept
          tests/unit/frontiers/test_run.py::test_a_worker_that_dies_twice_is_one_failed_point_that_is_not_kept
          tests/surfaces/test_stopped_sweeps.py::test_a_signal_ends_all_workers_within_a_second
Silent on what a signal does to a caller's own program: Python's default for SIGTERM ends it at once.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from dataclasses import KW_ONLY, dataclass
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from sfumato.frontiers.evaluate import Task, evaluated
from sfumato.mechanisms import Mechanism

__all__ = ["evaluated_all"]

_ONE_THREAD = (
    "POLARS_MAX_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)
_TRIES = 2
_LOOK = 0.1  # seconds
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Job:
    """A point to be made, and how often its process died."""

    place: int
    _: KW_ONLY
    mechanism: Mechanism
    deaths: int = 0


def evaluated_all(
    task: Task, mechanisms: Sequence[Mechanism], *, workers: int
) -> Generator[tuple[int, dict[str, Any]], None, None]:
    """Yield (place, result) as they come; with no workers everything runs in this process, in order."""
    if workers < 1 or len(mechanisms) < 2:
        for place, mechanism in enumerate(mechanisms):
            yield place, evaluated(task, mechanism)
        return
    waiting: SimpleQueue[_Job] = SimpleQueue()
    for place, mechanism in enumerate(mechanisms):
        waiting.put(_Job(place, mechanism=mechanism))
    done: SimpleQueue[tuple[int, dict[str, Any]] | BaseException] = SimpleQueue()
    payload = pickle.dumps(task, protocol=5)  # once, however many workers are payload
    pool: list[_Worker] = []
    try:
        pool += [_Worker(payload, waiting, done) for _ in range(min(workers, len(mechanisms)))]
        for _ in mechanisms:
            answer = _next(done)
            if isinstance(answer, BaseException):
                raise answer
            yield answer
    finally:
        for worker in pool:
            worker.kill()
        for worker in pool:
            worker.join(timeout=5)


def _next(done: SimpleQueue[T]) -> T:
    """Wait for an answer, awake now and then: with polars loaded, Ctrl-C does not wake a thread that waits."""
    while True:
        try:
            return done.get(timeout=_LOOK)
        except Empty:
            continue


class _Died(Exception):  # noqa: N818
    """The process that made a point is gone; says how."""


class _Worker(Thread):
    """A thread that feeds one process."""

    def __init__(self, payload: bytes, waiting: SimpleQueue[_Job], done: SimpleQueue[Any]) -> None:
        super().__init__(daemon=True)
        self._payload, self._waiting, self._done = payload, waiting, done
        self._process: subprocess.Popen[bytes] | None = None
        self._lock, self._stopped = Lock(), False
        self.start()

    def run(self) -> None:
        """Take one job after another; a process that dies is replaced, and its job put back once."""
        try:
            while not self._stopped:
                try:
                    job = self._waiting.get_nowait()
                except Empty:
                    break
                self._do(job)
        except BaseException as error:  # noqa: BLE001  (handed to the caller's thread, which raises it)
            self._done.put(error)
        finally:
            self._end()

    def kill(self) -> None:
        """End the process, whatever it is doing, and start no other."""
        with self._lock:
            self._stopped = True
            if self._process is not None and self._process.poll() is None:
                self._process.kill()

    def _do(self, job: _Job) -> None:
        try:
            found = self._asked(job.mechanism)
        except _Died as how:
            deaths = job.deaths + 1
            if self._stopped:
                return
            if deaths < _TRIES:
                self._waiting.put(_Job(job.place, mechanism=job.mechanism, deaths=deaths))
                return
            found = {"failed": f"the process that made this release stopped twice ({how})", "died": True}
        self._done.put((job.place, found))

    def _asked(self, mechanism: Mechanism) -> dict[str, Any]:
        question = pickle.dumps(mechanism, protocol=5)
        try:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(question)
            process.stdin.flush()
            found: dict[str, Any] = pickle.load(process.stdout)  # noqa: S301  (from a process started here)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise _Died(_how(self._end())) from None
        return found

    def _running(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise EOFError
            if self._process is not None:
                return self._process
            command = [sys.executable, "-P", "-m", "sfumato.frontiers.worker", str(os.getpid())]
            path = os.pathsep.join(filter(None, sys.path))  # what can be imported here can be imported there
            there = {**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "PYTHONPATH": path}
            apart: dict[str, Any] = {} if os.name == "nt" else {"process_group": 0}
            self._process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=there, **apart
            )
        assert self._process.stdin is not None
        self._process.stdin.write(self._payload)
        self._process.stdin.flush()
        return self._process

    def _end(self) -> int | None:
        """Close the process; returns how it ended."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return None
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass
        try:
            return process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def _how(code: int | None) -> str:
    """Say how a process ended."""
    if code is None or code >= 0:
        return f"it ended with code {code}; too little memory?"
    if -code == getattr(signal, "SIGKILL", 9):
        return "killed, most likely because there was too little memory: try fewer workers"
    return f"signal {-code}; too little memory?"
