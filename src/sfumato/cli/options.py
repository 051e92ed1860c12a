"""Options several commands share, and how they print."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sfumato.cli.output import say, say_parts, show_table
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sfumato.claims import Requirement
    from sfumato.errors import Problem

__all__ = [
    "CONFIDENTIAL",
    "DECIMAL",
    "REQUIREMENT_FLAGS",
    "WHOLE",
    "completed_by",
    "file_options",
    "given_options",
    "json_option",
    "named_decisions",
    "print_problems",
    "refuse_target",
    "requirement_of",
    "requirement_options",
    "table_of",
]


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
        click.option("--sheet", help="Sheet of an Excel file, where several hold values."),
        click.option("--encoding", help="Encoding of a text file, such as latin-1."),
        click.option("--delimiter", help="Delimiter of a CSV file, such as ';'."),
    ):
        function = option(function)
    return function


def given_options(**options: Any) -> dict[str, Any]:
    """Keep what was given."""
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
    """Name every value where the list can be read; of thousands, the first few and how many more there are."""
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
    """Refuse a path that could not be written when the work is done; None is no path and is fine.

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
    """Whether something is there, a link that leads nowhere included; a name that no file can have is an error."""
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


# Typed flags for requirements: --k 10 --l 3 --t 0.2 --delta 1.5 --alpha 0.5 --beta 2.


REQUIREMENT_FLAGS = ("k", "l", "l_kind", "c", "t", "distance", "delta", "sides", "absent", "alpha", "beta")


def requirement_options(function: F) -> F:
    """Add the requirement flags, in the order they are read."""
    for option in reversed(
        (
            click.option(
                "--k",
                help="k-anonymity: every class has at least k people (rows, where the schema names none).",
            ),
            click.option("--l", help="l-diversity of each sensitive attribute."),
            click.option(
                "--l-kind",
                type=click.Choice(["probability", "distinct", "entropy", "recursive"]),
                help="Which l-diversity (default: probability).",
            ),
            click.option("--c", help="The constant c of recursive (c, l)-diversity."),
            click.option("--t", help="t-closeness to the overall distribution."),
            click.option("--distance", type=click.Choice(["js", "emd"]), help="Distance of t-closeness (default: js)."),
            click.option("--delta", help="delta-disclosure (semantic privacy)."),
            click.option(
                "--sides",
                type=click.Choice(["two", "one"]),
                help="delta-disclosure: bound both sides (default) or one.",
            ),
            click.option(
                "--absent",
                type=click.Choice(["fail", "ignore"]),
                help="delta-disclosure: values absent from a class (default: fail).",
            ),
            click.option("--alpha", help="With --k: (alpha, k)-anonymity, no value above the share alpha."),
            click.option("--beta", help="beta-likeness."),
        )
    ):
        function = option(function)
    return function


def requirement_of(asked: Mapping[str, Any]) -> Requirement | None:
    """Return the conjunction of what was asked, None when nothing was."""
    import sfumato as sf
    from sfumato.errors import ParameterError

    parts: list[Requirement] = []
    if asked.get("alpha") is not None:
        if asked.get("k") is None:
            raise ParameterError("alpha", asked["alpha"], "goes with --k", hint="--alpha 0.5 --k 10")
        parts.append(sf.AlphaK(_number("alpha", asked), k=_whole("k", asked)))
    elif asked.get("k") is not None:
        parts.append(sf.KAnonymity(_whole("k", asked)))
    if asked.get("l") is not None:
        extra = {} if asked.get("c") is None else {"c": _number("c", asked)}
        parts.append(sf.LDiversity(_number("l", asked), kind=asked.get("l_kind") or "probability", **extra))
    if asked.get("t") is not None:
        parts.append(sf.TCloseness(_number("t", asked), distance=asked.get("distance") or "js"))
    if asked.get("delta") is not None:
        parts.append(
            sf.SemanticPrivacy(
                _number("delta", asked), sides=asked.get("sides") or "two", absent=asked.get("absent") or "fail"
            )
        )
    if asked.get("beta") is not None:
        parts.append(sf.BetaLikeness(_number("beta", asked)))
    if not parts:
        return None
    whole = parts[0]
    for part in parts[1:]:
        whole = whole & part
    return whole


def _number(name: str, asked: Mapping[str, str | None]) -> Any:
    """Read a parameter as the decimal or fraction it is written as."""
    from sfumato.errors import ParameterError
    from sfumato.limits import fraction_of, number_fault

    text = str(asked[name])
    value = fraction_of(text)
    if value is None:
        wrong = number_fault(text)
        hint = f"--{name} 10" if name == "k" else f"--{name} 0.2 or --{name} 1/5"
        rule = wrong if wrong.startswith("has") else "is not a number"
        raise ParameterError(name, text[:60], rule, hint=hint)
    return int(value) if value.denominator == 1 else value


def _whole(name: str, asked: Mapping[str, str | None]) -> int:
    from sfumato.errors import ParameterError

    value = _number(name, asked)
    if not isinstance(value, int):
        raise ParameterError(name, asked[name], "must be a whole number", hint=f"--{name} 10")
    return value
