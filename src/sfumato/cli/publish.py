"""`sfumato publish NAME`: the command of a mechanism, made from the parameters its class declares.

A parameter without a default is required. A requirement is given by the flags of requirements, a mechanism that another
one builds on by those as well: it is Mondrian under them. `variants` of a class name its other constructors, each a
flag. A method that takes an epsilon also has what a budget needs. A dataclass of another package is described by the
types and defaults of its fields, and `field(metadata={"help": ...})` is the option's help.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, TypeVar
from warnings import catch_warnings, simplefilter

import click

from sfumato.cli.notes import (
    budget_warnings,
    form_notes,
    list_warnings,
    plan_warnings,
    size_rows,
    table_warnings,
    warnings_after,
    withheld,
    withheld_words,
)
from sfumato.cli.options import (
    WHOLE,
    engine_of,
    engine_options,
    file_options,
    given_options,
    json_option,
    named_decisions,
    parameter_option,
    refuse_target,
    requirement_of,
    requirement_options,
    table_of,
)
from sfumato.cli.output import after_saving, emit, made, saved_in, say, say_lines, show_table
from sfumato.errors import ParameterError
from sfumato.visible import operand, shell_command, without_password

if TYPE_CHECKING:
    from sfumato.claims import Claim
    from sfumato.declare import Parameter
    from sfumato.mechanisms import Mechanism
    from sfumato.release import Release
    from sfumato.schema import Schema

F = TypeVar("F", bound=Callable[..., Any])


class _Methods(click.Group):
    """The project's methods, then those of installed packages; each is imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_methods())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _methods():
            return None
        from sfumato.mechanisms import REGISTRY

        return method_command(cmd_name, REGISTRY[cmd_name])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the methods, one line each; another package's gets a fixed line: reading its own would import it."""
        found = _methods()
        limit = formatter.width - 6 - max(map(len, found))
        with formatter.section("Commands"):
            formatter.write_dl([(name, shorten(says, limit, placeholder="...")) for name, says in found.items()])


_FROM_OUTSIDE = "Method of another installed package."
_NOT_HERE = ("raw",)  # never saved


def _methods() -> dict[str, str]:
    """Return their names with one line each, without importing any of them."""
    from sfumato.registry import Registry, heads

    own = heads("mechanisms")
    others = Registry("sfumato.mechanisms", dict.fromkeys((*own, "synthesize"))).third_party
    found = {name: head.plain or head.says for name, head in own.items() if name not in _NOT_HERE}
    return found | dict.fromkeys(others, _FROM_OUTSIDE)


@click.group(cls=_Methods, short_help="Make a release and save it with its claim.")
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
                "--format",
                "file_format",
                type=click.Choice(["parquet", "csv", "xlsx"]),
                default="parquet",
                show_default=True,
                help="Format of the data files; xlsx is Excel.",
            ),
            click.option("--page", type=click.Path(), help="Also write a page about the release for everyone (.html)."),
            click.option("--dry-run", is_flag=True, help="Say what would be done and spent; read no data."),
            click.option(
                "--seed", type=WHOLE, help="Rehearse with a seed; such a release is stamped and not for publication."
            ),
            click.option("--allow-rehearsal", is_flag=True, help="Save a rehearsal anyway; it is stamped as one."),
            click.option(
                "--allow-fingerprints",
                is_flag=True,
                help="Publish although many rows are unique on what is published unchanged.",
            ),
            click.option(
                "--allow-text", is_flag=True, help="Publish columns that look like free text, which may contain names."
            ),
            click.option(
                "--allow-derived",
                is_flag=True,
                help="Publish although a column published unchanged follows from quasi-identifiers.",
            ),
            click.option(
                "--allow-repeated",
                is_flag=True,
                help="Publish although an earlier release covers the same people (--against tries both together).",
            ),
            click.option("--mapping", type=click.Path(), help="Also write which row got which label. Confidential."),
            click.option("--ledger", type=click.Path(), help="Ledger that records the cost; created if there is none."),
            click.option(
                "--against",
                multiple=True,
                type=click.Path(),
                help="Earlier release (folder or table; a ledger: all its saved releases): warn if together they leave"
                " anyone with fewer than d values.",
            ),
            click.option(
                "--refuse",
                is_flag=True,
                help="With --against: write nothing instead of warning. Not with a differentially private method.",
            ),
            click.option(
                "--compared",
                is_flag=True,
                help="The parameters were chosen by comparing releases of this table; a proved claim then says so.",
            ),
            click.option(
                "--undecided",
                is_flag=True,
                help="Publish though the role of a column, or the key of people, is undecided.",
            ),
            *_d_option(function),
            file_options,
            click.option(
                "--driver-cells",
                type=WHOLE,
                help="Distinct combinations of values held at once (default: 20 million); above that, Mondrian makes"
                " its first cuts where the rows are.",
            ),
            engine_options,
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


