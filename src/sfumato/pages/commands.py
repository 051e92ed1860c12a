"""The command that makes a release again."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

from sfumato.claims import AlphaK, BetaLikeness, KAnonymity, LDiversity, Requirement, SemanticPrivacy, TCloseness, plain
from sfumato.mechanisms import REGISTRY, Anatomy, Bucketize, DiffGen, Mondrian, NoisyTable, Suppress, TopDown
from sfumato.visible import operand, shell_command

__all__ = ["publish_command"]


def publish_command(mechanism: Any, data: str, schema: str) -> str | None:
    """Return the `sfumato publish` line, None for a method that has no such command."""
    words: list[str] | None = None
    if isinstance(mechanism, Mondrian):
        words = ["mondrian", *_requirement(mechanism.requirement), *_changed(mechanism, "cut", "nominal")]
        words += ["--tight"] if mechanism.tight else []
        words += ["--max-suppressed", str(mechanism.max_suppressed)] if mechanism.max_suppressed else []
    elif isinstance(mechanism, Bucketize):
        words = ["bucketize", *_requirement(mechanism.requirement), *_changed(mechanism, "cut")]
    elif isinstance(mechanism, Anatomy):
        words = ["anatomy", "--l", str(mechanism.l)]
    elif isinstance(mechanism, TopDown):
        words = ["topdown", "--k", str(mechanism.k)]
    elif isinstance(mechanism, Suppress):
        words = ["suppress"]
    elif isinstance(mechanism, DiffGen):
        words = _diffgen(mechanism)
    elif isinstance(mechanism, NoisyTable):
        words = _noisy_table(mechanism)
    else:
        words = _third_party(mechanism)
    if words is None:
        return None
    files = (operand(data), operand(schema))
    return shell_command(["sfumato", "publish", words[0], *files, *words[1:], "-o", "out/"])


def _third_party(mechanism: Any) -> list[str] | None:
    """The fields that differ from their defaults, as options; None where no package declares the mechanism."""
    name = REGISTRY.third_party_name(type(mechanism))
    if name is None:
        return None
    words = [name]
    for field in fields(mechanism):
        value = getattr(mechanism, field.name)
        flag = f"--{field.name.replace('_', '-')}"
        if value == field.default or not field.init:
            continue
        if isinstance(value, Requirement):
            words += _requirement(value)
        else:
            words += [flag] if value is True else [flag, _written(value)]
    return words


def _diffgen(mechanism: DiffGen) -> list[str]:
    """Our one configuration by its own flag; otherwise what differs from the defaults."""
    epsilon = ["diffgen", "--epsilon", plain(mechanism.budget)]
    if mechanism == DiffGen.recommended(mechanism.budget):
        return [*epsilon, "--recommended"]
    alone = DiffGen(mechanism.budget, paper=mechanism.paper)
    names = ("specializations", "score", "first", "scored", "splits", "selection", "structure", "prefix", "ratio")
    given = {name: getattr(mechanism, name) for name in (*names, "penalty", "threshold")}
    changed = {name: value for name, value in given.items() if value != getattr(alone, name)}
    flags = [word for name, value in changed.items() for word in (f"--{name}", _written(value))]
    return [*epsilon, *(["--paper"] if mechanism.paper else []), *flags]


def _noisy_table(mechanism: NoisyTable) -> list[str] | None:
    """None where a cut has names or labels that the flag cannot hold."""
    cuts = mechanism.cuts or ()
    for name, labels in cuts:
        if "=" in name or any(";" in label for label in labels) or any(t != t.strip() for t in (name, *labels)):
            return None
    flags = [word for name, labels in cuts for word in ("--cut", f"{name}={';'.join(labels)}")]
    threshold = [] if mechanism.threshold == "auto" else ["--threshold", str(mechanism.threshold)]
    return ["noisy-table", "--epsilon", plain(mechanism.epsilon), *flags, *threshold]


def _written(value: Any) -> str:
    return plain(value) if isinstance(value, Fraction) else str(value)


def _changed(mechanism: Any, *names: str) -> list[str]:
    plainly = type(mechanism)(mechanism.requirement)
    changed = [name for name in names if getattr(mechanism, name) != getattr(plainly, name)]
    return [word for name in changed for word in (f"--{name}", str(getattr(mechanism, name)))]


def _requirement(requirement: Requirement) -> list[str]:
    return [word for part in requirement.parts for word in _flags(part)]


def _flags(part: Requirement) -> list[str]:
    match part:
        case KAnonymity():
            return ["--k", str(part.k)]
        case AlphaK():
            return ["--alpha", plain(part.alpha), "--k", str(part.k)]
        case LDiversity():
            kind = [] if part.kind == "probability" else ["--l-kind", part.kind]
            return ["--l", plain(part.l), *kind, *([] if part.c is None else ["--c", plain(part.c)])]
        case TCloseness():
            return ["--t", plain(part.t), *([] if part.distance == "js" else ["--distance", part.distance])]
        case SemanticPrivacy():
            sides = [] if part.sides == "two" else ["--sides", part.sides]
            absent = [] if part.absent == "fail" else ["--absent", str(part.absent)]
            return ["--delta", plain(part.delta), *sides, *absent]
        case BetaLikeness():
            return ["--beta", plain(part.beta)]
    return []
