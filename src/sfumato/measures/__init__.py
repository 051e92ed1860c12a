"""How private and how useful a release is, measured against the original. Every figure here is confidential."""

from sfumato.measures.base import Measure, Measured
from sfumato.measures.classification import Classification, CrossValidation, classification, cross_validate
from sfumato.measures.divergence import city_block, js_divergence, kl_divergence
from sfumato.measures.histogram_distance import (
    HistogramDistance,
    ReconstructionDistance,
    histogram_distance,
    reconstruction_distance,
)
from sfumato.measures.loss import average_class_size, certainty_penalty, discernibility, generalization_steps, precision
from sfumato.measures.privacy import Driver, PrivacyLoss, dp_bound, privacy_loss, proved_bound
from sfumato.measures.queries import QueryError, UnchangedAnswers, Workload, query_error, unchanged_answers, workload
from sfumato.measures.registry import REGISTRY, measure
from sfumato.measures.utility import PopulationLoss, Populations, UtilityLoss, large_populations, utility_loss

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
    "average_class_size",
    "certainty_penalty",
    "city_block",
    "classification",
    "cross_validate",
    "discernibility",
    "dp_bound",
    "generalization_steps",
    "histogram_distance",
    "js_divergence",
    "kl_divergence",
    "large_populations",
    "measure",
    "precision",
    "privacy_loss",
    "proved_bound",
    "query_error",
    "reconstruction_distance",
    "unchanged_answers",
    "utility_loss",
    "workload",
]
