"""Questions about who a row is about: their words, and what each of them takes for an answer.

They ask different things under the same two topics: `yes` to "can one person have several rows?" is the opposite of
`yes` to "does mrn say who a row is about?". An answer that a question does not take is refused, and it stays open.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from sfumato.drafting.decisions import Decision, answered, changed, decisions, keys_of, with_roles
from sfumato.drafting.table import Repeated
from sfumato.errors import ParameterError, count_of

UnitQuestion = Literal["who", "visits", "household", "two people", "counts", "kept", "key"]
_TOPICS = ("person", "rows_per_person")
_ELSE, _NO_COUNT = "else not_person = ", "else not_count = "
_NAMED, _APART = 5, 2  # further columns that a question names, and those in which the rows of each differ
_HOUSEHOLDS, _VISITS = " names households", " names visits"
_ASKS_OF_ROWS: tuple[UnitQuestion, ...] = ("who", "visits", "household", "kept", "key")
_SEVERAL = " (several that say it together with commas between them)"

WHO = (
    "rows_per_person: who is a row about? 1 if each row is a different person, m if nobody has more than m rows, the "
    "name of the column that says who, or rows if rows are not people or nobody knows"
)
_BEGINS: dict[UnitQuestion, str] = {
    "visits": "can one person have several rows?",
    "household": "is a row a person or a household?",
    "two people": "does a row describe two people",
    "counts": "is each row one person, or is ",
    "kept": "are all rows of a person kept",
}
_TAKES: dict[UnitQuestion, str] = {
    "who": f"1, a larger number of rows, the name of a column{_SEVERAL}, or rows",
    "visits": f"no, the most rows that a person has, the column that says who a row is about{_SEVERAL}, or rows if "
    "nobody knows",
    "household": "person, household, the most rows that a person has, or the column that says who a row is about"
    f"{_SEVERAL}",
    "two people": "no if a row is about one person alone, or rows if rows are not people",
    "counts": "person if each row is one person, or no if rows are not people and the column counts something else",
    "kept": "all, or the most rows of a person that are kept",
    "key": f"yes, another column{_SEVERAL}, the most rows that a person has where no column says who, or rows if "
    "nobody knows",
}


def ask_households(name: str) -> str:
    """Ask what a row is where a column names households."""
    return f"rows_per_person: {_BEGINS['household']} {name}{_HOUSEHOLDS}"


def ask_visits(name: str) -> str:
    """Ask whether people come back where a column names visits."""
    return f"rows_per_person: {_BEGINS['visits']} {name}{_VISITS}"


def ask_two_people(one: str, other: str) -> str:
    """Ask whether a row is about two people where columns are named so."""
    then = f"then write a row for each; {_ELSE}{json.dumps([other], ensure_ascii=False)}"
    return f"rows_per_person: {_BEGINS['two people']} ({one}, {other})? {then}"


def ask_counts(name: str) -> str:
    """Ask whether a column says how many people a row stands for."""
    then = f"then write a row for each person; {_NO_COUNT}{json.dumps([name], ensure_ascii=False)}"
    return f"rows_per_person: {_BEGINS['counts']}{name} the number of people? {then}"


def ask_kept(repeats: str) -> str:
    """Ask how many rows of a person are kept."""
    return f"rows_per_person: {_BEGINS['kept']}, or at most how many?{repeats}"


def ask_key(name: str) -> str:
    """Ask whether a column is the key of people."""
    return f"person: does {name} say who a row is about? then person = {json.dumps(name, ensure_ascii=False)}"


def repeat_like_keys(columns: Sequence[Repeated], *, beside: str = "") -> str:
    """Name columns that repeat like a key of people, for whoever is asked who a row is about; `beside` is proposed."""
    named = [
        f"{' '.join(one.name.split())} ({count_of(one.values, 'value')}, up to {count_of(one.most, 'row')} each"
        f"{_apart(one)})"
        for one in columns[:_NAMED]
    ]
    named += [f"{len(columns) - _NAMED} more"] if len(columns) > _NAMED else []
    return f"; {'other ' if beside else ''}columns that repeat like a key: {', '.join(named)}" if named else ""


def _apart(one: Repeated) -> str:
    """Say in what the rows of a value differ, as those of several people do: another column tells them apart."""
    return f", differing in {' and '.join(' '.join(name.split()) for name in one.apart[:_APART])}" if one.apart else ""


def unit_question(decision: Decision, held: Mapping[str, Any]) -> UnitQuestion | None:
    """Return what a question about the unit asks, None for any other; `held` are the keys of the table.

    One in other words is about the key where its topic is `person`; beside a key about the rows that are kept.
    """
    if decision.attribute or decision.topic not in _TOPICS:
        return None
    if decision.topic == "person":
        return "key"
    begins = (kind for kind, words in _BEGINS.items() if decision.question.startswith(words))
    return next(begins, "kept" if "person" in held else "who")


def unit_answers(kind: UnitQuestion) -> str:
    """Return what a question takes for an answer, in words."""
    return _TAKES[kind]


def with_unit(text: str, decision: Decision, unit: str) -> str:
    """Return the file with an answer to a question about who a row is about; what is no answer to it is refused.

    `rows` says that rows are not people, or that nobody knows: promises then speak of rows, and `not_person` names the
    columns that repeat like a key, since a table with one is refused otherwise. It does not say whether a column counts
    people. Nothing is assumed: only where a key is known does an empty answer keep the rows that the file
    says.
    """
    held = keys_of(text)
    kind = unit_question(decision, held)
    if kind is None:
        raise ParameterError("decision", decision.topic or "question", "does not ask who a row is about")
    if kind == "kept":
        return _with_kept(text, decision, unit)
    if kind != "counts" and (unit == "rows" or (kind == "household" and unit == "household")):
        nobody = {"person": None, "rows_per_person": None, **_of_nobody(text, held)}
        return changed(without_unit_questions(text, rows=True), nobody)
    if kind in ("two people", "counts"):
        return _with_something_else(text, decision, unit, kind)
    if kind == "household":
        text = _without_household(text, decision, unit)
    if _agrees(kind, unit, held):
        return answered(text, decision)
    if kind == "visits" and unit == "no" and "person" not in held:
        return answered(text, decision, {"rows_per_person": 1})
    most = _number(unit)
    if most is not None:
        if kind != "key":
            return answered(text, decision, {"rows_per_person": most})
        # No column says who: a key that stays would be counted as the person.
        without = answered(text, decision, {"person": None, "rows_per_person": most})
        return _closed(without, ["kept"], held)
    names = _columns_named(text, unit)
    if len(names) == 1:
        return with_roles(answered(text, decision, {"person": names[0]}), names, "identifier")
    if names:  # a part of the key may be published made coarser, as a date of birth, but not as it is
        exact = [name for name in names if keys_of(text, name).get("role") in ("sensitive", "target")]
        return with_roles(answered(text, decision, {"person": names}), exact, "identifier")
    raise _refused(unit, kind)


def _columns_named(text: str, unit: str) -> list[str]:
    """Return the columns that an answer names: one, a list as the file writes it, or several with commas between them.

    Where the name of a column has a comma, only a list names several.
    """
    columns = tomllib.loads(text).get("attribute", {})
    if unit in columns:
        return [unit]
    try:
        value = tomllib.loads(f"value = {unit}")["value"]
    except tomllib.TOMLDecodeError:
        value = [] if any("," in name for name in columns) else [name.strip() for name in unit.split(",")]
    names = [value] if isinstance(value, str) else value
    return names if isinstance(names, list) and names and all(name in columns for name in names) else []


def _of_nobody(text: str, held: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return `not_person` with the columns that repeat like a key of people, as proposed or named in a question."""
    asked = [one.question for one in decisions(text) if unit_question(one, held) in _ASKS_OF_ROWS]
    keys = [held["person"]] if isinstance(held.get("person"), str) else held.get("person", ())
    found = [str(name) for name in (*held.get("not_person", ()), *keys)]
    for name in tomllib.loads(text).get("attribute", {}):
        shown = " ".join(name.split())
        named = (f" {shown} (", f" {shown}{_HOUSEHOLDS}", f" {shown}{_VISITS}")
        found += [name] if any(words in question for question in asked for words in named) else []
    return {"not_person": list(dict.fromkeys(found))} if found else {}


