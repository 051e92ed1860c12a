"""Mondrian: cut the table until no cut keeps the requirement."""

from sfumato.mechanisms.mondrian.mondrian import Mondrian

__all__ = ["Mondrian"]
