"""What a reader infers from a release: counts of a region, distribution for a person, features for a learner."""

from sfumato.reading.alignment import View, align, exact_view, measured_attribute, measured_attributes
from sfumato.reading.estimate import count, estimate, normalised, shares
from sfumato.reading.features import Columns, feature_columns, features, row_features
from sfumato.reading.maxent import MaxentReading, fit_maxent
from sfumato.reading.person import by_labels, by_residence, expected_at, holding_boxes, person_distribution
from sfumato.reading.regions import ANY, Regions
from sfumato.reading.walk import Buckets, Cells, Step, cells_of, coverages, estimates, units_of

__all__ = [
    "ANY",
    "Buckets",
    "Cells",
    "Columns",
    "MaxentReading",
    "Regions",
    "Step",
    "View",
    "align",
    "by_labels",
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
    "measured_attribute",
    "measured_attributes",
    "normalised",
    "person_distribution",
    "row_features",
    "shares",
    "units_of",
]
