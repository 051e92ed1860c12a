"""Every promise by its name in JSON, requirements of installed packages included, and the readers for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from sfumato.claims.anonymity import AlphaK, KAnonymity
from sfumato.claims.closeness import TCloseness
from sfumato.claims.disclosure import SemanticPrivacy
from sfumato.claims.diversity import LDiversity
from sfumato.claims.guarantees import ApproxDP, ConcentratedDP, Linkable, Nothing, ProbabilisticDP, PureDP
from sfumato.claims.likeness import BetaLikeness
from sfumato.claims.requirement import Conjunction, Requirement
from sfumato.declare import from_json
from sfumato.errors import ParameterError
from sfumato.limits import CLAIM_PARTS
from sfumato.registry import Registry

__all__ = ["GUARANTEES", "REQUIREMENTS", "Promise", "promise_from_json", "requirement_from_json"]

Promise: TypeAlias = Requirement | PureDP | ApproxDP | ConcentratedDP | ProbabilisticDP | Linkable | Nothing

_OWN = (KAnonymity, AlphaK, LDiversity, TCloseness, SemanticPrivacy, BetaLikeness)
REQUIREMENTS: Final = Registry("sfumato.requirements", {kind.label: kind for kind in _OWN})
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
