"""The class a learner is to tell: a carried attribute, or a declared binning of one.

Source    DiffGen paper (Mohammed, Chen, Fung & Yu, KDD 2011), section 3: the class is one categorical attribute. A
          binning is ours.
Claim     Every code of the attribute is in exactly one class; missing values are a class of their own.
Because   a number used as an edge must be the edge of a cell, and named bins must be disjoint and cover the domain.
Checked   tests/unit/measures/test_target.py::test_edges_cut_a_numeric_attribute
          tests/unit/measures/test_target.py::test_bins_that_overlap_or_leave_values_out_are_refused
Silent on which classes make sense.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.schema import Attribute, Schema, Values, parse_label
from sfumato.schema.domain import decimal_or_none, value_text

__all__ = ["Bins", "Target", "target_of"]

Bins = Sequence[Any]


@dataclass(frozen=True)
class Target:
    """`of_code[code]` is the class of each code of the attribute; `names` are the classes."""

    attribute: Attribute
    _: KW_ONLY
    of_code: np.ndarray
    names: tuple[str, ...]

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.names)


def target_of(schema: Schema, target: str | None, bins: Bins | None) -> Target:
    """Return the class: the attribute named, else the one in the role `target`.

    `bins` is a list of numbers (or dates) at which the attribute is cut, or a list of texts, each a label of the
    attribute (a value, a node of its tree, an interval), that together hold every value once.
    """
    attribute = _attribute(schema, target)
    if bins is None:
        return Target(attribute, of_code=np.arange(attribute.size), names=tuple(attribute.texts()))
    if isinstance(bins, str) or not len(bins):
        raise ParameterError("bins", bins or "nothing", "must be a list of edges or labels", hint="[30, 50]")
    if any(isinstance(part, str) for part in bins):
        return _named(attribute, [str(part) for part in bins])
    return _cut(attribute, bins)


def _attribute(schema: Schema, target: str | None) -> Attribute:
    if target is None:
        if not schema.role("target"):
            hint = "name one: target=..., or table.with_roles(target=...)"
            raise ParameterError("target", "none", "no attribute has the role target", hint=hint)
        names = [known.name for known in schema.role("target")]
        if len(names) > 1:
            hint = f"name one: target=..., one of {', '.join(names)}"
            raise ParameterError("target", "none", f"{len(names)} attributes have the role target", hint=hint)
        return schema.role("target")[0]
    found = schema[target]
    if found not in schema.carried:
        hint = f"one of {', '.join(known.name for known in schema.carried) or 'none'}"
        raise ParameterError("target", target, "is neither sensitive nor target", hint=hint)
    return found


def _cut(attribute: Attribute, edges: Bins) -> Target:
    domain = attribute.values
    if isinstance(domain, Values):
        raise ParameterError("bins", "numbers", f"{attribute.name} has named values", hint="list labels instead")
    bounds = [0, *(_start(attribute, edge) for edge in edges), domain.size]
    if sorted(set(bounds)) != bounds:
        raise ParameterError("bins", len(edges), "must ascend and lie inside the range", hint="for instance [30, 50]")
    sets = [((low, high),) for low, high in pairwise(bounds)]
    return _classes(attribute, sets, [f"{domain.text(low)} to {domain.text(high - 1)}" for ((low, high),) in sets])


def _start(attribute: Attribute, edge: Any) -> int:
    """The cell that begins at an edge."""
    domain = attribute.values
    code = domain.code(value_text(edge))
    begins = None if code is None or isinstance(domain, Values) else domain.edge(code)
    given = edge if isinstance(edge, dt.date) else decimal_or_none(value_text(edge))
    if code is None or begins is None or begins != given:
        raise ParameterError("bins", edge, f"is no edge of a cell of {attribute.name} inside its range")
    return code


def _named(attribute: Attribute, labels: list[str]) -> Target:
    sets = []
    for label in labels:
        found = parse_label(attribute, label)
        if found is None:
            hint = "a value, a node of its tree, or an interval"
            raise ParameterError("bins", label, f"is no label of {attribute.name}", hint=hint)
        sets.append(found)
    return _classes(attribute, sets, labels)


def _classes(attribute: Attribute, sets: list[Any], names: list[str]) -> Target:
    of_code = np.full(attribute.size, -1)
    for number, intervals in enumerate(sets):
        for low, high in intervals:
            if (of_code[low:high] >= 0).any():
                raise ParameterError("bins", names[number], "shares values with a bin before it")
            of_code[low:high] = number
    if attribute.missing_code is not None and of_code[attribute.missing_code] < 0:
        of_code[attribute.missing_code] = len(names)
        names = [*names, attribute.text(attribute.missing_code)]
    left = int((of_code < 0).sum())
    if left:
        rule = f"leave {left} values of {attribute.name} without a class"
        raise ParameterError("bins", len(sets), rule, hint="add a bin for the rest")
    return Target(attribute, of_code=of_code, names=tuple(names))
