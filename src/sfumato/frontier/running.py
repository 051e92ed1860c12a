"""`frontier`: run a sweep in worker processes, measure every release, find the efficient ones."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from os import PathLike
from typing import Any

from sfumato.claims.exact import whole
from sfumato.counts import Table
from sfumato.errors import ParameterError
from sfumato.frontier.affordable import affordable, bytes_of_one, free_bytes
from sfumato.frontier.axes import Axis, axis_of, can_be_sent
from sfumato.frontier.crew import evaluated_all
from sfumato.frontier.evaluate import Task
from sfumato.frontier.fingerprint import compact
from sfumato.frontier.grid import sweep
from sfumato.frontier.keep import Kept
from sfumato.frontier.naming import label_of
from sfumato.frontier.point import Point, Spread, nothing_measured
from sfumato.frontier.progress import progress_of
from sfumato.frontier.references import anchors, references
from sfumato.frontier.result import Frontier, Measure, with_efficient
from sfumato.measures import privacy_loss, utility_loss
from sfumato.mechanisms import Mechanism, Progress

__all__ = ["frontier"]


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
) -> Frontier:
    """Measure a sweep of releases of one table and find those that nothing beats.

    privacy, utility   a measure on each axis: its name, a function of (table, release), or an `Axis`.
    keep       a folder in which results are kept; a sweep that was stopped goes on from there. Confidential.
    repeats    how often a method that draws at random is run, with seeds `seed`, `seed + 1`, ...
    workers    processes to use, one for each core unless told; 0 runs everything here.
    panels     also note what the report shows of each release.
    """
    mechanisms = sweep(points) if isinstance(points, str) else sweep(*points)
    table.refuse_repeated_keys()
    task = Task(
        compact(table),
        privacy=axis_of(privacy),
        utility=axis_of(utility),
        repeats=whole("repeats", repeats, least=1, hint="5"),
        seed=whole("seed", seed, least=0),
        panels=panels,
    )
    hands = affordable(_workers(workers, task), bytes_of_one(task.table, panels=panels), free_bytes())
    kept = None if keep is None else Kept(keep, task)
    found = _found(task, mechanisms, kept, hands, progress_of(progress))
    ends = anchors(task)
    axes = (_measure(task.privacy, "privacy", found), _measure(task.utility, "utility", found))
    placed = [_point(number, one, found[number - 1]) for number, one in enumerate(mechanisms, 1)]
    return Frontier(
        with_efficient(placed, *axes),
        privacy=axes[0],
        utility=axes[1],
        references=references(task, ends),
        anchors=ends,
        table=table.schema.name,
        rows=table.rows,
        quasi=tuple(attribute.name for attribute in table.schema.quasi),
        carried=tuple(attribute.name for attribute in table.schema.carried),
        targets=tuple(attribute.name for attribute in table.schema.role("target")),
        repeats=task.repeats,
        seed=task.seed,
    )


def _workers(asked: int | None, task: Task) -> int:
    if asked is not None:
        return whole("workers", asked, least=0, hint="0 runs everything in this process")
    if not (can_be_sent(task.privacy) and can_be_sent(task.utility)):
        return 0  # a measure of a notebook or script lives in this process only
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _found(
    task: Task,
    mechanisms: Sequence[Mechanism],
    kept: Kept | None,
    workers: int,
    shown: AbstractContextManager[Progress],
) -> list[dict[str, Any]]:
    """Take what was kept, compute the rest, keep it at once."""
    if workers and not (can_be_sent(task.privacy) and can_be_sent(task.utility)):
        hint = "put the function into a module, or workers=0"
        raise ParameterError("workers", workers, "the measure can not be sent to another process", hint=hint)
    found = {at: held for at, one in enumerate(mechanisms) if kept and (held := kept.read(one)) is not None}
    missing = [at for at in range(len(mechanisms)) if at not in found]
    with shown as tell:
        tell(len(found) / len(mechanisms), f"{len(found)} kept" if found else "starting")
        with closing(evaluated_all(task, [mechanisms[at] for at in missing], workers=workers)) as answers:
            for place, answer in answers:
                at = missing[place]
                found[at] = answer
                if kept is not None and not answer.get("died"):  # a process that died says nothing about the point
                    kept.write(mechanisms[at], answer)
                tell(len(found) / len(mechanisms), f"{len(found)}/{len(mechanisms)} {label_of(mechanisms[at])}")
    return [found[at] for at in range(len(mechanisms))]


def _measure(axis: Axis, place: str, found: Sequence[Mapping[str, Any]]) -> Measure:
    """Unit and formula as the measure itself states them."""
    said = next((one["axes"][place] for one in found if not one["failed"]), {"unit": "", "formula": ""})
    return Measure(axis.name, unit=said["unit"], formula=said["formula"], better=axis.better)


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
        panel=found["panel"],
        attributes={axis: said for axis, said in found.get("attributes", {}).items() if said},
        published=found.get("published", ""),
        seconds=found.get("seconds", 0.0),
    )
