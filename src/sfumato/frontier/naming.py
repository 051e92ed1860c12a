"""How a mechanism is written and called in lists, tooltips and files."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

from sfumato.claims import Requirement, plain
from sfumato.errors import SfumatoError

__all__ = ["family_of", "label_of", "python_of", "written_as"]


def written_as(mechanism: Any) -> dict[str, Any]:
    """Return the mechanism's JSON; one that has none is written by its fields."""
    if hasattr(mechanism, "to_json"):
        return dict(mechanism.to_json())
    return {"name": type(mechanism).__name__, **{f.name: repr(getattr(mechanism, f.name)) for f in fields(mechanism)}}


def label_of(mechanism: Any) -> str:
    """Return name and parameters that are not the default: `Mondrian t-closeness(0.1), cut=widest`."""
    said: list[str] = []
    for name, value in _given(mechanism):
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
    """Return Python that makes the mechanism, where `sf` is sfumato."""
    first = fields(mechanism)[0].name if fields(mechanism) else ""
    said = [_code(value) if name == first else f"{name}={_code(value)}" for name, value in _given(mechanism)]
    return f"sf.{type(mechanism).__name__}({', '.join(said)})"


def _given(mechanism: Any) -> list[tuple[str, Any]]:
    """The first parameter, and those that differ from what it alone would give."""
    names = [field.name for field in fields(mechanism)]
    values = [(name, getattr(mechanism, name)) for name in names]
    try:
        alone = type(mechanism)(*[value for _, value in values[:1]])
    except (TypeError, SfumatoError):
        return values
    return values[:1] + [(name, value) for name, value in values[1:] if value != getattr(alone, name)]


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
        return " & ".join(_requirement_code(part) for part in value.parts)
    if hasattr(value, "apply"):
        return python_of(value)
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else repr(plain(value))
    return repr(value)


def _requirement_code(part: Any) -> str:
    (_, first), *rest = _given(part)
    said = [_code(first), *(f"{name}={_code(value)}" for name, value in rest)]
    return f"sf.{type(part).__name__}({', '.join(said)})"
