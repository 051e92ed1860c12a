"""Public cells: how the origins are divided, and how much prior each part gets, as seen from a destination.

Source    own design; the cells stand for the blocks of Machanavajjhala et al., ICDE 2008, and Theorem 5.1 (coarsening).
Claim     A cell, its weight, its keep probability and the density inside it are functions of public geography and of
          parameters; `place` draws an origin of a cell with probability density / (sum of densities), exactly.
Because   no method here is given counts; a uniform number below the sum comes from 64-bit words by refusal.
Checked   tests/unit/commuting/test_cells.py::test_a_place_is_drawn_by_its_density_exactly
          tests/claims/test_synthesize.py::test_trap_51_a_domain_read_off_the_data_is_refused
Silent on what a caller writes into weights: numbers taken from the confidential table would break the claim (traps
          41 and 52), and no program can see where a number came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.arrays import Floats, Ints
from sfumato.commuting.bounds import Stratum
from sfumato.commuting.flows import COUNTS, jobs_of_lines, places, rows_of
from sfumato.commuting.geography import Geography
from sfumato.commuting.urn import KEEP_BITS, WordSource, keep_probability
from sfumato.errors import ParameterError, Problem, ReadError
from sfumato.io.source import open_source

ALWAYS = 1 << KEEP_BITS  # keep probability 1, in units of 2^-24


@dataclass(frozen=True, eq=False)
class Cells:
    """Origins in cells.

    cell      origin code -> cell, 0 .. k-1: the urn does not distinguish origins of one cell
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


# Public priors over a geography: by distance, by older public flows, coarse where it is far, cut where it is farther.
#
# Source    Machanavajjhala et al., ICDE 2008, sec. V-B (coarsening, domain sampling) and VI (cut at 200 and 100 miles).
# Claim     The cells of a destination are a function of the geography and of the parameters given here; whoever lives
#           beyond `max_distance` is in the cell `elsewhere`, so that a destination keeps its public total.
# Because   nothing here is given the confidential flows; every origin, `elsewhere` included, is in exactly one cell.
# Checked   tests/unit/commuting/test_priors_over_a_geography.py::test_far_origins_are_elsewhere_and_totals_stay
#           tests/unit/commuting/test_priors_over_a_geography.py::test_cells_do_not_depend_on_who_lives_where
# Silent on whether older flows are public: flows of the same people published without protection are an assumption.

_LIKELY = {
    "destination": ("w_{level}", "w_geocode", "destination", "work"),
    "origin": ("h_{level}", "h_geocode", "origin", "home"),
    "count": COUNTS,
}


@dataclass(frozen=True, eq=False)
class OlderFlows:
    """Public flows between regions of one level: {(destination region, origin region): people}.

    A cell weighs the largest power of 2 not above its share of the flow, at least 1, at most `cap`.
    """

    people: Mapping[tuple[str, str], int]
    level: str
    cap: int = 64
    name: str = "older public flows"

    @classmethod
    def read(
        cls,
        data: Any,
        level: str,
        *,
        destination: str | None = None,
        origin: str | None = None,
        count: str | None = None,
        cap: int = 64,
        name: str = "older public flows",
    ) -> OlderFlows:
        """Read public flows between regions: columns such as w_tract, h_tract and S000 are found by themselves."""
        named = {"destination": destination, "origin": origin, "count": count}
        source = open_source(data, expected=[column for likely in _LIKELY.values() for column in likely])
        columns = []
        for what, given in named.items():
            likely = [given] if given is not None else [text.format(level=level) for text in _LIKELY[what]]
            found = next((column for column in likely if column in source.columns), None)
            if found is None:
                raise ReadError(Problem(what, f"no column for the {what} of older flows", f"name it: {what}=..."))
            columns.append(found)
        cells = source.read(columns)
        frame = cells.select(
            places(cells[columns[0]]),
            places(cells[columns[1]]),
            jobs_of_lines(cells, columns[2]).alias(columns[2]),
        )
        odd = frame.select(pl.any_horizontal(pl.all().is_null()) | (pl.col(columns[2]) < 0)).to_series()
        if wrong := rows_of(cells, odd.fill_null(value=True)):
            raise ReadError(Problem(columns[2], "must be whole numbers between two regions", "check it", rows=wrong))
        people: dict[tuple[str, str], int] = {}
        for to, home, many in frame.iter_rows():
            people[to, home] = people.get((to, home), 0) + many
        return cls(people, level, cap, name)

    def weights(self, destination: str, names: Sequence[str], region: Ints, size: Ints) -> Ints:
        """Return the weight of each cell; `region` is -1 for `elsewhere`, `size` how many cells its region has."""
        flow = np.array([self.people.get((destination, name), 0) for name in names], dtype=np.float64)
        share = np.where(region >= 0, flow[np.maximum(region, 0)] / np.maximum(size, 1), 0.0)
        exponent = np.floor(np.log2(np.maximum(share, 1.0)))
        return np.minimum(np.power(2, exponent.astype(np.int64)), self.cap).astype(np.int64)


