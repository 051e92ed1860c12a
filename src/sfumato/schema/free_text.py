"""Do listed values look like what a person typed freely? Then names may stand among them, whatever the column's role.

A guess by shape alone: it knows no names and no language. Three values of three words, or longer than a label is,
suffice; so do many values of which half have several words or are cut by marks such as a colon. It errs towards
asking: long names of categories look like text too, and only a person can tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sfumato.errors import ReleaseError, count_of

__all__ = ["are_categories", "looks_like_free_text", "names_rule", "refuse_free_text", "rows_with_names"]

_WORDS, _LONG = 3, 40  # words and characters from which a value reads like a sentence
_SEVERAL, _SHARE = 3, 5  # so many such values, and one in so many of all
_MANY, _TWENTY = 50, 20  # values that are many in a list, and in a file where each is rare
_ROWS_EACH = 10  # rows for each value below which values are rare
_CATEGORIES = 30  # so few values, each in `_ROWS_EACH` rows on average, are rather categories than text
_RARE = 3  # rows of a value, from which on it is rather a place or a category than the name of a person
_PARTICLES = {"van", "von", "der", "den", "de", "la", "le", "di", "da", "del", "zu", "zur", "ter", "el", "al", "bin"}
_CUT = re.compile(r"\S\s+\S|[,;:!?\"]\s|[.!?]$")


def looks_like_free_text(texts: Sequence[str], *, rows: int | None = None) -> bool:
    """Guess from the distinct values of a column, and where it is known from how many rows have one."""
    cut = [text for text in texts if _CUT.search(text)]
    wordy = sum(len(text) > _LONG or len(text.split()) >= _WORDS for text in cut)
    if wordy >= _SEVERAL and wordy * _SHARE >= len(texts):
        return True
    many = _TWENTY if rows is not None and rows < _ROWS_EACH * len(texts) else _MANY
    return len(texts) >= many and 2 * len(cut) >= len(texts)


def are_categories(values: int, rows: int) -> bool:
    """True where a few values stand again and again, as names of categories do and remarks about a person do not."""
    return values <= _CATEGORIES and rows >= _ROWS_EACH * values


def rows_with_names(values: Mapping[str, int]) -> int:
    """Return in how many rows rare values look like the names of people: two or three words with a capital letter.

    `values` says how many rows have each. A place or a category of two words stands in many rows.
    """
    found = [rows for text, rows in values.items() if rows <= _RARE and _is_name(text)]
    return sum(found) if len(found) >= _SEVERAL else 0


def _is_name(text: str) -> bool:
    words = [word for word in text.replace(",", " ").split() if word.casefold() not in _PARTICLES]
    plain = [word.replace("-", "").replace("'", "").replace("\u2019", "").rstrip(".") for word in words]
    return len(words) in (2, 3) and all(
        word.isalpha() and word[0].isupper() and not word[1:].isupper() for word in plain
    )


def refuse_free_text(published: Mapping[str, Mapping[str, int]]) -> None:
    """Raise where a column published in every row looks like free text or holds names; given are the rows of values."""
    names = [
        name
        for name, values in published.items()
        if looks_like_free_text(list(values), rows=sum(values.values()))
        and not are_categories(len(values), sum(values.values()))
    ]
    hint = "read the values and give the role other, or say yes with allow_text=True (--allow-text)"
    if names:
        looks = "looks like free text, in which names of people may stand, and its values are published as they are"
        many = "look like free text, in which names of people may stand, and their values are published as they are"
        raise ReleaseError(f"{', '.join(names)} {looks if len(names) == 1 else many}", hint=hint)
    for name, values in published.items():
        rows = rows_with_names(values)
        if rows:
            raise ReleaseError(f"{name} {names_rule(rows)}", hint=hint)


def names_rule(rows: int) -> str:
    """Say that values look like names."""
    has = count_of(rows, "row has a value that looks", "rows have values that look")
    return f"is published as it is, and {has} like the name of a person"