_BUDGET = (
    click.option("--allow-unaccounted", is_flag=True, help="Save without --ledger: nothing adds up what is spent."),
    click.option(
        "--allow-noise", is_flag=True, help="Publish although noise is expected to outweigh what is reported."
    ),
    click.option(
        "--counts", is_flag=True, help="Write one line for each combination with its count, not one for each row."
    ),
)


def method_command(name: str, kind: Any) -> click.Command:
    """Return the command of one mechanism."""
    from sfumato.declare import parameters

    declared = parameters(kind)
    flags = [one.flag.replace("-", "_") for one in declared if one.flag]

    def call(**options: Any) -> None:
        typed = options.get("d")
        mechanism = _made(kind, declared, options)
        if "d" in flags:  # `--against` reads it as well
            options["d"] = getattr(mechanism, "d", None) or int(typed or 4)
        run(mechanism, **options)

    command: Any = call
    for option in reversed(_options(kind, declared, flags)):
        command = option(command)
    mine = {parameter.name for parameter in getattr(command, "__click_params__", ())}
    command = publish_options(command)
    shared = [one.name for one in command.__click_params__ if one.name in mine]
    if twice := sorted({one for one in shared if shared.count(one) > 1}):
        rule = f"has a field with the name of an option that every method has: {', '.join(twice)}"
        raise ParameterError(name, kind.__name__, rule, hint="its package must rename the field")
    return click.command(name, help=_help(name, kind, declared))(command)


def _options(kind: Any, declared: tuple[Parameter, ...], flags: list[str]) -> list[Any]:
    found: list[Any] = []
    for one in declared:
        if one.kind in ("requirement", "mechanism"):
            found.append(lambda function: requirement_options(function, without=flags))
        elif one.flag:
            found.append(parameter_option(one))
    found += [click.option(f"--{name}", is_flag=True, help=about) for name, about in _variants(kind).items()]
    return [*found, *(_BUDGET if "epsilon" in flags else ())]


def _variants(kind: Any) -> dict[str, str]:
    return dict(getattr(kind, "variants", {}))


def _made(kind: Any, declared: tuple[Parameter, ...], options: dict[str, Any]) -> Any:
    """Remove the mechanism's parameters from the options and make it; omitted ones keep their defaults."""
    given: dict[str, Any] = {}
    for one in declared:  # its own flags first: a requirement may have one of the same name
        if one.kind not in ("requirement", "mechanism") and one.flag:
            typed = options.pop(one.flag.replace("-", "_"))
            if typed is not None and typed != ():
                given[one.name] = typed if one.from_flag is None else one.from_flag(typed, options["schema"])
    for one in (one for one in declared if one.kind in ("requirement", "mechanism")):
        requirement = requirement_of(options)
        if requirement is not None:
            given[one.name] = requirement if one.kind == "requirement" else _base(requirement)
        elif one.required:
            raise ParameterError("requirement", "none", "a requirement is needed", hint="--k 10, --l 3, --t 0.2, ...")
    chosen = [name for name in _variants(kind) if options.pop(name)]
    return _variant(kind, chosen[0], given) if chosen else kind(**given)


def _base(requirement: Any) -> Any:
    import sfumato as sf

    return sf.Mondrian(requirement)


