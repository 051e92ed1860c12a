"""What a reader infers from a release: counts of a region, distribution for a person, features for a learner."""

from sfumato.estimate.alignment import View, align, align_boxes, exact_view, measured_attribute, measured_attributes
from sfumato.estimate.features import Columns, feature_columns, features, row_features
from sfumato.estimate.maxent import (
    Buckets,
    FineCells,
    MaxentReading,
    Step,
    cells_of,
    coverages,
    estimates,
    fit_maxent,
    units_of,
)
from sfumato.estimate.person import (
    by_labels,
    by_nearest,
    by_residence,
    expected_at,
    holding_boxes,
    inferred,
    nearest_boxes,
    person_distribution,
)
from sfumato.estimate.regions import ANY, Regions, count, estimate, normalised, shares

__all__ = [
    "ANY",
    "Buckets",
    "Columns",
    "FineCells",
    "MaxentReading",
    "Regions",
    "Step",
    "View",
    "align",
    "align_boxes",
    "by_labels",
    "by_nearest",
    "by_residence",
    "cells_of",
    "count",
    "coverages",
    "estimate",
    "estimates",
    "exact_view",
    "expected_at",
    "feature_columns",
    "features",
    "fit_maxent",
    "holding_boxes",
    "inferred",
    "measured_attribute",
    "measured_attributes",
    "nearest_boxes",
    "normalised",
    "person_distribution",
    "row_features",
    "shares",
    "units_of",
]
