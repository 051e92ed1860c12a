"""Every limit in one place: what is refused, or bounded, before the work begins. `docs/limits.md` has the same table.

A limit is a public number: it never depends on the data. What is larger is refused with the number, or, where a
measure can be taken on less, taken on less and said so.
"""

from __future__ import annotations

__all__ = [
    "POPULATIONS",
    "POPULATIONS_OF_ONE",
    "POPULATION_TABLES",
]

POPULATIONS = 20_000
"""Populations of a utility loss; more are bounded by how many attributes a population names."""

POPULATION_TABLES = 200_000
"""Tables of one attribute that the search for populations counts before it is bounded likewise."""

POPULATIONS_OF_ONE = 1_000_000
"""Populations that name a single attribute; more are refused."""
