"""Workload error of `Marginals` beside AIM and MST: all sets of three columns, mean total variation over single values.

Every synthesizer gets the same codes and the same budget: the rho that implies (epsilon, 1e-9)-differential privacy.
`Marginals` also runs with pure differential privacy of the same epsilon. One code computes every error. CPU seconds are
those of the synthesizer alone, taken by itself in its process. AIM and MST are run from copies that this project does
not contain: give their interpreter (with mbi 2.0 and jax) and a folder with google/dpsynth, by flags or by
SFUMATO_RIVAL_PYTHON and SFUMATO_RIVAL_PATH. Without them only `Marginals` is measured.

Run: python benchmarks/bench_marginals.py [--rival-python PYTHON --rival-path DIR] [--kept DIR] [--data DIR]
--kept holds rows that rivals drew in an earlier run, and gets those of this one: AIM takes minutes to hours. A rival is
stopped after --rival-seconds of CPU time; how many runs were stopped stands beside its figures. --json adds to a file:
what is not run keeps its figures.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rival_synthesizers import drawn, flags

import sfumato as sf
from sfumato.claims import ConcentratedDP
from sfumato.counts import Table
from sfumato.datasets.adult import ADULT_COLUMNS
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy

EPSILONS = ("0.1", "1", "10")
DELTA = Fraction(1, 10**9)
RIVALS = ("aim", "mst")
KDD = ("age", "class_of_worker", "education", "marital_stat", "sex")


def adult(names: list[str] | None = None) -> Table:
    """UCI Adult, 45,222 rows: the 8 attributes that are published by default, or those named."""
    table = sf.datasets.adult()
    return table if names is None else table.with_roles(quasi=names, sensitive=(), target="income")


def census(data: Path) -> Table:
    """Census-Income (KDD): 60,000 training rows, 6 columns; domains are those of its documentation."""
    frame = pl.read_parquet(data / "census_income_kdd" / "census_income_kdd.parquet")
    frame = frame.filter(pl.col("split") == "train").sample(60_000, seed=1).select(*KDD, "income")
    grids = {"age": [0, 91]}
    attributes: dict[str, dict[str, Any]] = {}
    for name in frame.columns:
        known = {"role": "target" if name == "income" else "quasi", "source": "public"}
        if name in grids:
            attributes[name] = known | {"kind": "numeric", "range": grids[name], "step": 1, "clamp": True}
        else:
            values = sorted(frame[name].cast(pl.String).unique().to_list())
            attributes[name] = known | {"kind": "nominal", "values": values}
    frame = frame.with_columns([pl.col(name).cast(pl.String) for name in frame.columns if name not in grids])
    said = {"name": "census", "rows_per_person": 1, "copies_are_people": True, "attribute": attributes}
    return sf.read(frame, sf.Schema.parse(said))


def mean_variation(truth: np.ndarray, rows: np.ndarray, sizes: np.ndarray) -> float:
    """Return the mean total variation of all sets of three columns, over single values."""
    errors = []
    for one in itertools.combinations(range(len(sizes)), 3):
        shape = [int(sizes[at]) for at in one]
        keys = [np.ravel_multi_index([codes[:, at] for at in one], shape) for codes in (truth, rows)]
        cells, place = np.unique(np.concatenate(keys), return_inverse=True)
        p = np.bincount(place[: len(truth)], minlength=len(cells)) / len(truth)
        q = np.bincount(place[len(truth) :], minlength=len(cells)) / len(rows)
        errors.append(np.abs(p - q).sum() / 2)
    return float(np.mean(errors))


def ours(table: Table, epsilon: str, delta: Fraction | None, seed: int) -> tuple[np.ndarray, float]:
    """Return rows of codes that `Marginals` draws, and its CPU seconds."""
    mechanism = sf.Marginals(epsilon, delta=delta)
    counts = gather(mechanism, table)
    began = time.process_time()
    release = run(mechanism, counts, Entropy.seeded(seed))
    seconds = time.process_time() - began
    boxes, carried = release.boxes, release.groups.carried
    box = np.empty(len(release.groups), int)
    box[boxes.group] = np.arange(len(boxes))
    labels = boxes.labels[box[carried.group]]
    codes = [tables.low[labels[:, at]] for at, tables in enumerate(boxes.tables)]
    return np.repeat(np.column_stack([*codes, carried.codes]), carried.weight, axis=0), seconds


def measure(name: str, table: Table, asked: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Measure every synthesizer on one table."""
    names = [attribute.name for attribute in table.schema.published]
    truth = table.codes(names).astype(np.int64)
    sizes = np.array([attribute.size for attribute in table.schema.published])
    held = folder / f"{name}.npz"
    np.savez(held, codes=truth, sizes=sizes)
    lines: list[dict[str, Any]] = []
    for epsilon in EPSILONS:
        rho = float(ConcentratedDP.within(Fraction(epsilon), delta=DELTA).rho)
        runs: dict[str, list[tuple[float, float]]] = {}
        stopped: dict[str, list[float]] = {}
        for seed in range(asked.seeds):
            for who, delta in (("marginals, pure", None), ("marginals, delta 1e-9", DELTA)):
                rows, seconds = ours(table, epsilon, delta, seed)
                runs.setdefault(who, []).append((mean_variation(truth, rows, sizes), seconds))
            for who in RIVALS:
                theirs = drawn(who, held, epsilon, rho, seed, asked)
                if theirs is not None and theirs[0] is not None:
                    runs.setdefault(who, []).append((mean_variation(truth, theirs[0], sizes), theirs[1]))
                elif theirs is not None:
                    stopped.setdefault(who, []).append(theirs[1])
        about = {"table": name, "rows": len(truth), "columns": len(sizes), "epsilon": epsilon}
        for who, seconds_given in stopped.items():
            if who not in runs:
                lines.append(about | {"who": who, "runs": 0, "stopped": len(seconds_given), "cpu_s": seconds_given[0]})
            print(f"{name} epsilon {epsilon:>3}  {who:22} stopped after {seconds_given} s CPU", flush=True)
        for who, found in runs.items():
            error, seconds = np.mean(found, axis=0)
            figures = {"error": round(float(error), 4), "cpu_s": round(float(seconds), 2), "runs": len(found)}
            lines.append(about | {"who": who} | figures | ({"stopped": len(stopped[who])} if who in stopped else {}))
            print(
                f"{name} epsilon {epsilon:>3}  {who:22} {error:.4f}  {seconds:7.2f} s CPU  ({len(found)})", flush=True
            )
    return lines


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    flags(parser)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    if not asked.rival_python and not asked.kept:
        print("AIM and MST are not run: no --rival-python is given.")
    wide = [name for name in ADULT_COLUMNS if name not in ("income", "fnlwgt", "education-num")]
    few = ["age", "education", "marital-status", "occupation", "sex"]
    tables = {
        "adult6": lambda: adult(few),
        "adult8": adult,
        "adult": lambda: adult(wide),
        "census6": lambda: census(asked.data),
    }
    found = []
    with tempfile.TemporaryDirectory() as folder:
        asked.kept = asked.kept or Path(folder)
        for name, make in tables.items():
            if asked.only and name not in asked.only:
                continue
            try:
                table = make()
            except FileNotFoundError as missing:
                print(f"{name}: not found ({Path(missing.filename or '').name}), left out")
                continue
            found += measure(name, table, asked, Path(folder))
    if asked.json:
        held = json.loads(asked.json.read_text("utf-8")) if asked.json.exists() else []
        figures = {(line["table"], line["epsilon"], line["who"]): line for line in [*held, *found]}
        asked.json.write_text(json.dumps([*figures.values()], indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
