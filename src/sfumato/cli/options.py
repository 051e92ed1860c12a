"""Options several commands share, and how they print."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sfumato.cli.output import say, say_parts, show_table
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sfumato.claims import Requirement
    from sfumato.declare import Parameter
    from sfumato.errors import Problem


class _Whole(click.types.IntParamType):
    """A whole number as people write it: Python would also take 2_0 for 20."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        given: Any = "" if "_" in str(value) else value
        return super().convert(given, param, ctx)


class _Decimal(click.types.FloatParamType):
    """A number as people write it: Python would also take 2_0.5 for 20.5."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        given: Any = "" if "_" in str(value) else value
        return super().convert(given, param, ctx)


WHOLE, DECIMAL = _Whole(), _Decimal()
F = TypeVar("F", bound=Callable[..., Any])
_LISTED, _SAMPLE = 200, 20  # offending values that are all shown; how many are where there are more

CONFIDENTIAL = "The values above are from your file: confidential. Do not pass this output on; --json leaves them out."

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def file_options(function: F) -> F:
    """How a file is written, where that cannot be found by looking at it, and which sheet is read."""
    for option in (
        click.option(
            "--no-header", "header", flag_value=False, default=None, type=bool, help="The first line is data."
        ),
        click.option(
            "--header", "header", flag_value=True, default=None, type=bool, help="The first line names the columns."
        ),
        click.option("--sheet", help="Sheet of an Excel file, if several hold values."),
        click.option("--encoding", help="Encoding of a text file, such as latin-1."),
        click.option("--delimiter", help="Delimiter of a CSV file, such as ';'."),
    ):
        function = option(function)
    return function


def engine_options(function: F) -> F:
    """Where the data is read and counted."""
    for option in (
        click.option("--remote", help="With --engine spark: a Spark Connect server, such as sc://localhost:15002."),
        click.option("--master", help="With --engine spark: a cluster, or this machine: local[2]."),
        click.option(
            "--engine",
            type=click.Choice(["spark"]),
            help="Read and count with Spark: Parquet, or CSV with a header line, from a path the cluster can read.",
        ),
    ):
        function = option(function)
    return function


def engine_of(options: dict[str, Any]) -> Any:
    """Return the Spark session that the options name, or None."""
    if options["engine"] is None:
        for name in ("master", "remote"):
            if options[name] is not None:
                raise ParameterError(name, options[name], "is for Spark", hint="add --engine spark")
        return None
    from sfumato.engines import spark_session

    return spark_session(master=options["master"], remote=options["remote"])


def given_options(**options: Any) -> dict[str, Any]:
    """Keep the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def completed_by(names: Callable[[], Iterable[str]]) -> Callable[[Any, Any, str], list[str]]:
    """Let a shell complete a value from names that are looked up only then."""
    return lambda _context, _parameter, begun: [name for name in names() if name.startswith(begun)]


def print_problems(title: str, problems: Iterable[Problem], *, reveal: bool, style: str) -> None:
    """List problems; with `reveal` also the offending values, on the steward's own screen, marked as confidential."""
    from sfumato.errors import sentence

    say(title, style=f"bold {style}")
    last: tuple[tuple[str, ...], str] = ((), "")
    listed = list(problems)
    for number, problem in enumerate(listed, 1):
        say_parts((f"  {number}. ", ""), (problem.path, "bold"), (f": {sentence(problem.rule)}", ""))
        if (problem.values, problem.hint) == last:  # said just above, as when every column is absent
            continue
        last = (problem.values, problem.hint)
        if reveal and problem.values:
            say(f"     values: {_listed(problem)}")
        if problem.hint:
            say(f"     {sentence(problem.hint)}", style="dim")
    if reveal and any(problem.values for problem in listed):
        say(CONFIDENTIAL, style="bold")


def named_decisions(decisions: Iterable[Problem]) -> str:
    """Return what open decisions are about, by column: `rows_per_person, age (role, range)`."""
    about: dict[str, list[str]] = {}
    for decision in decisions:
        topics = about.setdefault(decision.path.removeprefix("attribute."), [])
        if decision.path.startswith("attribute."):
            topics.append(decision.rule.partition(":")[0])
    return ", ".join(f"{name} ({', '.join(topics)})" if topics else name for name, topics in about.items())


