"""Prints; computes nothing."""

from sfumato.report.explain import explain
from sfumato.report.page import report

__all__ = ["explain", "report"]
