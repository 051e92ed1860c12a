"""CPU seconds of the Mondrian kernel alone: python benchmarks/mondrian_kernel.py [rows]

Made-up rows, all different, of six attributes that lean on one hidden number; k = 10. Compiling is
done beforehand on a small table and printed apart.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from sfumato.kernels.conditions import size
from sfumato.kernels.mondrian.layout import BOX, EXTREMES, SET, CutAttribute
from sfumato.kernels.mondrian.partition import partition

SIZES = (100, 50, 20, 16, 10, 7)


def distinct_rows(rows: int, seed: int = 0):
    """Rows drawn until so many different ones are found, in random order."""
    rng = np.random.default_rng(seed)
    found = np.zeros((0, len(SIZES)), dtype=np.int32)
    while len(found) < rows:
        hidden = rng.normal(size=rows)
        columns = [
            np.minimum(codes / (1 + np.exp(-1.5 * (0.5 * hidden + rng.normal(size=rows)))), codes - 1)
            for codes in SIZES
        ]
        found = np.unique(np.concatenate([found, np.stack(columns, axis=1).astype(np.int32)]), axis=0)
    return rng.permutation(found)[:rows]


def timed(codes, *, cut: str, tight: bool) -> tuple[float, int]:
    labels = (EXTREMES, *[SET] * (len(SIZES) - 1)) if tight else (BOX,) * len(SIZES)
    attributes = [CutAttribute(codes_, label=label) for codes_, label in zip(SIZES, labels, strict=True)]
    start = time.process_time()
    found = partition(codes, np.ones(len(codes), dtype=np.int64), attributes, conditions=[size(10)], cut=cut)
    return time.process_time() - start, len(found.weight)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"compiling (or loading) {timed(distinct_rows(1000), cut='best', tight=False)[0]:.1f} s CPU")
    codes = distinct_rows(rows)
    for cut, tight in (("widest", False), ("best", False), ("best", True)):
        tries = [timed(codes, cut=cut, tight=tight) for _ in range(3)]
        name = f"{cut}, tight labels" if tight else cut
        print(f"{rows} distinct rows, {name}: {min(tries)[0]:.2f} s CPU, {tries[0][1]} classes")


if __name__ == "__main__":
    main()
