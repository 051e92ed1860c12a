"""Makes bad files on purpose: each kind of damage a steward's table may arrive with."""

import gzip
import random
from pathlib import Path

SCHEMA = """\
name = "clinic"
[attribute.person]
role = "identifier"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 120]
[attribute.weight]
role = "quasi"
kind = "numeric"
range = [0, 300]
step = 0.5
[attribute.city]
role = "quasi"
kind = "nominal"
values = ["Bern", "Genf", "Zürich"]
[attribute.seen]
role = "quasi"
kind = "date"
range = ["2020-01-01", "2022-01-01"]
[attribute.smoker]
role = "other"
[attribute.diagnosis]
role = "sensitive"
kind = "nominal"
values = ["flu", "gout", "none"]
missing = ["?"]
"""


def rows(random_source: random.Random, count: int) -> list[list[str]]:
    """A header and good rows."""
    good = [["person", "age", "weight", "city", "seen", "smoker", "diagnosis"]]
    choose = random_source.choice
    good += [
        [
            f"P{number}",
            str(random_source.randrange(120)),
            str(random_source.randrange(600) / 2),
            choose(["Bern", "Genf", "Zürich"]),
            f"2020-{random_source.randrange(1, 13):02d}-{random_source.randrange(1, 29):02d}",
            choose(["true", "false"]),
            choose(["flu", "gout", "none", "?"]),
        ]
        for number in range(count)
    ]
    return good


CELLS = [
    "",
    "NaN",
    "nan",
    "inf",
    "-1",
    "9" * 400,
    "1e400",
    "0x1F",
    "None",
    "null",
    "\t",
    '"',
    "'",
    "ß",
    "\u0000",
    "2020-13-45",
    "½",
    "﻿",
    "a,b",
    ";",
    "1,5",
    "-0",
    "1_000",
    "٣",
]


def mangled(seed: int, folder: Path) -> tuple[Path, Path]:
    """Write one damaged table and its schema (now and then the damage is in the schema)."""
    source = random.Random(seed)
    table = rows(source, source.choice([0, 1, 3, 40]))
    delimiter = source.choice([",", ",", ",", ";", "\t", "|", " ", ":"])
    for _ in range(source.randrange(4)):
        _hurt(source, table)
    text = "".join(delimiter.join(row) + source.choice(["\n", "\n", "\n", "\r\n", "\r", "\n\n"]) for row in table)
    raw = text.encode(source.choice(["utf-8", "utf-8", "latin-1", "utf-16", "utf-8-sig"]), errors="replace")
    raw = _hurt_bytes(source, raw)
    data = folder / f"{seed}{source.choice(['.csv', '.csv', '.csv', '.txt', '.parquet', '.csv.gz', '.xlsx', ''])}"
    if source.random() < 0.03:
        data.mkdir()
    elif source.random() > 0.02:
        data.write_bytes(
            gzip.compress(raw)[: source.choice([None, 20])] if data.suffix == ".gz" and source.random() < 0.7 else raw
        )
    schema = folder / f"{seed}.toml"
    described = SCHEMA.encode()
    if source.random() < 0.15:
        described = _hurt_bytes(source, described)
    if source.random() < 0.1:
        lines = SCHEMA.splitlines()
        lines[source.randrange(len(lines))] = source.choice(
            [
                "range = [5, 5]",
                "kind = 3",
                "step = 0",
                "x",
                "hierarchy = 'no.csv'",
                "role = 'quasi'",
                "values = []",
                "[attribute.age]",
            ]
        )
        described = "\n".join(lines).encode()
    schema.write_bytes(described)
    return data, schema


def _hurt(source: random.Random, table: list[list[str]]) -> None:
    row = source.randrange(len(table))
    kind = source.randrange(8)
    if kind == 0 and table[row]:
        table[row][source.randrange(len(table[row]))] = source.choice(CELLS)
    elif kind == 1:
        table[row] = table[row][: source.randrange(len(table[row]) + 1)]
    elif kind == 2:
        table[row] = table[row] + table[row][:2]
    elif kind == 3 and table[0]:
        table[0][-1] = table[0][0]
    elif kind == 4 and len(table) > 1:
        table.pop(0)
    elif kind == 5:
        table[0] = [name.upper() for name in table[0]]
    elif kind == 6:
        for line in table:
            if line:
                line.pop(min(len(line) - 1, 2))
    else:
        table[row] = [source.choice(CELLS) for _ in table[row]]


def _hurt_bytes(source: random.Random, raw: bytes) -> bytes:
    kind = source.randrange(12)
    if kind == 0:
        return raw[: source.randrange(len(raw) + 1)]
    if kind == 1:
        return source.randbytes(source.randrange(300))
    if kind == 2:
        return b""
    if kind == 3 and raw:
        at = source.randrange(len(raw))
        return raw[:at] + bytes([source.randrange(256)]) + raw[at + 1 :]
    if kind == 4:
        return raw + b"\xff\xfe\x00"
    if kind == 5:
        return b"PAR1" + raw + b"PAR1"
    return raw
