"""Sweeps of releases, the efficient ones among them, and which to publish. Every figure here is confidential."""

from sfumato.frontiers.axes import RISKS, Axis, Composed, HeldOut, axis_words
from sfumato.frontiers.evaluate import name_together, side_by_side
from sfumato.frontiers.panel import asked_of, group_sizes, moved_words, sample_rows, star_shares
from sfumato.frontiers.point import Point, Reference, Spread, efficient_set
from sfumato.frontiers.policy import Breach, Policy, WantedTable
from sfumato.frontiers.recommend import (
    ASK,
    CHOSEN,
    MEMBERSHIP,
    Chosen,
    Recommendation,
    attributes_of,
    price_of,
    typical_in_tables,
    typical_words,
)
from sfumato.frontiers.result import AxisMeasure, Frontier
from sfumato.frontiers.run import frontier
from sfumato.frontiers.sweep import PRESETS, Preset, sweep

__all__ = [
    "ASK",
    "CHOSEN",
    "MEMBERSHIP",
    "PRESETS",
    "RISKS",
    "Axis",
    "AxisMeasure",
    "Breach",
    "Chosen",
    "Composed",
    "Frontier",
    "HeldOut",
    "Point",
    "Policy",
    "Preset",
    "Recommendation",
    "Reference",
    "Spread",
    "WantedTable",
    "asked_of",
    "attributes_of",
    "axis_words",
    "efficient_set",
    "frontier",
    "group_sizes",
    "moved_words",
    "name_together",
    "price_of",
    "sample_rows",
    "side_by_side",
    "star_shares",
    "sweep",
    "typical_in_tables",
    "typical_words",
]
