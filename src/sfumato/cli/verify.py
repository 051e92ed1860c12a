"""`sfumato verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import json_option, requirement_of, requirement_options
from sfumato.cli.output import Answer, emit, say, say_parts

if TYPE_CHECKING:
    from sfumato.release import Verdict


@click.command(short_help="Check a claim from the written files alone.")
@click.argument("release", type=click.Path())
@click.option("--schema", type=click.Path(), help="Schema of a bare CSV, Parquet or Excel file.")
@click.option("--groups", metavar="COLUMN", help="Column of a bare file that numbers its groups (buckets).")
@click.option("--counts", metavar="COLUMN", help="Column of a bare file that says how many rows a line stands for.")
@click.option("--sheet", help="Sheet of a bare Excel file, if several hold values.")
@requirement_options
@json_option
def verify(
    release: str,
    schema: str | None,
    groups: str | None,
    counts: str | None,
    sheet: str | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Read a saved release again and check what it claims; or check requirements on anyone's file.

    Exits with 3 when the claim does not hold or cannot be checked.

    Example: sfumato verify out/

    Example: sfumato verify release.csv --schema s.toml --k 10 --l 3

    Example: sfumato verify counts.csv --schema s.toml --k 10 --counts n

    Example: sfumato verify release.xlsx --schema s.toml --k 10 --sheet People
    """
    import sfumato as sf

    described = None if schema is None else sf.Schema.load(schema)
    requirement = requirement_of(asked)
    verdict = sf.verify(release, schema=described, requirement=requirement, groups=groups, counts=counts, sheet=sheet)
    if as_json:
        emit({"ok": verdict.holds, **verdict.to_json()})
    else:
        _show(verdict)
    return Answer(verdict.exit_code)


def _show(verdict: Verdict) -> None:
    first, *rest = str(verdict).split("\n")
    style = "bold green" if verdict.holds else "bold red" if verdict.checkable else "bold yellow"
    say_parts((first, style), (f" ({verdict.kind})" if verdict.checkable else "", ""))
    for line in rest:
        say(f"  {line}")
