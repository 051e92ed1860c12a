"""What the questions in `decide` are about: the key named before the colon, however it is written.

A question that names no key, or none that is known, may be about anything, and so it is taken to be about what matters
most: who a row is about, and the role of a column.
"""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.schema.toml_models import AttributeFile, SchemaFile

_TABLE = {*SchemaFile.model_fields, "duplicates", "totals", "hidden", "merged"} - {"decide", "attribute"}
_COLUMN = {*AttributeFile.model_fields, "related"} - {"decide"}


def topic_of(item: str, *, column: bool = False) -> str:
    """Return the key that a question of the table or of a `column` is about, "" where it names none that is known.

    >>> topic_of("Rows per person: sure?"), topic_of("role", column=True), topic_of("ask the board")
    ('rows_per_person', 'role', '')
    """
    key = "_".join(item.partition(":")[0].casefold().replace("-", " ").replace("_", " ").split())
    return key if key in (_COLUMN if column else _TABLE) else ""


def asks_about(items: Iterable[str], topic: str, *, column: bool = False) -> bool:
    """Whether one of the questions is about a key, or may be: it does not say what it is about."""
    return any(topic_of(item, column=column) in (topic, "") for item in items)


def unclear(items: Iterable[str], topic: str, *, column: bool = False) -> bool:
    """Whether no question is about a key, and one does not say what it is about."""
    topics = {topic_of(item, column=column) for item in items}
    return "" in topics and topic not in topics
