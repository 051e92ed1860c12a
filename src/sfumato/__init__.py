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
    from sfumato import attacks as attacks, commuting as commuting, datasets as datasets
    from sfumato.api import (
        apply as apply,
        check as check,
        classification as classification,
        cross_validate as cross_validate,
        draft as draft,
        explain as explain,
        frontier as frontier,
        holdout as holdout,
        mapping as mapping,
        measure as measure,
        plan as plan,
        privacy_loss as privacy_loss,
        publish as publish,
        query_error as query_error,
        read as read,
        report as report,
        sweep as sweep,
        unchanged_answers as unchanged_answers,
        utility_loss as utility_loss,
        verify as verify,
        workload as workload,
        workload_error as workload_error,
    )
    from sfumato.claims import (
        AlphaK as AlphaK,
        ApproxDP as ApproxDP,
        BetaLikeness as BetaLikeness,
        Claim as Claim,
        ConcentratedDP as ConcentratedDP,
        KAnonymity as KAnonymity,
        LDiversity as LDiversity,
        Linkability as Linkability,
        Linkable as Linkable,
        Neighbours as Neighbours,
        ProbabilisticDP as ProbabilisticDP,
        PureDP as PureDP,
        SemanticPrivacy as SemanticPrivacy,
        TCloseness as TCloseness,
    )
    from sfumato.commuting import (
        Synthesize as Synthesize,
    )
    from sfumato.counts import (
        Counts as Counts,
        Table as Table,
    )
    from sfumato.errors import (
        BudgetExceeded as BudgetExceeded,
        Infeasible as Infeasible,
        NotComparable as NotComparable,
        ParameterError as ParameterError,
        ReadError as ReadError,
        ReleaseError as ReleaseError,
        SchemaError as SchemaError,
        SfumatoError as SfumatoError,
    )
    from sfumato.frontiers import (
        Policy as Policy,
    )
    from sfumato.ledger import (
        Ledger as Ledger,
    )
    from sfumato.mechanisms import (
        Anatomy as Anatomy,
        Bucketize as Bucketize,
        DiffGen as DiffGen,
        DLink as DLink,
        Marginals as Marginals,
        Mondrian as Mondrian,
        NoisyTable as NoisyTable,
        Raw as Raw,
        Suppress as Suppress,
        TargetRows as TargetRows,
        TopDown as TopDown,
    )
    from sfumato.randomness import (
        Entropy as Entropy,
    )
    from sfumato.release import (
        Release as Release,
        Verdict as Verdict,
    )
    from sfumato.schema import (
        Population as Population,
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
        "holdout",
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
        "workload_error",
    ),
    "sfumato.claims": (
        "AlphaK",
        "ApproxDP",
        "BetaLikeness",
        "Claim",
        "ConcentratedDP",
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
    "sfumato.frontiers": ("Policy",),
    "sfumato.ledger": ("Ledger",),
    "sfumato.mechanisms": (
        "Anatomy",
        "Bucketize",
        "DLink",
        "DiffGen",
        "Marginals",
        "Mondrian",
        "NoisyTable",
        "Raw",
        "Suppress",
        "TargetRows",
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
