"""One algorithm, one file, named as in the literature. `REGISTRY` lists them all."""

from sfumato.mechanisms.base import Gathered, Mechanism, Plan, Progress, Stage
from sfumato.mechanisms.mondrian import Mondrian
from sfumato.mechanisms.raw import Raw
from sfumato.mechanisms.suppress import Suppress

REGISTRY: dict[str, type] = {"mondrian": Mondrian, "raw": Raw, "suppress": Suppress}

__all__ = ["REGISTRY", "Gathered", "Mechanism", "Mondrian", "Plan", "Progress", "Raw", "Stage", "Suppress"]
