"""Downcoding: what labels that are no wider than they must be give away, column by column and row by row."""
