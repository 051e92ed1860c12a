"""What was worked out of a table once and is used again: populations, the table as boxes. Forgotten with the table."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from sfumato.counts import Counts

__all__ = ["remembered"]

Result = TypeVar("Result")
_KNOWN: dict[int, tuple[weakref.ref[Counts], dict[Hashable, Any]]] = {}


def remembered(counts: Counts, key: Hashable, make: Callable[[], Result]) -> Result:
    """Return what `make` gives, made once for these very counts (a table hands out the same object each time)."""
    place = id(counts)
    held = _KNOWN.get(place)
    if held is None or held[0]() is not counts:
        # The entry goes when the counts do, so that another object in the same place is never taken for them.
        held = (weakref.ref(counts, lambda _: _KNOWN.pop(place, None)), {})
        _KNOWN[place] = held
    if key not in held[1]:
        held[1][key] = make()
    return held[1][key]  # type: ignore[no-any-return]
