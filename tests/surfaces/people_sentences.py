"""Find every sentence that says a number about people, and hold it against the truth.

A sentence is any stretch of printed text with a word for people and a digit in it, and any number in a table whose row
or column is headed by such a word. Each must fit one of the given forms, whose numbers are then compared with the
truth. A sentence that fits none is an error, and so is a number that the form does not compare: a new sentence about
people cannot be printed without someone saying how it is true.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

__all__ = ["Form", "false_sentences", "off_by_one", "sentences", "texts_of_folder"]

_PEOPLE = re.compile(r"\b(people|persons?|patients|individuals|everyone|everybody)\b", re.IGNORECASE)
_HEAD = re.compile(r"\b(people|persons?|smallest class)\b", re.IGNORECASE)  # what stands over or before numbers
_INLINE = re.compile(r"</?(a|abbr|b|code|em|i|small|span|strong)\b[^>]*>|</dt>\s*<dd[^>]*>", re.IGNORECASE)
_TAGS = re.compile(r"<(script|style|table)\b.*?</\1>|<[^>]+>", re.DOTALL | re.IGNORECASE)
_TABLES = re.compile(r"<table\b.*?</table>", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")

Form = tuple[str, Callable[..., bool]]


class _Cells(HTMLParser):
    """The cells of one table, row by row; a line break inside a cell is a line break."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.inside = True
            self.rows[-1].append("")
        elif tag == "br" and self.inside:
            self.rows[-1][-1] += "\n"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def _of_cells(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a sentence for each number under or beside a word for people: `head = number ¦ the other cells`."""
    if not rows:
        return
    head = [" ".join(cell.split()) for cell in rows[0]]
    for row in rows[1:]:
        answer = [" ".join(cell.rpartition("\n")[2].split()) for cell in row]  # of two lines the published one
        for at, cell in enumerate(answer):
            others = [one for place, one in enumerate(answer) if place != at]
            if not re.search(r"\d", cell):
                continue
            if at < len(head) and _HEAD.search(head[at]):
                yield " ¦ ".join([f"{head[at]} = {cell}", *others])
            elif at and _HEAD.search(answer[0]):
                yield f"{answer[0]} {cell}"
            elif _PEOPLE.search(cell):
                yield cell


def _markdown_tables(text: str) -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
            if not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
                rows.append(cells)
        elif rows:
            yield rows
            rows = []


def sentences(text: str) -> list[str]:
    """Return the sentences with a word for people and a digit; markup is removed."""
    plain, found = text, []
    page = "<html" in text[:2000].lower()
    if page:
        for table in _TABLES.findall(text):
            cells = _Cells()
            cells.feed(table)
            found += _of_cells(cells.rows)
        plain = html.unescape(_TAGS.sub(" \n ", _INLINE.sub(" ", _TABLES.sub(" \n ", text))))
    else:
        for rows in _markdown_tables(text):
            found += _of_cells(rows)
        plain = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    for line in plain.splitlines():
        # A full stop ends a sentence only before a blank: 0.15 and [20-40) stay whole.
        split = re.split(r"(?<=[.;])\s+" if page else r"(?<=[.;])\s+|\s\|\s", " ".join(line.split()))
        found += [one for one in split if _PEOPLE.search(one) and re.search(r"\d", one)]
    return found


def texts_of_folder(folder: Path) -> list[str]:
    """Return everything a reader of a release folder can read: Markdown, strings and named numbers of the manifest."""
    found = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.md"))]
    for file in sorted(folder.glob("*.json")):
        found += list(_strings(json.loads(file.read_text(encoding="utf-8"))))
    return found


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, int | float) and not isinstance(item, bool):
                yield f"{key} {item}"
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def false_sentences(texts: Iterable[str], forms: Sequence[Form]) -> list[str]:
    """Return every sentence about people that is false, or that no form knows with all its numbers."""
    return [wrong for text in texts for sentence in sentences(text) if (wrong := _wrong(sentence, forms))]


def off_by_one(texts: Iterable[str], forms: Sequence[Form]) -> tuple[int, list[str]]:
    """Raise each number that a form compares by one, one at a time: how many there are, and those not seen as wrong."""
    tried, unseen = 0, []
    for sentence in {sentence for text in texts for sentence in sentences(text)}:
        found = next((match for pattern, _ in forms if (match := re.search(pattern, sentence))), None)
        for at in range(1, 1 + (0 if found is None else found.re.groups)):
            for number in _NUMBER.finditer(sentence, *found.span(at)) if found and found[at] else ():
                more = f"{_number(number.group()) + 1:,}"
                changed = f"{sentence[: number.start()]}{more}{sentence[number.end() :]}"
                tried += 1
                if not _wrong(changed, forms):
                    unseen.append(changed)
    return tried, unseen


def _wrong(sentence: str, forms: Sequence[Form]) -> str:
    for pattern, true in forms:
        found = re.search(pattern, sentence)
        if found is None:
            continue
        if _NUMBER.search(sentence[: found.start()]) or _NUMBER.search(sentence[found.end() :]):
            return f"unknown: {sentence}"
        return "" if true(*map(_number, found.groups())) else f"false: {sentence}"
    return f"unknown: {sentence}"


def _number(text: str) -> Any:
    try:
        value = float(text.replace(",", ""))
    except (AttributeError, ValueError):  # a name
        return text
    return int(value) if value.is_integer() else value
