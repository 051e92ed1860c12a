"""A first schema from a file: roles, kinds, ranges and hierarchies proposed, every open decision named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

from sfumato.counts.draft_columns import ColumnFacts, column_facts
from sfumato.counts.draft_roles import proposals
from sfumato.counts.draft_toml import toml_text
from sfumato.counts.draft_words import suggested
from sfumato.counts.refusal import refused
from sfumato.counts.source import Source, open_source
from sfumato.errors import ReadError, count_of

__all__ = ["draft"]

_ROWS_EACH = 10  # an identifier with more rows a value is rather that of a clinic than of a person


def draft(
    data: Any,
    *,
    name: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | Sequence[str] | None = None,
) -> str:
    """Return a commented TOML schema for a file or frame. It holds values of the data: it is confidential.

    It loads, and reads the same file without error. What a person must decide stands in `decide`;
    what was read off the data is marked `source = "data"`, which differentially private methods refuse.
    """
    source = open_source(data, delimiter=delimiter, encoding=encoding, header=header)
    if not source.columns:
        raise refused(source.name, "has no columns", "give a table with at least one column")
    try:
        facts = column_facts(source)
    except ReadError:
        again = source.in_latin1()
        if again is None:
            raise
        facts = column_facts(again)
        source = again
    repeated = [column.name for column in facts if _repeats(column)]
    return toml_text(
        name or _name(data), proposals(facts), read_as=_read_as(source), repeated=repeated[0] if repeated else ""
    )


def _repeats(column: ColumnFacts) -> bool:
    """True for a column named like an identifier that has a few rows for each of its values."""
    filled = column.rows - column.nulls
    return "identifier" in suggested(column.name) and column.distinct < filled < _ROWS_EACH * column.distinct


def _read_as(source: Source) -> str:
    """Say how a text file was understood, so that a wrong guess is seen before anything rests on it."""
    if not source.forms:
        return ""
    _, form = source.forms[0]
    mark = {"\t": "tab"}.get(form.delimiter, form.delimiter)
    first = "names the columns" if form.header else "is data"
    return f"{form.encoding} text cut at {mark!r} into {count_of(len(form.names), 'column')}; the first line {first}"


def _name(data: Any) -> str:
    if not isinstance(data, str | PathLike):
        return "table"
    stem = re.split(r"[\\/]", str(fspath(data)))[-1].partition(".")[0]
    return re.sub(r"[^\w-]+", "-", stem).strip("-") or "table"
