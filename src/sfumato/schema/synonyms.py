"""`same = { m = ["M", "Mann"] }`: other spellings of a listed value, read as that value wherever a text is read.

A spelling has one meaning: it is no value, no group, no text that means missing, and stands under one value only.
So a file, a label and a foreign table are read alike, and what we write never holds a spelling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.errors import Problem, count_of
from sfumato.schema.attribute import KNOWN, MISSING
from sfumato.schema.domain import Domain, Values, value_text
from sfumato.schema.tree import ROOT, Tree
from sfumato.visible import one_form

__all__ = ["plain_spelling", "read_same", "same_problems"]

_RESERVED = {ROOT, MISSING, KNOWN, ""}
_ONE_MEANING = "a text is a value, another spelling of one, or means missing, not two of these"


def plain_spelling(text: str) -> str:
    """Return a text without what two spellings of one value differ in: case, blanks, letter forms, unseen signs."""
    return " ".join(one_form(text).split())


def read_same(given: Mapping[str, Sequence[Any]] | None) -> dict[str, str]:
    """Return the value each spelling is read as."""
    return {text: name.strip() for name, texts in (given or {}).items() for text in map(value_text, texts)}


def same_problems(
    given: Mapping[str, Sequence[Any]], domain: Domain, tree: Tree | None, missing: Sequence[str], where: str
) -> list[Problem]:
    """Return every spelling or value of `same` that has a second meaning or none."""
    if not isinstance(domain, Values):
        return [Problem(where, "is for attributes with listed values", "drop it, or list the values in `values`")]
    return list(_listed(given, domain, tree, missing, where))


def _listed(
    given: Mapping[str, Sequence[Any]], domain: Values, tree: Tree | None, missing: Sequence[str], where: str
) -> Iterator[Problem]:
    spellings = [value_text(text) for texts in given.values() for text in texts]
    groups = set(tree.names) - set(domain.names) if tree is not None else set()
    absent = {text.strip() for text in missing} - {""}
    values, spelling = ("value is", "values are"), ("spelling is", "spellings are")
    faults = (
        (
            [name.strip() for name in given if name.strip() not in domain.index],
            values,
            "not listed",
            "write { value = [spellings of it] }, and list the value in `values` or its group",
        ),
        (
            [text for text in spellings if text in domain.index],
            spelling,
            "also listed as a value",
            "take it out of `values` and groups: only the value it is read as stands there",
        ),
        ([text for text in spellings if text in absent], spelling, "also declared missing", _ONE_MEANING),
        (
            [text for text in spellings if text in groups - _RESERVED],
            spelling,
            "also the name of a group",
            _ONE_MEANING,
        ),
        (
            [text for text, times in Counter(spellings).items() if times > 1],
            spelling,
            "given twice",
            "each spelling stands once, under one value",
        ),
        (
            [text for text in spellings if text in _RESERVED],
            spelling,
            "empty or reserved",
            'missing = [""] is for empty cells; *, (missing) and (known) are names of ours',
        ),
    )
    for found, (one, many), rule, hint in faults:
        if found:
            texts = tuple(sorted(set(found)))
            told = f"{count_of(len(texts), one, many)} {rule}"
            yield Problem(where, told, hint, count=len(texts), values=texts)
