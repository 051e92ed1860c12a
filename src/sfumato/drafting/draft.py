"""A first schema from a file: roles, kinds, ranges and hierarchies proposed, every open decision named."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.counts.mixed_keys import parting_columns
from sfumato.counts.stray_rows import MERGED, header_problems
from sfumato.counts.suspected_keys import SAME_PERSON, UNLIKE, shares_alike
from sfumato.drafting.columns import ColumnFacts, cell_text, column_facts
from sfumato.drafting.infer_formats import Spelling
from sfumato.drafting.roles import Proposal, may_be_key, proposals, proposed
from sfumato.drafting.table import Repeated, TableFacts, repeated_columns, table_facts
from sfumato.drafting.units import (
    WHO,
    ask_counts,
    ask_households,
    ask_kept,
    ask_key,
    ask_two_people,
    ask_visits,
    repeat_like_keys,
)
from sfumato.errors import ParameterError, ReadError, count_of
from sfumato.io.excel import filled_sheets
from sfumato.io.read_errors import refused
from sfumato.io.source import Source, empty_problems, guarded, open_source
from sfumato.limits import DRIVER_CELLS
from sfumato.schema import Role
from sfumato.schema.domain import decimal_text
from sfumato.schema.key_names import (
    contact_like,
    household_like,
    key_like,
    people_like,
    record_like,
    visit_like,
)
from sfumato.schema.word_hints import NO_VALUE, holds_counts, may_name_counts, named_like_counts, suggested, two_people
from sfumato.visible import visible

# Write proposals as the TOML of a schema file: questions stand in `decide` alone, comments say what a key means.

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_FROM_DATA = {"range", "values", "hierarchy", "groups", "intervals", "edges"}
_WIDTH, _COMMENT = 100, 110
_ROWS = (
    "# rows = 1000  # about how many rows there are, if that is publicly known (one digit, then zeros): never the\n"
    "# number counted here. Differentially private tables that would be mostly noise are refused by it"
)


def toml_text(
    name: str,
    proposals: Sequence[Proposal],
    seen: TableFacts,
    *,
    read_as: str = "",
    person: str = "",
    counting: Sequence[str] = (),
    repeating: Sequence[Repeated] = (),
) -> str:
    """Return the whole file.

    `read_as` says how the data was read, `person` names the column of a person's key, `counting` those that may say how
    many people a row stands for, `repeating` other columns that repeat as a key of people does.
    """
    head = (
        "# Drafted from a data file. It lists values of the data: keep it as confidential as the data.\n"
        + (f"# Read as {visible(read_as)}.\n" if read_as else "")
        + "# Go through every `decide`: change what is wrong, and delete each question that is answered. Roles were\n"
        "# guessed from column names (English, German, French, Spanish, Italian, Dutch); publish refuses a column\n"
        "# whose role is still a question.\n"
        "# All keys: sfumato explain schema\n"
        '# role = "quasi": an outsider could know it, so it is made coarser. "sensitive": published, but not linked\n'
        '# to one person. "target": what a learner should still tell. "identifier" and "other": never published.\n'
        '# source = "data" marks what was read off the file: fine for k, l and t. Differentially private methods\n'
        '# refuse it until a person has put in publicly known bounds or values and written source = "public".'
    )
    asked = _of_the_table(name, seen, person, _other_units(proposals), counting, repeating)
    parts = [
        head,
        f"name = {_quoted(name)}",
        f"population = {_quoted(name)}  # the ledger adds up what is published about it",
        *_who(person),
        _ROWS,
        f"decide = {_questions((*asked, *_two_people(proposals)))}",
    ]
    return "\n".join(parts) + "\n" + "".join(_table(proposal) for proposal in proposals)


def _who(person: str) -> tuple[str, ...]:
    """Propose who a row is about; never that each row is a person, which nothing in a file can show."""
    if not person:
        return ("# rows_per_person = 1  # says that each row is a different person; without it promises speak of rows",)
    return (
        f"person = {_quoted(person)}  # who a row is about: promises count its values",
        "# rows_per_person = 1  # keeps at most that many rows of each person; differentially private methods need it",
    )


def _other_units(proposals: Sequence[Proposal]) -> list[str]:
    """Return what to ask of identifiers that are named like households or visits."""
    names = [one.name for one in proposals if one.role == "identifier"]
    homes = [ask_households(name) for name in names if household_like(name)]
    return [*homes, *(ask_visits(name) for name in names if visit_like(name) and not household_like(name))]


def _two_people(proposals: Sequence[Proposal]) -> list[str]:
    """Return what to ask where columns are named as if a row described two people."""
    return [ask_two_people(one, other) for one, other in two_people([one.name for one in proposals])[:1]]


def _of_the_table(
    name: str,
    seen: TableFacts,
    person: str,
    units: Sequence[str],
    counting: Sequence[str],
    repeating: Sequence[Repeated],
) -> tuple[str, ...]:
    known = next((one for one in seen.repeated if one.name == person), None)
    repeats = f" {person} repeats: {count_of(known.values, 'value')}, up to {known.most} rows each" if known else ""
    dated = "; the proposed one has a number: leave out what differs from file to file, such as a date"
    numbered = dated if any(map(str.isdigit, name)) else ""
    asked = [
        f"population: who are the rows about? every table about the same people needs the same name{numbered}",
    ]
    if not person:
        asked += [WHO + repeat_like_keys(repeating), *units, *map(ask_counts, counting)]
    else:
        asked += [ask_kept(repeats), ask_key(person) + repeat_like_keys(repeating, beside=person)]
        if not people_like(person):
            asked += [ask_visits(one.name) for one in repeating if visit_like(one.name)]
    if seen.copies:
        copies = count_of(seen.copies, "row is a copy", "rows are copies")
        asked.append(f"duplicates: {copies} of an earlier row in every column; is somebody counted twice?")
    if seen.stray is not None:
        asked.append(
            f"totals: {seen.stray}; delete the lines that are not about a person from the file, and draft again"
        )
    asked += [f"hidden: {problem.rule}; {problem.hint}" for problem in seen.hidden]
    asked += [
        f"merged: {' '.join(name.split())} {MERGED}; fill its cells down in the spreadsheet, and draft again"
        for name in seen.merged
    ]
    return tuple(asked)


def _table(proposal: Proposal) -> str:
    lines = ["", f"[attribute.{_key(proposal.name)}]"]
    for text in proposal.why:
        lines += [f"# {line}" for line in textwrap.wrap(visible(text), _COMMENT)]
    if proposal.decide:
        lines.append(f"decide = {_questions(proposal.decide)}")
    lines.append(f'role = "{proposal.role}"')
    if proposal.lines:
        lines.append(f'kind = "{proposal.kind}"')
    for key, value, comment in proposal.lines:
        text, said = _value(value), visible(comment)
        lines += [f"# {key}: {said}", f"{key} = {text}"] if "\n" in text else [f"{key} = {text}  # {said}"]
    if any(key in _FROM_DATA for key, _, _ in proposal.lines):
        lines.append('source = "data"')
    return "\n".join(lines) + "\n"


def _questions(items: Sequence[str]) -> str:
    """One question to a line, so that an answered one is deleted with its line."""
    if len(items) == 1 and len(items[0]) <= _WIDTH:
        return f"[{_quoted(items[0])}]"
    return "[\n" + "".join(f"  {_quoted(item)},\n" for item in items) + "]"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    """Return a TOML string; characters that cannot be seen stand there as escapes, for whoever reviews the file."""
    whole = text.encode("utf-8", "replace").decode()  # half a character, as in a file name that is not UTF-8
    return visible(json.dumps(whole, ensure_ascii=False))


def _value(value: Any) -> str:
    if isinstance(value, Decimal):
        text = decimal_text(value)
        # Decimals stand as text, so that 0.1 is a tenth to every reader of the file.
        return text if "." not in text else f'"{text}"'
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return _array([_value(item) for item in value])
    return _quoted(str(value))


def _array(items: list[str]) -> str:
    flat = f"[{', '.join(items)}]"
    if len(flat) <= _WIDTH:
        return flat
    rows, row = [], ""
    for item in items:
        if row and len(row) + len(item) > _WIDTH:
            rows.append(row)
            row = ""
        row += f"{item}, "
    return "[\n" + "".join(f"  {row.rstrip()}\n" for row in [*rows, row]) + "]"


_COLUMNS = 50_000  # docs/files-and-sizes.md
_CLOSE = 0.2  # shares of rows that are alike are distinguished from this difference on
_BLANK = 0.1  # a column in which more rows than that have no value does not say whom each row is about
_NUMBERING = 0.9  # the share of different numbers from which they number rows
_ROWS_EACH = 10  # an identifier with more rows a value is rather that of a clinic than of a person
_NESTS = 1.02  # pairs of a finer and a coarser key for each finer one, slips included, up to which it has one coarser
_KEYS_TRIED = 5


@dataclass(frozen=True, slots=True)
class Look:
    """What a file shows: its columns one by one and together, and what is proposed for each. Confidential."""

    name: str
    _: KW_ONLY
    source: Source = field(repr=False)
    facts: tuple[ColumnFacts, ...] = field(repr=False)
    seen: TableFacts = field(repr=False)
    proposals: tuple[Proposal, ...] = field(repr=False)
    person: str = ""
    counting: tuple[str, ...] = ()
    repeating: tuple[Repeated, ...] = field(default=(), repr=False)  # what else may say who a row is about

    @property
    def read_as(self) -> str:
        """How a text file was understood, so that a wrong guess is seen before anything rests on it."""
        return _read_as(self.source, unnamed=len(self.facts) - len(self.proposals))

    def schema_text(self) -> str:
        """Return the drafted schema."""
        given = {"person": self.person, "counting": self.counting, "repeating": self.repeating}
        return toml_text(self.name, self.proposals, self.seen, read_as=self.read_as, **given)  # type: ignore[arg-type]

    def attribute_text(self, name: str, role: Role) -> str:
        """Return the table of one column as it would be drafted in another role."""
        facts = next((one for one in self.facts if one.name == name), None)
        if facts is None:
            raise ParameterError("attribute", name, "is not a column of the file")
        return _table(proposed(facts, role))


def look_at(
    data: Any,
    *,
    name: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | Sequence[str] | None = None,
    sheet: str | None = None,
    written: Mapping[str, Spelling] | None = None,
) -> Look:
    """Open a file or frame and gather what a draft rests on.

    written     how some columns write their days and numbers, where a person has said it.
    """
    source = open_source(data, delimiter=delimiter, encoding=encoding, header=header, sheet=sheet)
    if not source.columns:
        raise refused(source.name, "has no columns", "give a table with at least one column")
    if len(source.columns) > _COLUMNS:
        rule = f"has {len(source.columns)} columns, and a draft describes at most {_COLUMNS}"
        raise refused(source.name, rule, "select the columns that may be published, or write the schema by hand")
    nobody = header_problems(source) + empty_problems(source, DRIVER_CELLS)
    if nobody:
        raise ReadError(nobody)
    facts = column_facts(source, written)
    seen = table_facts(source, facts)
    apart = parting_columns(source, [one.name for one in seen.repeated], formats=_formats(facts))
    seen = replace(seen, repeated=tuple(replace(one, apart=apart.get(one.name, ())) for one in seen.repeated))
    counting = [one.name for one in facts if _named_like_counts(one) and _whole(one)]
    named = [proposal for proposal in proposals(facts, seen) if proposal.name.strip()]
    person = _person(source, facts, seen, [proposal.name for proposal in named if proposal.role == "quasi"])
    if any(one.name == person and one.role in ("sensitive", "target") for one in named):
        named = [proposal for proposal in proposals(facts, seen, key=person) if proposal.name.strip()]
    also = [one for one in seen.repeated if key_like(one.name) or visit_like(one.name) or _few_each(one, facts)]
    also += _unlisted_keys(source, facts, {one.name for one in named if one.role == "other" and not one.lines})
    if not named:
        raise refused(
            source.name, "has no column with a name", "give each column a name, or header=False (--no-header)"
        )
    return Look(
        name or _name(data),
        source=source,
        facts=tuple(facts),
        seen=seen,
        proposals=tuple(named),
        person=person,
        counting=tuple(counting),
        repeating=tuple(one for one in also if one.name != person and one.name.strip()),
    )


def sheets_of(path: str | PathLike[str]) -> list[str]:
    """Return the names of the sheets of a workbook that hold values."""
    book = Path(path)
    return list(guarded(book.name, lambda: filled_sheets(book)))


def draft(
    data: Any,
    *,
    name: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | Sequence[str] | None = None,
    sheet: str | None = None,
) -> str:
    """Return a commented TOML schema for a file or frame. It holds values of the data: it is confidential.

    It loads, and reads the same file without error; a column without a name is omitted, and a comment says so.
    What a person must decide stands in `decide`; what was read off the data is marked `source = "data"`, which
    differentially private methods refuse.

    >>> import polars as pl
    >>> text = sf.draft(pl.DataFrame({"age": [31, 45, 52], "illness": ["flu", "flu", "cold"]}), name="patients")
    >>> "[attribute.age]" in text
    True
    """
    return look_at(data, name=name, header=header, delimiter=delimiter, encoding=encoding, sheet=sheet).schema_text()


def _formats(facts: Sequence[ColumnFacts]) -> dict[str, str]:
    """Return how the columns of days write them, those in ISO aside."""
    return {one.name: one.spelling.format for one in facts if one.days and one.spelling.format}


def _named_like_counts(column: ColumnFacts) -> bool:
    """Whether a column's name may mean numbers of people; numbers that hardly repeat are rather those of rows."""
    return named_like_counts(column.name) or (may_name_counts(column.name) and column.uniqueness < _NUMBERING)


