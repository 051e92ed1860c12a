"""What can be chosen by name: the project's own mechanisms, measures and attacks, and those of installed packages.

A third party declares an entry point in its own project file, and the name is known everywhere a name is:

    [project.entry-points."sfumato.mechanisms"]
    shuffle = "their_package:Shuffle"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

__all__ = ["Registry"]


class Registry(Mapping[str, Any]):
    """Names and what they stand for, imported when they are first asked for."""

    def __init__(self, group: str, own: Mapping[str, str]) -> None:
        self.group = group
        self._own = dict(own)
        self._loaded: dict[str, Any] = {}

    @cached_property
    def _targets(self) -> dict[str, str]:
        """Where each name is defined. A third party cannot replace a name of ours."""
        found = {point.name: point.value for point in entry_points(group=self.group)}
        return {**self._own, **{name: value for name, value in sorted(found.items()) if name not in self._own}}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            module, _, attribute = self._targets[name].partition(":")
            self._loaded[name] = getattr(import_module(module), attribute)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._targets)

    def __len__(self) -> int:
        return len(self._targets)
