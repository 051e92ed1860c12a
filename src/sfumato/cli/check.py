"""`sfumato check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.main import EXIT_INPUT
from sfumato.cli.options import file_options, given_options, json_option, print_problems
from sfumato.cli.output import Answer, emit, say

if TYPE_CHECKING:
    from sfumato.errors import Problem
    from sfumato.schema import Schema


@click.command(short_help="List every problem at once.")
@click.argument("data", type=click.Path())
@click.argument("schema", type=click.Path())
@file_options
@json_option
def check(
    data: str,
    schema: str,
    delimiter: str | None,
    encoding: str | None,
    sheet: str | None,
    header: bool | None,
    as_json: bool,
) -> int:
    """List every problem of a file and its schema at once: values a hierarchy lacks, nulls, roles, open decisions.

    Offending values are shown on the screen only, which makes it confidential; --json says how many there are.

    Example: sfumato check patients.csv patients.toml
    """
    import sfumato as sf

    given = given_options(delimiter=delimiter, encoding=encoding, header=header, sheet=sheet)
    try:
        described = sf.Schema.load(schema)
    except sf.SchemaError as error:
        return _report(error.problems, None, as_json=as_json)
    problems = sf.check(data, described, **given)
    if problems:
        return _report(problems, described, as_json=as_json)
    table = sf.read(data, described, **given)
    counted = {"people": table.people, "surplus": table.surplus}
    alone = table.fingerprints()
    seen = table.doubts.remarks()
    return _report(
        (),
        described,
        as_json=as_json,
        rows=table.rows,
        left_out=table.left_out,
        counted=counted,
        alone=alone,
        seen=seen,
    )


def _report(
    problems: Sequence[Problem],
    schema: Schema | None,
    *,
    as_json: bool,
    rows: int | None = None,
    left_out: int = 0,
    counted: dict[str, int | None] | None = None,
    alone: Any = None,
    seen: Sequence[Problem] = (),
) -> int:
    decisions = [] if schema is None else schema.decisions()
    remarks = [] if schema is None else schema.remarks()
    if as_json:
        emit(
            {
                "ok": not problems,
                "rows": rows,
                "left_out": left_out,
                **(counted or {}),
                "fingerprints": None if alone is None else alone.to_json(),
                "problems": [problem.as_json() for problem in problems],
                "warnings": [remark.as_json() for remark in seen],
                "decisions": [decision.as_json() for decision in decisions],
                "remarks": [remark.as_json() for remark in remarks],
            }
        )
    else:
        if problems:
            print_problems(f"Errors ({len(problems)}):", problems, reveal=True, style="red")
        else:
            _print_fit(schema, rows or 0, left_out, **(counted or {}))
            if alone is not None:
                say(f"{'Warning: ' if alone.above else ''}{alone.describe()}")
        if seen:
            print_problems(f"Warning ({len(seen)}):", seen, reveal=False, style="yellow")
        _print_open(decisions, remarks)
    return Answer(EXIT_INPUT if problems else 0)


def _print_fit(
    schema: Schema | None, rows: int, left_out: int, people: int | None = None, surplus: int | None = None
) -> None:
    from sfumato.errors import count_of

    say(f"{count_of(rows, 'row fits', 'rows fit')} the schema.")
    keyed_by = ("person", "people") if schema is None else schema.keyed_by
    if people is not None:
        are = "are about" if keyed_by[0] == "person" else "have"
        say(f"The rows {are} {count_of(people, *keyed_by)}.")
    if surplus:
        are = count_of(surplus, "row is", "rows are")
        say(f"{are} left out: their {keyed_by[0]} has more than `rows_per_person`.")
    if left_out:
        are = count_of(left_out, "row is", "rows are")
        say(f'{are} left out: a value is missing where missing = "suppress".')


def _print_open(decisions: Sequence[Problem], remarks: Sequence[Problem]) -> None:
    from sfumato.errors import Problem

    if decisions:
        asked = [Problem(decision.path, decision.rule) for decision in decisions]
        title = f"Open decisions ({len(asked)}), each to be deleted from `decide` once it is taken:"
        print_problems(title, asked, reveal=False, style="yellow")
    if remarks:
        alike: dict[tuple[str, str], list[str]] = {}
        for remark in remarks:
            alike.setdefault((remark.rule, remark.hint), []).append(remark.path)
        notes = [Problem(", ".join(paths), rule, hint) for (rule, hint), paths in alike.items()]
        print_problems(f"Good to know ({len(notes)}):", notes, reveal=False, style="cyan")
