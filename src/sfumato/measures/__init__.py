"""How private and how useful a release is, measured against the original. Every figure here is confidential.

A new measure is a function of a table and a release in a module of this package, and one line of `REGISTRY`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from sfumato.counts import Table
from sfumato.errors import NotComparable, ParameterError, PublicationWarning, SfumatoError
from sfumato.estimate import measured_attributes, other_table
from sfumato.measures.base import Measure, Measured, remembered
from sfumato.measures.classification import Classification, CrossValidation, classification, cross_validate
from sfumato.measures.distances import (
    HistogramDistance,
    ReconstructionDistance,
    city_block,
    histogram_distance,
    js_divergence,
    kl_divergence,
    reconstruction_distance,
)
from sfumato.measures.generalization_cost import (
    average_class_size,
    certainty_penalty,
    discernibility,
    generalization_steps,
    precision,
)
from sfumato.measures.privacy import Driver, PrivacyLoss, dp_bound, membership_bound, privacy_loss, proved_bound
from sfumato.measures.queries import QueryError, UnchangedAnswers, Workload, query_error, unchanged_answers, workload
from sfumato.measures.utility import PopulationLoss, Populations, UtilityLoss, large_populations, utility_loss
from sfumato.measures.workload_error import WorkloadError, workload_error
from sfumato.registry import Registry
from sfumato.release import Release

__all__ = [
    "REGISTRY",
    "Classification",
    "CrossValidation",
    "Driver",
    "HistogramDistance",
    "Measure",
    "Measured",
    "PopulationLoss",
    "Populations",
    "PrivacyLoss",
    "QueryError",
    "ReconstructionDistance",
    "UnchangedAnswers",
    "UtilityLoss",
    "Workload",
    "WorkloadError",
    "average_class_size",
    "certainty_penalty",
    "city_block",
    "classification",
    "cross_validate",
    "default_workloads",
    "discernibility",
    "dp_bound",
    "generalization_steps",
    "histogram_distance",
    "js_divergence",
    "kl_divergence",
    "large_populations",
    "measure",
    "membership_bound",
    "precision",
    "privacy_loss",
    "proved_bound",
    "query_error",
    "reconstruction_distance",
    "unchanged_answers",
    "utility_loss",
    "workload",
    "workload_error",
]

MeasureFunction = Callable[[Table, Release], Any]  # a `Measured`, or a result with `measured()`


def default_workloads(table: Table, release: Release) -> tuple[Workload, ...]:
    """Return the queries used where none are given: 1000 ranges over four attributes (or as many as there are).

    One workload for each sensitive attribute that the release carries.
    """
    names = [*(attribute.name for attribute in table.schema.quasi)]
    if not names or not table.schema.carried:
        raise NotComparable("queries need a quasi-identifier and a sensitive attribute.")
    counts, dimension = table.counts(names), min(4, len(names))
    return tuple(
        remembered(
            counts,
            ("default workload", wanted.name),
            lambda name=wanted.name: workload(table, dimension=dimension, attribute=name),  # type: ignore[misc]
        )
        for wanted in measured_attributes(table.schema, release=release)
    )


REGISTRY = Registry(
    "sfumato.measures",
    {
        "privacy_loss": lambda table, release: privacy_loss(table, release).measured(),
        "utility_loss": lambda table, release: utility_loss(table, release).measured(),
        "query_error": lambda table, release: query_error(table, release, default_workloads(table, release)).measured(),
        "unchanged_answers": lambda table, release: unchanged_answers(
            table, release, default_workloads(table, release)
        ).measured(),
        "workload_error": workload_error,
        "histogram_distance": lambda table, release: histogram_distance(table, release).measured(),
        "reconstruction_distance": lambda table, release: reconstruction_distance(table, release).measured(),
        "certainty_penalty": certainty_penalty,
        "discernibility": discernibility,
        "average_class_size": average_class_size,
        "precision": precision,
        "generalization_steps": generalization_steps,
    },
)


def measure(table: Table, release: Release, names: Iterable[str] | None = None) -> dict[str, Measured]:
    """Run measures by name, all of them by default; one that cannot be taken says why in its details.

    >>> table = sf.datasets.adult("test")
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50)))
    >>> found = sf.measure(table, release, ["certainty_penalty"])
    >>> found["certainty_penalty"].unit
    'share'
    """
    table.doubts.refuse_repeated_keys()
    wanted = list(REGISTRY) if names is None else list(names)
    for name in wanted:
        if name not in REGISTRY:
            raise ParameterError("names", name, "is not a measure", hint=f"one of {', '.join(REGISTRY)}")
    if warned := other_table(release, table):
        warnings.warn(warned, PublicationWarning, stacklevel=2)
    return {name: _taken(name, table, release) for name in wanted}


def _taken(name: str, table: Table, release: Release) -> Measured:
    try:
        function: MeasureFunction = REGISTRY[name]
        found = function(table, release)
        figure: Measured = found if isinstance(found, Measured) else found.measured()
    except SfumatoError as error:
        return Measured(float("nan"), unit="", formula="", details={"not measured": str(error)})
    return figure
