"""Cutting a table of codes: layout, choice of the cut, the partition."""