@dataclass(frozen=True, eq=False, init=False)
class Shape:
    """A prior over a geography.

    by            destinations in one region of this level see the same cells, from the region's point; None: each alone
    bands         distances in miles; weights and keep have one entry more: up to each band, and beyond the last
    weights       prior weights by band, whole numbers of at least 1
    keep          Algorithm 2: how likely an empty cell of the band takes part
    older         weights from older public flows instead of bands
    max_distance  origins farther than this are `elsewhere`
    coarsen       level whose regions are the cells; people are then placed inside by density
    far           (miles, level): beyond this distance, origins are distinguished by region only
    density       public whole number for each block, such as residents: where in its cell a person is placed
    """

    geography: Geography
    by: str | None
    bands: tuple[float, ...]
    weights: tuple[int, ...]
    keep: tuple[Fraction, ...]
    older: OlderFlows | None
    max_distance: float | None
    coarsen: str | None
    far: tuple[float, str] | None
    density: Ints | None

    def __init__(
        self,
        geography: Geography,
        *,
        by: str | None = None,
        bands: Sequence[float] = (),
        weights: Sequence[int] | None = None,
        keep: Sequence[float | str | Fraction] | float | str | Fraction = 1,
        older: OlderFlows | None = None,
        max_distance: float | None = None,
        coarsen: str | None = None,
        far: tuple[float, str] | None = None,
        density: Ints | None = None,
    ) -> None:
        several = isinstance(keep, Sequence) and not isinstance(keep, str)
        chances = list(keep) if several else [keep] * (len(bands) + 1)  # type: ignore[arg-type]
        values: dict[str, Any] = {
            "geography": geography,
            "by": by or (older.level if older is not None else None),
            "bands": tuple(float(band) for band in bands),
            "weights": tuple(weights) if weights is not None else (1,) * (len(bands) + 1),
            "keep": tuple(keep_probability(chance) for chance in chances),  # type: ignore[arg-type]
            "older": older,
            "max_distance": None if max_distance is None else float(max_distance),
            "coarsen": coarsen,
            "far": far,
            "density": None if density is None else np.asarray(density, dtype=np.int64),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        sizes = {len(self.weights), len(self.keep), len(self.bands) + 1}
        if len(sizes) > 1 or any(b <= a for a, b in pairwise(self.bands)) or any(b <= 0 for b in self.bands):
            raise ParameterError("bands", len(self.bands), "must rise from above 0, one fewer than weights and keep")
        if min(self.weights) < 1:
            raise ParameterError("weights", min(self.weights), "must be at least 1", hint="every cell needs some prior")
        if self.older is not None and (self.by != self.older.level or max(self.weights) > 1):
            raise ParameterError("older", self.older.level, "gives the weights, for destinations seen by its level")
        for level in (self.by, self.coarsen, None if self.far is None else self.far[1]):
            if level is not None:
                self.geography.level(level)
        for name, miles in (("max_distance", self.max_distance), ("far", None if self.far is None else self.far[0])):
            if miles is not None and miles <= 0:
                raise ParameterError(name, miles, "must be above 0 miles")
        if self.density is not None and (self.density.shape != (len(self.geography),) or self.density.min() < 0):
            raise ParameterError("density", "some", "must be a whole number of at least 0 for each block")

    @property
    def least_keep(self) -> Fraction:
        """The smallest keep probability."""
        return min(self.keep)

    @cached_property
    def _points(self) -> tuple[Floats, Floats]:
        if self.by is None:
            return self.geography.latitude, self.geography.longitude
        return self.geography.points(self.by)

    def groups(self, destinations: Ints) -> Ints:
        """Return the region of each destination, or the destination itself; one group where place does not matter."""
        blind = not self.bands and self.older is None and self.max_distance is None and self.far is None
        if blind:
            return np.zeros(len(destinations), dtype=np.int64)
        if self.by is None:
            return np.asarray(destinations, dtype=np.int64)
        return self.geography.level(self.by).of_block[destinations]

    def cells(self, group: int, origins: int) -> Cells:
        """Return the cells of one group: a function of public places only."""
        k = len(self.geography)
        if origins != k + 1:
            raise ParameterError("prior", k + 1, f"is for another list of origins: the schema has {origins}")
        miles = self.geography.miles_from(self._points[0][group], self._points[1][group])
        keys = self._keys(miles)
        kinds, cell = np.unique(keys, return_inverse=True)
        cell = cell.reshape(-1).astype(np.int64)
        last = int(cell[k])  # the cell of `elsewhere`
        inside = np.bincount(cell[:k], minlength=kinds.size)
        mean = np.bincount(cell[:k], weights=miles, minlength=kinds.size) / np.maximum(inside, 1)
        band = np.searchsorted(np.asarray(self.bands), mean)
        band[last] = len(self.bands)
        keep = np.array([int(chance * ALWAYS) for chance in self.keep], dtype=np.int64)[band]
        keep[last] = ALWAYS
        weight = self._weights(group, cell, last, band)
        return Cells(cell, weight=weight, keep=keep, density=self._density(cell, last, kinds.size))

    def _keys(self, miles: Floats) -> Ints:
        """One number for each origin; equal numbers share a cell. The last origin is `elsewhere`."""
        k = len(self.geography)
        keys = np.arange(k, dtype=np.int64)
        if self.coarsen is not None:
            keys = k + self.geography.level(self.coarsen).of_block
        if self.far is not None:
            keys = np.where(miles > self.far[0], 2 * k + self.geography.level(self.far[1]).of_block, keys)
        if self.max_distance is not None:
            keys = np.where(miles > self.max_distance, 3 * k, keys)
        return np.append(keys, 3 * k)

    def _weights(self, group: int, cell: Ints, last: int, band: Ints) -> Ints:
        if self.older is None:
            weight = np.array(self.weights, dtype=np.int64)[band]
            weight[last] = self.weights[-1]
            return weight
        regions = self.geography.level(self.older.level)
        region = np.full(band.size, -1, dtype=np.int64)
        region[cell[:-1]] = regions.of_block  # a cell that spans regions takes the last of them
        region[last] = -1
        size = np.bincount(region[region >= 0], minlength=len(regions.names))[np.maximum(region, 0)]
        return self.older.weights(regions.names[group], regions.names, region, size)

    def _density(self, cell: Ints, last: int, k: int) -> Ints:
        density = np.append(self.density if self.density is not None else np.ones(cell.size - 1, np.int64), 1)
        density[:-1][cell[:-1] == last] = 0  # far blocks: their people are shown as `elsewhere`
        bare = np.flatnonzero(np.bincount(cell, weights=density, minlength=k) == 0)
        density[np.isin(cell, bare)] = 1  # a cell without residents still needs places
        return density

    def describe(self) -> tuple[str, ...]:
        """Name every public input."""
        texts = [f"geography: {len(self.geography)} blocks, fingerprint {self.geography.fingerprint}"]
        if self.older is not None:
            texts.append(f"prior: weights from {self.older.name} by {self.older.level}, floor 1, cap {self.older.cap}")
        elif max(self.weights) > 1:
            texts.append(f"prior: weights {list(self.weights)} by distance, bands {list(self.bands)} miles")
        else:
            texts.append("prior: the same weight for every cell")
        if self.least_keep < 1:
            chances = [round(float(chance), 6) for chance in self.keep]
            texts.append(f"empty cells kept with probability {chances}, bands {list(self.bands)} miles")
        if self.max_distance is not None:
            texts.append(f"origins beyond {self.max_distance:g} miles are `elsewhere`")
        if self.coarsen is not None:
            texts.append(f"cells are regions ({self.coarsen}); {self._placing}")
        if self.far is not None:
            texts.append(f"beyond {self.far[0]:g} miles cells are regions ({self.far[1]}); {self._placing}")
        return tuple(texts)

    @property
    def _placing(self) -> str:
        how = "with equal probability in each block" if self.density is None else "by public density"
        return f"homes are placed inside {how}"

    def to_json(self) -> dict[str, Any]:
        """Return name and parameters; the geography by its fingerprint."""
        return {
            "name": "shape",
            "geography": self.geography.fingerprint,
            "by": self.by,
            "bands": list(self.bands),
            "weights": list(self.weights),
            "keep": [str(chance) for chance in self.keep],
            "older": None if self.older is None else {"level": self.older.level, "cap": self.older.cap},
            "max_distance": self.max_distance,
            "coarsen": self.coarsen,
            "far": None if self.far is None else list(self.far),
            "density": self.density is not None,
        }
