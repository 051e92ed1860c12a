"""Path to counts against the floor: polars scanning the file and grouping the same columns.

    python benchmarks/bench_counts.py [rows]

Prints CPU and wall time and their ratio, best of five, for a CSV and a Parquet file of census-like rows
with six quasi-identifiers and one sensitive attribute.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.counts import read
from sfumato.schema import Schema

REPEATS = 5
TEXTS = {
    "workclass": [f"class-{k}" for k in range(8)],
    "education": [f"school-{k:02d}" for k in range(16)],
    "marital": ["married", "divorced", "never", "separated", "widowed", "absent"],
    "race": [f"race-{k}" for k in range(5)],
    "sex": ["Female", "Male"],
    "occupation": [f"occupation-{k:02d}" for k in range(14)],
}


def schema() -> Schema:
    attributes: dict[str, dict] = {"age": {"role": "quasi", "kind": "numeric", "range": [0, 100]}}
    for name, values in TEXTS.items():
        attributes[name] = {"role": "sensitive" if name == "occupation" else "quasi", "values": values}
    attributes["id"] = {"role": "identifier"}
    return Schema.parse({"name": "bench", "attribute": attributes})


def table(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    age = np.clip(rng.normal(40, 14, rows), 17, 90).astype(int)
    columns: dict[str, object] = {"id": np.arange(rows), "age": age}
    for name, values in TEXTS.items():
        weights = 1 / np.arange(1, len(values) + 1) ** 1.3  # few common values, many rare ones
        drawn = rng.choice(len(values), rows, p=weights / weights.sum())
        columns[name] = pl.Series(values).gather(drawn)
    columns["weight"] = rng.integers(10_000, 1_500_000, rows)
    columns["note"] = pl.Series(["some words that nobody publishes", "others"]).gather(rng.integers(0, 2, rows))
    return pl.DataFrame(columns)


def best(action: Callable[[], object]) -> tuple[float, float]:
    found = []
    for _ in range(REPEATS):
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        action()
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return min(cpu for cpu, _ in found), min(wall for _, wall in found)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    declared = schema()
    names = [attribute.name for attribute in declared.published]
    with tempfile.TemporaryDirectory() as folder:
        frame = table(rows)
        csv, parquet = Path(folder) / "bench.csv", Path(folder) / "bench.parquet"
        frame.write_csv(csv)
        frame.write_parquet(parquet)
        print(f"{rows} rows, {len(names)} attributes, {len(read(parquet, declared).counts())} combinations")
        for path, scan in ((csv, pl.scan_csv), (parquet, pl.scan_parquet)):
            floor = best(lambda scan=scan, path=path: scan(path).group_by(names).len().collect())
            ours = best(lambda path=path: read(path, declared).counts())
            cpu, wall = (mine / theirs for mine, theirs in zip(ours, floor, strict=True))
            print(
                f"{path.suffix[1:]:8} floor {floor[0]:.3f} s CPU {floor[1]:.3f} s wall,"
                f" counts {ours[0]:.3f} {ours[1]:.3f}, ratio {cpu:.2f} CPU {wall:.2f} wall"
            )


if __name__ == "__main__":
    main()
