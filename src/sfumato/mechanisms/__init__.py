"""One algorithm, one file, named as in the literature. `REGISTRY` lists them all, third parties' included."""

from sfumato.mechanisms.anatomy import Anatomy
from sfumato.mechanisms.base import Gathered, Mechanism, Plan, Progress, Stage
from sfumato.mechanisms.bucketize import Bucketize
from sfumato.mechanisms.diffgen import DiffGen
from sfumato.mechanisms.dlink import DLink
from sfumato.mechanisms.mondrian import Mondrian
from sfumato.mechanisms.noisy_table import NoisyTable
from sfumato.mechanisms.raw import Raw
from sfumato.mechanisms.suppress import Suppress
from sfumato.mechanisms.topdown import TopDown
from sfumato.registry import Registry

REGISTRY = Registry(
    "sfumato.mechanisms",
    {
        "anatomy": "sfumato.mechanisms:Anatomy",
        "bucketize": "sfumato.mechanisms:Bucketize",
        "diffgen": "sfumato.mechanisms:DiffGen",
        "dlink": "sfumato.mechanisms:DLink",
        "mondrian": "sfumato.mechanisms:Mondrian",
        "noisy-table": "sfumato.mechanisms:NoisyTable",
        "raw": "sfumato.mechanisms:Raw",
        "suppress": "sfumato.mechanisms:Suppress",
        "synthesize": "sfumato.commuting:Synthesize",
        "topdown": "sfumato.mechanisms:TopDown",
    },
)

__all__ = [
    "REGISTRY",
    "Anatomy",
    "Bucketize",
    "DLink",
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
