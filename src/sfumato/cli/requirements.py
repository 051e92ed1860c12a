"""Typed flags for requirements: --k 10 --l 3 --t 0.2 --delta 1.5 --alpha 0.5 --beta 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from sfumato.claims import Requirement

__all__ = ["REQUIREMENT_FLAGS", "requirement_of", "requirement_options"]

F = TypeVar("F", bound=Callable[..., Any])

REQUIREMENT_FLAGS = ("k", "l", "l_kind", "c", "t", "distance", "delta", "sides", "absent", "alpha", "beta")


def requirement_options(function: F) -> F:
    """Add the requirement flags, in the order they are read."""
    for option in reversed(
        (
            click.option(
                "--k",
                help="k-anonymity: every class has at least k people (rows, where the schema names none).",
            ),
            click.option("--l", help="l-diversity of each sensitive attribute."),
            click.option(
                "--l-kind",
                type=click.Choice(["probability", "distinct", "entropy", "recursive"]),
                help="Which l-diversity (default: probability).",
            ),
            click.option("--c", help="The constant c of recursive (c, l)-diversity."),
            click.option("--t", help="t-closeness to the overall distribution."),
            click.option("--distance", type=click.Choice(["js", "emd"]), help="Distance of t-closeness (default: js)."),
            click.option("--delta", help="delta-disclosure (semantic privacy)."),
            click.option(
                "--sides",
                type=click.Choice(["two", "one"]),
                help="delta-disclosure: bound both sides (default) or one.",
            ),
            click.option(
                "--absent",
                type=click.Choice(["fail", "ignore"]),
                help="delta-disclosure: values absent from a class (default: fail).",
            ),
            click.option("--alpha", help="With --k: (alpha, k)-anonymity, no value above the share alpha."),
            click.option("--beta", help="beta-likeness."),
        )
    ):
        function = option(function)
    return function


def requirement_of(asked: Mapping[str, str | None]) -> Requirement | None:
    """Return the conjunction of what was asked, None when nothing was."""
    import sfumato as sf
    from sfumato.errors import ParameterError

    parts: list[Requirement] = []
    if asked.get("alpha") is not None:
        if asked.get("k") is None:
            raise ParameterError("alpha", asked["alpha"], "goes with --k", hint="--alpha 0.5 --k 10")
        parts.append(sf.AlphaK(_number("alpha", asked), k=_whole("k", asked)))
    elif asked.get("k") is not None:
        parts.append(sf.KAnonymity(_whole("k", asked)))
    if asked.get("l") is not None:
        extra = {} if asked.get("c") is None else {"c": _number("c", asked)}
        parts.append(sf.LDiversity(_number("l", asked), kind=asked.get("l_kind") or "probability", **extra))
    if asked.get("t") is not None:
        parts.append(sf.TCloseness(_number("t", asked), distance=asked.get("distance") or "js"))
    if asked.get("delta") is not None:
        parts.append(
            sf.SemanticPrivacy(
                _number("delta", asked), sides=asked.get("sides") or "two", absent=asked.get("absent") or "fail"
            )
        )
    if asked.get("beta") is not None:
        parts.append(sf.BetaLikeness(_number("beta", asked)))
    if not parts:
        return None
    whole = parts[0]
    for part in parts[1:]:
        whole = whole & part
    return whole


def _number(name: str, asked: Mapping[str, str | None]) -> Any:
    """Read a parameter as the decimal or fraction it is written as."""
    from sfumato.errors import ParameterError
    from sfumato.limits import fraction_of, number_fault

    text = str(asked[name])
    value = fraction_of(text)
    if value is None:
        wrong = number_fault(text)
        hint = f"--{name} 10" if name == "k" else f"--{name} 0.2 or --{name} 1/5"
        rule = wrong if wrong.startswith("has") else "is not a number"
        raise ParameterError(name, text[:60], rule, hint=hint)
    return int(value) if value.denominator == 1 else value


def _whole(name: str, asked: Mapping[str, str | None]) -> int:
    from sfumato.errors import ParameterError

    value = _number(name, asked)
    if not isinstance(value, int):
        raise ParameterError(name, asked[name], "must be a whole number", hint=f"--{name} 10")
    return value
