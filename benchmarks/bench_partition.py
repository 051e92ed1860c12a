"""Partition-based releases against the rivals' figures, and end to end against polars doing the same I/O.

python benchmarks/bench_partition.py [--large]     (--large adds the 10M-row census run)
"""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from partition_scorer import score

import sfumato as sf
from sfumato.counts import Table
from sfumato.datasets import adult_frame, census_frame

QUASI = ["age", "workclass", "education", "marital-status", "race", "sex"]
# Adult, k = 10, all run with one scorer: (tool, classes, NCP, query error)
RIVALS = [
    ("ARX local recoding", 2276, 0.032, 0.022),
    ("mosaicrown", 2050, 0.0235, 0.024),
    ("anonypy", 2044, 0.0286, 0.059),
    ("qiyuangong strict", 1606, 0.100, 0.286),
    ("qiyuangong relaxed", 4051, 0.065, 0.069),
]


def scored(release: sf.Release):
    """Score the published sets with domains as they occur (age range 73; 7, 16, 7, 5, 2 values)."""
    home = release.residence
    codes = home.codes[:, : len(QUASI)].copy()
    sizes, numeric = [], []
    for at, attribute in enumerate(release.quasi):
        used = np.arange(attribute.size) if attribute.kind == "numeric" else np.unique(codes[:, at])
        codes[:, at] = np.searchsorted(used, codes[:, at])
        sizes.append(len(used))
        numeric.append(attribute.kind == "numeric")
    box_of = np.empty(len(release.groups), int)
    box_of[release.boxes.group] = np.arange(len(release.boxes))
    sets = []
    for at, (attribute, table) in enumerate(zip(release.quasi, release.boxes.tables, strict=True)):
        held = table.holds(np.arange(attribute.size))[release.boxes.labels[box_of, at]]
        used = np.arange(attribute.size) if attribute.kind == "numeric" else np.unique(home.codes[:, at])
        sets.append(held[:, used])
    return score(codes, home.weight, home.group, sizes, numeric, sets=sets)


def quality() -> None:
    table = sf.datasets.adult().with_roles(sensitive="occupation", target=[])
    print("\nAdult, k = 10                           classes     NCP  query error  CPU s")
    for name, classes, ncp, error in RIVALS:
        print(f"  {name:36s} {classes:8d} {ncp:7.4f} {error:12.4f}")
    cases = [
        ("best, tight", sf.Mondrian(sf.KAnonymity(10), tight=True)),
        ("best, intervals", sf.Mondrian(sf.KAnonymity(10))),
        ("widest, tight", sf.Mondrian(sf.KAnonymity(10), cut="widest", tight=True)),
        ("widest, intervals", sf.Mondrian(sf.KAnonymity(10), cut="widest")),
        ("best, nodes, tight", sf.Mondrian(sf.KAnonymity(10), nominal="nodes", tight=True)),
        (
            "distinct l=5, tight (ARX 1,977 / 0.041)",
            sf.Mondrian(sf.KAnonymity(10) & sf.LDiversity(5, kind="distinct"), tight=True),
        ),
        (
            "distinct l=5, widest, tight",
            sf.Mondrian(sf.KAnonymity(10) & sf.LDiversity(5, kind="distinct"), cut="widest", tight=True),
        ),
        (
            "emd t=0.2 equal, tight (ARX 165 / 0.47)",
            sf.Mondrian(sf.KAnonymity(10) & sf.TCloseness(0.2, distance="emd"), tight=True),
        ),
        ("js t=0.05, tight", sf.Mondrian(sf.KAnonymity(10) & sf.TCloseness(0.05), tight=True)),
        ("entropy l=5, tight", sf.Mondrian(sf.KAnonymity(10) & sf.LDiversity(5, kind="entropy"), tight=True)),
        ("beta=3, tight", sf.Mondrian(sf.KAnonymity(10) & sf.BetaLikeness(3), tight=True)),
        ("delta=2, tight", sf.Mondrian(sf.KAnonymity(10) & sf.SemanticPrivacy(2), tight=True)),
    ]
    closer = sf.Mondrian(sf.KAnonymity(10) & sf.TCloseness(0.2, distance="emd"), tight=True)
    sf.publish(table, cases[0][1])
    for name, mechanism in cases:
        start = time.process_time()
        release = sf.publish(table, mechanism)
        spent = time.process_time() - start
        found = scored(release)
        print(f"  sfumato {name:40s} {found.classes:6d} {found.ncp:7.4f} {found.query_error:8.4f} {spent:8.2f}")
    # The anchor does not say which ground distance it used; here the path length in the occupations' hierarchy.
    occupation = replace(table.schema["occupation"], ground="hierarchical")
    kept = [occupation if known.name == "occupation" else known for known in table.schema.attributes]
    other = Table.from_codes(replace(table.schema, attributes=tuple(kept)), table.codes())
    found = scored(sf.publish(other, closer))
    name = "emd t=0.2 hierarchical, tight"
    print(f"  sfumato {name:40s} {found.classes:6d} {found.ncp:7.4f} {found.query_error:8.4f}")


