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

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # rooms have the same names; the verbs are meant
    from sfumato.api import frontier as frontier
    from sfumato.api import report as report

# public name -> where it lives
_HOMES = {
    "sfumato.api": (
        "apply",
        "check",
        "classification",
        "cross_validate",
        "draft",
        "explain",
        "frontier",
        "mapping",
        "measure",
        "plan",
        "privacy_loss",
        "publish",
        "query_error",
        "read",
        "report",
        "sweep",
        "unchanged_answers",
        "utility_loss",
        "verify",
        "workload",
    ),
    "sfumato.claims": (
        "AlphaK",
        "ApproxDP",
        "BetaLikeness",
        "Claim",
        "KAnonymity",
        "LDiversity",
        "Linkability",
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
    "sfumato.ledger": ("Ledger",),
    "sfumato.mechanisms": (
        "Anatomy",
        "Bucketize",
        "DLink",
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
    "sfumato.schema": ("Population", "Schema"),
}
_ROOMS = ("attacks", "commuting", "datasets")
_WHERE = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_WHERE, *_ROOMS])  # noqa: PLE0605  (the names are listed once, above)
__version__ = "0.1.0"


class _Package(ModuleType):
    """Importing the room `sfumato.frontiers` would put the room where the verb `sf.frontier` is; the verb stays."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _WHERE and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


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
