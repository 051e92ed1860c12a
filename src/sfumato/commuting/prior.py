"""The prior of origin-destination synthesis: how small alpha may be, and what a given prior guarantees.

The mathematics lies in `sfumato.mechanisms.dirichlet`; these are the names under which a reader of the OnTheMap paper
looks for it.
"""

from __future__ import annotations

from sfumato.mechanisms.dirichlet import (
    certified_delta,
    rejection_limit,
    shrunk_certificate,
    smallest_alpha,
    smallest_alphas,
    smallest_scale,
    union_delta,
)
from sfumato.mechanisms.dirichlet_good import is_good
from sfumato.mechanisms.dirichlet_rules import Rule, Stratum, log_reference_zero_sample

__all__ = [
    "Rule",
    "Stratum",
    "certified_delta",
    "is_good",
    "log_reference_zero_sample",
    "rejection_limit",
    "shrunk_certificate",
    "smallest_alpha",
    "smallest_alphas",
    "smallest_scale",
    "union_delta",
]
