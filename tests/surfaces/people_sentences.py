"""Find every sentence that says a number about people, and hold it against the truth.

A sentence is any stretch of printed text with a word for people and a digit in it. Each must fit one of the given
forms, whose numbers are then compared with the truth; a sentence that fits none is an error, so that a new sentence
about people cannot be printed without someone saying how it is true.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

__all__ = ["Form", "false_sentences", "sentences", "texts_of_folder"]

_PEOPLE = re.compile(r"\b(people|persons?|patients|individuals|everyone|everybody)\b", re.IGNORECASE)
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]+>", re.DOTALL | re.IGNORECASE)

Form = tuple[str, Callable[..., bool]]


def sentences(text: str) -> list[str]:
    """Return the sentences with a word for people and a digit; markup is removed."""
    plain = html.unescape(_TAGS.sub(" \n ", text)) if "<html" in text[:2000].lower() else text
    found = []
    for line in plain.splitlines():
        # A full stop ends a sentence only before a blank: 0.15 and [20-40) stay whole.
        split = re.split(r"(?<=[.;:])\s+|\s\|\s", " ".join(line.split()))
        found += [one for one in split if _PEOPLE.search(one) and re.search(r"\d", one)]
    return found


def texts_of_folder(folder: Path) -> list[str]:
    """Return everything a reader of a release folder can read as prose: Markdown, and all strings of the manifest."""
    found = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.md"))]
    for file in sorted(folder.glob("*.json")):
        found += list(_strings(json.loads(file.read_text(encoding="utf-8"))))
    return found


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def false_sentences(texts: Iterable[str], forms: Sequence[Form]) -> list[str]:
    """Return every sentence about people that is false, or that no form knows."""
    wrong = []
    for text in texts:
        for sentence in sentences(text):
            for pattern, true in forms:
                found = re.search(pattern, sentence)
                if found is None:
                    continue
                numbers = [_number(group) for group in found.groups()]
                if not true(*numbers):
                    wrong.append(f"false: {sentence}")
                break
            else:
                wrong.append(f"unknown: {sentence}")
    return wrong


def _number(text: str) -> float:
    value = float(text.replace(",", ""))
    return int(value) if value.is_integer() else value
