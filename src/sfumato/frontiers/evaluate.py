"""Make the releases of one mechanism and measure them. Runs in a worker process; what it returns is plain data."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from statistics import fmean
from typing import Any

from sfumato.attacks.suite import HALF
from sfumato.claims.claim import described
from sfumato.counts import Table
from sfumato.errors import SfumatoError
from sfumato.estimate import ExactTables, ReadTables
from sfumato.frontiers.axes import Axis
from sfumato.frontiers.panel import classes_of, is_lower_bound, panel_of, people_of, tables_of, typical_count
from sfumato.frontiers.point import Point
from sfumato.frontiers.policy import WantedTable, answer_error
from sfumato.measures import Measured, proved_bound
from sfumato.measures.base import json_number
from sfumato.mechanisms import Mechanism
from sfumato.mechanisms.base import gather, run, run_on_part
from sfumato.randomness import Entropy
from sfumato.release import Release, published_frames
from sfumato.release.exposed import alone_warning

# Points that are one and the same release: other parameters of a method, the same published table.


def published_digest(release: Release) -> str:
    """Return a hash of the published tables; nothing for a drawn release, which differs from run to run."""
    if release.claim.rehearsal:
        return ""
    said = hashlib.sha256()
    for name, table in published_frames(release).items():
        said.update(f"{name}\n{table.distinct.write_csv()}".encode())
        said.update(table.times.tobytes())
    return said.hexdigest()[:32]


def side_by_side(points: Iterable[Point]) -> tuple[tuple[Point, ...], ...]:
    """Return the points in their order, those of one method that are the same release together."""
    found: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        alone = not point.published or bool(point.failed)
        key = (str(point.number),) if alone else (point.family, point.published)
        found.setdefault(key, []).append(point)
    return tuple(tuple(together) for together in found.values())


def name_together(points: tuple[Point, ...]) -> str:
    """Return one name for points that are the same release: `Mondrian k-anonymity(200), k-anonymity(1000)`."""
    first, *rest = points
    method = f"{type(first.mechanism).__name__} "
    return ", ".join([first.label, *(point.label.removeprefix(method) for point in rest)])


@dataclass(frozen=True, slots=True)
class Task:
    """What every worker receives once: the table, the axes, how often to repeat what draws, what must be answered.

    Attacks need people who are not in the release: `targets` is the half of the people that is published for them,
    `controls` the other half.
    """

    table: Table
    _: KW_ONLY
    privacy: Axis
    utility: Axis
    others: tuple[Axis, ...] = ()  # further privacy axes
    answers: tuple[WantedTable, ...] = ()
    targets: Table | None = None
    controls: Table | None = None
    repeats: int
    seed: int
    panels: bool = True


def evaluated(task: Task, mechanism: Mechanism) -> dict[str, Any]:
    """Return everything the picture needs about one mechanism, or why there is nothing."""
    started = time.perf_counter()
    try:
        found = _measured(task, mechanism)
    except SfumatoError as error:
        return {"failed": str(error)}
    except Exception as error:  # noqa: BLE001  (one method's defect must not end the sweep; its text may quote a cell)
        return {"failed": f"unexpected {type(error).__name__} in this method"}
    return {**found, "seconds": round(time.perf_counter() - started, 3)}


def figures_of_release(
    task: Task, mechanism: Mechanism, release: Release, turn: int = 0, *, only: Axis | None = None
) -> dict[str, Measured]:
    """Return the figure of every axis for one release, or of one; of a further axis that fails, NaN and why."""
    halves: list[Release] = []

    def taken(axis: Axis) -> Measured:
        if not axis.attacked:
            return axis(task.table, release)
        if task.targets is None or task.controls is None:
            raise AssertionError("an attack needs two halves of the people")
        if not halves:
            seeded = Entropy.seeded(task.seed + turn)
            halves.append(run_on_part(mechanism, task.targets, seeded, which=HALF))
        return axis.attack(halves[0], task.targets, task.controls, seed=task.seed)

    if only is not None:
        return {"only": taken(only)}
    found = {"privacy": taken(task.privacy), "utility": taken(task.utility)}
    for axis in task.others:
        try:
            found[axis.name] = taken(axis)
        except SfumatoError as error:
            found[axis.name] = _nothing(str(error))
    return found


def _answered(task: Task, exact: ExactTables, read: ReadTables) -> dict[str, float]:
    return {one.name: answer_error(one.columns, exact, read) for one in task.answers}


def _nothing(why: str) -> Measured:
    return Measured(math.nan, unit="", formula="", details={"not measured": why})


def _measured(task: Task, mechanism: Mechanism) -> dict[str, Any]:
    first = rehearsed(task.table, mechanism, task.seed)
    drew = first.claim.rehearsal
    exact, read = tables_of(task.table, first)
    runs, answers = [figures_of_release(task, mechanism, first)], [_answered(task, exact, read)]
    for turn in range(1, task.repeats if drew else 1):
        again = rehearsed(task.table, mechanism, task.seed + turn)
        runs.append(figures_of_release(task, mechanism, again, turn))
        answers.append(_answered(task, *tables_of(task.table, again)) if task.answers else {})
    privacy, utility = runs[0]["privacy"], runs[0]["utility"]
    for axis, place in ((task.privacy, "privacy"), (task.utility, "utility")):
        if any(math.isnan(run[place].value) for run in runs):
            why = runs[0][place].details.get("not measured", f"{axis.name} has no value here")
            return {"failed": str(why)}
    named = {task.privacy.name: "privacy", **{axis.name: axis.name for axis in task.others}}
    people, kept = people_of(first), classes_of(first)
    return {
        "failed": "",
        "privacy": [json_number(run["privacy"].value) for run in runs],
        "utility": [json_number(run["utility"].value) for run in runs],
        "risks": {name: [json_number(run[place].value) for run in runs] for name, place in named.items()},
        "attacks": {
            name: dict(runs[0][place].details) for name, place in named.items() if "sentence" in runs[0][place].details
        },
        "answers": {one.name: [found[one.name] for found in answers] for one in task.answers},
        "typical": typical_count(exact, read),
        "by_rows": first.schema.several or first.schema.rows_per_person > 1,
        "populations": utility.details.get("populations"),
        "people": None if people is None or not len(kept) else int(people[kept].min()),
        "at_least": people is not None and is_lower_bound(first),
        "axes": {place: _said(runs[0][place]) for place in ("privacy", "utility", *named.values())},
        "attributes": {
            "privacy": _by_attribute([run["privacy"] for run in runs]),
            "utility": _by_attribute([run["utility"] for run in runs]),
        },
        "bound": proved_bound(first.claim),
        "drew": drew,
        "savable": first.savable,
        "form": first.form,
        "published": published_digest(first) if first.savable else "",
        "promise": str(first.claim.promise),
        "promises": described(first.claim.promise, first.claim.unit),
        "claim": first.claim.to_json(),
        "summary": first.summary().to_json(),
        "alone": alone_warning(first) if first.form in ("generalized", "buckets") else "",
        "panel": panel_of(task.table, first, {task.privacy.name: privacy, task.utility.name: utility})
        if task.panels
        else {},
    }


def rehearsed(table: Table, mechanism: Mechanism, seed: int) -> Release:
    """Make a release with a known seed. It is never published: publishing draws anew."""
    return run(mechanism, gather(mechanism, table), Entropy.seeded(seed))


def _said(figure: Measured) -> dict[str, Any]:
    return {"unit": figure.unit, "formula": figure.formula}


def _by_attribute(figures: Sequence[Measured]) -> dict[str, Any]:
    """The figure of each attribute, a mean over runs, and which was the worst most often; nothing for one attribute."""
    each = [figure.details.get("by_attribute", {}) for figure in figures]
    if len(each[0]) < 2 or any(set(one) != set(each[0]) for one in each):
        return {}
    named = [str(figure.details["attribute"]) for figure in figures]
    worst = max(dict.fromkeys(named), key=named.count)
    means = {name: json_number(fmean(float(one[name]) for one in each)) for name in each[0]}
    return {"worst": worst, "each": means}
