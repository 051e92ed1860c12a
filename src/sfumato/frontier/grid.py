"""`sweep`: lists of mechanisms to compare, written as grids.

sweep("tradeoff")                                    a paper's own grid
sweep(Mondrian, t=["0.1", "0.2"])                    one mechanism for each value
sweep(Mondrian, Bucketize, k=[10, 100], t="0.2")     every combination, for each method
sweep(DiffGen, epsilon=["0.5", 1], specializations=10)
sweep(sweep("tradeoff"), Suppress(), Anatomy(3))     anything together, each once
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import reduce
from itertools import product
from operator import and_
from typing import Any

from sfumato.claims import (
    BetaLikeness,
    KAnonymity,
    LDiversity,
    Requirement,
    SemanticPrivacy,
    TCloseness,
)
from sfumato.errors import ParameterError
from sfumato.frontier.naming import written_as
from sfumato.frontier.presets import PRESETS
from sfumato.mechanisms import Mechanism

__all__ = ["sweep"]

_REQUIREMENTS: dict[str, Callable[[Any], Requirement]] = {
    "k": KAnonymity,
    "l": LDiversity,
    "t": TCloseness,
    "delta": SemanticPrivacy,
    "beta": BetaLikeness,
}


def sweep(*parts: Any, **grid: Any) -> tuple[Mechanism, ...]:
    """Return the mechanisms to compare, each once, in the order written.

    Without keywords, `parts` are names of presets, mechanisms and sweeps. With keywords, `parts` are classes of
    mechanisms and every combination of the keywords' values is made; for a method that takes a requirement, k, l, t,
    delta and beta are short for the requirements of those names, joined by `&`.
    """
    if not parts:
        raise ParameterError("parts", "nothing", "name what to sweep", hint=f"a preset: {', '.join(PRESETS)}")
    found = [one for part in parts for one in (_grid(part, grid) if grid else _listed(part))]
    written: dict[str, Mechanism] = {}
    for mechanism in found:
        written.setdefault(json.dumps(written_as(mechanism), sort_keys=True), mechanism)
    return tuple(written.values())


def _listed(part: Any) -> Iterable[Mechanism]:
    if isinstance(part, str):
        if part not in PRESETS:
            raise ParameterError("preset", part, "is not known", hint=f"one of {', '.join(PRESETS)}")
        return PRESETS[part].mechanisms()
    if isinstance(part, type):
        hint = f"{part.__name__}(...) or sweep({part.__name__}, k=[...])"
        raise ParameterError("parts", part.__name__, "is a class without a grid", hint=hint)
    if isinstance(part, Mechanism):
        return (part,)
    if isinstance(part, Iterable):
        return [one for inner in part for one in _listed(inner)]
    raise ParameterError("parts", type(part).__name__, "is no mechanism and no preset")


def _grid(kind: Any, grid: Mapping[str, Any]) -> Iterable[Mechanism]:
    if not isinstance(kind, type) or not is_dataclass(kind):
        shown = kind if isinstance(kind, str) else type(kind).__name__
        raise ParameterError("parts", shown, "with a grid only classes go", hint="sweep(Mondrian, k=[10, 100])")
    known = [field.name for field in fields(kind)]
    short = [name for name in grid if "requirement" in known and name not in known and name in _REQUIREMENTS]
    for name in grid:
        if name not in known and name not in short:
            options = [*known, *(_REQUIREMENTS if "requirement" in known else ())]
            raise ParameterError(name, kind.__name__, "is no parameter of it", hint=f"one of {', '.join(options)}")
    return [
        _made(kind, dict(zip(grid, values, strict=True)), short) for values in product(*map(_values, grid.values()))
    ]


def _values(given: Any) -> list[Any]:
    several = isinstance(given, Iterable) and not isinstance(given, str | Mapping | Requirement)
    values = list(given) if several else [given]
    if not values:
        raise ParameterError("grid", "an empty list", "must hold at least one value")
    return values


def _made(kind: Any, chosen: dict[str, Any], short: list[str]) -> Mechanism:
    """Join what is asked into one requirement; the first parameter of a mechanism is positional."""
    if short:
        parts = [_REQUIREMENTS[name](chosen.pop(name)) for name in short]
        parts += [chosen.pop("requirement")] if "requirement" in chosen else []
        chosen["requirement"] = reduce(and_, parts)
    first = fields(kind)[0].name if fields(kind) else ""
    made: Mechanism = kind(chosen.pop(first), **chosen) if first in chosen else kind(**chosen)
    return made
