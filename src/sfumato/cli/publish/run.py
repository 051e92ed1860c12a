"""`sfumato publish`: one subcommand for each mechanism, typed flags, --dry-run."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import shorten
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sfumato.cli.options import WHOLE, file_options, given_options, json_option, named_decisions, table_of
from sfumato.cli.output import emit, made, say, say_lines
from sfumato.visible import operand, shell_command

if TYPE_CHECKING:
    from sfumato.claims import Claim
    from sfumato.mechanisms import Mechanism
    from sfumato.release import Release
    from sfumato.schema import Schema

__all__ = [
    "WARNING",
    "budget_warnings",
    "class_warnings",
    "form_notes",
    "list_warnings",
    "plan_warnings",
    "publish",
    "publish_options",
    "run",
    "size_rows",
    "table_warnings",
    "withheld",
    "withheld_words",
]


WARNING = "Warning: "  # how a note of a plan begins that `run` says before anything is drawn


# What a steward must hear beside the figures of a release: an account nobody keeps, noise, whose values are exact.


def budget_warnings(claim: Claim, schema: Schema, ledger: str | None) -> list[str]:
    """Say, before anything is drawn, that nobody counts or limits what is spent."""
    if claim.kind != "proved":
        return []
    if ledger is None:
        return ["no ledger is named, so what this spends is not added to what was spent before. Add --ledger ledger.db"]
    from pathlib import Path

    import sfumato as sf
    from sfumato.ledger import population_key

    book, name = sf.Ledger(ledger), population_key(schema.population or schema.name)
    known = book.populations() if Path(ledger).is_file() else []
    if name in known and book.totals(name).left is not None:  # its own limit, or that of what it is a part of
        return []
    limited = [other for other in known if book.totals(other).limit is not None]
    others = f" It limits {', '.join(limited)}: is one of these meant?" if limited else ""
    fix = f"{shell_command(['sfumato', 'ledger', operand(ledger), '--population', name])} --set-limit EPSILON"
    return [f"the ledger sets no limit for the population {name}.{others} Set one with: {fix}"]


def list_warnings(mechanism: Mechanism, schema: Schema) -> list[str]:
    """Warn, before anything is cut, of quasi-identifiers whose values are put together by their place in a list."""
    method = getattr(mechanism, "base", mechanism)
    names = [attribute.name for attribute in schema.quasi if attribute.grouped_by_list]
    if not names or getattr(method, "nominal", "nodes") != "leaves":
        return []
    told = "no groups or hierarchy, so that values are put together as their list has them (often the alphabet)"
    return [f"{', '.join(names)}: {told}, not as they are alike. Declare groups, or hide values with --nominal nodes"]


def plan_warnings(mechanism: Mechanism, schema: Schema) -> list[str]:
    """Return the warnings of a plan that spends a budget: functions of the schema and the parameters alone."""
    if mechanism.claim(schema).kind != "proved":
        return []
    return [note.removeprefix(WARNING).rstrip(".") for note in mechanism.plan(schema).notes if note.startswith(WARNING)]


def table_warnings(table: Any) -> list[str]:
    """Warn of rows that are left out, of published columns that look like free text, and of what may be a key."""
    from sfumato.errors import count_of
    from sfumato.schema.checks import looks_like_free_text

    found = []
    if table.surplus:
        most = count_of(table.schema.rows_per_person, "row")
        found.append(f"{count_of(table.surplus, 'row is', 'rows are')} left out: at most {most} of each person is kept")
    texts = [a.name for a in table.schema.published if looks_like_free_text(getattr(a.domain, "names", ()))]
    if texts:
        told = "looks like free text, in which names may stand" if len(texts) == 1 else "look like free text"
        found.append(f"{', '.join(texts)} {told}: its values are published. Read them, or give the role other")
    return found + [f"{one.path} {one.rule}; {one.hint}" for one in (*table.suspected_keys(), *table.unclear())]


def size_rows(release: Release) -> list[tuple[str, Any]]:
    """Return the size of a release by name; a noisy table suppresses nobody, it leaves out small counts."""
    rows = release.summary().to_json()
    if release.form == "cells":
        rows.pop("suppressed")
    if release.people is not None:
        told = release.people
        rows |= {"people": told.everyone, "fewest people in a class": int(told.classes.min(initial=told.everyone))}
    return list(rows.items())


def withheld(mechanism: Mechanism, schema: Schema) -> list[str]:
    """Name the columns that a release by this method does not carry."""
    asked = {name for names in mechanism.needs(schema) for name in names}
    return [attribute.name for attribute in schema.attributes if attribute.name not in asked]


def withheld_words(mechanism: Mechanism, schema: Schema) -> list[str]:
    """Say which columns are not published, and why."""
    found = withheld(mechanism, schema)
    by_role = [name for name in found if schema[name].role in ("identifier", "other")]
    others = [name for name in found if name not in by_role]
    lines = [f"Not published, by role: {', '.join(by_role)}."] if by_role else []
    if others:
        lines.append(f"Not published by this method, which counts the target alone: {', '.join(others)}.")
    return lines


def form_notes(release: Release) -> list[str]:
    """Say what the form of a release means for the people in it and for who adds its rows up."""
    if release.form == "buckets":
        hidden = ", ".join(attribute.name for attribute in release.carried if attribute.role == "sensitive")
        exact = ", ".join(attribute.name for attribute in release.quasi)
        is_hidden = f"Only the link to {hidden} is hidden."
        if release.exposed():
            is_hidden = f"The link to {hidden} is hidden only where a group has several values."
        told = f"Published exactly, for every record: {exact}. {is_hidden}"
        return [told, *(f"Warning: {text}." for text in class_warnings(release))]
    if release.form == "cells":
        told = "Counts carry noise, and small ones are not reported: rows do not add up to the number of records."
        if release.practically_exact:
            told = "Counts carry so little noise that they are practically exact: a row is very likely a record."
        return [told, *(f"{note[0].upper()}{note[1:]}." for note in release.notes)]
    warned = [f"Warning: {text}." for text in class_warnings(release)]
    return [*warned, *_alike_but_missing(release), *_never_cut(release)]


def class_warnings(release: Release) -> list[str]:
    """Warn of classes of one person or of one sensitive value, whatever was required; nothing for drawn rows."""
    from sfumato.claims import Requirement

    if release.form not in ("generalized", "buckets") or release.claim.kind == "proved":
        return []
    exposed, asked = release.exposed(), release.claim.promise
    told = [f"{alone}. Ask for k as well (--k)"] if (alone := exposed.alone()) else []
    if isinstance(asked, Requirement) and not asked.reads_sensitive:
        of = {name: f"{exposed.among(number)} all rows have one value" for name, number in exposed.alike.items()}
        return [*told, *(f"nothing is promised of {name}, and {all_}. {_ASK_BOTH}" for name, all_ in of.items())]
    return [*told, *(f"{text}. Ask for l of at least 2 as well (--l)" for text in exposed.one_value())]


_ASK_BOTH = "Ask for l or t as well (--l, --t)"


def _alike_but_missing(release: Release) -> list[str]:
    """Warn of classes in which everyone whose value is known has the same one, and missing is the second value."""
    import numpy as np

    from sfumato.claims import Requirement

    asked = release.claim.promise
    if not isinstance(asked, Requirement) or not asked.reads_sensitive:
        return []
    told = []
    for attribute in (one for one in release.carried if one.role == "sensitive" and one.missing_code is not None):
        counts = release.groups.histogram(attribute.name)
        values = np.diff(counts.indptr)
        without = np.diff(counts[:, np.arange(attribute.size) != attribute.missing_code].indptr)
        alike = int(((values == 2) & (without == 1)).sum())
        if alike:
            of = (
                f"in {alike:,} of {len(release.groups):,} classes everyone whose {attribute.name} is known has the same"
            )
            told.append(f"Warning: {of}; a missing value counts as a value of its own.")
    return told


def _never_cut(release: Release) -> list[str]:
    """Name the attributes that stayed whole although some rows lack them: too few to be a class of their own."""
    import numpy as np

    stuck = []
    for at, attribute in enumerate(release.quasi):
        used, labels = np.unique(release.boxes.labels[:, at]), release.boxes.tables[at]
        uncut = (((0, attribute.size),), ((0, attribute.size - 1),))  # everything, or everything known
        whole = all(labels.intervals(label) in uncut for label in used.tolist())
        if whole and attribute.missing_code is not None:
            stuck.append(attribute.name)
    if not stuck or len(release.groups) == 0:
        return []
    hint = 'missing = { values = [...], action = "suppress" } in the schema leaves their rows out'
    return [f"Not cut at all: {', '.join(stuck)}. Where few rows lack a value, they cannot be parted; {hint}."]


F = TypeVar("F", bound=Callable[..., Any])


class _Methods(click.Group):
    """The project's methods, then those of installed packages; each is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_methods())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from sfumato.cli.publish.method import method_command

        if cmd_name not in _methods():
            return None
        from sfumato.mechanisms import REGISTRY

        return method_command(cmd_name, REGISTRY[cmd_name])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them with one line each; that of another package's method would need its import."""
        found = _methods()
        limit = formatter.width - 6 - max(map(len, found))
        with formatter.section("Commands"):
            formatter.write_dl([(name, shorten(says, limit, placeholder="...")) for name, says in found.items()])


