"""Origin-destination data as it comes: LODES files, or any two columns and a count. Confidential."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.arrays import Ints
from sfumato.commuting.geography import ELSEWHERE, Geography, column_for
from sfumato.commuting.lines import (
    COUNTS,
    check_cap,
    count_column,
    jobs_of_lines,
    keys_over_cap,
    person_like,
    places,
    several_lines,
)
from sfumato.counts import Table
from sfumato.counts.people import read_people
from sfumato.errors import ParameterError, Problem, ReadError
from sfumato.exact import whole
from sfumato.io.errors import guessed_reading
from sfumato.io.source import Source, open_source
from sfumato.limits import FLOWS
from sfumato.schema import Schema

__all__ = ["FLOW_COLUMNS", "Flows", "Unit", "read_flows"]

Unit = Literal["job", "person"]
_DESTINATIONS = ("w_geocode", "destination", "work")
_ORIGINS = ("h_geocode", "origin", "home")


@dataclass(frozen=True, slots=True)
class FlowColumn:
    """An argument of `read_flows` that names a column: flags and the fields of a form are made from it."""

    name: str
    _: KW_ONLY
    label: str
    help: str
    found: bool = True  # by its name, where nobody names it
    several: bool = False


def _one_of(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


FLOW_COLUMNS = (
    FlowColumn("destination", label="Workplaces", help=f"Column of destinations (default: {_one_of(_DESTINATIONS)})."),
    FlowColumn("origin", label="Homes", help=f"Column of origins (default: {_one_of(_ORIGINS)})."),
    FlowColumn(
        "count",
        label="How many jobs a line stands for",
        help=f"Column of counts (default: {_one_of(COUNTS)}; else each line is one job).",
    ),
    FlowColumn("person", label="Who a line is about", help="Column of identities, to check the cap with.", found=False),
    FlowColumn(
        "ignore",
        label="Neither counts nor people",
        help="Column that holds neither counts nor keys of people; may be repeated.",
        several=True,
    ),
)


@dataclass(frozen=True, eq=False)
class Flows:
    """Who goes where, as a table over a public geography. `sf.publish(flows.table, sf.Synthesize(...))`."""

    table: Table
    _: KW_ONLY
    geography: Geography
    unit: Unit
    cap: int = 1
    remarks: tuple[Problem, ...] = ()  # of columns that suggest several lines of one person

    def __repr__(self) -> str:
        return f"Flows({len(self.geography)} blocks, unit {self.unit}, confidential)"

    @property
    def schema(self) -> Schema:
        """Destination and origin, over the public list of blocks."""
        return self.table.schema

    @property
    def pairs(self) -> tuple[Ints, Ints, Ints]:
        """Confidential: destination, origin and rows of every pair that occurs, sorted."""
        counts = self.table.counts(("destination", "origin"))
        codes = counts.codes.astype(np.int64)
        return codes[:, 0], codes[:, 1], counts.weights

    def sizes(self) -> tuple[Ints, Ints]:
        """Return the destinations and how many rows each has: public under the claim of `Synthesize`."""
        where, _, people = self.pairs
        destinations, at = np.unique(where, return_inverse=True)
        return destinations, np.bincount(at.reshape(-1), weights=people, minlength=destinations.size).astype(np.int64)

    def only(self, destinations: Ints) -> Flows:
        """Return the flows of some destinations, by code."""
        where, origin, people = self.pairs
        keep = np.isin(where, destinations)
        return _flows(self.geography, where[keep], origin[keep], people[keep], self.schema, self.unit, self.cap)


def read_flows(
    data: Any,
    geography: Geography,
    *,
    destination: str | None = None,
    origin: str | None = None,
    count: str | None = None,
    person: str | None = None,
    person_exact: bool = False,
    unit: Unit = "job",
    cap: int | None = None,
    ignore: Sequence[str] = (),
    unknown: Literal["refuse", "elsewhere"] = "refuse",
    name: str = "commuting",
    population: str = "",
) -> Flows:
    """Read origin-destination counts; the geography alone says which places there are.

    Columns of LODES files (`w_geocode`, `h_geocode`, `S000`) are found by themselves; without a count every line is
    one job. A column that may hold counts is refused where `count` names none, unless `ignore` lists it.
    `unit="person"` needs `cap`, the most destinations a person may have (1 for primary jobs); where `person` names a
    column of identities the cap is checked, and keys that differ only in how they are written are refused, unless
    `person_exact` says that they are different people. A column that looks like such a key and is neither named nor in
    `ignore` may not pass the cap. `remarks` of the flows name columns by which lines may be days or trips of one
    person. An origin that is not listed is refused, or `elsewhere`.
    """
    rows = _cap(unit, cap)
    source = open_source(data, expected=[*_DESTINATIONS, *_ORIGINS, *COUNTS])
    to = column_for(source.columns, "destination", destination, _DESTINATIONS)
    home = column_for(source.columns, "origin", origin, _ORIGINS)
    for what, columns in (("ignore", ignore), ("person", [] if person is None else [person])):
        for column in columns:
            column_for(source.columns, what, column, ())
    keys = [] if person is None else [person]
    many = count_column(source, count, [to, home], [*keys, *ignore])
    wanted = [to, home, *([many] if many else [])]
    guesses = source.guesses([*wanted, *keys])
    if guesses:
        raise guessed_reading(source.name, guesses)
    frame = source.read(list(dict.fromkeys([*wanted, *keys])))
    pairs = _grouped(frame, to, home, many)
    where = geography.lookup(pairs["to"])
    _refuse("destination", where < 0, pairs["jobs"], "add it to the geography: a destination needs a place")
    at = geography.lookup(pairs["home"])
    if unknown == "refuse":
        _refuse("origin", at < 0, pairs["jobs"], 'unknown="elsewhere" puts all such homes into one public block')
    at = np.where(at < 0, geography.elsewhere, at)
    rest = [column for column in source.columns if column not in {*wanted, *keys, *ignore}]
    hardly_repeats = True
    if person is not None:
        stand = _standing(frame, geography, to, many)
        check_cap(frame[person].gather(stand[0]), stand[1], stand[2], rows, exact=person_exact)
        hardly_repeats = read_people([frame[person].gather(stand[0])]).of_rows(stand[2])
    if unit == "person" and hardly_repeats:
        _refuse_other_keys(source, geography, [column for column in rest if person_like(column)], (to, many), rows)
    schema = geography.schema(name=name, population=population, rows_per_person=rows if unit == "person" else None)
    flows = _flows(geography, where, at, pairs["jobs"].to_numpy(), schema, unit, rows)
    return flows if person is not None else replace(flows, remarks=tuple(several_lines(source, rest, unit=unit)))


def _standing(frame: pl.DataFrame, geography: Geography, to: str, many: str | None) -> tuple[Ints, Ints, Ints]:
    """Return the lines that stand for a job, their destinations by code and how many jobs each stands for."""
    jobs = jobs_of_lines(frame, many).fill_null(0).to_numpy()
    lines = np.flatnonzero(jobs > 0)
    return lines, geography.lookup(places(frame[to]).gather(lines)), jobs[lines]


def _refuse_other_keys(
    source: Source, geography: Geography, columns: Sequence[str], to_and_count: tuple[str, str | None], cap: int
) -> None:
    to, many = to_and_count
    wrong = []
    for column in columns:
        frame = source.read([to, *([many] if many else []), column])
        lines, where, jobs = _standing(frame, geography, to, many)
        wrong += keys_over_cap(frame[column].gather(lines), where, jobs, cap)
    if wrong:
        raise ReadError(wrong)


def _flows(
    geography: Geography, where: Ints, origin: Ints, people: Ints, schema: Schema, unit: Unit, cap: int
) -> Flows:
    codes = np.repeat(np.column_stack([where, origin]), people, axis=0)
    return Flows(Table.from_codes(schema, codes, ("destination", "origin")), geography=geography, unit=unit, cap=cap)


def _cap(unit: Unit, cap: int | None) -> int:
    if unit not in ("job", "person"):
        raise ParameterError("unit", unit, "must be job or person")
    if unit == "job":
        if cap is not None:
            raise ParameterError("cap", cap, "is for persons", hint='unit="person"')
        return 1
    if cap is None:
        hint = "cap=1 for a file of primary jobs; LODES JT00 holds all jobs"
        raise ParameterError("cap", "nothing", "say how many destinations a person may have", hint=hint)
    return whole("cap", cap, least=1)


def _grouped(frame: pl.DataFrame, to: str, home: str, many: str | None) -> pl.DataFrame:
    jobs = jobs_of_lines(frame, many)
    bad = int((jobs.is_null() | (jobs < 0)).sum())
    if bad:
        raise ReadError(Problem(many or "count", "must hold whole numbers of 0 or above", "check the column", rows=bad))
    total = float(jobs.cast(pl.Float64).sum())
    if total > FLOWS:
        rule = f"counts {total:.4g} jobs, more than {FLOWS:,}"
        raise ReadError(Problem(many or "count", rule, "publish parts of the geography one by one"))
    grouped = pl.DataFrame({"to": places(frame[to]), "home": places(frame[home]), "jobs": jobs})
    empty = grouped.filter(pl.col("to").is_null() | pl.col("home").is_null()).height
    if empty:
        hint = f"write {ELSEWHERE}, or omit the line"
        raise ReadError(Problem(f"{to}, {home}", "must not be empty", hint, rows=empty))
    return grouped.group_by("to", "home").agg(pl.col("jobs").sum()).filter(pl.col("jobs") > 0)


def _refuse(name: str, wrong: NDArray[np.bool_], jobs: pl.Series, hint: str) -> None:
    if wrong.any():
        rule = f"has {int(wrong.sum())} pairs whose code is not in the geography"
        raise ReadError(Problem(name, rule, hint, count=int(wrong.sum()), rows=int(jobs.to_numpy()[wrong].sum())))
