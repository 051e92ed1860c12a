"""Every promise by its name in JSON, requirements of installed packages included, and the readers for them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import reduce
from importlib import import_module
from inspect import isabstract
from operator import and_
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final, TypeAlias

from sfumato.claims.guarantees import ApproxDP, ConcentratedDP, Linkable, Nothing, ProbabilisticDP, PureDP
from sfumato.claims.requirement import Conjunction, Requirement
from sfumato.declare import Parameter, from_json, given as given_parameters, parameters, written_flag
from sfumato.errors import ParameterError
from sfumato.limits import CLAIM_PARTS
from sfumato.registry import Registry

Promise: TypeAlias = Requirement | PureDP | ApproxDP | ConcentratedDP | ProbabilisticDP | Linkable | Nothing

_AFTER = ("claim", "registry")  # modules of this package that import this one


def _own() -> dict[str, type[Requirement]]:
    """Every requirement that a module of this package declares and that a file can show."""
    found: list[type[Requirement]] = []
    for module in iter_modules([str(Path(__file__).parent)]):
        if module.name not in _AFTER:
            inside = vars(import_module(f"sfumato.claims.{module.name}")).values()
            found += [kind for kind in inside if isinstance(kind, type) and issubclass(kind, Requirement)]
    listed = {kind for kind in found if kind.checkable and not isabstract(kind) and kind is not Conjunction}
    return {kind.label: kind for kind in sorted(listed, key=lambda kind: (kind.order, kind.label))}


REQUIREMENTS: Final = Registry("sfumato.requirements", _own())
GUARANTEES: Final[dict[str, type[PureDP | ApproxDP | ConcentratedDP | ProbabilisticDP | Linkable | Nothing]]] = {
    kind.label: kind for kind in (PureDP, ApproxDP, ConcentratedDP, ProbabilisticDP, Linkable, Nothing)
}


def requirement_from_json(data: Mapping[str, Any]) -> Requirement:
    """Return the requirement that `to_json` wrote."""
    kind = _kind(data)
    if kind == Conjunction.label:
        parts = _field(data, "of")
        if not isinstance(parts, list) or len(parts) > CLAIM_PARTS:
            number = len(parts) if isinstance(parts, list) else type(parts).__name__
            raise ParameterError("of", number, f"must be a list of at most {CLAIM_PARTS} requirements")
        return Conjunction(tuple(requirement_from_json(part) for part in parts))
    if kind not in REQUIREMENTS:
        hint = "it may come from a package that is not installed here"
        raise ParameterError("kind", kind, f"must be one of {', '.join(REQUIREMENTS)} or all", hint=hint)
    requirement: Requirement = _read(REQUIREMENTS[kind], data)
    return requirement


def promise_from_json(data: Mapping[str, Any]) -> Promise:
    """Return the promise that `to_json` wrote: a requirement, a guarantee, an estimate or nothing."""
    kind = _kind(data)
    if kind in GUARANTEES:
        guarantee: Promise = _read(GUARANTEES[kind], data)
        return guarantee
    return requirement_from_json(data)


def _kind(data: Mapping[str, Any]) -> str:
    if not isinstance(data, Mapping):
        raise ParameterError("promise", type(data).__name__, "must be an object with a kind")
    return str(_field(data, "kind"))


def _field(data: Mapping[str, Any], name: str) -> Any:
    if name not in data:
        raise ParameterError(name, "nothing", "must be given", hint="the file may come from another version")
    return data[name]


def _read(kind: Any, data: Mapping[str, Any]) -> Any:
    """Read one promise; a class of another package may bring its own reader."""
    return kind.from_json(data) if hasattr(kind, "from_json") else from_json(kind, data)


# Requirements by the flags of their parameters: `--k 10 --t 0.2` on the command line, `k=10, t="0.2"` in a sweep.


def requirement_flags() -> dict[str, Parameter]:
    """Return every flag that asks for a requirement or is a part of one, by its name in Python."""
    found: dict[str, Parameter] = {}
    for one in (one for kind in _flagged() for one in parameters(kind) if one.flag):
        found.setdefault(_named(one), one)
    return found


def asked_for(given: Mapping[str, Any]) -> Requirement | None:
    """Return the conjunction of the requirements whose flags are given, None where none is.

    A requirement is asked for by its first parameter. One whose parameters another one needs too is a part of that:
    with alpha, k is that of (alpha, k)-anonymity.
    """
    named = {name: value for name, value in given.items() if value is not None}
    needed = {kind: [_named(one) for one in parameters(kind) if one.required] for kind in _flagged()}
    asked = [kind for kind, names in needed.items() if names[0] in named]
    for kind in asked:
        first, *others = needed[kind]
        for name in others:
            if name not in named:
                hint = f"--{_dashed(first)} {named[first]} --{_dashed(name)} 10"
                raise ParameterError(first, named[first], f"needs --{_dashed(name)}", hint=hint)
    kept = [kind for kind in asked if not any(set(needed[kind]) < set(needed[other]) for other in asked)]
    used = {_named(one) for kind in kept for one in parameters(kind)}
    for name, value in named.items():
        if name not in used:
            owner = next(kind for kind in needed if name in [_named(one) for one in parameters(kind)])
            raise ParameterError(name, value, f"needs --{_dashed(needed[owner][0])}")
    made = [kind(**{one.name: named[_named(one)] for one in parameters(kind) if _named(one) in named}) for kind in kept]
    return reduce(and_, made) if made else None


def requirement_words(requirement: Requirement) -> list[str] | None:
    """Return the flags that ask for a requirement; None for one that has no flags."""
    words: list[str] = []
    for part in requirement.parts:
        found = [written_flag(*pair) for pair in given_parameters(part)]
        if type(part) not in _flagged() or None in found:
            return None
        words += [word for flag in found for word in flag or ()]
    return words


def _flagged() -> list[Any]:
    """The requirements that have a flag of their own; a package that cannot be imported hides no other."""
    found: dict[str, Any] = {}
    for name in REQUIREMENTS:
        with suppress(ParameterError):
            kind = REQUIREMENTS[name]
            found.setdefault(_named(parameters(kind)[0]), kind)
    return list(found.values())


def _named(one: Parameter) -> str:
    return one.flag.replace("-", "_")


def _dashed(name: str) -> str:
    return name.replace("_", "-")
