"""The four papers, by the names of their pages."""

from __future__ import annotations

from importlib import import_module

from sfumato.errors import ParameterError
from sfumato.reproduce.figures import Paper

__all__ = ["PAPERS", "paper_of"]

# name -> module with PAPER; imported when asked for
PAPERS = {
    "diffgen": "sfumato.reproduce.diffgen",
    "dlink": "sfumato.reproduce.dlink",
    "tradeoff": "sfumato.reproduce.tradeoff",
    "onthemap": "sfumato.reproduce.onthemap",
}


def paper_of(name: str) -> Paper:
    """Return a paper by name."""
    if name not in PAPERS:
        raise ParameterError("paper", name, "is not known", hint=f"one of {', '.join(PAPERS)}")
    found: Paper = import_module(PAPERS[name]).PAPER
    return found