def resampled_adult(rows: int, seed: int = 1) -> pl.DataFrame:
    """Adult resampled with small changes: ages moved by up to two years."""
    rng = np.random.default_rng(seed)
    frame = adult_frame().select([*QUASI, "occupation"])
    drawn = frame[rng.integers(0, frame.height, rows)]
    moved = np.clip(drawn["age"].to_numpy() + rng.integers(-2, 3, rows), 17, 90)
    return drawn.with_columns(pl.Series("age", moved))


def floor(source: Path, target: Path, columns: list[str]) -> None:
    """Polars doing the same I/O: scan, group by the same columns, write the output columns."""
    scan = pl.scan_csv(source) if source.suffix == ".csv" else pl.scan_parquet(source)
    scan.select(columns).group_by(columns).agg(pl.len()).collect()
    frame = scan.select(columns).collect()
    frame.write_csv(target) if target.suffix == ".csv" else frame.write_parquet(target)


def timed(work) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def end_to_end(
    name: str, source: Path, schema: sf.Schema, kind: str, folder: Path, *, tries: int = 3
) -> dict[str, float]:
    columns = [attribute.name for attribute in schema.published]
    floors = [timed(lambda: floor(source, folder / f"floor.{kind}", columns)) for _ in range(tries)]
    base = min(floors)[0]
    found = {"floor": base}
    print(f"\n{name}: floor {base:.2f} s CPU")
    for cut in ("widest", "best"):
        results = []
        for turn in range(tries):
            out = folder / f"out-{cut}-{turn}"

            def work(out: Path = out, cut: str = cut) -> None:
                table = sf.read(source, schema)
                sf.publish(table, sf.Mondrian(sf.KAnonymity(10), cut=cut)).save(out, format=kind)

            results.append(timed(work)[0])
            shutil.rmtree(out)
        found[cut] = min(results)
        target = {"widest": 3, "best": 6}[cut]
        print(f"  {cut:7s} {found[cut]:.2f} s CPU, {found[cut] / base:.2f} x the floor (target {target})")
    print(f"  peak memory so far {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")
    return found


def main() -> None:
    start = time.process_time()
    sf.publish(sf.datasets.adult(), sf.Mondrian(sf.KAnonymity(10)))
    print(f"imports, compiled kernels and a first release: {time.process_time() - start:.1f} s CPU")
    quality()
    folder = Path(tempfile.mkdtemp())
    try:
        adult = sf.datasets.adult().with_roles(sensitive="occupation", target=[]).schema
        resampled_adult(1_000_000).write_csv(folder / "adult.csv")
        end_to_end(
            "Adult resampled to 1M rows, CSV to CSV (ARX warm 2.3 s)", folder / "adult.csv", adult, "csv", folder
        )
        census = sf.datasets.census(1000).schema
        grown = {}
        for rows in (100_000, 1_000_000, *([10_000_000] if "--large" in sys.argv else [])):
            census_frame(rows, 0).write_parquet(folder / f"census-{rows}.parquet")
            grown[rows] = end_to_end(
                f"census {rows} rows, Parquet", folder / f"census-{rows}.parquet", census, "parquet", folder, tries=2
            )
        if 10_000_000 in grown:
            small, large = grown[1_000_000], grown[10_000_000]
            print(
                "\nfrom 1M to 10M rows: floor x{:.1f}, widest x{:.1f}, best x{:.1f}".format(
                    *(large[k] / small[k] for k in ("floor", "widest", "best"))
                )
            )
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
