"""Every error a caller may want to catch, and nothing that carries a cell value.

SfumatoError
├── SchemaError        what was said of the table is wrong, or the table does not fit it
│   └── ReadError      the table cannot be read or encoded as the schema says
├── ParameterError     a parameter outside its rule
├── Infeasible         the requirement cannot be reached on this table
├── BudgetExceeded     the ledger's limit stands in the way
├── ReleaseError       a release cannot be saved, loaded or parsed
└── NotComparable      two things that do not describe the same table

Messages, `repr`, pickles and JSON hold names, rules and numbers of rows. Values of cells are
kept only behind `reveal()`, which the steward's own screen may call. Names come from files that others wrote, so
a message shows their control and invisible characters as escapes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from sfumato.visible import visible


class SfumatoError(Exception):
    """Base of all errors raised on purpose; `except sf.SfumatoError` catches every one of them.

    >>> try:
    ...     sf.PureDP(0)
    ... except sf.SfumatoError as error:
    ...     print(error.hint)
    try 1/2
    """

    hint: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` and the web print; never a cell value."""
        return {"error": type(self).__name__, "message": str(self), "hint": self.hint}


def sentence(text: str) -> str:
    """End a text with a full stop, unless it ends a sentence already."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def count_of(number: int | str, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 row`, `2 rows`; `many` where the plural is not made with an s."""
    return f"{number} {one if str(number) == '1' else many or one + 's'}"


def in_percent(share: float, digits: int = 0) -> str:
    """Return a share in percent, with a space before the sign: `79 %`."""
    return f"{100 * share:.{digits}f} %"


def two_digits(number: float) -> str:
    """Return a number with two digits, or as many as it has before the point: `0.25`, `7.5`, `100`, `1,234`."""
    return f"{number:.2g}" if abs(number) < 10 else f"{number:,.0f}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong: where, which rule, what to do, how many values or rows offend.

    `values` holds the offending cell values. They never enter `str`, `repr`, equality,
    a pickle or JSON; `reveal()` of the error that carries the problem lists them.
    """

    path: str
    rule: str
    hint: str = ""
    count: int | None = None
    rows: int | None = None
    values: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __str__(self) -> str:
        text = sentence(f"{self.path}: {self.rule}")
        return visible(f"{text} Hint: {sentence(self.hint)}" if self.hint else text)

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.path, self.rule, self.hint, self.count, self.rows)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(("path", "rule", "hint", "count", "rows"), state, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "values", ())

    def as_json(self) -> dict[str, Any]:
        """Return the problem without its values."""
        return {
            "path": self.path,
            "rule": self.rule,
            "hint": self.hint,
            "count": self.count,
            "rows": self.rows,
        }


class SchemaError(SfumatoError):
    """All problems of a schema, or of a table against its schema, at once.

    >>> try:
    ...     sf.Schema.parse({"attribute": {"age": {"role": "unknown"}}})
    ... except sf.SchemaError as error:
    ...     print(error.problems[0].path)
    name
    """

    def __init__(self, problems: Iterable[Problem] | Problem) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__(self._message())

    def _message(self) -> str:
        if len(self.problems) == 1:
            return str(self.problems[0])
        lines = [f"{count_of(len(self.problems), 'problem')}:"]
        lines += [f"  {number}. {problem}" for number, problem in enumerate(self.problems, 1)]
        return "\n".join(lines)

    def reveal(self) -> dict[str, tuple[str, ...]]:
        """Return the offending values by path. For the steward's own screen only."""
        found: dict[str, tuple[str, ...]] = {}
        for problem in self.problems:
            if problem.values:
                found[problem.path] = (*found.get(problem.path, ()), *problem.values)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.problems,))

    def as_json(self) -> dict[str, Any]:
        """Return the problems without their values."""
        return {**super().as_json(), "problems": [problem.as_json() for problem in self.problems]}


class ReadError(SchemaError):
    """The table cannot be read, or does not fit its schema: which columns, which rule, how many rows.

    >>> try:
    ...     sf.read("no-such-file.csv", sf.datasets.adult("test").schema)
    ... except sf.ReadError as error:
    ...     print(error.problems[0].rule)
    no such file
    """


class _Nothing(Enum):
    NOTHING = "nothing"


NOTHING = _Nothing.NOTHING
"""In place of the value of a `ParameterError`: nothing was given, and the message has no value."""


class ParameterError(SfumatoError):
    """A parameter outside its rule. `epsilon = 0: must be above 0. Hint: try 1/2.`

    Where the value is `NOTHING`: `column: none is selected. Hint: select at least one column.`

    >>> try:
    ...     sf.KAnonymity(0)
    ... except sf.ParameterError as error:
    ...     print(error.name, "-", error.rule)
    k - must be at least 1
    """

    def __init__(self, name: str, value: object, rule: str, *, hint: str = "") -> None:
        self.name, self.value, self.rule, self.hint = name, value, rule, hint
        tail = f" Hint: {hint}." if hint else ""
        stated = name if value is NOTHING else f"{name} = {value}"
        super().__init__(visible(f"{stated}: {rule}.{tail}"))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_parameter_error, (self.name, self.value, self.rule, self.hint))


