"""Compiled loops over plain arrays, each beside a readable NumPy reference that must give the same answer.

Nothing here knows a schema, a frame or a random generator. Import the module you need:
importing this package alone does not import numba.
"""

from __future__ import annotations

__all__: list[str] = []
