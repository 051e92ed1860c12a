"""Bundled data, and generators for what cannot be shipped: `adult()` and `census(rows, seed)` return tables.

>>> table = sf.datasets.adult("test")
>>> table.rows
15060
"""

from sfumato.datasets.adult import ADULT_COLUMNS, ADULT_SCHEMA, Split, adult, adult_frame
from sfumato.datasets.census import (
    CENSUS_COLUMNS,
    CENSUS_SCHEMA,
    KDD,
    census,
    census_frame,
    census_information,
    census_parameters,
    mutual_information,
)
from sfumato.datasets.commuting import CommutingFrames, commuting

__all__ = [
    "ADULT_COLUMNS",
    "ADULT_SCHEMA",
    "CENSUS_COLUMNS",
    "CENSUS_SCHEMA",
    "KDD",
    "CommutingFrames",
    "Split",
    "adult",
    "adult_frame",
    "census",
    "census_frame",
    "census_information",
    "census_parameters",
    "commuting",
    "mutual_information",
]
