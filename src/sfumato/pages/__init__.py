"""Prints; computes nothing."""

from sfumato.pages.explain import explain
from sfumato.pages.page import report

__all__ = ["explain", "report"]
