"""Origin-destination data as it comes: LODES files, or any two columns and a count. Confidential."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.arrays import Ints
from sfumato.commuting.geography import ELSEWHERE, Geography, column_for
from sfumato.counts import Table
from sfumato.counts.key_spellings import bare_keys, key_texts
from sfumato.counts.people import alike_problem, blank_problem, nines_problem, read_people
from sfumato.errors import ParameterError, Problem, ReadError, count_of
from sfumato.exact import whole
from sfumato.io.dialect import refuse_guesses
from sfumato.io.frames import ROWS
from sfumato.io.source import Source, open_source
from sfumato.limits import FLOWS
from sfumato.schema import Schema
from sfumato.schema.key_names import household_like, key_like
from sfumato.schema.word_hints import code_like, holds_counts, named_like_counts, tokens

# What a line of flows stands for: how many jobs, and whose.
#
# Source    Ours. For columns of counts and keys of people the rules of sfumato.counts.people.
# Claim     Every job of the file is counted, or reading is refused; a checked cap holds for people, not for spellings.
# Because   a column that may hold counts is used or said to hold none; keys that could be one person's are refused, and
#           destinations are compared as places of the geography.
# Checked   tests/claims/test_lines_of_flows.py::test_jobs_are_those_of_the_file_or_reading_is_refused
#           tests/claims/test_lines_of_flows.py::test_a_checked_cap_holds_for_people
# Silent on counts in a column whose name and cells tell nothing, and on keys that are wrong.

COUNTS = ("S000", "count", "people", "jobs", "commuters")
_UNITS = {
    *("jobs", "workers", "commuters", "employees", "employed", "employment", "trips", "journeys", "flow", "flows"),
    *("volume", "workforce", "total", "totals", "number", "num", "sum", "value", "values", "amount", "size"),
    *("pendler", "beschaftigte", "beschaeftigte", "erwerbstatige", "erwerbstaetige", "arbeitsplatze", "summe", "zahl"),
    *("arbeitsplaetze", "gesamt", "emplois", "actifs", "travailleurs", "nombre", "empleos", "trabajadores", "numero"),
    *("lavoratori", "pendolari", "occupati", "addetti", "numero", "werknemers", "banen", "forensen", "pendelaars"),
}
_OF_ONE = {"job", "worker", "commuter", "employee", "trip", "emploi", "empleo"}  # beside a word for a count
_TIMES = {
    *("day", "days", "date", "dates", "trip", "trips", "journey", "ride", "weekday", "time", "timestamp", "datetime"),
    *("tag", "datum", "fahrt", "jour", "trajet", "dia", "fecha", "viaje", "giorno", "viaggio", "dag", "rit"),
}
_EMPLOYERS = {
    *("employer", "company", "firm", "establishment", "estab", "workplace", "plant", "business", "sector", "industry"),
    *("arbeitgeber", "betrieb", "firma", "unternehmen", "employeur", "entreprise", "empresa", "azienda", "werkgever"),
}
_NUMBERED = {"nr", "no", "key", "ref", "nummer", "worker", "employee", "commuter"}  # with nothing beside
_NUMBER = re.compile(r"[<>~=\s]*[+-]?\d[\d.,'\s]*\+?")
_PRIMARY = "keep one line of each person; or unit person, cap and the column of the person (--unit, --cap, --person)"
_EXACT = "person_exact=True (--person-exact)"


def counted(unit: str, rows: int) -> str:
    """Return what rows are called: people where one row is one person, else jobs.

    >>> counted("person", 1), counted("person", 2), counted("job", 1)
    ('people', 'jobs', 'jobs')
    """
    return "people" if unit == "person" and rows == 1 else "jobs"


# -- how many jobs a line stands for -------------------------------------------------------------------------


def count_column(source: Source, given: str | None, places: Sequence[str], others: Collection[str]) -> str | None:
    """Return the column of counts, None where each line is one job; refuse what may hold counts and is not named.

    `others` are columns with a use of their own, and those that are said to hold no counts.
    """
    if given is not None:
        if given not in source.columns:
            raise ReadError(Problem("count", f"no column {given}", "name the column of counts, or omit it"))
        return given
    free = [column for column in source.columns if column not in {*places, *others}]
    likely = {name.casefold(): at for at, name in enumerate(COUNTS)}
    known = sorted((likely[column.casefold()], column) for column in free if column.casefold() in likely)
    chosen = known[0][1] if known else None
    rule = "may be the number of jobs a line stands for"
    rule += ", and each line is counted as one" if chosen is None else f", and so may {chosen}"
    wrong = [
        Problem(column, rule, _not_counts(column))
        for column in free
        if column != chosen and (column.casefold() in likely or _named_like_jobs(column)) and _numbers(source, column)
    ]
    if chosen is None and not wrong and _crossed(source, places):
        rule = "holds whole numbers, and no two lines have the same two places, as in a table of counts"
        wrong = [
            Problem(column, f"{rule}: each line is counted as one", _not_counts(column))
            for column in free
            if not (key_like(column) or code_like(column) or tokens(column) & _TIMES) and _whole(source, column)
        ]
    if wrong:
        raise ReadError(wrong)
    return chosen


def _not_counts(column: str) -> str:
    return f'count="{column}" (--count) where it is; ignore=["{column}"] (--ignore) where it counts no jobs'


def _named_like_jobs(column: str) -> bool:
    return named_like_counts(column, _UNITS | _OF_ONE) and not tokens(column) <= _OF_ONE


def _texts(source: Source, column: str) -> pl.Series:
    return key_texts(source.collect(source.scan([column]))[column]).drop_nulls()


def _numbers(source: Source, column: str) -> bool:
    """Whether a column holds a number, and not 1 alone."""
    known = set(_texts(source, column).unique().to_list())
    return not known <= {"1"} and any(map(_NUMBER.fullmatch, known))


def _whole(source: Source, column: str) -> bool:
    """Whether a column holds whole numbers, some of them several times, as counts do and numbers of lines do not."""
    cells = source.collect(source.scan([column]))
    texts = key_texts(cells[column])
    known = texts.is_not_null()
    lines = int(cells.filter(known)[ROWS].sum()) if ROWS in cells.columns else int(known.sum())
    found = texts.drop_nulls().unique()
    return len(found) < lines and holds_counts(column, found.to_list())


def _crossed(source: Source, columns: Sequence[str]) -> bool:
    """Whether no two of the lines have the same places."""
    frame = source.read(columns)
    lines = int(frame[ROWS].sum()) if ROWS in frame.columns else frame.height
    return lines > 1 and frame.select(places(frame[column]) for column in columns).n_unique() == lines


def jobs_of_lines(frame: pl.DataFrame, many: str | None) -> pl.Series:
    """Return how many jobs each line stands for: its count (null unless a number) times how often it occurs."""
    if many is None:
        jobs = pl.Series([1]).cast(pl.Int64).new_from_index(0, frame.height)
    elif frame[many].dtype.is_integer():
        jobs = frame[many].cast(pl.Int64, strict=False)
    else:  # cell by cell: 2.0 is 2, 2.5 is not a whole number
        jobs = key_texts(frame[many]).cast(pl.Int64, strict=False)
    return jobs * frame[ROWS].cast(pl.Int64) if ROWS in frame.columns else jobs


def rows_of(frame: pl.DataFrame, which: pl.Series) -> int:
    """Return how many rows of the file some lines are: an engine that groups gives equal rows as one line."""
    return int(frame[ROWS].filter(which).sum()) if ROWS in frame.columns else int(which.sum())


def places(column: pl.Series) -> pl.Series:
    """Return the codes of places as texts, cell by cell; blanks alone are not a code."""
    texts = column if column.dtype == pl.String else key_texts(column)
    texts = texts.str.strip_chars()
    return texts.set(texts == "", None)


# -- whose a line is -----------------------------------------------------------------------------------------


def check_cap(keys: pl.Series, where: Ints, jobs: Ints, cap: int, *, exact: bool, rows: Ints | None = None) -> None:
    """Refuse keys that leave open who a line is about, and people with more than `cap` places or two jobs at one.

    `rows` says how many rows of the file each line is (None: 1).
    """
    people = read_people([keys], rows)
    wrong = blank_problem([keys.name], people.blank, people.worded)
    wrong += [] if exact else alike_problem(people.alike, _EXACT) + nines_problem(people.nines, _EXACT)
    if wrong:
        raise ReadError(wrong)
    far, twice = _over(people.ids, where, jobs, cap)
    if far:
        rule = f"{count_of(far, 'person has', 'people have')} more than {count_of(cap, 'destination')}"
        wrong.append(Problem(keys.name, rule, "keep primary jobs, or declare a larger cap", count=far))
    if twice:
        rule = f"{count_of(twice, 'person has', 'people have')} two jobs or more at one destination"
        wrong.append(Problem(keys.name, rule, "keep one of them: no cap covers the others", count=twice))
    if wrong:
        raise ReadError(wrong)


def keys_over_cap(keys: pl.Series, where: Ints, jobs: Ints, cap: int) -> list[Problem]:
    """Return a problem where a column that looks like the key of a person, and is not named, passes the cap."""
    texts = [key_texts(keys)]
    known = texts[0].is_not_null().to_numpy()
    ids = bare_keys(texts)[0].rank("dense").fill_null(0).to_numpy().astype(np.int64)
    far, twice = _over(ids[known], where[known], jobs[known], cap)
    if not far and not twice:
        return []
    reasons = [f"{count_of(far, 'value has', 'values have')} more than {count_of(cap, 'destination')}"] if far else []
    reasons += [f"{count_of(twice, 'value has', 'values have')} two jobs or more at one destination"] if twice else []
    hint = f'person="{keys.name}" (--person) where it is; ignore=["{keys.name}"] (--ignore) where it is not'
    return [Problem(keys.name, f"looks like the key of a person: {' and '.join(reasons)}", hint, count=max(far, twice))]


def _over(ids: Ints, where: Ints, jobs: Ints, cap: int) -> tuple[int, int]:
    """Return how many people have more than `cap` places, and how many two jobs or more at one."""
    frame = pl.DataFrame({"who": ids, "where": where, "jobs": jobs})
    each = frame.group_by("who").agg(pl.col("jobs").sum(), pl.col("where").n_unique().alias("places"))
    return int((each["places"] > cap).sum()), int((each["jobs"] > each["places"]).sum())


def person_like(column: str) -> bool:
    """Whether a column's name suggests the key of a person; those of employers and households are not."""
    words = tokens(column)
    keyed = key_like(column) or (words and words <= _NUMBERED)
    return bool(keyed) and not household_like(column) and not words & _EMPLOYERS


