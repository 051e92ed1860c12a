"""Open decisions of a drafted schema file: listed, answered, and the file changed without losing a comment.

A drafted schema holds questions in its `decide` lists, as `topic: question`. Answering one sets the keys that it
is about and deletes the question; every other line and comment of the file stays as it was.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, get_args

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, Table

from sfumato.errors import ParameterError
from sfumato.schema.attribute import Role
from sfumato.schema.domain import value_text
from sfumato.schema.open_questions import topic_of

_TO_ADD = "then add "  # asks of texts that are not yet in `missing`
_ROWS = re.compile(r" \([\d,]+ rows?\)")
_UNPUBLISHED: tuple[Role, ...] = ("identifier", "other")


@dataclass(frozen=True, slots=True)
class Decision:
    """One open question: of a column, or of the whole table where `attribute` is empty."""

    topic: str
    _: KW_ONLY
    attribute: str = ""
    question: str
    place: int = 0  # among the questions of the same list

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {"topic": self.topic, "attribute": self.attribute, "question": self.question, "place": self.place}


def _parsed(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except (TOMLKitError, ValueError) as error:
        line = getattr(error, "line", None)
        where = f"line {line}" if line else "the file"
        raise ParameterError("schema", where, "is not TOML", hint="undo the last change of that line") from None


def _table_of(document: tomlkit.TOMLDocument, attribute: str) -> Any:
    """Return the table of a column, or the whole file for no column."""
    if not attribute:
        return document
    held = document.get("attribute")
    if not isinstance(held, Mapping) or attribute not in held or isinstance(held[attribute], AoT):
        raise ParameterError("attribute", attribute, "is not in the schema")
    return held[attribute]


def _questions(table: Any) -> list[str]:
    held = table.get("decide", [])
    return [str(item) for item in held] if isinstance(held, Sequence) and not isinstance(held, str) else []


def _listed(table: Any, attribute: str) -> list[Decision]:
    found = []
    for place, item in enumerate(_questions(table)):
        topic, colon, question = item.partition(":")
        key = topic_of(item, column=bool(attribute)) or topic.strip()
        known = bool(colon) and key.isidentifier()
        found.append(
            Decision(
                key if known else "",
                attribute=attribute,
                question=question.strip() if known else item.strip(),
                place=place,
            )
        )
    return found


def decisions(text: str) -> list[Decision]:
    r"""Return the open decisions of a schema file: first those of the table, then those of each column.

    >>> decisions('name = "t"\n[attribute.age]\ndecide = ["range: which bounds are public?"]\n')[0].topic
    'range'
    """
    document = _parsed(text)
    held = document.get("attribute", {})
    columns = [
        found for name, table in held.items() if isinstance(table, Mapping) for found in _listed(table, str(name))
    ]
    return [*_listed(document, ""), *columns]


def keys_of(text: str, attribute: str = "") -> dict[str, Any]:
    """Return the keys of a column, or of the table, as plain Python values."""
    found = _table_of(_parsed(text), attribute).unwrap()
    return {str(key): value for key, value in found.items() if key != "attribute"}


def text_of(text: str, attribute: str) -> str:
    """Return the part of a schema file that describes one column, as it is written."""
    written: str = _table_of(_parsed(text), attribute).as_string()
    return written.strip()


def _close(table: Any, places: Iterable[int]) -> None:
    """Delete questions by their place; without any left, the whole key."""
    gone = set(places)
    kept = [item for place, item in enumerate(_questions(table)) if place not in gone]
    if not kept:
        table.pop("decide", None)
        return
    array = tomlkit.array()
    array.extend(kept)
    table["decide"] = array.multiline(len(kept) > 1)


def _item(value: Any) -> Any:
    """Return a value as the file writes it; long lists on several lines."""
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update({str(key): _item(held) for key, held in value.items()})
        return table
    if isinstance(value, list | tuple):
        array: Array = tomlkit.array()
        array.extend(_item(held) for held in value)
        return array.multiline(len(array.as_string()) > 100)
    return tomlkit.item(value)


def _set(table: Any, keys: Mapping[str, Any]) -> None:
    """Set or, where the value is None, delete keys."""
    for key, value in keys.items():
        if value is None:
            table.pop(key, None)
        elif key in table:
            kept = getattr(table[key], "trivia", None)
            made = _item(value)
            if kept is not None and made.trivia is not None and not isinstance(value, Mapping):
                made.trivia.comment, made.trivia.comment_ws = kept.comment, kept.comment_ws
            table[key] = made
        elif isinstance(table, Table) or not hasattr(table, "body"):
            table[key] = _item(value)
        else:  # the file itself: a new key must stand before the first table
            _before_tables(table, key, _item(value))


def _before_tables(document: tomlkit.TOMLDocument, key: str, value: Any) -> None:
    """Put a new key of the whole file behind its last plain key, before the first `[attribute...]`."""
    rest = {name: document[name] for name in list(document) if isinstance(document[name], Mapping)}
    plain = [name for name in document if name not in rest]
    if plain:
        document._insert_after(plain[-1], key, value)  # noqa: SLF001  (tomlkit has no public form of it)
        return
    for name in rest:
        document.remove(name)
    document.add(key, value)
    for name, table in rest.items():
        document.add(name, table)


def changed(
    text: str,
    keys: Mapping[str, Any],
    *,
    attribute: str = "",
    closes: Iterable[str] = (),
    asks: Iterable[str] = (),
) -> str:
    """Return the file with other keys of a column or of the table; None deletes one.

    closes  topics of questions of the same list that this answers.
    asks    questions that it raises, as `topic: question`; one that is open already is not asked twice.
    """
    document = _parsed(text)
    table = _table_of(document, attribute)
    _set(table, keys)
    topics = set(closes)
    _close(table, [one.place for one in _listed(table, attribute) if one.topic in topics])
    held = _questions(table)
    new = [question for question in dict.fromkeys(asks) if question not in held]
    if new:
        _set(table, {"decide": [*held, *new]})
    return document.as_string()


def answered(text: str, decision: Decision, keys: Mapping[str, Any] | None = None) -> str:
    """Return the file with one question answered: its keys set, the question deleted.

    Without keys the proposal of the draft is kept.
    """
    return answered_alike(text, [decision], keys)


def answered_alike(text: str, group: Iterable[Decision], keys: Mapping[str, Any] | None = None) -> str:
    """Return the file with one answer to a question of several columns, each of which asks it once."""
    document = _parsed(text)
    for decision in group:
        table = _table_of(document, decision.attribute)
        if decision not in _listed(table, decision.attribute):
            topic = decision.topic or "question"
            raise ParameterError("decision", topic, "is no longer open", hint="list them again")
        given = dict(keys or {})
        _set(table, given | _moved(table, decision, given))
        if decision.topic == "same" and isinstance(given.get("same"), Mapping):
            _take_out(table, given["same"])
        _close(table, [decision.place])
    return document.as_string()


def _moved(table: Any, decision: Decision, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the other of the lists `missing` and `values`, where a question asks in which of them a text belongs.

    What an answer takes out of one list is put into the other, and the other way round: no text is in both or in none.
    """
    other = {"missing": "values", "values": "missing"}.get(decision.topic, "")
    if not other or f"to `{other}`" not in decision.question:
        return {}
    lists = (table.get(decision.topic), keys.get(decision.topic), table.get(other, []))
    if not all(isinstance(one, list) for one in lists):
        return {}
    old, new, held = ([str(text) for text in texts or ()] for texts in lists)
    return {other: [*(text for text in held if text not in new), *(text for text in old if text not in [*new, *held])]}


