"""Do listed values look like what a person typed freely? Then names may stand among them, whatever the column's role.

A guess by shape alone: it knows no names and no language. Three values of three words, or longer than a label is,
suffice; so do many values of which half have several words or are cut by marks such as a colon. It errs towards
asking: long names of categories look like text too, and only a person can tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sfumato.errors import ReleaseError

__all__ = ["are_categories", "looks_like_free_text", "refuse_free_text"]

_WORDS, _LONG = 3, 40  # words and characters from which a value reads like a sentence
_SEVERAL, _SHARE = 3, 5  # so many such values, and one in so many of all
_MANY, _TWENTY = 50, 20  # values that are many in a list, and in a file where each is rare
_ROWS_EACH = 10  # rows for each value below which values are rare
_CATEGORIES = 30  # so few values, each in `_ROWS_EACH` rows on average, are rather categories than text
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


def refuse_free_text(published: Mapping[str, tuple[Sequence[str], int]]) -> None:
    """Raise where a column that is published in every row looks like free text; each with its values and its rows."""
    names = [
        name
        for name, (texts, rows) in published.items()
        if looks_like_free_text(texts, rows=rows) and not are_categories(len(texts), rows)
    ]
    if names:
        looks = "looks like free text, in which names of people may stand, and its values are published as they are"
        many = "look like free text, in which names of people may stand, and their values are published as they are"
        hint = "read the values and give the role other, or say yes with allow_text=True (--allow-text)"
        raise ReleaseError(f"{', '.join(names)} {looks if len(names) == 1 else many}", hint=hint)
