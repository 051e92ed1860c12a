"""The papers' figures again: recomputed, set beside the printed numbers, judged by rules in code."""

from sfumato.reproduce.figures import Curve, Figure, Settings, Statement
from sfumato.reproduce.page import reproduction_page
from sfumato.reproduce.registry import PAPERS, paper_of
from sfumato.reproduce.running import Reproduction, reproduce
from sfumato.reproduce.verdict import Judged

__all__ = [
    "PAPERS",
    "Curve",
    "Figure",
    "Judged",
    "Reproduction",
    "Settings",
    "Statement",
    "paper_of",
    "reproduce",
    "reproduction_page",
]
