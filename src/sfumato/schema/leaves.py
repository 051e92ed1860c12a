"""Whether listed values, their groups and the texts that mean missing go together; every contradiction named."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from sfumato.errors import Problem, count_of
from sfumato.schema.attribute import KNOWN, MISSING
from sfumato.schema.builders import LEAVES_LIMIT
from sfumato.schema.domain import decimal_or_none
from sfumato.schema.file import AttributeFile
from sfumato.schema.tree import ROOT, Tree

__all__ = ["doubled_names", "leaf_problems", "rising_problems"]

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
    """Return why the names can not be the numbers of a numeric attribute."""
    numbers = [decimal_or_none(name) for name in names]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        bad = [name for name, number in zip(names, numbers, strict=True) if number is None]
        rule = f"{count_of(len(bad), 'value is no number', 'values are not numbers')}"
        return [_named(where, bad, rule, 'use kind = "ordered" or "nominal"')]
    if any(a >= b for a, b in itertools.pairwise(known)):
        return [Problem(where, "does not list its numbers in rising order", 'sort the lines, or use kind = "nominal"')]
    return []
