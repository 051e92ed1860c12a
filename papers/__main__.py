"""`python -m papers NAME`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.main import main
from sfumato.cli.options import WHOLE, json_option, refuse_target
from sfumato.cli.output import emit, made, say, show_table

if TYPE_CHECKING:
    from papers import Reproduction

__all__ = ["reproduce"]

PAPERS = ("diffgen", "dlink", "tradeoff", "onthemap")


@click.command()
@click.argument("paper", type=click.Choice(PAPERS))
@click.option("--quick", is_flag=True, help="Every curve, at least half of the x values, a few minutes.")
@click.option("--tiny", is_flag=True, hidden=True, help="A test run: verdicts mean nothing.")
@click.option("-o", "--output", type=click.Path(), help="Page to write, .html or .json (default: PAPER.html).")
@click.option("--data", type=click.Path(), help="dlink: census_income_kdd.parquet; onthemap: a folder of LODES files.")
@click.option("--keep", type=click.Path(), help="Folder for results; a stopped run goes on from it.")
@click.option("--seed", type=WHOLE, default=0, show_default=True, help="Seed of everything drawn.")
@json_option
def reproduce(paper: str, quick: bool, tiny: bool, output: str | None, as_json: bool, **options: Any) -> None:
    """Recompute the figures of a paper and judge, by rules in code, whether they agree with what it prints.

    Example: python -m papers tradeoff --quick -o tradeoff.html

    Example: python -m papers onthemap --data lodes_ri_2019/ --keep kept/
    """
    from papers import reproduce as computed, reproduction_page
    from sfumato.frontiers.progress import progress_of

    refuse_target("output", output, endings=(".html", ".htm", ".json"))
    refuse_target("output", f"{paper}.html" if output is None else None)
    options["size"] = "tiny" if tiny else "quick" if quick else "full"
    with progress_of(not as_json) as progress:
        found = computed(paper, progress=progress, **options)
    page = reproduction_page(found, output or f"{paper}.html")
    made(f"Page: {page}")
    if as_json:
        emit({"ok": True, "page": str(page), **found.to_json()})
        return
    _show(found)
    say(f"Page: {page}")


def _show(found: Reproduction) -> None:
    """Print what was said, printed, found and judged."""
    colours = {"agrees": "green", "same shape": "cyan", "differs": "yellow"}
    rows = [
        (one.where, one.says, one.printed, one.ours, (one.judged.word, colours[one.judged.word]))
        for one in found.statements
    ]
    show_table(rows, heads=("Where", "What the paper says", "Printed", "Ours", "Verdict"))
    say(", ".join(f"{many} {word}" for word, many in found.tally().items()) + ".")


if __name__ == "__main__":
    main(command=reproduce, name="python -m papers")
