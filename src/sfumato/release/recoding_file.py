"""A public recoding (`Cuts`) in the manifest: which code goes to which label, labels by their text.

Label ids belong to one release in memory; on the way back they are those of the loaded release, whose label
tables also hold cuts that no published row fell into.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.errors import ReleaseError
from sfumato.release.parse import Reading
from sfumato.release.release import Release
from sfumato.schema import Labels, Schema

if TYPE_CHECKING:
    from sfumato.counts.recoding import Cuts

__all__ = ["labels_with_recoding", "public_recoding"]


def public_recoding(release: Release) -> dict[str, Any] | None:
    """Return the recoding where it is public by its kind, and every code it speaks of is public too."""
    if release.recoding is None or any(attribute.source == "data" for attribute in release.quasi):
        return None
    from sfumato.counts.recoding import Cuts

    if not isinstance(release.recoding, Cuts) or not getattr(release.recoding, "public", True):
        return None
    names = {table.attribute.name: list(table.names) for table in release.boxes.tables}
    return {**release.recoding.to_json(), "labels": {name: names[name] for name in release.recoding.names}}


def labels_with_recoding(
    schema: Schema, data: pl.DataFrame, recoding: Mapping[str, Any] | None, reading: Reading
) -> tuple[dict[str, tuple[Labels, np.ndarray]], Cuts | None]:
    """Return the labels of each quasi-identifier and, where one was saved, the recoding in terms of them."""
    if recoding is None:
        return {a.name: reading.labels(a, data[a.name]) for a in schema.quasi}, None
    from sfumato.counts.recoding import Cuts

    if any(part["size"] != schema[name].size for name, part in recoding["cuts"].items()):
        raise ReleaseError("the recoding is of another domain", hint="load the release without a schema")
    try:
        cuts = Cuts.from_json(recoding)
        told = {name: pl.Series(name, recoding["labels"][name], dtype=pl.String) for name in cuts.names}
        columns, moved = {}, {}
        for attribute in schema.quasi:
            also = told.get(attribute.name, pl.Series(attribute.name, [], dtype=pl.String))
            table, ids = reading.labels(attribute, pl.concat([data[attribute.name], also]))
            columns[attribute.name] = (table, ids[: len(data)])
            moved[attribute.name] = ids[len(data) :]
        labels = tuple(moved[name][codes] for name, codes in zip(cuts.names, cuts.labels, strict=True))
    except (AttributeError, IndexError, KeyError, MemoryError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise ReleaseError("the recoding can not be read", hint="take the folder as it was saved") from None
    return columns, Cuts(cuts.names, labels=labels)
