"""How much memory a sweep will take, told before it starts.

The estimate is rough and on the high side: what the program itself takes, the counts, the public trees, and the sets of
values that the queries of the panels ask for, which are the largest part where a nominal attribute has many codes.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.counts import Table
from sfumato.errors import ParameterError
from sfumato.frontier.panel import QUERIES, SELECTIVITIES

__all__ = ["affordable", "bytes_of_one", "free_bytes"]

_PROGRAM = 300_000_000
_COUNT = 200  # bytes for each code of a distinct row: codes, labels, keys and what sorting them takes
_NODE = 400  # bytes for each node of a public tree, its name included
_PIECE = 24  # bytes for an interval of a query, drawn in batches of twice the queries


def bytes_of_one(table: Table, *, panels: bool = True) -> int:
    """Return about how many bytes one process of a sweep takes."""
    published = table.schema.published
    total = _PROGRAM + len(table.counts()) * len(published) * _COUNT
    total += sum(len(attribute.nodes) for attribute in published) * _NODE
    if panels:
        # A random half of n values is about n / 4 intervals.
        pieces = sum(attribute.size // 4 for attribute in table.schema.quasi if not attribute.ordered)
        total += pieces * QUERIES * (len(SELECTIVITIES) + 2) * _PIECE
    return total


def free_bytes() -> int | None:
    """Return how much memory is free, None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return found[0] if found else None


def affordable(wanted: int, one: int, free: int | None) -> int:
    """Return how many of the wanted workers fit into memory; refuse where not even one does."""
    if free is None:
        return wanted
    if one > free:
        rule = f"one process needs about {one / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free"
        hint = "panels=False, or give attributes with many values a coarser domain"
        raise ParameterError("memory", f"{one / 1e9:.1f} GB", rule, hint=hint)
    return min(wanted, max(free // one, 1))
