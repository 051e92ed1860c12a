"""`sfumato publish diffgen` and `noisy-table`: differentially private tables. What each stage gets is printed first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.output import say
from sfumato.cli.publish.run import WARNING, publish, publish_options, run

if TYPE_CHECKING:
    from sfumato.mechanisms import Mechanism

__all__ = ["diffgen", "noisy_table"]

_THRESHOLD = click.option(
    "--threshold", help='Smallest count that is reported, or "auto": taken from the number of cells (default).'
)


_ALLOW_NOISE = click.option(
    "--allow-noise", is_flag=True, help="Publish although noise is expected to outweigh what is reported."
)


_COUNTS = click.option(
    "--counts", is_flag=True, help="Write one line for each combination with its count, not one for each row."
)


def _spend(mechanism: Mechanism, options: dict[str, Any]) -> None:
    """Tell what each stage will get and what error to expect, then publish."""
    import sfumato as sf

    if not options["dry_run"] and not options["as_json"]:
        plan = sf.plan(sf.Schema.load(options["schema"]), mechanism)
        for stage in plan.stages:
            error = f" Expected error: {stage.expected_error}." if stage.expected_error else ""
            say(f"{stage.name}: {stage.does}. Spends epsilon {stage.budget}.{error}")
        for note in plan.notes:
            if not note.startswith(WARNING):
                say(note)
    run(mechanism, **options)


def _threshold(given: str | None) -> Any:
    if given is None or given == "auto":
        return given
    from sfumato.errors import ParameterError

    if not given.isdecimal():
        raise ParameterError("threshold", given, 'must be a whole number or "auto"', hint="--threshold 1")
    return int(given)


@publish.command()
@publish_options
@click.option("--epsilon", required=True, help="Privacy budget, such as 1, 0.5 or 1/2.")
@click.option("--recommended", is_flag=True, help="Our one configuration; takes no other choice.")
@click.option("--specializations", help='How many, or "leaves" (default: 10).')
@click.option("--score", type=click.Choice(["max", "gain", "infogain", "gini"]), help="Score (default: max).")
@click.option("--first", type=click.Choice(["max", "gain", "infogain", "gini"]), help="Score of the first selection.")
@click.option("--paper", is_flag=True, help="The printed algorithm: its scores and its budget.")
@click.option("--scored", type=click.Choice(["one-way", "cells"]), help="What a score looks at (default: one-way).")
@click.option("--splits", type=click.Choice(["ahead", "together"]), help="When splits are chosen (default: ahead).")
@click.option("--selection", type=click.Choice(["exponential", "permute-and-flip"]), help="How values are selected.")
@click.option("--structure", help="Share of the budget for the cuts (default: 1/2).")
@click.option("--prefix", help="Share of the budget for choosing how many specializations stay (default: 0).")
@click.option("--ratio", help="Budget of a selection over that of the one before (default: 1).")
@click.option("--penalty", help="Rows that a new cell must bring, times the epsilon of the counts (default: 0).")
@_THRESHOLD
@_ALLOW_NOISE
@_COUNTS
def diffgen(epsilon: str, recommended: bool, **options: Any) -> None:
    """Specialize under differential privacy, then publish noisy counts.

    Example: sfumato publish diffgen patients.csv patients.toml --epsilon 1 --recommended -o out/
    """
    import sfumato as sf

    kept = ("scored", "splits", "selection", "structure", "prefix", "ratio", "penalty")
    choices = ("specializations", "score", "first", "paper", *kept)
    given = {name: options.pop(name) for name in (*choices, "threshold")}
    chosen = {name: value for name, value in given.items() if value not in (None, False)}
    if recommended and chosen:
        rule = "is fixed by --recommended"
        raise sf.ParameterError(next(iter(chosen)), "given", rule, hint="leave one of the two out")
    if "threshold" in chosen:
        chosen["threshold"] = _threshold(chosen["threshold"])
    mechanism = sf.DiffGen.recommended(epsilon) if recommended else sf.DiffGen(epsilon, **chosen)
    _spend(mechanism, options)


@publish.command("noisy-table")
@publish_options
@click.option("--epsilon", required=True, help="Privacy budget, such as 1, 0.5 or 1/2.")
@click.option(
    "--cut",
    "cuts",
    multiple=True,
    help="Labels of one attribute, such as --cut 'age=[17-40);[40-91)'. May be repeated.",
)
@_THRESHOLD
@_ALLOW_NOISE
@_COUNTS
def noisy_table(epsilon: str, cuts: tuple[str, ...], threshold: str | None, **options: Any) -> None:
    """Publish the contingency table, or a declared generalization of it, with noise on every cell.

    Example: sfumato publish noisy-table patients.csv patients.toml --epsilon 1 --cut 'sex=*' -o out/
    """
    import sfumato as sf

    declared: dict[str, list[str]] = {}
    for text in cuts:
        name, equals, labels = text.partition("=")
        if not equals:
            raise sf.ParameterError("cut", text, "must be written attribute=label;label", hint="--cut 'sex=*'")
        declared[name.strip()] = [label.strip() for label in labels.split(";")]
    mechanism = sf.NoisyTable(epsilon, cuts=declared or None, threshold=_threshold(threshold) or "auto")
    _spend(mechanism, options)
