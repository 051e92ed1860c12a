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
from typing import TYPE_CHECKING, Any

from sfumato.version import __version__ as __version__

if TYPE_CHECKING:  # what a type checker reads; a test compares it with the table below
    from sfumato import attacks as attacks
    from sfumato import commuting as commuting
    from sfumato import datasets as datasets
    from sfumato.api import (
        apply as apply,
    )
    from sfumato.api import (
        check as check,
    )
    from sfumato.api import (
        classification as classification,
    )
    from sfumato.api import (
        cross_validate as cross_validate,
    )
    from sfumato.api import (
        draft as draft,
    )
    from sfumato.api import (
        explain as explain,
    )
    from sfumato.api import (
        frontier as frontier,
    )
    from sfumato.api import (
        mapping as mapping,
    )
    from sfumato.api import (
        measure as measure,
    )
    from sfumato.api import (
        plan as plan,
    )
    from sfumato.api import (
        privacy_loss as privacy_loss,
    )
    from sfumato.api import (
        publish as publish,
    )
    from sfumato.api import (
        query_error as query_error,
    )
    from sfumato.api import (
        read as read,
    )
    from sfumato.api import (
        report as report,
    )
    from sfumato.api import (
        sweep as sweep,
    )
    from sfumato.api import (
        unchanged_answers as unchanged_answers,
    )
    from sfumato.api import (
        utility_loss as utility_loss,
    )
    from sfumato.api import (
        verify as verify,
    )
    from sfumato.api import (
        workload as workload,
    )
    from sfumato.claims import (
        AlphaK as AlphaK,
    )
    from sfumato.claims import (
        ApproxDP as ApproxDP,
    )
    from sfumato.claims import (
        BetaLikeness as BetaLikeness,
    )
    from sfumato.claims import (
        Claim as Claim,
    )
    from sfumato.claims import (
        KAnonymity as KAnonymity,
    )
    from sfumato.claims import (
        LDiversity as LDiversity,
    )
    from sfumato.claims import (
        Linkability as Linkability,
    )
    from sfumato.claims import (
        Linkable as Linkable,
    )
    from sfumato.claims import (
        Neighbours as Neighbours,
    )
    from sfumato.claims import (
        ProbabilisticDP as ProbabilisticDP,
    )
    from sfumato.claims import (
        PureDP as PureDP,
    )
    from sfumato.claims import (
        SemanticPrivacy as SemanticPrivacy,
    )
    from sfumato.claims import (
        TCloseness as TCloseness,
    )
    from sfumato.commuting import (
        Synthesize as Synthesize,
    )
    from sfumato.counts import (
        Counts as Counts,
    )
    from sfumato.counts import (
        Table as Table,
    )
    from sfumato.errors import (
        BudgetExceeded as BudgetExceeded,
    )
    from sfumato.errors import (
        Infeasible as Infeasible,
    )
    from sfumato.errors import (
        NotComparable as NotComparable,
    )
    from sfumato.errors import (
        ParameterError as ParameterError,
    )
    from sfumato.errors import (
        ReadError as ReadError,
    )
    from sfumato.errors import (
        ReleaseError as ReleaseError,
    )
    from sfumato.errors import (
        SchemaError as SchemaError,
    )
    from sfumato.errors import (
        SfumatoError as SfumatoError,
    )
    from sfumato.ledger import (
        Ledger as Ledger,
    )
    from sfumato.mechanisms import (
        Anatomy as Anatomy,
    )
    from sfumato.mechanisms import (
        Bucketize as Bucketize,
    )
    from sfumato.mechanisms import (
        DiffGen as DiffGen,
    )
    from sfumato.mechanisms import (
        DLink as DLink,
    )
    from sfumato.mechanisms import (
        Mondrian as Mondrian,
    )
    from sfumato.mechanisms import (
        NoisyTable as NoisyTable,
    )
    from sfumato.mechanisms import (
        Raw as Raw,
    )
    from sfumato.mechanisms import (
        Suppress as Suppress,
    )
    from sfumato.mechanisms import (
        TopDown as TopDown,
    )
    from sfumato.randomness import (
        Entropy as Entropy,
    )
    from sfumato.release import (
        Release as Release,
    )
    from sfumato.release import (
        Verdict as Verdict,
    )
    from sfumato.schema import (
        Population as Population,
    )
    from sfumato.schema import (
        Schema as Schema,
    )

# module -> the public names that are taken from it when they are first used
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
    "sfumato.commuting": ("Synthesize",),
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
        "TopDown",
    ),
    "sfumato.randomness": ("Entropy",),
    "sfumato.release": ("Release", "Verdict"),
    "sfumato.schema": ("Population", "Schema"),
}
_PACKAGES = ("attacks", "commuting", "datasets")
_WHERE = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_WHERE, *_PACKAGES])  # noqa: PLE0605  (the names are listed once, above)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _WHERE:
            value = getattr(import_module(_WHERE[name]), name)
        elif name in _PACKAGES:
            value = import_module(f"sfumato.{name}")
        else:
            raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return [*__all__, "__version__"]
