"""What `sfumato publish` does with a mechanism: read, warn, publish and save by one call, print."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

from sfumato.cli.options import engine_of, given_options, named_decisions, refuse_target, table_of
from sfumato.cli.output import emit, made, say, say_lines, show_table
from sfumato.cli.publish.notes import (
    WARNING,
    budget_warnings,
    form_notes,
    list_warnings,
    plan_warnings,
    size_rows,
    table_warnings,
    withheld,
    withheld_words,
)
from sfumato.visible import operand, shell_command, without_password

if TYPE_CHECKING:
    from sfumato.claims import Claim
    from sfumato.mechanisms import Mechanism
    from sfumato.release import Release
    from sfumato.schema import Schema

__all__ = ["run"]

_ALLOWED = (
    "allow_rehearsal",
    "allow_unaccounted",
    "allow_fingerprints",
    "allow_text",
    "allow_derived",
    "allow_noise",
    "counts",
)


def run(mechanism: Mechanism, **options: Any) -> None:
    """Plan or publish, save, and print what was done."""
    import sfumato as sf
    from sfumato.frontiers.recommend import chosen

    schema = sf.Schema.load(options["schema"])
    if options["compared"]:
        mechanism = chosen(mechanism, proved=mechanism.claim(schema).kind == "proved")
    if options["refuse"]:
        mechanism.claim(schema).refuse_veto("--refuse")
    if not options["as_json"]:
        _say_undecided(schema, options)
    if options["dry_run"]:
        _show_plan(sf.plan(schema, mechanism), mechanism.claim(schema), as_json=options["as_json"])
        for text in () if options["as_json"] else withheld_words(mechanism, schema):
            say(text)
        return
    if options["output"] is None:
        raise sf.ParameterError(
            "output", "nothing", "a folder to write is needed", hint="-o out/, or --dry-run to only look"
        )
    if "allow_noise" in options and not options["as_json"]:
        _show_stages(sf.plan(schema, mechanism, forecast=False), mechanism.claim(schema))
    release, beside, warnings = _published(mechanism, schema, options)
    if options["as_json"]:
        against = {} if beside is None else {"against": beside.to_json()}
        emit(_as_json(release, mechanism, schema, options) | {"warnings": [*warnings, *release.warnings()]} | against)
    else:
        _show(release, beside, mechanism, schema, options)


def _published(mechanism: Mechanism, schema: Any, options: dict[str, Any]) -> tuple[Release, Any, list[str]]:
    """Read, warn, publish and save; return the release, how it stands beside earlier ones, and what was warned of."""
    import sfumato as sf
    from sfumato.api import refuse_before_reading
    from sfumato.errors import PublicationWarning
    from sfumato.ledger import refuse_ledger_inside
    from sfumato.pages.page import REPORT_ENDINGS
    from sfumato.release.atomic import NewFolder
    from sfumato.release.files import marked_frame

    claim, saving = mechanism.claim(schema), _saving(options)
    refuse_target("page", options["page"], endings=REPORT_ENDINGS)
    refuse_before_reading(mechanism, schema, saved=True, **saving)
    _refuse_waste(mechanism, schema, options)
    form = ("delimiter", "encoding", "header", "sheet", "driver_cells")
    given = given_options(**{name: options.get(name) for name in form})
    with NewFolder(options["output"]) as place, _mapping_file(options, place) as mapping:
        refuse_ledger_inside(options["ledger"], place)
        table = sf.read(options["data"], schema, engine=engine_of(options), **given)
        earlier = _earlier(mechanism, schema, options)
        warnings = [*budget_warnings(claim, schema, options["ledger"]), *list_warnings(mechanism, schema)]
        warnings += [*plan_warnings(mechanism, schema), *table_warnings(table, claim)]
        if earlier == []:
            known = schema.population or schema.name
            warnings.append(
                f"the ledger knows no earlier release of the population {known}: nothing was looked back at"
            )
        for text in () if options["as_json"] else warnings:
            say(f"Warning: {text}", error=True)
        tried: list[Any] = []
        paid = claim.kind == "proved"  # first it is saved, then looked at
        with _progress(shown=not options["as_json"]) as progress, catch_warnings():
            simplefilter("ignore", PublicationWarning)  # printed below, as `release.warnings()` has them
            release = sf.publish(
                table,
                mechanism,
                progress=progress,
                save_to=place,
                before_saving=None if paid else lambda made: tried.append(_tried(made, earlier, table, options)),
                **saving,
            )
        made(_saved(options))
        if options["page"] is not None:
            published = sf.Release.load(options["output"])  # as anyone reads it: nothing else is on the page
            name = Path(options["output"]).name
            with catch_warnings():
                simplefilter("ignore", PublicationWarning)  # as above
                sf.report(None, options["page"], audience="public", release=published, folder=name)
        beside = _looked_back(release, earlier, table, options, warnings) if paid else tried[0]
        if mapping is not None:
            with mapping.filled() as file:
                marked_frame(sf.mapping(release)).write_csv(file)
    return release, beside, warnings


def _saving(options: dict[str, Any]) -> dict[str, Any]:
    """What is said of drawing and saving, as `sf.publish` takes it."""
    allowed = {name: options[name] for name in _ALLOWED if name in options}
    return allowed | {
        "seed": options["seed"],
        "ledger": options["ledger"],
        "format": options["file_format"],
        "allow_repeated": options["allow_repeated"] or bool(options["against"]),
        "allow_undecided": options["undecided"],
    }


# What is printed.


def _as_json(release: Release, mechanism: Mechanism, schema: Any, options: dict[str, Any]) -> dict[str, Any]:
    from sfumato.frontiers import star_shares

    undecided = schema.decisions()
    return {
        "ok": True,
        "folder": options["output"],
        "summary": release.summary().to_json(),
        "claim": release.claim.to_json(),
        "stars": star_shares(release),
        **({} if options["page"] is None else {"page": options["page"]}),
        "not_published": withheld(mechanism, schema),
        "fingerprints": release.fingerprints().to_json(),
        "undecided": len(undecided),
        "decisions": [decision.as_json() for decision in undecided],
    }


def _show(release: Release, beside: Any, mechanism: Mechanism, schema: Any, options: dict[str, Any]) -> None:
    if beside is not None:
        said = beside.describe() if beside.holds else f"Warning: {beside.describe()}"
        say_lines(said, error=not beside.holds)
    estimated = " (estimate)" if release.claim.kind == "estimate" else ""
    table_of(f"Published {schema.name}", [("claim", f"{release.claim.promise}{estimated}"), *size_rows(release)])
    _show_rows(release)
    for text in form_notes(release):
        say(text)
    seen = release.fingerprints()
    say(f"{'Warning: ' if seen.above else ''}{seen.describe()}")
    for text in withheld_words(mechanism, schema):
        say(text)
    if options["mapping"] is not None:
        say(f"Wrote the applied mapping to {options['mapping']}: it undoes the release, keep it to yourself.")
    say(_saved(options))


def _show_rows(release: Release) -> None:
    """Print five released rows, and in how many rows a column tells nothing."""
    from sfumato.frontiers import sample_rows, star_shares

    shown = sample_rows(release, 5)
    if shown["rows"]:
        say("")
        show_table(shown["rows"], heads=shown["columns"])
        say("")
    stars = star_shares(release)
    if stars and release.form != "buckets":
        shares = ", ".join(f"{name} {100 * share:.3g} %" for name, share in stars.items())
        say(f"Rows in which the column tells nothing (*): {shares}.", wrap=True)


def _saved(options: dict[str, Any]) -> str:
    verifying = shell_command(["sfumato", "verify", operand(options["output"])])
    return f"Saved in {options['output']}. Check it with: {verifying}"


def _say_undecided(schema: Any, options: dict[str, Any]) -> None:
    from sfumato.errors import count_of

    if undecided := schema.decisions():
        are = count_of(len(undecided), "decision of the schema is", "decisions of the schema are")
        data = operand(without_password(options["data"]))
        listed = shell_command(["sfumato", "check", data, operand(options["schema"])])
        say(f"Warning: {are} open: {named_decisions(undecided)}. Each as a question: {listed}", error=True)


def _show_stages(plan: Any, claim: Claim) -> None:
    """Tell what each stage will get and what error to expect, before anything is spent."""
    _say_stages(plan, claim)
    for note in plan.notes:
        if not note.startswith(WARNING):
            say(note)


def _say_stages(plan: Any, claim: Claim) -> None:
    budget = "rho" if hasattr(claim.promise, "rho") else "epsilon"
    for stage in plan.stages:
        spends = "" if stage.budget is None else f" Spends {budget} {stage.budget}."
        error = f" Expected error: {stage.expected_error}." if stage.expected_error else ""
        say(f"{stage.name}: {stage.does}.{spends}{error}")


def _show_plan(plan: Any, claim: Claim, *, as_json: bool) -> None:
    if as_json:
        emit({"ok": True, "plan": plan.to_json(), "claim": claim.to_json()})
        return
    _say_stages(plan, claim)
    for note in plan.notes:
        say(note)
    if plan.forecast is not None:
        say(plan.forecast.describe())
    if plan.refusal is not None:
        say(f"This would be refused: {plan.refusal}")
    say_lines(claim.describe())


def _progress(*, shown: bool) -> Any:
    """Return a context that yields a progress callback: a bar on a terminal, nothing elsewhere."""
    from sfumato.frontiers.progress import progress_of

    return progress_of(shown)


# What only the command takes: the mapping, and earlier releases to compare with.


def _refuse_waste(mechanism: Mechanism, schema: Schema, options: dict[str, Any]) -> None:
    """Refuse before anything is read or spent what could not be done afterwards."""
    import sfumato as sf

    if options["mapping"] is not None and mechanism.claim(schema).kind == "proved":
        rule = "a differentially private release has none: its counts are drawn, no row got a label"
        raise sf.ParameterError("mapping", options["mapping"], rule, hint="omit --mapping")
    if options["mapping"] is not None and any(known.name in withheld(mechanism, schema) for known in schema.quasi):
        rule = "this method does not read the quasi-identifiers: every row gets the same labels"
        raise sf.ParameterError("mapping", options["mapping"], rule, hint="omit --mapping")
    if options["against"] and options.get("d", 4) < 1:
        raise sf.ParameterError("d", options["d"], "must be at least 1", hint="--d 4")


def _mapping_file(options: dict[str, Any], place: Any) -> Any:
    """Return a context that yields the prepared file of --mapping, or None."""
    from sfumato.errors import ParameterError
    from sfumato.release.atomic import NewFile

    if options["mapping"] is None:
        return contextlib.nullcontext()
    if options["ledger"] is not None and os.path.realpath(options["ledger"]) == os.path.realpath(options["mapping"]):
        raise ParameterError("mapping", options["mapping"], "is the ledger", hint="name a new file")
    return NewFile(options["mapping"], option="mapping", planned=place.target)


def _earlier(mechanism: Mechanism, schema: Any, options: dict[str, Any]) -> Any:
    """Open the releases of --against, before anything is spent."""
    import sfumato as sf

    if options["against"]:
        found = sf.attacks.open_releases(options["against"], schema)
        asked = {name for names in mechanism.needs(schema) for name in names}
        carried = {attribute.name for release in found for attribute in release.carried}
        if found and not any(attribute.name in asked & carried for attribute in schema.sensitive):
            raise sf.NotComparable("no earlier release carries a sensitive attribute that this one would publish.")
        return found
    if options["refuse"]:
        raise sf.ParameterError("refuse", "given", "needs --against", hint="--against earlier/")
    return None


def _tried(release: Any, earlier: Any, table: Any, options: dict[str, Any]) -> Any:
    """Attack a release together with earlier ones before it is saved."""
    import sfumato as sf

    beside = sf.attacks.against(release, earlier, table, options.get("d", 4)) if earlier else None
    if beside is not None and options["refuse"]:
        beside.require()
    return beside


def _looked_back(release: Any, earlier: Any, table: Any, options: dict[str, Any], warnings: list[str]) -> Any:
    """Attack a release that is saved already together with earlier ones; what cannot be done is a warning."""
    import sfumato as sf

    if not earlier:
        return None
    try:
        return sf.attacks.against(release, earlier, table, options.get("d", 4))
    except sf.SfumatoError as error:
        warnings.append(f"the release is saved, but could not be tried together with the earlier ones: {error}")
        if not options["as_json"]:
            say(f"Warning: {warnings[-1]}", error=True)
        return None