def _without_household(text: str, decision: Decision, unit: str) -> str:
    """Return the file in which households are not people, where an answer says that rows are."""
    words = decision.question.removeprefix(_BEGINS["household"]).removesuffix(_HOUSEHOLDS).strip()
    if words in _columns_named(text, unit) or words not in tomllib.loads(text).get("attribute", {}):
        return text
    named = [*map(str, keys_of(text).get("not_person", ())), words]
    return changed(text, {"not_person": list(dict.fromkeys(named))})


def _agrees(kind: UnitQuestion, unit: str, held: Mapping[str, Any]) -> bool:
    """Whether an answer says what the file says already."""
    keyed, most = "person" in held, held.get("rows_per_person")
    if kind == "key":
        return unit == "yes" and keyed
    if kind == "visits":  # a key counts people, however many rows they have
        return (keyed and unit in ("yes", "no")) or (unit == "yes" and isinstance(most, int) and most > 1)
    return kind == "household" and unit == "person" and (keyed or most is not None)


def _with_kept(text: str, decision: Decision, unit: str) -> str:
    """Return the file with the rows of a person that are kept."""
    most = _number(unit)
    if unit not in ("", "all") and most is None:
        raise _refused(unit, "kept")
    return answered(text, decision, {"rows_per_person": most} if unit else None)