def _take_out(table: Any, same: Mapping[str, Any]) -> None:
    """Take spellings out of `values` and `groups`, where only the value that they are read as may stand."""
    spelt = [one for held in same.values() if isinstance(held, list) for one in held]
    gone = {value_text(one) for one in spelt} - {name.strip() for name in same}
    groups = table.get("groups")
    for listed in (table.get("values"), *(groups.values() if isinstance(groups, Mapping) else ())):
        for place in reversed(range(len(listed))) if isinstance(listed, Array) else ():
            if value_text(listed[place]) in gone:
                del listed[place]


def adds_to_missing(decision: Decision) -> bool:
    """Say whether a question is about texts that are values as drafted, and may have to be added to `missing`.

    >>> adds_to_missing(Decision("missing", question="does 9 say that there is no value? then add it to `missing`"))
    True
    """
    return decision.topic == "missing" and _TO_ADD in decision.question


def without_rows(question: str) -> str:
    """Return a question without the numbers of rows behind the texts it names, which differ from column to column."""
    return _ROWS.sub("", question)


def asked_alike(text: str) -> list[tuple[Decision, ...]]:
    r"""Return the questions about texts for no value that several columns ask in the same words of the same texts.

    One answer does for all columns of such a group: 9 means "no answer" in Q01 as in Q40.

    >>> column = '[attribute.{}]\nmissing = ["9"]\ndecide = ["missing: do all texts say that there is no value?"]\n'
    >>> [one.attribute for one in asked_alike(column.format("a") + column.format("b"))[0]]
    ['a', 'b']
    """
    asked = [one for one in decisions(text) if one.topic == "missing" and one.attribute and not adds_to_missing(one)]
    held = tomllib.loads(text).get("attribute", {}) if asked else {}
    found: dict[tuple[str, str], list[Decision]] = {}
    for one in asked:
        if one.topic in held[one.attribute]:
            found.setdefault((without_rows(one.question), repr(held[one.attribute][one.topic])), []).append(one)
    return [tuple(group) for group in found.values() if len(group) > 1]


def as_proposed(text: str, attributes: Iterable[str]) -> str:
    """Return the file with every question about some columns closed: what the draft proposes stands."""
    document = _parsed(text)
    for name in attributes:
        _table_of(document, name).pop("decide", None)
    return document.as_string()


def with_roles(text: str, attributes: Iterable[str], role: Role) -> str:
    """Return the file with a role for each of several columns, and the questions about their roles closed."""
    if role not in get_args(Role):
        raise ParameterError("role", role, f"must be one of {', '.join(get_args(Role))}")
    document = _parsed(text)
    for name in attributes:
        table = _table_of(document, name)
        _set(table, {"role": role})
        # What is not published needs no range, groups or mask.
        _close(table, [one.place for one in _listed(table, name) if one.topic == "role" or role in _UNPUBLISHED])
    return document.as_string()


def with_attributes(text: str, described: Mapping[str, str]) -> str:
    """Return the file with some columns described anew, each by a piece of TOML that holds its table alone."""
    if not described:
        return text
    document = _parsed(text)
    held = document.get("attribute")
    for attribute, piece in described.items():
        if not isinstance(held, MutableMapping) or attribute not in held:
            raise ParameterError("attribute", attribute, "is not in the schema")
        held[attribute] = _table_of(_parsed(piece), attribute)
    return document.as_string()
