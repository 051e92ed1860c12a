"""The shape of a schema file, checked by pydantic, reported in our own words: every problem at once.

A value is what TOML says it is: `true` is not a number, `1.0` and `"1"` are not whole numbers, `"yes"` is not true.
"""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, ValidationError

from sfumato.errors import Problem
from sfumato.schema.attribute import Kind, Role

_MOST_DECLARED_ROWS = 10**15
_Number = StrictInt | StrictFloat | str


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class MaskFile(_Strict):
    """`mask = { length = 5, from = "right" }`."""

    length: StrictInt = Field(ge=1, le=64)
    side: Literal["right", "left"] = Field(default="right", alias="from")
    alphabet: str = Field(default="0123456789", min_length=1)


class MissingFile(_Strict):
    """`missing = { values = ["?"], action = "suppress" }`."""

    values: list[str] = Field(default_factory=list)
    action: Literal["category", "suppress"] = "category"


class AttributeFile(_Strict):
    """One `[attribute.NAME]` table."""

    role: Role = "other"
    kind: Kind = "nominal"
    column: str | None = None
    range: tuple[_Number | dt.date, _Number | dt.date] | None = None
    step: _Number | None = None
    edges: list[_Number] | None = None
    values: list[str | int | float | bool | dt.date] | str | None = None
    hierarchy: str | dict[str, Any] | None = None
    intervals: list[_Number] | None = None
    mask: MaskFile | None = None
    dates: list[Literal["week", "month", "quarter", "year", "decade"]] | None = None
    groups: dict[str, list[str | int | float | bool]] | None = None
    same: dict[str, list[str | int | float | bool | dt.date]] | None = None
    missing: list[str] | Literal["suppress", "category"] | MissingFile | None = None
    source: Literal["public", "data"] | None = None
    format: str | None = None
    decimal: Literal[",", "."] | None = None
    thousands: Literal[".", ",", "'", " "] | None = None
    units: list[str] | None = None
    clamp: StrictBool = False
    other: str | None = None
    ground: Literal["equal", "hierarchical"] = "equal"
    decide: list[str] = Field(default_factory=list)


class SchemaFile(_Strict):
    """The whole file."""

    name: str = Field(min_length=1)
    population: str | None = None
    person: str | list[str] | None = None
    person_exact: StrictBool = False
    copies_are_people: StrictBool = False
    rows_per_person: StrictInt | None = Field(default=None, ge=1)
    not_person: list[str] = Field(default_factory=list)
    not_count: list[str] = Field(default_factory=list)
    rows: StrictInt | None = Field(default=None, ge=1, le=_MOST_DECLARED_ROWS)
    source: Literal["public", "data"] | None = None
    decide: list[str] = Field(default_factory=list)
    attribute: dict[str, AttributeFile] = Field(min_length=1)


_HINTS = {
    "role": "one of identifier, quasi, sensitive, target, other",
    "kind": "one of numeric, ordered, nominal, date",
    "source": 'one of "public", "data"',
    "range": "range = [low, high), two numbers or two dates",
    "mask": 'mask = { length = 5, from = "right" }',
    "same": 'same = { m = ["M", "male"] }, the spellings of each value in a list',
    "missing": 'missing = ["?", ""] or missing = "suppress"',
    "name": 'name = "my-table"',
    "attribute": "describe at least one column: [attribute.age]",
    "person": 'person = "MRN", or person = ["clinic", "patient_no"]',
    "person_exact": "person_exact = true, where keys that differ only in how they are written are different people",
    "copies_are_people": "copies_are_people = true, where rows that are equal in every column are different people",
    "rows_per_person": "a whole number, at least 1",
    "not_person": 'not_person = ["clinic_id"], columns that identify something other than people',
    "not_count": 'not_count = ["n"], columns that do not say how many people a row stands for',
    "rows": "about how many rows the table has, as publicly known: rows = 1000",
    "dates": 'dates = ["month", "year"]',
    "edges": "edges = [0, 1, 10, 100], rising",
    "intervals": "intervals = [5, 10, 20]",
    "step": 'step = 1, a decimal as text, or for dates "month", "quarter", "year" or "decade"',
    "values": 'values = ["low", "mid", "high"] or values = "file.csv"',
    "hierarchy": 'hierarchy = "file.csv", or a table: hierarchy = { group = ["a", "b"] }',
    "groups": 'groups = { group = ["a", "b"] }',
    "column": 'column = "name of the column in the file"',
    "clamp": "clamp = true",
    "format": 'format = "%d.%m.%Y"',
    "decimal": 'decimal = ","',
    "thousands": """thousands = "," or ".", " ", "'" """.strip(),
    "units": 'units = ["$", "EUR"], the signs beside a number in a list',
    "other": 'other = "Other"',
    "ground": 'one of "equal", "hierarchical"',
    "decide": "a list of texts",
    "population": 'population = "adult-1994"',
}


