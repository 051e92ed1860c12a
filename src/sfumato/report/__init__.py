"""Prints; computes nothing."""

from sfumato.report.explain import explain

__all__ = ["explain"]