def _whole(column: ColumnFacts) -> bool:
    """Whether a column holds whole numbers that may count people."""
    if column.texts is None:
        return column.numbers is not None and column.whole
    return holds_counts(column.name, column.texts)


def _unlisted_keys(source: Source, facts: Sequence[ColumnFacts], unlisted: set[str]) -> list[Repeated]:
    """Return columns with too many values to list that repeat like a key, a few rows for each value."""
    known = [one for one in facts if one.name in unlisted and may_be_key(one)]
    return repeated_columns(source, [one for one in known if one.rows - one.nulls < _ROWS_EACH * one.distinct])


def _person(source: Source, facts: Sequence[ColumnFacts], seen: TableFacts, quasi: Sequence[str]) -> str:
    """Return the identifier that says whom a row is about, nothing where none seems to.

    Of several that repeat, those whose rows are most alike in the quasi-identifiers; of these one that is named like a
    key of people, else like a key, since people share names. A key of visits is none, and a key of records only where
    no other is: a person has several, and their rows are more alike than those of the person. Of keys that are named
    alike the one to which each value of the others belongs. Where it is not clear, nothing is proposed.

    Where an identifier has another value in each row, the rows may be one a person: one that repeats is then a person's
    only if its rows are alike, and a telephone or an e-mail address, which families share, only if they are nearly
    always.
    """
    likely = [one for one in _of_a_person(facts, seen) if one.name.strip()]
    if not likely:
        return ""
    alike = shares_alike(source, quasi, [one.name for one in likely], formats=_formats(facts))
    once = [c.name for c in facts if "identifier" in suggested(c.name) and c.distinct == c.rows > 1 and not c.nulls]
    if once:
        likely = [
            one
            for one in likely
            if alike.get(one.name, 0.0 if contact_like(one.name) else 1.0)
            >= (SAME_PERSON if contact_like(one.name) else UNLIKE)
        ]
    best = max((alike.get(one.name, 0.0) for one in likely), default=0.0)
    close = [
        one for one in likely if alike.get(one.name, 0.0) >= best - (1 - UNLIKE if people_like(one.name) else _CLOSE)
    ]
    rank = max((_named_as(one.name) for one in close), default=0)
    left_out = any(people_like(one.name) for one in seen.repeated if one not in close)
    if not rank or (rank == _RECORD and left_out):  # a key of records beside one of people that does not seem to be it
        return ""
    tied = sorted((one for one in close if _named_as(one.name) == rank), key=lambda one: -one.values)
    if rank == _OTHER or len(tied) == 1:
        return tied[0].name
    return _coarsest(source, tied[:_KEYS_TRIED])


