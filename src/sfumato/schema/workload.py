"""Which tables a reader will ask for: declared and public. The choice of tables and the error of a release follow it.

Source    The weights of AIM: McKenna, Mullins, Sheldon & Miklau, VLDB 2022, section 4.
Claim     The weight of a pair or triple is how many sets of the workload hold it; it depends on the declaration and the
          schema alone.
Because   no counts are read here.
Checked   tests/unit/mechanisms/test_marginals_model.py::test_workloads_are_read_and_written
Silent on whether the declaration was made without looking at the data: that is the steward's word.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from sfumato.errors import ParameterError
from sfumato.schema.table_schema import Schema

AttributeSet = tuple[int, ...]  # places of attributes, in rising order
Declared = tuple[tuple[str, ...], ...] | int | str | None  # as it is held: sets, "all k-way" by k, a target, none


class WorkloadField:
    """A field that holds a workload and takes a list of sets of attribute names, a number or a name."""

    def __get__(self, instance: object, owner: Any) -> Declared: ...
    def __set__(self, instance: object, value: Sequence[Sequence[str]] | int | str | None) -> None: ...


def read_workload(value: Any) -> Declared:
    """Read a workload: None or 3 (all sets of three), the name of a target, or sets of names."""
    hint = 'a number of attributes such as 3, a target such as "income", or sets such as [["age", "sex"]]'
    if value is None:
        return None
    if isinstance(value, bool):
        raise ParameterError("workload", value, "must be a workload", hint=hint)
    if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()):
        if not 1 <= int(value) <= 4:
            raise ParameterError("workload", value, "must be in 1 .. 4", hint=hint)
        return int(value)
    if isinstance(value, str):
        return value
    if not isinstance(value, Sequence) or any(isinstance(one, str) or not isinstance(one, Sequence) for one in value):
        raise ParameterError("workload", type(value).__name__, "must be a workload", hint=hint)
    sets = tuple(tuple(str(name) for name in one) for one in value)
    if not sets or any(not one or len(set(one)) < len(one) for one in sets):
        raise ParameterError("workload", "given", "must hold sets of different attributes", hint=hint)
    return sets


def workload_from_texts(texts: Sequence[str]) -> str | list[list[str]] | None:
    """Read `--workload 3`, `--workload income`, or sets `--workload age+sex --workload age+job`.

    >>> workload_from_texts(["age+sex", "age+job"])
    [['age', 'sex'], ['age', 'job']]
    """
    if not texts:
        return None
    if len(texts) == 1 and "+" not in texts[0]:
        return texts[0]
    return [[name.strip() for name in text.split("+")] for text in texts]


def workload_texts(workload: Declared) -> list[str] | None:
    """Write a workload as the command line has it; None if a name cannot be written so."""
    if isinstance(workload, tuple):
        safe = all("+" not in name and name == name.strip() and name for one in workload for name in one)
        return ["+".join(one) for one in workload] if safe and all(len(one) > 1 for one in workload) else None
    return [str(workload)]


def workload_sets(workload: Declared, schema: Schema) -> list[AttributeSet]:
    """Return the sets as places among the published attributes."""
    names = [attribute.name for attribute in schema.published]
    if workload is None or isinstance(workload, int):
        size = min(workload or 3, len(names))
        return list(itertools.combinations(range(len(names)), size))
    sets: list[tuple[str, ...]] = [(workload,)] if isinstance(workload, str) else list(workload)
    if isinstance(workload, str) and len(names) > 1:
        sets = [(workload, name) for name in names if name != workload]
    strangers = [name for one in sets for name in one if name not in names]
    if strangers:
        raise ParameterError("workload", strangers[0], "is not a published attribute", hint="name published ones")
    return [tuple(sorted(names.index(name) for name in one)) for one in sets]


def set_weights(sets: Sequence[AttributeSet]) -> dict[AttributeSet, int]:
    """Return how many sets of the workload hold each pair and each triple; those in none are left out."""
    found: dict[AttributeSet, int] = {}
    for one in sets:
        for size in (2, 3):
            for part in itertools.combinations(one, size):
                found[part] = found.get(part, 0) + 1
    return dict(sorted(found.items()))
