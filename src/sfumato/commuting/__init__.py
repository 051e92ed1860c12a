"""Origin-destination data: public geography, flows as they come, public priors, what a map needs.

>>> print(sf.commuting.smallest_alpha(12, 1000, "4.6", "0.1"))
9283/1000000
"""

from sfumato.commuting.bounds import Rule, Stratum, log_reference_zero_sample
from sfumato.commuting.cells import Cells, OlderFlows, Prior, Shape, Uniform
from sfumato.commuting.flows import Flows, read_flows
from sfumato.commuting.geography import ELSEWHERE, Geography, RegionLevel, haversine
from sfumato.commuting.map import MapData, map_data
from sfumato.commuting.prior import (
    certified_delta,
    rejection_limit,
    shrunk_certificate,
    smallest_alpha,
    smallest_alphas,
    smallest_scale,
    union_delta,
)
from sfumato.commuting.synthesize import Synthesize
from sfumato.commuting.urn import is_good

__all__ = [
    "ELSEWHERE",
    "Cells",
    "Flows",
    "Geography",
    "MapData",
    "OlderFlows",
    "Prior",
    "RegionLevel",
    "Rule",
    "Shape",
    "Stratum",
    "Synthesize",
    "Uniform",
    "certified_delta",
    "haversine",
    "is_good",
    "log_reference_zero_sample",
    "map_data",
    "read_flows",
    "rejection_limit",
    "shrunk_certificate",
    "smallest_alpha",
    "smallest_alphas",
    "smallest_scale",
    "union_delta",
]