def parse_toml(text: str, where: str) -> tuple[dict[str, Any], list[Problem]]:
    """Return the raw mapping, or why the text is not TOML."""
    try:
        return tomllib.loads(text), []
    except ValueError as error:  # also raised for a number of more than 4,300 digits
        place = str(error).rpartition("(")[2].rstrip(")") if isinstance(error, tomllib.TOMLDecodeError) else "a number"
        return {}, [
            Problem(
                where,
                f"is not TOML ({place})",
                'a schema starts with name = "..." and has [attribute.NAME] tables'
                + ("" if where.lower().endswith(".toml") else "; the data file comes first, the schema second"),
            )
        ]
    except RecursionError:
        return {}, [Problem(where, "is nested too deep", "a schema has [attribute.NAME] tables only")]


def read_file(data: Any) -> tuple[SchemaFile | None, dict[str, AttributeFile], list[Problem]]:
    """Check the shape of a schema; return the file (or None), the attributes of a right shape, all problems."""
    if not isinstance(data, Mapping):
        rule = f"must be a mapping like that of a TOML file, not {type(data).__name__}"
        return None, {}, [Problem("schema", rule, "tomllib.loads reads a text, Schema.load a file")]
    try:
        file = SchemaFile.model_validate(data)
    except ValidationError as error:
        found: dict[str, Problem] = {}
        for item in error.errors(include_url=False, include_input=False, include_context=False):
            problem = _worded(item)
            found.setdefault(problem.path, problem)
        return None, _sound(data.get("attribute")), list(found.values())
    return file, file.attribute, []


def _sound(tables: Any) -> dict[str, AttributeFile]:
    """Return the attributes whose own shape is right, so that their further problems can be named as well."""
    found = {}
    for name, table in tables.items() if isinstance(tables, Mapping) else ():
        try:
            found[str(name)] = AttributeFile.model_validate(table)
        except ValidationError:
            continue
    return found


def _worded(item: Any) -> Problem:
    """Say a pydantic error in our words; union branches collapse to the field they belong to."""
    steps = [str(step) or '""' for step in item["loc"] if step != MissingFile.__name__]  # TOML has empty keys
    depth = 3 if steps[:1] == ["attribute"] else 1
    path, name = ".".join(steps[:depth]), steps[min(depth, len(steps)) - 1]
    kind = item["type"]
    if kind == "extra_forbidden":
        name = steps[-1]
        close = _closest(name, AttributeFile if steps[:1] == ["attribute"] else SchemaFile)
        return Problem(
            ".".join(steps),
            "is not a known key",
            f"did you mean {close}" if close else "`sfumato explain schema` lists the keys",
        )
    if kind == "missing" and len(steps) <= depth:
        return Problem(path, "is missing", _HINTS.get(name, "add it"))
    return Problem(path, "has a value of the wrong form", _HINTS.get(name, "`sfumato explain schema` lists the keys"))


def _closest(name: str, table: type[BaseModel]) -> str:
    """Return the key of the same table that is spelled most like a name, nothing if none is."""
    import difflib

    return next(iter(difflib.get_close_matches(name, sorted(table.model_fields), n=1)), "")


# Every key of a schema file in plain words; `sfumato explain schema` prints it.

