"""What a column may be: proposals of role, kind, range and hierarchy from its name and its values."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import polars as pl

from sfumato.drafting.columns import ColumnFacts
from sfumato.drafting.infer_formats import spoken
from sfumato.drafting.table import Related, TableFacts
from sfumato.errors import count_of
from sfumato.schema import Role
from sfumato.schema.answer_codes import maybe_no_answer
from sfumato.schema.checks import plain_spelling
from sfumato.schema.domain import decimal_or_none
from sfumato.schema.formats import NumberForm, format_day
from sfumato.schema.free_text import are_categories, looks_like_free_text, with_given_names
from sfumato.schema.key_names import addresses, household_like, measure_like, visit_like
from sfumato.schema.near_values import near_pairs
from sfumato.schema.word_hints import both, code_like, names_a_category, names_time_or_place, reason, suggested

_FREE = (
    "role: is it free text? it may hold names: leave it other; else quasi or sensitive, with its values in `values` "
    "or `groups`"
)
_WORDY = "role: is it free text? it may hold names: then other;"
_SAME = (
    "same: do values that differ only in case, accents or punctuation mean the same{}? then same = { value = "
    "[other spellings of it] }, and `values` or `groups` without those spellings"
)
_SOME_NAMED = " (the comment at `values` names some)"
_NEAR = (
    "same: may {} be spellings of one value (the comment at `values` names them)? then same = "
    "{{ value = [other spellings of it] }}, and `values` or `groups` without those spellings; each value counts as "
    "another one otherwise"
)
_SPELLINGS = 3  # values that a comment names with another spelling
_LABELS = 20  # labels of numbers that a question names
_NAMED = 5  # pairs of values that a comment names, and texts for no value that a question does
_MASK = (
    "mask: do the first digits mean the wider area? cells then read 50***; list the codes there are in `values`, where "
    "that list is public"
)
_GROUPS = "groups: which values are alike? without groups a value is kept or becomes *"
_RANGE = "range: which bounds are publicly known? write those; where none are, leave it"
_END_CODES = {
    "smallest": re.compile(r"-(?:1|7+|8+|9+)", re.ASCII),
    "largest": re.compile(r"9{2,}[6-9]|7{3,}|8{3,}", re.ASCII),
}
_ALIKE = "anyone who knows one knows the other: give both the same role, or make one of them other"
_INLINE = 200
_CELLS = 1_000
_YEARS, _YEAR = 200, 4
_NUMBERED, _HOUSEHOLDS = 20, 0.1  # distinct values, and those a row, from which on households are numbered
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
    why: tuple[str, ...] = ()


def proposals(facts: Sequence[ColumnFacts], seen: TableFacts, *, key: str = "") -> list[Proposal]:
    """Return one proposal for each column; where no name gives a quasi-identifier, values decide.

    key     the column that says who a row is about: it cannot be published as it is.
    """
    found = [proposed(column, "identifier" if column.name == key else _role(column)) for column in facts]
    if not any(proposal.role == "quasi" for proposal in found):
        found = [
            proposed(column, "quasi") if proposal.role == "other" and _could_be_quasi(column) else proposal
            for column, proposal in zip(facts, found, strict=True)
        ]
    published = {proposal.name: proposal.role for proposal in found if proposal.role not in ("identifier", "other")}
    related: dict[str, list[Related]] = {}
    said: dict[str, list[str]] = {}
    for pair in seen.related:
        known = {pair.first, pair.second} & published.keys()
        if len({published[name] for name in known}) == 2:
            related.setdefault(pair.second, []).append(pair)
        elif len(known) == 2 and pair.ways == 2:  # nothing to decide, as long as both have one role
            said.setdefault(pair.second, []).append(str(pair))
        elif len(known) == 1 and pair.ways == 2:  # nothing to decide, as long as the other stays unpublished
            hidden = pair.first if pair.second in known else pair.second
            said.setdefault(known.pop(), []).append(f"{pair}; {' '.join(hidden.split())} is not published")
    for one in seen.repeated:
        said.setdefault(one.name, []).insert(0, str(one))
    return [_beside(proposal, related, said, seen.unread) for proposal in found]


def _beside(
    proposal: Proposal,
    related: Mapping[str, list[Related]],
    said: Mapping[str, list[str]],
    unread: Mapping[str, str],
) -> Proposal:
    """Add to a proposal what the rows show together."""
    why, decide = [*proposal.why, *said.get(proposal.name, ())], list(proposal.decide)
    if proposal.name in unread:
        why.append(f"not read: {unread[proposal.name]}")
    decide += [f"related: {pair}; {_ALIKE}" for pair in related.get(proposal.name, ())]
    return replace(proposal, why=tuple(why), decide=tuple(decide))


def _role(column: ColumnFacts) -> Role:
    named = suggested(column.name)
    measured = column.numbers is not None and not column.whole
    if not column.plain or not column.distinct:
        return "other"
    if named == {"identifier"} or (
        "identifier" in named and (household_like(column.name) or visit_like(column.name))
    ):  # prescription_id is no illness
        return "identifier"
    numbered = column.distinct > _NUMBERED and column.uniqueness > _HOUSEHOLDS and not measured
    household = household_like(column.name) and numbered  # not the kind or size of a household
    if household or _reached(column) or _names(column):
        return "identifier"
    counted = column.numbers is not None and named and "identifier" not in named  # birth_id is no day of birth
    if column.uniqueness > 0.95 and column.distinct > 20 and not (measured or counted or column.days):
        return "identifier"
    shared = bool(reason(column.name)) and 2 * column.distinct <= column.rows - column.nulls
    if _free_text(column) and not (named and (are_categories(column.distinct, column.rows - column.nulls) or shared)):
        return "other"
    if "sensitive" in named:
        return "sensitive"
    return "quasi" if "quasi" in named else "other"


def _reached(column: ColumnFacts) -> bool:
    return addresses(pl.Series(column.texts or (), dtype=pl.String))


def _names(column: ColumnFacts) -> bool:
    known = names_a_category(column.name)
    return column.numbers is None and column.days is None and bool(with_given_names(column.texts or (), known=known))


def _free_text(column: ColumnFacts) -> bool:
    if column.numbers is not None or column.days is not None:
        return False
    return looks_like_free_text(column.texts or (), rows=column.rows - column.nulls)


def may_be_key(column: ColumnFacts) -> bool:
    """Whether a column may say who a row is about, whatever it is called: no quantity, day, place or free text."""
    measured = column.numbers is not None and not column.whole
    if measured or column.days is not None or column.lost_digits or _free_text(column):
        return False
    return not (measure_like(column.name) or names_time_or_place(column.name) or household_like(column.name))


def _could_be_quasi(column: ColumnFacts) -> bool:
    if _free_text(column):
        return False
    return column.numbers is not None or column.days is not None or 0 < column.distinct <= _INLINE


def proposed(column: ColumnFacts, role: Role) -> Proposal:
    """Describe a column in a given role, whatever its name suggests."""
    ask = _spelling(column)
    if role == "identifier":
        named = "identifier" in suggested(column.name)
        home = household_like(column.name)
        seen = f"{count_of(column.distinct, 'distinct value')} in {count_of(column.rows, 'row')}"
        if named or home:
            why = (f"{seen}; its name points to a {'household' if home else 'person'}",)
        elif _reached(column):
            why = (f"{seen}; they look like addresses or telephone numbers, which point to a person",)
        elif _names(column):
            why = (f"{seen}; they look like names of people",)
        else:
            has = "every row" if not column.blank else "every row that has one"
            why = (f"{seen}: nearly {has} has its own",)
        question = "role: does it point to one person, or is it free text? keep identifier; else quasi or sensitive"
        return Proposal(column.name, role=role, kind="nominal", why=why, decide=(question, *ask))
    if role == "other" and _free_text(column):  # its values are not even listed: the file may be shown around
        why = ("values of several words",)
        return Proposal(column.name, role=role, kind="nominal", why=why, decide=(_FREE, *ask))
    made = _described(column, role)
    if made is None:
        many = "too many values to list" if column.plain and column.distinct else "no plain values in it"
        why = ("numbers that lost their last digits" if column.lost_digits else many,)
        decide = ("role: other is not published; for another role give it values, a mask or groups", *ask)
        return Proposal(column.name, role="other", kind="nominal", why=why, decide=decide)
    doubt = _asked_of_none(column, listed=any(key == "values" for key, _, _ in made.lines))
    doubt += _asked_of_labels(column, listed=any(key == "values" for key, _, _ in made.lines))
    doubt += _code_at_an_end(column, *column.numbers) if made.kind == "numeric" and column.numbers else ()
    doubt += _day_for_none(column)
    # What is not published needs no range, groups or mask. How it is written, and what means that there is no value, is
    # asked: the role may change yet.
    needed = made.decide if role != "other" else ()
    known = reason(column.name) if role == "quasi" else ""
    return replace(made, decide=(_question(column, role), *ask, *doubt, *needed), why=(known,) if known else ())


def _asked_of_none(column: ColumnFacts, *, listed: bool) -> tuple[str, ...]:
    """Ask whether what was taken for no value is none, and whether what might be is an answer.

    Not of empty cells, nor of the NaN that programs write among numbers.
    """
    usual = {"", "NaN", "nan"} if column.numbers is not None or column.days is not None else {""}
    none = [text for text in column.no_value if text not in usual]
    found: tuple[str, ...] = ()
    if none:
        does, them = ("does", "it") if len(none) == 1 else ("do", "an answer")
        move = f" else move {them} to `values`" if listed else ""
        found += (f"missing: {does} {_texts_named(column, none)} say that there is no value?{move}",)
    if column.answers and listed:
        named = _texts_named(column, column.answers)
        if len(column.answers) == 1:
            found += (f"values: is {named} an answer? if it says that there is no value, move it to `missing`",)
        else:
            found += (f"values: are {named} answers? if they say that there is no value, move them to `missing`",)
    return found


def _asked_of_labels(column: ColumnFacts, *, listed: bool) -> tuple[str, ...]:
    """Ask of the numbers of a scale variable that have a label: it may say, in any language, that there is no value."""
    named = [f"{number} as '{label}'" for number, label in column.labels.numbers.items()]
    if not named:
        return ()
    named[_LABELS:] = [f"{len(named) - _LABELS} more"] if len(named) > _LABELS else []
    said = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
    one = "it say" if len(named) == 1 else "one of them say"
    topic, then = ("values", "if so, move its number") if listed else ("missing", "then add its number")
    return (f"{topic}: the file labels {said}: does {one} that there is no value? {then} to `missing`",)


def _texts_named(column: ColumnFacts, texts: Sequence[str]) -> str:
    """Name texts with their numbers of rows, in the order in which the file lists them."""
    ordered = sorted(texts)
    rows = {text: count_of(f"{column.rows_of.get(text, 0):,}", "row") for text in ordered}
    named = [f"'{text}' ({rows[text]})" if column.rows_of.get(text) else f"'{text}'" for text in ordered[:_NAMED]]
    if len(ordered) > _NAMED:
        named.append(f"{len(ordered) - _NAMED} more")
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))


def _spelling(column: ColumnFacts) -> tuple[str, ...]:
    """Ask whether days and numbers were understood, where they are not written as 2024-05-31 and 1234.5."""
    if all(column.percent):
        marked, bare = (count_of(f"{rows:,}", "row") for rows in column.percent)
        mean = f"% stands beside the number in {marked} and not in {bare}: are those percentages, too?"
        return (*column.spelling.ask, f"units: {mean} where 0.45 means 45%, write it so and draft again")
    if column.spelling.ask:
        return column.spelling.ask
    if column.days is not None and column.spelling.format is not None:
        return (f"format: does the file write its dates as {spoken(column.spelling.format)}?",)
    form = column.spelling.numbers
    if form.units and not form.thousands and form.decimal == ".":
        return (f"units: does the file write {', '.join(form.units)} beside its numbers?",)
    if form.thousands or form.units:
        plain = replace(form, units=()).example
        beside = f", with {', '.join(form.units)} beside them" if form.units else ""
        return (f"{'thousands' if form.thousands else 'units'}: does the file write its numbers as {plain}{beside}?",)
    return ("decimal: do the commas mark decimals?",) if form.commas else ()


def _question(column: ColumnFacts, role: Role) -> str:
    if _free_text(column):
        return f"{_WORDY} {_asked(column, role).removeprefix('role: ')}"
    return _asked(column, role)


def _asked(column: ColumnFacts, role: Role) -> str:
    if role == "sensitive" and both(column.name):
        return "role: must it stay unlinked to the person? quasi where an outsider could see or know it"
    return {
        "quasi": "role: could an outsider know this of a person? else sensitive or other",
        "sensitive": "role: must it stay unlinked to the person? else quasi or other",
        "other": "role: other is not published; quasi if an outsider could know it, sensitive if it must stay unlinked",
    }[role]


def _described(column: ColumnFacts, role: Role) -> Proposal | None:
    if column.days is not None:
        return _dates(column, role)
    if column.texts is not None and _is_code(column):
        return _code(column, role)
    if column.numbers is not None and not (column.whole and column.distinct <= 2):
        return _numeric(column, role, *column.numbers)
    if column.texts is None or not column.texts or (role == "other" and len(column.texts) > _INLINE):
        return None
    near = near_pairs(column.texts)
    named = "".join(f"; one value? {one} and {other}" for one, other in [*_spelt_alike(column.texts), *near[:_NAMED]])
    lines = [("values", list(column.texts), f"every value of the file; add what may occur and is not in it{named}")]
    return Proposal(
        column.name,
        role=role,
        kind="nominal",
        lines=(*lines, *_missing(column)),
        decide=_of_values(column.texts, role),
    )


def _of_values(texts: Sequence[str], role: Role) -> tuple[str, ...]:
    """Ask which of the listed values are spellings of one, and which are alike."""
    near = near_pairs(texts)
    where = _SOME_NAMED if _spelt_alike(texts) else ""
    found: tuple[str, ...] = (_SAME.replace("{}", where),) if _spelt_twice(texts) else ()
    found += (_NEAR.format(count_of(len(near), "pair of values", "pairs of values")),) if near else ()
    return (*found, _GROUPS) if role == "quasi" and len(texts) > 2 else found


def newly_published(keys: Mapping[str, Any], role: Role) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what a column that was not published needs in a role that is: further keys, and what a person must decide.

    A draft does not ask for ranges and groups of what is not published.
    """
    low, high = (decimal_or_none(str(end)) for end in (*keys.get("range", ()), None, None)[:2])
    if keys.get("kind") == "date":
        made = {"dates": ["month", "year"]} if role == "quasi" and "dates" not in keys else {}
        return made, (_RANGE,) if keys.get("source") == "data" else ()
    if low is not None and high is not None:
        step = decimal_or_none(str(keys.get("step", 1))) or Decimal(1)
        widths = [] if "intervals" in keys or role != "quasi" else _widths(low, high, step)
        cuts: list[Any] = [_plain(width) for width in widths]
        made = {"intervals": cuts} if cuts else {}
        return made, (_RANGE,) if keys.get("source") == "data" else ()
    values = keys.get("values")
    if isinstance(values, list) and not any(key in keys for key in ("groups", "hierarchy", "mask")):
        asked = _of_values([str(value) for value in values], role)
        return {}, tuple(question for question in asked if "same" not in keys or not question.startswith("same:"))
    return {}, ()


