"""Proposing a schema for a file, and listing what a person must decide."""

from sfumato.drafting.draft import draft

__all__ = ["draft"]
