"""Open questions in the words of a page: what is asked, what is proposed, and what each button does.

The questions of a drafted schema are written for whoever edits the file; on a page nobody needs the names of its keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sfumato.drafting import Decision, adds_to_missing, asked_alike, decisions, keys_of, unit_question
from sfumato.drafting.units import UnitQuestion
from sfumato.schema.checks import plain_spelling
from sfumato.schema.formats import PLAIN_NUMBERS, NumberForm
from sfumato.schema.near_values import near_pairs

# role -> (what it is called, what it means)
ROLES = {
    "quasi": ("Others may know it", "made coarser, so that nobody stands out by it"),
    "sensitive": ("Private", "published as described here, but not linked to one person"),
    "target": ("To be predicted", "published as described here; no promise protects it"),
    "identifier": ("Points to a person", "never published"),
    "other": ("Leave out", "not published"),
}

_ROLE = {
    "quasi": "Could somebody else know this of a person: a neighbour, a colleague, a register?",
    "sensitive": "Is this private, so that nobody may learn it of a person?",
    "identifier": "Does it point to one person: a name, a number of a file, free text?",
    "target": "Is it what readers want to predict?",
    "other": "It is not published. Leave it out?",
}

# What a button answers beside a question about who a row is; the others are answered on the page of that name.
_OF_UNIT: dict[UnitQuestion, dict[str, str]] = {
    "kept": {},
    "key": {"keep": "Yes", "answer": "yes"},
    "two people": {"keep": "No, one person alone", "answer": "no"},
    "counts": {"keep": "Each row is one person", "answer": "person"},
}

_TITLES = {
    "population": "Population",
    "rows_per_person": "Rows per person",
    "person": "Person",
    "duplicates": "Copies of rows",
    "totals": "Lines that are not rows",
    "hidden": "Hidden rows",
    "role": "Role",
    "range": "Range",
    "groups": "Groups",
    "mask": "Code digits",
    "format": "Date format",
    "decimal": "Decimal comma",
    "thousands": "Thousands",
    "units": "Currency",
    "same": "Spellings",
    "missing": "No value",
    "values": "Answers",
    "kind": "Kind",
    "related": "Related column",
}

_SHOWN = 8
_NEARLY_DATES = re.compile(r"(\d+) of (\d+) values are dates (.+?);")


@lru_cache(maxsize=32)
def open_questions(text: str) -> tuple[Decision, ...]:
    """Return the open decisions of a schema file; a file that did not change is not parsed again."""
    return tuple(decisions(text))


def alike(values: Sequence[str], rows: Mapping[str, int] | None = None) -> list[list[str]]:
    """Return the values that differ only in case, blanks, accents or punctuation.

    Each list has the spelling to keep first. That is the one most rows have, where `rows` says how many have each.

    >>> alike(["m", "W", "w", "x"])
    [['w', 'W']]
    >>> alike(["bonn", "Bonn"], {"Bonn": 200, "bonn": 3})
    [['Bonn', 'bonn']]
    """
    many = rows or {}
    found: dict[str, list[str]] = {}
    for value in values:
        found.setdefault(plain_spelling(value), []).append(value)
    return [
        sorted(held, key=lambda text: (-many.get(text, 0), text != text.casefold(), text))
        for held in found.values()
        if len(held) > 1
    ]


def not_numbers(keys: Mapping[str, Any]) -> list[str]:
    """Return the few values that are not numbers in a column of numbers; nothing for any other column."""
    values = keys.get("values")
    if not isinstance(values, list) or keys.get("kind") == "numeric":
        return []
    odd = [str(value) for value in values if PLAIN_NUMBERS.number(str(value)) is None]
    return odd if 0 < len(odd) <= _SHOWN and len(odd) * 4 < len(values) else []


def nearly_dates(decision: Decision) -> tuple[int, str] | None:
    """Return how many values of a date column are no dates, and how its dates are written; None for other questions."""
    found = _NEARLY_DATES.match(decision.question) if decision.topic == "kind" else None
    return None if found is None else (int(found[2]) - int(found[1]), found[3])


def asked(decision: Decision, keys: Mapping[str, Any], unread: Sequence[str] = ()) -> dict[str, Any]:
    """Return a question for the page: its title and words, what `keep` says on its button, and other buttons.

    Without `keep` nothing is proposed. `answer` is what the button answers where it does not keep a proposal.
    `unread` are some texts of the column that are not read as what most of them are.
    Each of `also` is (words, address below the column, fields): a form that answers the question otherwise.
    """
    topic, name = decision.topic, decision.attribute
    found = {
        **decision.to_json(),
        "title": _TITLES.get(topic, topic.capitalize() or "Question"),
        "words": decision.question[:1].upper() + decision.question[1:],
        "keep": "Keep as proposed",
        "answer": "",
        "also": [],
    }
    if kind := unit_question(decision, keys):
        return {**found, "words": _who_is_asked(decision) or found["words"], **_OF_UNIT.get(kind, {"keep": ""})}
    if not name:
        keep = (
            f"Yes, \u201c{keys['population']}\u201d"
            if topic == "population" and keys.get("population")
            else found["keep"]
        )
        return {**found, "keep": keep}
    if topic == "role":
        role = str(keys.get("role", "other"))
        free = "free text" in decision.question and role != "identifier"
        words = f"{'It may hold names: read some cells. ' if free else ''}{_ROLE.get(role, '')}"
        return {**found, "words": words, "keep": f"Yes: {ROLES.get(role, (role,))[0].lower()}"}
    if topic == "range":
        low, high = (*keys.get("range", ("?", "?")), "?")[:2]
        words = f"From {low} up to {high}, read off this file and rounded. Would you know such bounds without the file?"
        also = [("Yes, they are publicly known", "keys", {"fields": "source", "public": "yes"})]
        return {**found, "words": words, "keep": "No, read off the file", "also": also}
    if topic == "groups":
        words = "Which values are alike? Without groups a value is published as it is or hidden completely (*)."
        return {**found, "words": words, "keep": "No groups"}
    if topic == "mask":
        words = "Do the first digits mean a wider area? Then 50667 may be published as 506**."
        return {**found, "words": words, "keep": "Yes, hide digits from the end"}
    if topic == "same":
        values = keys.get("values")
        listed = [str(value) for value in values] if isinstance(values, list) else []
        if asks_of_pairs(decision):
            near = "; ".join(" and ".join(pair) for pair in near_pairs(listed)[:_SHOWN])
            words = f"May these be spellings of one value: {near}? Merge those below that are." if near else ""
            return {**found, "words": words or "Were all spellings of one value merged?", "keep": "They differ"}
        pairs = alike(listed)
        shown = "; ".join(" and ".join(held) for held in pairs[:_SHOWN])
        words = f"Do these mean the same: {shown}?" if shown else "Were all spellings of one value merged?"
        also = [("Yes, merge them", "merge-alike", {})] if shown else []
        return {**found, "words": words, "keep": "No, they differ" if shown else "Yes", "also": also}
    if adds_to_missing(decision):
        words = found["words"].replace("to `missing`", "to the texts that mean no value")
        return {**found, "words": words, "keep": "No, values like the others"}
    if topic == "missing":
        texts = none_texts(keys)
        words = f"Read as no value: {_quoted(texts)}. Is that right?"
        return {**found, "words": words if texts else found["words"], "keep": "Yes"}
    if topic == "values":
        words = found["words"].replace("to `missing`", "to the texts that mean no value")
        return {**found, "words": words, "keep": "Yes"}
    if dates := nearly_dates(decision):
        many, written = dates
        which = f": {_quoted(unread)}{' and more' if many > len(unread[:_SHOWN]) else ''}" if unread else ""
        words = f"All values but {many} are dates, {written}; not so{which or ': the others'}. Do they mean no value?"
        these = "this text" if many == 1 else f"these {many} texts"
        also = [(f"Yes: read as dates, {these} as no value", "dates", {})]
        return {**found, "words": words, "keep": "No, all are words", "also": also}
    if topic == "kind" and (words_among := not_numbers(keys)):
        others = ", ".join(f"\u201c{text}\u201d" for text in words_among)
        many = len(keys["values"])
        words = f"{many - len(words_among)} of {many} values are numbers; not so: {others}. Does that mean no value?"
        also = [("Yes: no value, the rest are numbers", "numbers", {})]
        return {**found, "words": words, "keep": "No, all are words", "also": also}
    if topic == "kind" and "same" in keys and isinstance(keys.get("values"), list):  # the words were merged
        words = "All values are numbers now, and are treated as words or codes. Is that right?"
        return {**found, "words": words, "keep": "Yes"}
    if topic == "related":
        said = decision.question.replace("make one of them other", "leave one of them out")
        return {**found, "words": said[:1].upper() + said[1:] + ".", "keep": "I have seen it"}
    if topic in ("thousands", "units") and keys.get("units") and "does the file" in decision.question:
        form = NumberForm(str(keys.get("decimal", ".")), thousands=str(keys.get("thousands", "")))
        units = ", ".join(keys["units"])
        words = f"Does the file write its numbers as {form.example}, with {units} beside them?"
        words = f"Does the file write {units} beside its numbers?" if form.plain else words
        return {**found, "words": words, "keep": "Yes"}
    if topic in ("format", "decimal", "thousands", "units"):
        return {**found, "keep": "Yes" if "which is it" not in decision.question else "Keep as proposed"}
    return found


def _who_is_asked(decision: Decision) -> str:
    """Return the question who a row is about without the answers that a file takes; nothing for any other question."""
    if not decision.question.startswith("who is a row about?"):
        return ""
    repeats = decision.question.partition("columns that repeat like a key: ")[2]
    words = "Who is a row about? A column may say it, or each row is a different person, or rows are not people."
    return words + (f" These columns repeat as a key does: {repeats}." if repeats else "")


def asks_who(text: str) -> bool:
    """Say whether a question about who a row is about is open."""
    keys = keys_of(text)
    return any(unit_question(one, keys) for one in open_questions(text))


@lru_cache(maxsize=32)
def asked_together(text: str) -> tuple[dict[str, Any], ...]:
    """Return the questions that several columns ask alike, each once: its words, and the columns it is about."""
    found = []
    for group in asked_alike(text):
        texts = none_texts(keys_of(text, group[0].attribute))
        quoted = _quoted(texts)
        names = [one.attribute for one in group]
        words = (
            f"In {len(names)} columns {quoted} {'is' if len(texts) == 1 else 'are'} read as no value. Is that right?"
        )
        found.append({"topic": group[0].topic, "title": _TITLES[group[0].topic], "words": words, "columns": names})
    return tuple(found)


def _quoted(texts: Sequence[str]) -> str:
    return ", ".join(f"\u201c{text}\u201d" if text else "an empty cell" for text in texts[:_SHOWN])


def asks_of_pairs(decision: Decision) -> bool:
    """Say whether a question asks of pairs of values that differ in more than case or blanks."""
    return decision.topic == "same" and "pair" in decision.question.partition("(")[0]


def none_texts(keys: Mapping[str, Any]) -> list[str]:
    """Return the texts of a column that mean no value."""
    held = keys.get("missing", [])
    texts = held.get("values", []) if isinstance(held, Mapping) else held
    return [str(text) for text in texts] if isinstance(texts, list) else []


def groups_of(keys: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the groups of a column's values; a value in no group is a group of its own, under its own name."""
    given = keys.get("groups")
    if isinstance(given, Mapping):
        return {str(name): [str(value) for value in held] for name, held in given.items() if isinstance(held, list)}
    values = keys.get("values")
    return {str(value): [str(value)] for value in values} if isinstance(values, list) else {}