def _plain(number: Decimal) -> int | str:
    return int(number) if number == number.to_integral_value() else str(number)


def _widths(start: Decimal, end: Decimal, step: Decimal) -> list[Decimal]:
    return [width for width in (step * 5, step * 10, step * 20, step * 100) if width * 2 <= end - start]


def _spelt_twice(texts: Sequence[str]) -> bool:
    """True where two values differ only in case, blanks, accents or punctuation: a claim would count two."""
    return len(set(map(plain_spelling, texts))) < len(texts)


def _spelt_alike(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return a few values with another spelling of each, none where values look like names of people."""
    spelt: dict[str, list[str]] = {}
    for text in texts:
        spelt.setdefault(plain_spelling(text), []).append(text)
    several = [(one[0], one[1]) for one in spelt.values() if len(one) > 1]
    return [] if several and with_given_names(texts) else several[:_SPELLINGS]


def _missing(column: ColumnFacts) -> list[tuple[str, Any, str]]:
    texts = sorted({*column.no_value, ""} if column.nulls or "" in column.no_value else column.no_value)
    if not texts:
        return []
    return [("missing", texts, 'a category of its own; or { values = [...], action = "suppress" } to leave rows out')]


def _is_code(column: ColumnFacts) -> bool:
    texts = column.texts or ()
    if not texts or not all(_CODE.fullmatch(text) for text in texts) or len({len(text) for text in texts}) > 1:
        return False
    return code_like(column.name) or column.numbers is None


def _maybe_code(column: ColumnFacts) -> tuple[str, ...]:
    """Ask where all whole numbers have as many digits: five digits each are as well postcodes as sums of money."""
    lengths = {len(text) for text in column.texts or () if _CODE.fullmatch(text)}
    if len(lengths) != 1 or max(lengths) <= _YEAR or not all(_CODE.fullmatch(text) for text in column.texts or ()):
        return ()
    mask = f'mask = {{ length = {max(lengths)}, from = "right" }}'
    return (f'kind: are these codes, such as postcodes? then kind = "nominal" and {mask}, without range and step',)


def _maybe_cut_short(column: ColumnFacts, low: Decimal, high: Decimal) -> tuple[str, ...]:
    """Ask where codes of an area were read as numbers and are of several lengths: they begin with zeros then."""
    shortest, longest = (end.adjusted() + 1 for end in (low, high))
    if not code_like(column.name) or not column.whole or low < 0 or longest < _YEAR or shortest == longest:
        return ()
    short = "kind: are these codes without their leading zeros, as 1067 for 01067?"
    return (f"{short} read the column as text (dtype=str in pandas) and draft again",)


def _code(column: ColumnFacts, role: Role) -> Proposal | None:
    assert column.texts is not None
    length = len(column.texts[0])
    lines: list[tuple[str, Any, str]] = []
    if length > 5:
        if role == "other" and len(column.texts) > _INLINE:
            return None
        lines.append(("values", list(column.texts), "every code of the file; the list of all codes is usually public"))
    lines.append(("mask", {"length": length, "from": "right"}, "the last digits are masked first"))
    return Proposal(column.name, role=role, kind="nominal", lines=(*lines, *_missing(column)), decide=(_MASK,))


def _numeric(column: ColumnFacts, role: Role, low: Decimal, high: Decimal) -> Proposal:
    start, end, step = public_looking(low, high, whole=column.whole)
    lines: list[tuple[str, Any, str]] = [
        ("range", [start, end], "[low, high), rounded outwards from the file; write the publicly known bounds"),
        ("step", step, "width of a cell"),
    ]
    widths = _widths(start, end, step)
    if role == "quasi" and widths:
        lines.append(("intervals", widths, "widths of the hierarchy's intervals"))
    form = column.spelling.numbers
    if form.decimal == ",":
        lines.append(("decimal", ",", "3,5 is read as three and a half"))
    if form.thousands:
        lines.append(("thousands", form.thousands, f"{form.thousands!r} between thousands is skipped, where it stands"))
    if form.units:
        lines.append(("units", list(form.units), "signs beside the number are skipped, where they stand"))
    decide = (*_several_currencies(form), *_maybe_code(column), *_maybe_cut_short(column, low, high), _RANGE)
    return Proposal(column.name, role=role, kind="numeric", lines=(*lines, *_missing(column)), decide=decide)


def _day_for_none(column: ColumnFacts) -> tuple[str, ...]:
    """Ask of a day that programs write where there is none: 1900-01-01, or an end that stands far from all others."""
    if column.usual_day is None:
        return ()
    day, rows = column.usual_day
    named = f"{format_day(day, column.spelling.format or '%Y-%m-%d')} ({count_of(f'{rows:,}', 'row')})"
    then = "then add it to `missing`, as the file writes it, and write a range without it"
    return (f"missing: does {named} say that there is no date? {then}",)


def _code_at_an_end(column: ColumnFacts, low: Decimal, high: Decimal) -> tuple[str, ...]:
    """Ask of an end that surveys use for "no answer": 998 of an age, 99999 of an income, -1, 9 above 1 to 5."""
    named = list(maybe_no_answer(column.texts or ()))
    for which, end in {} if named else {"smallest": low, "largest": high}.items():
        text = str(int(end)) if end == end.to_integral_value() else ""
        named += [f"{text}, the {which} number,"] if _END_CODES[which].fullmatch(text) else []
    if not named:
        return ()
    does, them = ("does", "it") if len(named) == 1 else ("do", "them")
    then = f"then add {them} to `missing`, as the file writes {them}, and write a range without {them}"
    both = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
    return (f"missing: {does} {both} say that there is no value? {then}",)


def _several_currencies(form: NumberForm) -> tuple[str, ...]:
    if len(form.currencies) < 2:
        return ()
    signs = " and ".join(units[0] for units in form.currencies)
    return (f"units: are amounts in {signs} one currency? if not, convert them, or make a column for each",)


def public_looking(low: Decimal, high: Decimal, *, whole: bool) -> tuple[Decimal, Decimal, Decimal]:
    """Round a range outwards to bounds a person might have written, and give its cells a round width.

    Values a little below 0 get the power of ten below them as their end: that of the span would lie far from them.

    >>> public_looking(Decimal("-8946.59"), Decimal("184000.5"), whole=False)[:2]
    (Decimal('-10000'), Decimal('200000'))
    """
    span = high - low
    power = span.adjusted() if span > 0 else 0
    unit = Decimal(10) ** (max(power, 1) if whole else power)
    start = (low / unit).to_integral_value(rounding=ROUND_FLOOR) * unit
    if 0 <= low < max(span, unit):
        start = Decimal(0)
    elif -unit < low < 0:
        start = -(Decimal(10) ** (low.adjusted() + 1))
    end = ((high / unit).to_integral_value(rounding=ROUND_FLOOR) + 1) * unit
    step = Decimal(1) if whole else unit / 100
    while (end - start) / step > _CELLS:
        step *= 10
    if step == 1 and not whole:  # cells of 1 have one number as their name, as if there were no decimals
        step = Decimal("0.5") if (end - start) * 2 <= _CELLS else Decimal(2)
    start = (start / step).to_integral_value(rounding=ROUND_FLOOR) * step
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
    form = column.spelling.format
    months = form is not None and "%d" not in form
    if months:
        lines.append(("step", "month", "the file names months, not days"))
    if role == "quasi" and last.year - first.year < _YEARS:
        lines.append(("dates", ["month", "year"], "levels of the hierarchy"))
    if form is not None:
        shown = "2024-05" if months else "2024-05-31"
        lines.append(("format", form, f"how the file writes its dates; they are published as {shown}"))
    decide = (_RANGE,)
    return Proposal(column.name, role=role, kind="date", lines=(*lines, *_missing(column)), decide=decide)
