"""What someone can find out from releases: one attack, one file. Every result here is confidential."""

from sfumato.attacks.audit import Audited, exact_audit
from sfumato.attacks.audit_black_box import Accused, black_box_audit
from sfumato.attacks.base import Estimate, Rated
from sfumato.attacks.calibration import Calibration, calibrate
from sfumato.attacks.composition import composition
from sfumato.attacks.composition_against import Against, against
from sfumato.attacks.composition_files import open_releases, read_victims
from sfumato.attacks.composition_outcome import Composition, Records, Tally
from sfumato.attacks.experiment import OverlapRow, Samples, draw_samples, overlap_experiment
from sfumato.measures.shares import Share, difference, wilson

__all__ = [
    "Accused",
    "Against",
    "Audited",
    "Calibration",
    "Composition",
    "Estimate",
    "OverlapRow",
    "Rated",
    "Records",
    "Samples",
    "Share",
    "Tally",
    "against",
    "black_box_audit",
    "calibrate",
    "composition",
    "difference",
    "draw_samples",
    "exact_audit",
    "open_releases",
    "overlap_experiment",
    "read_victims",
    "wilson",
]
