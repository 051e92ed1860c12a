"""`sfumato frontier`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import DECIMAL, WHOLE, completed_by, file_options, given_options, json_option, refuse_target
from sfumato.cli.output import emit, made, say, show_table

if TYPE_CHECKING:
    from sfumato.frontiers import Frontier, Point, Policy, Recommendation

_AXES = ("inference", "membership", "identity", "privacy_loss", "proved")
_LOSS_FIRST = ("privacy_loss", "inference", "membership", "identity", "proved")
_NAME = 34  # letters of a release's name that are not wrapped in a terminal of 80


def _presets() -> list[str]:
    from sfumato.frontiers import PRESETS

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
@click.option(
    "--privacy",
    multiple=True,
    help="Privacy axis; may be given several times, and the first decides: inference, membership, identity, proved, or "
    "a measure (default: inference, membership, identity, privacy_loss, proved; with --privacy-loss that one first).",
)
@click.option("--utility", default="utility_loss", show_default=True, help="Measure on the utility axis.")
@click.option(
    "--workload",
    multiple=True,
    help="Tables that --utility workload_error compares: 2 or 3 (all pairs or triples of columns; default 3), one "
    "column (its pairs), or age+sex. May be repeated.",
)
@click.option("--at-least", multiple=True, metavar="k=11", help="Policy: people in every class (default: k=5).")
@click.option(
    "--at-most",
    multiple=True,
    metavar="AXIS=LIMIT",
    help="Policy: the largest figure on a privacy axis: inference=0.02.",
)
@click.option(
    "--answer",
    multiple=True,
    metavar="TABLE",
    help='Policy: counts that must come out right: "age x region within 10 %".',
)
@click.option("--privacy-loss", type=DECIMAL, help="Recommend the most useful release up to this privacy figure.")
@click.option("--utility-loss", type=DECIMAL, help="Recommend the most private release up to this utility figure.")
@click.option(
    "--membership-public",
    is_flag=True,
    help="Membership is not secret: buckets, which publish exact quasi-identifiers, may be recommended.",
)
@click.option("--keep", type=click.Path(), help="Folder for results; a stopped sweep resumes from it. Confidential.")
@click.option("--repeats", type=WHOLE, default=5, show_default=True, help="Runs of a method that draws at random.")
@click.option("--seed", type=WHOLE, default=0, show_default=True, help="First seed of those runs.")
@click.option("--workers", type=WHOLE, help="Processes to use (default: one for each core).")
@file_options
@json_option
def frontier(data: str, schema: str, as_json: bool, **options: Any) -> None:
    """Make a sweep of releases, measure each, find those that no other beats, recommend one, and write a report.

    A recommended release keeps the policy: at least 5 people in every class unless --at-least says otherwise, and what
    --at-most and --answer ask for. Partitions of the sweep are asked for that k as well. Where nothing keeps the
    policy, the closest release and the line it breaks are shown, and the exit code is 3.

    Buckets publish everybody's exact quasi-identifiers, so anyone can tell who is in the table. They are compared
    and shown, but recommended only with --membership-public.

    Presets: standard, tradeoff, tradeoff-buckets, tradeoff-readings, diffgen, marginals, private.

    Example: sfumato frontier patients.csv patients.toml -o report.html

    Example: sfumato frontier patients.csv patients.toml --at-least k=11 --at-most inference=0.02 -o report.html
    """
    import sfumato as sf
    from sfumato.pages.page import REPORT_ENDINGS

    for name in ("output", "public"):
        refuse_target(name, options[name], endings=REPORT_ENDINGS)
    form = given_options(**{name: options[name] for name in ("delimiter", "encoding", "header", "sheet")})
    policy = _policy(options["at_least"], options["at_most"], options["answer"])
    points = policy.strengthened(sf.sweep(*(options["preset"] or ("standard",))))
    table = sf.read(data, sf.Schema.load(schema), **form)
    front = sf.frontier(
        table,
        points,
        privacy=options["privacy"] or (_AXES if options["privacy_loss"] is None else _LOSS_FIRST),
        utility=_utility(options["utility"], options["workload"]),
        **{name: options[name] for name in ("keep", "repeats", "seed", "workers")},
        policy=policy,
        progress=True,
    )
    shown: dict[str, Any] = {}
    public = options["membership_public"]
    limits = {name: options[name] for name in ("privacy_loss", "utility_loss")}
    try:
        reached = front.recommend(**limits, membership_public=public)
        shown["recommendation"] = reached
    except sf.Infeasible as error:  # a limit that no release keeps: what was computed is still written
        shown["recommendation"] = error
        raise
    finally:
        shown["membership_public"] = public
        if options["output"]:
            sf.report(front, options["output"], command=_command(), source=(data, schema), **shown)
            made(f"Report: {options['output']} (confidential)")
        if options["public"]:
            sf.report(front, options["public"], audience="public", membership_public=public)
    if as_json:
        emit({"ok": True, "report": options["output"], "recommendation": reached.to_json(), **front.to_json()})
        return
    show(front, reached)
    if options["output"]:
        say(f"Report: {options['output']} (confidential)")


def _utility(name: str, workload: tuple[str, ...]) -> Any:
    """The utility axis; a declared workload goes with the measure that compares its tables."""
    import sfumato as sf
    from sfumato.schema.workload import workload_from_texts

    if not workload:
        return name
    if name != "workload_error":
        raise sf.ParameterError(
            "workload", " ".join(workload), "is compared by workload_error alone", hint="add --utility workload_error"
        )
    return partial(sf.workload_error, workload=workload_from_texts(workload))


def _policy(at_least: tuple[str, ...], at_most: tuple[str, ...], answer: tuple[str, ...]) -> Policy:
    """The policy as the options state it."""
    import sfumato as sf

    return sf.Policy(
        _pairs("--at-least", at_least, "k=11"), at_most=_pairs("--at-most", at_most, "inference=0.02"), answer=answer
    )


def _pairs(option: str, given: tuple[str, ...], example: str) -> dict[str, str]:
    """Read NAME=NUMBER."""
    from sfumato.errors import ParameterError

    found = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise ParameterError(option, text, "is not a name and a number", hint=example)
        found[name.strip()] = value.strip()
    return found


def _command() -> str:
    """The command line as it was given."""
    import sys

    from sfumato.visible import shell_command

    return shell_command(["sfumato", *sys.argv[1:]])


def show(front: Frontier, recommendation: Recommendation) -> None:
    """Print the efficient releases and the recommendation, with what was left out of it."""
    from sfumato.declare import plain_name
    from sfumato.frontiers import name_together, side_by_side

    names = (front.privacy.words, front.utility.words)
    best = recommendation.point
    listed = [*front.efficient] if best.efficient else [*front.efficient, best]
    listed.sort(key=lambda point: (front.privacy.sign * point.privacy.mean, point.number))
    groups = side_by_side(listed)
    rest = {point.number for point in front.efficient_without_buckets}
    widest = max(len(name_together(group)) for group in groups)
    several = any(point.attributes for point in listed)
    rows = [
        (
            name_together(group),
            f"{group[0].privacy.mean:.4g}",
            f"{group[0].utility.mean:.4g}",
            *([str(group[0].attributes.get("privacy", {}).get("worst", ""))] if several else []),
            _mark(group, best, rest),
        )
        for group in groups
    ]
    heads = ("efficient releases", *names, *([f"{names[0]} of"] if several else []), "")
    show_table(rows, heads=heads, right=(1, 2), least=min(widest, _NAME))
    say(f"{front.compared}.")
    say("")
    say(f"Recommended: {best.label}", style="bold", wrap=True)
    if plain := plain_name(best.mechanism):
        say(f"{plain}.", style="bold", wrap=True)
    if recommendation.lost:
        say(recommendation.lost, style="bold", wrap=True)
    say(recommendation.reason, wrap=True)
    for line in filter(None, (recommendation.price, *_gains(best))):
        say(line, wrap=True)
    if recommendation.note:
        say(recommendation.note, style="bold" if best.buckets else "", wrap=True)
    say(recommendation.caution, style="dim", wrap=True)


def _gains(point: Point) -> list[str]:
    """Return what an attacker gains, one sentence for each attack, after a note on the data it was measured on."""
    return [point.rehearsal, *(str(found["sentence"]) for found in point.attacks.values())]


def _mark(group: tuple[Point, ...], best: Point, rest: set[int]) -> str:
    """Return what a line of the table states beside its figures."""
    said = ["recommended"] if best.number in [point.number for point in group] else []
    said += ["membership public"] if group[0].buckets else []
    said += ["only buckets beat it"] if group[0].number in rest and not group[0].efficient else []
    return ", ".join(said)
