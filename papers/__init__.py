"""The papers' figures again: recomputed, set beside the printed numbers, judged by rules in code."""

from papers.framework import PAPERS, Curve, Figure, Judged, Reproduction, Settings, Statement, paper_of, reproduce
from papers.page import reproduction_page

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
