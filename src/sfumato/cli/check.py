"""`sfumato check`."""

from __future__ import annotations

import click

from sfumato.cli.main import EXIT_INPUT
from sfumato.cli.options import emit, file_options, given_options, json_option, print_problems

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

    try:
        described = sf.Schema.load(schema)
        table = sf.read(data, described, **given_options(delimiter=delimiter, encoding=encoding, header=header))
        problems = table.check()
    except sf.SchemaError as error:
        return _report(error.problems, (), as_json=as_json)
    rows = None if problems else table.rows
    return _report(
        problems, described.decisions(), as_json=as_json, rows=rows, left_out=0 if problems else table.left_out
    )


def _report(problems: object, warnings: object, *, as_json: bool, rows: int | None = None, left_out: int = 0) -> int:
    problems, warnings = tuple(problems), tuple(warnings)  # type: ignore[call-overload]
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
        print_problems(f"{len(problems)} problems to mend:", problems, reveal=True, style="red")
    else:
        click.echo(f"{rows} rows fit the schema.")
        if left_out:
            click.echo(f'{left_out} rows are left out: a value is missing where missing = "suppress".')
    if warnings:
        print_problems(f"{len(warnings)} decisions are open:", warnings, reveal=False, style="yellow")
    return EXIT_INPUT if problems else 0
