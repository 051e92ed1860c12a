"""Public cells: how the origins are divided, and how much prior each part gets, as seen from a destination.

Source    own design; the cells stand for the blocks of Machanavajjhala et al., ICDE 2008, and Theorem 5.1 (coarsening).
Claim     A cell, its weight, its keep probability and the density inside it are functions of public geography and of
          parameters; `place` draws an origin of a cell with probability density / (sum of densities), exactly.
Because   no method here is given counts; a uniform number below the sum comes from 64-bit words by refusal.
Checked   tests/unit/mechanisms/test_synthesize_cells.py::test_a_place_is_drawn_by_its_density_exactly
          tests/claims/test_synthesize.py::test_trap_51_a_domain_read_off_the_data_is_refused
Silent on what a caller writes into weights: numbers taken from the confidential table would break the claim (traps
          41 and 52), and no program can see where a number came from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.commuting.bounds import Stratum
from sfumato.commuting.urn import KEEP_BITS, keep_probability
from sfumato.errors import ParameterError

__all__ = ["ALWAYS", "Cells", "Prior", "Uniform"]

Ints = NDArray[np.int64]
WordSource = Callable[[int], NDArray[np.uint64]]
ALWAYS = 1 << KEEP_BITS  # keep probability 1, in units of 2^-24


@dataclass(frozen=True, eq=False)
class Cells:
    """Origins in cells.

    cell      origin code -> cell, 0 .. k-1: several origins of one cell are not told apart by the urn
    weight    cell -> prior weight, a whole number of at least 1
    keep      cell -> probability, in units of 2^-24, that an empty cell takes part (Algorithm 2)
    density   origin code -> how its cell's people are placed; 0 means that nobody is placed there
    """

    cell: Ints
    _: KW_ONLY
    weight: Ints
    keep: Ints
    density: Ints

    def __post_init__(self) -> None:
        k = self.weight.size
        if k < 2:
            raise ParameterError("cells", k, "must be at least 2", hint="a destination with one cell has no secret")
        if self.cell.size != self.density.size or self.keep.size != k:
            raise ParameterError("cells", k, "must have a keep for each cell and a density for each origin")
        if self.cell.size and not 0 <= self.cell.min() <= self.cell.max() < k:
            raise ParameterError("cell", k, "must number each origin's cell below the number of cells")
        if self.weight.min() < 1:
            rule = "must be at least 1 in every cell"
            raise ParameterError("weight", int(self.weight.min()), rule, hint="without prior a drawn person is real")
        if not 1 <= self.keep.min() <= self.keep.max() <= ALWAYS:
            raise ParameterError("keep", "outside", "must be above 0 and at most 1")
        if self.density.size and self.density.min() < 0:
            raise ParameterError("density", "negative", "must be 0 or above")
        if np.any(np.bincount(self.cell, weights=self.density, minlength=k) < 1):
            raise ParameterError("density", 0, "must be above 0 somewhere in every cell")

    @classmethod
    def of_blocks(cls, origins: int, *, keep: int = ALWAYS) -> Cells:
        """Return one cell of weight 1 for each origin."""
        ones = np.ones(origins, dtype=np.int64)
        return cls(np.arange(origins, dtype=np.int64), weight=ones, keep=ones * keep, density=ones)

    @property
    def k(self) -> int:
        """How many cells there are: the public size of the domain."""
        return int(self.weight.size)

    def strata(self) -> tuple[tuple[Stratum, ...], Ints]:
        """Return the strata of equal weight and keep, and the slot of each cell: strata are ranges of slots."""
        kinds, of_cell = np.unique(np.column_stack([self.weight, self.keep]), axis=0, return_inverse=True)
        of_cell = of_cell.reshape(-1)
        slots = np.empty(self.k, dtype=np.int64)
        slots[np.argsort(of_cell, kind="stable")] = np.arange(self.k)
        sizes = np.bincount(of_cell, minlength=len(kinds))
        strata = tuple(
            Stratum(Fraction(int(weight)), blocks=int(blocks), keep=Fraction(int(keep), ALWAYS))
            for (weight, keep), blocks in zip(kinds, sizes, strict=True)
        )
        return strata, slots

    def place(self, cells: Ints, words: WordSource) -> Ints:
        """Return an origin for each person of the given cells, drawn by density; a cell of one origin draws nothing."""
        order = np.argsort(self.cell, kind="stable")
        ends = np.cumsum(self.density[order])
        totals = np.bincount(self.cell, weights=self.density, minlength=self.k).astype(np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(totals)])[:-1]
        unit = np.zeros(cells.size, dtype=np.int64)
        several = np.flatnonzero(totals[cells] > 1)
        unit[several] = _below(totals[cells[several]].astype(np.uint64), words)
        return order[np.searchsorted(ends, starts[cells] + unit, side="right")].astype(np.int64)


def _below(totals: NDArray[np.uint64], words: WordSource) -> Ints:
    """Return a uniform number below each total: words that would favour small remainders are refused."""
    found = np.zeros(totals.size, dtype=np.int64)
    again = np.arange(totals.size)
    while again.size:
        drawn, total = words(int(again.size)), totals[again]
        fair = drawn >= (np.uint64(0) - total) % total  # 2^64 mod total
        found[again[fair]] = (drawn[fair] % total[fair]).astype(np.int64)
        again = again[~fair]
    return found


class Prior(Protocol):
    """A public prior: which destinations are seen alike, and the cells they see. It never meets the counts."""

    @property
    def least_keep(self) -> Fraction:
        """The smallest keep probability of any cell; 1 where the domain is not shrunk."""
        ...

    def groups(self, destinations: Ints) -> Ints:
        """Return for each destination code the number of the group whose cells it sees."""
        ...

    def cells(self, group: int, origins: int) -> Cells:
        """Return the cells of a group, for the number of origins in the schema."""
        ...

    def describe(self) -> tuple[str, ...]:
        """Name every public input, for the claim."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return name and parameters."""
        ...


@dataclass(frozen=True, slots=True, init=False)
class Uniform:
    """Every origin is a cell of its own with the same prior. `shrink` is Algorithm 2's keep probability."""

    shrink: Fraction

    def __init__(self, shrink: float | str | Fraction = 1) -> None:
        object.__setattr__(self, "shrink", keep_probability(shrink))

    @property
    def least_keep(self) -> Fraction:
        """The keep probability of every cell."""
        return self.shrink

    def groups(self, destinations: Ints) -> Ints:
        """All destinations see the same cells."""
        return np.zeros(destinations.size, dtype=np.int64)

    def cells(self, group: int, origins: int) -> Cells:
        """Return one cell for each origin of the schema."""
        return Cells.of_blocks(origins, keep=int(self.shrink * ALWAYS))

    def describe(self) -> tuple[str, ...]:
        """Name the public inputs."""
        kept = "" if self.shrink == 1 else f", empty origins kept with probability {float(self.shrink):.4g}"
        return (f"prior: uniform over all origins{kept}",)

    def to_json(self) -> dict[str, Any]:
        """Return name and parameters."""
        return {"name": "uniform", "shrink": str(self.shrink)}
