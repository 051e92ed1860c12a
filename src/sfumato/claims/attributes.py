"""Several sensitive attributes: a requirement is checked for each separately, and for nothing more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.claims.classes import VERIFY_TOLERANCE, BoolArray
from sfumato.claims.ground import Ground
from sfumato.claims.requirement import Requirement
from sfumato.errors import ParameterError

__all__ = ["check_each"]


def check_each(
    requirement: Requirement,
    histograms: Mapping[str, Any],
    overalls: Mapping[str, Any],
    *,
    grounds: Mapping[str, Ground] | None = None,
    rows_per_person: int = 1,
    tolerance: float = VERIFY_TOLERANCE,
) -> BoolArray:
    """Whether each class satisfies the requirement for every sensitive attribute, each taken separately."""
    if not histograms:
        raise ParameterError("histograms", "none", "must hold at least one attribute")
    answers = [
        requirement.check(
            table,
            overalls[name],
            ground=(grounds or {}).get(name),
            rows_per_person=rows_per_person,
            tolerance=tolerance,
        )
        for name, table in histograms.items()
    ]
    together: BoolArray = np.logical_and.reduce(answers)
    return together
