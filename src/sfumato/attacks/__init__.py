"""What someone can find out from releases: one attack, one file. Every result here is confidential."""

from sfumato.attacks.base import Estimate, Rated
from sfumato.attacks.composition import composition
from sfumato.attacks.composition_outcome import Composition, Records, Tally
from sfumato.attacks.statistics import Share, difference, wilson

__all__ = [
    "Composition",
    "Estimate",
    "Rated",
    "Records",
    "Share",
    "Tally",
    "composition",
    "difference",
    "wilson",
]
