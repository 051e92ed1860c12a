"""Memory of a comparison: what is estimated before it starts, beside the largest memory of its processes.

python benchmarks/bench_compare_memory.py [messy|adult|codes]

Each table is compared by `frontier` in two worker processes, with the axes of the command: the loosest release of each
kind in the preset `standard`, which has the most groups and takes the most memory. What draws at random is drawn once,
since memory does not depend on how often. The peak is VmHWM of /proc.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.counts import Table
from sfumato.frontiers.run import bytes_of_one
from sfumato.frontiers.sweep import label_of

AXES = ["inference", "membership", "identity", "privacy_loss", "proved"]
LOOK = 0.05  # seconds
LOOSEST = ("Mondrian k-anonymity(5)", "Mondrian t-closeness(0.3)", "Bucketize t-closeness(0.3)", "DiffGen epsilon=4")


def messy(rows: int = 1_000, columns: int = 12) -> Table:
    """A small file with empty cells and two spellings: four columns that others may know, one private, the rest."""
    rng = np.random.default_rng(5)
    known = {
        "age": rng.integers(18, 90, rows),
        "sex": rng.choice(["m", "w", "W", ""], rows, p=[0.48, 0.47, 0.03, 0.02]),
        "town": rng.choice([f"town {at}" for at in range(30)], rows),
        "job": rng.choice([f"job {at}" for at in range(20)], rows),
        "illness": rng.choice([f"illness {at}" for at in range(12)], rows),
    }
    more = {f"Q{at}": rng.choice(["yes", "no", ""], rows) for at in range(columns - len(known))}
    roles = {"age": "quasi", "sex": "quasi", "town": "quasi", "job": "quasi", "illness": "sensitive"}
    return _table(pl.DataFrame({**known, **more}), roles)


def codes(rows: int = 20_000) -> Table:
    """Codes of five digits, hidden digit by digit, beside age and sex."""
    rng = np.random.default_rng(6)
    frame = pl.DataFrame(
        {
            "post": [f"{code:05}" for code in rng.integers(0, 100_000, rows)],
            "age": rng.integers(18, 90, rows),
            "sex": rng.choice(["m", "w"], rows),
            "illness": rng.choice([f"illness {at}" for at in range(12)], rows),
        }
    )
    return _table(frame, {"post": "quasi", "age": "quasi", "sex": "quasi", "illness": "sensitive"})


def _table(frame: pl.DataFrame, roles: dict[str, str]) -> Table:
    """Describe the columns as a steward would; digits of codes are hidden one after another."""
    described: dict[str, dict[str, object]] = {}
    for name in frame.columns:
        values = sorted(set(frame[name].to_list()))
        about: dict[str, object] = {"role": roles.get(name, "other")}
        if frame[name].dtype.is_integer():
            about |= {"kind": "numeric", "range": [values[0], values[-1] + 1], "intervals": [5, 20]}
        elif name == "post":
            about["mask"] = {"length": 5}
        else:
            about |= {"values": [value for value in values if value], **({"missing": [""]} if "" in values else {})}
        described[name] = about
    return sf.read(frame, sf.Schema.parse({"name": "bench", "attribute": described}))


TABLES: dict[str, Callable[[], Table]] = {"messy": messy, "adult": sf.datasets.adult, "codes": codes}


def peak(process: int) -> float:
    """Return the largest memory a process has had, in bytes; 0 where it is gone."""
    try:
        lines = Path(f"/proc/{process}/status").read_text("ascii").splitlines()
    except OSError:
        return 0.0
    return max((int(line.split()[1]) * 1024.0 for line in lines if line.startswith("VmHWM")), default=0.0)


class Watch(threading.Thread):
    """Notes the largest memory of each worker of this process."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peaks: dict[int, float] = {}

    def run(self) -> None:
        """Look until the process ends."""
        me = os.getpid()
        while True:
            for task in Path(f"/proc/{me}/task").iterdir():
                with contextlib.suppress(OSError):
                    for worker in map(int, (task / "children").read_text("ascii").split()):
                        self.peaks[worker] = max(self.peaks.get(worker, 0.0), peak(worker))
            time.sleep(LOOK)


def one(name: str) -> None:
    """Compare one table; print estimate, peak and their ratio for a worker and for the process that starts them."""
    table = TABLES[name]()
    releases = [one for one in sf.sweep("standard") if label_of(one) in LOOSEST]
    watch = Watch()
    watch.start()
    begun = time.perf_counter()
    found = sf.frontier(table, releases, privacy=AXES, repeats=1, workers=2, progress=False)
    failed = sum(bool(point.failed) for point in found.points)
    taken = time.perf_counter() - begun
    print(f"{name}: {table.rows:,} rows, {len(found.points)} releases, {failed} not applicable, {taken:.0f} s")
    for what, estimate, measured in (
        ("worker", bytes_of_one(table), max(watch.peaks.values())),
        ("program", bytes_of_one(table, panels=False), peak(os.getpid())),
    ):
        ratio = estimate / measured
        print(
            f"  {what:8} estimate {estimate / 1e6:6.0f} MB, peak {measured / 1e6:6.0f} MB, ratio {ratio:.2f}",
            flush=True,
        )


def main() -> None:
    """Each table in a process of its own."""
    for name in sys.argv[1:] or TABLES:
        if len(sys.argv) == 2:
            one(name)
        else:
            subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    main()