def _with_something_else(text: str, decision: Decision, unit: str, kind: UnitQuestion) -> str:
    """Return the file with a column that neither counts people nor describes a second one."""
    key, asked, answers = "not_person", _ELSE, {"no"}
    if kind == "counts":  # a question of an earlier draft may name the other key: it is about the number all the same
        key, answers = "not_count", {"person", "no"}
        asked = _NO_COUNT if _NO_COUNT in decision.question else _ELSE
    said = decision.question.rpartition(asked)[2]
    if unit in answers and said != decision.question:
        named = [*map(str, keys_of(text).get(key, ())), *json.loads(said)]
        return answered(text, decision, {key: list(dict.fromkeys(named))})
    if unit in ("yes", "2") or (said != decision.question and [unit] == json.loads(said)):
        rule = "cannot be written into a schema: every promise counts a row as one person"
        raise ParameterError("answer", unit[:40], rule, hint="write a row for each person into the file, then draft")
    raise _refused(unit, kind)


def without_unit_questions(text: str, *, rows: bool) -> str:
    """Return the file without the questions that are answered by who a row is about.

    That each row is a person says neither whether it describes a second one nor whether a column counts people. `rows`,
    that rows are not people, answers the first of these: a row that is no person may still stand for several people.
    """
    return _closed(text, (*_ASKS_OF_ROWS, "two people") if rows else _ASKS_OF_ROWS, keys_of(text))


def _closed(text: str, kinds: Iterable[UnitQuestion], held: Mapping[str, Any]) -> str:
    """Return the file without the questions of some kinds; `held` are the keys of the table they were asked of."""
    gone = set(kinds)
    while left := [one for one in decisions(text) if unit_question(one, held) in gone]:
        text = answered(text, left[0])
    return text


def _number(unit: str) -> int | None:
    return int(unit) if unit.isascii() and unit.isdecimal() and len(unit) < 10 and int(unit) else None


def _refused(unit: str, kind: UnitQuestion) -> ParameterError:
    rule = "does not say how many rows a person has" if kind == "kept" else "does not say who a row is about"
    return ParameterError("answer", unit[:40] or "nothing", rule, hint=_TAKES[kind])
