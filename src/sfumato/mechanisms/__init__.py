"""One algorithm, one file, named as in the literature. `REGISTRY` lists them all."""

from sfumato.mechanisms.base import Gathered, Mechanism, Plan, Progress, Stage
from sfumato.mechanisms.raw import Raw
from sfumato.mechanisms.suppress import Suppress

REGISTRY: dict[str, type] = {"raw": Raw, "suppress": Suppress}

__all__ = ["REGISTRY", "Gathered", "Mechanism", "Plan", "Progress", "Raw", "Stage", "Suppress"]
