"""Sfumato: publish tables about people safely.

A person's data enters as counts, is spoken about only through a mechanism that states a claim, leaves as a
release that carries that claim, and everything after it measures, attacks, compares or prints what left.

    import sfumato as sf

    table = sf.read("patients.csv", sf.Schema.load("patients.toml"))
    release = sf.publish(table, sf.Suppress())
    release.save("out/")
    sf.verify("out/")

Names are imported when they are first used, so that `import sfumato` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# public name -> where it lives
_HOMES = {
    "sfumato.api": ("apply", "check", "draft", "explain", "mapping", "plan", "publish", "read", "verify"),
    "sfumato.claims": (
        "AlphaK",
        "ApproxDP",
        "BetaLikeness",
        "Claim",
        "KAnonymity",
        "LDiversity",
        "Linkable",
        "Neighbours",
        "ProbabilisticDP",
        "PureDP",
        "SemanticPrivacy",
        "TCloseness",
    ),
    "sfumato.counts": ("Counts", "Table"),
    "sfumato.errors": (
        "BudgetExceeded",
        "Infeasible",
        "NotComparable",
        "ParameterError",
        "ReadError",
        "ReleaseError",
        "SchemaError",
        "SfumatoError",
    ),
    "sfumato.mechanisms": (
        "Anatomy",
        "Bucketize",
        "DiffGen",
        "Mondrian",
        "NoisyTable",
        "Raw",
        "Suppress",
        "Synthesize",
        "TopDown",
    ),
    "sfumato.randomness": ("Entropy",),
    "sfumato.release": ("Release", "Verdict"),
    "sfumato.schema": ("Schema",),
}
_ROOMS = ("attacks", "commuting", "datasets")
_WHERE = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_WHERE, *_ROOMS])  # noqa: PLE0605  (the names are listed once, above)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(import_module(_WHERE[name]), name)
    elif name in _ROOMS:
        value = import_module(f"sfumato.{name}")
    else:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
