"""`frontier`: run a sweep in worker processes, measure every release, find the efficient ones."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from sfumato.counts import Table, holdout
from sfumato.errors import ParameterError, count_of
from sfumato.estimate import exact_tables
from sfumato.exact import whole
from sfumato.frontiers.axes import Axis, axis_of, can_be_sent, compact, digest, table_fingerprint
from sfumato.frontiers.evaluate import Task, evaluated
from sfumato.frontiers.panel import QUERIES, SELECTIVITIES, asked_truth
from sfumato.frontiers.point import Point, Spread, nothing_measured
from sfumato.frontiers.policy import Policy
from sfumato.frontiers.progress import progress_of
from sfumato.frontiers.recommend import anchors, references
from sfumato.frontiers.result import AxisMeasure, Frontier, with_efficient
from sfumato.frontiers.sweep import label_of, sweep, written_as
from sfumato.measures import privacy_loss, utility_loss
from sfumato.mechanisms import Mechanism, Progress
from sfumato.release.atomic import refuse_release_folder, write_whole
from sfumato.version import __version__

# How much memory a sweep will take, stated before it starts.
#
# The estimate is rough and on the high side: what the program itself takes, the counts, the public trees, and the sets
# of values that the queries of the panels ask for, which are the largest part where a nominal attribute has many codes.
# benchmarks/bench_compare_memory.py prints it beside the peak of a process: 1.0 to 1.5 of it on three tables.

_PROGRAM = 460_000_000
_COUNT = 200  # bytes for each code of a distinct row: codes, labels, keys and what sorting them takes
_NODE = 400  # bytes for each node of a public tree, its name included
_PIECE = 24  # bytes for an interval of a query, drawn in batches of twice the queries


def bytes_of_one(table: Table, *, panels: bool = True) -> int:
    """Return about how many bytes one process of a sweep takes; the one that starts the others makes no panels."""
    published = table.schema.published
    total = _PROGRAM + len(table.counts()) * len(published) * _COUNT
    total += sum(len(attribute.nodes) for attribute in published) * _NODE
    if panels:
        # A random half of n values is about n / 4 intervals.
        pieces = sum(attribute.size // 4 for attribute in table.schema.quasi if not attribute.ordered)
        total += pieces * QUERIES * (len(SELECTIVITIES) + 2) * _PIECE
    return total


def free_bytes() -> int | None:
    """Return how much memory is free, None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return found[0] if found else None


