"""One algorithm, one file, named as in the literature. `REGISTRY` lists them all."""

from sfumato.commuting.cells import Cells, Prior, Uniform
from sfumato.commuting.synthesize import Synthesize
from sfumato.mechanisms.anatomy import Anatomy
from sfumato.mechanisms.base import Gathered, Mechanism, Plan, Progress, Stage
from sfumato.mechanisms.bucketize import Bucketize
from sfumato.mechanisms.diffgen.diffgen import DiffGen
from sfumato.mechanisms.dlink.dlink import DLink
from sfumato.mechanisms.mondrian.mondrian import Mondrian
from sfumato.mechanisms.noisy_table import NoisyTable
from sfumato.mechanisms.raw import Raw
from sfumato.mechanisms.suppress import Suppress
from sfumato.mechanisms.topdown import TopDown

REGISTRY: dict[str, type] = {
    "anatomy": Anatomy,
    "bucketize": Bucketize,
    "diffgen": DiffGen,
    "dlink": DLink,
    "mondrian": Mondrian,
    "noisy-table": NoisyTable,
    "raw": Raw,
    "suppress": Suppress,
    "synthesize": Synthesize,
    "topdown": TopDown,
}

__all__ = [
    "REGISTRY",
    "Anatomy",
    "Bucketize",
    "Cells",
    "DLink",
    "DiffGen",
    "Gathered",
    "Mechanism",
    "Mondrian",
    "NoisyTable",
    "Plan",
    "Prior",
    "Progress",
    "Raw",
    "Stage",
    "Suppress",
    "Synthesize",
    "TopDown",
    "Uniform",
]
