"""`sfumato publish NAME` for the mechanisms of installed packages: each field of the dataclass is an option.

A field without a default is required; `bool` is a flag, a `Literal` a choice, a `Requirement` the flags of
`publish mondrian`; every other field is given as text and read by the mechanism. `field(metadata={"help": ...})` is the
option's help.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, fields, is_dataclass
from types import NoneType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import click

from sfumato.cli.options import REQUIREMENT_FLAGS, WHOLE, requirement_of, requirement_options
from sfumato.errors import ParameterError
from sfumato.registry import Registry

__all__ = ["third_party_command", "third_party_names"]


def third_party_names(own: set[str]) -> list[str]:
    """Return the mechanisms of installed packages, without importing any of them."""
    found = Registry("sfumato.mechanisms", dict.fromkeys(own))
    return list(found.third_party)


def third_party_command(name: str) -> click.Command | None:
    """Return the command for a mechanism of an installed package, None where no package declares the name."""
    from sfumato.mechanisms import REGISTRY

    if name not in REGISTRY.third_party:
        return None
    return _command(name, REGISTRY[name])


def _command(name: str, kind: Any) -> click.Command:
    from sfumato.cli.publish.run import publish_options, run

    made: Any = kind  # a class, of which mypy would know no more than that it is a dataclass
    if not is_dataclass(kind):
        raise ParameterError(name, getattr(kind, "__name__", "object"), "is not a dataclass, so it has no options")
    own = _hints(kind)

    def call(**options: Any) -> None:
        asked = {flag: options.pop(flag) for flag in REQUIREMENT_FLAGS} if _takes_requirement(own) else {}
        given = {
            name: requirement_of(asked) if _is_requirement(hint) else options.pop(name) for name, hint in own.items()
        }
        for field in fields(kind):
            if _required(field) and given[field.name] is None:  # click asks for every other
                raise ParameterError(field.name, "none", "a requirement is needed", hint="--k 10, --l 3, --t 0.2, ...")
        mechanism = made(**{name: value for name, value in given.items() if value is not None})
        if "d" in own:  # `--against` reads it as well
            options["d"] = mechanism.d
        run(mechanism, **options)

    command: Any = call
    for field in reversed([one for one in fields(kind) if one.init]):
        option = requirement_options if _is_requirement(own[field.name]) else _option(field, own[field.name])
        command = option(command)
    mine = {parameter.name for parameter in command.__click_params__}
    command = publish_options(command)
    shared = [one.name for one in command.__click_params__ if one.name in mine]
    twice = sorted({one for one in shared if shared.count(one) > 1})
    if twice:
        rule = f"has a field with the name of an option that every method has: {', '.join(twice)}"
        raise ParameterError(name, made.__name__, rule, hint="its package must rename the field")
    about = next(iter((inspect.getdoc(kind) or made.__name__).split("\n\n")))
    example = " ".join(f"--{field.name.replace('_', '-')} ..." for field in fields(kind) if _required(field))
    words = " ".join(f"sfumato publish {name} patients.csv patients.toml {example} -o out/".split())
    return click.command(name, help=f"{about}\n\nOf the installed package {_package(kind)}.\n\nExample: {words}")(
        command
    )


def _hints(kind: Any) -> dict[str, Any]:
    """The type of each field that is given, without `None`; text where its names cannot be found."""
    try:
        found = get_type_hints(kind)
    except NameError:
        found = {}
    return {field.name: _known(found.get(field.name, str)) for field in fields(kind) if field.init}


def _option(field: Field[Any], hint: Any) -> Any:
    flag, about = f"--{field.name.replace('_', '-')}", field.metadata.get("help")
    if hint is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", field.name, default=None, help=about)
    kind: Any = WHOLE if hint is int else click.Choice(list(get_args(hint))) if get_origin(hint) is Literal else str
    default = None if field.default in (MISSING, None) else str(field.default)
    shown = f"{about or ''} [default: {default}]".strip() if default is not None else about
    return click.option(flag, field.name, type=kind, required=_required(field), help=shown)


def _required(field: Field[Any]) -> bool:
    return field.init and field.default is MISSING and field.default_factory is MISSING


def _known(hint: Any) -> Any:
    """The type of a field, without `None`."""
    inner = [one for one in get_args(hint) if one is not NoneType]
    optional = (get_origin(hint) is Union or isinstance(hint, type(int | None))) and len(inner) == 1
    return inner[0] if optional else hint


def _is_requirement(hint: Any) -> bool:
    from sfumato.claims import Requirement

    return isinstance(hint, type) and issubclass(hint, Requirement)


def _takes_requirement(hints: dict[str, Any]) -> bool:
    return any(_is_requirement(hint) for hint in hints.values())


def _package(kind: Any) -> str:
    return str(kind.__module__).partition(".")[0]
