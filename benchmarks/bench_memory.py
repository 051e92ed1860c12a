"""Memory follows the data, not the domain: CPU and peak memory of fresh processes.

python benchmarks/bench_memory.py
"""

from __future__ import annotations

import datetime as dt
import resource
import subprocess
import sys

import numpy as np

import sfumato as sf
from sfumato.counts import Table
from sfumato.schema import Schema

ROWS, CENSUS = 1_800, 1_140_000
SIZES = (500, 90, 60, 52, 17, 6, 9, 2)
METHODS = {
    "mondrian": lambda: sf.Mondrian(sf.KAnonymity(10)),
    "mondrian tight": lambda: sf.Mondrian(sf.KAnonymity(10) & sf.LDiversity(2), tight=True),
    "bucketize": lambda: sf.Bucketize(sf.LDiversity(2)),
    "anatomy": lambda: sf.Anatomy(2),
    "topdown": lambda: sf.TopDown(10),
}


def hospital() -> Table:
    """A five-digit code and two dates by the day."""
    rng = np.random.default_rng(1)
    schema = Schema.parse(
        {
            "name": "hospital",
            "attribute": {
                "zip": {"role": "quasi", "mask": {"length": 5}},
                "birth": {
                    "role": "quasi",
                    "kind": "date",
                    "range": [dt.date(1930, 1, 1), dt.date(2020, 1, 1)],
                    "dates": ["month", "year"],
                },
                "visit": {"role": "quasi", "kind": "date", "range": [dt.date(2022, 1, 1), dt.date(2024, 1, 1)]},
                "sex": {"role": "quasi", "values": ["f", "m"]},
                "diagnosis": {"role": "sensitive", "values": [f"d{at}" for at in range(10)]},
            },
        }
    )
    zips = rng.integers(10_000, 100_000, 400)
    columns = [
        rng.choice(zips, ROWS),
        rng.integers(0, 32_000, ROWS),
        rng.integers(0, 730, ROWS),
        rng.integers(0, 2, ROWS),
        np.minimum(rng.geometric(0.3, ROWS) - 1, 9),
    ]
    return Table.from_codes(schema, np.column_stack(columns))


def census() -> Table:
    """Eight quasi-identifiers, one with 500 codes; a sensitive value that nearly half of the people share."""
    rng = np.random.default_rng(2)
    listed = {f"q{at}": {"role": "quasi", "values": [str(v) for v in range(size)]} for at, size in enumerate(SIZES)}
    sensitive = {"role": "sensitive", "values": [str(value) for value in range(50)]}
    schema = Schema.parse({"name": "census", "attribute": {**listed, "s": sensitive}})
    columns = [_skewed(rng, size) for size in SIZES]
    common = np.where(rng.random(CENSUS) < 0.48, 0, rng.integers(0, 50, CENSUS))
    return Table.from_codes(schema, np.column_stack([*columns, common]))


def _skewed(rng: np.random.Generator, size: int) -> np.ndarray:
    weight = 1 / np.arange(1, size + 1) ** 0.7
    return rng.choice(size, CENSUS, p=weight / weight.sum())


def one(name: str) -> None:
    """Run one case in this process and print its CPU seconds and the largest process."""
    if name == "frontier":
        sf.frontier(hospital(), "standard", progress=False, workers=2)
    else:
        table = census()
        if name == "topdown":  # it needs a class to tell
            table = table.with_roles(sensitive=(), target="s")
        sf.publish(table, METHODS[name]())
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
    print(f"{cpu:.1f} {max(own.ru_maxrss, others.ru_maxrss) / 1024:.0f}")


def main() -> None:
    if len(sys.argv) > 1:
        one(" ".join(sys.argv[1:]))
        return
    print("\nMemory                                              CPU s   peak MB   target")
    cases = [("frontier", f"{ROWS} rows, 100,000-code mask, standard frontier", "60 s, 1 GB")]
    cases += [(name, f"{CENSUS} x 8, {name}", "2 GB") for name in METHODS]
    for name, said, target in cases:
        done = subprocess.run([sys.executable, __file__, *name.split()], capture_output=True, text=True, check=True)
        cpu, peak = done.stdout.split()
        print(f"  {said:48s} {cpu:>7s} {peak:>9s}   {target}")


if __name__ == "__main__":
    main()