def _variant(kind: Any, name: str, given: dict[str, Any]) -> Any:
    """Call another constructor of a mechanism; what it does not take is fixed by it."""
    maker = getattr(kind, name)
    takes = inspect.signature(maker).parameters.values()
    for other in given:
        if all(one.name != other and one.kind is not one.VAR_KEYWORD for one in takes):
            raise ParameterError(other, "given", f"is fixed by --{name}", hint="omit one of the two")
    return maker(**given)


def _help(name: str, kind: Any, declared: tuple[Parameter, ...]) -> str:
    """Return the first paragraph of the class, the package it comes from if it is not ours, and an example."""
    from sfumato.claims import requirement_words
    from sfumato.declare import plain_name, written_flag

    about = next(iter((inspect.getdoc(kind) or kind.__name__).split("\n\n")))
    package = str(kind.__module__).partition(".")[0]
    whose = "" if package == "sfumato" else f"\n\nOf the installed package {package}."
    words: list[str] = []
    for one in (one for one in declared if one.required):
        if one.kind in ("requirement", "mechanism"):
            words += (requirement_words(one.example) if one.example is not None else None) or ["--k", "10"]
        else:
            words += [f"--{one.flag}", "..."] if one.example is None else written_flag(one, one.example) or []
    words += [f"--{next(iter(_variants(kind)))}"] if "recommended" in _variants(kind) else []
    words += ["--ledger", "ledger.db"] if any(one.flag == "epsilon" for one in declared) else []
    example = shell_command(["sfumato", "publish", name, "patients.csv", "patients.toml", *words, "-o", "out/"])
    plain = plain_name(kind)
    return f"{f'{plain}.' + chr(10) * 2 if plain else ''}{about}{whose}\n\nExample: {example}"


# What `sfumato publish` does with a mechanism: read, warn, publish and save by one call, print.


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
            "output", "nothing", "a folder to write is needed", hint="-o out/, or --dry-run to write nothing"
        )
    if "allow_noise" in options and not options["as_json"]:
        _show_stages(sf.plan(schema, mechanism, forecast=False), mechanism.claim(schema))
    release, beside, warnings = _published(mechanism, schema, options)
    if options["as_json"]:
        against = {} if beside is None else {"against": beside.to_json()}
        emit(
            _as_json(release, mechanism, schema, options)
            | {"warnings": [*warnings, *warnings_after(release)]}
            | against
        )
    else:
        _show(release, beside, mechanism, schema, options)


def _published(mechanism: Mechanism, schema: Any, options: dict[str, Any]) -> tuple[Release, Any, list[str]]:
    """Read, warn, publish and save; return the release, how it compares with earlier ones, and the warnings."""
    import sfumato as sf
    from sfumato.api import refuse_before_reading
    from sfumato.errors import PublicationWarning
    from sfumato.ledger import refuse_ledger_inside
    from sfumato.pages.page import REPORT_ENDINGS
    from sfumato.release.atomic import NewFolder

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
        if earlier == {}:
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
        made(saved_in(options["output"]))
        if paid:
            tried.append(_looked_back(release, earlier, table, options, warnings))
        _write_beside(release, mapping, options, warnings)
    return release, tried[0], warnings


def _write_beside(release: Release, mapping: Any, options: dict[str, Any], warnings: list[str]) -> None:
    """Write the page and the mapping of a saved release; one that cannot be written is a warning, and forgotten."""
    import sfumato as sf
    from sfumato.errors import PublicationWarning
    from sfumato.release.files import marked_frame
    from sfumato.release.store import EVERYTHING

    def page() -> None:
        published = sf.Release.load(options["output"])  # as anyone reads it: nothing else is on the page
        name = Path(options["output"]).name
        with catch_warnings():
            simplefilter("ignore", PublicationWarning)  # printed at the end, as `release.warnings()` has them
            # what is in the folder was allowed when it was saved
            sf.report(None, options["page"], audience="public", release=published, folder=name, **EVERYTHING)

    def mapped() -> None:
        with mapping.filled() as file:
            marked_frame(sf.mapping(release)).write_csv(file)

    for option, write in (("page", page), ("mapping", mapped)):
        what = f"its {option} was not written"
        if options[option] is not None and not after_saving(what, write, warnings, shown=not options["as_json"]):
            options[option] = None


