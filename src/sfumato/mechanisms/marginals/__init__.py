"""Marginals: one file for each part, from the tree of attributes to the mechanism."""

from sfumato.mechanisms.marginals.marginals import Marginals

__all__ = ["Marginals"]
