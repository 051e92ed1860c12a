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
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from sfumato.claims import (
    KAnonymity,
    LDiversity,
    Requirement,
    SemanticPrivacy,
    TCloseness,
    asked_for,
    plain,
    requirement_flags,
)
from sfumato.declare import given, parameters
from sfumato.errors import ParameterError
from sfumato.mechanisms import Bucketize, DiffGen, Marginals, Mechanism, Mondrian, NoisyTable, TargetRows

# How a mechanism is written and called in lists, tooltips and files.


def written_as(mechanism: Any) -> dict[str, Any]:
    """Return the mechanism's JSON; one that has none is written by its fields."""
    if hasattr(mechanism, "to_json"):
        return dict(mechanism.to_json())
    return {"name": type(mechanism).__name__, **{f.name: repr(getattr(mechanism, f.name)) for f in fields(mechanism)}}


def label_of(mechanism: Any) -> str:
    """Return name and parameters that are not the default: `Mondrian t-closeness(0.1), cut=widest`."""
    said: list[str] = []
    for name, value in _settings(mechanism):
        if isinstance(value, Requirement):
            said.insert(0, str(value))
        elif hasattr(value, "apply"):
            said.append(f"over {label_of(value)}")
        else:
            said.append(f"{name}={_plain(value)}")
    return " ".join([type(mechanism).__name__, ", ".join(said)]).strip()


def family_of(mechanism: Any) -> str:
    """Return the method and the kinds of its requirement, without their parameters: one curve of the picture."""
    for field in fields(mechanism):
        value = getattr(mechanism, field.name)
        if isinstance(value, Requirement):
            kinds = " & ".join(_kind(part) for part in value.parts)
            return f"{type(mechanism).__name__}, {kinds}"
        if hasattr(value, "apply"):
            return f"{type(mechanism).__name__} over {family_of(value)}"
    return type(mechanism).__name__


def python_of(mechanism: Any) -> str:
    """Return Python that makes the mechanism, where `sf` is sfumato; one of another package by its module's name."""
    names = [one.name for one in parameters(type(mechanism))][:1]
    said = [_code(value) if name in names else f"{name}={_code(value)}" for name, value in _settings(mechanism)]
    return f"{_where(mechanism)}.{type(mechanism).__name__}({', '.join(said)})"


def _settings(thing: Any) -> list[tuple[str, Any]]:
    return [(one.name, value) for one, value in given(thing)]


def _where(thing: Any) -> str:
    module = type(thing).__module__
    return "sf" if module.partition(".")[0] == "sfumato" else module


def _kind(part: Requirement) -> str:
    """The requirement's name without its first number; readings such as `one-sided` stay."""
    words, _, inside = str(part).partition("(")
    readings = [word for word in inside.removesuffix(")").split(", ")[1:] if not _number(word)]
    return f"{words} ({', '.join(readings)})" if readings else words


def _number(text: str) -> bool:
    try:
        Fraction(text)
    except ValueError:
        return False
    return True


def _plain(value: Any) -> str:
    return plain(value) if isinstance(value, Fraction) else str(value)


def _code(value: Any) -> str:
    if isinstance(value, Requirement):
        return " & ".join(python_of(part) for part in value.parts)
    if hasattr(value, "apply"):
        return python_of(value)
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else repr(plain(value))
    return repr(value)


# The papers' own grids, and one to begin with.
#
# Source    Li & Li, KDD 2009, section 5.1 (figure 2: k, l, t and delta; 2(b): buckets under l and t);
#           Mohammed, Chen, Fung & Yu, KDD 2011, section 5 (figure 3: epsilon and number of specializations).
# Claim     `tradeoff` holds the 32 generalizations of figure 2(a), `tradeoff-buckets` the 16 buckets of figure 2(b),
#           `tradeoff-readings` semantic privacy in the readings the paper's axis does not settle.
# Because   the values are those printed; t-closeness there is under JS, l-diversity is the largest share.
# Checked   tests/unit/frontiers/test_sweep.py::test_the_papers_grids
# Silent on the paper's Mondrian: it does not say how it cuts. Ours is `cut="best"`.

