"""Writes manifest.json: what is in the folder, what it promises, and the public part of the schema.

Source    Ours: a manifest never holds a raw value, a seed, a path, or a count that the claim does not cover.
Claim     Of an attribute whose domain was read off the data it tells only what published labels say; rows that
          were left out are counted only under a claim that is checked on the file.
Because   the schema goes through `public_part`; recoding and residence are never looked at, save a public recoding.
Checked   tests/unit/release/test_manifest.py::test_tells_no_unpublished_value_of_a_data_domain
          tests/unit/release/test_manifest.py::test_holds_no_seed_no_path_no_uncovered_count
Silent on what a mechanism writes into its parameters and notes: each mechanism answers for its own.
"""

from __future__ import annotations

import datetime as dt
import platform
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

import sfumato
from sfumato.release.manifest import FORMAT, FileEntry, levels, plain_parameters
from sfumato.release.public_part import public_part
from sfumato.release.recoding_file import public_recoding
from sfumato.release.release import Release
from sfumato.schema import Schema

__all__ = ["manifest_of", "public_schema"]


def manifest_of(release: Release, files: tuple[FileEntry, ...], *, counts: bool = False) -> dict[str, Any]:
    """Return the manifest of a release as plain data."""
    schema = public_schema(release)
    data: dict[str, Any] = {
        "format": FORMAT,
        "sfumato": sfumato.__version__,
        "python": platform.python_version(),
        "polars": pl.__version__,
        "created": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "name": schema.name,
        "population": schema.population,
        "form": release.form,
        **({"counted": True} if counts else {}),
        "mechanism": plain_parameters(release.mechanism),
        "claim": release.claim.to_json(),
        "schema": {
            "rows_per_person": schema.rows_per_person,
            "rows_stated": schema.rows_stated,
            **({"person": list(schema.person)} if schema.person else {}),
            "attributes": [{**attribute.to_json(), "levels": levels(attribute)} for attribute in schema.attributes],
        },
        "suppressed": release.suppressed_group is not None,
        "notes": list(release.notes),
        "files": {entry.name: entry.to_json() for entry in files},
    }
    if release.left_out is not None and release.claim.kind == "checked":
        data["left_out"] = release.left_out
    recoding = public_recoding(release)
    if recoding is not None:
        data["recoding"] = recoding
    return data


def public_schema(release: Release) -> Schema:
    """Return the schema as a reader of the release may know it: published attributes only."""
    boxes, carried = release.boxes, release.groups.carried
    known = []
    for at, table in enumerate(boxes.tables):
        used = np.unique(boxes.labels[boxes.weight > 0, at])
        known.append(public_part(table.attribute, [table.intervals(int(label)) for label in used]))
    for at, attribute in enumerate(carried.attributes):
        codes = np.unique(carried.codes[:, at]).tolist()
        known.append(public_part(attribute, [((code, code + 1),) for code in codes], exact=True))
    unsaid: dict[str, Any] = {"decide": (), "not_person": (), "person_exact": False, "copies_are_people": False}
    return replace(release.schema, attributes=tuple(known), **unsaid)
