"""`sfumato check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from sfumato.cli.main import EXIT_INPUT
from sfumato.cli.options import emit, file_options, given_options, json_option, print_problems

if TYPE_CHECKING:
    from sfumato.errors import Problem

__all__ = ["check"]


@click.command(short_help="List every problem at once.")
@click.argument("data", type=click.Path())
@click.argument("schema", type=click.Path())
@file_options
@json_option
def check(
    data: str, schema: str, delimiter: str | None, encoding: str | None, header: bool | None, as_json: bool
) -> int:
    """List every problem of a file and its schema at once: values a hierarchy lacks, nulls, roles, open decisions.

    Offending values are shown on this screen only; --json says how many there are.

    Example: sfumato check patients.csv patients.toml
    """
    import sfumato as sf

    given = given_options(delimiter=delimiter, encoding=encoding, header=header)
    try:
        described = sf.Schema.load(schema)
    except sf.SchemaError as error:
        return _report(error.problems, (), as_json=as_json)
    problems = sf.check(data, described, **given)
    if problems:
        return _report(problems, described.decisions(), as_json=as_json)
    table = sf.read(data, described, **given)
    return _report((), described.decisions(), as_json=as_json, rows=table.rows, left_out=table.left_out)


def _report(
    problems: Sequence[Problem],
    warnings: Sequence[Problem],
    *,
    as_json: bool,
    rows: int | None = None,
    left_out: int = 0,
) -> int:
    if as_json:
        emit(
            {
                "ok": not problems,
                "rows": rows,
                "left_out": left_out,
                "problems": [problem.as_json() for problem in problems],
                "decisions": [warning.as_json() for warning in warnings],
            }
        )
        return EXIT_INPUT if problems else 0
    if problems:
        print_problems(f"To mend ({len(problems)}):", problems, reveal=True, style="red")
    else:
        click.echo(f"{rows} rows fit the schema.")
        if left_out:
            click.echo(f'{left_out} rows are left out: a value is missing where missing = "suppress".')
    if warnings:
        print_problems(f"Open decisions ({len(warnings)}):", warnings, reveal=False, style="yellow")
    return EXIT_INPUT if problems else 0
