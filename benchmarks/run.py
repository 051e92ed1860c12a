"""`make bench`: every performance target beside its floor, growth with the rows, rivals, then the longer benchmarks.

python benchmarks/run.py [--quick] [--rows 100000 1000000 10000000] [--huge] [--minutes 15] [--every]

In this order, until the minutes are used up; what did not run is named at the end.
1. Targets (`targets.py`): CPU and peak memory of each, as a ratio to the floor measured in the same run.
2. Growth (`scale.py`): Mondrian and DiffGen from Parquet to a saved folder, beside polars; `--huge` adds 100 million
   rows. Draws docs/images/growth.svg.
3. Rivals (`rivals.py`): tools from PyPI in an environment of their own, on the file that our work reads.
4. With `--every`, the other benchmarks of this folder (`bench_*.py`), with no bound in time.

Figures are appended to benchmarks/results/history.json and scale.json.
`--quick` takes the small sizes and leaves out what needs minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import rivals
import scale
import targets

HERE = Path(__file__).parent
HISTORY = HERE / "results" / "history.json"
RIVAL_ROWS = (10_000, 100_000)
RIVAL_SECONDS = 120


class Clock:
    """How much time is left, and what there was none for."""

    def __init__(self, minutes: float) -> None:
        self.end = time.monotonic() + 60 * minutes
        self.left_out: list[str] = []

    def run(self, name: str, command: list[str], most: float = 1e9) -> dict[str, Any] | None:
        """Run a process that prints JSON; None where there was no time, it took too long or it failed."""
        left = min(most, self.end - time.monotonic())
        if left < 1:
            self.left_out.append(name)
            return None
        try:
            done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=left, check=False)
        except subprocess.TimeoutExpired:
            self.left_out.append(f"{name} (stopped after {left:.0f} s)")
            return None
        if done.returncode:
            self.left_out.append(f"{name} (failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:120]})")
            return None
        return json.loads(done.stdout.splitlines()[-1])


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}


def remember(entry: dict[str, Any]) -> None:
    history = json.loads(HISTORY.read_text()) if HISTORY.exists() else []
    HISTORY.write_text(json.dumps([*history, {"day": time.strftime("%Y-%m-%d"), **entry}], indent=1) + "\n")


def run_targets(clock: Clock, folder: Path, *, quick: bool) -> int:
    print(f"\n{'Targets':44s} {'CPU s':>8s} {'x floor':>8s} {'peak MB':>8s} {'x floor':>8s}   target")
    known: dict[str, dict[str, Any] | None] = {}
    missed = 0

    def measured(work: str) -> dict[str, Any] | None:
        if work not in known:
            known[work] = clock.run(work, [sys.executable, str(HERE / "targets.py"), work, str(folder)])
        return known[work]

    for target in targets.TARGETS:
        if quick and target.work in targets.LONG:
            clock.left_out.append(f"{target.work} (--quick)")
            continue
        floor, found = measured(target.floor), measured(target.work)
        if floor is None or found is None:
            print(f"  {target.text:42s} not measured")
            continue
        times, more = found["cpu"] / max(floor["cpu"], 0.01), found["peak_mb"] / floor["peak_mb"]
        above = target.missed(found, floor)
        missed += bool(above)
        figures = f"{found['cpu']:8.2f} {times:8.2f} {found['peak_mb']:8.0f} {more:8.2f}"
        print(f"  {target.text:42s} {figures}   {target.asked()}: {'; '.join(above) or 'met'}", flush=True)
        floors = {"floor_cpu": floor["cpu"], "floor_peak_mb": floor["peak_mb"], "ratio": round(times, 2)}
        remember({"part": "targets", "work": target.work, **found, **floors, "missed": above})
    return missed


def run_rivals(clock: Clock, folder: Path, *, quick: bool) -> None:
    print(
        f"\n{'Rivals, Adult resampled, 6 x k = 10':44s} {'CPU s':>8s} {'peak MB':>8s} {'classes':>8s} {'smallest':>8s}"
    )
    python, why = rivals.environment()
    if why:
        print(f"  {why}")
    for rows in RIVAL_ROWS[:1] if quick else RIVAL_ROWS:
        path = targets.adult_csv(folder, rows)
        ours = [sys.executable, str(HERE / "targets.py"), f"rival {path}", str(folder)]
        work = {"sfumato": ours}
        if python is not None:
            work |= {name: [str(python), str(HERE / "rivals.py"), name, str(path)] for name in rivals.RIVALS}
        for name, command in work.items():
            found = clock.run(f"{name}, {rows:,} rows", command, RIVAL_SECONDS)
            if found is None:
                print(f"  not measured: {clock.left_out[-1]}")
                continue
            said = f"{found['cpu']:8.2f} {found['peak_mb']:8.0f} {found['classes']:8,d} {found['smallest']:8,d}"
            print(f"  {f'{name}, {rows:,} rows':42s} {said}", flush=True)
            remember({"part": "rivals", "work": name, "rows": rows, **found})


def run_the_rest() -> list[str]:
    """The benchmarks that are no targets, one after another; those that need data of others say what is missing."""
    failed = []
    for path in sorted(HERE.glob("bench_*.py")):
        print(f"\n=== {path.name} ===", flush=True)
        done = subprocess.run([sys.executable, str(path)], env=environment(), check=False)
        failed += [path.name] if done.returncode else []
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description="Performance targets, growth and rivals.")
    parser.add_argument("--rows", nargs="*", type=int)
    parser.add_argument("--huge", action="store_true", help="also 100 million rows; takes an hour")
    parser.add_argument("--minutes", type=float, help="15, with --huge 90, with --quick 5")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--every", action="store_true", help="also the benchmarks that are no targets")
    given = parser.parse_args()
    clock = Clock(given.minutes or (90 if given.huge else 5 if given.quick else 15))
    rows = given.rows or ([100_000] if given.quick else [100_000, 1_000_000, 10_000_000])
    folder = Path(tempfile.mkdtemp(prefix="sfumato-bench-"))
    try:
        missed = run_targets(clock, folder, quick=given.quick)
        scale.grow(rows, folder, run=clock.run)
        run_rivals(clock, folder, quick=given.quick)
        if given.huge:
            scale.grow([100_000_000], folder, run=clock.run, work=("floor", "widest"))
    finally:
        shutil.rmtree(folder)
    failed = run_the_rest() if given.every else []
    print(f"\n{missed} of {len(targets.TARGETS)} targets missed")
    for name in clock.left_out:
        print(f"not measured: {name}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
