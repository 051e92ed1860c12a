"""Write proposals as the TOML of a schema file, with a comment beside each decision."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from sfumato.counts.draft_roles import Proposal
from sfumato.schema.domain import decimal_text

__all__ = ["toml_text"]

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_FROM_DATA = {"range", "values", "hierarchy", "groups", "intervals", "edges"}
_WIDTH = 100


def toml_text(name: str, proposals: Sequence[Proposal], *, read_as: str = "") -> str:
    """Return the whole file; `read_as` says how the data file was understood."""
    head = (
        "# Drafted from a data file. It lists values of the data: keep it as confidential as the data.\n"
        + (f"# Read as {read_as}.\n" if read_as else "")
        + "# Go through every `decide`, change what is wrong, and delete the entry. All keys: sfumato explain schema\n"
        '# role = "quasi": an outsider could know it, so it is made coarser. "sensitive": published, but not linked\n'
        '# to one person. "target": what a learner should still tell. "identifier" and "other": never published.\n'
        '# source = "data" marks what was read off the file; differentially private methods refuse it until a\n'
        '# person has put in publicly known bounds or values and written source = "public".'
    )
    parts = [
        head,
        f"name = {_quoted(name)}",
        f"population = {_quoted(name)}  # decide: who the rows are about; the ledger adds up what is published of them",
        "rows_per_person = 1  # decide: at most how many rows one person has",
    ]
    return "\n".join(parts) + "\n" + "".join(_table(proposal) for proposal in proposals)


def _table(proposal: Proposal) -> str:
    lines = ["", f"[attribute.{_key(proposal.name)}]"]
    if proposal.why:
        lines.append(f"# {proposal.why}")
    lines += [f"# decide: {item}" for item in proposal.decide]
    lines.append(f'role = "{proposal.role}"')
    if proposal.lines:
        lines.append(f'kind = "{proposal.kind}"')
    for key, value, comment in proposal.lines:
        text = _value(value)
        lines += [f"# {key}: {comment}", f"{key} = {text}"] if "\n" in text else [f"{key} = {text}  # {comment}"]
    if any(key in _FROM_DATA for key, _, _ in proposal.lines):
        lines.append('source = "data"')
    if proposal.decide:
        lines.append(f"decide = {_value(list(proposal.decide))}")
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


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