def affordable(wanted: int, one: int, free: int | None) -> int:
    """Return how many of the wanted workers fit into memory; refuse where not even one does."""
    if free is None:
        return wanted
    if one > free:
        rule = f"one process needs about {one / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free"
        hint = "panels=False, or give attributes with many values a coarser domain"
        raise ParameterError("memory", f"{one / 1e9:.1f} GB", rule, hint=hint)
    return min(wanted, max(free // one, 1))


# Results kept in a folder, so that a sweep that was stopped goes on where it was. The folder is confidential.

# Since 2: the worst of all sensitive attributes, not the first; 3: further axes, people, tables; 4: rows not as people;
# 5: without a class nothing is in the smallest.
_FIGURES = 5

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
            "others": [axis.key for axis in task.others],
            "answers": [one.name for one in task.answers],
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
        return found if isinstance(found, dict) and "failed" in found else None

    def write(self, mechanism: Mechanism, found: dict[str, Any]) -> None:
        """Keep a result; a process that dies while writing leaves no half file."""
        text = json.dumps({"confidential": True, "mechanism": written_as(mechanism), "found": found}, indent=1)
        write_whole(self._folder / f"{self.key(mechanism)}.json", text, mode=0o600)


def frontier(
    table: Table,
    points: Iterable[Mechanism] | str,
    *,
    privacy: Any = privacy_loss,
    utility: Any = utility_loss,
    keep: str | PathLike[str] | None = None,
    progress: bool | Progress = True,
    repeats: int = 5,
    seed: int = 0,
    workers: int | None = None,
    panels: bool = True,
    policy: Policy | None = None,
) -> Frontier:
    """Measure a sweep of releases of one table and find those that nothing beats.

    privacy, utility   a measure on each axis: its name, a function of (table, release), or an `Axis`. Of a list of
               privacy axes the first decides, and `Frontier.on` puts another in its place. For an attack
               ("inference", "membership", "identity") one half of the people is published and both are attacked.
    policy     what a recommended release must keep; what it names is measured too. At least 5 people in a class
               unless given.
    keep       a folder in which results are kept; a sweep that was stopped goes on from there. Confidential.
    repeats    how often a method that draws at random is run, with seeds `seed`, `seed + 1`, ...
    workers    processes to use, one for each core unless given; 0 runs everything here.
    panels     also note what the report shows of each release.

    >>> table = sf.datasets.adult("test")
    >>> front = sf.frontier(table, sf.sweep(sf.Mondrian, k=[50, 500]), workers=0, progress=False, panels=False)
    >>> [str(point.mechanism.requirement) for point in front.efficient]
    ['k-anonymity(500)', 'k-anonymity(50)']
    """
    mechanisms = sweep(points) if isinstance(points, str) else sweep(*points)
    table.doubts.refuse_repeated_keys()
    kept_lines = Policy() if policy is None else policy
    first, *others = _axes(privacy, kept_lines)
    halves: tuple[Table | None, Table | None] = (None, None)
    if any(axis.attacked for axis in (first, *others)):
        targets, controls = holdout(table, seed=seed)
        halves = (compact(targets), compact(controls))
    task = Task(
        compact(table),
        privacy=first,
        utility=axis_of(utility),
        others=tuple(others),
        answers=kept_lines.answers,
        targets=halves[0],
        controls=halves[1],
        repeats=whole("repeats", repeats, least=1, hint="5"),
        seed=whole("seed", seed, least=0),
        panels=panels,
    )
    for answer in task.answers:
        exact_tables(task.table).counts(*answer.columns)  # an unknown column is named before anything is made
    hands = affordable(_workers(workers, task), bytes_of_one(task.table, panels=panels), free_bytes())
    kept = None if keep is None else Kept(keep, task)
    found = _found(task, mechanisms, kept, hands, progress_of(progress))
    ends, others_ends = anchors(task)
    axes = (_measure(task.privacy, "privacy", found), _measure(task.utility, "utility", found))
    placed = [_point(number, one, found[number - 1]) for number, one in enumerate(mechanisms, 1)]
    return Frontier(
        with_efficient(placed, *axes),
        privacy=axes[0],
        utility=axes[1],
        others=tuple(_measure(axis, axis.name, found) for axis in task.others),
        ends=others_ends,
        policy=kept_lines,
        truth=asked_truth(task.table) if panels else {},
        references=references(task, ends),
        anchors=ends,
        table=table.schema.name,
        rows=table.rows,
        people="" if (people := table.people) is None else count_of(f"{people:,}", *table.schema.keyed_by),
        quasi=tuple(attribute.name for attribute in table.schema.quasi),
        carried=tuple(attribute.name for attribute in table.schema.carried),
        targets=tuple(attribute.name for attribute in table.schema.role("target")),
        repeats=task.repeats,
        seed=task.seed,
    )


def _axes(privacy: Any, policy: Policy) -> list[Axis]:
    """The privacy axes, each once, with those on which the policy has a limit."""
    given = list(privacy) if isinstance(privacy, list | tuple) else [privacy]
    if not given:
        raise ParameterError("privacy", "nothing", "name at least one axis", hint="privacy_loss")
    found = {axis.name: axis for axis in map(axis_of, given)}
    for name in policy.limits:
        if name not in found:
            found[name] = axis_of(name)
    return list(found.values())


def _workers(asked: int | None, task: Task) -> int:
    if asked is not None:
        return whole("workers", asked, least=0, hint="0 runs everything in this process")
    if not all(map(can_be_sent, (task.privacy, task.utility, *task.others))):
        return 0  # a measure of a notebook or script lives in this process only
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _found(
    task: Task,
    mechanisms: Sequence[Mechanism],
    kept: Kept | None,
    workers: int,
    shown: AbstractContextManager[Progress],
) -> list[dict[str, Any]]:
    """Load saved results, compute the missing ones, and save each as soon as it is ready."""
    if workers and not all(map(can_be_sent, (task.privacy, task.utility, *task.others))):
        hint = "put the function into a module, or workers=0"
        raise ParameterError("workers", workers, "the measure cannot be sent to another process", hint=hint)
    found = {at: held for at, one in enumerate(mechanisms) if kept and (held := kept.read(one)) is not None}
    missing = [at for at in range(len(mechanisms)) if at not in found]
    with shown as tell:
        tell(len(found) / len(mechanisms), f"{len(found)} kept" if found else "starting")

        said = time.monotonic()

        def waiting() -> None:
            """Name what is being made: the first releases may take minutes."""
            nonlocal said
            if time.monotonic() - said < _TELL:
                return
            said = time.monotonic()
            being = [label_of(mechanisms[at]) for at in missing if at not in found][: max(workers, 1)]
            doing = f"{len(found)}/{len(mechanisms)}, now making {' and '.join(being)}"
            tell(len(found) / len(mechanisms), doing)

        todo = [mechanisms[at] for at in missing]
        with closing(evaluated_all(task, todo, workers=workers, waiting=waiting)) as answers:
            for place, answer in answers:
                at = missing[place]
                found[at] = answer
                if kept is not None and not answer.get("died"):  # a process that died says nothing about the point
                    kept.write(mechanisms[at], answer)
                tell(len(found) / len(mechanisms), f"{len(found)}/{len(mechanisms)} {label_of(mechanisms[at])}")
    return [found[at] for at in range(len(mechanisms))]


def _measure(axis: Axis, place: str, found: Sequence[Mapping[str, Any]]) -> AxisMeasure:
    """Unit and formula as the measure itself states them."""
    said = next((one["axes"][place] for one in found if not one["failed"] and place in one["axes"]), None)
    said = next((s for one in found if not one["failed"] and (s := one["axes"].get(place)) and s["formula"]), said)
    said = said or {"unit": "", "formula": ""}
    return AxisMeasure(axis.name, unit=said["unit"], formula=said["formula"], better=axis.better)


def _point(number: int, mechanism: Mechanism, found: Mapping[str, Any]) -> Point:
    if found["failed"]:
        nothing = nothing_measured()
        return Point(mechanism, number=number, privacy=nothing, utility=nothing, failed=str(found["failed"]))
    return Point(
        mechanism,
        number=number,
        privacy=Spread(tuple(float(value) for value in found["privacy"])),
        utility=Spread(tuple(float(value) for value in found["utility"])),
        bound=found["bound"],
        savable=found["savable"],
        drew=found["drew"],
        form=found["form"],
        claim=found["claim"],
        promise=found["promise"],
        promises=found["promises"],
        summary=found["summary"],
        alone=found.get("alone", ""),
        people=found["people"],
        at_least=bool(found.get("at_least")),
        risks={name: Spread(tuple(map(float, values))) for name, values in found["risks"].items()},
        attacks=found["attacks"],
        answers={name: Spread(tuple(map(float, values))) for name, values in found["answers"].items()},
        typical=found["typical"],
        by_rows=bool(found.get("by_rows")),
        populations=found.get("populations"),
        panel=found["panel"],
        attributes={axis: said for axis, said in found.get("attributes", {}).items() if said},
        published=found.get("published", ""),
        seconds=found.get("seconds", 0.0),
    )


# Worker processes: fresh interpreters, one polars and one numba thread each; the task is sent once.
#
# Source    Ours.
# Claim     A worker that dies takes no point with it: the point is tried once more, and only if its process dies again
#           is it given up, with the reason; that says nothing about the point, so `died` keeps it from being kept.
#           Whatever ends the sweep, Ctrl-C and SIGTERM included, ends every worker at once.
# Because   each worker is a process group of its own, so that a terminal's Ctrl-C reaches this process alone, which
#           ends them all before it goes on; a worker whose parent is gone ends itself (`worker`).
# Checked   tests/unit/frontiers/test_run.py::test_a_point_whose_worker_was_killed_is_retried_and_kept
#           tests/unit/frontiers/test_run.py::test_a_worker_that_dies_twice_is_one_failed_point_that_is_not_kept
#           tests/surfaces/test_stopped_sweeps.py::test_a_signal_ends_all_workers_within_a_second
# Silent on what a signal does to a caller's own program: Python's default for SIGTERM ends it at once.


_ONE_THREAD = (
    "POLARS_MAX_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)
_TRIES = 2
_LOOK = 0.1  # seconds
_TELL = 2.0  # seconds after which a caller is told what is being made
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Job:
    """A point to be made, and how often its process died."""

    place: int
    _: KW_ONLY
    mechanism: Mechanism
    deaths: int = 0


def evaluated_all(
    task: Task, mechanisms: Sequence[Mechanism], *, workers: int, waiting: Callable[[], None] | None = None
) -> Generator[tuple[int, dict[str, Any]], None, None]:
    """Yield (place, result) as they come; with no workers everything runs in this process, in order.

    waiting     called now and then while nothing comes.
    """
    if workers < 1 or len(mechanisms) < 2:
        for place, mechanism in enumerate(mechanisms):
            yield place, evaluated(task, mechanism)
        return
    jobs: SimpleQueue[_Job] = SimpleQueue()
    for place, mechanism in enumerate(mechanisms):
        jobs.put(_Job(place, mechanism=mechanism))
    done: SimpleQueue[tuple[int, dict[str, Any]] | BaseException] = SimpleQueue()
    payload = pickle.dumps(task, protocol=5)  # once, however many workers are payload
    pool: list[_Worker] = []
    try:
        pool += [_Worker(payload, jobs, done) for _ in range(min(workers, len(mechanisms)))]
        for _ in mechanisms:
            answer = _next(done, waiting)
            if isinstance(answer, BaseException):
                raise answer
            yield answer
    finally:
        for worker in pool:
            worker.kill()
        for worker in pool:
            worker.join(timeout=5)


def _next(done: SimpleQueue[T], waiting: Callable[[], None] | None) -> T:
    """Wait for an answer, awake now and then: with polars loaded, Ctrl-C does not wake a thread that waits."""
    while True:
        try:
            return done.get(timeout=_LOOK)
        except Empty:
            if waiting is not None:
                waiting()


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