_VISIT, _OTHER, _RECORD, _KEY, _PEOPLE = range(5)


def _named_as(name: str) -> int:
    """Return how well the name of an identifier suits a key of people; a visit is never one."""
    if visit_like(name):
        return _VISIT
    if people_like(name):
        return _PEOPLE
    if key_like(name):
        return _RECORD if record_like(name) else _KEY
    return _OTHER


def _coarsest(source: Source, keys: Sequence[Repeated]) -> str:
    """Return the key of which every value of each other has one, nothing where none is such; finest first."""
    for one in reversed(keys):
        if all(_nests(source, other, one) for other in keys if other is not one):
            same = [
                other for other in keys if other is one or _nests(source, one, other)
            ]  # two keys of the same people
            return same[0].name
    return ""


def _nests(source: Source, finer: Repeated, coarser: Repeated) -> bool:
    """Whether nearly every value of a key has one of another."""
    frame = source.scan([finer.name, coarser.name])
    types = source.types(frame)
    keys = frame.select(cell_text(name, types[name]).alias(name) for name in (finer.name, coarser.name))
    known = keys.drop_nulls().filter(~pl.any_horizontal(pl.all().is_in(["", *NO_VALUE])))
    return int(source.collect(known.unique().select(pl.len())).item()) <= _NESTS * finer.values


