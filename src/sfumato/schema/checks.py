"""Whether listed values, their groups and the texts that mean missing go together; every contradiction named."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.errors import Problem, count_of
from sfumato.schema.attribute import KNOWN, MISSING
from sfumato.schema.domain import Domain, Values, decimal_or_none, value_text
from sfumato.schema.hierarchies import LEAVES_LIMIT
from sfumato.schema.toml_models import AttributeFile
from sfumato.schema.tree import ROOT, Tree
from sfumato.visible import one_form, repaired

_RESERVED = {ROOT, MISSING, KNOWN}


def leaf_problems(
    file: AttributeFile, leaves: Sequence[str], values: Sequence[str] | None, *, missing: Sequence[str], where: str
) -> list[Problem]:
    """Return what is wrong with the leaves of an attribute's tree, alone and beside `values` and `missing`."""
    written = file.mask is None or file.values is not None  # a mask alone holds every code: missing takes its own out
    found = [*_alone(leaves, values, missing if written else (), where)]
    key = "groups" if file.groups is not None else "hierarchy" if file.hierarchy is not None else ""
    if values is not None and key:
        found += _beside_values(file, leaves, values, f"{where}.{key}", key)
    return found


def _named(where: str, values: Sequence[str], rule: str, hint: str) -> Problem:
    return Problem(where, rule, hint, count=len(values), values=tuple(values))


def _alone(
    leaves: Sequence[str], values: Sequence[str] | None, missing: Sequence[str], where: str
) -> Iterator[Problem]:
    seen = set(leaves)
    if reserved := sorted(seen & _RESERVED):
        one = "has" if len(reserved) == 1 else "have"
        rule = f"{count_of(len(reserved), 'value')} {one} a reserved name"
        yield _named(where, reserved, rule, "rename the values *, (missing) and (known)")
    if "" in seen:
        yield Problem(where, "a value is empty", 'name it, or declare missing = [""]')
    if absent := sorted(seen & {text.strip() for text in missing} - {""}):
        rule = f"{count_of(len(absent), 'value is', 'values are')} also declared missing"
        yield _named(f"{where}.missing", absent, rule, "a text is a value or means missing, not both")
    for listed in (leaves, values or ()):
        if twice := sorted(text for text, times in Counter(listed).items() if times > 1):
            rule = f"{count_of(len(twice), 'value is', 'values are')} listed twice"
            yield _named(where, twice, rule, "names are unique: list each value once")
            break
    if len(leaves) > LEAVES_LIMIT:
        yield Problem(where, f"lists {len(leaves)} values, more than can be held", "mask or group the values first")


def _beside_values(
    file: AttributeFile, leaves: Sequence[str], values: Sequence[str], where: str, key: str
) -> Iterator[Problem]:
    """`values` beside groups or a hierarchy must be the same values; for ordered ones in the same order."""
    drop = f"or drop `values`: the {key} list{'s' if key == 'hierarchy' else ''} the values too"
    known, seen = set(values), set(leaves)
    if lacking := [value for value in values if value not in seen]:
        rule = f"{'lacks' if key == 'hierarchy' else 'lack'} {len(lacking)} of the declared values"
        add = "add a line for each" if key == "hierarchy" else "put each into a group"
        yield _named(where, lacking, rule, f"{add}, {drop}")
    other = (file.other or "").strip()
    if extra := [leaf for leaf in leaves if leaf not in known and leaf != other]:
        name = "names" if key == "hierarchy" else "name"
        rule = f"{name} {count_of(len(extra), 'value that is', 'values that are')} not in `values`"
        yield _named(where, extra, rule, f"add what is right to `values`, {drop}")
    if file.kind == "ordered" and not lacking and not extra and list(values) != [x for x in leaves if x in known]:
        rule = f"list{'s' if key == 'hierarchy' else ''} the values in another order than `values`"
        yield Problem(where, rule, f"use one order, {drop}")


def doubled_names(tree: Tree, leaves: Sequence[str]) -> list[str]:
    """Return the values that share their name with a group of more than that value: the name is read as the value.

    The group can then not be named in a release; it is written out as its values.
    """
    return [leaf for leaf in leaves if len(tree.by_name.get(leaf, ())) > 1]


