"""`sfumato publish NAME`: the command of a mechanism, made from the parameters its class declares.

A parameter without a default is required. A requirement is given by the flags of requirements, a mechanism that another
one builds on by those as well: it is Mondrian under them. `variants` of a class name its other constructors, each a
flag. A method that takes an epsilon also has what a budget needs. A dataclass of another package is described by the
types and defaults of its fields, and `field(metadata={"help": ...})` is the option's help.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from textwrap import shorten
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sfumato.cli.options import (
    WHOLE,
    engine_options,
    file_options,
    json_option,
    parameter_option,
    requirement_of,
    requirement_options,
)
from sfumato.errors import ParameterError
from sfumato.visible import shell_command

if TYPE_CHECKING:
    from sfumato.declare import Parameter

__all__ = ["method_command", "publish"]

F = TypeVar("F", bound=Callable[..., Any])


class _Methods(click.Group):
    """The project's methods, then those of installed packages; each is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_methods())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
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
                "--format",
                "file_format",
                type=click.Choice(["parquet", "csv", "xlsx"]),
                default="parquet",
                show_default=True,
                help="Of the data files; xlsx is Excel.",
            ),
            click.option("--page", type=click.Path(), help="Also write a page about the release for everyone (.html)."),
            click.option("--dry-run", is_flag=True, help="Say what would be done and spent; read no data."),
            click.option(
                "--seed", type=WHOLE, help="Rehearse with a seed; such a release is stamped and not for publication."
            ),
            click.option("--allow-rehearsal", is_flag=True, help="Save a rehearsal all the same, with its stamp."),
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
            click.option("--mapping", type=click.Path(), help="Also write, for you alone, which row got which label."),
            click.option("--ledger", type=click.Path(), help="Ledger to account in; it is made where there is none."),
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
            click.option("--undecided", is_flag=True, help="Publish columns whose role is still a question."),
            *_d_option(function),
            file_options,
            click.option(
                "--driver-cells",
                type=WHOLE,
                help="Distinct combinations of values held at once (20 million); of more, Mondrian finds its first"
                " cuts where the rows are.",
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
    from sfumato.cli.publish import run
    from sfumato.declare import parameters

    declared = parameters(kind)
    flags = [one.flag.replace("-", "_") for one in declared if one.flag]

    def call(**options: Any) -> None:
        typed = options.get("d")
        mechanism = _made(kind, declared, options)
        if "d" in flags:  # `--against` reads it as well
            options["d"] = getattr(mechanism, "d", None) or int(typed or 4)
        run.run(mechanism, **options)

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
    """Take what belongs to the mechanism out of the options, and make it; what is omitted keeps its default."""
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
    """The first paragraph of the class, whose it is where it is not ours, and an example."""
    from sfumato.claims import requirement_words
    from sfumato.declare import written_flag

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
    return f"{about}{whose}\n\nExample: {example}"
