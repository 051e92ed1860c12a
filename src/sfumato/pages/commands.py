"""The command that makes a release again, from the flags its mechanism declares."""

from __future__ import annotations

from typing import Any

from sfumato.claims import Requirement, requirement_words
from sfumato.declare import given, parameters, written_flag
from sfumato.errors import SfumatoError
from sfumato.mechanisms import REGISTRY, Mechanism
from sfumato.visible import operand, shell_command

_NOT_PUBLISHED = ("raw", "synthesize")  # never saved; a command of its own


def publish_command(mechanism: Any, data: str, schema: str) -> str | None:
    """Return the `sfumato publish` line, None for a method or a parameter that no command can name."""
    words = publish_words(mechanism)
    if words is None:
        return None
    spends = any(one.flag == "epsilon" for one in parameters(type(mechanism)))
    account = ["--ledger", "ledger.db"] if spends else []
    files = [operand(data), operand(schema)]
    return shell_command(["sfumato", "publish", words[0], *files, *words[1:], *account, "-o", "out/"])


def publish_words(mechanism: Any) -> list[str] | None:
    """Return the method's name and its flags, None where no command can name it."""
    name = REGISTRY.name_of(type(mechanism))
    words = None if name is None or name in _NOT_PUBLISHED else _flags(mechanism)
    return None if name is None or words is None else [name, *words]


def _flags(mechanism: Any) -> list[str] | None:
    """A constructor with a flag of its own that makes it; else the parameters that differ from their defaults."""
    words: list[str] = []
    variant = _variant(mechanism)
    for one, value in given(mechanism):
        if variant and not one.required:
            continue
        if isinstance(value, Requirement):
            found = requirement_words(value)
        elif isinstance(value, Mechanism):
            found = _base(value)
        else:
            found = written_flag(one, value)
        if found is None:
            return None
        words += found
    return [*words, f"--{variant}"] if variant else words


def _variant(mechanism: Any) -> str | None:
    required = {one.name: getattr(mechanism, one.name) for one in parameters(type(mechanism)) if one.required}
    for name in getattr(mechanism, "variants", {}):
        try:
            if getattr(type(mechanism), name)(**required) == mechanism:
                return str(name)
        except (TypeError, SfumatoError):
            continue
    return None


def _base(mechanism: Any) -> list[str] | None:
    """The flags of the partition another method builds on: a command makes it from its requirement alone."""
    fields = given(mechanism)
    if REGISTRY.name_of(type(mechanism)) != "mondrian" or len(fields) != 1:
        return None
    return requirement_words(fields[0][1])