def rising_problems(names: Sequence[str], where: str) -> list[Problem]:
    """Return why the names cannot be the numbers of a numeric attribute."""
    numbers = [decimal_or_none(name) for name in names]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        bad = [name for name, number in zip(names, numbers, strict=True) if number is None]
        rule = f"{count_of(len(bad), 'value is not a number', 'values are not numbers')}"
        return [_named(where, bad, rule, 'use kind = "ordered" or "nominal"')]
    if any(a >= b for a, b in itertools.pairwise(known)):
        return [Problem(where, "does not list its numbers in rising order", 'sort the lines, or use kind = "nominal"')]
    return []


# `same = { m = ["M", "Mann"] }`: other spellings of a listed value, read as that value wherever a text is read.
#
# A spelling has one meaning: not a value, a group or a text that means missing, and under one value only.
# So a file, a label and a foreign table are read alike, and what we write never holds a spelling.

_ONE_MEANING = "a text is a value, another spelling of one, or means missing, not two of these"


_ACCENTS = re.compile("[\u0300-\u036f]")  # of Latin, Greek and Cyrillic; elsewhere such signs are letters
_SOFT = r"[.,;:'\"`\u00b4\u2018\u2019\u201c\u201d()\[\]{}_/\\]"
_HYPHEN = r"[-\u2010-\u2015]"
_SIGNS = re.compile(rf"(?<!\d){_SOFT}|{_SOFT}(?!\d)|(?<=[^\W\d]){_HYPHEN}(?=\w)|(?<=\w){_HYPHEN}(?=[^\W\d])")
_BLANKS = re.compile(r"(?<!\d)\s+|\s+(?!\d)")
_NUMBER = re.compile(r"(-?)0*(\d+)(?:[.,](\d+))?", re.ASCII)
_THOUSANDS = 3  # digits after a sign that may part thousands


def plain_spelling(text: str) -> str:
    """Return a text without what two spellings of one value differ in.

    That is case, blanks, accents, forms of a letter, unseen signs, punctuation, and letters read in a wrong
    encoding. Kept are signs between digits (1.5, 10-19), a hyphen that joins nothing (A-), and signs that mean
    something (+, <, %). Of a number, leading zeros, a comma in the place of the decimal point and .0 after a number
    below 100 go as well. Other zeros at the end stay: in codes such as 250 and 250.0 they mean something.

    >>> plain_spelling("COVID-19.") == plain_spelling("Covid 19")
    True
    >>> plain_spelling("A-") == plain_spelling("A+")
    False
    >>> plain_spelling("01.0"), plain_spelling("2,5"), plain_spelling("250.0")
    ('1', '2.5', '250.0')
    """
    if text == MISSING:  # our own mark is not a spelling of a value named missing
        return text
    before, plain = None, repaired(text)
    while plain != before:
        before = plain
        apart = unicodedata.normalize("NFKD", one_form(plain))
        bare = unicodedata.normalize("NFC", _ACCENTS.sub("", apart))
        plain = _BLANKS.sub("", _SIGNS.sub("", bare)).strip() or " ".join(bare.split())
        plain = _plain_number(plain)
    return plain


def _plain_number(text: str) -> str:
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    minus, whole, part = found.groups()
    if part is None or (part == "0" and len(whole) < _THOUSANDS):  # codes of diagnoses have three digits
        return f"{minus}{whole}"
    return text if len(part) == _THOUSANDS else f"{minus}{whole}.{part}"


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
            [text for text in spellings if text in groups - _RESERVED - {""}],
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
            [text for text in spellings if text in _RESERVED | {""}],
            spelling,
            "empty or reserved",
            'missing = [""] is for empty cells; *, (missing) and (known) are names of ours',
        ),
    )
    for found, (one, many), rule, hint in faults:
        if found:
            texts = tuple(sorted(set(found)))
            message = f"{count_of(len(texts), one, many)} {rule}"
            yield Problem(where, message, hint, count=len(texts), values=texts)
