"""Tables 1, 2 and 3 of the dLink paper, as anyone would read them from files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from sfumato.counts import Table, read
from sfumato.release import Release, Residence
from sfumato.schema import Schema

VALUES = ["Cough", "Diabetes", "Fever", "Flu", "Heart Disease", "Hepatitis"]


def paper_schema(values=VALUES) -> Schema:
    return Schema.parse(
        {
            "name": "paper",
            "attribute": {
                "age": {"role": "quasi", "kind": "numeric", "range": [10, 41], "step": 1},
                "sex": {"role": "quasi", "kind": "nominal", "values": ["F", "M"]},
                "zip": {
                    "role": "quasi",
                    "kind": "nominal",
                    "values": [str(code) for code in range(5000, 5100)],
                    "mask": {"length": 4, "from": "right"},
                },
                "diagnosis": {"role": "sensitive", "kind": "nominal", "values": list(values)},
            },
        }
    )


# name, age, sex, zip, diagnosis
TABLE_1A = [
    ("Emu", 25, "M", "5095", "Cough"),
    ("Alex", 24, "M", "5085", "Flu"),
    ("Clark", 20, "M", "5001", "Diabetes"),
    ("Hafiz", 23, "M", "5005", "Flu"),
    ("Alice", 22, "F", "5095", "Diabetes"),
    ("Mina", 25, "F", "5001", "Fever"),
    ("Sofia", 20, "F", "5002", "Diabetes"),
    ("Anju", 21, "F", "5087", "Fever"),
]
TABLE_1B = [
    ("Emu", 25, "M", "5095", "Cough"),
    ("Michel", 24, "M", "5085", "Fever"),
    ("Bokul", 20, "M", "5031", "Diabetes"),
    ("Safiq", 23, "M", "5025", "Flu"),
    ("Alice", 22, "F", "5095", "Diabetes"),
    ("Lima", 25, "F", "5065", "Cough"),
    ("Nima", 20, "F", "5002", "Diabetes"),
    ("Fami", 21, "F", "5077", "Cough"),
]
TABLE_2A = {
    "age": ["15-25"] * 8,
    "sex": ["M"] * 4 + ["F"] * 4,
    "zip": ["50**"] * 8,
    "diagnosis": ["Flu", "Flu", "Cough", "Diabetes", "Fever", "Fever", "Diabetes", "Diabetes"],
}
TABLE_2B = {
    "age": ["10-30"] * 8,
    "sex": ["M"] * 4 + ["*"] * 4,
    "zip": ["50**"] * 8,
    "diagnosis": ["Cough", "Fever", "Diabetes", "Flu", "Diabetes", "Diabetes", "Cough", "Cough"],
}
TABLE_3A = {("15-25", "M"): [5, 8, 10, 0, 6, 4], ("15-25", "F"): [7, 5, 4, 10, 5, 11]}
TABLE_3B = {("10-30", "M"): [3, 0, 7, 12, 2, 6], ("10-30", "*"): [9, 5, 4, 7, 2, 8]}


def people(rows, *names, schema=None) -> Table:
    """The named people as a table."""
    kept = [row for row in rows if not names or row[0] in names]
    frame = pl.DataFrame([row[1:] for row in kept], ["age", "sex", "zip", "diagnosis"], orient="row")
    return read(frame, schema or paper_schema())


def published(table, schema=None) -> Release:
    return Release.read(pl.DataFrame(table), schema or paper_schema())


def noisy(cells) -> Release:
    """Table 3: noisy counts of every value, as rows."""
    rows = [
        (age, sex, "50**", VALUES[at])
        for (age, sex), counts in cells.items()
        for at, many in enumerate(counts)
        for _ in range(many)
    ]
    return Release.read(pl.DataFrame(rows, ["age", "sex", "zip", "diagnosis"], orient="row"), paper_schema())


def with_homes(release: Release, rows) -> Release:
    """Add where the rows of table 1 landed: the men in the class of men."""
    table = people(rows)
    sexes = release.boxes.tables[1]
    men = next(
        int(release.boxes.group[box])
        for box in range(len(release.boxes))
        if sexes.names[release.boxes.labels[box, 1]] == "M"
    )
    other = next(int(group) for group in release.boxes.group if group != men)
    group = np.where(table.codes(["sex"])[:, 0] == 1, men, other)
    names = ("age", "sex", "zip", "diagnosis")
    return replace(release, residence=Residence(names, table.codes(names), group, np.ones(len(group), np.int64)))
