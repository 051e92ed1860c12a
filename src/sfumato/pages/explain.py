"""Plain words for anything the library speaks about: claims, requirements, mechanisms, measures, attacks, releases."""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass
from difflib import get_close_matches
from typing import Any

from sfumato import measures
from sfumato.attacks import REGISTRY as ATTACKS, against
from sfumato.claims import GUARANTEES, REQUIREMENTS, Claim
from sfumato.declare import Parameter, parameters
from sfumato.errors import ParameterError
from sfumato.mechanisms import REGISTRY as MECHANISMS
from sfumato.release import Release
from sfumato.schema.toml_models import REFERENCE

# What people also call it, and the letters of the command line.
_ALSO = {
    **{parameters(REQUIREMENTS[name])[0].flag: name for name in REQUIREMENTS if name not in REQUIREMENTS.third_party},
    "delta-disclosure": "semantic-privacy",
    "epsilon": "pure-dp",
    "differential-privacy": "pure-dp",
    "dp": "pure-dp",
    "approximate-differential-privacy": "approx-dp",
    "linkability": "linkable",
}
_CLOSE = 0.75


def explain(thing: Any = None) -> str:
    """Say what a name, claim, requirement, mechanism, attack or release means; without an argument, list the names.

    >>> print(sf.explain("pure-dp").splitlines()[0])
    pure-dp: epsilon-differential privacy.
    """
    if thing is None:
        return _listing()
    if isinstance(thing, str):
        return _named(thing)
    if isinstance(thing, Release):
        return f"{thing!r}\n{thing.claim.describe()}"
    if isinstance(thing, Claim) or hasattr(thing, "describe"):
        return str(thing.describe())
    return inspect.getdoc(inspect.getmodule(type(thing)) or type(thing)) or repr(thing)


def _names() -> list[str]:
    return list(dict.fromkeys([*REQUIREMENTS, *GUARANTEES, *MECHANISMS, *measures.REGISTRY, *ATTACKS]))


def _meant(name: str) -> Any:
    """What a name stands for: a measure of ours is the function, not the registry's call of it."""
    for registry in (REQUIREMENTS, GUARANTEES, MECHANISMS, ATTACKS):
        if name in registry:
            return registry[name]
    return measures.REGISTRY[name] if name in measures.REGISTRY.third_party else getattr(measures, name)


def explainable() -> list[str]:
    """Return every name that can be explained, other names for the same included."""
    return sorted(["against", "schema", *_names(), *_ALSO])


def _listing() -> str:
    first = [("schema", "Every key of a schema file."), ("against", "What --against tries, and what it assumes.")]
    lines = [*first, *((name, _first_line(name)) for name in _names())]
    width = max(len(name) for name, _ in lines)
    return "Names that can be explained:\n" + "\n".join(f"  {name:{width}}  {line}" for name, line in lines)


def _first_line(name: str) -> str:
    try:
        kind = _meant(name)
    except ParameterError as error:  # a package that cannot be imported hides no other name
        return error.rule
    return next(iter((inspect.getdoc(kind) or "").splitlines()), "")


def _named(name: str) -> str:
    also = {_plain(known): _plain(meant) for known, meant in _ALSO.items()}
    wanted = also.get(_plain(name), _plain(name))
    if wanted == "schema":
        return REFERENCE
    if wanted == "against":  # an option, and a function: no method with parameters of its own
        return f"against: {inspect.getdoc(against)}\n\n{inspect.getdoc(inspect.getmodule(against))}"
    for known in [name for name in _names() if _plain(name) == wanted] or _names():
        kind = _meant(known)
        if wanted in (_plain(known), _plain(getattr(kind, "__name__", ""))):
            module = inspect.getmodule(kind)
            about = inspect.getdoc(kind) or ""
            return f"{known}: {about}\n\n{inspect.getdoc(module) or ''}{_parameters(kind)}"
    names = explainable()
    close = get_close_matches(name.lower(), names, n=3, cutoff=_CLOSE)
    hint = f"did you mean {' or '.join(close)}" if close else f"one of {', '.join(names)}"
    raise ParameterError("name", name, "is not known", hint=hint)


def _parameters(kind: Any) -> str:
    """The parameters with their rule and default, one on a line; nothing for what has none."""
    fields = parameters(kind) if isinstance(kind, type) and is_dataclass(kind) else ()
    lines = [f"  {one.name:{max(len(each.name) for each in fields)}}  {_about(one)}" for one in fields]
    return "\n\nParameters:\n" + "\n".join(lines) if lines else ""


def _about(one: Parameter) -> str:
    rules = [f"{name.replace('least', 'at least').replace('most', 'at most')} {limit}" for name, limit in one.limits]
    rules += [" or ".join(one.choices)] if one.choices else []
    rules += ["required"] if one.required else []
    if not one.required and one.default is not None and "default" not in one.help:
        rules.append(f"default {one.written(one.default)}")
    return " ".join([one.help, f"({', '.join(rules)})" if rules else ""]).strip()


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
