"""Boxes in groups: what every release consists of.

A box is one label per quasi-identifier with a weight (rows). A group is the set of boxes among which
the carried values (sensitive, target) are not linked; it owns their joint counts. Generalized tables,
noisy cells and synthetic points have one box a group; buckets have many exact boxes a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError
from sfumato.schema import Attribute, Labels

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Boxes", "Carried", "Groups"]


@dataclass(frozen=True)
class Boxes:
    """`labels[i, j]` is the id, in `tables[j]`, of the label of box i for quasi-identifier j."""

    labels: np.ndarray
    weight: np.ndarray
    group: np.ndarray
    tables: tuple[Labels, ...]

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The quasi-identifiers, in the order of the columns."""
        return tuple(table.attribute for table in self.tables)

    @cached_property
    def low(self) -> np.ndarray:
        """First code of each label."""
        return self._gathered([table.low for table in self.tables])

    @cached_property
    def high(self) -> np.ndarray:
        """Code after the last of each label."""
        return self._gathered([table.high for table in self.tables])

    def _gathered(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        found = np.empty(self.labels.shape, dtype=np.int64)
        for at, column in enumerate(columns):
            found[:, at] = column[self.labels[:, at]]
        return found


@dataclass(frozen=True)
class Carried:
    """Joint counts of all carried attributes, by group: sorted by group, then by code."""

    attributes: tuple[Attribute, ...]
    group: np.ndarray
    codes: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.weight)


@dataclass(frozen=True)
class Groups:
    """How many rows each group has and what they carry."""

    weight: np.ndarray
    carried: Carried

    def __len__(self) -> int:
        return len(self.weight)

    def histogram(self, attribute: str) -> csr_matrix:
        """Return the counts of one carried attribute, groups x domain."""
        from scipy.sparse import csr_matrix

        for at, known in enumerate(self.carried.attributes):
            if known.name == attribute:
                shape = (len(self), known.size)
                entries = (self.carried.weight, (self.carried.group, self.carried.codes[:, at]))
                return csr_matrix(entries, shape=shape, dtype=np.int64)
        carried = ", ".join(known.name for known in self.carried.attributes) or "none"
        raise ParameterError("attribute", attribute, "is not carried by this release", hint=f"carried: {carried}")

    @cached_property
    def overall(self) -> dict[str, np.ndarray]:
        """Counts of each carried attribute over all published rows."""
        return {
            known.name: np.bincount(
                self.carried.codes[:, at], weights=self.carried.weight, minlength=known.size
            ).astype(np.int64)
            for at, known in enumerate(self.carried.attributes)
        }
