"""Forms for methods: their fields come from the declarations that the flags of `sfumato publish` come from."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from sfumato.claims import asked_for, requirement_flags
from sfumato.declare import Parameter, form, parameters, plain_name
from sfumato.errors import ParameterError
from sfumato.mechanisms import REGISTRY
from sfumato.web.edits import Fields, one

_NOT_HERE = ("raw", "synthesize")  # never saved; a page of its own
_BUILT_ON = ("requirement", "mechanism")  # parameters that the flags of requirements make


def methods() -> list[dict[str, Any]]:
    """Return every method that a form can name: in plain words, and with one sentence about each."""
    found = [(name, REGISTRY[name]) for name in REGISTRY if name not in _NOT_HERE]
    return [
        {"name": name, "plain": plain_name(kind), "about": _about(kind), "private": _is_private(name, kind)}
        for name, kind in found
    ]


def _is_private(name: str, kind: Any) -> bool:
    """Whether a method of ours is differentially private: those spend an epsilon. Others say it themselves."""
    return not REGISTRY.third_party.get(name) and any(known.name == "epsilon" for known in parameters(kind))


def _about(kind: Any) -> str:
    return " ".join(next(iter((inspect.getdoc(kind) or kind.__name__).split("\n\n"))).split())


def method_form(name: str) -> list[dict[str, Any]]:
    """Return the fields of a method's form: its own parameters, and those of requirements where it takes one.

    >>> [field["field"] for field in method_form("topdown")]
    ['k']
    """
    kind = _kind(name)
    described = dict(zip((known.name for known in parameters(kind)), form(kind), strict=True))
    fields: list[dict[str, Any]] = []
    for known in parameters(kind):
        if known.kind in _BUILT_ON:
            fields += [_requirement_field(flag, held) for flag, held in requirement_flags().items()]
        elif known.flag:
            fields.append({**described[known.name], "field": known.flag.replace("-", "_"), "part": "method"})
    return fields


def _requirement_field(flag: str, held: Parameter) -> dict[str, Any]:
    return {
        "name": held.name,
        "label": held.flag.replace("-", " "),
        "help": held.help,
        "type": held.kind,
        "choices": list(held.choices),
        "default": None,
        "required": False,
        "optional": True,
        "unit": held.unit,
        "hint": held.hint,
        "limits": dict(held.limits),
        "example": held.written(held.example),
        "flag": f"--{held.flag}",
        "field": flag,
        "part": "requirement",
    }


def _kind(name: str) -> Any:
    if name not in REGISTRY or name in _NOT_HERE:
        raise ParameterError("method", name[:40], "is not a method that a form can name")
    return REGISTRY[name]


def made(name: str, fields: Fields, schema: Path) -> Any:
    """Return the mechanism that a form describes; an empty field keeps its default."""
    import sfumato as sf

    kind = _kind(name)
    given: dict[str, Any] = {}
    taken: set[str] = set()
    for known in parameters(kind):
        field = known.flag.replace("-", "_")
        if known.kind in _BUILT_ON or not known.flag:
            continue
        taken.add(field)
        text = one(fields, field)
        if known.kind == "flag":
            given[known.name] = text == "yes"
        elif text:
            typed: Any = (text,) if known.several else text
            given[known.name] = typed if known.from_flag is None else known.from_flag(typed, str(schema))
    for known in (known for known in parameters(kind) if known.kind in _BUILT_ON):
        flags = {flag: one(fields, flag) for flag in requirement_flags() if flag not in taken and one(fields, flag)}
        asked = asked_for(flags)
        if asked is not None:
            given[known.name] = asked if known.kind == "requirement" else sf.Mondrian(asked)
    for known in parameters(kind):
        if known.required and known.name not in given:
            hint = "k = 10" if known.kind in _BUILT_ON else str(known.hint or known.example)
            raise ParameterError(known.label, "nothing", "must be given", hint=hint)
    return kind(**given)
