"""One algorithm, one file, named as in the literature. `REGISTRY` lists them all, third parties' included."""

from sfumato.mechanisms.anatomy import Anatomy
from sfumato.mechanisms.base import Gathered, Mechanism, Plan, Progress, Stage
from sfumato.mechanisms.bucketize import Bucketize
from sfumato.mechanisms.diffgen import DiffGen
from sfumato.mechanisms.dlink import DLink
from sfumato.mechanisms.marginals import Marginals
from sfumato.mechanisms.mondrian import Mondrian
from sfumato.mechanisms.noisy_table import NoisyTable
from sfumato.mechanisms.raw import Raw
from sfumato.mechanisms.suppress import Suppress
from sfumato.mechanisms.target_rows import TargetRows
from sfumato.mechanisms.topdown import TopDown
from sfumato.registry import Registry, heads

_OWN = {name: head.target for name, head in heads("mechanisms").items()}
REGISTRY = Registry("sfumato.mechanisms", dict(sorted([*_OWN.items(), ("synthesize", "sfumato.commuting:Synthesize")])))

__all__ = [
    "REGISTRY",
    "Anatomy",
    "Bucketize",
    "DLink",
    "DiffGen",
    "Gathered",
    "Marginals",
    "Mechanism",
    "Mondrian",
    "NoisyTable",
    "Plan",
    "Progress",
    "Raw",
    "Stage",
    "Suppress",
    "TargetRows",
    "TopDown",
]
