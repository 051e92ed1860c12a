"""Options several commands share, and how they print."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sfumato.cli.output import say, say_parts, show_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sfumato.errors import Problem

__all__ = [
    "CONFIDENTIAL",
    "DECIMAL",
    "WHOLE",
    "completed_by",
    "file_options",
    "given_options",
    "json_option",
    "named_decisions",
    "print_problems",
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
