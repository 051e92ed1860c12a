"""A first schema from a file: roles, kinds, ranges and hierarchies proposed, every open decision named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

from sfumato.counts.draft_columns import ColumnFacts, column_facts
from sfumato.counts.draft_roles import proposals
from sfumato.counts.draft_table import Repeated, TableFacts, table_facts
from sfumato.counts.draft_toml import toml_text
from sfumato.counts.people import household_like, key_like
from sfumato.counts.refusal import refused
from sfumato.counts.source import Source, open_source
from sfumato.counts.stray_rows import header_problems
from sfumato.errors import ReadError, count_of
from sfumato.schema.counting import holds_counts, named_like_counts

__all__ = ["draft"]

_COLUMNS = 50_000  # docs/limits.md
_ROWS_EACH = 10  # an identifier with more rows a value is rather that of a clinic than of a person


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
    """
    source = open_source(data, delimiter=delimiter, encoding=encoding, header=header, sheet=sheet)
    if not source.columns:
        raise refused(source.name, "has no columns", "give a table with at least one column")
    if len(source.columns) > _COLUMNS:
        rule = f"has {len(source.columns)} columns, and a draft describes at most {_COLUMNS}"
        raise refused(source.name, rule, "select the columns that may be published, or write the schema by hand")
    again = header_problems(source)
    if again:
        raise ReadError(again)
    facts = column_facts(source)
    seen = table_facts(source, facts)
    likely = [one for one in _of_a_person(facts, seen) if one.name.strip()]
    person = max(likely, key=lambda one: (key_like(one.name), one.values)).name if likely else ""
    counting = [one.name for one in facts if named_like_counts(one.name) and _whole(one)]
    named = [proposal for proposal in proposals(facts, seen) if proposal.name.strip()]
    if not named:
        raise refused(
            source.name, "has no column with a name", "give each column a name, or header=False (--no-header)"
        )
    read_as = _read_as(source, unnamed=len(facts) - len(named))
    return toml_text(name or _name(data), named, seen, read_as=read_as, person=person, counting=counting)


def _whole(column: ColumnFacts) -> bool:
    """Whether a column holds whole numbers that may count people."""
    if column.texts is None:
        return column.numbers is not None and column.whole
    return holds_counts(column.name, column.texts)


def _of_a_person(facts: Sequence[ColumnFacts], seen: TableFacts) -> list[Repeated]:
    """Return the identifiers that seem to say whom a row is about: those with a few rows for each of their values.

    Of several, one that is named like a key is taken before one that is not: people share names.
    """
    filled = {column.name: column.rows - column.nulls for column in facts}
    likely = [one for one in seen.repeated if filled[one.name] < _ROWS_EACH * one.values]
    return [one for one in likely if not household_like(one.name)]


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
