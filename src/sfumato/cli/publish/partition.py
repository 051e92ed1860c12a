"""`sfumato publish mondrian` and its kin: partition-based methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from sfumato.cli.options import REQUIREMENT_FLAGS, requirement_of, requirement_options
from sfumato.cli.publish.run import publish, publish_options, run

if TYPE_CHECKING:
    from sfumato.claims import Requirement

__all__ = ["anatomy", "bucketize", "mondrian", "topdown"]


def _required(options: dict[str, Any]) -> Requirement:
    """Take the requirement flags out of the options; at least one must be given."""
    from sfumato.errors import ParameterError

    found = requirement_of({name: options.pop(name) for name in REQUIREMENT_FLAGS})
    if found is None:
        raise ParameterError("requirement", "none", "a requirement is needed", hint="--k 10, --l 3, --t 0.2, ...")
    return found


@publish.command()
@publish_options
@requirement_options
@click.option(
    "--cut", type=click.Choice(["best", "widest"]), default="best", show_default=True, help="Which cut is taken first."
)
@click.option(
    "--nominal",
    type=click.Choice(["leaves", "nodes"]),
    default="leaves",
    show_default=True,
    help="Where nominal attributes may be cut.",
)
@click.option("--tight", is_flag=True, help="Publish the values that occur instead of declared intervals.")
@click.option("--max-suppressed", default="0", show_default=True, help="Share of rows that may be suppressed.")
def mondrian(
    cut: Literal["best", "widest"],
    nominal: Literal["leaves", "nodes"],
    tight: bool,
    max_suppressed: str,
    **options: Any,
) -> None:
    """Cut the table into classes that each satisfy the requirement.

    Example: sfumato publish mondrian patients.csv patients.toml --k 10 --t 0.2 -o out/
    """
    import sfumato as sf

    requirement = _required(options)
    run(sf.Mondrian(requirement, cut=cut, nominal=nominal, tight=tight, max_suppressed=max_suppressed), **options)


@publish.command()
@publish_options
@requirement_options
@click.option(
    "--cut", type=click.Choice(["best", "widest"]), default="best", show_default=True, help="Which cut is taken first."
)
def bucketize(cut: Literal["best", "widest"], **options: Any) -> None:
    """Keep quasi-identifiers exact and break their link to the sensitive values inside groups.

    Example: sfumato publish bucketize patients.csv patients.toml --l 3 -o out/
    """
    import sfumato as sf

    run(sf.Bucketize(_required(options), cut=cut), **options)


@publish.command()
@publish_options
@click.option("--l", required=True, help="Each group has l different sensitive values.")
def anatomy(l: Any, **options: Any) -> None:  # noqa: E741
    """Put people with l different sensitive values into each group; keep quasi-identifiers exact.

    Example: sfumato publish anatomy patients.csv patients.toml --l 3 -o out/
    """
    import sfumato as sf

    run(sf.Anatomy(l), **options)


@publish.command()
@publish_options
@click.option(
    "--k",
    required=True,
    help="Every class has at least k people (rows, where the schema does not decide who they are).",
)
def topdown(k: Any, **options: Any) -> None:
    """Cut each attribute globally so that the target can still be told (top-down specialization).

    Example: sfumato publish topdown patients.csv patients.toml --k 5 -o out/
    """
    import sfumato as sf

    run(sf.TopDown(k), **options)