_K = (10, 50, 100, 200, 500, 1000, 2000, 5000)
_L = ("3", "3.5", "4", "4.25", "4.5", "4.75", "5", "5.5")
_T = ("0.075", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4")
_DELTA = ("1", "1.2", "1.4", "1.5", "1.7", "1.9", "2", "2.1")


@dataclass(frozen=True, slots=True)
class Preset:
    """A grid with a name: what it is, and how to make it."""

    about: str
    _: KW_ONLY
    mechanisms: Callable[[], tuple[Mechanism, ...]]


def _under(method: Any, kind: Callable[[Any], Requirement], values: tuple[Any, ...]) -> tuple[Mechanism, ...]:
    return tuple(method(kind(value)) for value in values)


def _one_sided(delta: Any) -> Requirement:
    return SemanticPrivacy(delta, sides="one")


def _absent_ignored(delta: Any) -> Requirement:
    return SemanticPrivacy(delta, absent="ignore")


def _tradeoff() -> tuple[Mechanism, ...]:
    return (
        *_under(Mondrian, KAnonymity, _K),
        *_under(Mondrian, LDiversity, _L),
        *_under(Mondrian, TCloseness, _T),
        *_under(Mondrian, SemanticPrivacy, _DELTA),
    )


def _buckets() -> tuple[Mechanism, ...]:
    return (*_under(Bucketize, LDiversity, _L), *_under(Bucketize, TCloseness, _T))


def _readings() -> tuple[Mechanism, ...]:
    return (*_under(Mondrian, _one_sided, _DELTA), *_under(Mondrian, _absent_ignored, _DELTA))


def _diffgen() -> tuple[Mechanism, ...]:
    return tuple(
        DiffGen(epsilon, specializations=h) for epsilon in ("0.1", "0.25", "0.5", "1") for h in (4, 7, 10, 13, 16)
    )


def _private() -> tuple[Mechanism, ...]:
    kinds = (DiffGen.recommended, NoisyTable, Marginals, TargetRows)
    return tuple(kind(epsilon) for kind in kinds for epsilon in ("0.1", "0.5", "1", "4"))


def _marginals() -> tuple[Mechanism, ...]:
    return tuple(Marginals(epsilon) for epsilon in ("0.5", "1", "4"))


def _first_grid(kind: Any) -> tuple[Any, ...]:
    """The values that a class declares for a first comparison, of its first parameter."""
    fields = parameters(kind) if isinstance(kind, type) and is_dataclass(kind) else ()
    return fields[0].grid if fields else ()


def _standard() -> tuple[Mechanism, ...]:
    return (
        *_under(Mondrian, KAnonymity, _first_grid(KAnonymity)),
        *_under(Mondrian, LDiversity, _first_grid(LDiversity)),
        *_under(Mondrian, TCloseness, _first_grid(TCloseness)),
        *_under(Bucketize, TCloseness, _first_grid(TCloseness)),
        *(DiffGen(epsilon) for epsilon in _first_grid(DiffGen)),
    )


PRESETS: dict[str, Preset] = {
    "standard": Preset("a first look: partitions, buckets and differential privacy", mechanisms=_standard),
    "tradeoff": Preset("Li & Li 2009, figure 2(a): Mondrian under k, l, t and delta", mechanisms=_tradeoff),
    "tradeoff-buckets": Preset("Li & Li 2009, figure 2(b): buckets under l and t", mechanisms=_buckets),
    "tradeoff-readings": Preset("semantic privacy in its other readings, same deltas", mechanisms=_readings),
    "diffgen": Preset("Mohammed et al. 2011, figure 3: DiffGen by epsilon and specializations", mechanisms=_diffgen),
    "marginals": Preset("differential privacy by tables of counts: Marginals by epsilon", mechanisms=_marginals),
    "private": Preset("differential privacy by four methods; compare by workload_error", mechanisms=_private),
}


def sweep(*parts: Any, **grid: Any) -> tuple[Mechanism, ...]:
    """Return the mechanisms to compare, each once, in the order written.

    Without keywords, `parts` are names of presets, mechanisms, sweeps, and classes that declare a grid of their own.
    With keywords, `parts` are classes of mechanisms and every combination of the keywords' values is made; for a method
    that takes a requirement, the flags of requirements (k, l, t, delta, beta, alpha, distance, ...) stand for the
    requirements they ask for, joined by `&`.

    >>> [str(mechanism.requirement) for mechanism in sf.sweep(sf.Mondrian, k=[10, 50], l=[2])]
    ['k-anonymity(10) & l-diversity(2)', 'k-anonymity(50) & l-diversity(2)']
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
        if values := _first_grid(part):
            return [part(value) for value in values]
        hint = f"{part.__name__}(...) or sweep({part.__name__}, k=[...])"
        raise ParameterError("parts", part.__name__, "is a class without a grid", hint=hint)
    if isinstance(part, Mechanism):
        return (part,)
    if isinstance(part, Iterable):
        return [one for inner in part for one in _listed(inner)]
    raise ParameterError("parts", type(part).__name__, "is neither a mechanism nor a preset")


def _grid(kind: Any, grid: Mapping[str, Any]) -> Iterable[Mechanism]:
    if not isinstance(kind, type) or not is_dataclass(kind):
        shown = kind if isinstance(kind, str) else type(kind).__name__
        raise ParameterError(
            "parts", shown, "must be a class where a grid is given", hint="sweep(Mondrian, k=[10, 100])"
        )
    known = [one.name for one in parameters(kind)]
    flags = list(requirement_flags()) if "requirement" in known else []
    short = [name for name in grid if name not in known and name in flags]
    for name in grid:
        if name not in known and name not in short:
            options = [*known, *flags]
            raise ParameterError(name, kind.__name__, "is not a parameter of it", hint=f"one of {', '.join(options)}")
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
    """Join what is asked into one requirement."""
    asked = asked_for({name: chosen.pop(name) for name in short})
    if asked is not None:
        chosen["requirement"] = asked & chosen["requirement"] if "requirement" in chosen else asked
    made: Mechanism = kind(**chosen)
    return made
