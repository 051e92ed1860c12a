"""Errors of reading, worded once: which file or column, which rule, what to do, never a cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.counts.canonical import NULL, OUTSIDE
from sfumato.errors import Problem, ReadError
from sfumato.schema import Attribute, Days, Edges, Grid

__all__ = ["VALUES_KEPT", "cell_problems", "missing_columns", "refused"]

VALUES_KEPT = 1_000


def refused(where: str, rule: str, hint: str, *, values: Sequence[str] = (), count: int | None = None) -> ReadError:
    """Return the error for a file or frame that can not be read."""
    return ReadError(Problem(where, rule, hint, count=count, values=tuple(values)))


def missing_columns(absent: Sequence[Attribute], columns: Sequence[str], *, guessed: bool) -> list[Problem]:
    """One problem for each attribute whose column is not there; names found are kept behind `reveal()`."""
    many = f"{len(columns)} column{'s' if len(columns) != 1 else ''}"
    hint = f"the table has {many}; set `column` in the schema, or check the delimiter"
    if guessed:
        hint += "; if the file has no header line, say header=False (--no-header)"
    return [
        Problem(
            attribute.where, f"the column {attribute.column or attribute.name} is missing", hint, values=tuple(columns)
        )
        for attribute in absent
    ]


def cell_problems(
    attribute: Attribute, codes: np.ndarray, weights: np.ndarray | None, offending: dict[int, tuple[str, ...]]
) -> list[Problem]:
    """One problem for each rule that cells of a column break."""
    if not len(codes) or codes.min() >= 0:
        return []
    problems = []
    for sign in (OUTSIDE, NULL, -3):
        bad = codes == sign
        rows = int(bad.sum() if weights is None else weights[bad].sum())
        if rows:
            values = offending.get(sign, ())
            rule, hint = _worded(attribute, sign, len(values), rows)
            count = len(values) or None
            problems.append(Problem(attribute.where, rule, hint, count=count, rows=rows, values=values[:VALUES_KEPT]))
    return problems


def _worded(attribute: Attribute, sign: int, count: int, rows: int) -> tuple[str, str]:
    column = f"column {attribute.column or attribute.name}"
    many = f"{count} distinct value{'s' if count != 1 else ''} in {rows} row{'s' if rows != 1 else ''}"
    domain = attribute.domain
    if sign == NULL:
        rule = f"{column} has no value in {rows} row{'s' if rows != 1 else ''}"
        return rule, 'say what that means: missing = [""] (a category of its own) or missing = "suppress"'
    if sign == OUTSIDE:
        if isinstance(domain, Grid | Edges | Days):
            return (
                f"{column} has {many} outside the declared range",
                "widen `range`, name them in `missing`, or clamp = true to move them to its ends",
            )
        if attribute.declared_tree:
            file = f" {attribute.hierarchy}" if attribute.hierarchy else ""
            return (
                f"{column} has {many} missing from its hierarchy{file}",
                'add a line for each, or other = "Other" to collect them',
            )
        return (
            f"{column} has {many} not among its declared values",
            'add them to `values`, or other = "Other" to collect them',
        )
    what, form = ("an ISO date", "2024-05-31") if isinstance(domain, Days) else ("a number", "1234.5")
    return f"{column} has {many} that are not {what}", f"write them as {form}, or name them in `missing`"
