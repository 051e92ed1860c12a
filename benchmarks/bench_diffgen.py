"""DiffGen on 1M rows and 14 attributes against the floor, and a million noisy cells.

The floor is what polars needs in the same process to scan the file and group by the same columns.
Run: python benchmarks/bench_diffgen.py [rows]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.datasets.adult import ADULT_COLUMNS, ADULT_SCHEMA, adult_frame
from sfumato.randomness import Entropy, sparse_noise

PREDICTORS = [name for name in ADULT_COLUMNS if name != "income"]


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds of the better of two runs."""
    found = []
    for _ in range(2):
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return min(found)


def main(rows: int = 1_000_000) -> None:
    schema = sf.Schema.load(ADULT_SCHEMA).with_roles(quasi=PREDICTORS, sensitive=(), target="income")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.csv"
        adult_frame(blowup=-(-rows // 45_222), seed=1).head(rows).write_csv(path)
        columns = list(ADULT_COLUMNS)
        cpu, wall = timed(lambda: pl.scan_csv(path).group_by(columns).len().collect())
        print(f"floor, scan and group by {len(columns)} columns: {cpu:.2f} s CPU, {wall:.2f} s")
        mechanisms = {
            "h=15": sf.DiffGen(1, specializations=15),
            "h=60": sf.DiffGen(1, specializations=60),
            "h=15, paper": sf.DiffGen(1, specializations=15, paper=True),
            "recommended": sf.DiffGen.recommended(1),
        }
        for name, mechanism in mechanisms.items():
            spent, _ = timed(lambda m=mechanism: sf.publish(sf.read(path, schema), m, seed=1))  # type: ignore[misc]
            print(f"DiffGen {name}, from the file to the release: {spent:.2f} s CPU, {spent / cpu:.2f} x the floor")
        table = sf.read(path, schema)
        sf.publish(table, sf.DiffGen(1), seed=1)
        for name, mechanism in mechanisms.items():
            spent, _ = timed(lambda m=mechanism: sf.publish(table, m, seed=1))  # type: ignore[misc]
            print(f"DiffGen {name}, counts at hand: {spent:.2f} s CPU")
    many = 1_000_000
    occupied = (np.arange(many), np.random.default_rng(1).integers(1, 50, many))
    cpu, _ = timed(lambda: sparse_noise(many, occupied, "1/2", 1, Entropy.seeded(1)))
    print(f"{many} noisy cells, all occupied: {cpu:.2f} s CPU")
    cpu, _ = timed(lambda: sparse_noise(4 * many, {}, "1/2", 1, Entropy.seeded(1)))
    print(f"{4 * many} empty cells, 1.5 million reported: {cpu:.2f} s CPU")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