def _listed(problem: Problem) -> str:
    """Name every value of a short list; for thousands, the first few and how many more there are."""
    total = max(problem.count or 0, len(problem.values))
    shown = problem.values if total <= _LISTED else problem.values[:_SAMPLE]
    more = f" and {total - len(shown)} more" if total > len(shown) else ""
    return ", ".join(repr(value) for value in shown) + more


def table_of(title: str, rows: Iterable[tuple[str, object]]) -> None:
    """Print pairs as a small table."""
    say(title)
    show_table([((name, "bold"), value) for name, value in rows])


# Files and folders that a command is asked to write: what cannot be written is refused before the work.


def refuse_target(
    option: str, given: str | None, *, endings: Sequence[str] = (), new: bool = False, folder: bool = False
) -> None:
    """Refuse a path that could not be written when the work is done; None, for no path, is accepted.

    endings  those a file may have, such as ".html"; new  it must not exist yet; folder  it is a folder.
    """
    if given is None:
        return
    target = Path(given)
    if endings and target.suffix.lower() not in endings:
        named = ", ".join(endings[:-1]) + f" or {endings[-1]}" if len(endings) > 1 else endings[0]
        raise ParameterError(option, target.name, f"must end with {named}")
    try:
        exists = _exists(target)
        if exists and new:
            raise ParameterError(option, target.name, "exists already", hint="name another, or move it away")
        if exists and not folder and target.is_dir():
            raise ParameterError(option, target.name, "is a folder", hint="name a file")
        _refuse_place(target if exists else _above(target))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "not a name of a file"
        hint = "name a place where you may write"
        raise ParameterError(option, target.name, f"cannot be written ({why})", hint=hint) from None


def _exists(target: Path) -> bool:
    """Return whether a path exists, broken links included; a name that no file can have is an error."""
    try:
        os.lstat(target)
    except FileNotFoundError:
        return False
    return True


def _above(target: Path) -> Path:
    """Return the nearest folder above that is there."""
    for parent in Path(os.path.abspath(target)).parents:  # noqa: PTH100  (no link is resolved)
        if _exists(parent):
            if not parent.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            return parent
    return Path(target.anchor)  # pragma: no cover  (the root is always there)


def _refuse_place(place: Path) -> None:
    if not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


# Flags of parameters: what a class declares, as click options.


def parameter_option(one: Parameter) -> Any:
    """Return the option for one parameter. What is typed is read by the class, which knows the rule and a hint."""
    name = one.flag.replace("-", "_")
    if one.kind == "flag":
        flag = f"--{one.flag}/--no-{one.flag}" if one.default else f"--{one.flag}"
        return click.option(flag, name, is_flag=True, default=None, help=one.help or None)
    kind: Any = click.Choice(list(one.choices)) if one.choices else WHOLE if one.typed else str
    shown = {"whole": "INTEGER", "number": "NUMBER"}.get(one.kind)
    default = "" if one.default is None or "default" in one.help else f"[default: {_plainly(one)}]"
    about = f"{one.help} {default}".strip() or None
    return click.option(
        f"--{one.flag}", name, type=kind, metavar=shown, required=one.required, multiple=one.several, help=about
    )


def _plainly(one: Parameter) -> str:
    from fractions import Fraction

    from sfumato.exact import plain

    return plain(one.default) if isinstance(one.default, Fraction) else str(one.default)


def requirement_options(function: F, without: Sequence[str] = ()) -> F:
    """Add the flags of every requirement, in the order in which they are declared; each may be omitted."""
    from dataclasses import replace

    from sfumato.claims import requirement_flags

    for name, one in reversed(requirement_flags().items()):
        if name not in without:
            function = parameter_option(replace(one, required=False, default=None))(function)
    return function


def requirement_of(options: dict[str, Any]) -> Requirement | None:
    """Remove the flags of requirements from the options; return their conjunction, None if there are none."""
    from sfumato.claims import asked_for, requirement_flags

    return asked_for({name: options.pop(name) for name in requirement_flags() if name in options})
