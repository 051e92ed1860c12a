"""Exact quasi-identifiers as a release: in buckets (Bucketize, Anatomy), or one box a combination (Raw, Marginals)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.counts import Counts
from sfumato.release import Release, assemble
from sfumato.schema import Labels, Schema

MEMBERSHIP = "who is in the table: quasi-identifiers are published exactly"
IMPOSSIBLE = (
    "a reader who knows that a value of a group cannot be that of somebody in it, such as an illness of one sex"
)


def bucket_release(
    table: Counts, row: np.ndarray, group: np.ndarray, weight: np.ndarray, **rest: Any
) -> tuple[Release, np.ndarray]:
    """Build a bucketized release: `weight[i]` people of the compact row `row[i]` are in `group[i]`."""
    schema, width = table.schema, len(table.schema.quasi)
    quasi = table.codes[row][:, :width].astype(np.int64)
    keys = np.column_stack([np.asarray(group, np.int64), quasi])
    boxes, box = np.unique(keys, axis=0, return_inverse=True)
    box = box.reshape(-1)
    tables, labels = Labels.exact(schema.quasi, boxes[:, 1:])
    return assemble(
        schema,
        tables=tables,
        labels=labels,
        weight=np.bincount(box, weights=weight, minlength=len(boxes)).astype(np.int64),
        group=boxes[:, 0],
        carried_group=group,
        carried_codes=table.codes[row][:, width:],
        carried_weight=weight,
        form="buckets",
        **rest,
    )


def exact_release(schema: Schema, codes: np.ndarray, weight: np.ndarray, **rest: Any) -> Release:
    """Build a release with a box for each combination of quasi-identifiers; `codes` are of the published columns."""
    width = len(schema.quasi)
    quasi = codes[:, :width]
    if width:
        boxes, box = np.unique(quasi, axis=0, return_inverse=True)
    else:
        boxes, box = np.zeros((min(1, len(quasi)), 0), np.int32), np.zeros(len(quasi), np.int64)
    box = box.reshape(-1)
    tables, labels = Labels.exact(schema.quasi, boxes)
    release, _ = assemble(
        schema,
        tables=tables,
        labels=labels,
        weight=np.bincount(box, weights=weight, minlength=len(boxes)).astype(np.int64),
        group=np.arange(len(boxes)),
        carried_group=box,
        carried_codes=codes[:, width:],
        carried_weight=weight,
        **rest,
    )
    return release
