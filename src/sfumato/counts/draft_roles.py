"""What a column may be: proposals of role, kind, range and hierarchy from its name and its values."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from sfumato.counts.draft_columns import ColumnFacts
from sfumato.schema import Role

__all__ = ["Proposal", "proposals", "public_looking"]

_IDENTIFIER = {
    *("id", "ids", "name", "names", "surname", "firstname", "lastname", "ssn", "email", "mail", "phone", "telephone"),
    *("uuid", "guid", "address", "passport", "licence", "license", "account", "mrn", "nhs", "iban", "url", "username"),
}
_QUASI = {
    *("age", "sex", "gender", "zip", "zipcode", "postal", "postcode", "race", "ethnic", "ethnicity", "hispanic"),
    *("birth", "birthdate", "birthday", "birthplace", "born", "dob", "education", "school", "degree", "marital"),
    *("country", "nationality", "citizenship", "native", "state", "county", "city", "town", "region", "tract"),
    *("block", "geocode", "relationship", "household", "family", "veteran", "workclass", "language", "residence"),
}
_SENSITIVE = {
    *("occupation", "job", "salary", "income", "wage", "wages", "earnings", "diagnosis", "disease", "illness"),
    *("condition", "treatment", "drug", "medication", "disability", "hiv", "religion", "crime", "offence", "debt"),
    *("score", "result", "capital"),
}
_INLINE = 200
_CELLS = 1_000
_YEARS = 200
_CODE = re.compile(r"[0-9]{4,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Proposal:
    """One `[attribute.NAME]` table: its lines in order and what a person must decide."""

    name: str
    _: KW_ONLY
    role: Role
    kind: str
    lines: tuple[tuple[str, Any, str], ...] = ()
    decide: tuple[str, ...] = ()
    why: str = ""


def proposals(facts: Sequence[ColumnFacts]) -> list[Proposal]:
    """Return one proposal for each column; where no name gives a quasi-identifier, values decide."""
    found = [_proposal(column, _role(column)) for column in facts]
    if any(proposal.role == "quasi" for proposal in found):
        return found
    return [
        _proposal(column, "quasi") if proposal.role == "other" and _could_be_quasi(column) else proposal
        for column, proposal in zip(facts, found, strict=True)
    ]


def _tokens(name: str) -> set[str]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return {token for token in re.split(r"[^a-z]+", spaced.lower()) if token}


def _role(column: ColumnFacts) -> Role:
    tokens = _tokens(column.name)
    measured = column.numbers is not None and not column.whole
    if not column.plain or not column.distinct:
        return "other"
    if tokens & _IDENTIFIER and not tokens & (_QUASI | _SENSITIVE):
        return "identifier"
    counted = column.numbers is not None and tokens & (_QUASI | _SENSITIVE)
    if column.uniqueness > 0.95 and column.distinct > 20 and not (measured or counted or column.days):
        return "identifier"
    if tokens & _SENSITIVE:
        return "sensitive"
    return "quasi" if tokens & _QUASI else "other"


def _could_be_quasi(column: ColumnFacts) -> bool:
    return column.numbers is not None or column.days is not None or 0 < column.distinct <= _INLINE


def _proposal(column: ColumnFacts, role: Role) -> Proposal:
    looks = f"they look like {column.form} and draft again" if column.form else ""
    if role == "identifier":
        why = f"{column.distinct} distinct values in {column.rows} rows, or a name that points to a person"
        why = f"{why}; {looks}" if looks else why
        return Proposal(column.name, role=role, kind="nominal", why=why, decide=("role: does it point to one person?",))
    made = _described(column, role)
    if made is None:
        why = "too many values to list" if column.plain and column.distinct else "no plain values in it"
        why = f"{why}; {looks}" if looks else why
        decide = ("role and domain: give it values, a mask or groups before it can be published",)
        return Proposal(column.name, role="other", kind="nominal", why=why, decide=decide)
    question = {
        "quasi": "role: could an outsider know this of a person? else sensitive or other",
        "sensitive": "role: must it stay unlinked to the person? else quasi or other",
        "other": "role: other is not published; quasi if an outsider could know it, sensitive if it must stay unlinked",
    }[role]
    return replace(made, decide=(question, *made.decide), why=looks)


def _described(column: ColumnFacts, role: Role) -> Proposal | None:
    if column.days is not None:
        return _dates(column, role)
    tokens = _tokens(column.name)
    if column.texts is not None and _is_code(column, tokens):
        return _code(column, role)
    if column.numbers is not None and not (column.whole and column.distinct <= 2):
        return _numeric(column, role, *column.numbers)
    if column.texts is None or not column.texts or (role == "other" and len(column.texts) > _INLINE):
        return None
    decide = ("hierarchy: group similar values, else a value is kept or becomes *",) if len(column.texts) > 2 else ()
    lines = [("values", list(column.texts), "every value of the file; add what may occur and is not in it")]
    return Proposal(
        column.name,
        role=role,
        kind="nominal",
        lines=(*lines, *_missing(column)),
        decide=decide if role == "quasi" else (),
    )


def _missing(column: ColumnFacts) -> list[tuple[str, Any, str]]:
    texts = sorted({*column.no_value, ""} if column.nulls or "" in column.no_value else column.no_value)
    if not texts:
        return []
    return [("missing", texts, 'a category of its own; or { values = [...], action = "suppress" } to leave rows out')]


def _is_code(column: ColumnFacts, tokens: set[str]) -> bool:
    texts = column.texts or ()
    if not texts or not all(_CODE.fullmatch(text) for text in texts) or len({len(text) for text in texts}) > 1:
        return False
    named = bool(tokens & {"zip", "zipcode", "postal", "postcode", "geocode", "tract", "block", "fips", "code"})
    return named or column.numbers is None


def _code(column: ColumnFacts, role: Role) -> Proposal | None:
    assert column.texts is not None
    length = len(column.texts[0])
    lines: list[tuple[str, Any, str]] = []
    if length > 5:
        if role == "other" and len(column.texts) > _INLINE:
            return None
        lines.append(("values", list(column.texts), "every code of the file; the list of all codes is usually public"))
    lines.append(("mask", {"length": length, "from": "right"}, "the last digits are masked first"))
    decide = ("mask: do the first digits mean the wider area?",)
    return Proposal(column.name, role=role, kind="nominal", lines=(*lines, *_missing(column)), decide=decide)


def _numeric(column: ColumnFacts, role: Role, low: Decimal, high: Decimal) -> Proposal:
    start, end, step = public_looking(low, high, whole=column.whole)
    lines: list[tuple[str, Any, str]] = [
        ("range", [start, end], "[low, high), rounded outwards from the file; write the publicly known bounds"),
        ("step", step, "width of a cell"),
    ]
    widths = [width for width in (step * 5, step * 10, step * 20, step * 100) if width * 2 <= end - start]
    if role == "quasi" and widths:
        lines.append(("intervals", widths, "widths of the hierarchy's intervals"))
    doubt = ("missing: do the texts in it say that there is no value?",) if column.strays else ()
    decide = ("range: is it known without the file?", *doubt)
    return Proposal(column.name, role=role, kind="numeric", lines=(*lines, *_missing(column)), decide=decide)


def public_looking(low: Decimal, high: Decimal, *, whole: bool) -> tuple[Decimal, Decimal, Decimal]:
    """Round a range outwards to bounds a person might have written, and give its cells a round width."""
    span = high - low
    power = span.adjusted() if span > 0 else 0
    unit = Decimal(10) ** (max(power, 1) if whole else power)
    start = (low / unit).to_integral_value(rounding=ROUND_FLOOR) * unit
    if 0 <= low < max(span, unit):
        start = Decimal(0)
    end = ((high / unit).to_integral_value(rounding=ROUND_FLOOR) + 1) * unit
    step = Decimal(1) if whole else unit / 100
    while (end - start) / step > _CELLS:
        step *= 10
    cells = ((end - start) / step).to_integral_value(rounding=ROUND_CEILING)
    return start, start + cells * step, step


def _dates(column: ColumnFacts, role: Role) -> Proposal:
    assert column.days is not None
    first, last = column.days
    start = dt.date(first.year, 1, 1)
    end = dt.date(last.year + 1, 1, 1) if last.year < dt.MAXYEAR else dt.date.max  # which is never among the days
    lines: list[tuple[str, Any, str]] = [
        ("range", [start.isoformat(), end.isoformat()], "whole years; the day after the last")
    ]
    if role == "quasi" and last.year - first.year < _YEARS:
        lines.append(("dates", ["month", "year"], "levels of the hierarchy"))
    decide = ("range: is it known without the file?",)
    return Proposal(column.name, role=role, kind="date", lines=(*lines, *_missing(column)), decide=decide)
