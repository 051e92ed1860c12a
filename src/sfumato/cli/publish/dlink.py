"""`sfumato publish dlink`: a partition whose classes other releases very likely share d values with."""

from __future__ import annotations

from typing import Any

import click

from sfumato.cli.options import WHOLE
from sfumato.cli.publish.run import publish, publish_options, run

__all__ = ["dlink"]


@publish.command()
@publish_options
@click.option(
    "--k",
    required=True,
    help="Every class has at least k people (rows, where the schema does not decide who they are).",
)
@click.option("--l", help="l-diversity of each sensitive attribute, kept when classes are united.")
@click.option("--d", type=WHOLE, default=4, show_default=True, help="How many values must stay possible.")
@click.option("--alpha", default="0.8", show_default=True, help="With which probability, under the model.")
@click.option("--organisations", type=WHOLE, default=2, show_default=True, help="How many publish, we included.")
@click.option("--others", multiple=True, type=WHOLE, help="Rows of another release; once, or once for each.")
@click.option("--population", help='CSV of frequencies, or "joint" for the joint counts of the table itself.')
@click.option(
    "--probability",
    type=click.Choice(["exact", "product", "robust"]),
    default="exact",
    show_default=True,
    help="exact; product, the paper's; robust, whatever regions the others publish.",
)
@click.option("--k-other", type=WHOLE, help="With robust: least class size of the other releases (default: k).")
@click.option("--max-suppressed", default="0", show_default=True, help="Share of rows that may be suppressed.")
@click.option("--nominal", type=click.Choice(["nodes", "leaves"]), default="nodes", show_default=True)
@click.option(
    "--distance",
    type=click.Choice(["hierarchical", "uniform"]),
    default="hierarchical",
    show_default=True,
    help="What makes classes near: levels of the tree, or also what an even spread gets wrong.",
)
@click.option("--inside", is_flag=True, help="Enforce it in Mondrian's cuts instead of uniting classes afterwards.")
def dlink(inside: bool, **options: Any) -> None:
    """Publish classes of k that share d values with other releases, with probability alpha under a model.

    The linkability is an estimate and the claim says so; k can be verified.

    Example: sfumato publish dlink patients.csv patients.toml --k 10 --d 4 --alpha 0.8 -o out/
    """
    import sfumato as sf

    requirement: Any = sf.KAnonymity(options.pop("k"))
    diverse = options.pop("l")
    if diverse is not None:
        requirement = requirement & sf.LDiversity(diverse)
    asked = {name: options.pop(name) for name in ("alpha", "organisations", "probability", "k_other")}
    asked["others"] = _others(options.pop("others"))
    asked["population"] = _population(options.pop("population"), options["schema"])
    limit = options.pop("max_suppressed")
    merging = {name: options.pop(name) for name in ("nominal", "distance")}
    d = options["d"]
    if inside:
        asked_of_cuts = sf.Linkability(d, asked.pop("alpha"), **asked)
        run(sf.Mondrian(requirement & asked_of_cuts, max_suppressed=limit), **options)
        return
    run(sf.DLink(sf.Mondrian(requirement), d=d, max_suppressed=limit, **asked, **merging), **options)


def _others(given: tuple[int, ...]) -> Any:
    return None if not given else given[0] if len(given) == 1 else list(given)


def _population(given: str | None, schema: str) -> Any:
    import sfumato as sf

    if given is None or given == "joint":
        return given
    return sf.Population.read(given, sf.Schema.load(schema))
