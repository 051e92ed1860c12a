"""One algorithm, one file, named as in the literature. `REGISTRY` lists them all."""

from sfumato.mechanisms.anatomy import Anatomy
from sfumato.mechanisms.base import Gathered, Mechanism, Plan, Progress, Stage
from sfumato.mechanisms.bucketize import Bucketize
from sfumato.mechanisms.diffgen import DiffGen
from sfumato.mechanisms.mondrian import Mondrian
from sfumato.mechanisms.noisy_table import NoisyTable
from sfumato.mechanisms.raw import Raw
from sfumato.mechanisms.suppress import Suppress
from sfumato.mechanisms.topdown import TopDown

REGISTRY: dict[str, type] = {
    "anatomy": Anatomy,
    "bucketize": Bucketize,
    "diffgen": DiffGen,
    "mondrian": Mondrian,
    "noisy-table": NoisyTable,
    "raw": Raw,
    "suppress": Suppress,
    "topdown": TopDown,
}

__all__ = [
    "REGISTRY",
    "Anatomy",
    "Bucketize",
    "DiffGen",
    "Gathered",
    "Mechanism",
    "Mondrian",
    "NoisyTable",
    "Plan",
    "Progress",
    "Raw",
    "Stage",
    "Suppress",
    "TopDown",
]
