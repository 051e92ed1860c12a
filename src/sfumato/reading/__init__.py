"""What a reader infers from a release: counts of a region, distribution for a person."""

from sfumato.reading.alignment import View, align, exact_view, measured_attribute
from sfumato.reading.estimate import count, estimate, normalised, shares
from sfumato.reading.maxent import MaxentReading, fit_maxent
from sfumato.reading.person import by_labels, by_residence, expected_at, holding_boxes, person_distribution
from sfumato.reading.regions import ANY, Regions
from sfumato.reading.walk import Cells, Step, cells_of, coverages, estimates

__all__ = [
    "ANY",
    "Cells",
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
    "fit_maxent",
    "holding_boxes",
    "measured_attribute",
    "normalised",
    "person_distribution",
    "shares",
]
