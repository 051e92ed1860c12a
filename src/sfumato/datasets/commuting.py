"""A generator of commuting patterns on made-up blocks: sparse and skewed like the real thing, about nobody.

Source    own gravity model: the chance of a home falls with exp(-distance / scale) and rises with its residents.
Claim     the same parameters and seed give the same frames; most pairs hold one job, few destinations most jobs.
Because   one counter-based stream; residents and jobs of blocks are log-normal, so a few blocks are very large.
Checked   tests/unit/datasets/test_commuting_data.py::test_sparse_and_skewed_like_the_real_thing
          tests/unit/datasets/test_commuting_data.py::test_the_same_seed_gives_the_same_frames
Silent on any real place: counties, tracts and blocks are invented. Test data: no mechanism may draw this way.
Cost      1.7M jobs over 233,726 blocks: about 5 s and 1 GB; memory follows tracts squared, never blocks squared.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import polars as pl

from sfumato.arrays import Floats, Ints
from sfumato.errors import ParameterError

_BLOCKS_A_TRACT, _TRACTS_A_COUNTY = 100, 50
_CENTRE = (38.5, -98.5)  # of the made-up state, in degrees
_MILES_A_DEGREE = 69.0
_ANYWHERE = 0.01  # share of homes drawn without regard to distance


@dataclass(frozen=True)
class CommutingFrames:
    """What a statistics office would hold: flows (confidential), and the public list of blocks."""

    flows: pl.DataFrame = field(repr=False)
    _: KW_ONLY
    geography: pl.DataFrame = field(repr=False)


def commuting(
    blocks: int = 2_000,
    jobs: int = 20_000,
    seed: int = 0,
    *,
    destinations: float = 0.33,
    scale: float = 6.0,
    across: float | None = None,
) -> CommutingFrames:
    """Return generated flows (w_geocode, h_geocode, S000) and a geography (code, latitude, longitude, tract, county).

    `destinations` is the share of blocks that hold jobs, `scale` the decay of the gravity in miles, `across` the
    width of the made-up state in miles (default: as dense as a small eastern state).
    """
    if blocks < 2 or jobs < 1:
        raise ParameterError("blocks, jobs", f"{blocks}, {jobs}", "must be at least 2 blocks and 1 job")
    if not 0 < destinations <= 1 or scale <= 0 or (across is not None and across <= 0):
        raise ParameterError("destinations, scale, across", "some", "must be above 0, destinations at most 1")
    if not 0 <= seed < 1 << 64:
        raise ParameterError("seed", seed, "must be in [0, 2^64)")
    rng = np.random.Generator(np.random.Philox(key=seed))
    tract = np.arange(blocks) // _BLOCKS_A_TRACT
    latitude, longitude, middles = _points(rng, tract, across or 0.25 * blocks**0.5)
    residents = rng.lognormal(0.0, 1.3, blocks)
    work = np.where(rng.random(blocks) < destinations, rng.lognormal(0.0, 1.6, blocks), 0.0)
    work[int(np.argmax(residents))] += 1.0  # somewhere there is work
    where = np.searchsorted(np.cumsum(work) / work.sum(), rng.random(jobs), side="right").clip(max=blocks - 1)
    home = _homes(rng, np.sort(where), tract, middles, residents, scale)
    codes = _codes(blocks, tract)
    pairs, many = np.unique(np.sort(where) * np.int64(blocks) + home, return_counts=True)
    flows = pl.DataFrame(
        {
            "w_geocode": codes.gather(pairs // blocks),
            "h_geocode": codes.gather(pairs % blocks),
            "S000": many.astype(np.int64),
        }
    )
    geography = pl.DataFrame({"code": codes, "latitude": latitude, "longitude": longitude}).with_columns(
        tract=pl.col("code").str.slice(0, 11), county=pl.col("code").str.slice(0, 5)
    )
    return CommutingFrames(flows, geography=geography)


def _points(rng: np.random.Generator, tract: Ints, across: float) -> tuple[Floats, Floats, Floats]:
    """Scatter tracts around a few towns, blocks around their tract; return degrees, and tract middles in miles."""
    tracts = int(tract[-1]) + 1
    towns = rng.uniform(-across / 2, across / 2, (max(2, tracts // 20 + 1), 2))
    middles = towns[rng.integers(0, len(towns), tracts)] + rng.normal(0.0, across / 10, (tracts, 2))
    points = middles[tract] + rng.normal(0.0, max(across / 80, 0.2), (tract.size, 2))
    latitude = np.round(_CENTRE[0] + points[:, 0] / _MILES_A_DEGREE, 6)
    wide = _MILES_A_DEGREE * np.cos(np.radians(_CENTRE[0]))
    return latitude, np.round(_CENTRE[1] + points[:, 1] / wide, 6), middles


def _homes(
    rng: np.random.Generator, where: Ints, tract: Ints, middles: Floats, residents: Floats, scale: float
) -> Ints:
    """Draw a home for each job: first its tract by gravity, then a block of the tract by residents."""
    tracts = len(middles)
    mass = np.bincount(tract, weights=residents, minlength=tracts)
    ends = np.cumsum(residents)
    starts = np.concatenate([[0.0], np.cumsum(mass)])
    home_tract = np.empty(where.size, dtype=np.int64)
    borders = np.searchsorted(tract[where], np.arange(tracts + 1))
    for t in range(tracts):
        low, high = int(borders[t]), int(borders[t + 1])
        if low < high:
            away = np.hypot(*(middles - middles[t]).T)
            pull = mass * (np.exp(-away / scale) + _ANYWHERE * np.exp(-away / (10 * scale)))
            cumulative = np.cumsum(pull)
            home_tract[low:high] = np.searchsorted(cumulative / cumulative[-1], rng.random(high - low), side="right")
    home_tract = home_tract.clip(max=tracts - 1)
    unit = starts[home_tract] + rng.random(where.size) * mass[home_tract]
    home = np.searchsorted(ends, unit, side="right")
    return np.clip(home, home_tract * _BLOCKS_A_TRACT, np.minimum((home_tract + 1) * _BLOCKS_A_TRACT, tract.size) - 1)


def _codes(blocks: int, tract: Ints) -> pl.Series:
    """Codes like those of census blocks, in a state 99 that does not exist: 2 + 3 + 6 + 4 digits."""
    county = tract // _TRACTS_A_COUNTY + 1
    number = np.arange(blocks) % _BLOCKS_A_TRACT + 1000
    frame = pl.DataFrame({"county": county, "tract": tract + 100, "block": number})
    return frame.select(
        pl.format(
            "99{}{}{}",
            pl.col("county").cast(pl.String).str.zfill(3),
            pl.col("tract").cast(pl.String).str.zfill(6),
            pl.col("block").cast(pl.String).str.zfill(4),
        )
    ).to_series()
