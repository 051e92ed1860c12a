"""Errors of reading, worded once: which file or column, which rule, what to do, never a cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.errors import Problem, ReadError, count_of
from sfumato.io.decode_cell import NULL, OUTSIDE
from sfumato.schema import Attribute, Days, Edges, Grid, Values

VALUES_KEPT = 1_000
_NAMED = 5  # column names that a message lists, and places of each
LAST_DIGITS_LOST = (
    "of 2^53 or more stored as a float, as in spreadsheets, which keeps only the first 15 digits (of 2^24 or more in a "
    "float of four bytes, as in Stata, which keeps 7)"
)
ONE_VALUE = "give a column with one number, text, date or truth value a cell"
DECODE = "decode its bytes as text, as .str.decode('utf-8') does in pandas"
READ_AS_TEXT = "save the column as text, or read it as text or whole numbers (dtype=str in pandas)"


def refused(where: str, rule: str, hint: str, *, values: Sequence[str] = (), count: int | None = None) -> ReadError:
    """Return the error for a file or frame that cannot be read."""
    return ReadError(Problem(where, rule, hint, count=count, values=tuple(values)))


def refuse_names_twice(where: str, names: Sequence[str], *, certain: bool = True) -> None:
    """Raise where columns share a name; where the first line may be no header, they are named by their places alone."""
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        shown = twice[:_NAMED]
        at: dict[str, list[int]] = {name: [] for name in shown}
        for place, name in enumerate(names, 1):
            if name in at:
                at[name].append(place)
        listed = [f"columns {', '.join(map(str, at[name][:_NAMED]))}" for name in shown]
        if certain:
            listed = [f"{name} ({places})" for name, places in zip(shown, listed, strict=True)]
        listed += [f"{len(twice) - _NAMED} more"] if len(twice) > _NAMED else []
        rule = f"has {count_of(len(twice), 'column name that occurs', 'column names that occur')} twice: "
        hint = "give each column a name of its own"
        raise refused(where, rule + "; ".join(listed), hint, values=twice, count=len(twice))


def refuse_unread(unread: Mapping[str, tuple[str, str]], asked: Mapping[str, str]) -> None:
    """Raise for the columns that a file has in a form that is not read; `asked` says who asks for each column."""
    problems = [
        Problem(asked[name], f"column {name} {unread[name][0]}", unread[name][1]) for name in asked if name in unread
    ]
    if problems:
        raise ReadError(problems)


def guessed_reading(name: str, guesses: Sequence[str]) -> ReadError:
    """Return the error for a file whose reading one row could change, where a differentially private claim is asked."""
    what = " and ".join([", ".join(guesses[:-1]), guesses[-1]] if len(guesses) > 1 else guesses)
    rule = f"its {what} {'were' if len(guesses) > 1 else 'was'} guessed from the rows, so that one row could change how"
    rule += " all are read, and a differentially private claim would be false"
    given = {"encoding": "encoding= (--encoding)", "delimiter": "delimiter= (--delimiter)"}
    stated = [given.get(guess, "header= (--header or --no-header)") for guess in guesses]
    return refused(name, rule, f"state {' and '.join(stated)}, known without looking at the rows")


def missing_columns(absent: Sequence[Attribute], columns: Sequence[str], *, guessed: bool) -> list[Problem]:
    """One problem for each attribute whose column is not there; names found are kept behind `reveal()`."""
    hint = f"the table has {count_of(len(columns), 'column')}; set `column` in the schema, or check the delimiter"
    if guessed:
        hint += "; if the file has no header line, say header=False (--no-header)"
    return [
        Problem(attribute.where, f"the column {attribute.column_name} is missing", hint, values=tuple(columns))
        for attribute in absent
    ]


def cell_problems(
    attribute: Attribute, codes: np.ndarray, weights: np.ndarray | None, offending: dict[int, tuple[str, ...]]
) -> list[Problem]:
    """One problem for each rule that cells of a column break."""
    if not len(codes) or codes.min() >= 0:
        return []
    problems = []
    for sign in (OUTSIDE, NULL, -3):
        bad = codes == sign
        rows = int(bad.sum() if weights is None else weights[bad].sum())
        if rows:
            values = offending.get(sign, ())
            rule, hint = _worded(attribute, sign, values, rows)
            count = len(values) or None
            problems.append(Problem(attribute.where, rule, hint, count=count, rows=rows, values=values[:VALUES_KEPT]))
    return problems


def _worded(attribute: Attribute, sign: int, values: Sequence[str], rows: int) -> tuple[str, str]:
    count = len(values)
    column = f"column {attribute.column_name}"
    many = f"{count_of(count, 'distinct value')} in {count_of(rows, 'row')}"
    domain = attribute.domain
    if sign == NULL:
        rule = f"{column} has no value in {count_of(rows, 'row')}"
        return rule, 'say what that means: missing = [""] (a category of its own) or missing = "suppress"'
    if sign == OUTSIDE:
        if isinstance(domain, Grid | Edges | Days):
            return (
                f"{column} has {many} outside the declared range",
                "widen `range`, name them in `missing`, or clamp = true to move them to its ends",
            )
        short = _without_zeros(domain, values) if isinstance(domain, Values) else 0
        if short:
            read = "read it with dtype=str (pandas) or as text, so that 01067 stays 01067"
            what = f"{count_of(short, 'of them is a code', 'of them are codes')} without the leading zeros"
            return f"{column} has {many} not among its declared values; {what}", read
        alike = _in_other_case(domain, values) if isinstance(domain, Values) else 0
        if alike:
            what = f"{count_of(alike, 'of them differs', 'of them differ')} from a declared one only in capital letters"
            said = "spell the declared values as the file does (true and false for a column of booleans)"
            return f"{column} has {many} not among its declared values; {what}", said
        if attribute.declared_tree:
            file = f" {attribute.hierarchy}" if attribute.hierarchy else ""
            return (
                f"{column} has {many} missing from its hierarchy{file}",
                'add a line for each, or other = "Other" to collect them',
            )
        return (
            f"{column} has {many} not among its declared values",
            'add them to `values`, or other = "Other" to collect them',
        )
    rule, hint = _unread(attribute, one=count == 1)
    return f"{column} has {many} that {rule}", hint


def _without_zeros(domain: Values, texts: Sequence[str]) -> int:
    """Count the numbers that are declared codes once zeros stand before them: programs make 1067 or 1067.0 of 01067."""
    lengths = {len(name) for name in domain.names if name.startswith("0") and name.isdigit()}
    numbers = [number for text in texts if (number := text.removesuffix(".0")).isascii() and number.isdigit()]
    return sum(any(number.zfill(length) in domain.index for length in lengths) for number in numbers)


def _in_other_case(domain: Values, texts: Sequence[str]) -> int:
    """Count the texts that are declared values but for capital letters: a boolean True is read as true."""
    known = {name.casefold() for name in domain.names}
    return sum(text.casefold() in known for text in texts)


def _unread(attribute: Attribute, *, one: bool) -> tuple[str, str]:
    """Say what cells are not, and how to make the file and the schema agree on how days and numbers are written."""
    be = "is" if one else "are"
    if isinstance(attribute.domain, Days):
        if attribute.format is not None:
            return f"{be} no date written {attribute.format}", "change `format`, or name them in `missing`"
        how = 'say how the file writes them (format = "%d.%m.%Y" for 31.12.2024)'
        return f"{be} not an ISO date", f"write them as 2024-05-31, {how}, or name them in `missing`"
    if not attribute.numbers.plain:
        how = f"{'is not a number' if one else 'are not numbers'} written like {attribute.numbers.example}"
        return how, "change `decimal`, `thousands` or `units`, or name them in `missing`"
    if isinstance(attribute.domain, Values):  # the only cells that cannot be looked up in a list
        return f"{'is a number' if one else 'are numbers'} {LAST_DIGITS_LOST}", READ_AS_TEXT
    how = 'say how the file writes them (decimal = "," for 1234,5; thousands = "," for 1,234; units = ["$"])'
    return f"{be} not a number", f"write them as 1234.5, {how}, or name them in `missing`"
