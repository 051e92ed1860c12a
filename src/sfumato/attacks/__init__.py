"""What someone can find out from releases: one attack, one file. Every result here is confidential.

>>> low, high = sf.attacks.wilson(12, 100)
>>> round(low, 2), round(high, 2)
(0.07, 0.2)
"""

from sfumato.attacks.audit import Accused, Audited, black_box_audit, exact_audit
from sfumato.attacks.base import Attack, Exposure, Fit, Gain, Knowledge
from sfumato.attacks.calibration import Calibration, calibrate
from sfumato.attacks.composing.against import Against, against, open_releases, read_victims, release_paths
from sfumato.attacks.composing.composition import Composition, Intersection, Records, Tally, composition
from sfumato.attacks.composing.differencing import Differencing
from sfumato.attacks.container import Container
from sfumato.attacks.definetti import DeFinetti, Foreground
from sfumato.attacks.downcoding import Downcoding, DowncodingRows
from sfumato.attacks.identity import Identity
from sfumato.attacks.inference import Inference, Learner, RuledOut, Similarity, Skewness
from sfumato.attacks.linkage import Linkage
from sfumato.attacks.membership import Membership, advantage_bound
from sfumato.attacks.minimality import Minimality
from sfumato.attacks.overlap import OverlapRow, Samples, draw_samples, overlap_experiment
from sfumato.attacks.shadow import Shadow
from sfumato.attacks.singling_out import SinglingOut
from sfumato.attacks.suite import REGISTRY, Suite, attack_all
from sfumato.measures.proportions import Share, difference, wilson
from sfumato.mechanisms.from_json import mechanism_of

__all__ = [
    "REGISTRY",
    "Accused",
    "Against",
    "Attack",
    "Audited",
    "Calibration",
    "Composition",
    "Container",
    "DeFinetti",
    "Differencing",
    "Downcoding",
    "DowncodingRows",
    "Exposure",
    "Fit",
    "Foreground",
    "Gain",
    "Identity",
    "Inference",
    "Intersection",
    "Knowledge",
    "Learner",
    "Linkage",
    "Membership",
    "Minimality",
    "OverlapRow",
    "Records",
    "RuledOut",
    "Samples",
    "Shadow",
    "Share",
    "Similarity",
    "SinglingOut",
    "Skewness",
    "Suite",
    "Tally",
    "advantage_bound",
    "against",
    "attack_all",
    "black_box_audit",
    "calibrate",
    "composition",
    "difference",
    "draw_samples",
    "exact_audit",
    "mechanism_of",
    "open_releases",
    "overlap_experiment",
    "read_victims",
    "release_paths",
    "wilson",
]