def several_lines(source: Source, columns: Sequence[str], *, unit: str) -> list[Problem]:
    """Return a problem for each column that suggests that lines are days or trips, or that a person has several."""
    protected = "one is protected" if unit == "job" else "no more than the cap is protected"
    found = []
    for column in columns:
        if tokens(column) & _TIMES:
            rule = f"suggests a line for each day or trip: of somebody who goes the same way often, {protected}"
            found.append(Problem(column, rule, _PRIMARY))
        elif unit == "job" and person_like(column):
            cells = source.collect(source.scan([column]))
            texts = [key_texts(cells[column])]
            known = texts[0].is_not_null()
            lines = int(cells.filter(known)[ROWS].sum()) if ROWS in cells.columns else int(known.sum())
            if bare_keys(texts)[0].drop_nulls().n_unique() < lines:
                rule = "looks like the key of a person and repeats: of somebody with several lines, one is protected"
                found.append(Problem(column, rule, _PRIMARY))
    return found


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
    refuse_guesses([file.form for file in source.files], [*wanted, *keys])
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
        many_rows = frame[ROWS].cast(pl.Int64).gather(stand[0]).to_numpy() if ROWS in frame.columns else None
        check_cap(frame[person].gather(stand[0]), stand[1], stand[2], rows, exact=person_exact, rows=many_rows)
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
    if bad := rows_of(frame, (jobs.is_null() | (jobs < 0)).fill_null(value=True)):
        raise ReadError(Problem(many or "count", "must hold whole numbers of 0 or above", "check the column", rows=bad))
    total = float(jobs.cast(pl.Float64).sum())
    if total > FLOWS:
        rule = f"counts {total:.4g} jobs, more than {FLOWS:,}"
        raise ReadError(Problem(many or "count", rule, "publish parts of the geography one by one"))
    grouped = pl.DataFrame({"to": places(frame[to]), "home": places(frame[home]), "jobs": jobs})
    if empty := rows_of(frame, grouped["to"].is_null() | grouped["home"].is_null()):
        hint = f"write {ELSEWHERE}, or omit the line"
        raise ReadError(Problem(f"{to}, {home}", "must not be empty", hint, rows=empty))
    return grouped.group_by("to", "home").agg(pl.col("jobs").sum()).filter(pl.col("jobs") > 0)


def _refuse(name: str, wrong: NDArray[np.bool_], jobs: pl.Series, hint: str) -> None:
    if wrong.any():
        pairs, many = int(wrong.sum()), int(jobs.to_numpy()[wrong].sum())
        rule = f"has {count_of(pairs, 'pair')}, of {count_of(many, 'job')}, whose code is not in the geography"
        raise ReadError(Problem(name, rule, hint, count=pairs))
