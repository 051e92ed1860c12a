"""Sweeps of releases, the efficient ones among them, and which to publish. Every figure here is confidential."""

from sfumato.frontiers.axes import Axis, Composed, HeldOut
from sfumato.frontiers.evaluate import group_sizes, name_together, sample_rows, side_by_side
from sfumato.frontiers.point import Point, Reference, Spread, efficient_set
from sfumato.frontiers.recommend import ASK, CHOSEN, MEMBERSHIP, Chosen, Recommendation, attributes_of
from sfumato.frontiers.result import AxisMeasure, Frontier
from sfumato.frontiers.run import frontier
from sfumato.frontiers.sweep import PRESETS, Preset, sweep

__all__ = [
    "ASK",
    "CHOSEN",
    "MEMBERSHIP",
    "PRESETS",
    "Axis",
    "AxisMeasure",
    "Chosen",
    "Composed",
    "Frontier",
    "HeldOut",
    "Point",
    "Preset",
    "Recommendation",
    "Reference",
    "Spread",
    "attributes_of",
    "efficient_set",
    "frontier",
    "group_sizes",
    "name_together",
    "sample_rows",
    "side_by_side",
    "sweep",
]
