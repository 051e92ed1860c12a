"""Origin-destination data as it comes: LODES files, or any two columns and a count. Confidential."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.arrays import Ints
from sfumato.commuting.geography import ELSEWHERE, Geography
from sfumato.counts import Table
from sfumato.counts.people import key_like
from sfumato.errors import ParameterError, Problem, ReadError
from sfumato.exact import whole
from sfumato.io.errors import guessed_reading
from sfumato.io.source import ROWS, Source, open_source
from sfumato.limits import FLOWS
from sfumato.schema import Schema
from sfumato.schema.word_hints import tokens

__all__ = ["Flows", "Unit", "read_flows"]

Unit = Literal["job", "person"]
_DESTINATIONS = ("w_geocode", "destination", "work")
_ORIGINS = ("h_geocode", "origin", "home")
_COUNTS = ("S000", "count", "people", "jobs", "commuters")

_TIMES = {
    *("day", "days", "date", "dates", "trip", "trips", "journey", "ride", "weekday", "time", "timestamp", "datetime"),
    *("tag", "datum", "fahrt", "jour", "trajet", "dia", "fecha", "viaje", "giorno", "viaggio", "dag", "rit"),
}
_PRIMARY = "keep one line of each person; or unit person, cap and the column of the person (--unit, --cap, --person)"


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
        """Confidential: destination, origin and people of every pair that occurs, sorted."""
        counts = self.table.counts(("destination", "origin"))
        codes = counts.codes.astype(np.int64)
        return codes[:, 0], codes[:, 1], counts.weights

    def sizes(self) -> tuple[Ints, Ints]:
        """Return the destinations and how many go to each: public under the claim of `Synthesize`."""
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
    unit: Unit = "job",
    cap: int | None = None,
    unknown: Literal["refuse", "elsewhere"] = "refuse",
    name: str = "commuting",
    population: str = "",
) -> Flows:
    """Read origin-destination counts; the geography alone says which places there are.

    Columns of LODES files (`w_geocode`, `h_geocode`, `S000`) are found by themselves; without a count every line is
    one. `unit="person"` needs `cap`, the most destinations a person may have (1 for primary jobs); where `person`
    names a column of identities the cap is checked. Where lines are jobs, `remarks` of the flows name columns by which
    they may be days or trips of one person. An origin that is not listed is refused, or `elsewhere`.
    """
    rows = _cap(unit, cap)
    source = open_source(data, expected=[*_DESTINATIONS, *_ORIGINS, *_COUNTS])
    to = _found(source.columns, "destination", destination, _DESTINATIONS)
    home = _found(source.columns, "origin", origin, _ORIGINS)
    many = count or next((column for column in _COUNTS if column in source.columns), None)
    if many is not None and many not in source.columns:
        raise ReadError(Problem("count", f"no column {many}", "name the column of counts, or omit it"))
    wanted = [to, home, *([many] if many else []), *([person] if person else [])]
    guesses = source.guesses(wanted)
    if guesses:
        raise guessed_reading(source.name, guesses)
    frame = source.read(wanted)
    if person is not None:
        _check_cap(frame, person, to, many, rows)
    pairs = _grouped(frame, to, home, many)
    where = geography.lookup(pairs[to])
    _refuse("destination", where < 0, pairs["people"], "add it to the geography: a destination needs a place")
    at = geography.lookup(pairs[home])
    if unknown == "refuse":
        _refuse("origin", at < 0, pairs["people"], 'unknown="elsewhere" puts all such people into one public block')
    at = np.where(at < 0, geography.elsewhere, at)
    schema = geography.schema(name=name, population=population, rows_per_person=rows)
    flows = _flows(geography, where, at, pairs["people"].to_numpy(), schema, unit, rows)
    if unit != "job" or person is not None:
        return flows
    return replace(flows, remarks=tuple(_several_lines(source, [one for one in source.columns if one not in wanted])))


def _several_lines(source: Source, columns: Sequence[str]) -> list[Problem]:
    """Return a problem for each column that suggests that lines are days or trips, or that a person has several."""
    found = []
    for column in columns:
        if tokens(column) & _TIMES:
            rule = "suggests a line for each day or trip: of somebody who goes the same way often, one is protected"
            found.append(Problem(column, rule, _PRIMARY))
        elif key_like(column):
            cells = source.collect(source.scan([column])).filter(pl.col(column).is_not_null())
            lines = int(cells[ROWS].sum()) if ROWS in cells.columns else cells.height
            if cells[column].n_unique() < lines:
                rule = "looks like the key of a person and repeats: of somebody with several lines, one is protected"
                found.append(Problem(column, rule, _PRIMARY))
    return found


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


def _people(frame: pl.DataFrame, many: str | None) -> pl.DataFrame:
    """Add how many each line stands for: its count, and how often the line itself occurs."""
    people = pl.lit(1) if many is None else pl.col(many).cast(pl.Int64, strict=False)
    if ROWS in frame.columns:
        people = people * pl.col(ROWS)
    return frame.with_columns(people.cast(pl.Int64).alias("people"))


def _grouped(frame: pl.DataFrame, to: str, home: str, many: str | None) -> pl.DataFrame:
    frame = _people(frame, many)
    bad = frame.filter(pl.col("people").is_null() | (pl.col("people") < 0)).height
    if bad:
        raise ReadError(Problem(many or "count", "must hold whole numbers of 0 or above", "check the column", rows=bad))
    columns = [pl.col(to).cast(pl.String).str.strip_chars(), pl.col(home).cast(pl.String).str.strip_chars()]
    total = float(frame.select(pl.col("people").cast(pl.Float64).sum()).item() or 0.0)
    if total > FLOWS:
        rule = f"counts {total:.4g} people, more than {FLOWS:,}"
        raise ReadError(Problem(many or "count", rule, "publish parts of the geography one by one"))
    grouped = frame.select(*columns, "people").group_by(to, home).agg(pl.col("people").sum())
    empty = grouped.filter(pl.col(to).is_null() | pl.col(home).is_null()).height
    if empty:
        hint = f"write {ELSEWHERE}, or omit the line"
        raise ReadError(Problem(f"{to}, {home}", "must not be empty", hint, rows=empty))
    return grouped.filter(pl.col("people") > 0)


def _check_cap(frame: pl.DataFrame, person: str, to: str, many: str | None, rows: int) -> None:
    """A person may have `rows` destinations, one row at each; a line with a count of 3 is three rows."""
    counted = _people(frame, many).filter(pl.col("people").is_null() | (pl.col("people") > 0))
    each = counted.group_by(person).agg(pl.col("people").sum().alias("rows"), pl.col(to).n_unique().alias("places"))
    over = each.filter((pl.col("places") > rows) | (pl.col("rows") > pl.col("places"))).height
    if over:
        rule = f"{over} people have more than {rows} destinations, or two rows at one"
        raise ReadError(Problem(person, rule, "keep primary jobs, or declare a larger cap", count=over))


def _refuse(name: str, wrong: NDArray[np.bool_], people: pl.Series, hint: str) -> None:
    if wrong.any():
        rule = f"has {int(wrong.sum())} pairs whose code is not in the geography"
        raise ReadError(Problem(name, rule, hint, count=int(wrong.sum()), rows=int(people.to_numpy()[wrong].sum())))


def _found(columns: Sequence[str], name: str, given: str | None, likely: Sequence[str]) -> str:
    for wanted in [given] if given is not None else likely:
        if wanted in columns:
            return str(wanted)
    raise ReadError(Problem(name, f"no column for the {name}", f"name it: {name}=..."))
