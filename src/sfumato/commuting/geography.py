"""The public places: a list of blocks with their points and regions. It defines the domain; the data never does.

Source    own design; LODES geography crosswalks are read as they come (tabblk2010, blklatdd, blklondd, trct, cty).
Claim     The origins of a schema made here are all blocks of the list and `elsewhere`, whoever lives there.
Because   the schema is made before any flow is read; a code that is not listed is `elsewhere`, or refused.
Checked   tests/unit/commuting/test_geography.py::test_the_domain_is_the_list_and_elsewhere
          tests/unit/commuting/test_geography.py::test_distances_are_great_circles
Silent on whether the list is complete: people of a block that is not listed are `elsewhere`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.arrays import Floats, Ints
from sfumato.errors import ParameterError, Problem, ReadError
from sfumato.io.source import open_source
from sfumato.schema import Attribute, Schema, Values
from sfumato.schema.from_toml import default_tree

ELSEWHERE = "elsewhere"
_EARTH_MILES = 3958.7613  # mean radius
_CODES = ("tabblk2020", "tabblk2010", "code", "block", "tract", "county")
_PLACES = ("name", "stplcname", "trctname", "ctyname")  # the last three are of a LODES crosswalk
_LATITUDES = ("blklatdd", "latitude", "lat")
_LONGITUDES = ("blklondd", "longitude", "lon")
_REGIONS = {"block_group": "bgrp", "tract": "trct", "county": "cty"}


def haversine(latitude: Floats, longitude: Floats, latitude2: Floats, longitude2: Floats) -> Floats:
    """Return great-circle distances in miles."""
    a, b, c, d = (np.radians(np.asarray(x, np.float64)) for x in (latitude, longitude, latitude2, longitude2))
    h = np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2
    return np.asarray(2 * _EARTH_MILES * np.arcsin(np.sqrt(np.minimum(h, 1.0))))


@dataclass(frozen=True, eq=False)
class RegionLevel:
    """One level of parent regions: the region of each block, and the names of the regions."""

    of_block: Ints
    _: KW_ONLY
    names: tuple[str, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> RegionLevel:
        """Number regions by their names."""
        names, of_block = np.unique(np.asarray(texts, dtype=str), return_inverse=True)
        return cls(of_block.reshape(-1).astype(np.int64), names=tuple(names.tolist()))


@dataclass(frozen=True, eq=False)
class Geography:
    """Blocks in the order of their codes, with points and regions. Public."""

    codes: tuple[str, ...]
    _: KW_ONLY
    latitude: Floats = field(repr=False)
    longitude: Floats = field(repr=False)
    regions: Mapping[str, RegionLevel] = field(default_factory=dict, repr=False)
    names: tuple[str, ...] = field(default=(), repr=False)  # what people call each block, where the list says so
    prefixes: tuple[int, ...] = ()  # lengths at which the code of a block may stand for a listed region

    def __post_init__(self) -> None:
        if len(set(self.codes)) != len(self.codes) or list(self.codes) != sorted(self.codes):
            raise ParameterError("codes", len(self.codes), "must be sorted, each once")
        if not (np.abs(self.latitude) <= 90).all() or not (np.abs(self.longitude) <= 180).all():
            raise ParameterError("latitude, longitude", "some", "must be degrees", hint="latitude -90..90")
        if ELSEWHERE in self.codes:
            raise ParameterError("codes", ELSEWHERE, "is the name of the catch-all block")

    def __repr__(self) -> str:
        return f"Geography({len(self.codes)} blocks, regions: {', '.join(self.regions) or 'none'})"

    def __len__(self) -> int:
        return len(self.codes)

    def named(self, at: int) -> str:
        """Return what people call a block, with its code; the code alone where it has no name."""
        code = self.codes[at]
        return f"{self.names[at]} ({code})" if self.names and self.names[at] else code

    @property
    def elsewhere(self) -> int:
        """The code of `elsewhere`: the last origin."""
        return len(self.codes)

    @property
    def fingerprint(self) -> str:
        """A short hash of codes and points, so that a claim names the list it rests on."""
        digest = hashlib.sha256("\n".join(self.codes).encode())
        digest.update(np.round(np.column_stack([self.latitude, self.longitude]), 6).tobytes())
        return digest.hexdigest()[:16]

    @classmethod
    def read(
        cls,
        data: Any,
        *,
        code: str | None = None,
        latitude: str | None = None,
        longitude: str | None = None,
        regions: Mapping[str, str] | Sequence[str] | None = None,
    ) -> Geography:
        """Read a CSV (gz too), a Parquet file or a frame; columns of a LODES crosswalk are found by themselves.

        `regions` names columns of parent regions: a list, or {level: column}.
        """
        source = open_source(data, expected=[*_CODES, *_LATITUDES, *_LONGITUDES])
        chosen = {
            "code": column_for(source.columns, "code", code, _CODES),
            "latitude": column_for(source.columns, "latitude", latitude, _LATITUDES),
            "longitude": column_for(source.columns, "longitude", longitude, _LONGITUDES),
        }
        levels = _levels(source.columns, regions)
        name = next((column for column in source.columns if column.casefold() in _PLACES), None)
        wanted = list(dict.fromkeys([*chosen.values(), *levels.values(), *([] if name is None else [name])]))
        frame = source.read(wanted)
        points = [frame[chosen[name]].cast(pl.Float64, strict=False) for name in ("latitude", "longitude")]
        wrong = sum(int(column.null_count()) for column in points) + int(frame[chosen["code"]].null_count())
        if wrong:
            rule = "must have a code and a point in degrees for each block"
            raise ReadError(Problem(chosen["latitude"], rule, "check the columns", count=wrong))
        texts = frame[chosen["code"]].cast(pl.String).str.strip_chars()
        order = texts.arg_sort().to_numpy()
        return cls(
            tuple(texts.gather(order).to_list()),
            latitude=points[0].to_numpy()[order],
            longitude=points[1].to_numpy()[order],
            names=() if name is None else tuple(frame[name].cast(pl.String).fill_null("").gather(order).to_list()),
            regions={
                level: RegionLevel.of(frame[column].cast(pl.String).fill_null("").gather(order).to_list())
                for level, column in levels.items()
            },
        )

    def beyond(self, others: Geography) -> Geography:
        """Add the places of a coarser list that hold no block of this one: counties of other states, say.

        A code that is not listed itself then stands for the listed place with which it begins.
        """
        own = {code[:length] for length in {len(c) for c in others.codes} for code in self.codes}
        extra = np.array([at for at, code in enumerate(others.codes) if code not in own], dtype=np.int64)
        codes = [*self.codes, *(others.codes[at] for at in extra)]
        order = np.argsort(np.asarray(codes, dtype=str), kind="stable")
        levels = {}
        for level, regions in self.regions.items():
            texts = [regions.names[r] for r in regions.of_block] + [others.codes[at] for at in extra]
            levels[level] = RegionLevel.of([texts[at] for at in order])
        return Geography(
            tuple(codes[at] for at in order),
            latitude=np.concatenate([self.latitude, others.latitude[extra]])[order],
            longitude=np.concatenate([self.longitude, others.longitude[extra]])[order],
            names=tuple([*self.names, *(others.named(at) for at in extra)][at] for at in order) if self.names else (),
            regions=levels,
            prefixes=tuple(sorted({len(others.codes[at]) for at in extra}, reverse=True)),
        )

    def lookup(self, texts: pl.Series) -> Ints:
        """Return the code of each text: listed, or beginning with a listed place; -1 where there is none."""
        index = pl.DataFrame({"key": list(self.codes), "at": np.arange(len(self.codes))})
        plain = texts.cast(pl.String).str.strip_chars()
        found = np.full(len(texts), -1, dtype=np.int64)
        for length in (None, *self.prefixes):
            key = plain if length is None else plain.str.slice(0, length)
            joined = pl.DataFrame({"key": key}).join(index, on="key", how="left", maintain_order="left")
            codes = joined["at"].fill_null(-1).to_numpy()
            found = np.where(found < 0, codes, found)
        return found.astype(np.int64)

    def schema(self, *, name: str = "commuting", population: str = "", rows_per_person: int | None = None) -> Schema:
        """Return the schema of flows between these places: destination and origin, both public lists.

        Without `rows_per_person` a row is a job, and nothing is said about people.
        """
        attributes = []
        for column, more in (("destination", ()), ("origin", (ELSEWHERE,))):
            domain = Values((*self.codes, *more))
            tree = default_tree(domain, "nominal", None)
            attributes.append(
                Attribute(
                    column, role="quasi", kind="nominal", domain=domain, tree=tree, column=column, source="public"
                )
            )
        schema = Schema(tuple(attributes), name=name, population=population or name)
        if rows_per_person is None:
            return schema
        return replace(schema, rows_per_person=rows_per_person, rows_stated=True)

    def miles(self, destinations: Ints, origins: Ints) -> Floats:
        """Return the distance of each pair of codes; `elsewhere` has none (NaN)."""
        far = np.asarray(origins) >= len(self.codes)
        at = np.where(far, 0, origins)
        found = haversine(
            self.latitude[destinations], self.longitude[destinations], self.latitude[at], self.longitude[at]
        )
        return np.where(far, np.nan, found)

    def miles_from(self, latitude: float, longitude: float) -> Floats:
        """Return the distance of every block from a point."""
        here = np.array([latitude, longitude], dtype=np.float64)
        return haversine(here[:1], here[1:], self.latitude, self.longitude)

    def level(self, name: str) -> RegionLevel:
        """Return one level of regions."""
        if name not in self.regions:
            raise ParameterError(
                "region", name, "is not a level of this geography", hint=f"one of {list(self.regions)}"
            )
        return self.regions[name]

    def points(self, level: str) -> tuple[Floats, Floats]:
        """Return a point for each region: the mean of its blocks' points."""
        regions = self.level(level)
        many = np.bincount(regions.of_block, minlength=len(regions.names))
        latitude = np.bincount(regions.of_block, weights=self.latitude, minlength=len(many)) / many
        longitude = np.bincount(regions.of_block, weights=self.longitude, minlength=len(many)) / many
        return latitude, longitude


def column_for(columns: Sequence[str], name: str, given: str | None, likely: Sequence[str]) -> str:
    """Return the column that is named, or the first of the likely ones."""
    for wanted in [given] if given is not None else likely:
        if wanted in columns:
            return str(wanted)
    rule = f"no column {given}" if given is not None else f"no column for the {name}"
    raise ReadError(Problem(name, rule, f"name it: {name}=..."))


def _levels(columns: Sequence[str], given: Mapping[str, str] | Sequence[str] | None) -> dict[str, str]:
    if given is None:
        return {level: column for level, column in _REGIONS.items() if column in columns} or {
            level: level for level in (*_REGIONS, "region") if level in columns and level != _first_code(columns)
        }
    levels = dict(given) if isinstance(given, Mapping) else {level: level for level in given}
    for level, column in levels.items():
        if column not in columns:
            raise ReadError(Problem(level, f"no column {column}", "name a column of the geography"))
    return levels


def _first_code(columns: Sequence[str]) -> str:
    return next((name for name in _CODES if name in columns), "")