REFERENCE = """\
schema: a TOML file that says what each column of a table is. `sfumato draft data.csv -o s.toml` proposes one.

For the whole table
  name = "members"             what the table is called
  population = "members-2024"  who the rows are about; the ledger adds up what is published of them
  person = "MRN"               the column that says who a row is about, or several: ["clinic", "patient_no"]. It is
                               read and never published; k, l and t then count distinct people
  person_exact = true          keys that differ only in case, blanks, punctuation or leading zeros ("q7", "Q-007")
                               are different people, and so are keys that share a part; without it such keys are refused
  copies_are_people = true     rows that are equal in every column of the file, or that agree in a day or in the
                               quasi-identifiers as the rows of one person do, are different people. Without it, and
                               without `person`, a table with many copies is refused: more than 5 % of the rows
                               and 100 times as many as chance explains if each column depends on one other at most
                               (ten times where a quarter are copies and the file has six columns or fewer)
  rows_per_person = 1          at most how many rows one person has. With `person` it is enforced: no more than that
                               are kept, chosen by a fixed rule that reads that person's rows alone.
                               Without `person` it is taken on trust. Until it is written, claims speak of rows
  not_person = ["clinic_id"]   columns that repeat and identify something other than people. Of a quasi-identifier or a
                               day it says nothing: see copies_are_people
  not_count = ["n"]            columns named like a number of people (n, count, Anzahl, weight) that are not how many
                               people a row stands for. Whether they identify somebody is still asked
  rows = 1000                  about how many rows there are, where that is publicly known (one digit, then zeros):
                               differentially private tables that would be mostly noise are refused by it
  source = "public"            for every column that does not say otherwise; see below
  decide = ["..."]             questions about the whole table that a person has yet to answer, each as "key: question".
                               While one is about `person` and a key is named, publish refuses (unless --undecided).
                               One that names no known key may be about any: it is taken to be about `person`,
                               and in a column about its role

For each column: [attribute.NAME]
  role     "quasi"       an outsider could know it of a person: it is made coarser
           "sensitive"   published, but not linked to one person
           "target"      what a learner should still be able to tell: not made coarser, no requirement protects it
           "identifier"  points to one person: never published
           "other"       not published (the default)
  kind     "nominal" (the default), "ordered", "numeric" or "date"
  column = "Alter"             name of the column in the file, where it is not NAME
  source = "public"            which values there may be is publicly known; "data": they were read off the file.
                               Differentially private methods refuse a column that does not say "public"
  decide = ["..."]             questions a person has yet to answer; delete each when it is decided. Until then
                               publish warns, refuses a column whose role is the question (unless --undecided), and
                               differentially private methods refuse the column whatever is asked

Which values there may be (one of these)
  range = [0, 100]             numeric: from 0 up to but not including 100; date: ["2004-01-01", "2025-01-01"],
                               the day after the last
  step = 1                     width of a cell of the range; "0.5" for a half; for dates whole days, or
                               "month", "quarter", "year", "decade". Where the range is no whole number
                               of steps, the last cell reaches past its end
  edges = [0, 1, 10, 100]      numeric: cells of unequal width
  values = ["d", "m", "w"]     nominal or ordered, in their order; or values = "file.csv", one to a line

How values are made coarser (at most one; else a range is halved again and again, a value kept or replaced by *)
  intervals = [5, 10, 20]      numeric: widths, each a multiple of the one before
  dates = ["month", "year"]    date: of week, month, quarter, year, decade
                               Intervals and dates are the levels that topdown, diffgen and the measures use. Mondrian
                               cuts dates between units of the lowest level (here months), numbers at any step; a
                               date without levels at any day, which may be somebody's own
  groups = { work = ["office", "craft"], learn = ["school"] }
                               named groups; they list the values too, so that `values` is not needed. Where both
                               stand they must hold the same values (ordered: in the same order). hierarchy likewise
  mask = { length = 5, from = "right" }
                               codes such as postcodes: the last digits are hidden first, 50***. Any code of that length
                               fits, unless `values` lists those there are. alphabet = "0123456789" unless given
  hierarchy = "file.csv"       one line for each value: value;group;wider group;*   (ARX's files as they are),
                               or a table in a table: { work = { indoors = ["office"] } }

How the file writes them, where it is not 2024-05-31 and 1234.5
  format = "%d.%m.%Y"          date: 31.12.2024; "%m/%d/%Y" for 12/31/2024. %d, %m and %Y once each, no other %.
                               "%m/%Y" for months such as 03/1994, with step = "month"
  decimal = ","                numeric: 3,5 is three and a half
  thousands = "."              numeric: 1.234 is 1234, with a decimal comma; or ",", "'" or a blank. Cells without the
                               mark are read too. Every cell is read by this declaration, whatever the others look like
  units = ["$", "EUR"]         numeric: may stand before or after a number: $64,300 is 64300
  same = { m = ["M", "Mann"], w = ["W", "Frau"] }
                               listed values: other spellings, each read as the value before the =. Only that value
                               stands in `values`, groups or hierarchy, and in the release

What does not fit
  missing = ["", "k.A."]       texts that mean no value: a category of its own
  missing = "suppress"         rows with an empty cell are left out
  missing = { values = ["k.A."], action = "suppress" }
                               rows with these texts are left out
                               Days and numbers among them are written as in the file ("99,9", "01.01.1900") and stand
                               for that day or number however it is written: 99,90, or 99.9 in a typed column
  clamp = true                 numeric, date: what lies outside the range is moved to its ends
  other = "Other"              listed values: collects whatever is not listed

How far values are apart, for t-closeness with --distance emd
  ground = "equal"             or "hierarchical": nearer where they meet lower in the hierarchy

Elsewhere in the schema write 1234.5 and 2024-05-31. Check a file against its schema: sfumato check data.csv s.toml"""