def _parameter_error(name: str, value: object, rule: str, hint: str) -> ParameterError:
    return ParameterError(name, value, rule, hint=hint)


class Infeasible(SfumatoError):  # noqa: N818  (the name is part of the public contract)
    """A requirement that no release of this table can meet, with the best that can be reached.

    Where `proved` is false it was only not reached, and `best` is the best that was found. `among` names the part of
    the table that it is about, where a method was tried on a part.

    >>> table = sf.datasets.adult("test")
    >>> try:
    ...     sf.publish(table, sf.Mondrian(sf.LDiversity(14)))
    ... except sf.Infeasible as error:
    ...     print(error.hint[:21])
    ask for at most 7.56.
    """

    def __init__(
        self, asked: object, best: object, why: str, *, hint: str = "", proved: bool = True, among: str = ""
    ) -> None:
        self.asked, self.best, self.why, self.hint, self.proved, self.among = asked, best, why, hint, proved, among
        low = getattr(asked, "at_least", None)  # rounded to what can be asked for: down for l, up for t
        shown = " and ".join(_figure(one, low=low) for one in (best if isinstance(best, tuple) else (best,)))
        verdict, figure = ("cannot be", "Best attainable") if proved else ("was not", "Best found")
        where, tail = f"on {among}: " if among else "", f" Hint: {hint}." if hint else ""
        super().__init__(visible(f"{where}{asked} {verdict} reached: {why}. {figure}: {shown}.{tail}"))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_infeasible, (self.asked, self.best, self.why, self.hint, self.proved, self.among))

    def on(self, among: str) -> Infeasible:
        """Return the same about a part of the table. What is best there says nothing of the whole: no hint is kept."""
        return Infeasible(self.asked, self.best, self.why, proved=self.proved, among=among)


def _figure(best: object, *, low: bool | None) -> str:
    """Write a figure with four digits, rounded down where the lowest is asked for and up where the highest is."""
    if not isinstance(best, float | Fraction) or not math.isfinite(best):
        return str(best)
    digits = Context(prec=4, rounding={True: ROUND_FLOOR, False: ROUND_CEILING, None: ROUND_HALF_EVEN}[low])
    exact = digits.divide(Decimal(best.numerator), Decimal(best.denominator)) if isinstance(best, Fraction) else best
    return f"{float(digits.create_decimal(exact)):.4g}"


def _infeasible(asked: object, best: object, why: str, hint: str, proved: bool, among: str) -> Infeasible:
    return Infeasible(asked, best, why, hint=hint, proved=proved, among=among)


class BudgetExceeded(SfumatoError):  # noqa: N818  (the name is part of the public contract)
    """Publishing would spend more than the population's limit.

    >>> table = sf.datasets.adult("test")
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     ledger = sf.Ledger(f"{folder}/ledger.db")
    ...     ledger.limit("adult-1994", 1)
    ...     try:
    ...         sf.publish(table, sf.DiffGen(2, specializations=5), ledger=ledger)
    ...     except sf.BudgetExceeded:
    ...         print("refused before anything was drawn")
    refused before anything was drawn
    """

    def __init__(self, spent: object, asked: object, limit: object, why: str = "") -> None:
        self.spent, self.asked, self.limit, self.why = spent, asked, limit, why
        self.hint = "ask for less, or ask the owner of the ledger to raise the limit"
        because = f": {why}" if why else ""
        super().__init__(f"epsilon {asked} asked, {spent} of {limit} already spent{because}. Hint: {self.hint}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.spent, self.asked, self.limit, self.why))


class ReleaseError(SfumatoError):
    """A release that cannot be saved, loaded or parsed; `problems` lists every reason.

    >>> try:
    ...     sf.verify("no-such-folder")
    ... except sf.ReleaseError:
    ...     print("not a saved release")
    not a saved release
    """

    def __init__(self, message: str, *, hint: str = "", problems: Sequence[Problem] = ()) -> None:
        self.hint, self.problems, self._text = hint, tuple(problems), message
        lines = [visible(f"{message}. Hint: {hint}." if hint else f"{message}.")]
        lines += [f"  {number}. {problem}" for number, problem in enumerate(self.problems, 1)]
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_release_error, (self._text, self.hint, self.problems))

    def as_json(self) -> dict[str, Any]:
        """Return the message and the problems without cell values."""
        return {**super().as_json(), "problems": [problem.as_json() for problem in self.problems]}


def _release_error(message: str, hint: str, problems: Sequence[Problem]) -> ReleaseError:
    return ReleaseError(message, hint=hint, problems=problems)


class NotComparable(SfumatoError):  # noqa: N818  (the name is part of the public contract)
    """Two things that do not describe the same table or attributes.

    >>> table = sf.datasets.adult("test")
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50)))
    >>> try:
    ...     sf.privacy_loss(sf.datasets.census(100), release)
    ... except sf.NotComparable:
    ...     print("not a release of this table")
    not a release of this table
    """

    def __init__(self, message: str) -> None:
        super().__init__(visible(message))


class PublicationWarning(UserWarning):
    """What a release that is saved shows of people, whatever it promises; the command prints the same words."""
