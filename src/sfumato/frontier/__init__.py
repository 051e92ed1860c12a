"""Sweeps of releases, the efficient ones among them, and which to publish. Every figure here is confidential."""

from sfumato.frontier.axes import Axis, Composed, HeldOut
from sfumato.frontier.chosen import CHOSEN, Chosen
from sfumato.frontier.efficient import efficient_set
from sfumato.frontier.grid import sweep
from sfumato.frontier.panel import group_sizes, sample_rows
from sfumato.frontier.point import Point, Reference, Spread
from sfumato.frontier.presets import PRESETS, Preset
from sfumato.frontier.reasons import ASK, MEMBERSHIP, attributes_of
from sfumato.frontier.recommend import Recommendation
from sfumato.frontier.result import Frontier, Measure
from sfumato.frontier.running import frontier
from sfumato.frontier.twins import name_together, side_by_side

__all__ = [
    "ASK",
    "CHOSEN",
    "MEMBERSHIP",
    "PRESETS",
    "Axis",
    "Chosen",
    "Composed",
    "Frontier",
    "HeldOut",
    "Measure",
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
