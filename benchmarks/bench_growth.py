"""Tables that once did not end: time and memory of fresh processes, or the refusal.

python benchmarks/bench_growth.py
"""

from __future__ import annotations

import resource
import subprocess
import sys

import numpy as np

import sfumato as sf
from sfumato.counts import Table
from sfumato.schema import Schema

CASES = {
    "1M distinct values": (1_000_000, [("q0", 1_000_000)]),
    "300 quasi-identifiers": (3_000, [(f"q{at}", 6) for at in range(300)]),
    "30 quasi-identifiers": (30_000, [(f"q{at}", 12) for at in range(30)]),
}
MASK = {"name": "masked", "attribute": {"zip": {"role": "quasi", "mask": {"length": 7}}}}
JOBS = ("publish", "measure", "frontier")


def table_of(case: str) -> Table:
    rows, columns = CASES[case]
    rng = np.random.default_rng(5)
    numeric = {"role": "quasi", "kind": "numeric", "step": 1}
    listed = {name: {**numeric, "range": [0, size]} for name, size in columns}
    sensitive = {"role": "sensitive", "values": [str(at) for at in range(8)]}
    schema = Schema.parse({"name": "grown", "attribute": {**listed, "s": sensitive}})
    codes = [np.arange(rows) % size if size == rows else rng.integers(0, size, rows) for _, size in columns]
    return Table.from_codes(schema, np.column_stack([*codes, rng.integers(0, 8, rows)]))


def one(case: str, job: str) -> None:
    """Do one job in this process and print what came of it, its CPU seconds and the largest process."""
    said = "done"
    try:
        if case == "7-digit mask":
            Schema.parse(MASK)
        else:
            table = table_of(case)
            release = sf.publish(table, sf.Mondrian(sf.KAnonymity(10)))
            if job == "measure":
                sf.measure(table, release, ["privacy_loss", "utility_loss"])
            elif job == "frontier":
                sf.frontier(table, sf.sweep(sf.Mondrian, k=[10, 100]), progress=False, workers=2)
    except sf.SfumatoError as error:
        said = f"refused: {error}"
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
    print(f"{cpu:7.1f} {max(own.ru_maxrss, others.ru_maxrss) / 1024:9.0f}   {said[:110]}")


def main() -> None:
    if len(sys.argv) > 1:
        one(sys.argv[1], sys.argv[2])
        return
    print("\nGrowth                                     CPU s   peak MB")
    for case in (*CASES, "7-digit mask"):
        for job in JOBS if case in CASES else ("publish",):
            done = subprocess.run([sys.executable, __file__, case, job], capture_output=True, text=True, check=True)
            print(f"  {f'{case}, {job}':36s} {done.stdout.rstrip()}", flush=True)


if __name__ == "__main__":
    main()
