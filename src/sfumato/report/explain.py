"""Plain words for anything the library speaks about: claims, requirements, mechanisms, releases."""

from __future__ import annotations

import inspect
from typing import Any

from sfumato.claims import GUARANTEES, REQUIREMENTS, Claim
from sfumato.errors import ParameterError
from sfumato.mechanisms import REGISTRY as MECHANISMS
from sfumato.release import Release

__all__ = ["explain"]


def explain(thing: Any = None) -> str:
    """Say what a name, claim, requirement, mechanism or release means; without an argument, list the names."""
    if thing is None:
        return "Names that can be explained:\n" + "\n".join(f"  {name}" for name in sorted(_names()))
    if isinstance(thing, str):
        return _named(thing)
    if isinstance(thing, Release):
        return f"{thing!r}\n{thing.claim.describe()}"
    if isinstance(thing, Claim) or hasattr(thing, "describe"):
        return str(thing.describe())
    return inspect.getdoc(inspect.getmodule(type(thing)) or type(thing)) or repr(thing)


def _names() -> dict[str, Any]:
    return {**REQUIREMENTS, **GUARANTEES, **MECHANISMS}


def _named(name: str) -> str:
    wanted = _plain(name)
    for known, kind in _names().items():
        if wanted in (_plain(known), _plain(kind.__name__)):
            module = inspect.getmodule(kind)
            about = inspect.getdoc(kind) or ""
            return f"{known}: {about}\n\n{inspect.getdoc(module) or ''}"
    raise ParameterError("name", name, "is not known", hint=f"one of {', '.join(sorted(_names()))}")


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
