"""How a mechanism is written and called in lists, tooltips and files."""

from __future__ import annotations

from dataclasses import MISSING, fields
from fractions import Fraction
from typing import Any

from sfumato.claims import Requirement, plain

__all__ = ["family_of", "label_of", "python_of", "written_as"]


def written_as(mechanism: Any) -> dict[str, Any]:
    """Return the mechanism's JSON; one that has none is written by its fields."""
    if hasattr(mechanism, "to_json"):
        return dict(mechanism.to_json())
    return {"name": type(mechanism).__name__, **{f.name: repr(getattr(mechanism, f.name)) for f in fields(mechanism)}}


def label_of(mechanism: Any) -> str:
    """Return name and parameters that are not the default: `Mondrian t-closeness(0.1), cut=widest`."""
    said = []
    for field in fields(mechanism):
        value = getattr(mechanism, field.name)
        if isinstance(value, Requirement):
            said.insert(0, str(value))
        elif hasattr(value, "apply"):
            said.append(f"over {label_of(value)}")
        elif field.default is MISSING or (value != field.default and value is not None):
            said.append(f"{field.name}={_plain(value)}")
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
    first, said = True, []
    for field in fields(mechanism):
        value = getattr(mechanism, field.name)
        if first:
            said.append(_code(value))
            first = False
        elif value != field.default:
            said.append(f"{field.name}={_code(value)}")
    return f"sf.{type(mechanism).__name__}({', '.join(said)})"


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
    known = fields(part)
    said = [_code(getattr(part, known[0].name))]
    said += [
        f"{field.name}={_code(getattr(part, field.name))}"
        for field in known[1:]
        if getattr(part, field.name) != field.default and getattr(part, field.name) is not None
    ]
    return f"sf.{type(part).__name__}({', '.join(said)})"
