"""`sfumato synthesize`: synthetic commuting patterns from origin-destination counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.notes import budget_warnings
from sfumato.cli.options import DECIMAL, WHOLE, json_option, table_of
from sfumato.cli.output import after_saving, emit, made, saved_in, say, say_lines
from sfumato.commuting.flows import FLOW_COLUMNS

if TYPE_CHECKING:
    from sfumato.commuting import Geography, Synthesize
    from sfumato.release import Release
    from sfumato.release.atomic import NewFile, NewFolder

_RULES = ("hockey", "tails", "pdp", "theorem44", "pure")


class _Numbers(click.ParamType):  # type: ignore[type-arg]
    """Numbers with commas between them: 5,20,50."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Split the text; each part is read by what takes it."""
        return value if isinstance(value, tuple) else tuple(part.strip() for part in str(value).split(","))


def _column_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add a flag for each column of the flows that can be named."""
    for column in reversed(FLOW_COLUMNS):
        command = click.option(f"--{column.name}", multiple=column.several, help=column.help)(command)
    return command


@click.command(short_help="Synthetic commuting patterns with a proved (epsilon, delta).")
@click.argument("data", type=click.Path())
@click.option("--geography", required=True, type=click.Path(), help="Public list of blocks: code, latitude, longitude.")
@click.option("--epsilon", required=True, help="Epsilon of the urn; shrinking the domain adds to it.")
@click.option("--delta", required=True, help="Delta of the claim.")
@click.option("-o", "--output", type=click.Path(), help="Folder to write; it must not exist.")
@click.option("--format", "file_format", type=click.Choice(["parquet", "csv"]), default="parquet", show_default=True)
@click.option(
    "--rule", type=click.Choice(_RULES), default="hockey", show_default=True, help="What certifies the prior."
)
@_column_options
@click.option(
    "--person-exact", is_flag=True, help="Keys that differ only in how they are written are different people."
)
@click.option(
    "--unit", type=click.Choice(["job", "person"]), default="job", show_default=True, help="What is protected."
)
@click.option("--cap", type=WHOLE, help="With --unit person: the most destinations a person has.")
@click.option(
    "--unknown", type=click.Choice(["refuse", "elsewhere"]), default="refuse", show_default=True,
    help="What to do with origins that are not in the geography.",
)  # fmt: skip
@click.option("--by", help="Region level: destinations of one region share a prior.")
@click.option("--bands", type=_Numbers(), help="Distance bands in miles: 5,20.")
@click.option("--weights", type=_Numbers(), help="Prior weights by band, one more than bands: 8,2,1.")
@click.option("--older", type=(click.Path(), str), help="FILE LEVEL: prior weights from older public flows.")
@click.option("--keep", type=_Numbers(), help="Chance that an empty origin takes part, by band, or one for all.")
@click.option("--max-distance", type=DECIMAL, help="Origins beyond this many miles are `elsewhere`.")
@click.option("--coarsen", help="Region level at which origins are drawn; they are then placed inside.")
@click.option("--far", type=(float, str), help="MILES LEVEL: beyond this distance draw regions of this level.")
@click.option("--accept-reject", is_flag=True, help="Draw unlikely samples anew (sec. V-A of the paper).")
@click.option("--counts", is_flag=True, help="Write one line for each pair with its count, not one for each row.")
@click.option("--map", "map_file", type=click.Path(), help="Write a page with a map.")
@click.option(
    "--audience", type=click.Choice(["public", "steward"]), default="public", show_default=True,
    help="The steward's map compares with the original and is not for publication.",
)  # fmt: skip
@click.option("--seed", type=WHOLE, help="Rehearse with a seed; such a release is stamped.")
@click.option("--allow-rehearsal", is_flag=True, help="Save a rehearsal anyway; it is stamped as one.")
@click.option("--ledger", type=click.Path(), help="Ledger that records the cost; created if there is none.")
@click.option("--allow-unaccounted", is_flag=True, help="Save without --ledger: nothing adds up what is spent.")
@click.option("--population", default="", help="Whose budget it is in the ledger (default: commuting).")
@click.option("--dry-run", is_flag=True, help="Say what would be done and spent; read no flows.")
@json_option
def synthesize(**options: Any) -> None:
    """Draw synthetic origins for every destination and save them with their claim.

    Destinations and how many jobs each has are public; where people come from is the secret.

    Example: sfumato synthesize od.csv.gz --geography xwalk.csv.gz --epsilon 4.6 --delta 1e-5 --ledger l.db -o out/
    """
    import sfumato as sf
    from sfumato.api import refuse_before_reading
    from sfumato.ledger import refuse_ledger_inside
    from sfumato.release.atomic import NewFolder

    geography = sf.commuting.Geography.read(options["geography"])
    mechanism = _mechanism(geography, options)
    if options["dry_run"]:
        _show_plan(mechanism, geography, options)
        return
    if options["output"] is None:
        raise sf.ParameterError("output", "nothing", "a folder to write is needed", hint="-o out/, or --dry-run")
    saving = {name: options[name] for name in ("seed", "ledger", "allow_rehearsal", "allow_unaccounted", "counts")}
    saving["format"] = options["file_format"]
    schema = geography.schema(population=options["population"], rows_per_person=options["cap"])
    refuse_before_reading(mechanism, schema, saved=True, **saving)
    columns = (
        "destination",
        "origin",
        "count",
        "person",
        "person_exact",
        "ignore",
        "unit",
        "cap",
        "unknown",
        "population",
    )
    named = {name: options[name] for name in columns}
    with NewFolder(options["output"]) as place, _map_file(options, place) as page:
        refuse_ledger_inside(options["ledger"], place)
        flows = sf.commuting.read_flows(options["data"], geography, **named)
        warnings = budget_warnings(mechanism.claim(flows.schema), flows.schema, options["ledger"])
        warnings += [f"{one.path} {one.rule}; {one.hint}" for one in flows.remarks]
        for text in () if options["as_json"] else warnings:
            say(f"Warning: {text}", error=True)
        release = sf.publish(flows.table, mechanism, save_to=place, **saving)
        made(saved_in(options["output"]))

        def write() -> None:
            _map(flows, release, geography, page, mechanism, options)

        if page is not None and not after_saving(
            "its map was not written", write, warnings, shown=not options["as_json"]
        ):
            options["map_file"] = None
    _show(release, mechanism, options, warnings)


def _map_file(options: dict[str, Any], place: NewFolder) -> Any:
    """Return a context that yields the prepared file of --map, or None."""
    import contextlib

    from sfumato.release.atomic import NewFile

    if options["map_file"] is None:
        return contextlib.nullcontext()
    steward = options["audience"] == "steward"
    return NewFile(options["map_file"], option="map", planned=place.target, confidential=steward)


def _mechanism(geography: Geography, options: dict[str, Any]) -> Synthesize:
    import sfumato as sf

    bands = [_number("bands", part, float) for part in options["bands"] or ()]
    weights = None if options["weights"] is None else [_number("weights", part, int) for part in options["weights"]]
    keep = options["keep"] or ("1",)
    older = None if options["older"] is None else sf.commuting.OlderFlows.read(*options["older"])
    prior = sf.commuting.Shape(
        geography,
        by=options["by"],
        bands=bands,
        weights=weights,
        keep=keep if len(keep) > 1 else keep[0],
        older=older,
        max_distance=options["max_distance"],
        coarsen=options["coarsen"],
        far=options["far"],
    )
    mechanism: Synthesize = sf.Synthesize(
        options["epsilon"],
        options["delta"],
        rule=options["rule"],
        prior=prior,
        accept_reject=options["accept_reject"],
        unit=options["unit"],
    )
    return mechanism


def _number(name: str, text: str, kind: type[float | int]) -> Any:
    import sfumato as sf

    try:
        return kind(text)
    except ValueError:
        raise sf.ParameterError(name, text, "must be numbers with commas between them", hint="5,20") from None


def _show_plan(mechanism: Synthesize, geography: Geography, options: dict[str, Any]) -> None:
    import sfumato as sf

    schema = geography.schema(population=options["population"], rows_per_person=options["cap"])
    plan, claim = sf.plan(schema, mechanism, forecast=False), mechanism.claim(schema)
    if options["as_json"]:
        emit({"ok": True, "plan": plan.to_json(), "claim": claim.to_json()})
        return
    for stage in plan.stages:
        spends = "" if stage.budget is None else f" Spends epsilon {float(stage.budget):.6g}."
        say(f"{stage.name}: {stage.does}.{spends}")
    say_lines(claim.describe())


def _map(
    flows: Any,
    release: Release,
    geography: Geography,
    page: NewFile,
    mechanism: Synthesize,
    options: dict[str, Any],
) -> None:
    import sfumato as sf
    from sfumato.commuting.map import write_map

    original = flows if options["audience"] == "steward" else None
    write_map(sf.commuting.map_data(release, geography, original=original, method=mechanism), page)


def _prior(release: Release, mechanism: Synthesize) -> tuple[float, str]:
    """Return the share of all origins that come from the prior, and the sentence that says so."""
    import numpy as np

    from sfumato.commuting.map import of_homes
    from sfumato.commuting.measures import pairs_of

    where, _, people = pairs_of(release)
    destinations, at = np.unique(where, return_inverse=True)
    n = np.bincount(at.reshape(-1), weights=people).astype(np.int64)
    shares = mechanism.prior_shares(release.schema, destinations, n)
    share = float((shares * n).sum() / max(int(n.sum()), 1))
    return share, f"{of_homes(share, at_most=mechanism.shrinks)} are drawn from the prior, not from the table"


def _show(release: Release, mechanism: Synthesize, options: dict[str, Any], warnings: list[str]) -> None:
    from sfumato.commuting.flows import counted

    summary = release.summary()
    share, drawn = _prior(release, mechanism)
    if options["as_json"]:
        answer = {"ok": True, "folder": options["output"], "summary": summary.to_json()}
        answer |= {
            "notes": list(release.notes),
            "prior": share,
            "drawn": drawn,
            "warnings": warnings,
            "claim": release.claim.to_json(),
        }
        emit({**answer, "map": options["map_file"]})
        return
    rows_are = counted(options["unit"], release.schema.rows_per_person)
    rows = [("pairs", summary.classes), (f"synthetic {rows_are}", summary.rows)]
    table_of("Synthetic commuting patterns", [("claim", release.claim.promise), *rows])
    for note in release.notes:
        say(f"  {note}.")
    say(f"  {drawn}.")
    say(saved_in(options["output"]))
    if options["map_file"] is not None:
        say(f"Map: {options['map_file']}")