def _saving(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options for drawing and saving, as `sf.publish` takes them."""
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
    for text in form_notes(release, withheld(mechanism, schema)):
        say(text)
    seen = release.fingerprints()
    say(f"{'Warning: ' if seen.above else ''}{seen.describe()}")
    for text in withheld_words(mechanism, schema):
        say(text)
    if options["mapping"] is not None:
        say(f"Wrote the applied mapping to {options['mapping']}: it undoes the release, keep it to yourself.")
    say(saved_in(options["output"]))


def _show_rows(release: Release) -> None:
    """Print five released rows, and in how many rows a column says nothing."""
    from sfumato.frontiers import sample_rows, star_shares

    shown = sample_rows(release, 5)
    if shown["rows"]:
        say("")
        show_table(shown["rows"], heads=shown["columns"])
        say("")
    stars = star_shares(release)
    if stars and release.form != "buckets":
        shares = ", ".join(f"{name} {100 * share:.3g} %" for name, share in stars.items())
        say(f"Rows in which the column reveals nothing (* or (known)): {shares}.", wrap=True)


def _say_undecided(schema: Any, options: dict[str, Any]) -> None:
    from sfumato.errors import count_of

    if undecided := schema.decisions():
        are = count_of(len(undecided), "decision of the schema is", "decisions of the schema are")
        data = operand(without_password(options["data"]))
        listed = shell_command(["sfumato", "check", data, operand(options["schema"])])
        say(f"Warning: {are} open: {named_decisions(undecided)}. Each as a question: {listed}", error=True)


def _show_stages(plan: Any, claim: Claim) -> None:
    """Print what each stage will get and what error to expect, before anything is spent."""
    from sfumato.mechanisms.base import WARNING

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
    """Before anything is read or spent, refuse what would fail afterwards."""
    import sfumato as sf

    if options["mapping"] is not None and mechanism.claim(schema).kind == "proved":
        rule = "a differentially private release has none: its counts are drawn, so no row has a label"
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
    """Open the releases of --against by their names, before anything is spent.

    To name one earlier release is not to have tried the others that the ledger knows: those are tried as well.
    """
    import sfumato as sf
    from sfumato.attacks.composing.against import secrets

    if options["against"]:
        known = [options["ledger"]] if options["ledger"] and not options["allow_repeated"] else []
        earlier = [*options["against"], *(path for path in known if Path(path).is_file())]
        paths = sf.attacks.release_paths(earlier, schema)
        found = sf.attacks.open_releases(paths, schema)
        asked = {name for names in mechanism.needs(schema) for name in names}
        carried = {attribute.name for release in found for attribute in release.carried}
        if found and not any(attribute.name in asked & carried for attribute in secrets(schema, found)):
            raise sf.NotComparable("no earlier release carries a sensitive attribute that this one would publish.")
        return dict(zip(map(str, paths), found, strict=True))
    if options["refuse"]:
        raise sf.ParameterError("refuse", "given", "needs --against", hint="--against earlier/")
    return None


def _tried(release: Any, earlier: Any, table: Any, options: dict[str, Any]) -> Any:
    """Attack a release together with earlier ones before it is saved."""
    beside = _beside(release, earlier, table, options) if earlier else None
    if beside is not None and options["refuse"]:
        beside.require()
    if beside is not None and not options["allow_repeated"]:
        beside.refuse_certain()
    return beside


def _beside(release: Any, earlier: Any, table: Any, options: dict[str, Any]) -> Any:
    import sfumato as sf

    return sf.attacks.against(release, list(earlier.values()), table, options.get("d", 4), names=list(earlier))


def _looked_back(release: Any, earlier: Any, table: Any, options: dict[str, Any], warnings: list[str]) -> Any:
    """Attack a release that is saved already together with earlier ones; what cannot be done is a warning."""
    if not earlier:
        return None
    found: list[Any] = []

    def look_back() -> None:
        found.append(_beside(release, earlier, table, options))

    what = "could not be tried together with the earlier ones"
    return found[0] if after_saving(what, look_back, warnings, shown=not options["as_json"]) else None