_FROM_OUTSIDE = "Method of another installed package."
_NOT_HERE = ("raw",)  # never saved


def _methods() -> dict[str, str]:
    """Names and one line each, without importing any of them."""
    from sfumato.registry import Registry, heads

    own = heads("mechanisms")
    others = Registry("sfumato.mechanisms", dict.fromkeys((*own, "synthesize"))).third_party
    found = {name: head.says for name, head in own.items() if name not in _NOT_HERE}
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
                "--format", "file_format", type=click.Choice(["parquet", "csv"]), default="parquet", show_default=True
            ),
            click.option("--dry-run", is_flag=True, help="Say what would be done and spent; read no data."),
            click.option(
                "--seed", type=WHOLE, help="Rehearse with a seed; such a release is stamped and not for publication."
            ),
            click.option("--allow-rehearsal", is_flag=True, help="Save a rehearsal all the same, with its stamp."),
            click.option(
                "--allow-fingerprints",
                is_flag=True,
                help="Publish although many rows are alone with what is published unchanged.",
            ),
            click.option(
                "--allow-text", is_flag=True, help="Publish columns that look like free text, in which names may stand."
            ),
            click.option(
                "--allow-derived",
                is_flag=True,
                help="Publish although a column published unchanged follows from quasi-identifiers.",
            ),
            click.option(
                "--allow-repeated",
                is_flag=True,
                help="Publish beside an earlier release of the same people, untried (--against tries them together).",
            ),
            click.option("--mapping", type=click.Path(), help="Also write, for you alone, which row got which label."),
            click.option("--ledger", type=click.Path(), help="Ledger to account in; it is made where there is none."),
            click.option(
                "--against",
                multiple=True,
                type=click.Path(),
                help="Earlier release (folder or table; a ledger: all it saw saved): warn when together they leave"
                " anyone fewer than d values.",
            ),
            click.option(
                "--refuse",
                is_flag=True,
                help="With --against: write nothing instead of warning. Not with a differentially private method.",
            ),
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
    from sfumato.ledger import refuse_ledger_inside
    from sfumato.release.atomic import NewFolder
    from sfumato.release.files import marked_frame
    from sfumato.release.store import save_or_keep

    schema = sf.Schema.load(options["schema"])
    if options["refuse"]:
        mechanism.claim(schema).refuse_veto("--refuse")
    undecided = schema.decisions()
    if undecided and not options["as_json"]:
        are = count_of(len(undecided), "decision of the schema is", "decisions of the schema are")
        listed = shell_command(["sfumato", "check", operand(options["data"]), operand(options["schema"])])
        say(f"Warning: {are} open: {named_decisions(undecided)}. Each as a question: {listed}", error=True)
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
        _show_stages(sf.plan(schema, mechanism))
    _refuse_nothing(mechanism, schema)
    _refuse_undecided(mechanism, schema, options)
    claim = mechanism.claim(schema)
    _refuse_waste(claim, schema, options)
    given = given_options(**{name: options[name] for name in ("delimiter", "encoding", "header", "sheet")})
    told = {
        **_how_saved(options),
        **{name: options[name] for name in ("allow_fingerprints", "allow_text", "allow_derived")},
        "allow_repeated": options["allow_repeated"] or bool(options["against"]),
    }
    with NewFolder(options["output"]) as place, _mapping_file(options, place) as mapping:
        refuse_ledger_inside(options["ledger"], place)
        table = sf.read(options["data"], schema, **given)
        if claim.kind != "proved" and not options["allow_fingerprints"]:
            table.fingerprints().require()
        if claim.kind != "proved" and not options["allow_text"]:
            table.refuse_free_text()
        earlier = _earlier(mechanism, schema, options)
        warnings = [*budget_warnings(claim, schema, options["ledger"]), *list_warnings(mechanism, schema)]
        warnings += [*plan_warnings(mechanism, schema), *table_warnings(table)]
        if earlier == []:
            known = schema.population or schema.name
            warnings.append(
                f"the ledger knows no earlier release of the population {known}: nothing was looked back at"
            )
        for text in () if options["as_json"] else warnings:
            say(f"Warning: {text}", error=True)
        with _progress(shown=not options["as_json"]) as progress:
            drawn = {name: options[name] for name in ("seed", "ledger", "allow_noise") if name in options}
            release = sf.publish(table, mechanism, progress=progress, **drawn)
        if claim.kind == "proved":  # paid for: first it is saved, then looked at
            save_or_keep(release, place, **told)
            made(_saved(options))
            beside = _looked_back(release, earlier, table, options, warnings)
        else:
            beside = _tried(release, earlier, table, options)
            save_or_keep(release, place, **told)
            made(_saved(options))
        if mapping is not None:
            with mapping.filled() as file:
                marked_frame(sf.mapping(release)).write_csv(file)
    if options["as_json"]:
        emit(
            {
                "ok": True,
                "folder": options["output"],
                "summary": release.summary().to_json(),
                "claim": release.claim.to_json(),
                "not_published": withheld(mechanism, schema),
                "fingerprints": release.fingerprints().to_json(),
                "undecided": len(undecided),
                "decisions": [decision.as_json() for decision in undecided],
                "warnings": [*warnings, *class_warnings(release)],
                **({} if beside is None else {"against": beside.to_json()}),
            }
        )
        return
    if beside is not None:
        said = beside.describe() if beside.holds else f"Warning: {beside.describe()}"
        say_lines(said, error=not beside.holds)
    estimated = " (estimate)" if release.claim.kind == "estimate" else ""
    table_of(f"Published {schema.name}", [("claim", f"{release.claim.promise}{estimated}"), *size_rows(release)])
    for text in form_notes(release):
        say(text)
    seen = release.fingerprints()
    say(f"{'Warning: ' if seen.above else ''}{seen.describe()}")
    for text in withheld_words(mechanism, schema):
        say(text)
    if options["mapping"] is not None:
        say(f"Wrote the applied mapping to {options['mapping']}: it undoes the release, keep it to yourself.")
    say(_saved(options))


