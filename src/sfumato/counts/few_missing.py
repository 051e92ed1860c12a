"""Quasi-identifiers with too few missing values to form a class: no class that contains such rows is cut by them.

Source    Ours.
Claim     A column is named only if the rows without a value are fewer than a class needs: in rows, or, where people
          are counted, in the shares by which they are weighed when cuts are sought (mechanisms/people.py).
Because   no label but `*` holds missing beside a value, so that the first cut by the column parts the two, and a part
          that is too small is not allowed. A class that another column parted from them is cut by the column all the
          same.
Checked   tests/unit/counts/test_few_missing.py::test_mondrian_never_cuts_a_named_column
          tests/unit/counts/test_few_missing.py::test_topdown_names_the_columns_that_it_cannot_cut
          tests/unit/counts/test_few_missing.py::test_the_fix_that_is_named_to_people_with_several_rows_works
          tests/unit/counts/test_few_missing.py::test_as_many_as_a_class_needs_are_not_named
          tests/unit/counts/test_few_missing.py::test_people_are_weighed_by_shares_of_their_rows
Silent on columns that enough rows lack, but not in every part of the table; on tables that are not held.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.engines.grouping import shares_of
from sfumato.errors import Problem, count_of

if TYPE_CHECKING:
    from sfumato.counts.table import Table

FEW = 10
"""The class size that `check` assumes until a requirement states one."""


def few_missing(
    table: Table, least: int, *, least_rows: int = 1, suppressing: bool = False, everywhere: bool = False
) -> list[Problem]:
    """Return a problem for each quasi-identifier that some, but too few for a class of `least`, have no value of.

    `least` are people, so as many times `rows_per_person` rows where no key tells them apart; a class also needs
    `least_rows` rows, whosever they are. With `suppressing`, the hint names `max_suppressed` too. With `everywhere`, a
    cut parts all rows or none. Confidential.
    """
    schema, found = table.schema, []
    if not table.held:
        return []
    each = 1 if schema.several else schema.rows_per_person
    if least_rows > least * each:
        least, each = least_rows, 1
    for attribute in schema.quasi:
        if attribute.missing_code is None:
            continue
        one = table.counts(attribute.name)
        rows = int(one.weights[one.codes[:, 0] == attribute.missing_code].sum())
        if not rows:
            continue
        said = _too_few(table, attribute.name, rows, least, each)
        if said:
            hint = 'missing = { values = [...], action = "suppress" } leaves these rows out'
            if suppressing:
                hint += ", and so does max_suppressed where that buys more"
            rule = f"{said}, so no class of {least} that holds any of them can be cut by {attribute.name}"
            if everywhere:
                rule = f"{said}, so {attribute.name} is not cut in any row"
            found.append(Problem(attribute.where, rule, hint, rows=rows))
    return found


def _too_few(table: Table, name: str, rows: int, least: int, each: int) -> str:
    """Say who has no value, where they are fewer than `least` of `each` rows; else nothing."""
    schema = table.schema
    members = table.members() if schema.several else None
    if members is None:
        if rows >= least * each:
            return ""
        if schema.unit == "person" and schema.rows_per_person == 1:
            return f"{count_of(rows, 'person has', 'people have')} no value, fewer than {least:,}"
        most = f" ({least:,} people of up to {each} rows)" if each > 1 else ""
        return f"{count_of(rows, 'row has', 'rows have')} no value, fewer than {least * each:,}{most}"
    counts = table.counts()
    lacks = counts.codes[:, counts.names.index(name)] == schema[name].missing_code
    weights, whole = shares_of(members.person, members.line, len(counts))
    share = Fraction(int(weights[lacks].sum()), whole)
    if share >= least:
        return ""
    people = len(np.unique(members.person[lacks[members.line]]))
    who = f"{count_of(people, 'person has', 'people have')} no value"
    if people < least:
        return f"{who}, fewer than {least:,}"
    return f"{who} in some of their rows, which weigh less than {least:,} people"
