"""One algorithm, one file, named as in the literature. `REGISTRY` lists them all."""

from sfumato.mechanisms.anatomy import Anatomy
from sfumato.mechanisms.base import Gathered, Mechanism, Plan, Progress, Stage
from sfumato.mechanisms.bucketize import Bucketize
from sfumato.mechanisms.mondrian import Mondrian
from sfumato.mechanisms.raw import Raw
from sfumato.mechanisms.suppress import Suppress
from sfumato.mechanisms.topdown import TopDown

REGISTRY: dict[str, type] = {
    "anatomy": Anatomy,
    "bucketize": Bucketize,
    "mondrian": Mondrian,
    "raw": Raw,
    "suppress": Suppress,
    "topdown": TopDown,
}

__all__ = [
    "REGISTRY",
    "Anatomy",
    "Bucketize",
    "Gathered",
    "Mechanism",
    "Mondrian",
    "Plan",
    "Progress",
    "Raw",
    "Stage",
    "Suppress",
    "TopDown",
]