def _saved(options: dict[str, Any]) -> str:
    verifying = shell_command(["sfumato", "verify", operand(options["output"])])
    return f"Saved in {options['output']}. Check it with: {verifying}"


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


def _refuse_waste(claim: Claim, schema: Any, options: dict[str, Any]) -> None:
    """Refuse before anything is read or spent what could not be saved, or could not be done, afterwards."""
    import sfumato as sf
    from sfumato.release.store import refuse_beforehand

    refuse_beforehand(claim, schema, seeded=options["seed"] is not None, **_how_saved(options))
    if options["mapping"] is not None and claim.kind == "proved":
        rule = "a differentially private release has none: its counts are drawn, no row got a label"
        raise sf.ParameterError("mapping", options["mapping"], rule, hint="omit --mapping")
    if options["against"] and options.get("d", 4) < 1:
        raise sf.ParameterError("d", options["d"], "must be at least 1", hint="--d 4")


def _how_saved(options: dict[str, Any]) -> dict[str, Any]:
    told = {"format": options["file_format"], "allow_rehearsal": options["allow_rehearsal"]}
    return told | ({"counts": True} if options.get("counts") else {})


def _mapping_file(options: dict[str, Any], place: Any) -> Any:
    """Return a context that yields the prepared file of --mapping, or None."""
    import contextlib
    import os

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
    """Attack a release together with earlier ones before it is saved; where it is given up, the ledger hears so."""
    import sfumato as sf

    try:
        beside = sf.attacks.against(release, earlier, table, options.get("d", 4)) if earlier else None
        if beside is not None and options["refuse"]:
            beside.require()
    except BaseException:
        if release.account is not None:
            release.account.unsaved("given up when it was tried with --against")
        raise
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


def _show_stages(plan: Any) -> None:
    """Tell what each stage will get and what error to expect, before anything is spent."""
    for stage in plan.stages:
        error = f" Expected error: {stage.expected_error}." if stage.expected_error else ""
        say(f"{stage.name}: {stage.does}. Spends epsilon {stage.budget}.{error}")
    for note in plan.notes:
        if not note.startswith(WARNING):
            say(note)


def _show_plan(plan: Any, claim: Any, *, as_json: bool) -> None:
    if as_json:
        emit({"ok": True, "plan": plan.to_json(), "claim": claim.to_json()})
        return
    for stage in plan.stages:
        spends = "" if stage.budget is None else f" Spends epsilon {stage.budget}."
        error = f" Expected error: {stage.expected_error}." if stage.expected_error else ""
        say(f"{stage.name}: {stage.does}.{spends}{error}")
    for note in plan.notes:
        say(note)
    if plan.refusal is not None:
        say(f"This would be refused: {plan.refusal}")
    say_lines(claim.describe())


def _progress(*, shown: bool) -> Any:
    """Return a context that yields a progress callback: a bar on a terminal, nothing elsewhere."""
    from sfumato.frontiers.progress import progress_of

    return progress_of(shown)
