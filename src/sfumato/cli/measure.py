"""`sfumato measure`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import completed_by, file_options, given_options, json_option
from sfumato.cli.output import emit, say, show_table
from sfumato.errors import count_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.measures import Measured


def _measures() -> list[str]:
    from sfumato.measures import REGISTRY

    return list(REGISTRY)


@click.command(short_help="Privacy and utility of a release, ours or anyone's.")
@click.argument("data", type=click.Path())
@click.argument("schema", type=click.Path())
@click.argument("release", type=click.Path())
@click.option(
    "--measure",
    "names",
    multiple=True,
    shell_complete=completed_by(_measures),
    help="One measure by name; may be given several times.",
)
@click.option("--groups", help="Column of a foreign file that numbers its groups (buckets).")
@click.option("--counts", help="Column of a foreign file that says how many rows a line stands for.")
@file_options
@json_option
def measure(
    data: str,
    schema: str,
    release: str,
    names: tuple[str, ...],
    groups: str | None,
    counts: str | None,
    as_json: bool,
    **form: Any,
) -> None:
    """Measure a release against the table it was made from. The figures are confidential.

    RELEASE is a folder that sfumato saved, or a CSV or Parquet file of any other tool (ARX, anonypy, ...), whose labels
    are read through the schema.

    Example: sfumato measure patients.csv patients.toml out/

    Example: sfumato measure patients.csv patients.toml arx.csv --measure privacy_loss --json
    """
    from pathlib import Path
    from warnings import catch_warnings, simplefilter

    import sfumato as sf
    from sfumato.errors import PublicationWarning
    from sfumato.estimate import other_table

    described = sf.Schema.load(schema)
    table = sf.read(data, described, **given_options(**form))
    if Path(release).is_dir():
        made = sf.Release.load(release, schema=described)
    else:
        made = sf.Release.read(release, described, groups=groups, counts=counts)
    warned = other_table(made, table)
    with catch_warnings():
        simplefilter("ignore", PublicationWarning)  # printed below
        found = sf.measure(table, made, names or None)
    if warned:
        say(f"Warning: {warned}", error=True)
    if as_json:
        measured = {name: figure.to_json() for name, figure in found.items()}
        emit(
            {
                "ok": True,
                "confidential": True,
                "summary": made.summary().to_json(),
                "warnings": [warned] if warned else [],
                "measures": measured,
            }
        )
    else:
        _show(found)


def _show(found: Mapping[str, Measured]) -> None:
    rows = []
    for name, figure in found.items():
        missing = figure.details.get("not measured")
        value = "-" if missing else f"{figure.value:.6g}"
        rows.append((name, value, figure.unit, missing or figure.formula))
    show_table(rows, heads=("measure", "value", "unit", "formula"), right=(1,))
    for name, figure in found.items():
        each = figure.details.get("by_attribute", {})
        if len(each) > 1:
            values = ", ".join(f"{attribute} {float(value):.6g}" for attribute, value in each.items())
            many = f"the worst of {len(each)} attributes"
            say(f"{name} is the figure of {figure.details['attribute']}, {many}: {values}.")
        if (populations := figure.details.get("populations")) is not None:
            say(f"{name} is a mean over {count_of(f'{populations:,}', 'population')}.")
    say("Computed from the original: confidential.")
