"""Whether listed values, their groups and the texts that mean missing go together; every contradiction named."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato.errors import Problem, ReleaseError, count_of
from sfumato.schema.attribute import KNOWN, MISSING
from sfumato.schema.domain import Domain, Values, decimal_or_none, value_text
from sfumato.schema.hierarchies import LEAVES_LIMIT
from sfumato.schema.toml_models import AttributeFile
from sfumato.schema.tree import ROOT, Tree
from sfumato.visible import one_form

__all__ = [
    "are_categories",
    "doubled_names",
    "leaf_problems",
    "looks_like_free_text",
    "names_rule",
    "plain_spelling",
    "rare_texts",
    "read_same",
    "refuse_free_text",
    "refuse_rare_text",
    "rising_problems",
    "rows_with_names",
    "same_problems",
]

_RESERVED = {ROOT, MISSING, KNOWN}


def leaf_problems(
    file: AttributeFile, leaves: Sequence[str], values: Sequence[str] | None, *, missing: Sequence[str], where: str
) -> list[Problem]:
    """Return what is wrong with the leaves of an attribute's tree, alone and beside `values` and `missing`."""
    found = [*_alone(leaves, values, missing, where)]
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


# Do listed values look like what a person typed freely? Then names may stand among them, whatever the column's role.
#
# A guess by shape alone: it knows no names and no language. Three values of three words, or longer than a label is,
# suffice; so do many values of which half have several words or are cut by marks such as a colon. It errs towards
# asking: long names of categories look like text too, and only a person can tell.

_WORDS, _LONG = 3, 40  # words and characters from which a value reads like a sentence
_SEVERAL, _SHARE = 3, 5  # at least 3 such values, and 1 in 5 of all
_MANY, _TWENTY = 50, 20  # values that are many in a list, and in a file where each is rare
_ROWS_EACH = 10  # rows for each value below which values are rare
_CATEGORIES = 30  # at most 30 values with `_ROWS_EACH` rows each on average are categories, not text
_RARE = 3  # rows of a value, from which on it is a place or a category, not the name of a person
_PARTICLES = {"van", "von", "der", "den", "de", "la", "le", "di", "da", "del", "zu", "zur", "ter", "el", "al", "bin"}
_TITLE = re.compile(  # before a name; with a full stop where it is a word or a code without one
    r"(?:frau|herr|mrs?|ms|mx|miss|madam|dr|prof|pastor|pfarrer|rev|madame|monsieur|mme|mlle|se\u00f1ora?|srta|sra|don|"
    r"do\u00f1a|signora?|dott|dott\.ssa|mevrouw|mevr|meneer|dhr)\.?|(?:frl|fr|hr|med|m|sr|sig)\.",
    re.IGNORECASE,
)
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
    """Return in how many rows values look like the names of people: two or three words with a capital letter.

    `values` says how many rows have each. A place or a category of two words stands in many rows, so that several
    rare values are needed; one that begins with a title (Frau Klein) is a name in however many rows it stands.
    """
    titled = [rows for text, rows in values.items() if _is_titled(text)]
    rare = [rows for text, rows in values.items() if rows <= _RARE and _is_name(text) and not _is_titled(text)]
    return sum(titled) + (sum(rare) if len(titled) + len(rare) >= _SEVERAL else 0)


def _is_titled(text: str) -> bool:
    """True for a title and one to three words with a capital letter, further titles and particles aside."""
    words = text.replace(",", " ").split()
    if len(words) < 2 or not _is_title(words[0]):
        return False
    rest = [word for word in words[1:] if not _is_title(word) and word.casefold() not in _PARTICLES]
    return 1 <= len(rest) <= _WORDS and all(len(word) > 1 and _is_capital(word) for word in rest)


def _is_title(word: str) -> bool:
    return bool(_TITLE.fullmatch(word)) and (word.endswith(".") or not word.isupper())  # MS is an illness


def _is_name(text: str) -> bool:
    words = [word for word in text.replace(",", " ").split() if word.casefold() not in _PARTICLES]
    return len(words) in (2, 3) and all(map(_is_capital, words))


def _is_capital(word: str) -> bool:
    plain = word.replace("-", "").replace("'", "").replace("\u2019", "").rstrip(".")
    return plain.isalpha() and plain[0].isupper() and not plain[1:].isupper()


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


def rare_texts(values: Mapping[str, int]) -> list[str]:
    """Return the values of hardly any row that look like names, or like what somebody wrote; none where they are few.

    `values` says how many rows have each.
    """
    rare = [text for text, rows in values.items() if rows <= _RARE]
    found = [text for text in rare if len(text.split()) >= _WORDS or len(text) > _LONG or _is_name(text)]
    return found if len(found) >= _SEVERAL else []


def refuse_rare_text(name: str, texts: Sequence[str]) -> None:
    """Raise where labels of a column spell out several `rare_texts`."""
    if len(texts) < _SEVERAL:
        return
    rule = (
        f"{name}: {len(texts)} values that {_RARE} rows or fewer have are spelt out in labels, and look like names or "
        "like what somebody wrote freely"
    )
    hint = (
        "gather them in groups (groups, hierarchy, same), give the role other, or say yes with allow_text=True "
        "(--allow-text)"
    )
    raise ReleaseError(rule, hint=hint)


def names_rule(rows: int) -> str:
    """Say that values look like names."""
    has = count_of(rows, "row has a value that looks", "rows have values that look")
    return f"is published as it is, and {has} like the name of a person"


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


_NO_VALUE = "(missing)"


def plain_spelling(text: str) -> str:
    """Return a text without what two spellings of one value differ in.

    That is case, blanks, accents, forms of a letter, unseen signs and punctuation. Kept are signs between digits (1.5,
    10-19), a hyphen that joins nothing (A-), and signs that mean something (+, <, %).

    >>> plain_spelling("COVID-19.") == plain_spelling("Covid 19")
    True
    >>> plain_spelling("A-") == plain_spelling("A+")
    False
    """
    if text == _NO_VALUE:  # our own mark is not a spelling of a value named missing
        return text
    before, plain = None, text
    while plain != before:
        before = plain
        apart = unicodedata.normalize("NFKD", one_form(plain))
        bare = unicodedata.normalize("NFC", _ACCENTS.sub("", apart))
        plain = _BLANKS.sub("", _SIGNS.sub("", bare)).strip() or " ".join(bare.split())
    return plain


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