def _of_a_person(facts: Sequence[ColumnFacts], seen: TableFacts) -> list[Repeated]:
    """Return the identifiers that seem to say whom a row is about.

    They have a few rows for each of their values, and nearly every row has one: what hardly any row has names somebody
    else, such as who reported it. Rows of one value are not of several dates of birth or sexes, as those of a family
    or a common name are.
    """
    unfit = {column.name for column in facts if column.lost_digits or column.blank > _BLANK * column.rows}
    likely = [one for one in seen.repeated if _few_each(one, facts) and not one.apart and one.name not in unfit]
    return [one for one in likely if not household_like(one.name)]


def _few_each(one: Repeated, facts: Sequence[ColumnFacts]) -> bool:
    """Whether an identifier has few rows a value: its table is refused until somebody says whom it identifies."""
    return any(column.rows - column.blank < _ROWS_EACH * one.values for column in facts if column.name == one.name)


def _read_as(source: Source, *, unnamed: int) -> str:
    """Say how a text file was understood, so that a wrong guess is seen before anything rests on it."""
    omitted = f"; {count_of(unnamed, 'column')} without a name omitted" if unnamed else ""
    if not source.files:
        return f"a table{omitted}" if omitted else ""
    form = source.files[0].form
    mark = {"\t": "tab"}.get(form.delimiter, form.delimiter)
    first = "names the columns" if form.header else "is data"
    columns = count_of(len(form.names), "column")
    return f"{form.encoding} text cut at {mark!r} into {columns}; the first line {first}{omitted}"


def _name(data: Any) -> str:
    if not isinstance(data, str | PathLike):
        return "table"
    stem = re.split(r"[\\/]", str(fspath(data)))[-1].partition(".")[0]
    return re.sub(r"[^\w-]+", "-", stem).strip("-") or "table"
