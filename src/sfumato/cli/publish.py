"""`sfumato publish`: one subcommand for each mechanism, typed flags, --dry-run."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sfumato.cli.options import WHOLE, emit, file_options, given_options, json_option, named_decisions, table_of
from sfumato.cli.publish_words import budget_warnings, form_notes, size_rows, withheld, withheld_words

if TYPE_CHECKING:
    from sfumato.claims import Claim
    from sfumato.mechanisms import Mechanism

__all__ = ["publish", "publish_options", "run"]

F = TypeVar("F", bound=Callable[..., Any])


@click.group(short_help="Make a release and save it with its claim.")
def publish() -> None:
    """Make a release by one of the methods and save it with its claim.

    Example: sfumato publish suppress patients.csv patients.toml -o out/
    """


def publish_options(function: F) -> F:
    """Arguments and options every mechanism shares."""
    for option in reversed(
        (
            click.argument("data", type=click.Path()),
            click.argument("schema", type=click.Path()),
            click.option("-o", "--output", type=click.Path(), help="Folder to write; it must not exist."),
            click.option(
                "--format", "file_format", type=click.Choice(["parquet", "csv"]), default="parquet", show_default=True
            ),
            click.option("--dry-run", is_flag=True, help="Say what would be done and spent; read no data."),
            click.option(
                "--seed", type=WHOLE, help="Rehearse with a seed; such a release is stamped and not for publication."
            ),
            click.option("--allow-rehearsal", is_flag=True, help="Save a rehearsal all the same, with its stamp."),
            click.option("--mapping", type=click.Path(), help="Also write, for you alone, which row got which label."),
            click.option("--ledger", type=click.Path(), help="Ledger to account in; it is made where there is none."),
            click.option(
                "--against",
                multiple=True,
                type=click.Path(),
                help="Earlier release (folder or table; a ledger: all it saw saved): warn when together they leave"
                " anyone fewer than d values.",
            ),
            click.option("--refuse", is_flag=True, help="With --against: write nothing instead of warning."),
            click.option("--undecided", is_flag=True, help="Publish columns whose role is still a question."),
            *_d_option(function),
            file_options,
            json_option,
        )
    ):
        function = option(function)
    return function


def _d_option(function: Any) -> tuple[Any, ...]:
    """`--d` for `--against`, unless the method has a d of its own."""
    if "d" in [known.name for known in getattr(function, "__click_params__", [])]:
        return ()
    return (click.option("--d", default=4, show_default=True, help="With --against: how many values must be left."),)


def run(mechanism: Mechanism, **options: Any) -> None:
    """Plan or publish, save, and print what was done."""
    import sfumato as sf
    from sfumato.errors import count_of

    schema = sf.Schema.load(options["schema"])
    undecided = schema.decisions()
    if undecided and not options["as_json"]:
        are = count_of(len(undecided), "decision of the schema is", "decisions of the schema are")
        listed = shlex.join(["sfumato", "check", options["data"], options["schema"]])
        click.echo(f"Warning: {are} open: {named_decisions(undecided)}. Each as a question: {listed}", err=True)
    if options["dry_run"]:
        _show_plan(sf.plan(schema, mechanism), mechanism.claim(schema), as_json=options["as_json"])
        for text in () if options["as_json"] else withheld_words(mechanism, schema):
            click.echo(text)
        return
    if options["output"] is None:
        raise sf.ParameterError(
            "output", "nothing", "a folder to write is needed", hint="-o out/, or --dry-run to only look"
        )
    _refuse_nothing(mechanism, schema)
    _refuse_undecided(mechanism, schema, options)
    _refuse_waste(mechanism.claim(schema), options)
    given = given_options(**{name: options[name] for name in ("delimiter", "encoding", "header")})
    table = sf.read(options["data"], schema, **given)
    earlier = _earlier(schema, options)
    warnings = budget_warnings(mechanism.claim(schema), schema, options["ledger"])
    if earlier == []:
        known = schema.population or schema.name
        warnings.append(f"the ledger knows no earlier release of the population {known}: nothing was looked back at")
    for text in () if options["as_json"] else warnings:
        click.echo(f"Warning: {text}", err=True)
    with _progress(shown=not options["as_json"]) as progress:
        release = sf.publish(table, mechanism, seed=options["seed"], ledger=options["ledger"], progress=progress)
    beside = sf.attacks.against(release, earlier, table, options.get("d", 4)) if earlier else None
    if beside is not None and options["refuse"]:
        beside.require()
    release.save(options["output"], format=options["file_format"], allow_rehearsal=options["allow_rehearsal"])
    if options["mapping"] is not None:
        sf.mapping(release).write_csv(options["mapping"])
    if options["as_json"]:
        emit(
            {
                "ok": True,
                "folder": options["output"],
                "summary": release.summary().to_json(),
                "claim": release.claim.to_json(),
                "not_published": withheld(mechanism, schema),
                "undecided": len(undecided),
                "decisions": [decision.as_json() for decision in undecided],
                "warnings": warnings,
                **({} if beside is None else {"against": beside.to_json()}),
            }
        )
        return
    if beside is not None:
        click.echo(beside.describe() if beside.holds else f"Warning: {beside.describe()}", err=not beside.holds)
    estimated = " (estimate)" if release.claim.kind == "estimate" else ""
    table_of(f"Published {schema.name}", [("claim", f"{release.claim.promise}{estimated}"), *size_rows(release)])
    for text in form_notes(release):
        click.echo(text)
    for text in withheld_words(mechanism, schema):
        click.echo(text)
    if options["mapping"] is not None:
        click.echo(f"Wrote the applied mapping to {options['mapping']}: it undoes the release, keep it to yourself.")
    click.echo(f"Saved in {options['output']}. Check it with: {shlex.join(['sfumato', 'verify', options['output']])}")


def _refuse_nothing(mechanism: Mechanism, schema: Any) -> None:
    """Refuse a requirement that every table satisfies: whoever asks for it has mistaken its scale."""
    import sfumato as sf

    kept = mechanism.claim(schema).requirement
    void = [] if kept is None or isinstance(mechanism, sf.Suppress) else [part for part in kept.parts if part.vacuous]
    if void:
        hint = "k and l of at least 2; t below 0.6931 (js) or 1 (emd); usual: --k 10, --l 3, --t 0.1"
        raise sf.ParameterError("requirement", str(void[0]), "promises nothing: every table satisfies it", hint=hint)


def _refuse_undecided(mechanism: Mechanism, schema: Any, options: dict[str, Any]) -> None:
    """Refuse to publish a column while nobody has said what it is: a draft may take remarks with names for a value."""
    import sfumato as sf

    open_roles = schema.undecided_roles([name for names in mechanism.needs(schema) for name in names])
    if open_roles and not options["undecided"]:
        raise sf.SchemaError(open_roles)


def _refuse_waste(claim: Claim, options: dict[str, Any]) -> None:
    """Refuse before anything is spent what could not be saved afterwards."""
    from pathlib import Path

    from sfumato.errors import ReleaseError

    target = Path(options["output"])
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ReleaseError(f"{target.name} exists already", hint="name a new folder; a release is never overwritten")
    rehearsed = options["seed"] is not None and not options["allow_rehearsal"]
    if options["mapping"] is not None and Path(options["mapping"]).exists():
        raise ReleaseError(f"{Path(options['mapping']).name} exists already", hint="name a new file for --mapping")
    if options["ledger"] is not None and rehearsed and claim.kind == "proved":
        hint = "leave out --seed or --ledger, or add --allow-rehearsal"
        raise ReleaseError("a rehearsal would be charged to the ledger and not be saved", hint=hint)


def _earlier(schema: Any, options: dict[str, Any]) -> Any:
    """Open the releases of --against, before anything is spent."""
    import sfumato as sf

    if options["against"]:
        return sf.attacks.open_releases(options["against"], schema)
    if options["refuse"]:
        raise sf.ParameterError("refuse", "given", "needs --against", hint="--against earlier/")
    return None


def _show_plan(plan: Any, claim: Any, *, as_json: bool) -> None:
    if as_json:
        emit({"ok": True, "plan": plan.to_json(), "claim": claim.to_json()})
        return
    for stage in plan.stages:
        spends = "" if stage.budget is None else f" Spends epsilon {stage.budget}."
        error = f" Expected error: {stage.expected_error}." if stage.expected_error else ""
        click.echo(f"{stage.name}: {stage.does}.{spends}{error}")
    for note in plan.notes:
        click.echo(note)
    click.echo(claim.describe())


def _progress(*, shown: bool) -> Any:
    """Return a context that yields a progress callback: a bar on a terminal, nothing elsewhere."""
    import contextlib
    import sys

    if not shown or not sys.stderr.isatty():
        return contextlib.nullcontext()
    from sfumato.cli.progress import bar

    return bar()


@publish.command()
@publish_options
def suppress(**options: Any) -> None:
    """Remove every quasi-identifier; publish what is carried.

    Example: sfumato publish suppress patients.csv patients.toml -o out/
    """
    import sfumato as sf

    run(sf.Suppress(), **options)
