"""`sfumato frontier`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import completed_by, emit, file_options, given_options, json_option

if TYPE_CHECKING:
    from sfumato.frontier import Frontier, Recommendation

__all__ = ["frontier", "show"]


def _presets() -> list[str]:
    from sfumato.frontier import PRESETS

    return list(PRESETS)


@click.command(short_help="Compare releases of a table, find the efficient ones, recommend one.")
@click.argument("data", type=click.Path())
@click.argument("schema", type=click.Path())
@click.option("-o", "--output", type=click.Path(), help="Report to write: .html, .md or .json. Confidential.")
@click.option("--public", type=click.Path(), help="Also write the public report here: nothing computed from the data.")
@click.option(
    "--preset",
    multiple=True,
    shell_complete=completed_by(_presets),
    help="Which sweep (default: standard); may be given several times.",
)
@click.option("--privacy", default="privacy_loss", show_default=True, help="Measure on the privacy axis.")
@click.option("--utility", default="utility_loss", show_default=True, help="Measure on the utility axis.")
@click.option("--privacy-loss", type=float, help="Recommend the most useful release up to this privacy figure.")
@click.option("--utility-loss", type=float, help="Recommend the most private release up to this utility figure.")
@click.option("--keep", type=click.Path(), help="Folder for results; a stopped sweep goes on from it. Confidential.")
@click.option("--repeats", type=int, default=5, show_default=True, help="Runs of a method that draws at random.")
@click.option("--seed", type=int, default=0, show_default=True, help="First seed of those runs.")
@click.option("--workers", type=int, help="Processes to use (default: one for each core).")
@file_options
@json_option
def frontier(data: str, schema: str, as_json: bool, **options: Any) -> None:
    """Make a sweep of releases, measure each, find those that no other beats, recommend one, and write a report.

    Presets: standard, tradeoff, tradeoff-buckets, tradeoff-readings, diffgen.

    Example: sfumato frontier patients.csv patients.toml -o report.html

    Example: sfumato frontier patients.csv patients.toml --preset tradeoff --privacy-loss 0.2 -o report.html
    """
    import sfumato as sf

    form = given_options(**{name: options[name] for name in ("delimiter", "encoding", "header")})
    points = sf.sweep(*(options["preset"] or ("standard",)))
    table = sf.read(data, sf.Schema.load(schema), **form)
    front = sf.frontier(
        table,
        points,
        **{name: options[name] for name in ("privacy", "utility", "keep", "repeats", "seed", "workers")},
        progress=not as_json,
    )
    reached = None
    try:
        reached = front.recommend(privacy_loss=options["privacy_loss"], utility_loss=options["utility_loss"])
    finally:  # a limit that no release keeps is an error, but what was computed is written all the same
        if options["output"]:
            sf.report(front, options["output"], recommendation=reached, command=_command(), source=(data, schema))
        if options["public"]:
            sf.report(front, options["public"], audience="public")
    if as_json:
        emit({"ok": True, "report": options["output"], "recommendation": reached.to_json(), **front.to_json()})
        return
    show(front, reached)
    if options["output"]:
        click.echo(f"Report: {options['output']} (confidential)")


def _command() -> str:
    """The command line as it was given."""
    import shlex
    import sys

    return shlex.join(["sfumato", *sys.argv[1:]])


def show(front: Frontier, recommendation: Recommendation) -> None:
    """Print the efficient releases and the recommendation."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from sfumato.errors import count_of

    console = Console(highlight=False)
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    names = (front.privacy.name.replace("_", " "), front.utility.name.replace("_", " "))
    for column in ("efficient releases", *names, ""):
        shown.add_column(column, justify="right" if column in names else "left")
    for point in front.efficient:
        mark = "recommended" if point.number == recommendation.point.number else ""
        shown.add_row(escape(point.label), f"{point.privacy.mean:.4g}", f"{point.utility.mean:.4g}", mark)
    console.print(shown)
    failed = f", {len(front.failed)} not made or not measured" if front.failed else ""
    click.echo(f"{count_of(len(front.points), 'release')} compared{failed}.\n")
    console.print(f"[bold]Recommended: {escape(recommendation.point.label)}[/]")
    console.print(escape(recommendation.reason))
    console.print(escape(recommendation.caution), style="dim")
