"""Compiled loops over plain arrays, production code only; their slow references are in `tests/oracles`.

Nothing here knows a schema, a frame or a random generator. Import the module you need:
importing this package alone does not import numba.
"""

from __future__ import annotations

__all__: list[str] = []
